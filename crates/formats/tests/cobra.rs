//! Tests of Cobra logs, one for every convention.

mod support;

use std::path::Path;

use isoscope_formats::{Format, Input, Losses, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::{History, NO_TIME, OpKind, Outcome, Value, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, content, histories, shape, survives_damage};

const INITIAL: i64 = 0xbebe_ebee;
const NULL: i64 = 0xdead_beef;
const DELETED: i64 = 0xabcd_efab;
const BLIND: i64 = 0xadea_fbee;
const ANY_WRITE: i64 = 0xabdd_efee;

/// A log built by hand and not by the writer under test: letters and their numbers.
fn log(records: &[(char, &[i64])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (letter, fields) in records {
        out.push(*letter as u8);
        for field in *fields {
            out.extend(field.to_be_bytes());
        }
    }
    out
}

fn reading(bytes: impl AsRef<[u8]>) -> Reading {
    support::reading(Format::Cobra, bytes)
}

fn notation_of(records: &[(char, &[i64])]) -> String {
    content(&reading(log(records)).history)
}

fn failure(bytes: impl AsRef<[u8]>) -> String {
    support::failure(Format::Cobra, bytes)
}

fn read_directory(directory: &Path) -> Reading {
    let input = Input::Path(directory.to_owned());
    let reading = read(&input, &ReadOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(reading.format, Format::Cobra);
    reading
}

fn write_directory(history: &History) -> (tempfile::TempDir, Losses) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let losses = write(history, Format::Cobra, Target::Directory(directory.path())).expect("written");
    (directory, losses)
}

#[test]
fn records_are_transactions_and_operations() {
    let log = [('S', &[7_i64] as &[i64]), ('W', &[101, -5, 99]), ('R', &[3, 102, 6, 98]), ('C', &[7])];
    assert_eq!(notation_of(&log), "Committed: w(-5,101) r(6,102) ; \n");
    let history = reading(self::log(&log)).history;
    assert_eq!(history.txn_name(isoscope_history::Txn(0)).as_small(), Some(7));
    assert!(history.timestamps().is_none());
    let at: Vec<u64> =
        history.ops_of(isoscope_history::Txn(0)).map(|op| history.op_position(op.id).unwrap().0).collect();
    assert_eq!(at, [9, 34]);
}

/// The identity of a value is its write id: two writes of equal hashes are different values.
#[test]
fn values_are_write_ids() {
    assert_eq!(
        notation_of(&[
            ('S', &[1]),
            ('W', &[11, 1, 5]),
            ('W', &[12, 1, 5]),
            ('R', &[1, 12, 1, 5]),
            ('C', &[1])
        ]),
        "Committed: w(1,11) w(1,12) r(1,12) ; \n"
    );
}

#[test]
fn begins_and_commits_may_have_times() {
    let with = log(&[
        ('S', &[1, 1000]),
        ('W', &[11, 1, 5]),
        ('C', &[1, 2000]),
        ('S', &[2, 3000]),
        ('C', &[2, 4000]),
    ]);
    let history = reading(&with).history;
    let times = history.timestamps().unwrap();
    assert_eq!((&times.start[..], &times.end[..]), (&[1000, 3000][..], &[2000, 4000][..]));
    let without = log(&[('S', &[1]), ('W', &[11, 1, 5]), ('C', &[1]), ('S', &[2]), ('C', &[2])]);
    assert_eq!(content(&reading(without).history), content(&history));
    // Decided for each file: a time that looks like a record does not matter.
    let like_a_record = i64::from_be_bytes(*b"C\0\0\0\0\0\0\0");
    let history = reading(log(&[('S', &[1, like_a_record]), ('C', &[1, i64::MAX])])).history;
    assert_eq!(history.timestamps().unwrap().start, [like_a_record]);
}

#[test]
fn sentinels_are_not_write_ids() {
    let read = |from: i64, wid: i64, hash: i64| {
        notation_of(&[('S', &[1]), ('R', &[from, wid, 9, hash]), ('C', &[1])])
    };
    assert_eq!(read(INITIAL, INITIAL, 77), "Committed: r(9,nil) ; \n");
    assert_eq!(read(NULL, NULL, 0), "Committed: r(9,nil) ; \n");
    assert_eq!(read(DELETED, DELETED, 0), "Committed: r(9,nil) ; \n");
    assert_eq!(read(BLIND, BLIND, 0), "Committed: r(9,?) ; \n");
    assert_eq!(read(INITIAL, 0x2333_2333, 0), "Committed: r(9,?) ; \n");
    assert_eq!(read(INITIAL, 0x6666_6666, 0), "Committed: r(9,?) ; \n");
    assert_eq!(read(ANY_WRITE, ANY_WRITE, 77), "Committed: r(9,77) ; \n");
    let writes = [
        ('S', &[1_i64] as &[i64]),
        ('W', &[NULL, 9, 0]),
        ('W', &[DELETED, 9, 0]),
        ('W', &[ANY_WRITE, 9, -4]),
        ('C', &[1]),
    ];
    assert_eq!(notation_of(&writes), "Committed: w(9,nil) d(9) w(9,-4) ; \n");
    let history = reading(log(&writes)).history;
    assert_eq!(history.default_initial(), Value::NIL);
}

#[test]
fn a_transaction_without_a_commit_is_of_unknown_outcome() {
    let log =
        log(&[('S', &[1]), ('W', &[11, 1, 5]), ('S', &[2]), ('C', &[2]), ('S', &[3]), ('W', &[12, 1, 5])]);
    let reading = reading(log);
    let outcomes: Vec<Outcome> = reading.history.txns().map(|txn| reading.history.outcome(txn)).collect();
    assert_eq!(outcomes, [Outcome::Unknown, Outcome::Committed, Outcome::Unknown]);
    assert_eq!(reading.warnings[0].to_string(), "t: byte 0: 2 transactions without an end; outcome unknown");
    let timed = self::log(&[('S', &[1, 1000]), ('W', &[11, 1, 5])]);
    assert_eq!(self::reading(timed).history.timestamps().unwrap().end, [NO_TIME]);
}

#[test]
fn an_incomplete_last_record_is_ignored() {
    let whole = log(&[('S', &[1]), ('W', &[11, 1, 5]), ('C', &[1]), ('S', &[2]), ('W', &[12, 1, 5])]);
    let reading = reading(&whole[..whole.len() - 3]);
    assert_eq!(content(&reading.history), "Committed: w(1,11) ; Unknown: ; \n");
    let warnings: Vec<String> = reading.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings[0], "t: byte 52: the last record is incomplete and was ignored");
    assert_eq!(warnings[1], "t: byte 43: 1 transaction without an end; outcome unknown");
}

#[test]
fn errors_have_a_byte_and_an_expectation() {
    let good = log(&[('S', &[1]), ('W', &[11, 1, 5]), ('C', &[1])]);
    let bad = [&good[..], b"Q234"].concat();
    assert_eq!(failure(bad), "t: byte 43: unexpected `Q` (a record: `S`, `C`, `W` or `R`)");
    let begin = "(`S`, the begin of a transaction)";
    assert_eq!(
        failure(log(&[('W', &[1, 2, 3])])),
        format!("t: byte 0: a write outside a transaction {begin}")
    );
    assert_eq!(
        failure(log(&[('C', &[1]), ('R', &[1, 2, 3, 4]), ('S', &[5]), ('C', &[6])]))
            .lines()
            .collect::<Vec<_>>(),
        [
            format!("t: byte 0: a commit of transaction 1 {begin}"),
            format!("t: byte 9: a read outside a transaction {begin}"),
            "t: byte 51: a commit of transaction 6 (the commit of transaction 5, which is open)".to_owned(),
        ]
    );
    assert!(failure(b"S\0\0\0").starts_with("t: byte 4: the input ends inside its first record"));
    assert!(failure(b"\xff\0\0\0").starts_with("t: byte 0: unexpected byte 0xff"));
    // The variant that gets further is reported, with times or without.
    let timed = log(&[('S', &[1, 1000]), ('W', &[11, 1, 5]), ('C', &[1, 1001]), ('S', &[2, 1000])]);
    assert!(failure([&timed[..], b"\x01"].concat()).starts_with("t: byte 76: unexpected byte 0x01"));
}

#[test]
fn an_empty_log_is_a_session_without_transactions() {
    assert_eq!(reading(b"").warnings[0].message, "the input contains no transactions");
    assert_eq!(reading(b"").history.session_count(), 1);
}

#[test]
fn a_directory_is_a_history_and_a_file_is_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: Vec<u8>| std::fs::write(directory.path().join(name), bytes).unwrap();
    put("T10.log", log(&[('S', &[5]), ('R', &[6, 11, 1, 5]), ('C', &[5])]));
    put("T9.log", log(&[('S', &[6, 100]), ('W', &[11, 1, 5]), ('C', &[6, 200])]));
    put("notes.txt", b"nothing".to_vec());
    let history = read_directory(directory.path()).history;
    assert_eq!(content(&history), "Committed: w(1,11) ; \nCommitted: r(1,11) ; \n");
    let names: Vec<_> = history.sessions().map(|s| support::small(history.session_name(s))).collect();
    assert_eq!(names, [Some(9), Some(10)]);
    assert_eq!(history.timestamps().unwrap().start, [100, NO_TIME]);
    put("T11.log", b"what?".to_vec());
    let failure = read(&Input::Path(directory.path().to_owned()), &ReadOptions::default()).err().unwrap();
    assert!(failure.to_string().contains("T11.log:1:1: unexpected `w`"), "{failure}");
}

