//! Tests of the native format: one for every rule of its documentation, and round trips without loss.

mod support;

use std::fmt::Write as _;

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::{
    Builder, Datum, Draft, History, NO_EVENT, NO_TIME, OpKind, Outcome, RangeRow, Value, notation,
};
use proptest::prelude::*;
use support::{Flavour, PLAIN, histories, survives_damage, written};

const HEADER: &str = "{\"isoscope\":\"history\",\"version\":1}\n";

fn reading(lines: &str) -> Reading {
    support::reading(Format::Native, format!("{HEADER}{lines}"))
}

fn notation_of(lines: &str) -> String {
    notation::print(&reading(lines).history)
}

/// The problems of a line after the header.
fn failure(line: impl AsRef<[u8]>) -> String {
    support::failure(Format::Native, [HEADER.as_bytes(), line.as_ref()].concat())
}

/// The problems of one operation.
fn bad_op(op: &str) -> String {
    failure(format!("{{\"session\":0,\"ops\":[{op}]}}\n"))
}

/// A value and its type.
fn show(history: &History, value: Value) -> String {
    match history.datum(value) {
        Datum::List(elements) => {
            let elements: Vec<String> = elements.iter().map(|&e| show(history, e)).collect();
            format!("[{}]", elements.join(" "))
        }
        Datum::Float(x) => format!("Float({:016x})", x.to_bits()),
        datum => format!("{datum:?}"),
    }
}

/// Every column of a history, with key names instead of key ids.
fn everything(history: &History) -> String {
    let show = |value| show(history, value);
    let rows = |rows: &[(Value, Value)]| -> Vec<(String, String)> {
        rows.iter().map(|&(k, v)| (show(k), show(v))).collect()
    };
    let mut out = format!("initial {}\n", show(history.default_initial()));
    let mut keys: Vec<String> = history
        .keys()
        .map(|k| format!("key {} initial {}\n", show(history.key_name(k)), show(history.initial(k))))
        .collect();
    keys.sort();
    out.extend(keys);
    for session in history.sessions() {
        let _ = writeln!(out, "session {}", show(history.session_name(session)));
        for txn in history.txns_of(session) {
            let _ = write!(out, "  txn {} {:?}", show(history.txn_name(txn)), history.outcome(txn));
            let i = txn.index();
            let _ = write!(out, " events {:?}", history.events().map(|c| (c.start[i], c.end[i])));
            let _ = write!(out, " times {:?}", history.times().map(|c| (c.start[i], c.end[i])));
            let _ = write!(out, " stamps {:?}", history.timestamps().map(|c| (c.start[i], c.end[i])));
            for note in history.annotations_of(txn) {
                let _ = write!(out, " note {} {}", show(note.name), show(note.value));
            }
            out.push('\n');
            for op in history.ops_of(txn) {
                let _ = write!(out, "    {:?} {}", op.kind, show(history.key_name(op.key)));
                match history.range(op.id) {
                    Some(row) => {
                        let (low, high) = (show(row.low), show(row.high));
                        let _ = writeln!(out, " {low} {high} {:?} {:?}", rows(&row.live), rows(&row.dead));
                    }
                    None => {
                        let _ = writeln!(out, " {}", show(op.value));
                    }
                }
            }
        }
    }
    out
}

fn survives(history: &History) -> String {
    let (bytes, losses) = written(history, Format::Native);
    assert!(losses.is_empty());
    let text = String::from_utf8(bytes).expect("JSON is text");
    let back = support::reading(Format::Native, &text);
    assert_eq!(everything(&back.history), everything(history), "{text}");
    assert_eq!(written(&back.history, Format::Native).0, text.as_bytes(), "writing again changes the text");
    text
}

#[test]
fn lines_are_transactions() {
    let text = r#"{"session":"a","txn":1,"ops":[["w","x",1],["r","y",0]]}
{"session":"b","txn":2,"outcome":"aborted","ops":[["append","l",3],["r","l",[1,2]],["r","l",[]]]}
{"session":"a","txn":3,"outcome":"unknown","ops":[["insert","x",1],["delete","x"],["delete","x",9]]}
{"session":"b","txn":4,"outcome":"committed","ops":[["range","a","z",[["b",1]],[["c",2]]],["range",1,2,[]]]}
{"session":"b","txn":5,"ops":[]}"#;
    assert_eq!(
        notation_of(text),
        "T1: w(x,1) r(y,0) ; T3?: i(x,1) d(x) d(x,9)  T2!: a(l,3) r(l,[1 2]) r(l,[]) ; \
         T4: range(a,z,{b=1},{c=2}) range(1,2,{}) ; T5:"
    );
    assert_eq!(notation_of(&text.replace('\n', "\r\n")), notation_of(text));
}

