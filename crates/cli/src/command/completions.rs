//! `sottovoce completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use sottovoce_job::render::Document;

use crate::arguments::Arguments;
use crate::failure::Result;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  sottovoce completions bash > ~/.local/share/bash-completion/completions/sottovoce
  sottovoce completions zsh > ~/.zfunc/_sottovoce
  sottovoce completions fish > ~/.config/fish/completions/sottovoce.fish";

/// A completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "sottovoce", &mut script);
    print(&Document::plain(String::from_utf8_lossy(&script).into_owned()))
}
