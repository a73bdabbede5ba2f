//! `sottovoce manual`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use sottovoce_job::render::Document;

use crate::arguments::Arguments;
use crate::failure::{Failure, Result};
use crate::output::{print, write_file};

const EXAMPLES: &str = "\
Examples:
  sottovoce manual | man -l -
      The manual page of the tool.

  sottovoce manual --out ~/.local/share/man/man1
      A manual page for the tool and for each command.";

/// Manual pages, from the same source as the help.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManualArguments {
    /// Write all pages to this directory; it is made if there is none
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ManualArguments) -> Result {
    let mut command = Arguments::command();
    command.build();
    let Some(directory) = &arguments.out else {
        let text = String::from_utf8_lossy(&rendered(&command)?).into_owned();
        return print(&Document::plain(text));
    };
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::Write { path: Some(directory.clone()), error })?;
    write_file(&directory.join("sottovoce.1"), &rendered(&command)?)?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        let file = format!("sottovoce-{}.1", part.get_name());
        write_file(&directory.join(file), &rendered(part)?)?;
    }
    Ok(())
}

fn rendered(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::Write { path: None, error })?;
    Ok(page)
}
