//! Signals that end the process: Ctrl-C, and what the system sends when it shuts down (SIGTERM) or the terminal goes away (SIGHUP).
//!
//! Whatever command runs, a file that is not complete is removed before the process ends with the exit code of an interruption. A long
//! computation that [listens](listen) hears of the first Ctrl-C and ends with what it knows, within a second.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sottovoce_job::replacement;

use crate::limits;

/// The exit code of a process that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether a computation listens to Ctrl-C.
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed while it did.
static HEARD: AtomicBool = AtomicBool::new(false);

/// Whether to say what the first Ctrl-C does.
static WORDS: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C only sets a flag, and says so if `told`.
pub(crate) fn listen(told: bool) {
    WORDS.store(told, Ordering::SeqCst);
    LISTENING.store(true, Ordering::SeqCst);
}

/// What a service does when it is asked to end.
static ENDING: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// From now on the first Ctrl-C or SIGTERM calls this, for a service that ends in order; the second ends the process at once.
pub(crate) fn hand_over(ending: impl Fn() + Send + Sync + 'static) {
    // A process serves one study.
    let _ = ENDING.set(Box::new(ending));
}

/// Whether a service was asked to end by this signal.
fn is_handed_over() -> bool {
    let first = ENDING.get().filter(|_| !HEARD.swap(true, Ordering::SeqCst));
    first.map(|ending| ending()).is_some()
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted() -> bool {
    HEARD.load(Ordering::SeqCst)
}

fn interrupt() {
    if is_handed_over() {
        return;
    }
    if !LISTENING.load(Ordering::SeqCst) || HEARD.swap(true, Ordering::SeqCst) {
        end();
    }
    limits::interrupt();
    if WORDS.load(Ordering::SeqCst) {
        crate::watch::write("\nstopping with what is known; press Ctrl-C again to quit at once\n");
    }
}

fn terminate() {
    if !is_handed_over() {
        end();
    }
}

fn end() {
    replacement::abandon();
    std::process::exit(INTERRUPTED.into());
}

/// Begins to watch for signals. A process that cannot ends at each of them as any other, and leaves a hidden file behind.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let wanted = [SIGINT, SIGTERM].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGINT { interrupt() } else { terminate() }
        }
    });
}

/// Whether whoever started the process told it to ignore a signal, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Begins to watch for Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn watch() {
    let _ = ctrlc::set_handler(interrupt);
}
