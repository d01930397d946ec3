//! Anomalies under Elle's keywords, each in the shape that Elle's checkers give it.
//!
//! A cycle is `{:cycle :steps :type}`, a wrong read `{:op :mop ...}`, and a lost update one map for all
//! transactions that read the same version of a key. The keyword is Elle's if Elle has the same anomaly, and
//! isoscope's otherwise. A cycle is named after its steps, unless a proof by cases has an Elle name itself. No
//! keyword claims more than the verdicts (`keyword.rs`). `:explanation` is an addition of isoscope.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_certificate::{Edge, Evidence, Finding, Instance, Node, Through, Why};
use isoscope_explain::Teller;
use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::{Anomaly, Level};

use super::keyword::{Cyclic, Shape};
use super::models::{Ordered, Refuted};
use super::ops::{completion, join, list, mop, text, value};
use super::steps::Drawn;
use crate::checked::{Checked, elle_name};
use crate::evidence::cycle;

/// All occurrences by keyword, each once.
#[derive(Default)]
pub(super) struct Anomalies {
    pub(super) by_kind: BTreeMap<String, Vec<String>>,
    /// By keyword, the lower bound of a count that is not exact.
    pub(super) at_least: BTreeMap<String, u64>,
}

impl Anomalies {
    /// All findings of a report. A finding that several levels share is listed once.
    pub(super) fn of(report: &Checked<'_>) -> Anomalies {
        let mut anomalies = Anomalies::default();
        if report.distinct().next().is_none() {
            return anomalies;
        }
        let history = report.history;
        let teller = Teller::new(history);
        let refuted = Refuted::of(report);
        // Elle's lost update is one that cursor stability forbids.
        let cursor = Ordered { level: Level::CursorStability, orders: Through::Dependencies };
        let is_lost = |anomaly: Anomaly| anomaly == Anomaly::LostUpdate && refuted.implies(cursor);
        let mut lost = Lost::default();
        for finding in report.distinct().chain(report.findings_without_sessions()) {
            for (i, instance) in finding.instances.iter().enumerate() {
                let open = if i == 0 && finding.at_least { finding.count } else { 0 };
                if is_lost(finding.anomaly) && lost.add(history, &instance.evidence) {
                    anomalies.count(":lost-update", open);
                    continue;
                }
                let explanation = text(&teller.story(finding.anomaly, instance).headline);
                let (kind, map) = occurrence(history, &refuted, finding, instance, &explanation);
                anomalies.count(&kind, open);
                anomalies.add(kind, map);
                if let Some(map) = dirty_update(history, finding.anomaly, &instance.evidence) {
                    anomalies.add(":dirty-update".to_owned(), map);
                }
            }
        }
        for map in lost.maps(history) {
            anomalies.add(":lost-update".to_owned(), map);
        }
        anomalies
    }

    /// Adds to the lower bound of a kind.
    fn count(&mut self, kind: &str, at_least: u64) {
        if at_least > 0 {
            *self.at_least.entry(kind.to_owned()).or_default() += at_least;
        }
    }

    fn add(&mut self, kind: String, map: String) {
        let maps = self.by_kind.entry(kind).or_default();
        if !maps.contains(&map) {
            maps.push(map);
        }
    }
}

/// The keyword and the map of an occurrence.
fn occurrence(
    history: &History,
    refuted: &Refuted,
    finding: &Finding,
    instance: &Instance,
    explanation: &str,
) -> (String, String) {
    let evidence = instance.evidence.main();
    let mut fields = match (finding.anomaly, evidence) {
        (Anomaly::IncompatibleOrder, Evidence::Pair { first, second }) => {
            incompatible(history, *first, *second)
        }
        (_, Evidence::Pair { second, .. }) => wrong_read(history, finding.anomaly, *second, None),
        (anomaly, Evidence::Read { read, write }) => wrong_read(history, anomaly, *read, *write),
        (_, Evidence::Cycle(_) | Evidence::Cases(_) | Evidence::Worlds(_)) => {
            let drawn = Drawn::of(history, cycle(&instance.evidence));
            let kind = cycle_keyword(history, refuted, finding, &instance.evidence, &drawn);
            let [cycle, steps] = drawn.fields();
            let fields = [cycle, steps, format!(":type {kind}"), format!(":explanation {explanation}")];
            return (kind, format!("{{{}}}", fields.join(", ")));
        }
    };
    fields.push(format!(":explanation {explanation}"));
    let keyword = elle_name(history, finding).unwrap_or_else(|| finding.anomaly.name().to_owned());
    (format!(":{keyword}"), format!("{{{}}}", fields.join(", ")))
}

