//! Tests of Jepsen and Elle histories in EDN, one for every convention.

mod support;

use std::fmt::Write as _;

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError};
use isoscope_history::notation::{OpText, ValueText};
use isoscope_history::{Datum, History, NO_EVENT, NO_TIME, OpKind, Outcome, Value, notation};
use proptest::prelude::*;
use support::{Flavour, PLAIN, histories, survives_damage, written};

fn reading(text: impl AsRef<[u8]>) -> Reading {
    support::reading(Format::Edn, text)
}

fn notation_of(text: &str) -> String {
    support::notation_of(Format::Edn, text)
}

fn failure(text: impl AsRef<[u8]>) -> String {
    support::failure(Format::Edn, text)
}

fn warnings(text: &str) -> Vec<String> {
    reading(text).warnings.iter().map(ToString::to_string).collect()
}

fn detected(text: &str) -> Option<Format> {
    isoscope_formats::read(&Input::text("t", text), &ReadOptions::default()).ok().map(|r| r.format)
}

const PAIR: &str =
    "{:type :invoke, :f :txn, :value [[:append 1 7] [:r 2 nil]], :process 0, :time 5, :index 0}
{:type :ok, :f :txn, :value [[:append 1 7] [:r 2 [3 4]]], :process 0, :time 9, :index 1}
";

#[test]
fn an_ok_transaction_has_the_values_of_its_completion() {
    assert_eq!(notation_of(PAIR), "init=nil  T0@0-1: a(1,7) r(2,[3 4])");
    let register = "{:type :invoke :process 3 :value [[:w x 1] [:r y nil]]}
        {:type :ok :process 3 :value [[:w x 1] [:r y 2]]}";
    assert_eq!(notation_of(register), "init=nil  T0@0-1: w(:x,1) r(:y,2)");
    let history = reading(PAIR).history;
    assert_eq!(history.times().map(|times| (times.start[0], times.end[0])), Some((5, 9)));
    assert_eq!(
        history.datum(history.session_name(history.session_of(isoscope_history::Txn(0)))),
        Datum::Int(0)
    );
}

#[test]
fn a_failed_transaction_has_the_writes_of_its_invocation() {
    let text = "{:type :invoke :process 0 :value [[:append 1 7] [:r 2 nil]]}
        {:type :fail :process 0 :value [[:append 1 8] [:r 2 [3]]]}";
    assert_eq!(notation_of(text), "init=nil  T0!@0-1: a(1,7) rl(2,?)");
    assert_eq!(
        notation_of(&text.replace(":value [[:append 1 8] [:r 2 [3]]]", ":error :conflict")),
        notation_of(text)
    );
}

#[test]
fn an_info_transaction_may_have_happened_and_never_ends() {
    let text = "{:type :invoke :process 0 :time 1 :value [[:w 1 7] [:r 2 nil]]}
        {:type :info :process 0 :time 2 :value [[:w 1 8] [:r 2 3]]}";
    assert_eq!(notation_of(text), "init=nil  T0?@0-: w(1,7) r(2,?)");
    let history = reading(text).history;
    assert_eq!(history.times().map(|times| (times.start[0], times.end[0])), Some((1, NO_TIME)));
}

#[test]
fn an_invocation_without_completion_is_like_info() {
    let text = "{:type :invoke :process 0 :value [[:w 1 7]]}\n{:type :invoke :process 1 :value [[:w 1 8]]}
{:type :ok :process 1 :value [[:w 1 8]]}";
    assert_eq!(notation_of(text), "init=nil  T0?@0-: w(1,7)  T1@1-2: w(1,8)");
    assert_eq!(warnings(text), ["t:1:1: 1 invocation never completed; outcome unknown"]);
}

#[test]
fn problems_come_in_the_order_of_the_text() {
    let ok = "{:type :ok :process 0 :value []}\n";
    let mut open = String::new();
    for process in (0..20).rev() {
        let _ = writeln!(open, "{{:type :invoke :process {process} :value []}}");
    }
    assert!(warnings(&format!("{ok}{open}"))[0].starts_with("t:2:1: 20 invocations never completed"));
    let failure = failure(open.replace("[]", "5"));
    assert_eq!(failure.lines().count(), 20);
    for (line, problem) in (1..).zip(failure.lines()) {
        assert!(problem.starts_with(&format!("t:{line}:")), "{failure}");
    }
}

