//! `check --format elle` compared with Elle's own tests and documentation on the same histories: names,
//! shapes, models.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use isoscope_levels::{Anomaly, Level};
use support::isoscope;
use tempfile::TempDir;

/// The result map of a history.
fn map(name: &str, history: &str) -> String {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join(name), history).unwrap();
    let run = isoscope(directory.path(), &format!("-q check --certify --format elle {name}"));
    assert!(run.err.is_empty(), "{}", run.err);
    run.out
}

fn edn(history: &str) -> String {
    map("h.edn", history)
}

/// A set of models of a map.
fn models(map: &str, name: &str) -> BTreeSet<String> {
    let (_, rest) = map.split_once(&format!(", :{name} #{{")).unwrap();
    let (set, _) = rest.split_once('}').unwrap();
    set.split_whitespace().map(|model| model.trim_start_matches(':').to_owned()).collect()
}

fn assert_not(map: &str, not: &str) {
    let expected: BTreeSet<String> = not.split_whitespace().map(str::to_owned).collect();
    assert_eq!(models(map, "not"), expected, "{map}");
}

/// Asserts that models are among the weakest violated ones, and that others are not violated.
fn assert_among(map: &str, weakest: &str, not_violated: &str) {
    let not = models(map, "not");
    assert!(weakest.split_whitespace().all(|model| not.contains(model)), "{weakest}\n{map}");
    let violated = &not | &models(map, "also-not");
    assert!(!not_violated.split_whitespace().any(|model| violated.contains(model)), "{not_violated}\n{map}");
}

fn assert_has(map: &str, part: &str) {
    assert!(map.contains(part), "{part}\n{map}");
}

/// Committed transactions, each in its own session and with only its completion.
fn committed(values: &[&str]) -> String {
    let mut text = String::new();
    for (process, value) in values.iter().enumerate() {
        let _ = writeln!(text, "{{:type :ok, :process {process}, :f :txn, :value {value}}}");
    }
    text
}

#[test]
fn a_write_cycle_has_two_ww_steps() {
    let text = committed(&[
        "[[:append :x 1] [:append :y 1]]",
        "[[:append :x 2] [:append :y 2]]",
        "[[:r :x [1 2]] [:r :y [2 1]]]",
    ]);
    let map = edn(&text);
    assert_has(&map, "{:type :ww, :key :x, :value 1, :value' 2, :a-mop-index 0, :b-mop-index 0}");
    assert_has(&map, "{:type :ww, :key :y, :value 2, :value' 1, :a-mop-index 1, :b-mop-index 1}");
    assert_has(&map, ":type :G0,");
    assert_not(&map, "read-uncommitted");
}

/// One verdict lists no model that lets ranges change, and none that forbids only some forms of the anomaly.
#[test]
fn one_verdict_lists_only_violated_models() {
    let directory = TempDir::new().unwrap();
    for (history, level, holding) in [
        ("init=nil  T1: i(3,1) i(12,1)  T2: r(12,1) range(1,9,{})", "read-atomic", "adya-pl-2.99"),
        ("init=nil  T1: i(3,1)  T2: range(1,9,{}) range(1,9,{3=1})", "read-atomic", "adya-pl-2.99"),
        ("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)", "snapshot-isolation", "monotonic-view"),
    ] {
        fs::write(directory.path().join("h.txt"), history).unwrap();
        let run = isoscope(directory.path(), &format!("-q check --certify -l {holding} h.txt"));
        assert!(run.out.contains("holds"), "{}{}", run.out, run.err);
        let run = isoscope(directory.path(), &format!("-q check --certify --format elle -l {level} h.txt"));
        let model = if holding == "adya-pl-2.99" { "repeatable-read" } else { holding };
        assert_among(&run.out, "", model);
        assert_has(&run.out, ":serializable");
    }
}

#[test]
fn circular_information_flow_has_a_wr_and_a_ww_step() {
    let text =
        committed(&["[[:append :x 1] [:r :y [1]]]", "[[:append :x 2] [:append :y 1]]", "[[:r :x [1 2]]]"]);
    let map = edn(&text);
    assert_has(&map, ":anomaly-types (:G1c), ");
    assert_has(&map, "{:type :wr, :key :y, :value 1, :a-mop-index 1, :b-mop-index 1}");
    assert_has(&map, "{:type :ww, :key :x, :value 1, :value' 2, :a-mop-index 0, :b-mop-index 0}");
    assert_not(&map, "read-committed");
}

