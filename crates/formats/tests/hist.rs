//! Tests of dbcop's `.hist` text, one for every convention.

mod support;

use isoscope_formats::{Format, Input, ReadOptions, Reading, read};
use isoscope_history::{History, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, content, histories, shape, survives_damage, written};

fn reading(text: &str) -> Reading {
    support::reading(Format::DbcopHist, text)
}

fn notation_of(text: &str) -> String {
    support::notation_of(Format::DbcopHist, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::DbcopHist, text)
}

#[test]
fn brackets_are_transactions() {
    assert_eq!(notation_of("[x:=1 y:=2] [y==2 x:=3]\n"), "T0: w(x,1) w(y,2) ; T1: r(y,2) w(x,3)");
    assert_eq!(notation_of("[x:=1]\n[x==1]"), "T0: w(x,1) ; T1: r(x,1)");
    assert_eq!(notation_of("\t[ x:=1\ty:=2 ]\r\n"), "T0: w(x,1) w(y,2)");
    assert_eq!(
        notation_of("[a_1:=1][ä:=18446744073709551615]"),
        "T0: w(a_1,1) ; T1: w(ä,18446744073709551615)"
    );
    assert_eq!(notation_of("[7:=1 07:=1]"), "T0: w(7,1) w(\"07\",1)");
}

#[test]
fn an_exclamation_mark_is_an_abort() {
    assert_eq!(notation_of("[x:=1]! [x==1]"), "T0!: w(x,1) ; T1: r(x,1)");
}

#[test]
fn dashes_separate_sessions_which_may_be_empty() {
    assert_eq!(notation_of("[x:=1]\n---\n[x==1]\n - \n[x==1]"), "T0: w(x,1)  T1: r(x,1)  T2: r(x,1)");
    let history = reading("[x:=1]\n---\n---\n[y:=2]\n").history;
    assert_eq!((history.session_count(), history.txn_count()), (3, 2));
    let names: Vec<_> = history.sessions().map(|s| support::small(history.session_name(s))).collect();
    assert_eq!(names, [Some(0), Some(1), Some(2)]);
}

#[test]
fn comments_and_blank_lines_are_ignored() {
    assert_eq!(notation_of("// one\n\n[x:=1] // two [y:=1]\n//---\n[x==1]"), "T0: w(x,1) ; T1: r(x,1)");
    assert_eq!(reading("// only this\n").warnings[0].message, "the input contains no transactions");
    assert_eq!(notation_of("\u{feff}[x:=1]"), "T0: w(x,1)");
}

/// dbcop calls `x==?` an uninitialised read: it reads the initial state, not an unknown result.
#[test]
fn a_question_mark_reads_the_initial_state() {
    assert_eq!(notation_of("[x==? x:=1]"), notation_of("[x==0 x:=1]"));
    let history = reading("[x==? x:=1]").history;
    let read = history.ops_of(history.txns().next().unwrap()).next().unwrap();
    assert!(history.is_initial(read.key, read.value));
}

/// dbcop's rule for version 0: a read of 0 returns a committed write of 0, if there is one.
#[test]
fn a_read_of_zero_returns_a_write_of_zero_if_there_is_one() {
    assert_eq!(
        notation_of("[x:=0]\n---\n[x==0 y==0] [x==?]"),
        "init(x)=nil  T0: w(x,0)  T1: r(x,0) r(y,0) ; T2: r(x,nil)"
    );
    assert_eq!(notation_of("[x==0 x==?]\n---\n[x:=0]!"), "T0: r(x,0) r(x,0)  T1!: w(x,0)");
}

#[test]
fn empty_brackets_are_an_empty_transaction() {
    assert_eq!(reading("[] [x:=1]").history.txn_count(), 2);
}

#[test]
fn operations_have_positions() {
    let history = reading("// c\n[x:=1 yy==1]").history;
    let at: Vec<u64> =
        history.ops_of(isoscope_history::Txn(0)).map(|op| history.op_position(op.id).unwrap().0).collect();
    assert_eq!(at, [6, 11]);
    assert_eq!(history.txn_position(isoscope_history::Txn(0)).unwrap().0, 5);
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let text =
        "[x:=1] x\n[x=1 y:=2] [y:=?]\n[x:=1\n[x:=1y] --\n-- [x:=1]\n[x==18446744073709551616]\n[!]\n[x";
    let lines: Vec<String> = failure(text).lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "t:1:8: unexpected `x` (`[` of a transaction, `//` or the end of the line)",
            "t:2:3: unexpected `=` (`:=` or `==` after the variable)",
            "t:2:16: unexpected `?` (an unsigned number)",
            "t:3:6: the line ends too soon (a space or `]` after the event)",
            "t:4:6: unexpected `y` (a space or `]` after the event)",
            "t:4:9: unexpected `-` (`[` of a transaction, `//` or the end of the line)",
            "t:5:4: unexpected `[` (the end of the line)",
            "t:6:5: unexpected `1` (a number of at most 64 bits)",
            "t:7:2: unexpected `!` (an event such as x:=1, x==1 or x==?, or `]`)",
            "t:8:3: the input ends too soon (`:=` or `==` after the variable)",
        ]
    );
    assert!(failure(b"[x:=1]\n[\xff:=1]").contains("t:2:2: unexpected byte 0xff"));
    assert!(failure("[€:=1]").contains("t:1:2: unexpected `€`"));
}

