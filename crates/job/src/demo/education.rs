//! How many people have which level of education, in the UCI "Adult" census extract.

/// Where the counts come from.
pub const SOURCE: &str =
    "UCI \"Adult\" census extract, 32 561 rows of adult.data (Becker and Kohavi, 1996; CC BY 4.0)";

/// The 16 levels of education, from lowest to highest, with the number of people.
pub const EDUCATION: [(&str, u64); 16] = [
    ("Preschool", 51),
    ("1st-4th", 168),
    ("5th-6th", 333),
    ("7th-8th", 646),
    ("9th", 514),
    ("10th", 933),
    ("11th", 1175),
    ("12th", 433),
    ("HS-grad", 10_501),
    ("Some-college", 7291),
    ("Assoc-voc", 1382),
    ("Assoc-acdm", 1067),
    ("Bachelors", 5355),
    ("Masters", 1723),
    ("Prof-school", 576),
    ("Doctorate", 413),
];

/// The number of people.
pub(super) fn users() -> u64 {
    EDUCATION.iter().map(|(_, count)| count).sum()
}

/// The share of each level.
pub(super) fn shares() -> Vec<f64> {
    EDUCATION.iter().map(|(_, count)| *count as f64 / users() as f64).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn everybody_is_counted() {
        assert_eq!(super::users(), 32_561);
    }
}