/// The keyword of a cycle: that of its steps or of its anomaly, with the orders that the whole evidence needs. The steps of a
/// proof by cases depend on assumptions, so the anomaly's keyword takes precedence there. If neither is refuted, the anomaly keeps
/// isoscope's name.
fn cycle_keyword(
    history: &History,
    refuted: &Refuted,
    finding: &Finding,
    evidence: &Evidence,
    drawn: &Drawn,
) -> String {
    let orders = evidence.orders();
    let on_range = evidence.misses(&|read| history.op(read).in_range);
    let whole = |keyword: Cyclic| {
        // Only the level that knows nothing but writes can tell that overwrites alone are a circle.
        let is_dirty = finding.anomaly == Anomaly::DirtyWrite && keyword.shape <= Shape::G1c;
        let shape = if is_dirty { Shape::G0 } else { keyword.shape };
        Cyclic { shape, item: keyword.item && !on_range, orders: keyword.orders.max(orders) }
    };
    let of_anomaly = Cyclic::of(finding.anomaly, orders).map(whole);
    let of_steps = drawn.keyword().map(whole);
    let keywords = match evidence {
        Evidence::Cycle(_) => [of_steps, of_anomaly],
        _ => [of_anomaly, of_steps],
    };
    let supported = keywords.into_iter().flatten().find_map(|keyword| keyword.supported(refuted));
    supported.map_or_else(|| format!(":{}", finding.anomaly.name()), |keyword| format!(":{keyword}"))
}

/// A wrong read: the operation, the read, and the reason.
fn wrong_read(history: &History, anomaly: Anomaly, read: Op, write: Option<Op>) -> Vec<String> {
    let view = history.op(read);
    let txn = history.txn_of(read);
    let mut fields =
        vec![format!(":op {}", completion(history, txn)), format!(":mop {}", mop(history, view))];
    let element = write.filter(|_| view.kind == OpKind::ReadList);
    let element = element.map(|write| format!(":element {}", value(history, history.op(write).value)));
    match anomaly {
        Anomaly::NotMyOwnWrite | Anomaly::NotMyLastWrite | Anomaly::NonRepeatableRead => {
            fields.extend(expected(history, view).map(|expected| format!(":expected {expected}")));
        }
        Anomaly::FutureRead => fields.extend(element),
        Anomaly::DuplicateElements => {
            fields.push(format!(":duplicates {{{}}}", duplicates(history, view.value)));
        }
        _ => {
            if let Some(write) = write {
                fields.push(format!(":writer {}", completion(history, history.txn_of(write))));
            }
            fields.extend(element);
        }
    }
    fields
}

/// The value of a key that the transaction's own reads and writes determine before a read: a value, a list,
/// or the end of a list whose start is unknown, which Elle writes as `[... 3]`.
fn expected(history: &History, read: OpView) -> Option<String> {
    let mut known: Option<OpView> = None;
    let mut appended: Vec<Value> = Vec::new();
    for op in history.ops_of(history.txn_of(read.id)).take_while(|op| op.id != read.id) {
        match op.kind {
            _ if op.key != read.key || op.value == Value::UNKNOWN => {}
            OpKind::Append => appended.push(op.value),
            OpKind::RangeRead => {}
            _ => {
                appended.clear();
                known = Some(op);
            }
        }
    }
    match known.map(|op| history.datum(op.value)) {
        Some(Datum::List(elements)) => Some(list(history, &[elements, &appended[..]].concat())),
        Some(_) if appended.is_empty() => known.map(|op| value(history, op.value)),
        None if appended.is_empty() => None,
        _ => Some(format!("[... {}]", join(appended.iter().map(|&element| value(history, element))))),
    }
}

