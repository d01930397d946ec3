//! The report as EDN, of the shape of the map that Elle's checkers return, for scripts made for it.
//!
//! `:valid?` is `true`, `false` or `:unknown`; `:anomaly-types` and `:anomalies` name what was found; `:not`
//! holds the weakest models that are violated and `:also-not` the rest. An anomaly or a level carries Elle's
//! keyword where Elle means the same by it, and ours otherwise. Levels here include session order, so they
//! answer to Elle's strong session models, and to its plain ones only where those have sessions too.
//! What is wrong without regard to sessions violates the plain models as well. `:file`, `:explanation` and
//! `:at-least`, the counts that may be too low, are ours.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_check::{Edge, Evidence, Finding, Instance, Node, Seen, Through, Unknown, Verdict, Why};
use isoscope_explain::Teller;
use isoscope_formats::Failure;
use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::{Anomaly, Level};

use super::json::cycle;
use super::report::{Report, elle_name};
use crate::exit::Exit;

pub(crate) fn render(file: &str, outcome: Result<&Report, &Failure>) -> String {
    let file = text(file);
    let report = match outcome {
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            return format!("{{:file {file}, :valid? :unknown, :error {}}}\n", text(&error));
        }
        Ok(report) => report,
    };
    let valid = match report.exit() {
        Exit::Holds => "true",
        Exit::Violated => "false",
        _ => ":unknown",
    };
    let mut fields = vec![format!(":file {file}"), format!(":valid? {valid}")];
    let anomalies = anomalies(report);
    if !anomalies.is_empty() {
        fields.push(format!(":anomaly-types ({})", join(anomalies.keys().cloned())));
        let each = anomalies.iter().map(|(kind, instances)| format!("{kind} [{}]", instances.join(" ")));
        fields.push(format!(":anomalies {{{}}}", each.collect::<Vec<_>>().join(", ")));
    }
    let counts = counts(report);
    if !counts.is_empty() {
        fields.push(format!(":at-least {{{}}}", counts.join(", ")));
    }
    if report.nothing_to_check() {
        fields.push(":anomaly-types (:empty-transaction-graph)".to_owned());
        fields.push(":anomalies {:empty-transaction-graph true}".to_owned());
    }
    let (not, also_not) = models(report);
    fields.push(format!(":not #{{{}}}", keywords(&not)));
    fields.push(format!(":also-not #{{{}}}", keywords(&also_not)));
    if let Some(why) = unknown(report) {
        fields.push(format!(":explanation {}", text(&why)));
    }
    format!("{{{}}}\n", fields.join(", "))
}

/// The occurrences of each anomaly, by keyword. Each kind is told once, under the weakest level it violates.
fn anomalies(report: &Report) -> BTreeMap<String, Vec<String>> {
    let mut anomalies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let findings = report.findings();
    if findings.is_empty() {
        return anomalies;
    }
    let teller = Teller::new(&report.reading.history);
    for finding in findings.iter().flat_map(|(_, findings)| findings) {
        for instance in &finding.instances {
            let kind = keyword(finding, &instance.evidence);
            let map = occurrence(&report.reading.history, &teller, &kind, finding.anomaly, instance);
            anomalies.entry(kind).or_default().push(map);
        }
    }
    anomalies
}

/// How many there are of each anomaly of which there may be more, by keyword.
fn counts(report: &Report) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let findings = report.findings();
    let findings = findings.iter().flat_map(|(_, findings)| findings);
    for finding in findings.filter(|finding| finding.at_least) {
        let Some(instance) = finding.instances.first() else { continue };
        *counts.entry(keyword(finding, &instance.evidence)).or_default() += finding.count;
    }
    counts.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect()
}

/// The keyword of an occurrence. Of the weak levels' findings only the evidence says whether they need sessions.
fn keyword(finding: &Finding, evidence: &Evidence) -> String {
    let sessions = if takes_sessions(evidence) { Through::Sessions } else { Through::Dependencies };
    let name = elle_name(finding, finding.through.max(sessions));
    format!(":{}", name.unwrap_or_else(|| finding.anomaly.name().to_owned()))
}

