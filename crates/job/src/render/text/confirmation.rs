//! A number that was approximated, checked by a short Monte Carlo run.

use crate::quantity::Evaluated;
use crate::render::number::with_error;

/// The sentence about the check of an approximated number.
pub(super) fn confirmation(checked: &Evaluated) -> String {
    let symbol = checked.quantity.symbol();
    let users = checked.users.map_or_else(String::new, |n| format!(" at n = {n}"));
    match checked.answer.number() {
        Some(found) => {
            let value = with_error(found.value, found.error);
            format!("Checked by Monte Carlo: {symbol} = {value} (standard error){users}.")
        }
        None => format!("{symbol}{users} could not be checked by Monte Carlo."),
    }
}
