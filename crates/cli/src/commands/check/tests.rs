//! Every style on verdicts made by hand, so that what is shown is tested apart from what is found.

use isoscope_check::{
    Against, Edge, Evidence, Finding, Instance, Judgement, Node, Seen, Through, Unknown, Verdict, Why,
    Witness,
};
use isoscope_formats::{Input, ReadOptions, read};
use isoscope_history::{Op, Txn};
use isoscope_levels::{Anomaly, Level};

use super::{Judged, Report, concise, elle, full, json, junit};
use crate::exit::Exit;

const FRACTURED: &str = "T1: w(x,2)\nT5: r(x,2) w(x,9) w(y,3)\nT7: r(y,3) r(x,2)\n";

fn report(text: &str, verdicts: Vec<(Level, Verdict)>, named: bool) -> Report {
    let reading = read(&Input::text("h", text), &ReadOptions::default()).unwrap();
    let judged = verdicts.into_iter().map(|(level, verdict)| {
        let judgement = Judgement { level, verdict, implied_by: None };
        Judged { judgement, seconds: 0.0, certified: false }
    });
    Report { file: "h".to_owned(), reading, judged: judged.collect(), named, seconds: 0.0 }
}

fn fractured_read() -> Verdict {
    let (t1, t5) = (Node::Txn(Txn(0)), Node::Txn(Txn(1)));
    let forced = Why::Forced { read: Op(5), seen: Seen::Read(Op(4)) };
    let cycle = vec![
        Edge { from: t5, to: t1, why: forced },
        Edge { from: t1, to: t5, why: Why::ReadFrom { read: Op(1) } },
    ];
    Verdict::Violated(vec![Finding {
        anomaly: Anomaly::FracturedRead,
        against: Some(Against::Causal),
        through: Through::default(),
        count: 12,
        components: 3,
        instances: vec![Instance { evidence: Evidence::Cycle(cycle), component: Some(0) }],
    }])
}

