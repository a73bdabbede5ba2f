//! `sottovoce figures`.

use std::path::{Path, PathBuf};

use clap::Args;
use sottovoce_job::Settings;
use sottovoce_job::figures::{Figure, figures};
use sottovoce_job::render::{Document, Emphasis, csv, html};

use crate::arguments::ComputationArguments;
use crate::failure::{Failure, Result};
use crate::output::{picture, print, write_file};

const EXAMPLES: &str = "\
Examples:
  sottovoce figures --out figures
      Every figure as SVG, PNG and CSV, and all of them on one page, index.html.";

/// The paper's figures and a few more, with their data.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FiguresArguments {
    /// The directory to write to, created if needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    computation: ComputationArguments,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &FiguresArguments) -> Result {
    let settings = Settings { seed: arguments.computation.seed, ..Settings::default() };
    let figures = figures(settings)?;
    std::fs::create_dir_all(&arguments.out)
        .map_err(|error| Failure::Write { path: Some(arguments.out.clone()), error })?;
    for figure in &figures {
        for extension in ["svg", "png"] {
            let path = arguments.out.join(figure.name).with_extension(extension);
            write_file(&path, &picture(&figure.chart, &path))?;
        }
        write_file(&arguments.out.join(figure.name).with_extension("csv"), csv::figure(figure).as_bytes())?;
    }
    write_file(&arguments.out.join("index.html"), html::page(&page(&figures)).as_bytes())?;
    if arguments.quiet { Ok(()) } else { print(&summary(&figures, &arguments.out)) }
}

/// All figures on one page.
fn page(figures: &[Figure]) -> Document {
    let mut document = Document::default();
    document.title("Privacy and utility of randomised reports, in pictures");
    for figure in figures {
        document.picture(figure.chart.clone());
    }
    document
}

/// What was written, and what it shows.
fn summary(figures: &[Figure], out: &Path) -> Document {
    let mut document = Document::default();
    for figure in figures {
        document.line(Emphasis::Strong, format!("{}.{{svg,png,csv}}", out.join(figure.name).display()));
        document.paragraph(Emphasis::Plain, 4, 80, &format!("{}.", figure.chart.title));
        document.paragraph(Emphasis::Faint, 4, 80, &figure.chart.caption);
    }
    document.line(Emphasis::Strong, out.join("index.html").display().to_string());
    document.paragraph(Emphasis::Plain, 4, 80, "All of them on one page.");
    document
}
