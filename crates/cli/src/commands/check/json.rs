//! The machine-readable report. Fields may be added, never renamed. Nothing is shortened but proofs by very many cases, which
//! say how many are left out.
//!
//! A level whose verdict only repeats that of a weaker one names its anomalies and counts them; the occurrences
//! stand at the weaker level, which is named too. Operations of an occurrence are listed once; its edges refer to
//! them by their place in that list. A proof by cases gives its main cycle as the edges, and beside it the choices on
//! the way to it, each with the alternatives that were refuted and how: by a cycle, after choices of its own. A level that nothing decides is listed as unknown, so that a script finds
//! every level it knows of.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use isoscope_check::{
    Against, Choice, Edge, Evidence, Finding, Instance, Limit, Node, Seen, Through, Unknown, Verdict, Why,
};
use isoscope_explain::{Outline, Passed, Teller, main_cycle};
use isoscope_formats::{Failure, Place};
use isoscope_history::{Datum, History, Key, Op, OpKind, Txn, Value};
use isoscope_levels::{Anomaly, Level};
use serde_json::{Map, Value as Json, json};

use super::report::{Certified, Judged, Report, elle_name, pattern, verdict_word};
use super::snippet;
use super::watch::{Staged, TimeLimit};
use crate::problems::ProblemJson;

pub(crate) fn render(file: &str, outcome: Result<&Report, &Failure>) -> Json {
    match outcome {
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            let problems = ProblemJson::list(&failure.problems);
            let mut out = json!({ "file": file, "error": error, "levels": [], "problems": problems });
            if failure.no_room {
                out["reason"] = json!({ "kind": "memory", "message": error });
            }
            out
        }
        Ok(report) => {
            let history = &report.reading.history;
            json!({
                "file": file,
                "format": report.reading.format.name(),
                "sessions": report.figures.sessions,
                "transactions": history.txn_count(),
                "operations": report.figures.operations,
                "seconds": report.seconds,
                "levels": levels(report),
                "problems": ProblemJson::list(&report.reading.warnings),
            })
        }
    }
}

fn levels(report: &Report) -> Vec<Json> {
    // Learning the names takes a pass over all transactions, in vain when there is nothing to tell.
    let silent = |judged: &Judged| match &judged.judgement.verdict {
        Verdict::Holds(_) => true,
        Verdict::Violated(_) => false,
        Verdict::Unknown(unknown) => first(unknown).is_none(),
    };
    if report.judged.iter().all(silent) {
        return report.judged.iter().map(|judged| head(report, judged)).map(Json::Object).collect();
    }
    let teller = Teller::new(&report.reading.history);
    let places = snippet::places(&report.reading, operations(report, &teller).into_iter());
    let writer = Writer { report, history: &report.reading.history, teller: &teller, places: &places };
    let each = report.judged.iter();
    each.map(|judged| writer.level(judged, report.repeats(&judged.judgement).is_none())).collect()
}

/// All operations that the report speaks of.
fn operations(report: &Report, teller: &Teller<'_>) -> Vec<Op> {
    let mut ops = Vec::new();
    for judged in &report.judged {
        match &judged.judgement.verdict {
            Verdict::Holds(_) => {}
            Verdict::Unknown(unknown) => ops.extend(first(unknown)),
            Verdict::Violated(_) if report.repeats(&judged.judgement).is_some() => {}
            Verdict::Violated(findings) => {
                for finding in findings {
                    let each = finding.instances.iter();
                    ops.extend(each.flat_map(|i| teller.operations(finding.anomaly, &i.evidence)));
                }
            }
        }
    }
    ops
}

fn first(unknown: &Unknown) -> Option<Op> {
    match unknown {
        Unknown::Ambiguous { first, .. } | Unknown::Unsupported { first, .. } => Some(*first),
        _ => None,
    }
}

/// What every level has.
fn head(report: &Report, judged: &Judged) -> Map<String, Json> {
    let mut level = Map::new();
    level.insert("level".to_owned(), judged.judgement.level.name().into());
    level.insert("verdict".to_owned(), verdict_word(&judged.judgement).into());
    level.insert("certified".to_owned(), (judged.certified == Certified::Yes).into());
    if let Certified::Stopped(limit) = judged.certified {
        level.insert("not_certified".to_owned(), unknown_reason(report, &Unknown::Limit(limit)));
    }
    level.insert("seconds".to_owned(), judged.seconds.into());
    if let Some(weaker) = judged.judgement.implied_by {
        level.insert("implied_by".to_owned(), weaker.name().into());
    }
    level.insert("stages".to_owned(), judged.stages.iter().map(|s| stage(judged, s)).collect());
    level.insert("anomalies".to_owned(), Json::Array(Vec::new()));
    if let Verdict::Unknown(unknown) = &judged.judgement.verdict {
        level.insert("reason".to_owned(), unknown_reason(report, unknown));
    }
    level
}