#[test]
fn a_single_log_is_recognised() {
    let detected = |bytes: &[u8]| {
        let input = Input::Bytes { name: "t".into(), bytes: bytes.into() };
        read(&input, &ReadOptions::default()).map(|reading| reading.format).ok()
    };
    let good = log(&[('S', &[1]), ('W', &[11, 1, 5]), ('C', &[1])]);
    assert_eq!(detected(&good), Some(Format::Cobra));
    assert_eq!(detected(&good[..20]), None);
    assert_eq!(detected(&log(&[('S', &[1, 2]), ('C', &[1, 2])])), Some(Format::Cobra));
    assert_eq!(detected(&log(&[('W', &[11, 1, 5]), ('C', &[1])])), None);
    assert_eq!(detected(b"S12345678C12345678"), None);
    assert_eq!(detected(&[&good[..], b"Q"].concat()), None);
}

#[test]
fn written_reads_name_their_writers() {
    let history = notation::parse("T4: w(1,11) r(2,0)  T5: r(1,11) r(1,77)").unwrap();
    let (directory, _) = write_directory(&history);
    let mut bytes = Vec::new();
    for session in history.sessions() {
        let name = support::small(history.session_name(session)).map_or(session.0, |n| n);
        bytes.push(std::fs::read(directory.path().join(format!("T{name}.log"))).unwrap());
    }
    assert_eq!(
        bytes[0],
        log(&[('S', &[4]), ('W', &[11, 1, 11]), ('R', &[INITIAL, INITIAL, 2, 0]), ('C', &[4])])
    );
    assert_eq!(bytes[1], log(&[('S', &[5]), ('R', &[4, 11, 1, 11]), ('R', &[-1, 77, 1, 77]), ('C', &[5])]));
}