#[test]
fn an_aborted_read_has_its_writer_and_its_element() {
    let read = "{:index 7, :time 30, :type :ok, :process 1, :f :txn, :value [[:r :x [1]]], :txn 6}";
    let writer = "{:index 5, :time 20, :type :fail, :process 0, :f :txn, :value [[:append :x 1]], :txn 4}";
    let text = "{:index 4, :time 10, :type :invoke, :process 0, :f :txn, :value [[:append :x 1]]}
{:index 5, :time 20, :type :fail, :process 0, :f :txn, :value [[:append :x 1]]}
{:index 6, :time 25, :type :invoke, :process 1, :f :txn, :value [[:r :x]]}
{:index 7, :time 30, :type :ok, :process 1, :f :txn, :value [[:r :x [1]]]}";
    let map = edn(text);
    let expected =
        format!(":anomalies {{:G1a [{{:op {read}, :mop [:r :x [1]], :writer {writer}, :element 1, ");
    assert_has(&map, &expected);
    assert_not(&map, "read-committed");
    let register = edn(&text.replace(":append", ":w").replace("[1]]", "1]"));
    assert_has(&register, ":mop [:r :x 1], :writer {:index 5, ");
    assert!(!register.contains(":element"), "{register}");
}

#[test]
fn a_committed_append_after_an_aborted_one_is_a_dirty_update() {
    let text = "{:type :fail, :process 0, :f :txn, :value [[:append :x 1]]}
{:type :info, :process 1, :f :txn, :value [[:append :x 2]]}
{:type :ok, :process 2, :f :txn, :value [[:append :x 3]]}
{:type :ok, :process 3, :f :txn, :value [[:r :x [1 2 3]]]}";
    let aborted = "{:index 0, :type :fail, :process 0, :f :txn, :value [[:append :x 1]]}";
    let committed = "{:index 2, :type :ok, :process 2, :f :txn, :value [[:append :x 3]]}";
    let warned = TempDir::new().unwrap();
    fs::write(warned.path().join("h.edn"), text).unwrap();
    let map = isoscope(warned.path(), "-q check --format elle h.edn").out;
    assert_has(&map, ":anomaly-types (:G1a :dirty-update)");
    let expected = format!(":dirty-update [{{:key :x, :values [1 2 3], :txns [{aborted} ... {committed}]}}]");
    assert_has(&map, &expected);
    let alone = text.replace("{:type :ok, :process 2", "{:type :info, :process 2");
    assert!(!edn(&alone).contains(":dirty-update"));
}

#[test]
fn internal_reads_show_the_expected_value() {
    for (value, mop, expected) in [
        ("[[:append :x 3] [:r :x [1 2 3 4]]]", "[:r :x [1 2 3 4]]", "[... 3]"),
        ("[[:append :x 3] [:r :x []]]", "[:r :x []]", "[... 3]"),
        ("[[:r :x [1 2]] [:append :x 3] [:r :x [1 2]]]", "[:r :x [1 2]]", "[1 2 3]"),
        ("[[:w :x 3] [:r :x 1]]", "[:r :x 1]", "3"),
        ("[[:r :x 1] [:r :x 2]]", "[:r :x 2]", "1"),
    ] {
        let others = if value.contains(":append") {
            ["[[:append :x 1]]", "[[:append :x 2]]", "[[:append :x 4]]"]
        } else {
            ["[[:w :x 1]]", "[[:w :x 2]]", "[[:w :x 4]]"]
        };
        let map = edn(&committed(&[value, others[0], others[1], others[2]]));
        let op = format!("{{:index 0, :type :ok, :process 0, :f :txn, :value {value}}}");
        assert_has(&map, &format!(":internal [{{:op {op}, :mop {mop}, :expected {expected}, "));
    }
}

#[test]
fn a_future_read_names_its_element() {
    let value = "[[:r :x [0 1]] [:append :x 1]]";
    let map = edn(&committed(&[value, "[[:append :x 0]]"]));
    let op = format!("{{:index 0, :type :ok, :process 0, :f :txn, :value {value}}}");
    assert_has(&map, &format!(":future-read [{{:op {op}, :mop [:r :x [0 1]], :element 1, "));
    assert_not(&map, "read-committed");
}