/// A stage and its figures, each under its name. One of a weaker level that had to be decided first names it.
fn stage(judged: &Judged, stage: &Staged) -> Json {
    let mut out = json!({ "stage": stage.name, "seconds": stage.seconds });
    if stage.level != judged.judgement.level {
        out["level"] = stage.level.name().into();
    }
    for (name, figure) in &stage.figures {
        out[*name] = (*figure).into();
    }
    out
}

/// Why a level is unknown; of a limit, which it was and what had been decided.
fn unknown_reason(report: &Report, unknown: &Unknown) -> Json {
    let (kind, message) = report.reason(unknown);
    let mut out = json!({ "kind": kind, "message": message });
    if let Unknown::Limit(limit) = unknown {
        out["limit"] = match limit {
            Limit::Time => json!({
                "seconds": report.limits.time.map(|time| time.duration().as_secs_f64()),
                "of": report.limits.time.map(|time| match time {
                    TimeLimit::History(_) => "history",
                    TimeLimit::Level(_) => "level",
                }),
            }),
            Limit::Memory => json!({ "bytes": report.limits.memory }),
            Limit::Proof => Json::Null,
        };
        let names = |levels: Vec<Level>| levels.into_iter().map(Level::name).collect::<Vec<_>>();
        out["decided"] = json!({ "holds": names(report.holding()), "violated": names(report.violated()) });
    }
    out
}

/// How many choices and refuted alternatives of a proof are written down. A proof may have 200,000 cases, which take
/// hundreds of megabytes; the verifier checks all of them.
const MOST_STEPS: usize = 1_000;

/// A proof by cases that is being written down.
struct Proof<'a> {
    outline: &'a Outline<'a>,
    places: &'a BTreeMap<Op, usize>,
    /// How many steps may still be written.
    room: Cell<usize>,
    /// How many cases are not written.
    left_out: Cell<u64>,
}

impl Proof<'_> {
    /// Whether there is room for a step, which is then taken.
    fn has_room(&self) -> bool {
        let room = self.room.get();
        self.room.set(room.saturating_sub(1));
        room > 0
    }

    fn leave_out(&self, node: usize) {
        self.left_out.set(self.left_out.get() + self.outline.cases(node));
    }
}

struct Writer<'a> {
    report: &'a Report,
    history: &'a History,
    teller: &'a Teller<'a>,
    places: &'a BTreeMap<Op, Place>,
}