fn occurrence(
    history: &History,
    teller: &Teller<'_>,
    kind: &str,
    anomaly: Anomaly,
    instance: &Instance,
) -> String {
    let mut fields = Vec::new();
    match instance.evidence.main() {
        Evidence::Read { read, write } => {
            fields.push(format!(":op {}", transaction(history, history.txn_of(*read))));
            fields.push(format!(":mop {}", mop(history, history.op(*read))));
            if let Some(write) = write {
                fields.push(format!(":writer {}", transaction(history, history.txn_of(*write))));
            }
        }
        Evidence::Pair { first, second } => {
            let values = [*first, *second].map(|op| edn(history, history.op(op).value));
            fields.push(format!(":key {}", edn(history, history.key_name(history.op(*first).key))));
            fields.push(format!(":values [{}]", values.join(" ")));
            fields.push(format!(":op {}", transaction(history, history.txn_of(*second))));
        }
        Evidence::Cycle(_) | Evidence::Cases(_) | Evidence::Worlds(_) => {
            let steps = dependencies(history, cycle(&instance.evidence));
            let nodes = steps.iter().chain(steps.first()).map(|(node, _)| match node {
                Node::Initial => ":init".to_owned(),
                Node::Txn(txn) => transaction(history, *txn),
            });
            fields.push(format!(":cycle [{}]", join(nodes)));
            fields.push(format!(":steps ({})", join(steps.iter().map(|(_, step)| step.clone()))));
        }
    }
    fields.push(format!(":type {kind}"));
    fields.push(format!(":explanation {}", text(&teller.story(anomaly, instance).headline)));
    format!("{{{}}}", fields.join(", "))
}

/// A cycle as Elle draws it: where each step begins, and the step.
///
/// Ours goes through the writers: the newer one is forced before the older one, and the rest shows it to be
/// later. Elle's goes through the reader, which saw the newer one and read what that had overwritten. The two
/// say the same unless the rest is forced too: then no single reader shows the cycle, and it stays ours.
fn dependencies(history: &History, edges: &[Edge]) -> Vec<(Node, String)> {
    let forced = |edge: &Edge| matches!(edge.why, Why::Forced { .. });
    match edges {
        [Edge { from: newer, why: Why::Forced { read, seen }, .. }, rest @ ..]
            if !rest.iter().any(forced) =>
        {
            let mut steps = match seen {
                Seen::Read(op) => vec![(*newer, on_key(history, ":wr", *op))],
                Seen::Session => vec![(*newer, PROCESS.to_owned())],
                Seen::Causal(path) => path.iter().map(|edge| (edge.from, step(history, edge))).collect(),
            };
            steps.push((Node::Txn(history.txn_of(*read)), on_key(history, ":rw", *read)));
            steps
        }
        _ => edges.iter().map(|edge| (edge.from, step(history, edge))).collect(),
    }
}

const PROCESS: &str = "{:type :process}";

/// A step of a cycle under Elle's names of dependencies: every order between writers is a `:ww`.
fn step(history: &History, edge: &Edge) -> String {
    match &edge.why {
        Why::Session => PROCESS.to_owned(),
        Why::RealTime => "{:type :realtime}".to_owned(),
        Why::ReadFrom { read } => on_key(history, ":wr", *read),
        Why::Misses { read } => {
            let view = history.op(*read);
            overwrite(history, ":rw", view.key, Some(view.value), written(history, edge.to, view.key))
        }
        Why::Overwritten { key } => {
            let written = |node| written(history, node, *key);
            overwrite(history, ":ww", *key, written(edge.from), written(edge.to))
        }
        Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Forced { read, .. } => {
            on_key(history, ":ww", *read)
        }
    }
}

fn on_key(history: &History, kind: &str, read: Op) -> String {
    let view = history.op(read);
    let (key, value) = (edn(history, history.key_name(view.key)), edn(history, view.value));
    format!("{{:type {kind}, :key {key}, :value {value}}}")
}

/// A version and the one that came later, where they are known.
fn overwrite(history: &History, kind: &str, key: Key, old: Option<Value>, new: Option<Value>) -> String {
    let value = |name: &str, value: Option<Value>| {
        value.map_or_else(String::new, |value| format!(", :{name} {}", edn(history, value)))
    };
    let key = edn(history, history.key_name(key));
    format!("{{:type {kind}, :key {key}{}{}}}", value("value", old), value("value'", new))
}

/// What a transaction left of a key.
fn written(history: &History, node: Node, key: Key) -> Option<Value> {
    let Node::Txn(txn) = node else { return None };
    history.ops_of(txn).rfind(|op| op.kind.is_write() && op.key == key).map(|op| op.value)
}

/// A transaction as a completion of a Jepsen history.
fn transaction(history: &History, txn: Txn) -> String {
    let kind = match history.outcome(txn) {
        Outcome::Committed => ":ok",
        Outcome::Aborted => ":fail",
        Outcome::Unknown => ":info",
    };
    let mops = join(history.ops_of(txn).map(|op| mop(history, op)));
    let process = edn(history, history.session_name(history.session_of(txn)));
    let name = edn(history, history.txn_name(txn));
    format!("{{:type {kind}, :process {process}, :txn {name}, :value [{mops}]}}")
}

fn mop(history: &History, op: OpView) -> String {
    let function = match op.kind {
        OpKind::Read | OpKind::ReadList => ":r",
        OpKind::Write => ":w",
        OpKind::Append => ":append",
        OpKind::Insert => ":insert",
        OpKind::Delete => ":delete",
        OpKind::RangeRead => ":range",
    };
    let value = if op.kind == OpKind::RangeRead { "nil".to_owned() } else { edn(history, op.value) };
    format!("[{function} {} {value}]", edn(history, history.key_name(op.key)))
}

