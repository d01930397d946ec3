//! Tests of dbcop's JSON, one for every convention.

mod support;

use isoscope_formats::{Format, Input, ReadOptions, Reading, read};
use isoscope_history::{Outcome, Value, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, histories, shape, survives_damage, written};

const GOOD: &str = r#"{"params":{"id":0,"n_node":2},"info":"x","start":"2026-01-01T00:00:00Z","end":null,"data":[
 [{"events":[{"Write":{"variable":0,"version":1}},{"Read":{"variable":1,"version":null}}],"committed":true},
  {"events":[],"committed":true}],
 [{"committed":false,"events":[{"Write":{"version":0,"variable":1}},["r",0,1],["r",1,null],["w",0,18446744073709551615]]}],
 []]}"#;

fn reading(text: &str) -> Reading {
    support::reading(Format::DbcopJson, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::DbcopJson, text)
}

/// The problems of one event.
fn bad_event(event: &str) -> String {
    failure(format!("[[{{\"events\":[{event}],\"committed\":true}}]]"))
}

#[test]
fn sessions_hold_transactions_hold_events() {
    let reading = reading(GOOD);
    assert_eq!(
        notation::print(&reading.history),
        "init=nil  T1: w(0,1) r(1,nil) ; T2:  T3!: w(1,0) r(0,1) r(1,nil) w(0,18446744073709551615)"
    );
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
    let history = &reading.history;
    assert_eq!(history.session_count(), 3);
    assert!(history.sessions().all(|s| history.session_name(s).as_small() == Some(s.0)));
}

#[test]
fn the_sessions_alone_are_a_history_too() {
    let sessions = &GOOD[GOOD.find("[\n").unwrap()..GOOD.len() - 1];
    assert_eq!(support::content(&reading(sessions).history), support::content(&reading(GOOD).history));
    assert_eq!(reading("[]").history.session_count(), 0);
}

