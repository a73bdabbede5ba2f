//! `sottovoce demo`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use clap::Args;
use sottovoce_job::demo::SEED;
use sottovoce_job::destination::is_standard_output;
use sottovoce_job::render::{Render, html};
use sottovoce_job::{DemoRequest, Format, unobserved};

use crate::arguments::{OutputArguments, PictureArguments};
use crate::failure::{Failure, Result, say};
use crate::output::write_file;

const EXAMPLES: &str = "\
Examples:
  sottovoce demo
      The whole story, in the terminal and as the page sottovoce-demo.html.

  sottovoce demo --seed 7 --page story.html
      The same with other random draws, and the page in another file.

  sottovoce demo --format csv -o shares.csv
      True and estimated shares as a table.";

/// Where the page goes by default.
const PAGE: &str = "sottovoce-demo.html";

/// A complete small story on embedded data.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    /// Also write the story as a page for a browser to this file [default: sottovoce-demo.html, for the format text]; an existing file is replaced only if sottovoce wrote it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    page: Option<PathBuf>,
    /// Write no page
    #[arg(long, conflicts_with = "page", help_heading = "Output")]
    no_page: bool,
    /// Seed of all random draws; the same seed gives the same output
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Number of threads [default: one for each processor]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &DemoArguments) -> Result {
    let format: Format = arguments.output.format.into();
    let by_itself = (format == Format::Text && !arguments.no_page).then(|| PathBuf::from(PAGE));
    let page = arguments.page.clone().or(by_itself);
    page.as_deref().map_or(Ok(()), check_page)?;
    let job = DemoRequest { seed: arguments.seed }.check()?;
    let report = job.run(&unobserved)?;
    arguments.picture.write(&report.text(), arguments.output.quiet)?;
    arguments.output.write(&report.render(format))?;
    page.map_or(Ok(()), |path| write_page(&path, &html::page(&report.text()), arguments.output.quiet))
}

/// Refuses to replace anything but a page of ours.
fn check_page(path: &Path) -> Result {
    let foreign = || Err(Failure::NotOurPage { path: path.to_owned() });
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::Write { path: Some(path.to_owned()), error }),
        Ok(found) if !found.is_file() => foreign(),
        Ok(_) => match beginning(path) {
            Err(error) => Err(Failure::Write { path: Some(path.to_owned()), error }),
            Ok(text) if html::is_page(&text) => Ok(()),
            Ok(_) => foreign(),
        },
    }
}

/// The beginning of a file, where a page has its mark.
fn beginning(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(4096).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write_page(path: &Path, page: &str, quiet: bool) -> Result {
    check_page(path)?;
    write_file(path, page.as_bytes())?;
    if !quiet && !is_standard_output(path) {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        say(AnsiColor::Green, "wrote", &format!("{} (open it in a browser)", whole.display()));
    }
    Ok(())
}
