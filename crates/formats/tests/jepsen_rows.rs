//! Tests of Jepsen histories beyond registers and lists with scalar keys: composite keys, reads without a
//! value, and the rows of Elle's closed-predicate histories, in EDN and in JSON.

mod support;

use isoscope_formats::{Format, Target, WriteError, write};
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Txn, notation};
use proptest::prelude::*;
use support::{content, notation_of, reading, written};

fn edn(text: &str) -> String {
    notation_of(Format::Edn, text)
}

fn json(text: &str) -> String {
    notation_of(Format::ElleJson, text)
}

fn warnings(format: Format, text: &str) -> Vec<String> {
    reading(format, text).warnings.iter().map(ToString::to_string).collect()
}

/// An invocation and its completion, so that there is no warning about real-time order.
fn pair(value: &str) -> String {
    format!("{{:type :invoke :process 0 :value []}}\n{{:type :ok :process 0 :value {value}}}\n")
}

#[test]
fn a_read_without_a_value_is_unknown() {
    let text = "{:type :invoke :process 0 :value [[:r :x] [:append :y 1]]}
{:type :ok :process 0 :value [[:r :x] [:append :y 1] [:append :x 2]]}";
    assert_eq!(edn(text), "init=nil  T0@0-1: rl(:x,?) a(:y,1) a(:x,2)");
    assert_eq!(edn(&pair("[[:r :x] [:w :x 1]]")), "init=nil  T0@0-1: r(:x,?) w(:x,1)");
    let info = "{:type :invoke :process 0 :value [[:r :x]]}\n{:type :info :process 0 :value [[:r :x]]}";
    assert_eq!(edn(info), "init=nil  T0?@0-: r(:x,?)");
    assert_eq!(
        json(r#"{"type":"ok","process":0,"value":[["r","x"],["w","x",1]]}"#),
        "init=nil  T0: r(x,?) w(x,1)"
    );
}

#[test]
fn a_key_is_any_datum() {
    let text =
        pair("[[:w [1 :a] 1] [:r (1 :a) 1] [:w {:b 2, :a [nil \"q\"]} 3] [:r {:a [nil \"q\"] :b 2N} 3]]");
    let vector = r#":"[1 :a]""#;
    let map = r#":"{:a [nil \"q\"], :b 2}""#;
    assert_eq!(edn(&text), format!("init=nil  T0@0-1: w({vector},1) r({vector},1) w({map},3) r({map},3)"));
    assert_eq!(
        edn(&pair("[[:append #{3 1 2} 1] [:append #{2 3 1} 2] [:append [] 3] [:append {} 4]]")),
        "init=nil  T0@0-1: a(:\"#{1 2 3}\",1) a(:\"#{1 2 3}\",2) a(:\"[]\",3) a(:\"{}\",4)"
    );
    let text = r#"{"type":"ok","process":0,"value":[["w",[1, "a"],1],["r",{"b":[2],"a":1},2],["r",{"a": 1, "b":[2]},2]]}"#;
    let map = r#":"{\"a\":1,\"b\":[2]}""#;
    assert_eq!(json(text), format!("init=nil  T0: w(:\"[1,\\\"a\\\"]\",1) r({map},2) r({map},2)"));
    let deep = pair(&format!("[[:w {}1{} 1]]", "[".repeat(100), "]".repeat(100)));
    assert!(edn(&deep).contains("[[[["));
    let deeper = pair(&format!("[[:w {}1{} 1]]", "[".repeat(200), "]".repeat(200)));
    assert!(support::failure(Format::Edn, deeper).contains("nested at most 128 deep"));
}

#[test]
fn a_key_with_brackets_is_written_as_it_was() {
    let text = pair("[[:w [1 :a] 1] [:w {:a 1, :b #{1 2}} 2]]");
    let history = reading(Format::Edn, &text).history;
    let (bytes, losses) = written(&history, Format::Edn);
    let again = String::from_utf8(bytes).unwrap();
    assert!(again.contains("[[:w [1 :a] 1] [:w {:a 1, :b #{1 2}} 2]]"), "{again}");
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(edn(&again), notation::print(&history));
    let (bytes, losses) = written(&history, Format::ElleJson);
    assert!(String::from_utf8(bytes).unwrap().contains(r#"["w","[1 :a]",1]"#));
    assert_eq!(losses.iter().next(), Some(("keywords written as strings", Some(2))));

    let text =
        r#"{"type":"ok","f":"txn","value":[["w",[1,"a"],1],["r",{"a":1},null]],"process":0,"index":0}"#;
    let (bytes, losses) = written(&reading(Format::ElleJson, text).history, Format::ElleJson);
    assert_eq!(String::from_utf8(bytes).unwrap().trim_end(), text);
    assert!(losses.is_empty(), "{losses:?}");
}

/// The forms of Elle's closed-predicate histories.
const ROWS: &str = "{:type :invoke :process 0 :f :init :value {:x 0, :y 0}}
{:type :ok :process 0 :f :init :value {:x 0, :y 0}}
{:type :invoke :process 0 :f :txn :value [[:delete :x] [:rp :true nil]]}
{:type :ok :process 0 :f :txn :value [[:delete :x] [:rp :true {}]]}
{:type :invoke :process 1 :f :txn :value [[:insert :z 2] [:rp :true nil] [:r :x nil]]}
{:type :ok :process 1 :f :txn :value [[:insert :z 2] [:rp :true {:y 0, :z 2}] [:r :x nil]]}
";

#[test]
fn rows_are_inserted_deleted_and_read() {
    assert_eq!(
        edn(ROWS),
        "init=nil  init(:x)=0  init(:y)=0  T2@2-3: d(:x) range(:x,:z,{})  \
         T4@4-5: i(:z,2) range(:x,:z,{:y=0 :z=2}) r(:x,nil)"
    );
    assert_eq!(
        warnings(Format::Edn, ROWS),
        ["t:2:39: 2 writes of the first transaction taken as the initial state, not as a transaction"]
    );
    let text = r#"{"type":"ok","process":0,"value":[["insert",10,1],["delete",2],["rp","true",{"10":1,"3":4}],["rp",true,[[9,5]]]]}"#;
    assert_eq!(json(text), "init=nil  T0: i(10,1) d(2) range(2,10,{10=1 3=4}) range(2,10,{9=5})");
}

#[test]
fn results_of_transactions_that_did_not_commit_are_unknown() {
    let text =
        "{:type :invoke :process 0 :value [[:rp :true nil] [:rp [:= 1] nil] [:insert :x 1] [:delete :y]]}
{:type :info :process 0 :value [[:rp :true {:x 5}] [:rp [:= 1] {:x 1}] [:insert :x 1] [:delete :y]]}";
    assert_eq!(edn(text), "init=nil  T0?@0-: i(:x,1) d(:y)");
    assert!(warnings(Format::Edn, text).is_empty());
}

/// The model cannot express the predicate, so the rows are reads and a warning says that the rest is not
/// checked.
#[test]
fn another_predicate_is_checked_by_its_rows() {
    let text = pair("[[:rp [:= 1] {:x 1, :y 1}] [:rp [:mod 2 0] {}] [:w :x 2]]");
    assert_eq!(edn(&text), "init=nil  T0@0-1: r(:x,1) r(:y,1) w(:x,2)");
    let expected = "t:2:31: 2 reads by predicate checked for the returned rows only; the absence of other rows is not checked";
    assert_eq!(warnings(Format::Edn, &text), [expected]);
}

/// A range has a lowest and a highest key.
#[test]
fn keys_without_an_order_have_no_range() {
    let text = pair("[[:rp :true {:x 1}] [:w 5 2] [:w :x 3]]");
    assert_eq!(edn(&text), "init=nil  T0@0-1: r(:x,1) w(5,2) w(:x,3)");
    assert!(
        warnings(Format::Edn, &text)[0]
            .starts_with("t:2:31: 1 read by predicate checked for the returned rows")
    );
}

/// Only values that certainly precede all other transactions are an initial state.
#[test]
fn an_init_that_does_not_end_first_is_a_transaction() {
    let init = |kind: &str, first: &str, between: &str| {
        format!(
            "{first}{{:type :invoke :process 0 :f :init :value {{:x 1}}}}\n{between}{{:type :{kind} :process 0 :f :init :value {{:x 1}}}}\n"
        )
    };
    let other = "{:type :invoke :process 1 :value [[:w :x 2]]}\n{:type :ok :process 1 :value [[:w :x 2]]}\n";
    assert_eq!(edn(&format!("{}{other}", init("ok", "", ""))), "init=nil  init(:x)=1  T2@2-3: w(:x,2)");
    assert_eq!(edn(&init("ok", other, "")), "init=nil  T0@0-1: w(:x,2)  T2@2-3: i(:x,1)");
    assert_eq!(edn(&init("ok", "", other)), "init=nil  T0@0-3: i(:x,1)  T1@1-2: w(:x,2)");
    assert_eq!(edn(&init("info", "", "")), "init=nil  T0?@0-: i(:x,1)");
    assert_eq!(edn(&init("fail", "", "")), "init=nil  T0!@0-1: i(:x,1)");
    let nemesis = "{:type :info :process :nemesis :f :start}\n";
    assert_eq!(edn(&init("ok", nemesis, nemesis)).trim_end(), "init=nil  init(:x)=1");
    let txn = "{:type :ok :process 0 :f :init :value [[:w :x 1] [:r :y nil]]}";
    assert_eq!(edn(txn), "init=nil  T0: w(:x,1) r(:y,nil)");
}

/// Pieces of the text are scanned separately and merged.
#[test]
fn rows_may_be_in_any_block() {
    let mut text = ROWS.to_owned();
    let filler = format!("{{:type :info :process :nemesis :note \"{}\"}}\n", "x".repeat(100_000));
    for i in 0..40 {
        text.push_str(&filler);
        text.push_str(&format!(
            "{{:type :ok :process 7 :value [[:insert :k{i:02} {i}] [:rp :true {{:x {i}}}]]}}\n"
        ));
    }
    let history = reading(Format::Edn, &text).history;
    let ranges = history.txns().flat_map(|txn| history.ops_of(txn)).filter_map(|op| history.range(op.id));
    let found: Vec<String> =
        ranges.map(|row| format!("{:?}-{:?}", history.datum(row.low), history.datum(row.high))).collect();
    assert_eq!(found.len(), 42);
    assert!(found.iter().all(|bounds| bounds == "Keyword(\"k00\")-Keyword(\"z\")"), "{found:?}");
    assert!(notation::print(&history).contains("i(:k39,39) range(:k00,:z,{:x=39})"));
}

/// A history with rows is the same after writing and reading, including its initial values.
#[test]
fn rows_are_written_and_read_back() {
    let history = reading(Format::Edn, ROWS).history;
    for format in [Format::Edn, Format::ElleJson] {
        let (bytes, _) = written(&history, format);
        let again = reading(format, &bytes).history;
        let names = |text: String| {
            text.replace([':', '\n'], "").replace("T1@1-2", "T2@2-3").replace("T3@3-4", "T4@4-5")
        };
        let strip = |text: &str| names(text.to_owned());
        assert_eq!(strip(&notation::print(&again)), strip(&notation::print(&history)));
    }
    let text = "T1: i(x,1) range(x,y,{x=1 y=0})  T2: d(y) r(y,nil) w(x,0)";
    let history = notation::parse(text).unwrap();
    let (bytes, _) = written(&history, Format::Edn);
    let bytes = String::from_utf8(bytes).unwrap();
    assert_eq!(
        bytes,
        "{:type :ok, :f :init, :value {\"x\" 0, \"y\" 0}, :process 3, :index 0}
{:type :ok, :f :txn, :value [[:insert \"x\" 1] [:rp :true {\"x\" 1, \"y\" 0}]], :process 1, :index 1}
{:type :ok, :f :txn, :value [[:delete \"y\"] [:r \"y\" nil] [:w \"x\" 0]], :process 2, :index 2}\n"
    );
    let again = edn(&bytes);
    assert_eq!(again, format!("init=nil  init(x)=0  init(y)=0  {text}"));
    let (bytes, _) = written(&history, Format::ElleJson);
    let bytes = String::from_utf8(bytes).unwrap();
    assert!(bytes.starts_with(r#"{"type":"ok","f":"init","value":[["x",0],["y",0]],"process":3,"index":0}"#));
    assert_eq!(json(&bytes), again);
}

/// These formats have no initial elements of lists, so the first operation has them.
#[test]
fn lists_that_begin_with_elements_are_written_and_read_back() {
    let text = "init(x)=[9]  init(y)=[7 8]  T1: r(x,[9]) a(x,1)  T2: rl(y,nil) w(z,2) r(z,0) r(u,[])";
    let history = notation::parse(text).unwrap();
    let (bytes, losses) = written(&history, Format::Edn);
    let losses: Vec<_> = losses.iter().collect();
    assert_eq!(losses, [("the initial elements of lists, except to isoscope", Some(2))]);
    let first = r#"{:type :ok, :f :init, :value {"x" [9], "y" [7 8], "z" 0}, :process 3, :index 0}"#;
    assert_eq!(std::str::from_utf8(&bytes).unwrap().lines().next(), Some(first));
    let again = "init=nil  init(x)=[9]  init(y)=[7 8]  init(z)=0  T1: r(x,[9]) a(x,1)  T2: r(y,[]) w(z,2) r(z,0) r(u,[])";
    assert_eq!(edn(&String::from_utf8(bytes).unwrap()), again);
    let bytes = written(&history, Format::ElleJson).0;
    let first = r#"{"type":"ok","f":"init","value":[["x",[9]],["y",[7,8]],["z",0]],"process":3,"index":0}"#;
    assert_eq!(std::str::from_utf8(&bytes).unwrap().lines().next(), Some(first));
    assert_eq!(json(&String::from_utf8(bytes).unwrap()), again);
    // A list that transactions only read as nil is a list by its first elements.
    assert_eq!(
        edn(
            "{:type :ok :process 0 :f :init :value {:x [9] :y 0}}\n{:type :ok :process 0 :value [[:r :x nil] [:r :y nil]]}"
        ),
        "init=nil  init(:x)=[9]  init(:y)=0  T1: r(:x,[]) r(:y,nil)"
    );
}

/// Formats without tombstones would make a tombstone a value that every read of the deleted key misses.
#[test]
fn tombstones_that_no_read_names_are_not_written() {
    let history = notation::parse("T1: w(x,1) ; T2: d(x,7) ; T3: r(x,nil)").unwrap();
    for format in [Format::Edn, Format::ElleJson, Format::Plume, Format::DbcopJson, Format::DbcopHist] {
        let (bytes, losses) = written(&history, format);
        assert!(losses.iter().any(|loss| loss == ("tombstones that no read names", Some(1))), "{losses:?}");
        let again = reading(format, &bytes).history;
        let values: Vec<_> = again.txns().flat_map(|txn| again.ops_of(txn)).map(|op| op.value).collect();
        assert_eq!(values.len(), 3, "{format:?}");
        assert_eq!(values[1], values[2], "{format:?}");
    }
    assert!(written(&history, Format::Native).1.is_empty());
}

/// A bound of a range is no key, and a key that only rows have begins like the others.
#[test]
fn initial_values_are_those_of_keys() {
    let text = "T1: i(c,1) range(a,z,{c=1 d=0})";
    let (bytes, _) = written(&notation::parse(text).unwrap(), Format::Edn);
    let first = r#"{:type :ok, :f :init, :value {"c" 0, "d" 0}, :process 2, :index 0}"#;
    assert_eq!(std::str::from_utf8(&bytes).unwrap().lines().next(), Some(first));
    let error = write(
        &notation::parse("init=nil  T1: i(c,1) range(a,c,{c=1})  T2: range(a,z,{d=1})").unwrap(),
        Format::Edn,
        Target::Stream(&mut Vec::new()),
    );
    assert!(matches!(error, Err(WriteError::Inexpressible { what: "range reads of some keys", .. })));
}

#[test]
fn the_completions_index_and_another_f_are_kept() {
    let text = "{:type :invoke :process 0 :index 3 :f :transfer :value [[:w :x 1]]}
{:type :ok :process 0 :index 8 :f :transfer :value [[:w :x 1]]}
{:type :ok :process 1 :index 9 :f :txn :value [[:r :x 1]]}";
    let history = reading(Format::Edn, text).history;
    let completion = |txn| history.completion_name(Txn(txn)).map(|name| history.datum(name));
    assert_eq!((completion(0), completion(1)), (Some(Datum::Int(8)), None));
    assert_eq!(history.datum(history.txn_name(Txn(1))), Datum::Int(9));
    let notes =
        history.annotations().iter().map(|note| (history.datum(note.name), history.datum(note.value)));
    assert_eq!(notes.collect::<Vec<_>>(), [(Datum::Text("f"), Datum::Text(":transfer"))]);
}

/// Operations on the keys a to c; every transaction reads a and c, so that the range is the same before and after.
fn row_operation() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let rows = prop::sample::subsequence(vec!["a=1", "b=2", "c=3"], 0..=3);
    prop_oneof![
        (key(), 0..4u8).prop_map(|(key, value)| format!("i({key},{value})")),
        key().prop_map(|key| format!("d({key})")),
        key().prop_map(|key| format!("r({key},nil)")),
        (key(), 0..4u8).prop_map(|(key, value)| format!("r({key},{value})")),
        (key(), 0..4u8).prop_map(|(key, value)| format!("w({key},{value})")),
        rows.prop_map(|rows| format!("range(a,c,{{{}}})", rows.join(" "))),
    ]
}

fn initial_values(history: &History) -> Vec<String> {
    let keys = history.keys().map(|key| (history.key_name(key), history.initial(key)));
    let mut texts: Vec<String> = keys
        .map(|(key, value)| format!("{}={}", ValueText(history, key), ValueText(history, value)))
        .collect();
    texts.sort();
    texts
}

proptest! {
    #[test]
    fn any_rows_are_written_and_read_back(
        txns in prop::collection::vec(prop::collection::vec(row_operation(), 1..5), 1..6),
        initial in prop::sample::select(vec!["", "init=nil  "]),
    ) {
        let mut text = initial.to_owned();
        for (i, ops) in txns.iter().enumerate() {
            // One operation always makes it a history with rows.
            text.push_str(&format!("T{i}: r(a,1) r(c,1) d(b) {}  ", ops.join(" ")));
        }
        let history = notation::parse(&text).unwrap();
        for format in [Format::Edn, Format::ElleJson] {
            let again = reading(format, written(&history, format).0).history;
            prop_assert_eq!(content(&again), content(&history));
            prop_assert_eq!(initial_values(&again), initial_values(&history));
        }
    }
}
