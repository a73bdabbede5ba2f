//! Parts of a tally: whichever way they are counted, sent and merged, they give one tally.

use proptest::prelude::*;
use sottovoce::Protocol;
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::header::Header;
use sottovoce_collect::tally::{Counts, MAX_PATTERNS};
use sottovoce_collect::{
    Error, Form, Identity, PartialProblem, PartialTally, Place, Reason, Tally, write_tallies,
};

fn identity() -> Identity {
    Identity::new(r#"{"kind":"made up for the tests"}"#.into())
}

fn part(protocol: &Protocol, form: Form) -> PartialTally {
    PartialTally::new(protocol, &identity().fingerprint, form)
}

/// The report in a row: a few of them are not reports. Rows differ much, so that unary encoding has many patterns.
fn report(protocol: &Protocol, file: usize, row: usize, bytes: &mut [u8]) -> Result<(), Reason> {
    let mut state = (file as u64) << 32 | row as u64;
    for byte in bytes.iter_mut() {
        state = (state ^ state >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(17);
        *byte = (state >> 40) as u8;
    }
    match (protocol, row % 11) {
        (_, 3) => Err(Reason::Empty),
        (Protocol::UnaryEncoding(_), _) => Ok(()),
        (_, 7) => Ok(()),
        _ => {
            bytes[0] %= 5;
            Ok(())
        }
    }
}

/// Rows of files, cut into pieces.
#[derive(Clone, Debug)]
struct Piece {
    file: usize,
    first: usize,
    rows: usize,
}

fn pieces(rows: &[usize], cuts: &[usize]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (file, rows) in rows.iter().enumerate() {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (rows + 1)).chain([0, *rows]).collect();
        ends.sort_unstable();
        ends.dedup();
        pieces.extend(ends.windows(2).map(|ends| Piece { file, first: ends[0], rows: ends[1] - ends[0] }));
    }
    pieces
}

fn counted(protocol: &Protocol, form: Form, piece: &Piece, placed: bool) -> PartialTally {
    let mut part = part(protocol, form);
    let name = format!("file {}", piece.file);
    let place = placed.then_some(Place { file: &name, first: piece.first as u64 });
    let read = |row: usize, bytes: &mut [u8]| report(protocol, piece.file, piece.first + row, bytes);
    part.update(place, piece.rows, read).unwrap();
    if piece.file == 1 {
        part.mark_insecure();
    }
    part
}

/// Merges parts two by two, as the numbers say, each of them sent as bytes.
fn merged(protocol: &Protocol, mut parts: Vec<PartialTally>, picks: &[usize]) -> PartialTally {
    let fingerprint = identity().fingerprint;
    let sent =
        |part: PartialTally| PartialTally::from_bytes(&part.to_bytes(), protocol, &fingerprint).unwrap();
    let mut picks = picks.iter().cycle();
    let mut pick = |parts: &Vec<PartialTally>| picks.next().unwrap() % parts.len();
    while parts.len() > 1 {
        let left = pick(&parts);
        let left = parts.swap_remove(left);
        let right = pick(&parts);
        let mut both = parts.swap_remove(right);
        both.merge(sent(left)).unwrap();
        parts.push(both);
    }
    parts.pop().unwrap()
}

fn json(tally: &Tally) -> String {
    let mut text = Vec::new();
    write_tallies(tally, &identity(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn protocols() -> [Protocol; 4] {
    [
        Protocol::grr(5, 1.0).unwrap(),
        Protocol::oue(16, 1.0).unwrap(),
        Protocol::lh(6, 3, 1.0).unwrap(),
        Protocol::product(vec![Protocol::grr(5, 1.0).unwrap(), Protocol::oue(5, 1.0).unwrap()]).unwrap(),
    ]
}

fn forms() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Automatic), Just(Form::Patterns), Just(Form::Supports)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_tree_and_order_give_the_same_bytes(
        which in 0..4usize,
        form in forms(),
        rows in prop::collection::vec(0..60usize, 1..4),
        cuts in prop::collection::vec(0..1000usize, 0..5),
        orders in prop::collection::vec(prop::collection::vec(0..1000usize, 40), 3),
        placed in any::<bool>(),
    ) {
        let protocol = &protocols()[which];
        let pieces = pieces(&rows, &cuts);
        prop_assume!(!pieces.is_empty());
        let all = |picks: &[usize]| {
            let parts = pieces.iter().map(|piece| counted(protocol, form, piece, placed)).collect();
            merged(protocol, parts, picks)
        };
        let bytes: Vec<Vec<u8>> = orders.iter().map(|order| all(order).to_bytes()).collect();
        prop_assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]));
        // Another way to cut the files changes nothing either.
        let whole = rows.iter().enumerate().filter(|(_, rows)| **rows > 0);
        let whole = whole.map(|(file, rows)| Piece { file, first: 0, rows: *rows });
        let whole = whole.map(|piece| counted(protocol, form, &piece, placed)).collect();
        prop_assert_eq!(&merged(protocol, whole, &[0]).to_bytes(), &bytes[0]);
    }

    #[test]
    fn damage_is_refused(which in 0..4usize, at in any::<prop::sample::Index>(), bit in 0..8u32, cut in any::<bool>()) {
        let (protocol, fingerprint) = (&protocols()[which], identity().fingerprint);
        let mut bytes = counted(protocol, Form::Automatic, &Piece { file: 1, first: 2, rows: 40 }, true).to_bytes();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        prop_assert!(PartialTally::from_bytes(&bytes, protocol, &fingerprint).is_err());
    }

    /// Whoever writes a check of his own may write what he likes: it is refused, or a part that is written again as it was read.
    #[test]
    fn forged_bytes_are_refused_or_consistent(
        which in 0..4usize,
        changes in prop::collection::vec((40..400usize, any::<u8>()), 1..4),
    ) {
        use sha2::Digest as _;
        let (protocol, fingerprint) = (&protocols()[which], identity().fingerprint);
        let mut bytes = counted(protocol, Form::Automatic, &Piece { file: 1, first: 2, rows: 40 }, true).to_bytes();
        bytes.truncate(bytes.len() - 16);
        for (at, byte) in changes {
            let length = bytes.len();
            bytes[40 + (at - 40) % (length - 40)] = byte;
        }
        let check = sha2::Sha256::digest(&bytes);
        bytes.extend(&check[..16]);
        if let Ok(part) = PartialTally::from_bytes(&bytes, protocol, &fingerprint) {
            prop_assert_eq!(part.to_bytes(), bytes);
            let twice = part.clone();
            let _ = part.clone().merge(twice);
            let _ = part.finish(true);
        }
    }
}