/// A write of the initial value is a write of nil, and reads of it name no writer: it may be either.
#[test]
fn a_write_of_the_initial_value_is_a_write_of_nil() {
    let history = notation::parse("T4: w(1,0) r(1,0) r(2,0)").unwrap();
    let (directory, _) = write_directory(&history);
    let file = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap();
    let (one, two) = ([NULL, NULL, 1, 0], [INITIAL, INITIAL, 2, 0]);
    let expected = log(&[('S', &[4]), ('W', &one[1..]), ('R', &one), ('R', &two), ('C', &[4])]);
    assert_eq!(std::fs::read(file.path()).unwrap(), expected);
}

#[test]
fn duplicate_values_are_written_as_any_write() {
    let history = notation::parse("init=nil T4: w(1,11)  T5: w(1,11)  T6: r(1,11)").unwrap();
    let (directory, _) = write_directory(&history);
    assert_eq!(shape(&read_directory(directory.path()).history), shape(&history));
    let name = support::small(history.session_name(isoscope_history::Session(2))).unwrap_or(2);
    let bytes = std::fs::read(directory.path().join(format!("T{name}.log"))).unwrap();
    assert_eq!(bytes, log(&[('S', &[6]), ('R', &[ANY_WRITE, ANY_WRITE, 1, 11]), ('C', &[6])]));
}

/// Values and names with a special meaning in this format are renumbered.
#[test]
fn sentinels_are_not_written_by_accident() {
    let text = format!("T2: w(1,{INITIAL}) w(2,{BLIND})  T{NULL}: r(1,{INITIAL}) r(2,1) r(2,{ANY_WRITE})");
    let history = notation::parse(&text).unwrap();
    let (directory, losses) = write_directory(&history);
    assert_eq!(shape(&read_directory(directory.path()).history), shape(&history));
    let losses: Vec<&str> = losses.iter().map(|(what, _)| what).collect();
    assert!(losses.contains(&"values replaced by numbers"), "{losses:?}");
    assert!(losses.contains(&"transaction names replaced by numbers"), "{losses:?}");
}

#[test]
fn aborted_transactions_are_a_loss() {
    let history = notation::parse("T1!: w(x,1)  T2: r(x,1)  T3?: w(y,1)  T4: r(y,1)").unwrap();
    let (directory, losses) = write_directory(&history);
    assert!(
        losses
            .iter()
            .any(|(what, count)| what.starts_with("aborted transactions left out") && count == Some(1))
    );
    let back = read_directory(directory.path()).history;
    assert_eq!((back.session_count(), back.txn_count()), (4, 3));
    assert!(back.txns().all(|txn| back.outcome(txn) == Outcome::Committed));
}

