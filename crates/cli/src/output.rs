//! Writing output: coloured on a terminal, complete or not at all in a file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use sottovoce_job::render::{Document, Emphasis, Render};
use sottovoce_job::{Replacement, Summary, replacement};

use crate::arguments::{CollectionOutput, OutputArguments, set_threads};
use crate::failure::{Failure, Result, say};
use crate::watch::INTERRUPTED;

impl OutputArguments {
    /// Writes the document where the user wants it.
    pub(crate) fn write(&self, document: &Document) -> Result {
        let Some(path) = self.file() else {
            return print(document);
        };
        replace(path, document.to_string().as_bytes())
            .map_err(|error| Failure::Write { path: Some(path.to_owned()), error })?;
        if !self.quiet {
            say(AnsiColor::Green, "wrote", &path.to_string_lossy());
        }
        Ok(())
    }

    /// The file that the output goes to, if it is not standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard_output(path))
    }
}

/// Whether the path is another name for standard output. Replacing what `/dev/stdout` points to would take the file away
/// from others who write to it.
fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(document: &Document) -> Result {
    let mut output = anstream::stdout().lock();
    match output.write_all(coloured(document).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Write { path: None, error }),
        _ => Ok(()),
    }
}

/// The document with colour codes, which `anstream` takes out again where there is no terminal.
fn coloured(document: &Document) -> String {
    document
        .pieces()
        .map(|(emphasis, text)| {
            let style = style(emphasis);
            format!("{style}{text}{style:#}")
        })
        .collect()
}

fn style(emphasis: Emphasis) -> Style {
    match emphasis {
        Emphasis::Plain => Style::new(),
        Emphasis::Strong => Style::new().bold(),
        Emphasis::Faint => Style::new().dimmed(),
        Emphasis::Warning => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
    }
}

impl CollectionOutput {
    /// Runs a job that writes a file, and prints its summary. Ctrl-C removes what is not complete.
    pub(crate) fn run(&self, job: impl FnOnce(PathBuf) -> sottovoce_job::Result<Summary>) -> Result {
        set_threads(self.threads);
        // A process that cannot listen ends at Ctrl-C as any other, and leaves a hidden file behind.
        let _ = ctrlc::set_handler(|| {
            replacement::abandon();
            std::process::exit(INTERRUPTED.into());
        });
        let printed = is_standard_output(&self.output);
        let summary = job(if printed { "/dev/stdout".into() } else { self.output.clone() })?;
        if printed || self.quiet { Ok(()) } else { print(&summary.render(self.format.into())) }
    }
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}
