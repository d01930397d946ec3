//! Tests of Viper's logs, one for every convention.

mod support;

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::notation;
use proptest::prelude::*;
use support::survives_damage;

const GOOD: &str = r#"{"value": [["r", 1, 0, false], ["w", 1, 10, true]]}
{"preBeginTS": 5, "postBeginTS": 6, "preCommitTS": 7, "postCommitTS": 8, "value": [["i", 2, 20, 0, false, true], ["d", 1, 11, 10, false, true]]}
{"value": [["range", 1, 9, [{"id": 2, "sk": 2, "val": 20}], [{"id": 1, "sk": 1, "val": 11}]]], "isInitial": false, "isFinal": true}
"#;

fn reading(text: &str) -> Reading {
    support::reading(Format::Viper, text)
}

fn notation_of(text: &str) -> String {
    support::notation_of(Format::Viper, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::Viper, text)
}

/// A history with one transaction of these operations.
fn ops(ops: &str) -> String {
    notation_of(&format!("{{\"value\":[{ops}]}}\n"))
}

#[test]
fn lines_are_transactions_of_one_session() {
    let reading = reading(GOOD);
    assert_eq!(
        notation::print(&reading.history),
        "init=nil  T1: r(1,nil) w(1,10) ; T2: r(2,nil) i(2,20) r(1,10) d(1,11) ; T3: range(1,9,{2=20},{1=11})"
    );
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
    let history = &reading.history;
    assert_eq!(history.times().unwrap().start[1], 5_000_000);
    assert_eq!(history.times().unwrap().end[1], 8_000_000);
    assert_eq!(history.annotations().len(), 1);
}

#[test]
fn a_list_of_transactions_is_a_file_too() {
    let list = format!("[{}]", GOOD.trim().replace('\n', ",\n"));
    assert_eq!(notation_of(&list), notation_of(GOOD));
    assert!(failure(&list[..list.len() - 1]).contains("the input ends here (`,` or `]`)"));
}

