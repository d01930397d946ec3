//! Tests of elle-cli histories in JSON: the differences from EDN. The tests of EDN cover the meaning of the
//! maps.

mod support;

use std::fmt::Write as _;

use isoscope_formats::{Format, Input, ReadOptions, Target, WriteError};
use isoscope_history::{Datum, OpKind, Outcome, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, histories, survives_damage, written};

fn notation_of(text: &str) -> String {
    support::notation_of(Format::ElleJson, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::ElleJson, text)
}

fn detected(text: &str) -> Option<Format> {
    isoscope_formats::read(&Input::text("t", text), &ReadOptions::default()).ok().map(|r| r.format)
}

const PAIR: &str = r#"{"index":0,"type":"invoke","process":0,"f":"txn","time":5,"value":[["append",1,7],["r","k",null]]}
{"index":1,"type":"ok","process":0,"f":"txn","time":9,"value":[["append",1,7],["r","k",[3,4]]]}
"#;

#[test]
fn maps_are_separate_or_in_an_array() {
    assert_eq!(notation_of(PAIR), "init=nil  T0@0-1: a(1,7) r(k,[3 4])");
    let maps: Vec<&str> = PAIR.lines().collect();
    for text in [
        PAIR.trim_end().to_owned(),
        PAIR.replace('\n', "\r\n"),
        PAIR.replace('\n', " "),
        format!("[{},{}]", maps[0], maps[1]),
        format!("[\n{},\n  {}\n]\n", maps[0], maps[1]),
        PAIR.replace(',', " ,\n ").replace(':', " : ").replace('[', "[ "),
        PAIR.replace("\"f\"", r#""x":{"a":["}\"",{"b":null}]},"f""#),
        format!("\u{feff}{PAIR}"),
    ] {
        assert_eq!(notation_of(&text), notation_of(PAIR), "{text}");
    }
}

#[test]
fn outcomes_are_those_of_edn() {
    let text = r#"{"type":"invoke","process":0,"value":[["w","x",1],["r","y",null]]}
{"type":"info","process":"nemesis","f":"kill","value":null}
{"type":"fail","process":0,"value":[["w","x",1],["r","y",null]],"error":"conflict"}
{"type":"invoke","process":0,"value":[["w","x",2]]}
{"type":"info","process":0,"value":[["w","x",2]]}
{"type":"ok","process":1,"value":[["r","x",null],["r","y",1.5],["w","z",true]]}
{"type":"invoke","process":2,"value":[["w","x",-3]]}"#;
    let reading = support::reading(Format::ElleJson, text);
    assert_eq!(
        notation::print(&reading.history),
        "init=nil  T0!@0-1: w(x,1) r(y,?) ; T2?@2-: w(x,2)  T4: r(x,nil) r(y,1.5) w(z,true)  T5?@5-: w(x,-3)"
    );
    let warnings: Vec<String> = reading.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("t:2:1: 1 operation of non-client processes"));
    assert!(warnings[1].starts_with("t:7:1: 1 invocation never completed"));
    assert!(warnings[2].starts_with("t:6:1: 1 completion without"));
    let note = reading.history.annotations()[0];
    assert_eq!(reading.history.datum(note.name), Datum::Text("error"));
    assert_eq!(reading.history.datum(note.value), Datum::Text("\"conflict\""));
}

