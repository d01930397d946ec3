//! Tests of dbcop bincode, one for every convention.

mod support;

use std::path::PathBuf;

use isoscope_formats::{Format, Input, ReadOptions, Reading, read};
use isoscope_history::{History, Outcome, Session, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, content, histories, shape, survives_damage, written};

/// An event: write, variable, value, success.
type Event = (u8, u64, u64, u8);
/// A transaction: its events and its own flag.
type Txn<'a> = (&'a [Event], u8);

/// A file built by hand and not by the writer under test.
fn file(sessions: &[&[Txn<'_>]]) -> Vec<u8> {
    let mut out = Vec::new();
    let number = |out: &mut Vec<u8>, n: u64| out.extend(n.to_le_bytes());
    for n in [6, 12, 720, 30, 20] {
        number(&mut out, n);
    }
    for text in ["CockroachDB", "2019-03-21T03:16:25+01:00", "später"] {
        number(&mut out, text.len() as u64);
        out.extend(text.as_bytes());
    }
    number(&mut out, sessions.len() as u64);
    for session in sessions {
        number(&mut out, session.len() as u64);
        for (events, flag) in *session {
            number(&mut out, events.len() as u64);
            for &(write, variable, value, success) in *events {
                out.push(write);
                number(&mut out, variable);
                number(&mut out, value);
                out.push(success);
            }
            out.push(*flag);
        }
    }
    out
}

/// The offset of the number of sessions in a [`file`].
const SESSIONS_AT: usize = 40 + 8 + 11 + 8 + 25 + 8 + 7;

fn reading(bytes: impl AsRef<[u8]>) -> Reading {
    support::reading(Format::DbcopBincode, bytes)
}

fn notation_of(sessions: &[&[Txn<'_>]]) -> String {
    support::notation_of(Format::DbcopBincode, file(sessions))
}

fn failure(bytes: impl AsRef<[u8]>) -> String {
    support::failure(Format::DbcopBincode, bytes)
}

#[test]
fn sessions_hold_transactions_hold_events() {
    let one: &[Txn<'_>] = &[(&[(1, 5, 7, 1), (0, 6, 0, 1)], 1), (&[(1, 5, 8, 1)], 1)];
    let two: &[Txn<'_>] = &[(&[(0, 5, 7, 1)], 1)];
    assert_eq!(notation_of(&[one, two]), "T0: w(5,7) r(6,0) ; T1: w(5,8)  T2: r(5,7)");
    let history = reading(file(&[one, two])).history;
    assert!(history.is_initial(history.keys().next().unwrap(), isoscope_history::Value::small(0).unwrap()));
    assert_eq!(support::small(history.session_name(Session(1))), Some(1));
    let second = history.ops_of(isoscope_history::Txn(0)).nth(1).unwrap();
    assert_eq!(history.op_position(second.id).unwrap().0 as usize, SESSIONS_AT + 8 + 8 + 8 + 18);
}

#[test]
fn numbers_have_64_bits() {
    assert_eq!(
        notation_of(&[&[(&[(1, u64::MAX, 1 << 31, 1)], 1)]]),
        "T0: w(18446744073709551615,2147483648)"
    );
}

#[test]
fn a_failed_event_is_ignored_and_mentioned() {
    let sessions: &[&[Txn<'_>]] = &[&[(&[(1, 1, 1, 1), (0, 1, 9, 0), (1, 2, 1, 0)], 1)]];
    assert_eq!(notation_of(sessions), "T0: w(1,1)");
    let warnings = reading(file(sessions)).warnings;
    assert!(warnings[0].message.contains("2 failed operations inside a transaction"), "{warnings:?}");
}

#[test]
fn the_flag_of_the_transaction_decides_its_outcome() {
    let sessions: &[&[Txn<'_>]] = &[&[(&[(1, 1, 1, 1)], 0), (&[(1, 1, 2, 0)], 1), (&[(1, 1, 3, 0)], 0)]];
    assert_eq!(notation_of(sessions), "T0!: w(1,1) ; T1: ; T2!:");
    // The failed event of the aborted transaction gets no warning.
    let warnings = reading(file(sessions)).warnings;
    assert!(warnings.iter().any(|w| w.message.starts_with("1 failed operation ")), "{warnings:?}");
}

#[test]
fn empty_transactions_and_sessions_stay() {
    let history = reading(file(&[&[], &[(&[], 1)], &[]])).history;
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (3, 1, 0));
    assert_eq!(reading(file(&[])).warnings[0].message, "the input contains no transactions");
}

#[test]
fn the_format_is_recognised_by_its_header() {
    let detected = |bytes: Vec<u8>| {
        let input = Input::Bytes { name: "t".into(), bytes: bytes.into() };
        read(&input, &ReadOptions::default()).map(|reading| reading.format).map_err(|f| f.to_string())
    };
    let good = file(&[&[(&[(1, 1, 1, 1)], 1)]]);
    assert_eq!(detected(good.clone()), Ok(Format::DbcopBincode));
    assert_eq!(detected(file(&[])), Ok(Format::DbcopBincode));
    // A file that is cut off after the header is still recognised, and the error says where it ends.
    assert!(detected(good[..good.len() - 3].to_vec()).unwrap_err().contains("the input ends too soon"));
    let mut not_text = good.clone();
    not_text[50] = 0xff;
    let mut long_text = good.clone();
    long_text[46] = 1;
    let mut large = good.clone();
    large[7] = 1;
    for bytes in [not_text, long_text, large, vec![0; 100], good[..60].to_vec()] {
        assert!(detected(bytes).unwrap_err().contains("is binary data in no known format"));
    }
}

#[test]
fn errors_have_a_byte_and_an_expectation() {
    let good = file(&[&[(&[(1, 1, 1, 1)], 1)]]);
    let end = good.len();
    assert_eq!(failure(&good[..20]), "t: byte 20: the input ends too soon (the number of variables)");
    assert_eq!(failure(&good[..50]), "t: byte 50: the input ends too soon (the text `info`)");
    let cut = failure(&good[..end - 5]);
    assert_eq!(cut, format!("t: byte {}: the input ends too soon (an event of 18 bytes)", end - 5));
    let cut = failure(&good[..end - 1]);
    assert_eq!(cut, format!("t: byte {}: the input ends too soon (the success of a transaction)", end - 1));
    let longer = failure([&good[..], b"more"].concat());
    assert_eq!(longer, format!("t: byte {end}: bytes after the last session (the end of the input)"));
    let mut bad = good.clone();
    bad[50] = 0xff;
    assert!(failure(&bad).starts_with("t: byte 50: text that is not UTF-8"));
}

#[test]
fn every_wrong_flag_is_found() {
    let bytes = file(&[&[(&[(2, 1, 1, 1), (1, 1, 1, 7)], 255)]]);
    let first = SESSIONS_AT + 8 + 8 + 8;
    assert_eq!(
        failure(bytes).lines().collect::<Vec<_>>(),
        [
            format!("t: byte {first}: a flag of 2 (0 for a read or 1 for a write)"),
            format!("t: byte {}: a flag of 7 (0 or 1 for the success of an event)", first + 18 + 17),
            format!("t: byte {}: a flag of 255 (0 or 1 for the success of a transaction)", first + 36),
        ]
    );
}

/// A wrong count must not reserve memory: 2^63 elements would end the test.
#[test]
fn counts_reserve_nothing() {
    let good = file(&[&[(&[(1, 1, 1, 1)], 1)]]);
    for at in [40, SESSIONS_AT, SESSIONS_AT + 8, SESSIONS_AT + 16] {
        for huge in [u64::MAX, 1 << 63, 1 << 40] {
            let mut bad = good.clone();
            bad[at..at + 8].copy_from_slice(&huge.to_le_bytes());
            let failure = failure(&bad);
            let why = if at == 40 { "at most 4096 bytes" } else { "ends too soon" };
            assert!(failure.contains(why), "{failure}");
        }
    }
}

#[test]
fn a_file_of_many_buffers_is_read_whole() {
    let events: Vec<Event> = (0..100_000).map(|n| (1, n % 7, n + 1, 1)).collect();
    let history = reading(file(&[&[(&events, 1)]])).history;
    let values: Vec<_> = history.ops_of(isoscope_history::Txn(0)).map(|op| op.value.as_small()).collect();
    assert_eq!(values, (1..=100_000).map(Some).collect::<Vec<_>>());
}

#[test]
fn the_header_is_filled_as_dbcop_does() {
    let history = notation::parse("T0: w(3,7) r(3,7) ; T1: r(9,0)  T2: r(3,7)").unwrap();
    let (bytes, losses) = written(&history, Format::DbcopBincode);
    let numbers: Vec<u64> =
        bytes[..40].chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect();
    assert_eq!(numbers, [0, 2, 2, 2, 2]);
    // The notation names a session after its first transaction.
    assert_eq!(losses.iter().collect::<Vec<_>>(), [("session names dropped", Some(1))]);
    assert_eq!(content(&reading(bytes).history), content(&history));
}

proptest! {
    #[test]
    fn written_histories_read_back(
        history in histories(Flavour { rich_names: true, aborted: true, ..PLAIN })
    ) {
        let (bytes, _) = written(&history, Format::DbcopBincode);
        let input = Input::Bytes { name: "t".into(), bytes: bytes.into() };
        let reading = read(&input, &ReadOptions::default()).unwrap();
        prop_assert_eq!(reading.format, Format::DbcopBincode);
        prop_assert_eq!(shape(&reading.history), shape(&history));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::DbcopBincode, bytes);
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let one: &[Txn<'_>] = &[(&[(1, 5, 7, 1), (0, 6, 0, 0)], 1), (&[], 0)];
    survives_damage(Format::DbcopBincode, &file(&[one, &[], one]));
}

/// All bincode files under a folder.
fn bincode_files(folder: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "bincode") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_shared_corpus_is_read() {
    let Some(corpus) = support::shared_corpus() else { return };
    for path in ["strong", "violations"].into_iter().flat_map(|folder| bincode_files(corpus.join(folder))) {
        let reading = read(&Input::Path(path.clone()), &ReadOptions::default())
            .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
        let history = &reading.history;
        let name = path.display();
        assert_eq!(reading.format, Format::DbcopBincode);
        assert!(history.session_count() >= 3 && history.txn_count() >= 8, "{name}");
        assert!(history.op_count() >= 15 && history.op_count() < 2_000_000, "{name}");
        // The parameters of the runs of dbcop's paper: `nodes_transactions_events_variables-id`.
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let plan: Vec<usize> = stem.split(['_', '-']).filter_map(|n| n.parse().ok()).collect();
        if let [nodes, txns, events, variables, _] = plan[..] {
            assert_eq!((history.session_count(), history.txn_count()), (nodes, nodes * txns), "{name}");
            assert!(history.op_count() <= nodes * txns * events && history.key_count() <= variables);
            assert!(history.op_count() * 2 > nodes * txns * events, "{name}");
            assert!(reads_only_what_was_committed(history), "{name}");
        } else {
            assert!(history.txns().all(|txn| history.outcome(txn) == Outcome::Committed), "{name}");
        }
    }
}

/// Whether the committed transactions read only initial values and committed writes.
fn reads_only_what_was_committed(history: &History) -> bool {
    let committed = || history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed);
    let ops = || committed().flat_map(|txn| history.ops_of(txn));
    let written: std::collections::HashSet<_> =
        ops().filter(|op| op.kind.is_write()).map(|op| (op.key, op.value)).collect();
    let mut reads = ops().filter(|op| op.kind.is_read());
    reads.all(|op| history.is_initial(op.key, op.value) || written.contains(&(op.key, op.value)))
}

/// Two runs exist both as bincode and as Plume text. The bincode has the keys renumbered, and its first
/// session contains only a transaction that writes the initial values. Everything else is the same.
#[test]
fn two_runs_agree_with_their_plume_text() {
    let Some(corpus) = support::shared_corpus() else { return };
    for (folder, text) in [("galera-lost-update", "galera.txt"), ("yugabyte-si", "yugabyte.txt")] {
        let folder = corpus.join("violations").join(folder);
        let read =
            |file: &str| read(&Input::Path(folder.join(file)), &ReadOptions::default()).unwrap().history;
        let (binary, plume) = (read("history.bincode"), read(text));
        let first = binary.txns_of(Session(0)).next().unwrap();
        let initial: Vec<_> = binary.ops_of(first).map(|op| (op.key, op.value)).collect();
        assert_eq!(binary.txns_of(Session(0)).len(), 1);
        assert!(binary.ops_of(first).all(|op| op.kind.is_write()));
        assert_eq!((initial.len(), binary.key_count()), (plume.key_count(), plume.key_count()));
        let mut one = sessions(&binary, 1, |key, value| initial.contains(&(key, value)));
        let mut other = sessions(&plume, 0, |key, value| plume.is_initial(key, value));
        one.sort();
        other.sort();
        assert_eq!(one, other, "{}", folder.display());
    }
}

/// The sessions from a number on, with keys and values named by their first appearance in the session.
fn sessions(
    history: &History,
    from: usize,
    is_initial: impl Fn(isoscope_history::Key, isoscope_history::Value) -> bool,
) -> Vec<String> {
    let mut all = Vec::new();
    for session in history.sessions().skip(from) {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let mut text = String::new();
        for txn in history.txns_of(session) {
            for op in history.ops_of(txn) {
                let key = place(&mut keys, op.key);
                let value = if is_initial(op.key, op.value) {
                    "initial".to_owned()
                } else {
                    place(&mut values, (op.key, op.value)).to_string()
                };
                text.extend([format!("{}({key},{value}) ", op.kind.name())]);
            }
            text.push_str("; ");
        }
        all.push(text);
    }
    all
}

fn place<T: PartialEq>(seen: &mut Vec<T>, item: T) -> usize {
    seen.iter().position(|other| *other == item).unwrap_or_else(|| {
        seen.push(item);
        seen.len() - 1
    })
}
