//! `sottovoce figures`.

use std::path::{Path, PathBuf};

use clap::Args;
use sottovoce_job::figures::Figure;
use sottovoce_job::render::{Document, Emphasis, Render, csv, html};
use sottovoce_job::{FiguresRequest, unobserved};

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
    let job = FiguresRequest { seed: arguments.computation.seed }.check()?;
    let report = job.run(&unobserved)?;
    std::fs::create_dir_all(&arguments.out)
        .map_err(|error| Failure::Write { path: Some(arguments.out.clone()), error })?;
    for figure in &report.figures {
        for extension in ["svg", "png"] {
            let path = arguments.out.join(figure.name).with_extension(extension);
            write_file(&path, &picture(&figure.chart, &path))?;
        }
        write_file(&arguments.out.join(figure.name).with_extension("csv"), csv::figure(figure).as_bytes())?;
    }
    write_file(&arguments.out.join("index.html"), html::page(&report.text()).as_bytes())?;
    if arguments.quiet { Ok(()) } else { print(&summary(&report.figures, &arguments.out)) }
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