#[test]
fn strings_have_escapes() {
    let text = r#"{"type":"ok","process":0,"value":[["w","a\"b\\\/\n\u00e9\ud83d\ude00","; # , {"]]}"#;
    let history = support::reading(Format::ElleJson, text).history;
    let op = history.op(isoscope_history::Op(0));
    assert_eq!(history.datum(history.key_name(op.key)), Datum::Text("a\"b\\/\né😀"));
    assert_eq!(history.datum(op.value), Datum::Text("; # , {"));
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    for (text, expected) in [
        (r#"{"type":"foo"}"#, "t:1:9: unexpected `\"` (a type: invoke, ok, fail or info)"),
        (r#"{"process":1}"#, "t:1:1: unexpected `{` (an operation with a"),
        (r#"{"type" "ok"}"#, "t:1:9: unexpected `\"` (`:` after the key)"),
        (r#"{"type":"ok" "value":[]}"#, "t:1:14: unexpected `\"` (`,` or `}`)"),
        (r#"{type:"ok"}"#, "t:1:2: unexpected `type:` (a key such as \"type\", or `}`)"),
        (r#"{"type":"ok","value":[["r",1,[1 2]]]}"#, "t:1:33: unexpected `2` (`,` or `]`)"),
        (
            r#"{"type":"ok","value":[["r",1,[1,]]]}"#,
            "t:1:33: unexpected `]` (a number, string, true, false or null)",
        ),
        (r#"{"type":"ok","value":[["r",1,nil]]}"#, "t:1:30: unexpected `nil` (a number, string, true"),
        (r#"{"type":"ok","value":[["w",1,{"a":1}]]}"#, "t:1:30: unexpected `{` (a number, string, true"),
        (r#"{"type":"ok","value":[["x",1,2]]}"#, "t:1:24: unexpected `\"` (the name of a micro-operation"),
        (r#"{"type":"ok","value":[["w","\ud800",2]]}"#, "t:1:29: unexpected `\\` (an escape such as"),
        (r#"{"type":"ok","value":[["w",1,12N]]}"#, "t:1:30: unexpected `12N` (a number)"),
        (r"; comment", "t:1:1: unexpected `;` (an operation such as {\"type\""),
        (r#"[{"type":"ok","value":[]}"#, "t:1:1: the input ends inside the vector"),
        (r#"{"type":"ok""#, "t:1:1: the input ends inside the form"),
    ] {
        let failure = failure(text);
        assert!(failure.starts_with(expected), "{text}: {failure}");
    }
    let two = failure("{\"type\":\"x\"}\n{\"type\":\"ok\",\"value\":[[\n{\"type\":\"y\"}\n");
    assert!(two.contains("t:1:9") && two.contains("t:2:1") && two.contains("t:3:9"), "{two}");
    assert!(failure("[".repeat(100_000)).starts_with("t:1:2: unexpected `[`"));
}

#[test]
fn maps_and_pairs_may_lie_across_blocks() {
    let history = |separator: &str, note: &str| {
        let mut text = String::from("[");
        let mut map = |kind: &str, i: usize| {
            let _ = writeln!(
                text,
                "{{{separator}\"type\":{separator}\"{kind}\",\"process\":{},{separator}\"value\":[[\"append\",{separator}{},{i}],[\"r\",1,null]]{note}}},",
                i % 5,
                i % 10
            );
        };
        // A transaction ends when its process is needed for the next one.
        for i in 0..30_000usize {
            if let Some(before) = i.checked_sub(5) {
                map(["ok", "fail", "info"][before % 3], before);
            }
            map("invoke", i);
        }
        text.truncate(text.len() - 2);
        text.push(']');
        assert!(text.len() > 2 << 20);
        text
    };
    let expected = notation_of(&history("", ""));
    let string = "\n,\"note\":\"{ [ \\\" \\\\\"";
    for (separator, note) in
        [("\n", ""), (" ", string), ("\n", string), ("", ",\n\"x\":\n{\"type\":\n\"ok\"}\n")]
    {
        assert_eq!(notation_of(&history(separator, note)), expected, "{separator:?} {note:?}");
    }
}

#[test]
fn the_format_is_recognised() {
    for text in [PAIR, "[{\"type\":\"ok\",\"value\":[]}]", " [ {\"value\":[], \"type\" : \"ok\"}]"] {
        assert_eq!(detected(text), Some(Format::ElleJson), "{text}");
    }
    for text in [
        "{\"type\":\"txn\"}",
        "{:type :ok :value []}",
        "{\"params\":{}}",
        "[[{\"events\":[]}]]",
        "{\"value\":[[\"r\",1,2,true]]}",
        "{\"isoscope\":1,\"x\":{\"type\":\"ok\"}}",
        "[]",
        "{}",
    ] {
        assert_ne!(detected(text), Some(Format::ElleJson), "{text}");
    }
}

#[test]
fn inexpressible_values_are_reported() {
    let losses = |text: &str| -> Vec<(&'static str, Option<u64>)> {
        written(&notation::parse(text).unwrap(), Format::ElleJson).1.iter().collect()
    };
    assert!(losses("T1: w(:x,1)").contains(&("keywords written as strings", Some(1))));
    for text in ["T1: w(:x,1) w(x,1)", "T1: i(x,[1])", "T1: a(l,:k) r(l,[:k k])"] {
        let history = notation::parse(text).unwrap();
        let error = isoscope_formats::write(&history, Format::ElleJson, Target::Stream(&mut Vec::new()));
        assert!(matches!(error, Err(WriteError::Inexpressible { format: "elle-json", .. })), "{text}");
    }
}

#[test]
fn lines_have_the_form_that_elle_cli_reads() {
    let history = notation::parse("init=nil  T1@0-1: a(1,7) r(2,[3 4]) r(3,[])").unwrap();
    assert_eq!(
        String::from_utf8(written(&history, Format::ElleJson).0).unwrap(),
        r#"{"type":"invoke","f":"txn","value":[["append",1,7],["r",2,null],["r",3,null]],"process":1,"index":0}
{"type":"ok","f":"txn","value":[["append",1,7],["r",2,[3,4]],["r",3,[]]],"process":1,"index":1}
"#
    );
}

proptest! {
    /// JSON and EDN read back the same history; the tests of EDN check that it is right.
    #[test]
    fn written_histories_read_back(
        history in (any::<[bool; 5]>()).prop_flat_map(|[lists, rich_names, aborted, unknown, events]| {
            histories(Flavour { lists, rich_names, aborted, unknown, events, ..PLAIN })
        })
    ) {
        let json = support::reading(Format::ElleJson, written(&history, Format::ElleJson).0).history;
        let edn = support::reading(Format::Edn, written(&history, Format::Edn).0).history;
        prop_assert_eq!(notation::print(&json), notation::print(&edn));
        let writes = |history: &isoscope_history::History| -> usize {
            history.txns().flat_map(|t| history.ops_of(t)).filter(|op| op.kind.is_write()).count()
        };
        prop_assert_eq!(writes(&json), writes(&history));
        let unknown = |h: &isoscope_history::History| h.txns().filter(|&t| h.outcome(t) == Outcome::Unknown).count();
        prop_assert_eq!(unknown(&json), unknown(&history));
        prop_assert!(json.txns().all(|t| json.ops_of(t).all(|op| op.kind != OpKind::Delete)));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::ElleJson, bytes);
    }

    #[test]
    fn arbitrary_tokens_do_not_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ":", "\"type\"", "\"ok\"", "\"invoke\"", "\"value\"", "\"r\"", "\"", "\\", " ", "\n", "1",
        "null", ",", "\"process\"", "{\"type\":\"ok\",\"value\":[[\"r\",1,null]]}",
    ]), 0..60)) {
        let _ = support::try_reading(Format::ElleJson, tokens.concat());
    }
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::ElleJson, PAIR.as_bytes());
    survives_damage(Format::ElleJson, br#"[{"type":"fail","value":[["w","\u00e9\n",-1.5e3]],"x":{"y":[null]}} , {"type":"info","process":"n"}]"#);
}
