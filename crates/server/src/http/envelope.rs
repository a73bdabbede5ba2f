//! The envelope of a batch, as `docs/report-format.md` describes it.

use std::borrow::Cow;

use serde::Deserialize;

/// A batch of reports.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope<'t> {
    /// The fingerprint of the protocol that they belong to.
    #[serde(borrow)]
    pub fingerprint: Cow<'t, str>,
    /// The reports.
    #[serde(borrow)]
    pub reports: Vec<Entry<'t>>,
}

/// A report and its id.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry<'t> {
    /// Its id: 32 lower-case hexadecimal digits.
    #[serde(borrow)]
    pub id: Cow<'t, str>,
    /// Its text.
    #[serde(borrow)]
    pub report: Cow<'t, str>,
}

/// The bytes of an id.
pub fn id(text: &str) -> Option<[u8; 16]> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 16];
    if text.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_32_digits() {
        let good = "000102030405060708090a0b0c0d0eff";
        assert_eq!(id(good).map(|id| (id[1], id[15])), Some((1, 255)));
        for bad in ["", &good[1..], &good.to_uppercase(), &good.replace('f', "g"), &format!("{good}0")] {
            assert_eq!(id(bad), None, "{bad}");
        }
        assert_eq!(id("ééééééééééééééée"), None);
    }
}