/// The elements that a list holds more than once, with their counts.
fn duplicates(history: &History, read: Value) -> String {
    let mut counts: BTreeMap<Value, usize> = BTreeMap::new();
    for &element in history.table().elements(read) {
        *counts.entry(element).or_default() += 1;
    }
    let often = counts.iter().filter(|&(_, &count)| count > 1);
    let each = often.map(|(&element, count)| format!("{} {count}", value(history, element)));
    each.collect::<Vec<_>>().join(", ")
}

/// Two lists of a key, the shorter first.
fn incompatible(history: &History, first: Op, second: Op) -> Vec<String> {
    let mut lists = [first, second].map(|read| history.table().elements(history.op(read).value));
    lists.sort_by_key(|list| list.len());
    let lists = lists.iter().map(|elements| list(history, elements));
    let key = value(history, history.key_name(history.key_of(first)));
    vec![format!(":key {key}"), format!(":values [{}]", join(lists))]
}

/// A committed append on top of an aborted one: in a list that was read, an element of an aborted transaction
/// precedes one of a committed transaction. Elle shows it in addition to the aborted read.
fn dirty_update(history: &History, anomaly: Anomaly, evidence: &Evidence) -> Option<String> {
    let Evidence::Read { read, write: Some(write) } = evidence.main() else { return None };
    let view = history.op(*read);
    if anomaly != Anomaly::AbortedRead || view.kind != OpKind::ReadList {
        return None;
    }
    let elements = history.table().elements(view.value);
    let aborted = elements.iter().position(|&element| element == history.op(*write).value)?;
    let appender = |element: Value| {
        let is_append = |op: OpView| op.kind == OpKind::Append && op.key == view.key && op.value == element;
        let mut writers = history.writers(view.key).iter().copied();
        writers.find(|&txn| history.outcome(txn) == Outcome::Committed && history.ops_of(txn).any(is_append))
    };
    let later = elements.iter().enumerate().skip(aborted + 1);
    let (last, committed) =
        later.map(|(i, &element)| (i, appender(element))).find(|(_, txn)| txn.is_some())?;
    let key = value(history, history.key_name(view.key));
    let values = list(history, &elements[aborted..=last]);
    let txns =
        format!("{} ... {}", completion(history, history.txn_of(*write)), completion(history, committed?));
    Some(format!("{{:key {key}, :values {values}, :txns [{txns}]}}"))
}

/// Lost updates: for each key and version, the transactions that read it and wrote the key.
#[derive(Default)]
struct Lost(BTreeMap<(Key, String), BTreeSet<Txn>>);

impl Lost {
    /// Adds a lost update. Returns `false` if its cycle does not show two transactions that read one version.
    fn add(&mut self, history: &History, evidence: &Evidence) -> bool {
        let missed = cycle(evidence).iter().find_map(|edge: &Edge| match edge.why {
            Why::Misses { read } => Some(read),
            _ => None,
        });
        let Some(read) = missed.map(|read| history.op(read)) else { return false };
        let version = value(history, read.value);
        let updates = |txn: Txn| {
            let mut ops = history.ops_of(txn).filter(|op| op.key == read.key);
            let reads = ops.any(|op| op.kind.is_read() && value(history, op.value) == version);
            reads && history.writes(txn, read.key)
        };
        let nodes = cycle(evidence).iter().filter_map(|edge| match edge.from {
            Node::Txn(txn) => Some(txn),
            Node::Initial => None,
        });
        let txns: BTreeSet<Txn> = nodes.filter(|&txn| updates(txn)).collect();
        let shown = txns.len() > 1;
        if shown {
            self.0.entry((read.key, version)).or_default().extend(txns);
        }
        shown
    }

    fn maps<'a>(&'a self, history: &'a History) -> impl Iterator<Item = String> + 'a {
        self.0.iter().map(|((key, version), txns)| {
            let key = value(history, history.key_name(*key));
            let txns = join(txns.iter().map(|&txn| completion(history, txn)));
            format!("{{:key {key}, :value {version}, :txns [{txns}]}}")
        })
    }
}