#[test]
fn completions_without_invocations_have_no_real_time() {
    let text = "{:type :ok :process 0 :value [[:w 1 7]]}\n{:type :fail :process 1 :value [[:w 1 8] [:r 1 5]]}
{:type :ok :process 0 :value [[:r 1 7]]}\n{:type :info :process 2 :value [[:w 1 9]]}";
    assert_eq!(notation_of(text), "init=nil  T0: w(1,7) ; T2: r(1,7)  T1!: w(1,8) r(1,?)  T3?: w(1,9)");
    let warnings = warnings(text);
    assert_eq!(warnings[0], "t:1:1: 4 completions without an invocation; not ordered in real time");
    assert!(reading(text).history.events().is_none());
}

#[test]
fn without_processes_every_transaction_is_a_session() {
    let text = "{:type :invoke :value [[:w 1 7]]}\n{:type :ok :value [[:w 1 7]]}
{:type :invoke :value [[:w 1 8]]}\n{:type :ok :value [[:w 1 8]]}";
    assert_eq!(notation_of(text), "init=nil  T0@0-1: w(1,7)  T2@2-3: w(1,8)");
    assert_eq!(warnings(text), ["t:1:1: 4 operations without a process; each gets its own session"]);
    assert_eq!(
        notation_of("{:type :ok :value [[:w 1 7]]}{:type :ok :value [[:w 1 8]]}"),
        "init=nil  T0: w(1,7)  T1: w(1,8)"
    );
}

#[test]
fn a_second_invocation_makes_the_first_unknown() {
    let text = "{:type :invoke :process 0 :value [[:w 1 7]]}\n{:type :invoke :process 0 :value [[:w 1 8]]}
{:type :ok :process 0 :value [[:w 1 8]]}";
    assert_eq!(notation_of(text), "init=nil  T0?@0-: w(1,7) ; T1@1-2: w(1,8)");
    let expected =
        "t:2:1: 1 invocation while the previous one of the process was open; the previous outcome is unknown";
    assert_eq!(warnings(text), [expected]);
}

#[test]
fn a_process_may_go_on_after_info() {
    let text = "{:type :invoke :process 0 :value [[:w 1 7]]}\n{:type :info :process 0 :value [[:w 1 7]]}
{:type :invoke :process 0 :value [[:w 1 8]]}\n{:type :ok :process 0 :value [[:w 1 8]]}";
    assert_eq!(notation_of(text), "init=nil  T0?@0-: w(1,7) ; T2@2-3: w(1,8)");
    assert!(warnings(text)[0].starts_with("t:3:1: 1 invocation by a process that continued after"));
}

#[test]
fn only_integers_are_clients() {
    let text =
        "{:type :info :process :nemesis :f :kill :value [[\"n1\" 5]]}\n{:type :info :process \"n\" :f :x}\n";
    assert_eq!(notation_of(&format!("{text}{PAIR}{text}")), notation_of(PAIR));
    assert_eq!(warnings(&format!("{text}{PAIR}")), ["t:1:1: 2 operations of non-client processes ignored"]);
}

#[test]
fn real_time_is_the_order_of_lines() {
    let text = "{:type :invoke :process 0 :index 70 :time 8 :value [[:w 1 7]]}
{:type :invoke :process 1 :index 30 :time 6 :value [[:w 1 8]]}
{:type :info :process :nemesis}
{:type :ok :process 1 :index 20 :time 9 :value [[:w 1 8]]}
{:type :ok :process 0 :index 10 :time 8 :value [[:w 1 7]]}";
    assert_eq!(notation_of(text), "init=nil  T70@0-3: w(1,7)  T30@1-2: w(1,8)");
}

#[test]
fn session_order_is_the_order_of_invocations() {
    let text = "{:type :invoke :process 1 :value [[:w 1 1]]}{:type :ok :process 1 :value [[:w 1 1]]}
{:type :invoke :process 0 :value [[:w 1 2]]}{:type :ok :process 0 :value [[:w 1 2]]}
{:type :invoke :process 1 :value [[:w 1 3]]}{:type :ok :process 1 :value [[:w 1 3]]}";
    assert_eq!(notation_of(text), "init=nil  T0@0-1: w(1,1) ; T4@4-5: w(1,3)  T2@2-3: w(1,2)");
}

fn kinds(text: &str) -> Vec<OpKind> {
    let history = reading(text).history;
    history.txns().flat_map(|txn| history.ops_of(txn).map(|op| op.kind).collect::<Vec<_>>()).collect()
}

#[test]
fn nil_and_the_empty_list_are_the_initial_state() {
    let list = "{:type :ok :process 0 :value [[:r 1 nil] [:r 2 []] [:append 3 1]]}";
    assert_eq!(notation_of(list), "init=nil  T0: r(1,[]) r(2,[]) a(3,1)");
    assert_eq!(kinds(list), [OpKind::ReadList, OpKind::ReadList, OpKind::Append]);
    let register = "{:type :ok :process 0 :value [[:r 1 nil] [:w 3 1]]}";
    assert_eq!(notation_of(register), "init=nil  T0: r(1,nil) w(3,1)");
    assert_eq!(kinds(register), [OpKind::Read, OpKind::Write]);
    for text in [list, register] {
        let history = reading(text).history;
        let read = history.ops_of(isoscope_history::Txn(0)).next().unwrap();
        assert!(history.is_initial(read.key, read.value));
    }
}

