//! Tests of `IsoPredict` traces, one for every convention.

mod support;

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::OpKind;
use proptest::prelude::*;
use support::{content, survives_damage};

fn reading(text: &str) -> Reading {
    support::reading(Format::IsoPredict, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::IsoPredict, text)
}

#[test]
fn reads_have_the_value_of_the_write_they_name() {
    let text = "WRITE KEY[x] Txn(1, 0)\nWRITE KEY[x] Txn(2, 0)\nREAD KEY[x] Txn(2, 1) From(1, 0)\n";
    assert_eq!(
        content(&reading(text).history),
        "Committed: w(x,\"1.0\") ; \nCommitted: w(x,\"2.0\") ; Committed: r(x,\"1.0\") ; \n"
    );
    let history = reading(text).history;
    assert_eq!((history.session_count(), history.txn_count()), (2, 3));
    assert_eq!(support::small(history.session_name(isoscope_history::Session(1))), Some(2));
}

#[test]
fn a_read_returns_the_final_write_even_if_that_comes_later() {
    let text = "READ KEY[x] Txn(2, 0) From(1, 0)\nWRITE KEY[x] Txn(1, 0)\nWRITE KEY[y] Txn(1, 0)\nWRITE KEY[x] Txn(1, 0)";
    let sessions = "Committed: r(x,\"1.0.2\") ; \nCommitted: w(x,\"1.0\") w(y,\"1.0\") w(x,\"1.0.2\") ; \n";
    assert_eq!(content(&reading(text).history), sessions);
}

#[test]
fn a_transaction_that_names_itself_reads_its_latest_write() {
    let write = "WRITE KEY[x] Txn(1, 0)\n";
    let read = "READ KEY[x] Txn(1, 0) From(1, 0)\n";
    let notation_of = content(&reading(&[write, read, write, read].concat()).history);
    assert_eq!(notation_of, "Committed: w(x,\"1.0\") r(x,\"1.0\") w(x,\"1.0.2\") r(x,\"1.0.2\") ; \n");
    // A read of a later own write is kept as it is; the checkers report it.
    let future = content(&reading(&[read, write, write].concat()).history);
    assert_eq!(future, "Committed: r(x,\"1.0.2\") w(x,\"1.0\") w(x,\"1.0.2\") ; \n");
}

#[test]
fn transaction_zero_of_session_zero_is_the_initial_state() {
    let text = "WRITE KEY[x] Txn(0, 0)\nWRITE KEY[y] Txn(0, 0)\nREAD KEY[y] Txn(1, 0) From(0, 0)\n\
                READ KEY[z] Txn(1, 0) From(0, 0)\nWRITE KEY[w] Txn(0, 1)\n";
    let reading = reading(text);
    assert_eq!(content(&reading.history), "Committed: w(w,\"0.1\") ; \nCommitted: r(y,nil) r(z,nil) ; \n");
    assert!(
        reading.warnings[0].message.starts_with("2 writes of the first transaction taken as the initial")
    );
    assert!(
        reading
            .history
            .txns()
            .flat_map(|txn| reading.history.ops_of(txn).collect::<Vec<_>>())
            .filter(|op| op.kind == OpKind::Read)
            .all(|op| reading.history.is_initial(op.key, op.value))
    );
    // A session with only the initial state does not exist.
    let alone = "WRITE KEY[x] Txn(0, 0)\nREAD KEY[x] Txn(1, 0) From(0, 0)";
    assert_eq!(self::reading(alone).history.session_count(), 1);
}

#[test]
fn a_transaction_zero_that_reads_from_others_is_an_ordinary_one() {
    let text = "WRITE KEY[x] Txn(1, 0)\nREAD KEY[x] Txn(0, 0) From(1, 0)\nWRITE KEY[y] Txn(0, 0)\n\
                READ KEY[y] Txn(1, 1) From(0, 0)\nREAD KEY[z] Txn(1, 1) From(0, 0)";
    let sessions = "Committed: w(x,\"1.0\") ; Committed: r(y,\"0.0\") r(z,nil) ; \nCommitted: r(x,\"1.0\") w(y,\"0.0\") ; \n";
    assert_eq!(content(&reading(text).history), sessions);
    // A transaction that reads only its own writes is still the initial state.
    let own = "WRITE KEY[x] Txn(0, 0)\nREAD KEY[x] Txn(0, 0) From(0, 0)\nREAD KEY[x] Txn(1, 0) From(0, 0)";
    assert_eq!(content(&reading(own).history), "Committed: r(x,nil) ; \n");
}