#[test]
fn a_long_line_or_garbage_fails_early() {
    assert!(failure("x".repeat(10 << 20)).contains("t:1:1: unexpected `x`"));
    assert!(failure("[".repeat(1 << 20)).contains("and at least"));
    assert!(failure("[y]".repeat(1 << 20)).contains("and at least"));
}

#[test]
fn the_format_is_recognised() {
    for text in ["[x:=1]", "// a comment\n\n--\n[ x==?]", "[x==1 y:=2]!"] {
        let reading = read(&Input::text("t", text), &ReadOptions::default()).unwrap();
        assert_eq!(reading.format, Format::DbcopHist, "{text}");
    }
    for text in ["[[{\"events\":[]}]]", "[:append 1 2]", "[x 1]", "[]", "---", "// just a comment"] {
        let reading = read(&Input::text("t", text), &ReadOptions::default());
        assert!(reading.is_err() || reading.is_ok_and(|r| r.format != Format::DbcopHist), "{text}");
    }
}

#[test]
fn names_survive_writing() {
    let history = notation::parse("T0: w(x,7) r(y_1,0) ; T1: w(12,8)  T2!: r(x,7)").unwrap();
    let (bytes, losses) = written(&history, Format::DbcopHist);
    assert_eq!(String::from_utf8_lossy(&bytes), "[x:=7 y_1==0]\n[12:=8]\n---\n[x==7]!\n");
    // The notation names a session after its first transaction.
    assert_eq!(losses.iter().collect::<Vec<_>>(), [("session names dropped", Some(1))]);
    let spaced = notation::parse("T0: w(\"a b\",7)").unwrap();
    let (bytes, losses) = written(&spaced, Format::DbcopHist);
    assert_eq!(String::from_utf8_lossy(&bytes), "[0:=7]\n");
    assert_eq!(losses.iter().collect::<Vec<_>>(), [("key names replaced by numbers", Some(1))]);
}

#[test]
fn inexpressible_parts_are_losses() {
    let history = notation::parse("T0: w(x,0)  T1: r(x,0) ; T2:").unwrap();
    let losses: Vec<_> = written(&history, Format::DbcopHist).1.iter().collect();
    let read = "reads of an initial value that is also written, now reads of the write";
    assert_eq!(losses, [("empty transactions dropped", Some(1)), (read, Some(1))]);
}

/// Whether a committed transaction writes a key's initial value, which makes reads of it ambiguous.
fn rewrites_initial(history: &History) -> bool {
    history
        .txns()
        .any(|txn| history.ops_of(txn).any(|op| op.kind.is_write() && history.is_initial(op.key, op.value)))
}

proptest! {
    #[test]
    fn written_histories_read_back(
        history in histories(Flavour { rich_names: true, aborted: true, ..PLAIN })
    ) {
        let (bytes, _) = written(&history, Format::DbcopHist);
        let back = support::reading(Format::DbcopHist, &bytes).history;
        if history.op_count() > 0 {
            let input = Input::Bytes { name: "t".into(), bytes: bytes.into() };
            prop_assert_eq!(read(&input, &ReadOptions::default()).unwrap().format, Format::DbcopHist);
        }
        if rewrites_initial(&history) {
            prop_assert_eq!(back.op_count(), history.op_count());
        } else {
            prop_assert_eq!(shape(&back), shape(&history));
        }
    }

    /// Values start at 1, so that no history is skipped.
    #[test]
    fn text_made_of_events_reads_as_these_events(
        sessions in prop::collection::vec(
            prop::collection::vec((any::<bool>(), prop::collection::vec((any::<bool>(), 0..4u8, 1..9u8), 1..5)), 1..4),
            1..4,
        )
    ) {
        let mut text = String::new();
        let mut line = String::new();
        for (s, session) in sessions.iter().enumerate() {
            text.push_str(if s > 0 { "---\n" } else { "" });
            for (aborted, events) in session {
                let events: Vec<(String, String)> = events.iter().map(|(write, key, value)| {
                    let (sign, kind) = if *write { (":=", "w") } else { ("==", "r") };
                    (format!("k{key}{sign}{value}"), format!("{kind}(k{key},{value})"))
                }).collect();
                let (ours, notation): (Vec<String>, Vec<String>) = events.into_iter().unzip();
                text.extend([format!("[{}]{}\n", ours.join(" "), if *aborted { "!" } else { "" })]);
                let outcome = if *aborted { "Aborted" } else { "Committed" };
                line.extend([format!("{outcome}: {} ; ", notation.join(" "))]);
            }
            line.push('\n');
        }
        prop_assert_eq!(content(&reading(&text).history), line);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::DbcopHist, bytes);
    }
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::DbcopHist, "// ä\n[x:=1 y==?] [z==0]!\n---\n\n[x==1]\r\n".as_bytes());
}
