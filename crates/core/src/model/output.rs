//! What a report says: one element of a protocol's output set, independent of how it is stored or sent.

use std::fmt;

/// One output of a protocol.
///
/// The text form is the JSON form of tallies, so that an error message can quote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Output {
    /// One of `b` outputs that have nothing but a number.
    Index(usize),
    /// A set of inputs, ascending: unary encoding and subset selection.
    Subset(Vec<usize>),
    /// A hash function given by its seed, and the reported bucket: local hash as it is sent.
    Hash {
        /// Seed of the hash function.
        seed: u64,
        /// The reported bucket.
        z: usize,
    },
    /// A hash function given by its table of values, and the reported bucket: local hash over *all* functions.
    Table {
        /// `values[x]` is the bucket of input `x`.
        values: Vec<usize>,
        /// The reported bucket.
        z: usize,
    },
    /// The output of one part of a mixture, with the part's number.
    Part(usize, Box<Output>),
    /// The outputs of all factors of a product.
    Tuple(Vec<Output>),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
            f.write_str("[")?;
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i == 0 { "" } else { "," })?;
            }
            f.write_str("]")
        }
        match self {
            Output::Index(y) => write!(f, "{y}"),
            Output::Subset(members) => list(f, members),
            Output::Hash { seed, z } => write!(f, "[{seed},{z}]"),
            Output::Table { values, z } => {
                f.write_str("[")?;
                list(f, values)?;
                write!(f, ",{z}]")
            }
            Output::Part(part, output) => write!(f, "[{part},{output}]"),
            Output::Tuple(outputs) => list(f, outputs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_the_json_form() {
        let nested =
            Output::Part(1, Box::new(Output::Tuple(vec![Output::Subset(vec![0, 2]), Output::Index(3)])));
        assert_eq!(nested.to_string(), "[1,[[0,2],3]]");
        assert_eq!(Output::Table { values: vec![0, 1], z: 1 }.to_string(), "[[0,1],1]");
        assert_eq!(Output::Subset(vec![]).to_string(), "[]");
    }
}