#[test]
fn a_read_without_a_writer_is_a_warning_and_a_thin_air_read() {
    let reading = reading("READ KEY[x] Txn(1, 0) From(7, 3)\nWRITE KEY[y] Txn(7, 3)\n");
    assert_eq!(content(&reading.history), "Committed: r(x,\"7.3\") ; \nCommitted: w(y,\"7.3\") ; \n");
    assert_eq!(reading.warnings[0].to_string(), "t:1:1: 1 read of a write that is not in the input");
}

#[test]
fn elements_of_sets_are_keys() {
    let text = "INSERT[5] to Set[3] Txn(1, 0)\nCONTAINS[5] in Set[3] From(1, 0) Txn(2, 0)\n\
                DELETE[5] from Set[3] Txn(1, 1)\nCONTAINS[5] in Set[3] Txn(2, 1) From(1, 1)\n\
                DELETE KEY[5] From Set(3) Txn(1, 2)\nCONTAINS[5] in Set[4] From(0, 0) Txn(2, 2)\n";
    let key = "\"3[5]\"";
    let one = format!(
        "Committed: i({key},\"1.0\") ; Committed: d({key},\"1.1\") ; Committed: d({key},\"1.2\") ; \n"
    );
    let two = format!(
        "Committed: r({key},\"1.0\") ; Committed: r({key},\"1.1\") ; Committed: r(\"4[5]\",nil) ; \n"
    );
    assert_eq!(content(&reading(text).history), one + &two);
}

#[test]
fn spaces_case_comments_and_reports_make_no_difference() {
    let plain = "WRITE KEY[x] Txn(1, 0)\nREAD KEY[x] Txn(2, 0) From(1, 0)\n";
    let odd = "# c\n\n  write key [ x ]  txn ( 1 ,0 ) \r\n// c\nREPLAY matched 1/2 at Session 1.\nREAD KEY(x) From(1,0) Txn(2,0)";
    assert_eq!(content(&reading(odd).history), content(&reading(plain).history));
}

#[test]
fn names_may_be_numbers_or_anything_in_brackets() {
    let notation_of = content(&reading("WRITE KEY[17] Txn(1, 0)\nWRITE KEY[a b/c] Txn(1, 0)").history);
    assert_eq!(notation_of, "Committed: w(17,\"1.0\") w(\"a b/c\",\"1.0\") ; \n");
}

#[test]
fn session_order_is_the_order_of_first_lines() {
    let text = "WRITE KEY[x] Txn(1, 1)\nWRITE KEY[x] Txn(1, 0)\nWRITE KEY[y] Txn(1, 1)\n";
    assert_eq!(
        content(&reading(text).history),
        "Committed: w(x,\"1.1\") w(y,\"1.1\") ; Committed: w(x,\"1.0\") ; \n"
    );
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let text = "WRITE KEY[x] Txn(1, 0)\nWROTE KEY[x]\nREAD [x]\nREAD KEY[x] Txn(1, 0)\nWRITE KEY[x Txn(1, 0)\n\
                WRITE KEY[x] Txn(1 0)\nWRITE KEY[] Txn(1, 0)\nINSERT[k] to Txn(1, 0)\nWRITE KEY[x] Txn(1, 0) From(1, 0)\n\
                WRITE KEY[x] Txn(1, 99999999999999999999)\nWRITE KEY[x]";
    let lines: Vec<String> = failure(text).lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "t:2:1: unexpected `W` (WRITE KEY[..], READ KEY[..], INSERT[..], CONTAINS[..] or DELETE[..])",
            "t:3:6: unexpected `[` (KEY[..])",
            "t:4:22: the line ends too soon (From(session, number))",
            "t:5:22: the line ends too soon (the closing bracket)",
            "t:6:20: unexpected `0` (`,` between session and number)",
            "t:7:11: unexpected `]` (a name in UTF-8)",
            "t:8:14: unexpected `T` (Set[..])",
            "t:9:24: unexpected `F` (the end of the line)",
            "t:10:21: unexpected `9` (a number of at most 64 bits)",
            "t:11:13: the input ends too soon (Txn(session, number))",
        ]
    );
    assert!(failure(b"WRITE KEY[\xff] Txn(1, 0)").contains("t:1:11: unexpected byte 0xff (a name in UTF-8)"));
}