/// Files as the randomiser writes them, counted row by row in pieces, against the tally of one machine.
#[test]
fn the_tallies_are_those_of_one_machine() {
    let directory = tempfile::tempdir().unwrap();
    for protocol in protocols() {
        let layout = sottovoce_collect::Layout::of(&protocol);
        let files: Vec<(String, Vec<u8>)> = (0..3)
            .map(|file| {
                let path = directory.path().join(format!("{file}.parquet")).to_str().unwrap().to_owned();
                let mut all = Vec::new();
                for row in 0..2500 {
                    let mut bytes = vec![0; layout.length()];
                    if report(&protocol, file, row, &mut bytes).is_ok() && layout.check(&bytes).is_ok() {
                        all.extend(bytes);
                    }
                }
                let header = Header::new(&identity(), Some(1));
                let target = std::fs::File::create(&path).unwrap();
                let mut writer =
                    ReportWriter::new(target, FileFormat::Parquet, layout.clone(), &header).unwrap();
                writer.write(&all).unwrap();
                writer.finish().unwrap();
                (path, all)
            })
            .collect();
        for form in [Form::Automatic, Form::Supports] {
            let mut single = Tally::new(&protocol, form);
            let opened = files.iter().map(|(path, _)| ReportFile::open(&Input::File(path.into())));
            single.add(opened, &identity(), &sottovoce::unobserved).unwrap();
            let mut whole = part(&protocol, form);
            whole.mark_insecure();
            for (path, all) in &files {
                let rows = all.len() / layout.length();
                for (first, end) in [(rows / 2, rows), (0, 7), (7, rows / 2)] {
                    let mut piece = part(&protocol, form);
                    let read = |row: usize, bytes: &mut [u8]| {
                        bytes.copy_from_slice(&all[(first + row) * layout.length()..][..layout.length()]);
                        Ok(())
                    };
                    let place = Place { file: path, first: first as u64 };
                    piece.update(Some(place), end - first, read).unwrap();
                    whole.merge(piece).unwrap();
                }
            }
            assert_eq!(json(&whole.finish(false).unwrap()), json(&single));
        }
    }
}

#[test]
fn rows_are_counted_once_and_none_is_left_out() {
    let protocol = Protocol::grr(5, 1.0).unwrap();
    let piece = |first, rows| counted(&protocol, Form::Automatic, &Piece { file: 0, first, rows }, true);
    let mut part = piece(10, 20);
    for (first, rows, row) in [(0, 11, 11), (29, 5, 30), (12, 3, 13), (10, 20, 11), (5, 100, 11)] {
        let (before, other) = (part.to_bytes(), piece(first, rows));
        assert!(
            matches!(part.merge(other), Err(Error::RowTwice { row: found, .. }) if found == row),
            "{first}"
        );
        assert_eq!(part.to_bytes(), before);
    }
    part.merge(piece(0, 8)).unwrap();
    assert!(matches!(part.clone().finish(false), Err(Error::RowMissing { row: 9, .. })));
    part.merge(piece(8, 2)).unwrap();
    assert_eq!(part.unplaced(), 0);
    part.finish(false).unwrap();
    assert!(matches!(piece(3, 4).finish(false), Err(Error::RowMissing { row: 1, .. })));
}