#[test]
fn impossible_lists_have_their_own_shapes() {
    let map = edn(&committed(&["[[:append :x 1]]", "[[:append :x 2]]", "[[:r :x [1 2]]]", "[[:r :x [2]]]"]));
    assert_has(&map, ":incompatible-order [{:key :x, :values [[2] [1 2]], ");
    let map = edn(&committed(&["[[:append :x 1]]", "[[:append :x 2]]", "[[:r :x [1 2 1]]]"]));
    assert_has(&map, ":mop [:r :x [1 2 1]], :duplicates {1 2}, ");
}

#[test]
fn one_lost_update_has_all_transactions_of_a_version() {
    let text =
        committed(&["[[:append :x 0]]", "[[:r :x [0]] [:append :x 1]]", "[[:r :x [0]] [:append :x 2]]"]);
    let map = edn(&text);
    let txn = |i: usize| {
        format!("{{:index {i}, :type :ok, :process {i}, :f :txn, :value [[:r :x [0]] [:append :x {i}]]}}")
    };
    assert_has(&map, &format!(":lost-update [{{:key :x, :value [0], :txns [{} {}]}}]", txn(1), txn(2)));
}

#[test]
fn an_anti_dependency_of_items_is_named_as_such() {
    let map = edn(&committed(&[
        "[[:append :x 1] [:append :y 1]]",
        "[[:append :x 2] [:r :y []]]",
        "[[:r :x [1 2]]]",
    ]));
    assert_has(&map, ":anomaly-types (:G-single-item), ");
    let init = ":value :elle.list-append/init, :value' 1";
    assert_has(&map, &format!("{{:type :rw, :key :y, {init}, :a-mop-index 1, :b-mop-index 1}}"));
    assert_among(&map, "monotonic-view repeatable-read update-atomic", "causal-cerone read-committed");
    let also_not = models(&map, "also-not");
    assert!(
        ["consistent-view", "forward-consistent-view"].iter().all(|&model| also_not.contains(model)),
        "{map}"
    );

    let map = edn(&committed(&["[[:append :x 1] [:r :y []]]", "[[:append :y 1] [:r :x []]]"]));
    assert_has(&map, ":anomaly-types (:G2-item), ");
    assert_among(&map, "repeatable-read", "snapshot-isolation consistent-view");

    let fork =
        ["[[:append :x 1]]", "[[:r :x [1]] [:r :y []]]", "[[:append :y 1]]", "[[:r :y [1]] [:r :x []]]"];
    let map = edn(&committed(&fork));
    assert_has(&map, ":G-nonadjacent-item [{");
    assert_among(&map, "prefix repeatable-read", "consistent-view parallel-snapshot-isolation");
    assert!(models(&map, "also-not").contains("snapshot-isolation"), "{map}");
}

/// Two appends, one after the other, and then a read that misses the second.
fn stale(process_of_second: u32, process_of_read: u32) -> String {
    format!(
        "{{:process 0, :index 0, :type :invoke, :value [[:append :x 1]]}}
{{:process 0, :index 1, :type :ok, :value [[:append :x 1]]}}
{{:process {process_of_second}, :index 2, :type :invoke, :value [[:append :x 2]]}}
{{:process {process_of_second}, :index 3, :type :ok, :value [[:append :x 2]]}}
{{:process {process_of_read}, :index 4, :type :invoke, :value [[:r :x nil]]}}
{{:process {process_of_read}, :index 5, :type :ok, :value [[:r :x [1]]]}}
{{:process 3, :index 6, :type :invoke, :value [[:r :x nil]]}}
{{:process 3, :index 7, :type :ok, :value [[:r :x [1 2]]]}}
"
    )
}

#[test]
fn session_order_and_real_time_are_steps() {
    let rw = "{:type :rw, :key :x, :value 1, :value' 2, :a-mop-index 0, :b-mop-index 0}";
    let clock = edn(&stale(1, 2));
    assert_has(&clock, ":anomaly-types (:G-single-item-realtime), ");
    let completion = "{:index 3, :type :ok, :process 1, :f :txn, :value [[:append :x 2]], :txn 2}";
    let invocation = "{:index 4, :type :invoke, :process 2, :f :txn, :value [[:r :x nil]]}";
    assert_has(&clock, &format!("({{:type :realtime, :a' {completion}, :b {invocation}}} {rw})"));
    assert_not(&clock, "strong-snapshot-isolation");
    assert_eq!(models(&clock, "also-not"), BTreeSet::from(["strong-serializable".to_owned()]));

    let session = edn(&stale(1, 1));
    assert_has(&session, ":G-single-item-process [{");
    assert_has(&session, &format!("({{:type :process, :process 1}} {rw})"));
    assert_not(&session, "strong-session-snapshot-isolation");
}

