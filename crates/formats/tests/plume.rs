//! Tests of Plume text, one for every convention.

mod support;

use isoscope_formats::{Format, Reading};
use isoscope_history::{Outcome, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, histories, shape, survives_damage, written};

fn reading(text: &str) -> Reading {
    support::reading(Format::Plume, text)
}

fn notation_of(text: &str) -> String {
    support::notation_of(Format::Plume, text)
}

fn failure(text: &str) -> String {
    support::failure(Format::Plume, text)
}

#[test]
fn lines_are_operations() {
    assert_eq!(notation_of("w(1,7,0,1)\nr(2,0,0,1)\nr(1,7,5,2)"), "T1: w(1,7) r(2,0)  T2: r(1,7)");
}

#[test]
fn crlf_and_a_missing_last_line_end_are_fine() {
    assert_eq!(notation_of("w(1,7,0,1)\r\nr(1,7,1,2)\r"), notation_of("w(1,7,0,1)\nr(1,7,1,2)\n"));
}

#[test]
fn session_order_is_the_order_of_first_lines() {
    assert_eq!(notation_of("w(1,1,0,9)\nw(1,2,0,3)\nr(1,1,0,9)"), "T9: w(1,1) r(1,1) ; T3: w(1,2)");
}

#[test]
fn a_transaction_is_named_by_session_and_number() {
    let history = reading("w(1,1,0,5)\nr(1,1,1,5)").history;
    assert_eq!((history.session_count(), history.txn_count()), (2, 2));
}

#[test]
fn minus_one_is_an_aborted_transaction() {
    let history = reading("w(1,1,0,-1)\nr(1,1,1,1)\nw(1,2,0,-1)").history;
    assert_eq!(history.txn_count(), 2);
    let aborted = history.txns().find(|&txn| history.outcome(txn) == Outcome::Aborted).unwrap();
    assert_eq!(history.ops_of(aborted).count(), 2);
}

#[test]
fn an_explicit_first_write_of_zeros_is_the_initial_state() {
    let explicit = reading("w(1,0,0,0)\nw(2,0,0,0)\nr(1,0,1,1)");
    assert_eq!(notation::print(&explicit.history), "T1: r(1,0)");
    assert_eq!(explicit.history.key_count(), 2);
    assert!(explicit.warnings[0].message.contains("2 writes"), "{:?}", explicit.warnings);
    // A later write of 0 is a real write. A first transaction with any other operation is a real transaction.
    assert_eq!(notation_of("w(1,5,0,0)\nw(1,0,1,1)"), "T0: w(1,5)  T1: w(1,0)");
    assert_eq!(notation_of("w(1,0,0,0)\nr(1,0,1,1)\nr(2,0,0,0)"), "T0: w(1,0) r(2,0)  T1: r(1,0)");
    assert_eq!(notation_of("r(1,0,1,1)\nw(1,0,0,0)"), "T1: r(1,0)  T0: w(1,0)");
    assert_eq!(notation_of("w(1,0,0,0)\nw(1,0,0,1)"), "T1: w(1,0)");
}

#[test]
fn numbers_have_64_bits() {
    assert_eq!(
        notation_of("w(18446744073709551615,2147483648,0,1)"),
        "T1: w(18446744073709551615,2147483648)"
    );
    assert!(failure("w(18446744073709551616,1,0,1)").contains("t:1:3: unexpected `1` (a number of at most"));
}

#[test]
fn blank_lines_and_empty_files_are_warnings() {
    let blank = reading("w(1,1,0,1)\n\n  \r\nr(1,1,1,2)\n");
    assert_eq!(blank.history.op_count(), 2);
    assert_eq!(blank.warnings[0].to_string(), "t:2:1: 2 blank lines ignored");
    assert_eq!(reading("").warnings[0].message, "the input contains no transactions");
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let failure = failure(
        "w(1,1,0,1)\nx(1,1,0,1)\nw(1,1,0,1) \nw(1,,0,1)\nw(1,1,0,-2)\nw(1,1\nr(1,1,0,18446744073709551615)",
    );
    let lines: Vec<&str> = failure.lines().collect();
    let an_event = "(an event such as r(key,value,session,txn) or w(key,value,session,txn))";
    assert_eq!(lines[0], format!("t:2:1: unexpected `x` {an_event}"));
    assert_eq!(lines[1], "t:3:11: unexpected space (the end of the line)");
    assert_eq!(lines[2], "t:4:5: unexpected `,` (an unsigned number)");
    assert!(lines[3].starts_with("t:5:9: unexpected `-` (a transaction number, or -1"));
    assert_eq!(lines[4], "t:6:6: the line ends inside an event (`,` after the value)");
    assert!(lines[5].starts_with("t:7:9: unexpected `1` (a transaction number below"));
}

#[test]
fn a_long_line_or_garbage_fails_early() {
    assert!(failure(&"w".repeat(10 << 20)).contains("t:1:2: unexpected `w`"));
    assert!(failure(&"y\n".repeat(1 << 20)).contains("and at least"));
}

/// Blocks are cut at line ends: a file of many blocks gives the same history as its lines.
#[test]
fn a_file_of_many_blocks_is_read_in_order() {
    let mut text = String::new();
    for i in 0..400_000u64 {
        text.push_str(&format!("w({},{},{},{})\n", i % 1000, i + 1, i % 7, i / 7 % 50_000));
    }
    assert!(text.len() > 3 * (2 << 20));
    let history = reading(&text).history;
    assert_eq!((history.op_count(), history.session_count()), (400_000, 7));
    for txn in history.txns() {
        let values: Vec<u32> = history.ops_of(txn).map(|op| op.value.as_small().unwrap()).collect();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        for op in history.ops_of(txn) {
            let at = history.op_position(op.id).unwrap().0 as usize;
            let value = format!(",{},", op.value.as_small().unwrap());
            assert!(text[at..].lines().next().unwrap().contains(&value));
        }
    }
}

/// Aborted transactions of a session become one, so only committed transactions are compared.
#[test]
fn real_writes_of_zero_and_words_survive() {
    for text in [
        "T1: w(1,7) r(2,0)  T2: r(1,7) ; T3: w(1,8)",
        "T0: w(1,0)  T1: r(1,0)",
        "T1: w(x,a) r(y,nil)  T2: r(x,a)",
        "init=nil  T1: w(1,0) r(2,nil)  T2: r(1,0)",
    ] {
        let history = notation::parse(text).unwrap();
        let (bytes, _) = written(&history, Format::Plume);
        assert_eq!(shape(&support::reading(Format::Plume, bytes).history), shape(&history), "{text}");
    }
}

proptest! {
    #[test]
    fn written_histories_read_back(history in histories(Flavour { rich_names: true, ..PLAIN })) {
        let (bytes, _) = written(&history, Format::Plume);
        prop_assert_eq!(shape(&support::reading(Format::Plume, bytes).history), shape(&history));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Plume, bytes);
    }
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::Plume, b"w(1,1,0,1)\nr(1,1,1,2)\r\n\nw(2,18446744073709551615,1,-1)\n");
}