impl Writer<'_> {
    fn level(&self, judged: &Judged, whole: bool) -> Json {
        let mut level = head(self.report, judged);
        match &judged.judgement.verdict {
            Verdict::Holds(_) => {}
            Verdict::Violated(findings) => {
                let anomalies = findings.iter().map(|finding| self.anomaly(finding, whole)).collect();
                level.insert("anomalies".to_owned(), Json::Array(anomalies));
            }
            Verdict::Unknown(unknown) => {
                if let Some(op) = first(unknown) {
                    level["reason"]["first"] = self.operation(op);
                }
            }
        }
        Json::Object(level)
    }

    fn anomaly(&self, finding: &Finding, whole: bool) -> Json {
        let instances = if whole { finding.instances.as_slice() } else { &[] };
        let instances = instances.iter().map(|instance| self.instance(finding.anomaly, instance));
        json!({
            "kind": finding.anomaly.name(),
            "pattern": pattern(finding),
            "against": finding.against.map(|against| match against {
                Against::Causal => "causal",
                Against::Commit => "commit",
            }),
            "through": match finding.through {
                Through::Dependencies => "dependencies",
                Through::Sessions => "sessions",
                Through::RealTime => "real-time",
            },
            "elle": elle_name(finding, finding.through),
            "count": finding.count,
            "count_is_lower_bound": finding.at_least,
            "components": finding.components,
            "instances": instances.collect::<Vec<_>>(),
        })
    }

    fn instance(&self, anomaly: Anomaly, instance: &Instance) -> Json {
        let story = self.teller.story(anomaly, instance);
        let ops = self.teller.operations(anomaly, &instance.evidence);
        let edges = cycle(&instance.evidence);
        let txns = transactions(self.history, edges, &ops);
        let places: BTreeMap<Op, usize> = ops.iter().enumerate().map(|(place, &op)| (op, place)).collect();
        let mut out = json!({
            "story": story.headline,
            "component": instance.component,
            "transactions": txns.into_iter().map(|txn| self.teller.full_txn(txn)).collect::<Vec<_>>(),
            "operations": ops.iter().map(|&op| self.operation(op)).collect::<Vec<_>>(),
            "edges": self.edges(edges, &places),
        });
        if let Evidence::Cases(proof) = instance.evidence.main() {
            let (room, left_out) = (Cell::new(MOST_STEPS), Cell::new(0));
            let proof = Proof { outline: &Outline::new(proof), places: &places, room, left_out };
            out["choices"] = self.choices(&proof, 0).0.into();
            out["cases"] = proof.outline.cases(0).into();
            out["cases_left_out"] = proof.left_out.get().into();
        }
        if let Evidence::Worlds(worlds) = &instance.evidence {
            let left_out = self.teller.worlds(worlds).count().saturating_sub(MOST_STEPS);
            if left_out > 0 {
                out["worlds_left_out"] = left_out.into();
            }
            let worlds = self.teller.worlds(worlds).take(MOST_STEPS).map(|(supposed, finding, instance)| {
                json!({
                    "supposed": supposed,
                    "kind": finding.anomaly.name(),
                    "story": self.teller.story(finding.anomaly, instance).headline,
                    "edges": self.edges(cycle(&instance.evidence), &places),
                })
            });
            out["worlds"] = worlds.collect::<Vec<_>>().into();
        }
        out
    }

    fn edges(&self, edges: &[Edge], places: &BTreeMap<Op, usize>) -> Vec<Json> {
        edges.iter().map(|edge| self.edge(edge, places)).collect()
    }

    /// The choices along a line of a proof, and the cycle at its end. Lines beside lines are nested as deeply as the
    /// logarithm of the number of cases.
    fn choices(&self, proof: &Proof<'_>, from: usize) -> (Vec<Json>, Vec<Json>) {
        let line = proof.outline.line(from);
        let mut choices = Vec::new();
        for passed in &line.splits {
            if proof.has_room() {
                choices.push(self.choice(proof, passed));
            } else {
                passed.others.iter().for_each(|&(_, node)| proof.leave_out(node));
            }
        }
        (choices, self.edges(line.cycle, proof.places))
    }

    fn choice(&self, proof: &Proof<'_>, passed: &Passed<'_>) -> Json {
        let mut refuted = Vec::new();
        for &(alternative, node) in &passed.others {
            if !proof.has_room() {
                proof.leave_out(node);
                continue;
            }
            let (choices, edges) = self.choices(proof, node);
            let mut one = self.alternative(passed.choice, alternative, proof.places);
            one["choices"] = choices.into();
            one["edges"] = edges.into();
            refuted.push(one);
        }
        json!({
            "choice": match passed.choice {
                Choice::Source { .. } => "source",
                Choice::Versions { .. } => "versions",
            },
            "assumed": self.alternative(passed.choice, passed.taken, proof.places),
            "refuted": refuted,
        })
    }

    fn alternative(&self, choice: &Choice, alternative: usize, places: &BTreeMap<Op, usize>) -> Json {
        let edge = self.teller.assumed(choice, alternative);
        json!({
            "assumption": self.teller.alternative(choice, alternative),
            "edge": edge.map(|edge| self.edge(&edge, places)),
        })
    }

    fn operation(&self, op: Op) -> Json {
        let (txn, view) = (self.history.txn_of(op), self.history.op(op));
        let session = self.history.session_name(self.history.session_of(txn));
        // A range read returns rows, and the model keeps no single value for it.
        let returned =
            if view.kind == OpKind::RangeRead { Json::Null } else { value(self.history, view.value) };
        let mut operation = json!({
            "transaction": self.teller.full_txn(txn),
            "session": value(self.history, session),
            "kind": view.kind.name(),
            "key": value(self.history, self.history.key_name(view.key)),
            "value": returned,
        });
        if let Some(place) = self.places.get(&op) {
            operation["file"] = place.file.as_str().into();
            if place.binary {
                operation["offset"] = place.offset.into();
            } else {
                operation["line"] = place.line.into();
                operation["column"] = place.column.into();
            }
        }
        operation
    }

    fn edge(&self, edge: &Edge, places: &BTreeMap<Op, usize>) -> Json {
        let at = |op: &Op| places.get(op).copied();
        let (kind, key) = self.dependency(edge);
        let mut out = json!({
            "from": self.node(edge.from), "to": self.node(edge.to), "type": kind,
            "key": key.map(|key| value(self.history, self.history.key_name(key))),
        });
        match &edge.why {
            Why::Session => out["why"] = "session".into(),
            Why::RealTime => out["why"] = "real-time".into(),
            Why::Overwritten { .. } => out["why"] = "overwritten".into(),
            Why::Misses { read } => {
                out["why"] = "misses".into();
                out["read"] = at(read).into();
            }
            Why::ReadFrom { read } => {
                out["why"] = "read-from".into();
                out["read"] = at(read).into();
            }
            Why::Versions { read, index } => {
                out["why"] = "versions".into();
                out["read"] = at(read).into();
                out["index"] = (*index).into();
            }
            Why::Missing { read, append } => {
                out["why"] = "missing".into();
                out["read"] = at(read).into();
                out["append"] = at(append).into();
            }
            Why::Forced { read, seen } => {
                out["why"] = "forced".into();
                out["read"] = at(read).into();
                out["seen"] = match seen {
                    Seen::Read(op) => json!({ "by": "read", "read": at(op) }),
                    Seen::Session => json!({ "by": "session" }),
                    Seen::Causal(path) => {
                        let path: Vec<Json> = path.iter().map(|edge| self.edge(edge, places)).collect();
                        json!({ "by": "path", "path": path })
                    }
                };
            }
        }
        let step = self.teller.step(edge);
        out["operations"] = step.ops.iter().filter_map(at).collect();
        out["because"] = step.text.into();
        out
    }

    /// The literature's two letters for an edge, and the key that it is about.
    fn dependency(&self, edge: &Edge) -> (&'static str, Option<Key>) {
        let key = |read: &Op| Some(self.history.key_of(*read));
        match &edge.why {
            Why::Session => ("so", None),
            Why::RealTime => ("rt", None),
            Why::ReadFrom { read } => ("wr", key(read)),
            Why::Overwritten { key } => ("ww", Some(*key)),
            Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Forced { read, .. } => {
                ("ww", key(read))
            }
            Why::Misses { read } => ("rw", key(read)),
        }
    }

    fn node(&self, node: Node) -> Json {
        match node {
            Node::Initial => "initial".into(),
            Node::Txn(txn) => self.teller.full_txn(txn).into(),
        }
    }
}

