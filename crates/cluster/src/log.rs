//! What Ballista says of its work, on standard error, for those who look for a fault: `SOTTOVOCE_LOG=info` (or `warn`, `debug`) asks for it.

use ::log::{LevelFilter, Log, Metadata, Record};

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        eprintln!("{} {}: {}", record.level(), record.target(), record.args());
    }

    fn flush(&self) {}
}

/// Starts to say it, if it is asked for.
pub(crate) fn start() {
    let level = std::env::var("SOTTOVOCE_LOG").ok().and_then(|level| level.parse::<LevelFilter>().ok());
    if let (Some(level), Ok(())) = (level, ::log::set_logger(&StandardError)) {
        ::log::set_max_level(level);
    }
}
