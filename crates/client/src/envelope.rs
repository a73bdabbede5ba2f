//! How reports travel: a batch of them with ids, and the answer to each.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// A report with its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// 16 random bytes in lower-case hexadecimal, drawn for this report alone. A repeated id counts once.
    pub id: String,
    /// The report's text.
    pub report: String,
}

/// Reports of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The protocol's fingerprint.
    pub fingerprint: String,
    /// The reports.
    pub reports: Vec<Submission>,
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// How many are counted now.
    pub counted: u64,
    /// How many had been counted before.
    pub repeated: u64,
    /// How many are none.
    pub refused: u64,
    /// What became of each, in the order of the batch.
    pub results: Vec<Outcome>,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is counted.
    Counted,
    /// One with this id was counted before.
    Repeated,
    /// Its id is not 32 lower-case hexadecimal digits.
    Id,
    /// Another report with this id was counted before.
    Conflict,
    /// It is not a report of the protocol.
    #[serde(untagged)]
    Refused(Reason),
}

impl Submission {
    /// The bytes of the id.
    ///
    /// ```
    /// # use sottovoce_client::Submission;
    /// let submission = Submission { id: "000102030405060708090a0b0c0d0eff".into(), report: "1".into() };
    /// assert_eq!(submission.id_bytes().unwrap()[14..], [0x0e, 0xff]);
    /// ```
    pub fn id_bytes(&self) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        let digits = self.id.as_bytes();
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte =
                crate::layout::hexadecimal(pair[0]).ok()? << 4 | crate::layout::hexadecimal(pair[1]).ok()?;
        }
        Some(bytes)
    }
}

impl Receipt {
    /// Adds what became of the next report.
    pub fn push(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Counted => self.counted += 1,
            Outcome::Repeated => self.repeated += 1,
            Outcome::Id | Outcome::Conflict | Outcome::Refused(_) => self.refused += 1,
        }
        self.results.push(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_the_documented_json() {
        let mut receipt = Receipt::default();
        let not_digits = Outcome::Refused(Reason::NotDigits);
        for outcome in [Outcome::Counted, Outcome::Repeated, Outcome::Id, Outcome::Conflict, not_digits] {
            receipt.push(outcome);
        }
        let json = r#"{"counted":1,"repeated":1,"refused":3,"results":["counted","repeated","id","conflict","not_digits"]}"#;
        assert_eq!(serde_json::to_string(&receipt).unwrap(), json);
        assert_eq!(serde_json::from_str::<Receipt>(json).unwrap(), receipt);
    }

    #[test]
    fn ids_are_lower_case_hexadecimal() {
        let id = |text: &str| Submission { id: text.into(), report: String::new() }.id_bytes();
        assert!(id(&"0f".repeat(16)).is_some());
        for bad in ["", "0F", &"0F".repeat(16), &"0f".repeat(17), &"é".repeat(16), &"0g".repeat(16)] {
            assert_eq!(id(bad), None);
        }
    }
}