/// A cycle of reads that is closed only by session order.
const SESSION_FLOW: &str = "{:index 0, :type :invoke, :process 1, :f :txn, :value [[:r :x] [:append :y 1]]}
{:index 1, :type :ok, :process 1, :f :txn, :value [[:r :x [1]] [:append :y 1]]}
{:index 2, :type :invoke, :process 2, :f :txn, :value [[:r :y]]}
{:index 3, :type :ok, :process 2, :f :txn, :value [[:r :y [1]]]}
{:index 4, :type :invoke, :process 2, :f :txn, :value [[:append :x 1]]}
{:index 5, :type :ok, :process 2, :f :txn, :value [[:append :x 1]]}
";
/// Serializable without sessions. Only one case of the proof needs session order.
const SESSION_CASE: &str = "T1: a(y,1) ; T2: r(x,[])  T3: r(y,[]) a(x,2)  T4: r(x,[]) a(x,1)";

#[test]
fn models_that_hold_are_not_listed() {
    let map = edn(SESSION_FLOW);
    assert_has(&map, ":G1c-process [{");
    assert_not(&map, "strong-session-read-committed");
    let stronger = "strong-read-committed strong-serializable strong-session-serializable \
                    strong-session-snapshot-isolation strong-snapshot-isolation";
    assert_eq!(models(&map, "also-not"), stronger.split_whitespace().map(str::to_owned).collect());

    let map = self::map("h", SESSION_CASE);
    assert_not(&map, "strong-session-snapshot-isolation");
    let stronger = "strong-serializable strong-session-serializable strong-snapshot-isolation";
    assert_eq!(models(&map, "also-not"), stronger.split_whitespace().map(str::to_owned).collect());
}

/// The example of Elle's paper. One process executed all transactions, and snapshot isolation is violated
/// even without session order.
#[test]
fn a_violation_without_session_order_is_found() {
    let values = [
        "[[:append 253 1] [:append 253 3] [:append 255 2] [:append 255 5] [:append 256 1] [:append 256 2]]",
        "[[:append 255 8] [:r 253 [1 3]]]",
        "[[:append 256 4] [:r 255 [2 5 8]] [:r 256 [1 2 4]] [:r 253 [1 3]]]",
        "[[:append 250 10] [:r 253 [1 3]] [:r 255 [2 5]] [:append 256 3]]",
    ];
    let mut text = String::new();
    for (i, value) in values.iter().enumerate() {
        let _ = writeln!(text, "{{:index {}, :process 1, :type :invoke, :value {value}}}", 2 * i);
        let _ = writeln!(text, "{{:index {}, :process 1, :type :ok, :value {value}}}", 2 * i + 1);
    }
    let map = edn(&text);
    let violated = &models(&map, "not") | &models(&map, "also-not");
    for model in
        ["snapshot-isolation", "serializable", "repeatable-read", "strong-session-snapshot-isolation"]
    {
        assert!(violated.contains(model), "{model}\n{map}");
    }
    for model in ["read-atomic", "causal-cerone", "read-committed", "monotonic-atomic-view"] {
        assert!(!violated.contains(model), "{model}\n{map}");
    }
}

/// The levels that equal a model of Elle's, and those that equal one without sessions.
const SAME: [(&str, &str); 7] = [
    ("adya-pl-1", "read-uncommitted"),
    ("adya-pl-2", "read-committed"),
    ("adya-pl-2.99", "repeatable-read"),
    ("snapshot-isolation", "strong-session-snapshot-isolation"),
    ("serializable", "strong-session-serializable"),
    ("strict-snapshot-isolation", "strong-snapshot-isolation"),
    ("strict-serializable", "strong-serializable"),
];
const PLAIN: [(&str, &str); 8] = [
    ("read-committed", "monotonic-atomic-view"),
    ("read-atomic", "read-atomic"),
    ("causal", "causal-cerone"),
    ("prefix", "prefix"),
    ("parallel-snapshot-isolation", "parallel-snapshot-isolation"),
    ("parallel-snapshot-isolation", "consistent-view"),
    ("snapshot-isolation", "snapshot-isolation"),
    ("serializable", "serializable"),
];