#[test]
fn long_and_short_names_mean_the_same() {
    let text = r#"{"session":0,"ops":[["read","x",[1]],["read-list","x",null],["write","x",1],["range-read",1,2,[]]]}"#;
    let history = reading(text).history;
    let kinds: Vec<OpKind> = history.ops_of(history.txns().next().unwrap()).map(|op| op.kind).collect();
    assert_eq!(kinds, [OpKind::Read, OpKind::ReadList, OpKind::Write, OpKind::RangeRead]);
    survives(&history);
}

#[test]
fn initial_values_come_from_the_header() {
    let header = r#"{"isoscope":"history","version":1,"initial":null,"initials":[["x",5],[7,[1]]],"workload":{"a":[1]},"recorder":"me"}"#;
    let reading = support::reading(Format::Native, format!("{header}\n"));
    let history = &reading.history;
    assert_eq!(history.default_initial(), Value::NIL);
    assert_eq!(history.key_count(), 2);
    assert!(everything(history).contains("key Text(\"x\") initial Int(5)"));
    assert!(everything(history).contains("key Int(7) initial [Int(1)]"));
    assert_eq!(reading.warnings.len(), 1, "{:?}", reading.warnings);
    let plain = support::reading(Format::Native, HEADER).history;
    assert_eq!(plain.default_initial(), Value::small(0).unwrap());
}

#[test]
fn a_session_is_its_name_or_its_index_in_the_list() {
    let named = reading(
        "{\"session\":\"b\",\"ops\":[]}\n{\"session\":0,\"ops\":[]}\n{\"session\":\"b\",\"ops\":[]}\n{\"session\":\"0\",\"ops\":[]}",
    )
    .history;
    assert_eq!(named.sessions().map(|s| named.txns_of(s).len()).collect::<Vec<_>>(), [2, 1, 1]);
    let header = r#"{"isoscope":"history","version":1,"sessions":["s","empty","s"]}"#;
    let listed = format!("{header}\n{{\"session\":2,\"ops\":[]}}\n{{\"session\":0,\"ops\":[]}}\n");
    let listed = support::reading(Format::Native, listed).history;
    assert_eq!(listed.sessions().map(|s| listed.txns_of(s).len()).collect::<Vec<_>>(), [1, 0, 1]);
    let text = survives(&listed);
    assert!(
        text.starts_with(r#"{"isoscope":"history","version":1,"initial":0,"sessions":["s","empty","s"]}"#)
    );
    for bad in ["3", "\"s\"", "-1", "null", "0.0"] {
        let failure =
            support::failure(Format::Native, format!("{header}\n{{\"ops\":[],\"session\": {bad}}}\n"));
        assert!(
            failure
                .starts_with("t:2:22: no such session (an index into the header's list, from 0 and below 3"),
            "{failure}"
        );
    }
    assert!(
        failure("{\"session\":[1],\"ops\":[]}\n").contains("t:2:12: unexpected `[` (a session that is not")
    );
}

#[test]
fn a_transaction_without_a_name_is_numbered() {
    assert_eq!(
        notation_of("{\"session\":0,\"txn\":\"x\",\"ops\":[]}\n{\"session\":0,\"ops\":[]}\n"),
        "x: ; T2:"
    );
}

#[test]
fn values_are_json_and_tagged_objects() {
    let values = r#"[null,true,false,0,-1,1.0,1e2,18446744073709551615,-9223372036854775808,2147483648,"",":k",
        "é\n\u0000😀",{"keyword":"k"},{"unknown":true},{"float":"7ff0000000000000"},{"float":"7ff8000000000001"}]"#;
    let history = reading(&format!(
        "{{\"session\":0,\"txn\":[[],[1,[2,[]],\"a\"]],\"ops\":[[\"read\",\"x\",{}]]}}\n",
        values.replace('\n', " ")
    ))
    .history;
    let list = show(&history, history.ops_of(history.txns().next().unwrap()).next().unwrap().value);
    assert_eq!(
        list,
        "[Nil Bool(true) Bool(false) Int(0) Int(-1) Float(3ff0000000000000) Float(4059000000000000) \
         Nat(18446744073709551615) Int(-9223372036854775808) Int(2147483648) Text(\"\") Text(\":k\") \
         Text(\"é\\n\\0😀\") Keyword(\"k\") Unknown Float(7ff0000000000000) Float(7ff8000000000001)]"
    );
    let name = show(&history, history.txn_name(history.txns().next().unwrap()));
    assert_eq!(name, "[[] [Int(1) [Int(2) []] Text(\"a\")]]");
    survives(&history);
}

