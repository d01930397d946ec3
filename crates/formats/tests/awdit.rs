//! Tests of AWDIT's format, one for every convention.

mod support;

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use proptest::prelude::*;
use support::survives_damage;

fn reading(text: &str) -> Reading {
    support::reading(Format::Awdit, text)
}

fn notation_of(text: &str) -> String {
    support::notation_of(Format::Awdit, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::Awdit, text)
}

#[test]
fn lines_are_operations_and_separators_separate() {
    let text = "w 0 1\nw 1 1\n-----\nr 0 1\n=====\nr 1 1";
    assert_eq!(notation_of(text), "T0: w(0,1) w(1,1) ; T1: r(0,1)  T2: r(1,1)");
    assert_eq!(notation_of(&text.replace('\n', "\r\n")), notation_of(text));
    assert_eq!(
        notation_of("  w  0\t1  \n---\nr 0 1\n==========\nr 0 1"),
        "T0: w(0,1) ; T1: r(0,1)  T2: r(0,1)"
    );
    assert_eq!(notation_of("w 18446744073709551615 2147483648"), "T0: w(18446744073709551615,2147483648)");
}

#[test]
fn adjacent_separators_create_no_transaction() {
    let history = reading("-----\nw 0 1\n-----\n=====\n=====\nr 0 1\n-----\n\n").history;
    assert_eq!((history.session_count(), history.txn_count()), (2, 2));
    assert_eq!(support::small(history.session_name(isoscope_history::Session(1))), Some(2));
    assert_eq!(reading("").warnings[0].message, "the input contains no transactions");
}

#[test]
fn blank_lines_and_comments_are_ignored() {
    let reading = reading("# one\n\nw 0 1\n// two\n\n");
    assert_eq!(isoscope_history::notation::print(&reading.history), "T0: w(0,1)");
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
}

/// AWDIT has no initial transaction: a read of 0 returns the write of 0 if there is one, and else the initial
/// state. Under the other interpretation, this history would not contain a cycle of reads.
#[test]
fn a_read_of_zero_returns_a_write_of_zero_if_there_is_one() {
    let cycle = "r 1 1\n-----\nw 0 0\n=====\nr 0 0\n-----\nw 1 1";
    assert_eq!(notation_of(cycle), "init(0)=nil  T0: r(1,1) ; T1: w(0,0)  T2: r(0,0) ; T3: w(1,1)");
    assert_eq!(notation_of("r 0 0\n-----\nr 0 5"), "T0: r(0,0) ; T1: r(0,5)");
}

#[test]
fn operations_have_positions() {
    let history = reading("w 0 1\n-----\nr 0 1\n").history;
    let at: Vec<u64> = history.txns().map(|txn| history.txn_position(txn).unwrap().0).collect();
    assert_eq!(at, [0, 12]);
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let text = "w 0 1\nx 1 2\nr 1\nr1 2\nw 1 2 3\n--\n-----x\nw 1 -2\nr 1 18446744073709551616\nw";
    let lines: Vec<String> = failure(text).lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "t:2:1: unexpected `x` (`r key value`, `w key value`, `-----` or `=====`)",
            "t:3:4: the line ends too soon (a space and a value)",
            "t:4:2: unexpected `1` (a space and a key)",
            "t:5:7: unexpected `3` (the end of the line)",
            "t:6:3: the line ends too soon (a separator of at least three signs)",
            "t:7:6: unexpected `x` (the end of the line)",
            "t:8:5: unexpected `-` (an unsigned number)",
            "t:9:5: unexpected `1` (a number of at most 64 bits)",
            "t:10:2: the input ends too soon (a space and a key)",
        ]
    );
    assert!(failure(b"w 0 1\n\xff\n").contains("t:2:1: unexpected byte 0xff"));
}

#[test]
fn a_long_line_or_garbage_fails_early() {
    assert!(failure("w".repeat(10 << 20)).contains("t:1:2: unexpected `w`"));
    assert!(failure("y\n".repeat(1 << 20)).contains("and at least"));
}

#[test]
fn the_format_is_recognised_and_only_read() {
    for text in ["w 0 1", "# c\n\n=====\nr 0 0\nw 1 1"] {
        assert_eq!(read(&Input::text("t", text), &ReadOptions::default()).unwrap().format, Format::Awdit);
    }
    for text in ["w(0,1,2,3)", "w x 1", "read 1 2", "=====", "r 1 2 3"] {
        let reading = read(&Input::text("t", text), &ReadOptions::default());
        assert!(reading.is_err() || reading.is_ok_and(|r| r.format != Format::Awdit), "{text}");
    }
    let written = write(&reading("w 0 1").history, Format::Awdit, Target::Stream(&mut Vec::new()));
    assert!(matches!(written, Err(WriteError::ReadOnly(Format::Awdit))));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Awdit, bytes);
    }

    #[test]
    fn arbitrary_lines_do_not_panic(text in "([rw] [0-9]{1,3} [0-9]{1,21}\n|-{1,5}\n|={1,5}\n|#x\n| ){0,20}") {
        let _ = support::try_reading(Format::Awdit, text);
    }
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::Awdit, b"w 0 0\nw 1 0\n-----\nr 0 1\r\n=====\n# c\nw 1 1\n\n");
}

/// Checks the number of operations, transactions and sessions of every file against its lines.
#[test]
fn the_shared_corpus_is_read() {
    let Some(corpus) = support::shared_corpus() else { return };
    let mut folders = vec![corpus.join("weak/awdit")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let reading = read(&Input::Path(path.clone()), &ReadOptions::default())
                .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
            assert_eq!(reading.format, Format::Awdit, "{}", path.display());
            let text = std::fs::read_to_string(&path).unwrap();
            let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
            let history = &reading.history;
            assert_eq!(history.op_count(), count("r") + count("w"), "{}", path.display());
            assert_eq!(history.session_count(), count("=") + 1, "{}", path.display());
            assert_eq!(history.txn_count(), count("=") + count("-") + 1, "{}", path.display());
        }
    }
}