/// Small random histories with sessions, the same in each run: registers, or lists of which every read
/// returns a prefix.
fn random_histories(count: usize, lists: bool) -> Vec<String> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mut operation = |written: &mut [Vec<String>; 2]| {
        let k = below(2);
        let key = ["x", "y"][k];
        let next = (written[0].len() + written[1].len() + 1).to_string();
        let some = below(written[k].len() + 1);
        match (below(2), lists) {
            (0, true) => {
                written[k].insert(some, next.clone());
                format!(" a({key},{next})")
            }
            (0, false) => {
                written[k].push(next.clone());
                format!(" w({key},{next})")
            }
            (_, true) => format!(" r({key},[{}])", written[k][..some].join(" ")),
            (_, false) => format!(" r({key},{})", written[k].get(some).map_or("0", String::as_str)),
        }
    };
    let mut history = |_| {
        let mut text = String::new();
        let mut written = [Vec::new(), Vec::new()];
        for txn in 1..=6 {
            let _ = write!(text, "{}T{txn}:", if txn % 2 == 1 { "  " } else { " ; " });
            for _ in 0..2 {
                text.push_str(&operation(&mut written));
            }
        }
        text
    };
    (0..count).map(&mut history).collect()
}

/// The listed models agree with the verdicts of the levels. The plain models agree with the verdicts on the
/// same history without sessions.
#[test]
fn models_agree_with_the_verdicts() {
    let examples = Level::ALL.iter().flat_map(|level| level.examples());
    let examples = examples.chain(Anomaly::ALL.iter().flat_map(|anomaly| anomaly.examples()));
    let mut histories: Vec<String> = examples.map(|example| example.notation.to_owned()).collect();
    histories.extend(random_histories(150, false));
    histories.extend(random_histories(150, true));
    let directory = TempDir::new().unwrap();
    let (mut with, mut without) = (String::new(), String::new());
    for (i, history) in histories.iter().enumerate() {
        fs::write(directory.path().join(format!("s{i}")), history).unwrap();
        fs::write(directory.path().join(format!("p{i}")), history.replace(" ; ", "  ")).unwrap();
        let _ = write!(with, " s{i}");
        let _ = write!(without, " p{i}");
    }
    let read = "--from notation";
    let run = |args: String| isoscope(directory.path(), &format!("-q check {args}")).out;
    let maps = run(format!("{read} --format elle{with}"));
    let with = run(format!("{read} --format jsonl{with}"));
    let without = run(format!("{read} --format jsonl{without}"));
    let verdicts = with.lines().zip(without.lines());
    let mut compared = 0;
    for ((history, map), (with, without)) in histories.iter().zip(maps.lines()).zip(verdicts) {
        let violated = &models(map, "not") | &models(map, "also-not");
        for (json, models) in [(with, &SAME[..]), (without, &PLAIN)] {
            let json: serde_json::Value = serde_json::from_str(json).unwrap();
            for &(level, model) in models {
                let mut levels = json["levels"].as_array().unwrap().iter();
                let verdict = levels.find(|judged| judged["level"] == level).unwrap()["verdict"].as_str();
                assert_eq!(
                    violated.contains(model),
                    verdict == Some("violated"),
                    "{history}: {model}\n{map}"
                );
                compared += usize::from(violated.contains(model));
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

fn corpus(file: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(file)).ok()
}

#[test]
fn the_shared_corpus_gets_the_right_models() {
    for (file, not, holds) in [
        ("found/false-read-committed.edn", "strong-session-read-committed", "read-committed"),
        ("found/false-serializable.edn", "strong-session-snapshot-isolation", "serializable"),
    ] {
        let Some(text) = corpus(file) else { return };
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("h.edn"), text).unwrap();
        let map = isoscope(directory.path(), "-q check --format elle h.edn").out;
        assert_not(&map, not);
        assert!(!models(&map, "also-not").contains(holds), "{map}");
    }
    for file in ["jepsen/paper-example.edn", "jepsen/paper-example.json"] {
        let Some(text) = corpus(file) else { return };
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("h"), text).unwrap();
        let map = isoscope(directory.path(), "-q check --format elle h").out;
        assert!(models(&map, "also-not").contains("snapshot-isolation"), "{map}");
        assert_has(&map, ":G-single-item [{");
    }
}