#[test]
fn the_flag_of_a_read_changes_nothing() {
    assert_eq!(ops(r#"["r",1,5,true],["r",1,5,false],["r",1,5]"#), "init=nil  T1: r(1,5) r(1,5) r(1,5)");
}

#[test]
fn a_missing_row_is_the_initial_value() {
    assert_eq!(
        ops(r#"["r",1,null,false],["r","k","nil",false],["r",1,0,false]"#),
        "init=nil  T1: r(1,nil) r(k,nil) r(1,nil)"
    );
}

/// A range read that did not find a row and a point read that did not find it mean the same: absence. Bounds are no keys.
#[test]
fn range_reads_and_point_reads_agree_on_missing_rows() {
    let text = r#"{"value":[["range",1,9,[],[]],["r",5,0,false],["r",1,null,false],["range",null,null,[],[]]]}
{"value":[["i",5,41,true],["range",null,9,[{"id":5,"val":41}],[]],["w",6,0,true],["range",6,"nil",[[6,0]],[]]]}
"#;
    let history = reading(text).history.expand_ranges().unwrap().unwrap();
    assert_eq!(
        notation::print(&history),
        "init=nil  T1: r(5,nil) r(6,nil) r(5,nil) r(1,nil) r(5,nil) r(6,nil) ; T2: i(5,41) r(5,41) r(6,nil) w(6,nil) r(6,nil)"
    );
}

#[test]
fn inserts_and_deletes_read_first_unless_they_only_have_a_flag() {
    assert_eq!(ops(r#"["i",1,5,4,true,true]"#), "init=nil  T1: r(1,4) i(1,5)");
    assert_eq!(ops(r#"["d",1,5,4,false,true,true,"d"]"#), "init=nil  T1: r(1,4) d(1,5)");
    assert_eq!(ops(r#"["i",1,5,true],["d",1,6,true],["w",1,7]"#), "init=nil  T1: i(1,5) d(1,6) w(1,7)");
}

#[test]
fn failed_operations_are_ignored() {
    let text = r#"{"value":[["w",1,5,false],["i",1,6,0,false,false],["d",1,6,false],["w",2,7,true]]}"#;
    let reading = reading(text);
    assert_eq!(notation::print(&reading.history), "init=nil  T1: w(2,7)");
    assert_eq!(reading.warnings[0].to_string(), "t:1:11: 3 failed operations inside a transaction ignored");
}

#[test]
fn the_initial_state_is_not_a_transaction() {
    let writes = r#"{"value":[["w",1,5,true],["w","k",6,true],["w",3,9,false]],"isInitial":true}"#;
    let history = reading(&format!("{writes}\n{{\"value\":[[\"r\",1,5,false]]}}\n")).history;
    assert_eq!(notation::print(&history), "init=nil  init(1)=5  init(k)=6  T1: r(1,5)");
    let range = r#"{"value":[["range","nil","nil",[{"id":1,"val":5}],[{"id":2,"val":6}]]],"isInitial":true,"isFinal":false}"#;
    let alone = reading(range).history;
    assert_eq!((alone.session_count(), alone.txn_count(), alone.key_count()), (0, 0, 2));
}

#[test]
fn operations_may_be_objects() {
    let text = r#"{"value": [{"opType": "r", "key": 1, "value": 0, "isDead": false, "reqTS": 1, "resTS": 2},
        {"opType": "w", "key": "k", "value": 5, "succ": true}, {"opType": "w", "key": 1, "value": 5, "succ": false},
        {"opType": "i", "key": 2, "value": 6, "readValue": 0, "isDead": false, "succ": true},
        {"opType": "d", "key": 2, "value": 7, "readValue": 6, "isDead": false, "succ": true},
        {"opType": "range", "key1": -9223372036854775808, "key2": 9, "liveKVs": [{"id":1,"sk":1,"val":2}], "deadKVs": [[3,4]]}]}"#;
    let text = text.replace('\n', " ");
    assert_eq!(
        notation_of(&text),
        "init=nil  T1: r(1,nil) w(k,5) r(2,nil) i(2,6) r(2,6) d(2,7) range(nil,9,{1=2},{3=4})"
    );
    let unbounded = ops(r#"["range",null,"nil",[]]"#);
    assert_eq!(unbounded, "init=nil  T1: range(nil,nil,{})");
}

#[test]
fn rows_lie_in_their_range() {
    let line = |range: &str| format!("{{\"value\":[{range}]}}\n");
    let reversed = failure(line(r#"["range",9,2,[]]"#));
    assert!(reversed.starts_with("t:1:11: a range whose upper bound is below the lower one"), "{reversed}");
    let outside = failure(line(r#"["range",2,9,[{"id":3,"val":1}],[[10,4]]]"#));
    assert!(outside.starts_with("t:1:11: a row outside of its range"), "{outside}");
    let twice = failure(line(r#"["range",2,9,[{"id":3,"val":1},[3,4]]]"#));
    assert!(twice.starts_with("t:1:11: a key twice in one range read"), "{twice}");
    assert_eq!(notation_of(&line(r#"["range",null,null,[["k",4]]]"#)).matches("k=4").count(), 1);
}

#[test]
fn unknown_fields_and_operations_are_warnings() {
    let reading = reading(r#"{"value":[["append",1,[2]],["w",1,5]],"size":3}"#);
    let warnings: Vec<String> = reading.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings[0], "t:1:39: 1 unknown field kept as annotation or ignored");
    assert_eq!(warnings[1], "t:1:11: 1 unknown operation ignored");
    assert_eq!(notation::print(&reading.history), "init=nil  T1: w(1,5)");
}

#[test]
fn an_incomplete_last_line_is_ignored() {
    let last = r#"{"value":[["w",1,5,true]],"isInitial":true}"#;
    for cut in 1..last.len() {
        let reading = reading(&format!("{GOOD}{}", &last[..cut]));
        assert_eq!(notation::print(&reading.history), notation_of(GOOD));
        assert_eq!(reading.warnings[0].to_string(), "t:4:1: the last record is incomplete and was ignored");
    }
    assert!(failure("{\"value\":[\n{\"value\":[]}\n").starts_with("t:1:11: the input ends here"));
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let lines = [
        ("{\"value\":[[\"r\",[1],2]]}", 16, "unexpected `[` (a key: an integer or a text)"),
        ("{\"value\":[[\"r\",1.5,2]]}", 16, "unexpected `1` (a key: an integer or a text)"),
        ("{\"value\":[[\"r\",1]]}", 17, "unexpected `]` (a value)"),
        ("{\"value\":[[\"w\",1,2,3]]}", 20, "unexpected `3` (true or false)"),
        ("{\"value\":[[\"i\",1,2,3,false,4]]}", 28, "unexpected `4` (true or false)"),
        ("{\"value\":[[\"range\",1,2,[{\"id\":1}]]]}", 25, "a row without all its fields"),
        (
            "{\"value\":[{\"opType\":\"r\",\"key\":1}]}",
            11,
            "an operation without all its fields (fields `key`",
        ),
        ("{\"value\":[],\"value\":[]}", 13, "a second `value`"),
        ("{}", 1, "a transaction without operations"),
        ("{\"value\":[]} 1", 14, "unexpected `1` (the end of the line)"),
        ("7", 1, "unexpected `7` (a transaction such as"),
    ];
    let text: Vec<&str> = lines.iter().map(|(line, ..)| *line).collect();
    support::assert_line_errors(&failure(text.join("\n") + "\n"), 1, &lines);
}

#[test]
fn hostile_input_fails_early() {
    let deep = "[".repeat(100_000);
    assert!(failure(&deep).contains("unexpected `[`"));
    assert!(failure(format!("{{\"x\":{deep}\n")).contains("nested too deep"));
    assert!(failure(b"{\"value\":[[\"r\",\"\xff\",1]]}\n").starts_with("t:1:17: not UTF-8"));
    assert!(failure(b"\x00\x01").contains("0x00"));
    assert!(failure("y\n".repeat(1 << 20)).contains("and at least"));
    let long: Vec<String> = (0..200_000).map(|i| format!("[\"w\",1,{i},true]")).collect();
    assert_eq!(reading(&format!("{{\"value\":[{}]}}", long.join(","))).history.op_count(), 200_000);
}

#[test]
fn a_directory_is_a_history_and_a_file_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    put("J10.log", "{\"value\":[[\"w\",1,7,true]]}\n");
    put("J9.log", "{\"value\":[[\"r\",1,7,false]]}\n{\"value\":[]}\n");
    put("J1.log", "{\"value\":[[\"w\",1,3,true]],\"isInitial\":true}\n");
    put("J11.log", "");
    let input = Input::Path(directory.path().to_owned());
    let reading = read(&input, &ReadOptions::default()).unwrap();
    assert_eq!(reading.format, Format::Viper);
    let history = &reading.history;
    assert_eq!(notation::print(history), "init=nil  init(1)=3  T1: r(1,7) ; T2:  T3: w(1,7)");
    let names: Vec<Option<u32>> = history.sessions().map(|s| history.session_name(s).as_small()).collect();
    assert_eq!(names, [Some(9), Some(10)]);
    // A problem in a later file is reported in that file.
    put("J12.log", "{\"value\":[]}\n{\"value\":7}\n");
    let failure = read(&input, &ReadOptions::default()).err().unwrap().to_string();
    assert!(failure.contains("J12.log:2:10: unexpected `7`"), "{failure}");
}

#[test]
fn only_this_format_is_recognised() {
    let format = |text: &str| read(&Input::text("t", text), &ReadOptions::default()).map(|r| r.format).ok();
    for text in [
        GOOD,
        "{\"value\":[]}",
        "[{\"value\":[[\"r\",1,0,false]]}]",
        "{\"value\":[{\"opType\":\"r\",\"key\":1,\"value\":0}]}",
    ] {
        assert_eq!(format(text), Some(Format::Viper), "{text}");
    }
    for text in [
        "{\"value\":[[\"append\",1,1]],\"type\":\"ok\",\"process\":0}",
        "[{\"value\":[[\"w\",1,1]],\"f\":\"txn\",\"type\":\"invoke\"}]",
        "{\"value\":1}",
        "{\"value\":[1]}",
        "{\"data\":[]}",
        "[]",
    ] {
        assert_ne!(format(text), Some(Format::Viper), "{text}");
    }
}

#[test]
fn the_format_cannot_be_written() {
    let history = reading(GOOD).history;
    let error = write(&history, Format::Viper, Target::Stream(&mut Vec::new()));
    assert!(matches!(error, Err(WriteError::ReadOnly(Format::Viper))));
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::Viper, GOOD.as_bytes());
    survives_damage(
        Format::Viper,
        br#"[{"value":[{"opType":"range","key1":null,"key2":2,"liveKVs":[[1,2]]}]}]"#,
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Viper, bytes);
    }
}