#[test]
fn old_and_new_logs_are_never_mixed() {
    let history = notation::parse("T1: w(x,1)").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("a/b");
    write(&history, Format::Cobra, Target::Directory(&inside)).unwrap();
    let before = std::fs::read_dir(&inside).unwrap().count();
    let other = notation::parse("T1: w(x,1)  T2: r(x,1)  T3: r(x,1)").unwrap();
    let error = write(&other, Format::Cobra, Target::Directory(&inside)).unwrap_err();
    assert!(matches!(&error, WriteError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists));
    assert!(error.to_string().contains("already contains logs"), "{error}");
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), before);
    let stream = write(&history, Format::Cobra, Target::Stream(&mut Vec::new()));
    assert!(matches!(stream, Err(WriteError::WrongTarget(Format::Cobra))));
}

proptest! {
    #[test]
    fn written_histories_read_back(history in histories(Flavour { rich_names: true, ..PLAIN })) {
        let (directory, _) = write_directory(&history);
        if history.session_count() > 0 {
            prop_assert_eq!(shape(&read_directory(directory.path()).history), shape(&history));
        }
        // Each single log is recognised too, although all its numbers may be small.
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            prop_assert_eq!(read_directory(&entry.unwrap().path()).history.session_count(), 1);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Cobra, bytes);
    }

    #[test]
    fn arbitrary_records_do_not_panic(
        records in prop::collection::vec((prop::sample::select(b"SCWR".to_vec()), 0..5_i64, any::<i64>()), 0..20)
    ) {
        let mut bytes = Vec::new();
        for (letter, count, field) in records {
            bytes.push(letter);
            for n in 0..count {
                bytes.extend((field % 7 + n).to_be_bytes());
            }
        }
        let _ = support::try_reading(Format::Cobra, bytes);
    }
}

#[test]
fn damaged_logs_do_not_panic() {
    let records = [
        ('S', &[1_i64] as &[i64]),
        ('W', &[11, 1, 5]),
        ('R', &[1, 11, 1, 5]),
        ('C', &[1]),
        ('S', &[2]),
        ('C', &[2]),
    ];
    survives_damage(Format::Cobra, &log(&records));
    survives_damage(Format::Cobra, &log(&[('S', &[1, 9]), ('W', &[11, 1, 5]), ('C', &[1, 10])]));
}

/// The known numbers of the corpus: sessions, transactions, writes, reads, reads of the initial state, and
/// reads of values that no log writes.
const CORPUS: [(&str, [usize; 6]); 9] = [
    ("strong/rubis-10k", [8, 10_289, 11_441, 39_306, 32_701, 0]),
    ("strong/tpcc-10k", [8, 10_364, 1_033, 10_364, 5_251, 0]),
    ("strong/twitter-10k", [8, 10_444, 15_940, 35_713, 12_414, 0]),
    ("strong/small/rubis-1k", [8, 1_018, 1_160, 3_886, 3_542, 0]),
    ("strong/small/tpcc-1k", [8, 1_760, 9_094, 31_441, 16_785, 0]),
    ("strong/small/twitter-1k", [8, 1_043, 1_698, 2_976, 2_356, 0]),
    ("violations/cock-G2", [10, 446, 446, 892, 892, 0]),
    ("violations/cock-blog", [13, 21, 3, 18, 0, 8]),
    ("violations/yuga-G2-a", [15, 37_190, 25_409, 61_383, 14_875, 0]),
];

#[test]
fn the_shared_corpus_is_read() {
    let Some(corpus) = support::shared_corpus() else { return };
    for (folder, expected) in CORPUS {
        let reading = read_directory(&corpus.join(folder));
        let history = &reading.history;
        let ops: Vec<_> = history.txns().flat_map(|txn| history.ops_of(txn).collect::<Vec<_>>()).collect();
        let reads: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::Read).collect();
        let written: std::collections::HashSet<_> =
            ops.iter().filter(|op| op.kind == OpKind::Write).map(|op| (op.key, op.value)).collect();
        let initial = reads.iter().filter(|op| op.value == Value::NIL).count();
        let thin_air = reads
            .iter()
            .filter(|op| op.value != Value::NIL && !written.contains(&(op.key, op.value)))
            .count();
        let writes = ops.len() - reads.len();
        let found = [history.session_count(), history.txn_count(), writes, reads.len(), initial, thin_air];
        assert_eq!(found, expected, "{folder}");
        assert!(history.txns().all(|txn| history.outcome(txn) == Outcome::Committed), "{folder}");
        // The strong benchmarks have duplicate values, except tpcc.
        let duplicates = folder.starts_with("strong") && !folder.contains("tpcc");
        assert_eq!(written.len() < writes, duplicates, "{folder}");
    }
}
