//! Text, for people: fits 80 columns, and reads the same on a terminal and in a file.

mod demo;
mod description;
mod metrics;

pub use demo::demo;
pub use description::description;
pub use metrics::metrics;

use sottovoce::metric::Value;

use super::number::with_error;

/// Most columns of a line.
const WIDTH: usize = 80;

fn value_text(value: &Value) -> String {
    match value {
        Value::Number(e) => with_error(e.value, e.error),
        Value::Count(count, _) => count.to_string(),
        Value::Truth(truth, _) => if *truth { "yes" } else { "no" }.into(),
    }
}

/// A user's text in at most `width` columns, without control characters that a terminal would obey.
fn clipped(text: &str, width: usize) -> String {
    let printable = |c: char| if c.is_control() { '·' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(printable).collect();
    }
    text.chars().take(width - 1).map(printable).chain(['…']).collect()
}