#[test]
fn a_long_line_or_garbage_fails_early() {
    assert!(failure(format!("WRITE KEY[{}", "x".repeat(10 << 20))).contains("the closing bracket"));
    assert!(failure("y\n".repeat(1 << 20)).contains("and at least"));
}

#[test]
fn the_format_is_recognised_and_only_read() {
    for text in ["WRITE KEY[x] Txn(1, 0)", "# c\nREPLAY x\nCONTAINS[5] in Set[3] From(1, 0) Txn(2, 0)\n"] {
        assert_eq!(
            read(&Input::text("t", text), &ReadOptions::default()).unwrap().format,
            Format::IsoPredict
        );
    }
    for text in ["WRITE x", "READ: w(x,1)", "INSERT INTO t VALUES (1)", "DELETE FROM t"] {
        let reading = read(&Input::text("t", text), &ReadOptions::default());
        assert!(reading.is_err() || reading.is_ok_and(|r| r.format != Format::IsoPredict), "{text}");
    }
    let history = reading("WRITE KEY[x] Txn(1, 0)").history;
    let written = write(&history, Format::IsoPredict, Target::Stream(&mut Vec::new()));
    assert!(matches!(written, Err(WriteError::ReadOnly(Format::IsoPredict))));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::IsoPredict, bytes);
    }

    /// Every read whose writer writes the key returns that writer's last write of it.
    #[test]
    fn reads_agree_with_their_writers(
        lines in prop::collection::vec((any::<bool>(), 0..3u8, 1..4u8, 0..3u8, 1..4u8, 0..3u8), 1..30)
    ) {
        let mut text = String::new();
        for (write, key, s, t, from_s, from_t) in &lines {
            text.extend([if *write {
                format!("WRITE KEY[k{key}] Txn({s}, {t})\n")
            } else {
                format!("READ KEY[k{key}] Txn({s}, {t}) From({from_s}, {from_t})\n")
            }]);
        }
        let history = reading(&text).history;
        prop_assert_eq!(history.op_count(), lines.len());
        for (i, (write, key, s, t, from_s, from_t)) in lines.iter().enumerate() {
            if *write || (s, t) == (from_s, from_t) {
                continue;
            }
            let ops: Vec<_> = history.txns().flat_map(|txn| history.ops_of(txn).collect::<Vec<_>>()).collect();
            let start = |line: usize| text.lines().take(line).map(|line| line.len() as u64 + 1).sum::<u64>();
            let op = |line: usize| ops.iter().find(|op| history.op_position(op.id).unwrap().0 == start(line));
            let writes = |line: &usize| {
                let (write, other, s, t, ..) = &lines[*line];
                *write && other == key && (s, t) == (from_s, from_t)
            };
            let read = op(i).unwrap();
            let write = (0..lines.len()).rfind(writes).and_then(op);
            match write {
                Some(write) => prop_assert_eq!((read.key, read.value, true), (write.key, write.value, write.last_write)),
                None => prop_assert!(ops.iter().all(|op| !op.kind.is_write() || (op.key, op.value) != (read.key, read.value))),
            }
        }
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let good = "WRITE KEY[ä] Txn(0, 0)\nREAD KEY[ä] Txn(1, 0) From(0, 0)\r\nINSERT[k] to Set[s] Txn(1, 0)\n\
                CONTAINS[k] in Set[s] From(1, 0) Txn(2, 0)\n\nDELETE KEY[k] From Set(s) Txn(2, 0)";
    survives_damage(Format::IsoPredict, good.as_bytes());
}
