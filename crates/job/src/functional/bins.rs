//! Labels that are numbers or bins of numbers.

/// The two ends of a bin: of `[20, 35)`, `(20, 35]`, `20-35`, `20–35`, `20 to 35` and `20..35`. A number is a bin by itself. `None` for
/// other texts, and for bins whose ends are not in order.
///
/// ```
/// use sottovoce_job::functional::bin;
/// assert_eq!(bin("[20, 35)"), Some((20.0, 35.0)));
/// assert_eq!(bin("-5"), Some((-5.0, -5.0)));
/// assert_eq!(bin("65+"), None);
/// ```
pub fn bin(label: &str) -> Option<(f64, f64)> {
    let label = label.trim();
    if let Some(point) = number(label) {
        return Some((point, point));
    }
    let inside = label.strip_prefix(['[', '(']).and_then(|text| text.strip_suffix([']', ')']));
    let ends = match inside {
        Some(inside) => split(inside, &[",", ";"]),
        None => split(label, &["–", "—", "..", " to ", "-"]),
    };
    ends.filter(|(low, high)| low < high)
}

/// Two numbers with one of the separators between them.
fn split(text: &str, separators: &[&str]) -> Option<(f64, f64)> {
    let at = |separator: &&str| {
        // A dash at the beginning is a sign.
        text.match_indices(*separator)
            .filter(|(at, _)| *at > 0)
            .find_map(|(at, found)| Some((number(&text[..at])?, number(&text[at + found.len()..])?)))
    };
    separators.iter().find_map(at)
}

/// A finite number, written with digits.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let written = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    text.parse().ok().filter(|value: &f64| written && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_read_in_many_forms() {
        for text in ["[20, 35)", "(20,35]", "20-35", " 20 – 35", "20..35", "20 to 35", "[2e1; 35]"] {
            assert_eq!(bin(text), Some((20.0, 35.0)), "{text}");
        }
        assert_eq!((bin("-10--5"), bin("-5-0")), (Some((-10.0, -5.0)), Some((-5.0, 0.0))));
        assert_eq!((bin("3"), bin("1e3")), (Some((3.0, 3.0)), Some((1e3, 1e3))));
        for text in
            ["", "-", "tea", "65+", "<20", "35-20", "[20, 35, 50)", "nan", "inf", "[20, inf)", "20-35-50"]
        {
            assert_eq!(bin(text), None, "{text}");
        }
    }
}