#[test]
fn an_incomplete_last_line_is_ignored() {
    let first = "{\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n";
    let last = "{\"session\":1,\"txn\":\"é\",\"ops\":[[\"r\",\"x\",[true]],[\"range\",1,2,[[1,2]]]],\"events\":[1,2],\"times\":[1,null],\"timestamps\":[1,2],\"notes\":{\"a\":1}}";
    let whole = reading(&format!("{first}{last}"));
    assert_eq!((whole.history.txn_count(), whole.warnings.len()), (2, 0), "{:?}", whole.warnings);
    for cut in 1..last.len() {
        let text = [HEADER.as_bytes(), first.as_bytes(), &last.as_bytes()[..cut]].concat();
        let cut = support::reading(Format::Native, text);
        assert_eq!(everything(&cut.history), everything(&reading(first).history));
        assert_eq!(cut.warnings[0].to_string(), "t:3:1: the last record is incomplete and was ignored");
    }
    // With a line end, the line was complete, so it is an error.
    assert!(failure("{\"session\":0,\"ops\":[\n").contains("t:2:21: the input ends here"));
    assert!(failure("{\"session\":0,\"ops\":x").contains("t:2:20: unexpected `x` (a list of operations)"));
    assert!(support::failure(Format::Native, &HEADER[..20]).contains("t:1:21: the input ends here"));
}

#[test]
fn the_header_is_required_and_its_version_checked() {
    let failure = |text: &str| support::failure(Format::Native, text);
    let line = "{\"session\":0,\"ops\":[]}\n";
    assert!(
        failure(line).starts_with("t:1:1: not a valid header (a header such as {\"isoscope\""),
        "{}",
        failure(line)
    );
    assert_eq!(
        failure(&format!("{{\"isoscope\":\"history\",\"version\": 2}}\n{line}junk\n")),
        "t:1:34: this version of the format is not supported (version 1)"
    );
    assert!(failure("{\"isoscope\":\"history\"}\n").contains("t:1:1: not a valid header"));
    assert!(
        failure("{\"isoscope\":\"verdict\",\"version\":1}\n")
            .contains("t:1:13: unexpected `\"` (\"history\")")
    );
    assert!(failure("[1]\n").contains("t:1:1: unexpected `[` (a header such as"));
    assert_eq!(
        support::reading(Format::Native, "").warnings[0].message,
        "the input contains no transactions"
    );
    assert_eq!(
        support::notation_of(Format::Native, format!("\u{feff}{HEADER}{{\"session\":0,\"ops\":[]}}")),
        "T1:"
    );
}

#[test]
fn unknown_fields_and_blank_lines_are_warnings() {
    let text = "{\"isoscope\":\"history\",\"version\":1,\"colour\":[{}]}\n\n{\"session\":0,\"ops\":[],\"size\":{\"a\":1}}\n";
    let reading = support::reading(Format::Native, text);
    let warnings: Vec<String> = reading.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings[0], "t:2:1: 1 blank line ignored");
    assert_eq!(warnings[1], "t:1:35: 2 unknown fields kept as annotation or ignored");
    assert_eq!(reading.history.txn_count(), 1);
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    let lines = [
        ("{\"session\":0,\"ops\":[[\"x\",1,2]]}", 22, "unknown kind of operation (one of \"r\", "),
        ("{\"session\":0,\"ops\":[[\"r\",[1],2]]}", 26, "unexpected `[` (a key that is not a list)"),
        ("{\"session\":0,\"ops\":[[\"r\",1]]}", 27, "unexpected `]` (a value)"),
        ("{\"session\":0,\"ops\":[[\"r\",1,2,3]]}", 29, "unexpected `,` (`]` after the value)"),
        ("{\"session\":0,\"ops\":[[\"r\",1,{\"a\":1}]]}", 29, "this object is not a value ({\"keyword\""),
        ("{\"session\":0,\"ops\":[[\"r\",1,{\"unknown\":false}]]}", 29, "this object is not a value"),
        (
            "{\"session\":0,\"ops\":[[\"r\",1,{\"float\":\"+ff0000000000000\"}]]}",
            37,
            "unexpected `\"` (16 hex",
        ),
        (
            "{\"session\":0,\"ops\":[[\"r\",1,18446744073709551616]]}",
            28,
            "a number that is too large (an integer",
        ),
        ("{\"session\":0,\"ops\":[],\"outcome\":\"maybe\"}", 33, "not an outcome (\"committed\", "),
        ("{\"session\":0,\"ops\":[],\"ops\":[]}", 23, "a duplicate field"),
        ("{\"session\":0,\"ops\":[],\"events\":[1]}", 34, "unexpected `]` ([start,end], two integers"),
        ("{\"session\":0,\"ops\":[],\"events\":[1,4294967295]}", 35, "not an event number"),
        ("{\"session\":0,\"ops\":[],\"events\":[-1,1]}", 33, "not an event number"),
        ("{\"session\":0,\"ops\":[],\"times\":[1,2.5]}", 34, "unexpected `2` (an integer or null)"),
        (
            "{\"session\":0,\"ops\":[],\"notes\":7}",
            31,
            "unexpected `7` (an object, or a list of [name,value])",
        ),
        ("{\"session\":0}", 1, "a transaction without operations"),
        ("{\"ops\":[]}", 1, "a transaction without a session"),
        ("{\"session\":0,\"ops\":[]} x", 24, "unexpected `x` (the end of the line)"),
        ("{\"session\":\"\\ud800\",\"ops\":[]}", 13, "half of a surrogate pair"),
        ("hello", 1, "unexpected `h` (a transaction such as"),
    ];
    let text: Vec<&str> = lines.iter().map(|(line, ..)| *line).collect();
    support::assert_line_errors(&failure(text.join("\n") + "\n"), 2, &lines);
}