#[test]
fn null_is_the_initial_value_and_zero_is_not() {
    let history = reading(GOOD).history;
    assert_eq!(history.default_initial(), Value::NIL);
    let (bytes, _) = written(&history, Format::DbcopJson);
    let back = support::reading(Format::DbcopJson, &bytes).history;
    assert_eq!(shape(&back), shape(&history));
    assert!(shape(&history).contains("w(k1,v1) r(k0,v0) r(k1,initial)"), "{}", shape(&history));
    // A missing version is null for a read. A write needs a version.
    assert_eq!(
        support::notation_of(
            Format::DbcopJson,
            r#"[[{"events":[{"Read":{"variable":7}}],"committed":true}]]"#
        ),
        "init=nil  T1: r(7,nil)"
    );
    assert!(bad_event(r#"{"Write":{"variable":7}}"#).contains("t:1:23: a write without a version"));
}

#[test]
fn committed_is_required_and_decides_the_outcome() {
    let history = reading(GOOD).history;
    let outcomes: Vec<Outcome> = history.txns().map(|txn| history.outcome(txn)).collect();
    assert_eq!(outcomes, [Outcome::Committed, Outcome::Committed, Outcome::Aborted]);
    assert!(failure(r#"[[{"events":[]}]]"#).contains("t:1:3: a transaction without an outcome"));
    assert!(failure(r#"[[{"events":[],"committed":1}]]"#).contains("t:1:28: unexpected `1` (true or false)"));
}

#[test]
fn unknown_fields_are_a_warning() {
    let text = r#"{"data":[[{"events":[{"Read":{"variable":1,"x":[]}}],"committed":true,"y":{}}]],"z":0}"#;
    let reading = reading(text);
    assert!(
        reading.warnings.iter().any(|w| w.to_string().starts_with("t:1:44: 3 unknown fields")),
        "{:?}",
        reading.warnings
    );
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    for (text, problem) in [
        ("{\"info\":1}", "t:1:1: no sessions (a field `data`"),
        ("{\"data\":[],\"data\":[]}", "t:1:12: a second `data`"),
        ("{\"data\":[]", "t:1:11: the input ends here (`,` or `}`)"),
        ("[[\n 7]]", "t:2:2: unexpected `7` (a transaction such as"),
        ("[[]] x", "t:1:6: unexpected `x` (the end of the input)"),
        ("[7]", "t:1:2: unexpected `7` (a session: a list of transactions)"),
        ("\"x\"", "t:1:1: unexpected `\"` (an object with `data`, or a list of sessions)"),
        ("[[{\"committed\":true}]]", "t:1:3: a transaction without events"),
    ] {
        assert!(failure(text).starts_with(problem), "{text}: {}", failure(text));
    }
    for (event, problem) in [
        (r#"{"Raed":{}}"#, "t:1:15: unknown kind of event (\"Read\" or \"Write\")"),
        (r#"["x",1,1]"#, "t:1:15: unknown kind of event (\"r\" or \"w\")"),
        (r#"["r",1]"#, "t:1:20: unexpected `]` (a version)"),
        (r#"["r",1,2,3]"#, "t:1:22: unexpected `,` (`]` after the version)"),
        (r#"["r",-1,2]"#, "t:1:19: unexpected `-` (a variable: an unsigned integer)"),
        (r#"["r",1,1.5]"#, "t:1:21: unexpected `1` (a version: an unsigned"),
        (r#"["r",1,"1"]"#, "t:1:21: unexpected `\"` (a version: an unsigned"),
        (r#"{"Read":{"version":1}}"#, "t:1:22: an event without a variable"),
        (r#"{"Read":{"variable":1},"a":1}"#, "t:1:36: unexpected `,` (`}` after the event)"),
    ] {
        assert!(bad_event(event).starts_with(problem), "{event}: {}", bad_event(event));
    }
}

#[test]
fn hostile_input_fails_early() {
    let deep = "[".repeat(100_000);
    assert!(failure(&deep).starts_with("t:1:3: unexpected `[` (a transaction"));
    assert!(failure(format!("{{\"info\":{deep}")).contains("nested too deep"));
    assert!(failure(b"{\"da\xffta\":[]}").starts_with("t:1:5: not UTF-8"));
    assert!(failure(b"\x01\x02").contains("0x01"));
    assert!(failure("9".repeat(10 << 20)).contains("t:1:1: unexpected `9`"));
    assert_eq!(reading("").warnings[0].message, "the input contains no transactions");
}

#[test]
fn positions_point_at_events() {
    let history = reading(GOOD).history;
    for txn in history.txns() {
        assert!(GOOD[history.txn_position(txn).unwrap().0 as usize..].starts_with('{'));
        for op in history.ops_of(txn) {
            let at = &GOOD[history.op_position(op.id).unwrap().0 as usize..];
            assert!(
                ["{\"Read", "{\"Write", "[\"r", "[\"w"].iter().any(|start| at.starts_with(start)),
                "{at}"
            );
        }
    }
}

#[test]
fn only_this_format_is_recognised() {
    let format = |text: &str| read(&Input::text("t", text), &ReadOptions::default()).map(|r| r.format).ok();
    for text in [GOOD, "[[]]", "[[],[{\"committed\":true,\"events\":[]}]]", " \n{\"data\":[]}"] {
        assert_eq!(format(text), Some(Format::DbcopJson), "{text}");
    }
    for text in [
        "[]",
        "{\"type\":\"invoke\",\"f\":\"txn\",\"value\":[[\"w\",1,1]]}",
        "[{\"type\":\"ok\",\"value\":[[\"w\",1,1]]}]",
        "{\"isoscope\":\"history\",\"version\":1,\"data\":[]}",
        "{\"value\":[[\"r\",1,0,false]]}",
        "[[1]]",
        "{\"data\":1}",
    ] {
        assert_ne!(format(text), Some(Format::DbcopJson), "{text}");
    }
}

#[test]
fn a_write_of_the_initial_value_survives_and_is_noted() {
    let history = notation::parse("T1: w(1,0)  T2: r(1,0) w(1,5)").unwrap();
    let (bytes, losses) = written(&history, Format::DbcopJson);
    assert!(
        losses
            .iter()
            .any(|(what, count)| what.starts_with("writes of the initial value") && count == Some(1))
    );
    assert_eq!(shape(&support::reading(Format::DbcopJson, bytes).history), shape(&history));
    let plain = notation::parse("T1: w(1,7) ; T2: r(1,7)").unwrap();
    let (bytes, losses) = written(&plain, Format::DbcopJson);
    let again = support::reading(Format::DbcopJson, bytes).history;
    assert_eq!(losses.iter().collect::<Vec<_>>(), [("session names replaced by places", Some(1))]);
    assert!(written(&again, Format::DbcopJson).1.is_empty());
}

#[test]
fn the_output_is_json() {
    let (bytes, _) = written(&reading(GOOD).history, Format::DbcopJson);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["data"][0][0]["events"][1]["Read"]["version"], serde_json::Value::Null);
    assert_eq!(json["data"][1][0]["committed"], false);
    assert_eq!(json["data"].as_array().unwrap().len(), 3);
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::DbcopJson, GOOD.as_bytes());
}

proptest! {
    #[test]
    fn written_histories_read_back(
        history in histories(Flavour { rich_names: true, aborted: true, ..PLAIN })
    ) {
        let (bytes, _) = written(&history, Format::DbcopJson);
        prop_assert_eq!(shape(&support::reading(Format::DbcopJson, bytes).history), shape(&history));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::DbcopJson, bytes);
    }
}

/// As in dbcop's `.hist`: 0 is the initial state unless a committed transaction writes it.
#[test]
fn a_version_of_zero_is_initial_unless_it_was_written() {
    let text = |write: u32| {
        format!(
            r#"[[{{"events":[{{"Write":{{"variable":0,"version":{write}}}}}],"committed":true}}],
                [{{"events":[{{"Read":{{"variable":0,"version":0}}}},{{"Read":{{"variable":1,"version":0}}}}],"committed":true}}]]"#
        )
    };
    assert_eq!(
        support::notation_of(Format::DbcopJson, text(1)),
        "init=nil  T1: w(0,1)  T2: r(0,nil) r(1,nil)"
    );
    assert_eq!(support::notation_of(Format::DbcopJson, text(0)), "init=nil  T1: w(0,0)  T2: r(0,0) r(1,nil)");
}