/// Elle's names of the weakest models that are violated and of the others, each model in one of them. Two
/// levels may answer to one model.
fn models(report: &Report) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let of = |level: &Level| model(report, *level);
    let not: BTreeSet<&str> = report.weakest_violated().iter().map(of).collect();
    let mut others: BTreeSet<&str> = report.violated().iter().map(of).collect();
    for (level, plain) in [(Level::Snapshot, SNAPSHOT), (Level::Serializable, SERIALIZABLE)] {
        if fails_without_sessions(report, level) {
            others.extend(plain);
        }
    }
    let also_not = others.difference(&not).copied().collect();
    (not, also_not)
}

/// Our level with and without sessions.
const SNAPSHOT: [&str; 2] = ["snapshot-isolation", "strong-session-snapshot-isolation"];
const SERIALIZABLE: [&str; 2] = ["serializable", "strong-session-serializable"];

/// Whether an anomaly was found that a level forbids and that Elle knows, in a form that takes neither sessions nor
/// real time to show.
fn fails_without_sessions(report: &Report, level: Level) -> bool {
    let weak = [Level::CutIsolation, Level::AdyaPl2];
    let known = |anomaly: Anomaly| {
        weak.iter().any(|level| level.forbids(anomaly))
            || (level.forbids(anomaly) && anomaly.elle().is_some())
    };
    let findings = report.findings();
    let mut findings = findings.iter().flat_map(|(_, findings)| findings);
    findings.any(|finding| {
        known(finding.anomaly)
            && finding.through == Through::Dependencies
            && finding.instances.iter().any(|i| !takes_sessions(&i.evidence))
    })
}

/// Whether a cycle goes along a session. That everything follows the initial state is no session's order.
fn takes_sessions(evidence: &Evidence) -> bool {
    fn along(edge: &Edge) -> bool {
        match &edge.why {
            Why::Session => edge.from != Node::Initial,
            Why::Forced { seen: Seen::Session, .. } => true,
            Why::Forced { seen: Seen::Causal(path), .. } => path.iter().any(along),
            _ => false,
        }
    }
    cycle(evidence).iter().any(along)
}

fn keywords(names: &BTreeSet<&str>) -> String {
    join(names.iter().map(|name| format!(":{name}")))
}

fn model(report: &Report, level: Level) -> &'static str {
    match level {
        Level::AdyaPl1 => "read-uncommitted",
        Level::AdyaPl2 => "read-committed",
        Level::AdyaPl299 => "repeatable-read",
        // Elle's read committed is PL-2, which lets reads go back.
        Level::ReadCommitted if only_goes_back(report) => "monotonic-view",
        Level::Causal => "causal-cerone",
        Level::Snapshot => "strong-session-snapshot-isolation",
        Level::Serializable => "strong-session-serializable",
        Level::StrictSnapshot => "strong-snapshot-isolation",
        other => other.name(),
    }
}

/// Whether read committed is violated by nothing but non-monotonic reads.
fn only_goes_back(report: &Report) -> bool {
    report.judged.iter().map(|judged| &judged.judgement).any(|judgement| {
        judgement.level == Level::ReadCommitted
            && matches!(&judgement.verdict, Verdict::Violated(findings)
                if findings.iter().all(|finding| finding.anomaly == Anomaly::NonMonotonicRead))
    })
}

fn unknown(report: &Report) -> Option<String> {
    report.judged.iter().find_map(|judged| match &judged.judgement.verdict {
        Verdict::Unknown(Unknown::NothingToCheck) | Verdict::Holds(_) | Verdict::Violated(_) => None,
        Verdict::Unknown(unknown) => {
            Some(format!("{}: {}", judged.judgement.level, report.reason(unknown).1))
        }
    })
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" ")
}

fn edn(history: &History, value: Value) -> String {
    match history.datum(value) {
        Datum::Nil | Datum::Unknown => "nil".to_owned(),
        Datum::Bool(b) => b.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Nat(n) => format!("{n}N"),
        Datum::Float(x) if x.is_nan() => "##NaN".to_owned(),
        Datum::Float(x) if x.is_infinite() => if x > 0.0 { "##Inf" } else { "##-Inf" }.to_owned(),
        Datum::Float(x) => format!("{x:?}"),
        Datum::Text(string) => text(string),
        Datum::Keyword(name) if name.chars().all(|c| c.is_alphanumeric() || "-_./*+!?<>=&%#".contains(c)) => {
            format!(":{name}")
        }
        Datum::Keyword(name) => text(name),
        Datum::List(elements) => format!("[{}]", join(elements.iter().map(|&element| edn(history, element)))),
    }
}

fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