#[test]
fn rows_lie_in_their_range() {
    let reversed = bad_op(r#"["range",9,2,[]]"#);
    assert!(reversed.starts_with("t:2:32: a range whose upper bound is below the lower one"), "{reversed}");
    for (range, column) in [(r#"["range",2,9,[[3,1],[10,1]]]"#, 42), (r#"["range",2,9,[],[["x",1]]]"#, 39)] {
        let outside = bad_op(range);
        assert!(outside.starts_with(&format!("t:2:{column}: a row outside of its range")), "{outside}");
    }
    let twice = bad_op(r#"["range",2,9,[[3,1],[3,2]]]"#);
    assert!(twice.starts_with("t:2:42: a key twice in one range read"), "{twice}");
}

#[test]
fn hostile_input_fails_early() {
    let deep = "[".repeat(100_000);
    assert!(bad_op(&format!("[\"r\",1,{deep}]")).contains("a list inside of a list"));
    let noted = failure(format!("{HEADER}{{\"session\":0,\"ops\":[],\"notes\":{{\"a\":{deep}}}}}\n"));
    assert!(noted.contains("nested too deep"), "{noted}");
    assert!(failure(format!("{{\"extra\":{deep}}}\n")).contains("nested too deep"));
    assert!(failure(b"{\"session\":\"a\xff\",\"ops\":[]}\n").contains("t:2:14: not UTF-8"));
    assert!(failure(b"\0\x01\x02").contains("byte 0: ") || failure(b"\0\x01\x02").contains("0x00"));
    assert!(failure("y\n".repeat(1 << 20)).contains("and at least"));
    assert!(failure("y".repeat(10 << 20)).contains("t:2:1: unexpected `y`"));
}

#[test]
fn a_line_of_many_megabytes_is_a_transaction() {
    let ops: Vec<String> = (0..400_000).map(|i| format!("[\"w\",{},{i}]", i % 10)).collect();
    let line = format!("{{\"session\":0,\"ops\":[{}]}}\n", ops.join(","));
    assert!(line.len() > 2 * (2 << 20));
    let history = reading(&format!("{line}{{\"session\":0,\"ops\":[]}}")).history;
    assert_eq!((history.txn_count(), history.op_count()), (2, 400_000));
}

/// Many blocks, with values shared by all blocks, and with and without range reads.
#[test]
fn a_file_of_many_blocks_is_read_in_order() {
    for with_ranges in [false, true] {
        let mut text = HEADER.to_owned();
        for i in 0..80_000u64 {
            let range = if with_ranges && i % 9 == 0 {
                format!(",[\"range\",\"a\",\"l\",[[\"k\",{i}]]]")
            } else {
                String::new()
            };
            let (key, session) = (i % 1000, i % 7);
            let _ = writeln!(
                text,
                "{{\"session\":\"s{session}\",\"txn\":{i},\"ops\":[[\"w\",\"key{key}\",{i}],[\"r\",\"key{key}\",\"v{i}\"]{range}],\"events\":[{i},{i}]}}"
            );
        }
        assert!(text.len() > 3 * (2 << 20));
        let history = support::reading(Format::Native, &text).history;
        assert_eq!((history.txn_count(), history.session_count()), (80_000, 7));
        assert_eq!(history.key_count(), 1000 + usize::from(with_ranges));
        for session in history.sessions() {
            for (n, txn) in history.txns_of(session).enumerate() {
                let i = session.0 + 7 * n as u32;
                assert_eq!(history.txn_name(txn).as_small(), Some(i));
                assert_eq!(history.events().unwrap().start[txn.index()], i);
                let ops: Vec<_> = history.ops_of(txn).collect();
                assert_eq!(ops[0].value.as_small(), Some(i));
                assert_eq!(show(&history, ops[1].value), format!("Text(\"v{i}\")"));
                assert_eq!(ops.len() == 3, with_ranges && i.is_multiple_of(9));
                if let Some(op) = ops.get(2) {
                    assert_eq!(history.range(op.id).unwrap().live[0].1.as_small(), Some(i));
                }
                let at = history.op_position(ops[1].id).unwrap().0 as usize;
                assert!(text[at..].starts_with("[\"r\",\"key"));
                let at = history.txn_position(txn).unwrap().0 as usize;
                assert!(text[at..].starts_with("{\"session\""));
            }
        }
    }
}

#[test]
fn only_this_format_is_recognised() {
    let format = |text: &str| read(&Input::text("t", text), &ReadOptions::default()).map(|r| r.format).ok();
    assert_eq!(format(HEADER), Some(Format::Native));
    assert_eq!(format("\n {\"version\":1, \"isoscope\" : \"history\"}\n"), Some(Format::Native));
    assert_ne!(format("{\"isoscope\":\"verdict\",\"version\":1}"), Some(Format::Native));
    for other in [
        "{\"type\":\"invoke\",\"isoscope\":1}",
        "[[]]",
        "{\"value\":[[\"r\",1,0,false]]}",
        "{\"session\":0,\"ops\":[]}",
    ] {
        assert_ne!(format(other), Some(Format::Native), "{other}");
    }
}

/// A history with every column there is, and names of every kind.
fn full() -> History {
    let mut draft = Draft::new();
    let keyword = draft.values.keyword("key");
    let word = draft.values.text("a \"word\"");
    let float = draft.values.add(Datum::Float(-0.0));
    let infinite = draft.values.add(Datum::Float(f64::NEG_INFINITY));
    let huge = draft.values.nat(u64::MAX);
    let least = draft.values.int(i64::MIN);
    let yes = draft.values.add(Datum::Bool(true));
    let empty = draft.values.list(&[]);
    let list = draft.values.list(&[keyword, empty, Value::UNKNOWN, float]);
    let flat = draft.values.list(&[keyword, Value::UNKNOWN, float]);
    draft.set_initial(keyword);
    draft.set_initial_of(word, infinite);
    draft.set_initial_of(huge, keyword);
    let sessions = [keyword, word, Value::NIL, list, word].map(|name| draft.new_session(name));
    let outcomes = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown];
    for (n, session) in [sessions[4], sessions[0], sessions[3], sessions[0]].into_iter().enumerate() {
        let name = [least, Value::NIL, list, yes][n];
        let txn = draft.txn(session, name, outcomes[n % 3], None);
        for (key, value) in
            [(word, flat), (keyword, Value::NIL), (float, infinite), (Value::NIL, Value::UNKNOWN)]
        {
            for kind in OpKind::ALL.into_iter().filter(|&kind| kind != OpKind::RangeRead) {
                // Elements and tombstones are scalars.
                let is_scalar = matches!(kind, OpKind::Append | OpKind::Delete);
                draft.push(txn, kind, key, if is_scalar && value == flat { yes } else { value }, None);
            }
        }
        let row = RangeRow {
            low: least,
            high: huge,
            live: vec![(least, flat), (huge, yes)],
            dead: vec![(float, keyword)],
        };
        draft.push_range(txn, row, None);
        let row = RangeRow { low: Value::NIL, high: Value::NIL, live: vec![], dead: vec![(yes, empty)] };
        draft.push_range(txn, row, None);
        match n {
            0 => draft.set_events(txn, 0, NO_EVENT),
            1 => draft.set_events(txn, NO_EVENT, 4_294_967_294),
            2 => draft.set_times(txn, -5, NO_TIME),
            _ => draft.set_timestamps(txn, i64::MIN + 1, i64::MAX),
        }
        draft.annotate(txn, word, list);
        if n > 1 {
            draft.annotate(txn, if n == 2 { word } else { keyword }, yes);
        }
    }
    draft.finish().expect("a small history fits")
}

#[test]
fn everything_survives() {
    let text = survives(&full());
    assert!(
        text.contains("\"notes\":{\"a \\\"word\\\"\":[{\"keyword\":\"key\"},[],{\"unknown\":true},-0.0]}"),
        "{text}"
    );
    for text in [
        "",
        "T1: w(x,1)   T2: r(x,1) w(x,2) ; T3: r(x,2)   T4!: w(x,9)   T5?: a(l,3)   T6@2-5: r(l,[3])",
        "init=nil init(x)=5 T1: r(x,5) r(y,nil)",
        "init(x)=5 T1: r(y,?)",
    ] {
        survives(&notation::parse(text).unwrap());
    }
    let mut b = Builder::new();
    b.session("s").txn().times(5, 6).events(1, 2);
    b.session("s").txn();
    survives(&b.finish());
}

#[test]
fn keys_that_are_lists_cannot_be_written() {
    let mut draft = Draft::new();
    let list = draft.values.list(&[]);
    let session = draft.session(Value::NIL);
    let txn = draft.txn(session, Value::NIL, Outcome::Committed, None);
    draft.push(txn, OpKind::Write, list, Value::NIL, None);
    let error = write(&draft.finish().unwrap(), Format::Native, Target::Stream(&mut Vec::new()));
    assert!(matches!(error, Err(WriteError::Inexpressible { format: "native", .. })));
}

/// Lists are compared element by element, and elements as wholes. So a list inside of a list would equal nothing.
#[test]
fn lists_inside_of_lists_are_refused() {
    let line = |op: &str| format!("{{\"session\":0,\"ops\":[{op}]}}");
    for (op, column, what) in [
        (r#"["append","z",[1,2]]"#, 35, "unexpected `[` (an element that is not a list)"),
        (r#"["r","z",[[1,2]]]"#, 31, "a list inside of a list (elements that are not lists)"),
        (r#"["read","z",[1,[]]]"#, 36, "a list inside of a list"),
        (r#"["w","z",[1,[]]]"#, 33, "a list inside of a list"),
        (r#"["delete","z",[1]]"#, 35, "unexpected `[` (a tombstone that is not a list)"),
        (r#"["range",1,9,[[5,[[1]]]]]"#, 39, "a list inside of a list"),
    ] {
        let failure = support::failure(Format::Native, format!("{HEADER}{}\n", line(op)));
        assert!(failure.starts_with(&format!("t:2:{column}: {what}")), "{failure}");
    }
    for initial in [r#""initial":[[1]]"#, r#""initials":[["z",[[1]]]]"#] {
        let failure = support::failure(
            Format::Native,
            format!("{{\"isoscope\":\"history\",\"version\":1,{initial}}}\n"),
        );
        assert!(failure.contains("a list inside of a list"), "{failure}");
    }
    let mut b = Builder::new();
    b.session(0).txn().append("z", Datum::List(&[]));
    let error = write(&b.finish(), Format::Native, Target::Stream(&mut Vec::new()));
    assert!(matches!(error, Err(WriteError::Inexpressible { what: "lists inside of lists", .. })));
}

/// An unknown initial value would match no read.
#[test]
fn initial_values_must_be_known() {
    for (initial, column) in [
        (r#""initial":{"unknown":true}"#, 45),
        (r#""initials":[["x",{"unknown":true}]]"#, 52),
        (r#""initials":[["x",[{"unknown":true}]]]"#, 52),
    ] {
        let header = format!("{{\"isoscope\":\"history\",\"version\":1,{initial}}}\n");
        let failure = support::failure(Format::Native, header);
        let start =
            format!("t:1:{column}: an initial value that was not learned (the initial value, or null");
        assert!(failure.starts_with(&start), "{failure}");
    }
}

/// The fields that the schema allows in a line.
fn fields(schema: &serde_json::Value, kind: &str) -> Vec<String> {
    schema["$defs"][kind]["properties"].as_object().expect("properties").keys().cloned().collect()
}

/// The reader accepts exactly the fields of the schema and warns about any other.
#[test]
fn the_schema_lists_what_is_read_and_written() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../schema/native.schema.json")).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let (bytes, _) = written(&full(), Format::Native);
    let lines: Vec<serde_json::Value> = bytes
        .split(|&b| b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect();
    let mut used = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let kind = if i == 0 { "header" } else { "transaction" };
        let known = fields(&schema, kind);
        for required in schema["$defs"][kind]["required"].as_array().unwrap() {
            assert!(line.get(required.as_str().unwrap()).is_some());
        }
        for field in line.as_object().unwrap().keys() {
            assert!(known.contains(field), "{kind} has no {field}");
            used.push(field.clone());
        }
    }
    for field in fields(&schema, "transaction").iter().chain(&fields(&schema, "header")) {
        assert!(
            used.contains(field) || ["marks", "workload", "recorder"].contains(&field.as_str()),
            "{field} is never written"
        );
    }
    let header = "{\"isoscope\":\"history\",\"version\":1,\"marks\":false,\"workload\":1,\"recorder\":1,\"initial\":1,\"initials\":[],\"sessions\":[1]}\n";
    let txn = "{\"session\":0,\"txn\":1,\"outcome\":\"unknown\",\"ops\":[],\"events\":[1,2],\"times\":[1,2],\"timestamps\":[1,2],\"notes\":{}}\n";
    let reading = support::reading(Format::Native, format!("{header}{txn}"));
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
    for (kind, line) in [("header", header), ("transaction", txn)] {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut given: Vec<String> = line.as_object().unwrap().keys().cloned().collect();
        let mut known = fields(&schema, kind);
        given.sort();
        known.sort();
        assert_eq!(given, known);
    }
    assert_eq!(fields(&schema, "mark").len(), 3);
    let operations = schema["$defs"]["operation"]["oneOf"].as_array().unwrap();
    let words = operations.iter().flat_map(|operation| {
        let word = &operation["prefixItems"][0];
        word["enum"].as_array().into_iter().flatten().chain(word.get("const"))
    });
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words.len(), 10);
    for word in words {
        let rest = if word.starts_with("range") { ",2,[],[]" } else { ",2" };
        let line = format!("{{\"session\":0,\"ops\":[[\"{word}\",1{rest}]]}}\n");
        assert_eq!(self::reading(&line).history.op_count(), 1, "{word}");
    }
}

/// A recording: marks at 10 and 25, and the end mark if `end`. T3 read from T2, T5 from T4, whose line is
/// missing.
fn recording(end: bool) -> String {
    let mut lines = "\
{\"isoscope\":\"history\",\"version\":1,\"marks\":true}
{\"session\":0,\"txn\":1,\"ops\":[[\"w\",\"x\",1]],\"times\":[0,5]}
{\"session\":null,\"ops\":[],\"mark\":10}
{\"session\":1,\"txn\":3,\"ops\":[[\"r\",\"x\",2]],\"times\":[12,20]}
{\"session\":0,\"txn\":2,\"ops\":[[\"r\",\"x\",1],[\"w\",\"x\",2]],\"times\":[11,30]}
{\"session\":2,\"txn\":6,\"outcome\":\"unknown\",\"ops\":[[\"r\",\"y\",0],[\"append\",\"z\",6]],\"times\":[13,null]}
{\"session\":null,\"ops\":[],\"mark\":25}
{\"session\":1,\"txn\":5,\"ops\":[[\"r\",\"x\",4]],\"times\":[26,40]}
"
    .to_owned();
    if end {
        lines.push_str("{\"session\":null,\"ops\":[],\"mark\":\"end\"}\n");
    }
    lines
}

/// In an incomplete recording, every read that is kept has a writer that is kept.
#[test]
fn a_recording_is_cut_where_its_last_mark_says() {
    let whole = support::reading(Format::Native, recording(true));
    assert!(whole.warnings.is_empty(), "{:?}", whole.warnings);
    assert_eq!(whole.history.txn_count(), 5);
    let cut = support::reading(Format::Native, recording(false));
    let notation_of: Vec<String> = cut.warnings.iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(
        notation_of,
        [
            "the recording is incomplete; only the part up to its last mark is checked",
            "1 transaction that began after the last mark ignored",
            "2 transactions running at the last mark kept without their reads",
        ]
    );
    // T3 returned before the mark; T2 and T6 had not, so only their writes are kept; T5 began later.
    let text = notation::print(&cut.history);
    for kept in ["w(x,1)", "w(x,2)", "r(x,2)", "a(z,6)"] {
        assert!(text.contains(kept), "{text}");
    }
    assert_eq!((cut.history.txn_count(), cut.history.op_count()), (4, 4), "{text}");
}

/// Wherever a recording is cut, every read that is kept has a writer that is kept.
#[test]
fn a_recording_may_be_cut_anywhere() {
    let text = recording(true);
    let header = text.find('\n').unwrap() + 1;
    for length in header..text.len() {
        let reading = support::reading(Format::Native, &text[..length]);
        let is_whole = text[..length].ends_with("\"end\"}");
        assert_eq!(reading.warnings.is_empty(), is_whole, "{length}: {:?}", reading.warnings);
        let history = &reading.history;
        let written = |value: Value| {
            let writes =
                history.txns().flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind == OpKind::Write);
            writes.map(|op| op.value).any(|other| other == value)
        };
        for op in history.txns().flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind == OpKind::Read) {
            let is_explained = history.is_initial(op.key, op.value) || written(op.value);
            assert!(is_explained || is_whole, "{length}: {}", notation::print(history));
        }
    }
}

/// Marks count only if the header declares them; a file written by hand needs none.
#[test]
fn a_file_without_marks_is_used_as_it_is() {
    let plain = recording(false).replace(",\"marks\":true", "");
    let reading = support::reading(Format::Native, plain);
    assert!(reading.warnings.is_empty() && reading.history.txn_count() == 5, "{:?}", reading.warnings);
    let marked = |lines: &str| format!("{{\"isoscope\":\"history\",\"version\":1,\"marks\":true}}\n{lines}");
    // Without times nothing is known about a transaction, and without a mark nothing about any transaction.
    let line = "{\"session\":0,\"ops\":[[\"w\",\"x\",1],[\"r\",\"y\",0]]}\n{\"mark\":7}\n";
    let reading = support::reading(Format::Native, marked(line));
    assert_eq!((reading.history.txn_count(), reading.history.op_count()), (1, 1));
    let reading = support::reading(Format::Native, marked(line.split_inclusive('\n').next().unwrap()));
    assert_eq!(reading.history.txn_count(), 0);
}

#[test]
fn wrong_marks_are_errors() {
    let wrong = |lines: &str| support::failure(Format::Native, format!("{}{lines}", recording(true)));
    assert!(wrong("{\"session\":0,\"ops\":[]}\n").contains("a transaction after the end mark"));
    assert!(failure("{\"mark\":\"here\"}\n").contains("a time in nanoseconds"));
    let both = "{\"session\":null,\"ops\":[[\"w\",\"x\",1]],\"mark\":1}\n";
    assert!(failure(both).contains("a mark with fields of a transaction"));
}

#[test]
fn damaged_files_do_not_panic() {
    let (bytes, _) = written(&full(), Format::Native);
    survives_damage(Format::Native, &bytes);
}

const ALL: Flavour =
    Flavour { lists: false, rich_names: true, aborted: true, unknown: true, rows: false, events: true };

proptest! {
    #[test]
    fn registers_survive(history in histories(ALL)) {
        survives(&history);
    }

    #[test]
    fn lists_survive(history in histories(Flavour { lists: true, ..ALL })) {
        survives(&history);
    }

    #[test]
    fn rows_survive(history in histories(Flavour { rows: true, ..ALL })) {
        survives(&history);
    }

    #[test]
    fn plain_histories_survive(history in histories(PLAIN)) {
        survives(&history);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Native, [HEADER.as_bytes(), &bytes].concat());
        let _ = support::try_reading(Format::Native, bytes);
    }
}

/// A session runs one transaction after the other. Where the times say otherwise, the history is kept and a warning says so.
#[test]
fn overlapping_transactions_of_a_session_are_a_warning() {
    let warnings = |lines: &str| -> Vec<String> {
        let warnings = reading(lines).warnings;
        warnings.iter().map(ToString::to_string).filter(|text| text.contains("same session")).collect()
    };
    let line = |session: u32, times: &str| {
        format!("{{\"session\":{session},\"ops\":[[\"w\",1,1]],\"times\":[{times}]}}\n")
    };
    // The third overlaps the first, though not the second.
    let overlapping = line(0, "0,10") + &line(0, "5,6") + &line(0, "7,8") + &line(1, "3,4");
    let message =
        "invoked before an earlier one of the same session had returned; the session keeps its order";
    assert_eq!(warnings(&overlapping), [format!("t:3:1: 2 transactions {message}")]);
    assert_eq!(warnings(&(line(0, "0,10") + &line(0, "10,12") + &line(1, "5,6"))), [""; 0]);
}

/// A read of a list that nobody learned may be spelt like one of a register.
#[test]
fn an_unlearned_read_of_a_list_reads_a_list() {
    let kinds = |text: &str| -> Vec<OpKind> {
        let history = notation::parse(text).unwrap();
        history.txns().flat_map(|txn| history.ops_of(txn)).map(|op| op.kind).collect()
    };
    assert_eq!(kinds("T1?: a(x,1) r(x,?)"), [OpKind::Append, OpKind::ReadList]);
    assert_eq!(kinds("T1?: r(x,?)  T2: r(x,[1])"), [OpKind::ReadList, OpKind::ReadList]);
    assert_eq!(kinds("T1?: w(x,1) r(x,?)"), [OpKind::Write, OpKind::Read]);
    assert_eq!(kinds("T1?: a(x,1) r(x,?)  T2: w(x,1)"), [OpKind::Append, OpKind::Read, OpKind::Write]);
    assert_eq!(kinds("T1?: r(x,?) r(y,?)  T2: a(y,1)"), [OpKind::Read, OpKind::ReadList, OpKind::Append]);
}

/// A list that does not exist is a list to readers that see nothing else.
#[test]
fn a_read_of_nil_of_a_list_reads_a_list() {
    let print = |text: &str| notation::print(&notation::parse(text).unwrap());
    assert_eq!(print("init=nil  T1: a(x,1)  T2: r(x,nil)"), "init=nil  T1: a(x,1)  T2: rl(x,nil)");
    assert_eq!(print("T1: r(x,[1])  T2: r(x,nil) r(y,nil)"), "T1: r(x,[1])  T2: rl(x,nil) r(y,nil)");
    assert_eq!(print("T1: a(x,1) w(x,2)  T2: r(x,nil)"), "T1: a(x,1) w(x,2)  T2: r(x,nil)");
}

/// Reads that name no tombstone among others that do are probably mistaken about it; nobody can tell.
#[test]
fn a_read_without_a_tombstone_is_a_warning_if_others_name_them() {
    let warnings = |ops: &str| -> Vec<String> {
        let reading =
            support::reading(Format::Native, format!("{HEADER}{{\"session\":0,\"ops\":[{ops}]}}\n"));
        reading.warnings.iter().map(ToString::to_string).collect()
    };
    assert!(warnings(r#"["delete","x",7],["r","x",null]"#).is_empty());
    assert!(warnings(r#"["delete","x",7],["r","x",7]"#).is_empty());
    let mixed = warnings(r#"["delete","x",7],["r","x",7],["r","x",null],["range","a",null,[]]"#);
    assert_eq!(mixed.len(), 1, "{mixed:?}");
    assert!(
        mixed[0].starts_with("t:2:50: 2 reads found nothing of a key whose delete has a tombstone"),
        "{mixed:?}"
    );
}
