//! Which word was probably meant.

/// Words that other papers and libraries use for ours.
const SYNONYMS: [(&str, &str); 20] = [
    ("e", "epsilon"),
    ("eps", "epsilon"),
    ("p", "kappa"),
    ("q", "lambda"),
    ("size", "a"),
    ("domain", "a"),
    ("truth", "identity"),
    ("rr", "grr"),
    ("krr", "grr"),
    ("randomised_response", "grr"),
    ("randomized_response", "grr"),
    ("sue", "rappor"),
    ("olh", "lh"),
    ("hash", "lh"),
    ("ss", "subset"),
    ("pgr", "block"),
    ("design", "block"),
    ("mix", "mixture"),
    ("uniform", "symmetric"),
    ("map", "deterministic"),
];

/// How alike two words must be, from 0 to 1 (Jaro–Winkler): `kapa`, `epsilom` and `gr` pass, `foo` for `ue` does not.
const ALIKE: f64 = 0.8;

/// The candidate that is most like `written`, if one is like enough.
pub(crate) fn closest(
    written: &str,
    candidates: impl IntoIterator<Item = &'static str> + Clone,
) -> Option<&'static str> {
    let written: String = written.chars().take(40).collect::<String>().to_lowercase();
    let synonym = SYNONYMS.iter().find(|(theirs, _)| *theirs == written).map(|(_, ours)| *ours);
    if let Some(ours) = candidates.clone().into_iter().find(|c| Some(*c) == synonym) {
        return Some(ours);
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&written, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|l, r| l.0.total_cmp(&r.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_words_are_found_and_unlikely_ones_are_not() {
        assert_eq!(closest("gr", ["grr", "ue", "lh"]), Some("grr"));
        assert_eq!(closest("GRR", ["grr", "ue", "lh"]), Some("grr"));
        assert_eq!(closest("olh", ["grr", "ue", "lh"]), Some("lh"));
        assert_eq!(closest("epsilom", ["a", "epsilon", "labels"]), Some("epsilon"));
        assert_eq!(closest("eps", ["a", "epsilon", "labels"]), Some("epsilon"));
        assert_eq!(closest("zzz", ["a", "epsilon", "labels"]), None);
        assert_eq!(closest("", ["a"]), None);
    }
}