/// All levels as the weak engines alone would judge them.
fn boundary() -> Vec<(Level, Verdict)> {
    let verdict = |level| match level {
        Level::CutIsolation | Level::ReadCommitted => Verdict::Holds(Witness::default()),
        level if level.name().starts_with("adya") => Verdict::Unknown(Unknown::NoEngine),
        _ => fractured_read(),
    };
    Level::ALL.map(|level| (level, verdict(level))).into()
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_full_report_tells_and_points() {
    let report = report(FRACTURED, boundary(), false);
    let expected = "\
h  3 sessions, 3 transactions, 6 operations

  ✗ strict-serializable
  ✗ serializable            ✗ strict-snapshot-isolation
  ✗ snapshot-isolation
  ✗ prefix                  ✗ parallel-snapshot-isolation
  ✗ causal
  ✗ read-atomic
  ✓ read-committed          · adya-pl-2.99
  · adya-pl-2
  ✓ cut-isolation           · adya-pl-1
  · not decided yet

  strongest that hold  cut-isolation, read-committed
  weakest that fail    read-atomic

✗ read-atomic is violated; also violated: causal, prefix, parallel-snapshot-isolation,
  snapshot-isolation, serializable, strict-snapshot-isolation, strict-serializable

  fractured read (TAP-k, against causal order): 12 in 3 components, the shortest shown

  T7 read y=3 from T5, which also wrote x=9, and then read the older x=2 from T1.
  - T5 must come before T1: T7 read x=2 from T1, although it read y=3 from T5, which wrote x=9.
  - T1 comes before T5: T5 read x=2 from T1.
   --> h:3:12
    |
  1 | T1: w(x,2)
    |     - T1 writes x=2
  2 | T5: r(x,2) w(x,9) w(y,3)
    |     - T5 reads x=2
    |            - T5 writes x=9
  3 | T7: r(y,3) r(x,2)
    |     - T7 reads y=3
    |            ^ T7 reads x=2

violated: read-atomic; 12 anomalies of 1 kind
  `isoscope explain fractured-read` tells what it is and which levels forbid it
";
    assert_eq!(plain(&full::render(&report)), expected);
    assert_eq!(
        plain(&concise::render("h", Ok(&report))),
        "h: holds: cut-isolation, read-committed; violated: read-atomic (12 fractured-read)\n"
    );
}

#[test]
fn an_unknown_level_says_why_and_where() {
    let ambiguous = Verdict::Unknown(Unknown::Ambiguous { reads: 2, first: Op(1) });
    let verdicts =
        vec![(Level::ReadCommitted, Verdict::Holds(Witness::default())), (Level::Causal, ambiguous)];
    let report = report(FRACTURED, verdicts, true);
    assert_eq!(report.exit(), Exit::Unknown);
    let text = plain(&full::render(&report));
    let expected = "\
? causal: needs the solver: 2 reads have several possible writers because values are not unique
   --> h:2:5
    |
  2 | T5: r(x,2) w(x,9) w(y,3)
    |     ^ the first: T5 reads x=2

unknown: not every level could be decided
";
    assert!(text.ends_with(expected), "{text}");
    let json = json::render("h", Ok(&report));
    assert_eq!(json["levels"][1]["reason"]["kind"], "needs-solver");
    assert_eq!(json["levels"][1]["reason"]["first"]["line"], 2);
}

#[test]
fn levels_that_nothing_decides_count_only_when_they_are_named() {
    let undecided = || vec![(Level::Serializable, Verdict::Unknown(Unknown::NoEngine))];
    let holds = || vec![(Level::Causal, Verdict::Holds(Witness::default()))];
    let both = || [holds(), undecided()].concat();
    assert_eq!(report(FRACTURED, both(), false).exit(), Exit::Holds);
    assert_eq!(report(FRACTURED, both(), true).exit(), Exit::Unknown);
    assert_eq!(report(FRACTURED, undecided(), false).exit(), Exit::Unknown, "nothing was checked");
    let count =
        |named| json::render("h", Ok(&report(FRACTURED, both(), named)))["levels"].as_array().map(Vec::len);
    assert_eq!((count(false), count(true)), (Some(2), Some(2)), "but they are listed");
    let json = json::render("h", Ok(&report(FRACTURED, both(), false)));
    assert_eq!(json["levels"][1]["verdict"], "unknown");
    assert_eq!(json["levels"][1]["reason"]["kind"], "no-engine");
    let text = plain(&full::render(&report(FRACTURED, both(), false)));
    assert!(
        text.ends_with("\nnot decided: serializable; name one with --level to make it count\n"),
        "{text}"
    );
    assert!(!full::render(&report(FRACTURED, both(), true)).contains("not decided:"));
}

#[test]
fn a_range_read_has_no_single_value_in_json() {
    let unsupported = Verdict::Unknown(Unknown::Unsupported { operations: 1, first: Op(1) });
    let text = "T1: w(1,5)  T2: range(0,9,{1=5})";
    let json = json::render("h", Ok(&report(text, vec![(Level::Causal, unsupported)], true)));
    let first = &json["levels"][0]["reason"]["first"];
    assert_eq!((&first["kind"], &first["value"]), (&"range-read".into(), &serde_json::Value::Null));
}

#[test]
fn json_keeps_every_operation_and_edge() {
    let json = json::render("h", Ok(&report(FRACTURED, vec![(Level::Causal, fractured_read())], true)));
    let anomaly = &json["levels"][0]["anomalies"][0];
    assert_eq!(anomaly["kind"], "fractured-read");
    assert_eq!((&anomaly["pattern"], &anomaly["against"]), (&"TAP-k".into(), &"causal".into()));
    assert_eq!((&anomaly["count"], &anomaly["components"]), (&12.into(), &3.into()));
    let instance = &anomaly["instances"][0];
    assert_eq!(instance["transactions"], serde_json::json!(["T5", "T1", "T7"]));
    assert_eq!(
        instance["operations"][0],
        serde_json::json!({ "transaction": "T5", "session": 5, "kind": "write", "key": "x", "value": 9,
            "file": "h", "line": 2, "column": 12 })
    );
    let forced = &instance["edges"][0];
    assert_eq!(
        (&forced["from"], &forced["to"], &forced["why"]),
        (&"T5".into(), &"T1".into(), &"forced".into())
    );
    let read = forced["read"].as_u64().unwrap() as usize;
    assert_eq!(instance["operations"][read]["transaction"], "T7");
    assert_eq!(instance["edges"][1]["why"], "read-from");
}

#[test]
fn elle_gets_its_own_names() {
    let aborted = Verdict::Violated(vec![Finding {
        anomaly: Anomaly::AbortedRead,
        against: None,
        through: Through::default(),
        count: 1,
        components: 0,
        instances: vec![Instance {
            evidence: Evidence::Read { read: Op(1), write: Some(Op(0)) },
            component: None,
        }],
    }]);
    let verdicts = vec![(Level::ReadCommitted, aborted.clone()), (Level::Causal, aborted)];
    let report = report("T1!: w(x,\"a\\\"b\")  T2: r(x,\"a\\\"b\")", verdicts, true);
    assert_eq!(
        elle::render("h", Ok(&report)),
        "{:file \"h\", :valid? false, :anomaly-types (:G1a), :anomalies {:G1a [{:op {:type :ok, :process 2, \
         :txn 2, :value [[:r \"x\" \"a\\\"b\"]]}, :mop [:r \"x\" \"a\\\"b\"], :writer {:type :fail, :process 1, \
         :txn 1, :value [[:w \"x\" \"a\\\"b\"]]}, :type :G1a, :explanation \"T2 read x=\\\"a\\\\\\\"b\\\" from T1, \
         which aborted.\"}]}, :not #{:read-committed}, :also-not #{:causal-cerone :serializable \
         :snapshot-isolation :strong-session-serializable :strong-session-snapshot-isolation}}\n"
    );
}

/// The cycle that Elle's users know: the reader saw the newer version and read the one it overwrote.
#[test]
fn elle_sees_the_reader_in_a_cycle() {
    let t1 = "{:type :ok, :process 1, :txn 1, :value [[:w \"x\" 1] [:w \"y\" 2]]}";
    let t2 = "{:type :ok, :process 2, :txn 2, :value [[:r \"x\" 0] [:r \"y\" 2]]}";
    let writer = Node::Txn(Txn(0));
    let cycle = |seen| {
        let forced = Why::Forced { read: Op(2), seen };
        let back = Edge { from: Node::Initial, to: writer, why: Why::Session };
        let evidence = Evidence::Cycle(vec![Edge { from: writer, to: Node::Initial, why: forced }, back]);
        let Verdict::Violated(mut findings) = fractured_read() else { panic!() };
        findings[0].instances[0].evidence = evidence;
        let verdicts = vec![(Level::ReadAtomic, Verdict::Violated(findings))];
        elle::render("h", Ok(&report("T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)", verdicts, true)))
    };
    let rw = "{:type :rw, :key \"x\", :value 0}";
    for (seen, step) in
        [(Seen::Read(Op(3)), "{:type :wr, :key \"y\", :value 2}"), (Seen::Session, "{:type :process}")]
    {
        let text = cycle(seen);
        assert!(text.contains(&format!(":cycle [{t1} {t2} {t1}], :steps ({step} {rw})")), "{text}");
        assert!(text.ends_with(":not #{:read-atomic}, :also-not #{}}\n"), "{text}");
    }
}

#[test]
fn junit_escapes_what_xml_cannot_hold() {
    let thin = Verdict::Violated(vec![Finding {
        anomaly: Anomaly::ThinAirRead,
        against: None,
        through: Through::default(),
        count: 1,
        components: 0,
        instances: vec![Instance { evidence: Evidence::Read { read: Op(0), write: None }, component: None }],
    }]);
    let verdicts = vec![
        (Level::ReadCommitted, thin),
        (Level::CutIsolation, Verdict::Holds(Witness::default())),
        (Level::Causal, Verdict::Unknown(Unknown::NothingToCheck)),
        (Level::Serializable, Verdict::Unknown(Unknown::NoEngine)),
    ];
    let report = report("T1: r(x,\"<&\u{1}>\")", verdicts, true);
    let mut suites = junit::Suites::default();
    suites.add("a&b\u{1}", Ok(&report));
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"isoscope\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">
  <testsuite name=\"a&amp;b\u{fffd}\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"0.000\">
    <testcase classname=\"a&amp;b\u{fffd}\" name=\"read-committed\" time=\"0.000\">
      <failure message=\"thin-air-read: T1 read x=&quot;&lt;&amp;\\u{1}&gt;&quot;, which nobody ever wrote.\" \
        type=\"thin-air-read\">thin-air-read: T1 read x=&quot;&lt;&amp;\\u{1}&gt;&quot;, which nobody ever wrote.
- T1 read x=&quot;&lt;&amp;\\u{1}&gt;&quot;.</failure>
    </testcase>
    <testcase classname=\"a&amp;b\u{fffd}\" name=\"cut-isolation\" time=\"0.000\"/>
    <testcase classname=\"a&amp;b\u{fffd}\" name=\"causal\" time=\"0.000\">
      <error message=\"no transaction committed: there is nothing to check\" type=\"nothing-to-check\"></error>
    </testcase>
    <testcase classname=\"a&amp;b\u{fffd}\" name=\"serializable\" time=\"0.000\">
      <skipped message=\"no engine decides this level yet\"/>
    </testcase>
  </testsuite>
</testsuites>
";
    assert_eq!(suites.render(), expected);
}
