//! Writing output: coloured on a terminal, complete or not at all in a file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anstyle::{AnsiColor, Style};
use sottovoce_job::destination::{is_standard_output, is_stream, own, standard_output};
use sottovoce_job::render::text::FileReport;
use sottovoce_job::render::{Characters, Chart, Document, Emphasis, Page, Render, Size};
use sottovoce_job::source::refuse_as_output;
use sottovoce_job::{Observer, Replacement};

use crate::arguments::{CollectionOutput, OutputArguments, PictureArguments};
use crate::failure::{Failure, Result, Told, say};
use crate::limits;
use crate::watch::Watch;

impl OutputArguments {
    /// Writes the document where the user wants it.
    pub(crate) fn write(&self, document: &Document) -> Result {
        let Some(path) = self.file() else {
            self.check_standard_output()?;
            return print(document);
        };
        write_file(path, document.to_string().as_bytes())?;
        if !self.quiet {
            say(AnsiColor::Green, "wrote", &path.to_string_lossy());
        }
        Ok(())
    }

    /// Refuses to write over what was read, for a computation that is about to begin.
    pub(crate) fn check(&self) -> Result {
        Ok(self.file().map_or(Ok(()), refuse_as_output)?)
    }

    /// Refuses a closed standard output that the user has named. (One that nobody named may have been thrown away on purpose, and the two
    /// cannot be told apart.)
    fn check_standard_output(&self) -> Result {
        let unwritable = |error| Failure::Write { path: None, error };
        self.output.as_ref().map_or(Ok(()), |_| standard_output().map(drop).map_err(unwritable))
    }

    /// The file that the output goes to, if it is not standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard_output(path))
    }
}

impl PictureArguments {
    /// Draws the charts of the document, if the user wants pictures.
    pub(crate) fn write(&self, document: &Document, quiet: bool) -> Result {
        // Pictures, as files, are for complete results.
        let Some(path) = self.picture.as_ref().filter(|_| !limits::is_cut()) else { return Ok(()) };
        for (position, chart) in document.charts().enumerate() {
            let path = numbered(path, position);
            write_file(&path, &picture(chart, &path))?;
            if !quiet {
                say(AnsiColor::Green, "wrote", &path.to_string_lossy());
            }
        }
        Ok(())
    }
}

/// The chart in the format that the name asks for.
pub(crate) fn picture(chart: &Chart, path: &Path) -> Vec<u8> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return chart.png(Size::WIDE, 2.0);
    }
    chart.svg(Size::WIDE).into_bytes()
}

/// The name of the first picture, then `-2`, `-3` and so on before the extension.
fn numbered(path: &Path, position: usize) -> PathBuf {
    if position == 0 {
        return path.to_owned();
    }
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{}-{}.{}", part(path.file_stem()), position + 1, part(path.extension())))
}

/// The files that this process has written.
static WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Writes a file, complete or not at all, unless it is one of those that were read or written.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result {
    if limits::is_cut() {
        return Err(limits::cut(Told::Nothing, Some(path)));
    }
    refuse_as_output(path)?;
    let failed = |error| Failure::Write { path: Some(path.to_owned()), error };
    // Unwrap safety: nothing panics while it holds the lock.
    let mut written = WRITTEN.lock().unwrap();
    if path.canonicalize().is_ok_and(|path| written.contains(&path)) {
        return Err(failed(io::Error::other("something else was just written to it; name two files")));
    }
    limits::begin_to_write();
    replace(path, bytes).map_err(failed)?;
    written.extend(path.canonicalize().ok().filter(|path| !is_stream(path)));
    Ok(())
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(document: &Document) -> Result {
    limits::begin_to_write();
    let unwritable = |error| Failure::Write { path: None, error };
    // The library's own standard output says nothing of a descriptor that cannot be written to.
    let mut output = anstream::AutoStream::auto(own(io::stdout()).map_err(unwritable)?);
    match output.write_all(coloured(document, page()).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// The colours of the series of a chart, in the order of the pictures.
const SERIES: [AnsiColor; 6] = [
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
    AnsiColor::BrightBlack,
];

/// What standard output can show: the columns of the terminal (or of `COLUMNS`), and dots where there are colours to tell them apart and the
/// locale has more than ASCII.
fn page() -> Page {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let width = named.or_else(terminal).unwrap_or(Page::default().width).clamp(30, 400);
    let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let characters = if colours && speaks_unicode() { Characters::Unicode } else { Characters::Ascii };
    Page { width, characters }
}

/// Whether the locale has more than ASCII, as the first of its variables that is set says.
fn speaks_unicode() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default().to_lowercase();
    cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8")
}

/// The document with colour codes, which `anstream` takes out again where there is no terminal.
fn coloured(document: &Document, page: Page) -> String {
    document
        .laid_out(page)
        .into_iter()
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
        Emphasis::Series(i) => Style::new().fg_color(Some(SERIES[i % SERIES.len()].into())),
    }
}

impl CollectionOutput {
    /// Runs a job that writes a file, and prints its report. Where the file is standard output there is no room for it, so only its warnings are given, on standard
    /// error.
    pub(crate) fn run<R: Render + FileReport>(
        &self,
        job: impl FnOnce(Observer<'_>) -> sottovoce_job::Result<R>,
    ) -> Result {
        let watch = Watch::of_counting(self.quiet);
        let report = job(&|progress| watch.hear(progress));
        watch.clear();
        let report = report?;
        match (is_standard_output(&self.output), self.quiet) {
            (_, true) => Ok(()),
            (false, false) => print(&report.render(self.format.into())),
            (true, false) => {
                report.notes().iter().for_each(|note| say(AnsiColor::Yellow, "warning", note));
                Ok(())
            }
        }
    }
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}