#[test]
fn copies_of_a_file_are_refused_unless_allowed() {
    let protocol = Protocol::grr(5, 1.0).unwrap();
    let counted = |name: &str| {
        let mut part = part(&protocol, Form::Automatic);
        let place = Place { file: name, first: 0 };
        part.update(Some(place), 50, |row, bytes| report(&protocol, 0, row, bytes)).unwrap();
        part
    };
    let mut both = counted("a");
    both.merge(counted("b")).unwrap();
    assert!(matches!(both.clone().finish(false), Err(Error::Overlap { .. })));
    assert_eq!(both.clone().finish(true).unwrap().n, both.n());
    // What a tallies file has of a file is known, too.
    let mut of = PartialTally::of(counted("a").finish(false).unwrap(), &identity().fingerprint);
    of = PartialTally::from_bytes(&of.to_bytes(), &protocol, &identity().fingerprint).unwrap();
    of.merge(counted("b")).unwrap();
    assert!(matches!(of.finish(false), Err(Error::Overlap { .. })));
}

/// Few patterns stay patterns and many become supports, whichever part had how many.
#[test]
fn the_form_depends_on_the_reports_alone() {
    let protocol = Protocol::oue(40, 1.0).unwrap();
    let piece = |first, rows| {
        let mut part = part(&protocol, Form::Automatic);
        let place = Place { file: "f", first };
        part.update(Some(place), rows, |row, bytes| {
            bytes.fill(0);
            bytes[..4].copy_from_slice(&(first as u32 + row as u32).to_le_bytes());
            Ok(())
        })
        .unwrap();
        part
    };
    let half = MAX_PATTERNS / 2;
    let mut part = piece(0, half);
    part.merge(piece(half as u64, MAX_PATTERNS - half)).unwrap();
    assert!(matches!(&part.tally().counts, Counts::Patterns(patterns) if patterns.len() == MAX_PATTERNS));
    let one = piece(MAX_PATTERNS as u64, 1);
    let mut last = one.clone();
    last.merge(part.clone()).unwrap();
    part.merge(one).unwrap();
    assert!(matches!(part.tally().counts, Counts::Supports(_)));
    assert_eq!(part.to_bytes(), last.to_bytes());
    assert_eq!(part.to_bytes(), piece(0, MAX_PATTERNS + 1).to_bytes());
}

#[test]
fn parts_of_other_protocols_and_forms_are_refused() {
    let (grr, oue) = (Protocol::grr(5, 1.0).unwrap(), Protocol::oue(16, 1.0).unwrap());
    let bytes = part(&grr, Form::Automatic).to_bytes();
    let other = Identity::new("{}".into()).fingerprint;
    let refused = PartialTally::from_bytes(&bytes, &grr, &other).unwrap_err();
    assert!(matches!(refused, Error::Partial(PartialProblem::Protocol)));
    assert_eq!(PartialTally::fingerprint_of(&bytes).unwrap(), identity().fingerprint);
    let mut automatic = part(&oue, Form::Automatic);
    let refused = automatic.merge(part(&oue, Form::Supports)).unwrap_err();
    assert!(matches!(refused, Error::Partial(PartialProblem::Form)));
    let refused = automatic.merge(PartialTally::new(&oue, &other, Form::Automatic)).unwrap_err();
    assert!(matches!(refused, Error::Partial(PartialProblem::Protocol)));
    let refusal = |bytes: &[u8]| PartialTally::from_bytes(bytes, &grr, &identity().fingerprint).unwrap_err();
    let mut newer = bytes.clone();
    newer[7] = 9;
    assert!(matches!(refusal(&newer), Error::Partial(PartialProblem::Version { version: 9 })));
    assert!(matches!(refusal(b"{\"n\": 3}"), Error::Partial(PartialProblem::Format)));
    assert!(matches!(refusal(b""), Error::Partial(PartialProblem::Format)));
}

#[test]
fn places_can_be_forgotten() {
    let grr = Protocol::grr(5, 1.0).unwrap();
    let piece = |first, rows| Piece { file: 0, first, rows };
    let mut first = counted(&grr, Form::Automatic, &piece(0, 20), true);
    let rows = |known: u64| move |file: &str| (file == "file 0").then_some(known);
    assert!(first.is_whole(rows(20)) && !first.is_whole(rows(21)) && !first.is_whole(|_| None));
    first.merge(counted(&grr, Form::Automatic, &piece(30, 10), true)).unwrap();
    assert!(!first.is_whole(rows(40)) && !first.is_whole(rows(30)));
    assert!(matches!(first.clone().finish(false), Err(Error::RowMissing { row: 21, .. })));
    first.forget_places();
    assert!(first.is_whole(|_| None) && first.unplaced() == first.n());
    let batches = first.clone().finish(false).unwrap().ledger.batches();
    assert_eq!(batches.iter().map(|batch| batch.n).collect::<Vec<_>>(), [first.n()]);
}