/// The read precedes every operation that shows whether its key is a list.
#[test]
fn lists_and_registers_are_distinguished_by_key() {
    use OpKind::{Append, Read, ReadList, Write};
    let mixed = "{:type :ok :process 0 :value [[:r 1 nil] [:r 2 nil] [:r 3 nil]]}
{:type :invoke :process 1 :value [[:r 1 nil] [:r 2 nil]]}{:type :info :process 1}
{:type :ok :process 0 :value [[:append 1 1] [:w 2 1]]}";
    assert_eq!(kinds(mixed), [ReadList, Read, Read, Append, Write, ReadList, Read]);
}

#[test]
fn names_in_the_wild() {
    let text = "{:type :ok :process 0 :value [[:read 1 5] [:write :k \"v\"] [:w \"s p\" :v] [:w sym -3] [:w 1 2.5]
        [:w 1 12N] [:w 1 true] [:w 1 18446744073709551615] [:w 1 -9223372036854775808] [:w 1 1e3] [:w 1 ##Inf]]}";
    assert_eq!(
        notation_of(text),
        "init=nil  T0: r(1,5) w(:k,v) w(\"s p\",:v) w(:sym,-3) w(1,2.5) w(1,12) w(1,true) \
         w(1,18446744073709551615) w(1,-9223372036854775808) w(1,1000.0) w(1,f\"7ff0000000000000\")"
    );
    let escapes = r#"{:type :ok :process 0 :value [[:w 1 "a\"b\\c\n\t\u00e9\ud83d\ude00é"]]}"#;
    let history = reading(escapes).history;
    let op = history.ops_of(isoscope_history::Txn(0)).next().unwrap();
    assert_eq!(history.datum(op.value), Datum::Text("a\"b\\c\n\té😀é"));
}

#[test]
fn white_space_comments_tags_and_discards() {
    let expected = notation_of(PAIR);
    let maps: Vec<&str> = PAIR.lines().collect();
    for text in [
        PAIR.trim_end().to_owned(),
        PAIR.replace('\n', "\r\n"),
        PAIR.replace(',', ""),
        PAIR.replace(' ', ",, \n\t"),
        PAIR.replace('[', "[ ").replace(']', " ]"),
        PAIR.replace(" [[", " ([").replace("]],", "]),"),
        format!("; a comment {{ [ \"\n;\n{} ; [\n;;\n{};", maps[0], maps[1]),
        format!("[{} {}]", maps[0], maps[1]),
        format!("({}\n {}\n)\n", maps[0], maps[1]),
        format!("[ {},\n;]\n{}]", maps[0], maps[1]),
        format!("[{}]\n[{}]", maps[0], maps[1]),
        PAIR.replace('{', "#jepsen.history.Op{"),
        PAIR.replace('{', "#jepsen.history.Op {"),
        PAIR.replace(":value", ":value #my/tag"),
        PAIR.replace('{', "#_ foo {#_ #_ :type :fail "),
        PAIR.replace('{', "#_{:type :ok :value [[:w 1 1]]} {"),
        PAIR.replace("[:r", "; ]]}\n[:r"),
        PAIR.replace('}', ", :note {:a [1 #{2 3} \\} \\\" \\newline \"}\\\"]\"] \"k\" nil}}"),
        format!("\u{feff}{PAIR}"),
    ] {
        assert_eq!(notation_of(&text), expected, "{text}");
    }
}

#[test]
fn fields_may_be_in_any_order_or_missing() {
    let one = "{:value [[:r 1 [2]] [:append 1 3]] :process 0 :type :ok}";
    assert_eq!(
        notation_of(one),
        notation_of("{:type :ok :f nil :index nil :process 0 :value [[:r 1 [2]] [:append 1 3]]}")
    );
    assert_eq!(notation_of("{:type :ok :process nil :value []}"), "init=nil  T0:");
}

#[test]
fn further_fields_are_annotations() {
    let text = "{:type :invoke :process 0 :value [[:w 1 1]] :node \"n1\" :nothing nil}
{:type :fail :process 0 :error [:conflict {:a \"b\"}] \"odd\" 5}";
    let history = reading(text).history;
    let notes: Vec<(String, String)> = history
        .annotations()
        .iter()
        .map(|a| match (history.datum(a.name), history.datum(a.value)) {
            (Datum::Text(name), Datum::Text(value)) => (name.to_owned(), value.to_owned()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [("node", "\"n1\""), ("error", "[:conflict {:a \"b\"}]"), ("\"odd\"", "5")];
    assert_eq!(notes, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn other_operations_are_ignored() {
    let other = "{:type :invoke :f :read :process 1 :value nil}\n{:type :ok :f :read :process 1 :value 5}
{:type :ok :f :cas :process 1 :value [1 2]}\n{:type :invoke :f :transfer :process 1 :value {:from 1}}\n";
    assert_eq!(notation_of(&format!("{other}{PAIR}")), notation_of(PAIR).replace("T0@0-1", "T0@4-5"));
    assert_eq!(warnings(&format!("{other}{PAIR}")), ["t:1:1: 3 unknown operations ignored"]);
    // The value decides, not the name.
    assert_eq!(notation_of(&PAIR.replace(":f :txn", ":f :mix")), notation_of(PAIR));
}

#[test]
fn every_error_has_a_place_and_an_expectation() {
    for (text, expected) in [
        ("{:type :foo}", "t:1:8: unexpected `:foo` (a type: invoke, ok, fail or info)"),
        ("{:process 1}", "t:1:1: unexpected `{` (an operation with a :type of invoke, ok, fail or info)"),
        ("\n {:type :ok :value 5}", "t:2:20: unexpected `5` (a vector of micro-operations such as"),
        ("{:type :ok :value [5]}", "t:1:20: unexpected `5` (a micro-operation such as [:r 1 nil])"),
        (
            "{:type :ok :value [[:x 1 2]]}",
            "t:1:21: unexpected `:x` (the name of a micro-operation: r, w, append, insert, delete or rp)",
        ),
        ("{:type :ok :value [[]]}", "t:1:21: unexpected `]` (the name of a micro-operation: r, w, append,"),
        ("{:type :ok :value [[:r]]}", "t:1:23: unexpected `]` (a key after the name"),
        ("{:type :ok :value [[:w 1]]}", "t:1:25: unexpected `]` (the value written)"),
        ("{:type :ok :value [[:w 1 2 3]]}", "t:1:28: unexpected `3` (the end of the micro-operation"),
        ("{:type :ok :value [[:r 1 2 3]]}", "t:1:28: unexpected `3` (the end of the micro-operation"),
        ("{:type :ok :value [[:w {:a} 3]]}", "t:1:27: unexpected `}` (a number, string, keyword,"),
        ("{:type :ok :value [[:w [1 \\a] 3]]}", "t:1:27: unexpected `\\` (a number, string, keyword,"),
        ("{:type :ok :value [[:rp :true 5]]}", "t:1:32: unexpected `]` (the rows: a map from keys to values"),
        ("{:type :ok :value [[:rp :true {:x [1]}]]}", "t:1:35: unexpected `[` (a number, string,"),
        ("{:type :ok :value [[:rp :true [[:x]]]]}", "t:1:35: unexpected `]` (the value of a row)"),
        ("{:type :ok :value [[:rp]]}", "t:1:24: unexpected `]` (a predicate such as :true or [:= 1])"),
        ("{:type :ok :value [[:delete]]}", "t:1:28: unexpected `]` (a key after the name"),
        ("{:type :ok :value [[:insert 1]]}", "t:1:30: unexpected `]` (the value written)"),
        ("{:type :ok :value [[:w 1 {:a 1}]]}", "t:1:26: unexpected `{` (a number, string,"),
        ("{:type :ok :value [[:r 1 #{1}]]}", "t:1:26: unexpected `#` (a number, string,"),
        ("{:type :ok :value [[:r 1 [[2]]]]}", "t:1:27: unexpected `[` (a number, string,"),
        ("{:type :ok :value [[:w 1 [2]]]}", "t:1:26: unexpected `[` (a number, string,"),
        ("{:type :ok :value [[:w 1 1/2]]}", "t:1:26: unexpected `1/2` (a number)"),
        (
            "{:type :ok :value [[:w 1 99999999999999999999]]}",
            "t:1:26: unexpected `99999999999999999999` (an integer of at most 64 bits)",
        ),
        ("{:type :ok :value [[:w 1 \"a\\q\"]]}", "t:1:28: unexpected `\\` (an escape such as"),
        (
            "{:type :ok :value [[:w 1 2)]}",
            "t:1:27: unexpected `)` (`]`, which closes the innermost open bracket)",
        ),
        ("{:type :ok :value ]}", "t:1:19: unexpected `]` (a value)"),
        ("{:type :invoke :value [[:w 1 {}]]}", "t:1:30: unexpected `{` (a number"),
        ("{:type :invoke :value 5}\n{:type :fail}", "t:1:23: unexpected `5` (a vector"),
        ("foo", "t:1:1: unexpected `foo` (an operation such as {:type :ok"),
        ("{:type :ok :value []}]", "t:1:22: unexpected `]` (an operation map)"),
        ("[{:type :ok :value []})", "t:1:23: unexpected `)` (an operation such as"),
        (
            "[{:type :ok :value []}\n",
            "t:1:1: the input ends inside the vector that begins here (a closing `]`)",
        ),
        ("{:type :ok", "t:1:1: the input ends inside the form that begins here (a closing bracket or quote)"),
        ("{:type :ok :x \"}", "t:1:1: the input ends inside the form that begins here"),
        ("#_", "t:1:1: the input ends inside the form that begins here"),
    ] {
        let failure = failure(text);
        assert!(failure.starts_with(expected), "{text}: {failure}");
        assert_eq!(failure.lines().filter(|line| !line.contains("without")).count(), 1, "{text}: {failure}");
    }
}

#[test]
fn bytes_that_are_not_text_are_an_error_at_their_position() {
    assert!(
        failure(b"{:type :ok :value [[:w 1 \"a\xff\"]]}")
            .starts_with("t:1:28: unexpected byte 0xff (text in UTF-8)")
    );
    assert!(
        failure(b"{:type :ok :value [[:w 1 :a\xff]]}")
            .starts_with("t:1:28: unexpected byte 0xff (text in UTF-8)")
    );
    assert!(failure(b"\x00\x01\x02\xff").starts_with("t: byte 0: unexpected byte 0x00"));
}

/// Reading continues after an error, at the next form or the next line.
#[test]
fn several_errors_are_found() {
    let good = "{:type :ok :process 0 :value [[:w 1 1]]}\n";
    let text = format!(
        "{good}{{:type :bad}}\n{good}{{:type :ok :value 7\n{good}{good}{{:type :ok :value [[:w 1 2]\n{good}{{:type :bad}} {{:type :worse}}\n"
    );
    let failure = failure(&text);
    let lines: Vec<&str> = failure.lines().collect();
    assert!(lines[0].starts_with("t:2:8: unexpected `:bad`"), "{failure}");
    assert!(lines[1].starts_with("t:5:1: unexpected `{` (a key such as :type, or `}`)"), "{failure}");
    assert!(lines[2].starts_with("t:7:1: the input ends inside the form that begins here"), "{failure}");
    assert!(lines[3].starts_with("t:9:8: unexpected `:bad`"), "{failure}");
    assert!(lines[4].starts_with("t:9:21: unexpected `:worse`"), "{failure}");
}

#[test]
fn deep_nesting_fails_early() {
    let deep = "[".repeat(100_000);
    assert!(failure(&deep).starts_with("t:1:2: unexpected `[` (an operation map)"));
    let failure = failure(format!("{{:type :ok :value {deep}"));
    assert!(failure.contains("(brackets nested at most 128 deep)"), "{failure}");
    let fine = format!("{{:type :ok :value [] :x {}{}}}", "[".repeat(120), "]".repeat(120));
    assert_eq!(reading(fine).history.txn_count(), 1);
}

fn op(kind: &str, process: usize, value: usize) -> String {
    format!("{{:type :{kind} :process {process} :value [[:append {} {value}] [:r k nil]]}}", value % 100)
}

/// A whole history on one line of many megabytes, correct and wrong.
#[test]
fn one_long_line_is_read() {
    let mut text = String::from("[");
    for i in 0..150_000 {
        let _ = write!(text, "{} {} ", op("invoke", i % 10, i), op("ok", i % 10, i));
    }
    text.push(']');
    assert!(text.len() > 18 << 20);
    let history = reading(&text).history;
    assert_eq!((history.txn_count(), history.session_count()), (150_000, 10));
    text.pop();
    assert!(failure(&text).starts_with("t:1:1: the input ends inside the vector"));
    assert!(failure("{:type :ok :value [".repeat(1 << 20)).contains("nested at most 128 deep"));
    let open_string = format!("{{:type :ok :value \"{}", "x".repeat(20 << 20));
    assert!(failure(open_string).starts_with("t:1:1: the input ends inside the form"));
}

/// A history of `n` transactions, with invocations far from their completions and every outcome. Completions
/// that are not `ok` have a value that must be ignored.
fn long_history(n: usize, separator: &str, note: &str, between: &str) -> String {
    let mut text = String::new();
    let mut push = |kind: &str, process: usize, value: usize| {
        let map = op(kind, process, value).replace(' ', separator).replace('}', note);
        text.push_str(&map);
        text.push_str(between);
    };
    let mut open: Vec<Option<usize>> = vec![None; 7];
    for i in 0..n {
        let p = i * i % 7;
        if let Some(before) = open[p].replace(i) {
            let kind = ["ok", "ok", "ok", "fail", "info"][before % 5];
            push(kind, p, if kind == "ok" { before } else { 999_999 });
        }
        push("invoke", p, i);
    }
    text
}

/// Blocks are cut at line ends. The history must not depend on them.
#[test]
fn forms_and_pairs_may_lie_across_blocks() {
    let expected = notation_of(&long_history(40_000, " ", "}", "\n"));
    assert_eq!((expected.matches("a(").count(), expected.matches("999999").count()), (40_000, 0));
    let string = "\n :note \"{:type :bad\n{:type :worse ; \\\" [\n\"}";
    for (separator, note, between) in [
        ("\n", "}", "\n"),
        (" ", string, "\n"),
        ("\n ", string, "\n"),
        (" ", "\n\n\n}", "\n"),
        ("\n", ", :note\n{:type :bad}\n}", "\n"),
        // A form ends, another begins on the same line, and the next line is inside it.
        (" ", ", :note\n{:type :bad} :more\n[5]}", " "),
    ] {
        let text = long_history(40_000, separator, note, between);
        assert!(text.len() > 2 << 20);
        assert_eq!(notation_of(&text), expected, "{separator:?} {note:?}");
        assert_eq!(notation_of(&format!("[{text}]")), expected, "[..] {separator:?} {note:?}");
    }
}

/// Forms longer than a block, and positions after them.
#[test]
fn forms_longer_than_a_block() {
    let long = format!("{{:type :ok :process 0 :value [[:r 1 [\n{}\n]]]}}\n", "12345\n".repeat(1 << 20));
    let text = format!("{long}{PAIR}{long}{{:type :bad}}\n{long}");
    let failure = failure(&text);
    let line = 2 * ((1 << 20) + 3) + 2 + 1;
    assert!(failure.starts_with(&format!("t:{line}:8: unexpected `:bad`")), "{failure}");
    let history = reading(text.replace("{:type :bad}", "")).history;
    assert_eq!(
        (history.txn_count(), history.table().elements(history.op(isoscope_history::Op(0)).value).len()),
        (4, 1 << 20)
    );
}

/// A discarded form that begins several blocks later. Forms that end in between do not end it.
#[test]
fn a_discard_may_be_far_from_its_form() {
    let comments = ";{\n".repeat(3 << 20);
    assert_eq!(notation_of(&format!("#_{comments} {{:type :bad}}\n{PAIR}")), notation_of(PAIR));
    assert_eq!(
        notation_of(&format!("#_ #_ [1]\n{comments} {{:type :bad}}\n{comments}{PAIR}")),
        notation_of(PAIR)
    );
    assert!(failure(format!("{PAIR}#_{comments}")).starts_with("t:3:1: the input ends inside the form"));
}

/// Every operation's position points at the operation.
#[test]
fn positions_point_at_the_operation() {
    let text = long_history(40_000, "\n", "}", "\n");
    let history = reading(&text).history;
    for txn in history.txns() {
        for op in history.ops_of(txn) {
            let at = history.op_position(op.id).unwrap().0 as usize;
            let name = if op.kind == OpKind::Append { "[:append\n" } else { "[:r\n" };
            assert!(text[at..].starts_with(name), "{:?}", &text[at..at + 20]);
            if let Some(value) = op.value.as_small() {
                assert!(text[at..].lines().nth(2).unwrap().starts_with(&value.to_string()));
            }
        }
        assert_eq!(text.as_bytes()[history.txn_position(txn).unwrap().0 as usize], b'{');
    }
}

#[test]
fn the_format_is_recognised() {
    for text in [
        PAIR,
        "{ :type :ok :value []}",
        "[{:type :ok :value []}]",
        "[\n {:type :ok :value []}]",
        "({:type :ok :value []})",
        "#jepsen.history.Op{:type :ok :value []}",
        "#other.tag{:type :ok :value []}",
        "; comment\n;; another\n{:type :ok :value []}",
        "#_ foo {:type :ok :value []}",
        "\u{feff}  {:type :ok :value []}",
    ] {
        assert_eq!(detected(text), Some(Format::Edn), "{text}");
    }
    for text in [
        "{\"type\":\"ok\",\"value\":[]}",
        "[x:=1 y==2]",
        "{\"params\":{}}",
        "[[{\"events\":[]}]]",
        "{\"value\":[[\"r\",1,2,true]]}",
        "{\"isoscope\":1}",
        "# note\nT1: w(x,1)",
        "w(1,1,1,1)",
        "#{:a}",
        "[1 2]",
        "{}",
    ] {
        assert_ne!(detected(text), Some(Format::Edn), "{text}");
    }
}

#[test]
fn the_shared_corpus_is_read() {
    let Some(corpus) = support::shared_corpus() else { return };
    for file in std::fs::read_dir(corpus.join("jepsen")).unwrap() {
        let path = file.unwrap().path();
        let format =
            if path.extension().is_some_and(|e| e == "edn") { Format::Edn } else { Format::ElleJson };
        let reading = isoscope_formats::read(&Input::Path(path.clone()), &ReadOptions::default());
        let reading = reading.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(reading.format, format, "{}", path.display());
        assert!(reading.history.txn_count() > 0 && reading.history.events().is_some());
        let lists = !path.to_string_lossy().contains("rw-register");
        assert_eq!(reading.history.has_lists(), lists, "{}", path.display());
    }
}

/// The part of a history that EDN can express: everything except the reads of transactions that did not
/// commit. Sessions are identified by name, real-time order by the order of events.
fn expressible(history: &History) -> String {
    let mut events: Vec<u32> = Vec::new();
    if let Some(columns) = history.events() {
        events.extend(columns.start.iter().chain(&columns.end));
    }
    events.sort_unstable();
    let rank = |event: u32| match event {
        NO_EVENT => "-".to_owned(),
        event => events.partition_point(|&e| e < event).to_string(),
    };
    let mut sessions: Vec<_> = history.sessions().collect();
    sessions.sort_by_key(|&session| history.session_name(session));
    let mut out = String::new();
    for session in sessions {
        let _ = write!(out, "\n{}:", ValueText(history, history.session_name(session)));
        for txn in history.txns_of(session) {
            let outcome = history.outcome(txn);
            let _ = write!(out, " {outcome:?}");
            if let Some(columns) = history.events() {
                let _ =
                    write!(out, "@{}-{}", rank(columns.start[txn.index()]), rank(columns.end[txn.index()]));
            }
            for op in history.ops_of(txn) {
                let key = ValueText(history, history.key_name(op.key));
                if op.kind.is_read() && outcome != Outcome::Committed {
                    let _ = write!(out, " r({key},?)");
                } else if !history.has_lists() && history.is_initial(op.key, op.value) {
                    let _ = write!(out, " {}({key},initial)", op.kind.name());
                } else {
                    let _ = write!(out, " {}", OpText(history, op.id));
                }
            }
        }
    }
    out
}

fn again(history: &History) -> History {
    reading(written(history, Format::Edn).0).history
}

proptest! {
    #[test]
    fn written_histories_read_back(
        history in (any::<[bool; 5]>()).prop_flat_map(|[lists, rich_names, aborted, unknown, events]| {
            histories(Flavour { lists, rich_names, aborted, unknown, events, ..PLAIN })
        })
    ) {
        prop_assert_eq!(expressible(&again(&history)), expressible(&history));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = support::try_reading(Format::Edn, bytes);
    }

    #[test]
    fn arbitrary_tokens_do_not_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", "(", ")", ":type", ":ok", ":invoke", ":fail", ":value", ":r", ":w", ":append", ":rp", ":true", ":insert", ":delete", ":f", ":init", "#{", " ", "\n", "1",
        "nil", "\"", "\\", ";", "#_", "#", "#a", "##Inf", ":process", "0", ",", "{:type :ok :value [[:r 1 nil]]}",
    ]), 0..60)) {
        let _ = support::try_reading(Format::Edn, tokens.concat());
        let _ = support::try_reading(Format::ElleJson, tokens.concat());
    }
}

#[test]
fn histories_read_from_edn_are_written_without_loss() {
    let text = "{:type :invoke, :f :txn, :value [[:append :k 7] [:r \"a b\" nil]], :process 4, :time 5, :index 0}
{:type :invoke, :f :txn, :value [[:append :k 8]], :process 2, :time 6, :index 1}
{:type :fail, :f :txn, :value [[:append :k 8]], :process 2, :time 7, :index 2}
{:type :ok, :f :txn, :value [[:append :k 7] [:r \"a b\" [3 -4 18446744073709551615N]]], :process 4, :time 9, :index 3}
{:type :invoke, :f :txn, :value [[:append :k 9]], :process 4, :time 11, :index 4}
{:type :info, :f :txn, :value [[:append :k 9]], :process 4, :index 5}
{:type :ok, :f :txn, :value [[:r :k []]], :process 7, :time 12, :index 6}
";
    let (bytes, losses) = written(&reading(text).history, Format::Edn);
    let bytes = String::from_utf8(bytes).unwrap();
    // A completion without an invocation may be anywhere in its session.
    let mut lines: Vec<&str> = bytes.lines().collect();
    assert!(lines.remove(0).starts_with("{:type :ok, :f :txn, :value [[:r :k []]], :process 7, :time 12"));
    for (line, expected) in lines.into_iter().zip(text.lines()) {
        let strip = |line: &str| line.split(", :index").next().unwrap().to_owned();
        assert_eq!(strip(line), strip(expected));
    }
    let losses: Vec<_> = losses.iter().collect();
    assert_eq!(losses, [("transaction names replaced by numbers", Some(4))]);
}

#[test]
fn no_real_time_order_is_invented() {
    let history = notation::parse("T1: w(x,1) ; T2: r(x,1)  T3!: w(x,2)  T4?: w(x,3)").unwrap();
    let (bytes, _) = written(&history, Format::Edn);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "{:type :ok, :f :txn, :value [[:w \"x\" 1]], :process 1, :index 0}
{:type :ok, :f :txn, :value [[:r \"x\" 1]], :process 1, :index 1}
{:type :fail, :f :txn, :value [[:w \"x\" 2]], :process 3, :index 2}
{:type :info, :f :txn, :value [[:w \"x\" 3]], :process 4, :index 3}\n"
    );
    assert!(again(&history).events().is_none());
}

#[test]
fn times_order_the_lines_where_events_are_missing() {
    let mut b = isoscope_history::Builder::new();
    b.session(0).txn().write(1, 1).times(10, 20);
    b.session(0).txn().write(1, 2).times(20, 40);
    b.session(1).txn().write(1, 3).times(20, 30);
    let read = again(&b.finish());
    // The transaction of session 1 began when the first of session 0 ended, so they are concurrent.
    assert_eq!(notation::print(&read), "init=nil  T0@0-2: w(1,1) ; T3@3-5: w(1,2)  T1@1-4: w(1,3)");
    assert_eq!(read.times().unwrap().end, [20, 40, 30]);
}

#[test]
fn losses_are_reported() {
    let losses = |text: &str| -> Vec<(&'static str, Option<u64>)> {
        written(&notation::parse(text).unwrap(), Format::Edn).1.iter().collect()
    };
    let names = ("session names replaced by numbers", Some(1));
    let initial = ("initial values written as nil", Some(1));
    let txns = ("transaction names replaced by numbers", Some(1));
    assert!(losses("T1: r(x,0)").contains(&initial));
    assert!(losses("T1: r(x,0)").contains(&txns));
    assert!(
        losses("T1!: r(x,1)")
            .contains(&("results of reads of aborted and unknown transactions dropped", Some(1)))
    );
    assert!(losses("T1: r(x,?)").contains(&("reads without a result dropped", Some(1))));
    assert!(!losses("init=nil  T1?: r(x,?)").iter().any(|(what, _)| what.contains("read")));
    let overlap = "overlapping transactions of one session written one after the other";
    assert!(losses("T1@0-5: w(x,1) ; T2@3-7: w(x,2)").contains(&(overlap, Some(1))));
    let mut b = isoscope_history::Builder::new();
    b.session("alice").txn().write(1, 1);
    assert!(written(&b.finish(), Format::Edn).1.iter().any(|loss| loss == names));
}

#[test]
fn inexpressible_histories_are_rejected() {
    for text in [
        "T1: i(x,[1])",
        "T1: d(x,4)  T2: r(x,4)",
        "T1: range(a,b,{}) r(c,0)",
        "T1: range(a,b,{},{a=1})",
        "init=[1]  T1: d(x)",
        "init(x)=[1]  T1: w(x,2)",
        "T1: w(x,nil)",
        "T1: w(x,[1])",
        "T1: w(x,?)",
    ] {
        let history = notation::parse(text).unwrap();
        let error = isoscope_formats::write(&history, Format::Edn, Target::Stream(&mut Vec::new()));
        assert!(matches!(error, Err(WriteError::Inexpressible { format: "edn", .. })), "{text}");
    }
}

/// A write of the initial value stays ambiguous.
#[test]
fn a_written_initial_value_stays_initial() {
    let history = notation::parse("T1: w(x,0)  T2: r(x,0)").unwrap();
    assert_eq!(
        notation_of(std::str::from_utf8(&written(&history, Format::Edn).0).unwrap()),
        "init=nil  T0: w(x,nil)  T1: r(x,nil)"
    );
    assert_eq!(Value::NIL, again(&history).default_initial());
}

#[test]
fn damaged_files_do_not_panic() {
    survives_damage(Format::Edn, PAIR.as_bytes());
    survives_damage(
        Format::Edn,
        b"; c\n[#t{:type :invoke :process 1 :value ([:w \"a\\n\" nil])} #_ x\n{:type :info :process :n}]",
    );
    for seed in ["seeds/edn/wild.edn", "seeds/edn/register.edn", "seeds/edn/rows.edn"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(seed);
        survives_damage(Format::Edn, &std::fs::read(path).unwrap());
    }
}
