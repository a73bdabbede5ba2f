//! Every row of the tables of test vectors in `docs/report-format.md`.

use sottovoce::Protocol;
use sottovoce::protocol::{DifferenceSet, bucket};
use sottovoce_collect::tallies_file::output;
use sottovoce_collect::{Digest, Identity, Layout};
use sottovoce_job::{NamedProtocol, PriorSpec, read_protocol};

const DOCUMENT: &str = include_str!("../../../docs/report-format.md");

/// The rows of the table with this header, each cell without its back quotes.
fn rows(header: &str) -> Vec<Vec<&'static str>> {
    let table = DOCUMENT.split_once(header).unwrap().1;
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &'static str| {
        line.trim_matches(['|', ' ']).split(" | ").map(|cell| cell.trim_matches('`')).collect()
    };
    lines.map(cells).collect()
}

fn named(specification: &str) -> NamedProtocol {
    read_protocol(specification).unwrap().check(&PriorSpec::Jeffreys).unwrap()
}

#[test]
fn fingerprints() {
    let rows = rows("| specification | canonical | fingerprint |");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let canonical = serde_json::to_string(&named(row[0]).spec).unwrap();
        assert_eq!(canonical, row[1]);
        assert_eq!(Identity::new(canonical).fingerprint, row[2]);
    }
}

#[test]
fn numbers() {
    let rows = rows("| double | canonical |");
    assert!(rows.len() >= 8);
    for row in rows {
        assert_eq!(serde_json::to_string(&row[0].parse::<f64>().unwrap()).unwrap(), row[1]);
    }
}

#[test]
fn reports_in_text() {
    let rows = rows("| specification | output | text |");
    assert!(rows.len() > 10);
    for row in rows {
        let protocol: Protocol = named(row[0]).protocol;
        let (layout, wanted) = (Layout::of(&protocol), output(&protocol, row[1]).unwrap());
        let mut bytes = vec![0; layout.length()];
        layout
            .read_text(row[2].as_bytes(), &mut bytes)
            .unwrap_or_else(|reason| panic!("{row:?}: {reason:?}"));
        assert_eq!(layout.output(&bytes), wanted, "{row:?}");
        let (mut again, mut text) = (vec![0; layout.length()], Vec::new());
        layout.write(&wanted, &mut again).unwrap();
        layout.write_text(&again, &mut text);
        assert_eq!(text, row[2].as_bytes(), "{row:?}");
    }
}

#[test]
fn digests() {
    let rows = rows("| specification | reports in text | digest |");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let layout = Layout::of(&named(row[0]).protocol);
        let mut digest = Digest::default();
        for text in row[1].split(' ') {
            let mut bytes = vec![0; layout.length()];
            layout.read_text(text.as_bytes(), &mut bytes).unwrap();
            digest.add(&bytes);
        }
        assert_eq!(digest.to_string(), row[2], "{row:?}");
    }
}

#[test]
fn buckets() {
    let rows = rows("| seed | x | g | bucket |");
    assert_eq!(rows.len(), 5);
    for row in rows {
        let [seed, x, g, wanted] = [0, 1, 2, 3].map(|cell| row[cell].parse::<u64>().unwrap());
        assert_eq!(bucket(seed, x as usize, g as usize), wanted as usize, "{row:?}");
    }
}

#[test]
fn difference_sets() {
    let (small, large) = (rows("| v | k | rule | digits c_0, c_1, … | D |"), rows("| v | k | Σ d | Σ d² |"));
    assert!(small.len() >= 11 && large.len() >= 2);
    for row in small {
        let [v, k, _, _, elements] = row[..] else { panic!("{row:?}") };
        let set = DifferenceSet::new(v.parse().unwrap(), k.parse().unwrap()).unwrap();
        let found: Vec<String> = set.elements().iter().map(u32::to_string).collect();
        assert_eq!(found.join(" "), elements, "{v} {k}");
    }
    for row in large {
        let numbers: Vec<u64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
        let set = DifferenceSet::new(numbers[0] as usize, numbers[1] as usize).unwrap();
        let sum = |power: u32| set.elements().iter().map(|d| u64::from(*d).pow(power)).sum::<u64>();
        assert_eq!([sum(0), sum(1), sum(2)], numbers[1..], "{row:?}");
    }
}