/// The transactions of an occurrence: those of the cycle in its order, then those of other operations.
fn transactions(history: &History, edges: &[Edge], ops: &[Op]) -> Vec<Txn> {
    let nodes = edges.iter().filter_map(|edge| match edge.from {
        Node::Initial => None,
        Node::Txn(txn) => Some(txn),
    });
    let mut met = BTreeSet::new();
    nodes.chain(ops.iter().map(|&op| history.txn_of(op))).filter(|&txn| met.insert(txn)).collect()
}

/// A value as JSON has it; what JSON lacks is text in the notation.
fn value(history: &History, of: Value) -> Json {
    match history.datum(of) {
        Datum::Nil | Datum::Unknown => Json::Null,
        Datum::Bool(b) => b.into(),
        Datum::Int(n) => n.into(),
        Datum::Nat(n) => n.into(),
        Datum::Float(x) if x.is_finite() => x.into(),
        Datum::Float(_) | Datum::Keyword(_) => {
            isoscope_history::notation::ValueText(history, of).to_string().into()
        }
        Datum::Text(text) => text.into(),
        Datum::List(elements) => elements.iter().map(|&element| value(history, element)).collect(),
    }
}

/// The cycle of an occurrence, and the main one of a proof by cases or of all worlds.
pub(super) fn cycle(evidence: &Evidence) -> &[Edge] {
    match evidence.main() {
        Evidence::Cycle(edges) => edges,
        Evidence::Cases(proof) => main_cycle(proof),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => &[],
    }
}
