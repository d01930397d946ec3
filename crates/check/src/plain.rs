//! The weak engine: a weak level when reads with several possible writers are ignored.
//!
//! A violation that it finds is one for every choice of their writers. Where every read has one possible writer, *holds* is
//! final too.

use std::sync::Arc;

use isoscope_history::{History, Op, Txn};
use isoscope_levels::{Anomaly, Level};

use crate::analysis::Analysis;
use crate::axiom::Axiom;
use crate::certificate::{Against, Edge, Evidence, Finding, Node, Seen, Unknown, Verdict, Why, Witness};
use crate::cycles;
use crate::decide::decide;
use crate::findings::{Findings, violated};
use crate::options::Options;
use crate::resolve::Resolved;
use crate::semantics::{Method, Repeats, Semantics};
use crate::strong::{self, Answer, Leaf, LeafName};
use crate::trace::Relations;
use crate::watch::Watch;

/// See the module.
pub(crate) struct Plain<'a> {
    pub(crate) history: &'a History,
    pub(crate) resolved: &'a Resolved,
    pub(crate) options: Options,
    pub(crate) watch: &'a dyn Watch,
}

impl Plain<'_> {
    /// Decides a weak level; *unknown* only when a limit is reached. `known` is the commit order of a stronger level that holds.
    /// `analysis` keeps the anomalies of weaker axioms from one level to the next.
    pub(crate) fn decide(
        &self,
        level: Level,
        known: Option<Arc<[Txn]>>,
        analysis: &mut Option<Analysis>,
    ) -> Verdict {
        let findings = self.findings().inside_transactions(level);
        match Semantics::of(level).method {
            Method::Alone if findings.is_empty() => Verdict::Holds(Witness::default()),
            Method::Alone => violated(findings),
            Method::Cycles(relations) => self.by_cycles(relations, findings, known),
            Method::Axiom(axiom) => self.by_axiom(axiom, findings, known, analysis),
            Method::Certain => self.by_certain_cycles(level, findings),
            Method::Events(_) => unreachable!("{level} is not a weak level"),
        }
    }

    fn findings(&self) -> Findings<'_> {
        Findings { history: self.history, resolved: self.resolved, keep: self.options.kept() }
    }

    /// A level that is decided by cycles of some relations.
    fn by_cycles(
        &self,
        relations: Relations,
        mut findings: Vec<Finding>,
        known: Option<Arc<[Txn]>>,
    ) -> Verdict {
        if findings.is_empty()
            && let Some(order) = known
        {
            return Verdict::Holds(Witness::order(order));
        }
        match self.findings().of_cycles(relations, self.watch) {
            Ok(cycles) => findings.extend(cycles),
            Err(limit) if findings.is_empty() => return Verdict::Unknown(Unknown::Limit(limit)),
            // What was found so far is a violation, whatever cycles there are.
            Err(_) => {}
        }
        if findings.is_empty() {
            let order = cycles::order(self.history, self.resolved, relations);
            return Verdict::Holds(Witness::order(order.into()));
        }
        violated(findings)
    }

    /// A level that is decided by the commit order that its axiom forces.
    fn by_axiom(
        &self,
        axiom: Axiom,
        mut findings: Vec<Finding>,
        known: Option<Arc<[Txn]>>,
        analysis: &mut Option<Analysis>,
    ) -> Verdict {
        let Plain { history, resolved, options, watch } = *self;
        if findings.is_empty() {
            let order = match known {
                Some(order) => Ok(Some(order)),
                None => decide(history, resolved, axiom, watch),
            };
            match order {
                Ok(Some(order)) => return Verdict::Holds(Witness::order(order)),
                Ok(None) => {}
                Err(limit) => return Verdict::Unknown(Unknown::Limit(limit)),
            }
        }
        if analysis.as_ref().is_none_or(|analysis| !analysis.reaches(axiom)) {
            match Analysis::new(history, resolved, axiom, options.kept(), watch) {
                Ok(all) => *analysis = Some(all),
                Err(limit) if findings.is_empty() => return Verdict::Unknown(Unknown::Limit(limit)),
                // What was found so far is a violation, whatever else the analysis would find.
                Err(_) => return violated(findings),
            }
        }
        let cycles = self.findings().of_cycles(Relations::Given, watch);
        let stopped = cycles.as_ref().err().copied();
        findings.extend(cycles.unwrap_or_default());
        if let Some(analysis) = analysis {
            findings.extend(analysis.findings(resolved, axiom, options.kept()));
        }
        match stopped {
            Some(limit) if findings.is_empty() => Verdict::Unknown(Unknown::Limit(limit)),
            _ => violated(findings),
        }
    }

    /// PL-1 and PL-2 in an order that agrees with sessions or real time: by a cycle of what is certain.
    fn by_certain_cycles(&self, level: Level, mut findings: Vec<Finding>) -> Verdict {
        let Plain { history, resolved, options, watch } = *self;
        match strong::ordered(history, resolved, level, options.trust_timestamps, watch) {
            Answer::Violated(violation) => findings.extend(self.findings().of_violation(level, violation)),
            Answer::Holds(witness) if findings.is_empty() => return Verdict::Holds(witness),
            Answer::Stopped(limit) if findings.is_empty() => return Verdict::Unknown(Unknown::Limit(limit)),
            Answer::Holds(_) | Answer::Stopped(_) => {}
        }
        violated(findings)
    }

    /// The simplest cycle that violates a level, if it is violated. It is a case of a proof about all possible writers.
    pub(crate) fn leaf(&self, level: Level) -> Option<Leaf> {
        let Verdict::Violated(findings) = self.decide(level, None, &mut None) else { return None };
        let leaves = findings.into_iter().flat_map(|finding| {
            let name = LeafName { anomaly: finding.anomaly, against: finding.against };
            finding.instances.into_iter().filter_map(move |instance| match instance.evidence {
                Evidence::Cycle(cycle) => Some(Leaf { cycle, name }),
                _ => None,
            })
        });
        leaves.min_by_key(|leaf| leaf.cycle.len()).or_else(|| self.unrepeatable(level))
    }

    /// Two reads of one key by one transaction that are from two others: each writer is seen by the read that misses the other.
    fn unrepeatable(&self, level: Level) -> Option<Leaf> {
        let Plain { history, resolved, .. } = *self;
        if Semantics::of(level).repeats != Repeats::Ranges {
            return None;
        }
        let links = |op: Op| resolved.links[op.index()];
        for txn in history.txns().filter(|txn| resolved.present[txn.index()]) {
            let reads: Vec<Op> =
                history.op_range(txn).map(Op::at).filter(|&op| links(op).is_read()).collect();
            for (i, &first) in reads.iter().enumerate() {
                let differs =
                    |op: &&Op| history.key_of(**op) == history.key_of(first) && links(**op) != links(first);
                if let Some(&second) = reads[i + 1..].iter().find(differs) {
                    return Some(fractured(links(first).writer(), first, links(second).writer(), second));
                }
            }
        }
        None
    }
}

/// The cycle of a read from one writer and a read of the same key from another.
fn fractured(one: Node, first: Op, other: Node, second: Op) -> Leaf {
    let edge = |from: Node, to: Node, read: Op, seen: Op| {
        let why = match from {
            Node::Txn(_) => Why::Forced { read, seen: Seen::Read(seen) },
            Node::Initial => Why::Session,
        };
        Edge { from, to, why }
    };
    let mut cycle = vec![edge(other, one, first, second), edge(one, other, second, first)];
    if other == Node::Initial {
        cycle.reverse();
    }
    let against = if [one, other].contains(&Node::Initial) { Against::Causal } else { Against::Commit };
    Leaf { cycle, name: LeafName { anomaly: Anomaly::FracturedRead, against: Some(against) } }
}
