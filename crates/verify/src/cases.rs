//! Checks a proof by cases: a cycle must refute every alternative of every choice.
//!
//! A choice must be exhaustive: in every explanation of the history that agrees with the assumptions so far,
//! one of its alternatives is true. Of two writers of a key, one is the first. A read of a transaction that
//! took effect reads from one of its *possible writers*. These are the other transactions that did not abort
//! and whose final write of the key has the value read (for a list: the last element of its external part),
//! and the initial state if it has that value. A read without possible writers is wrong in every order, so a
//! choice without alternatives refutes its case.
//!
//! The walk over the tree does not recurse. It takes each assumption back on the way up ([`Given`]).
//!
//! Cost: every edge of every leaf once, and one pass over the writes of the history for the possible writers.

use isoscope_history::{Key, Op, Outcome, Txn, Value};
use isoscope_levels::Level;
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Facts, Source};
use super::findings::{self, Needed, read_of};
use super::given::Given;
use super::{Refutation, classify, cycle, ensure, shape};
use isoscope_certificate::{Case, Choice, Edge, Finding, Node, Proof, Through};

/// Checks a proof and the name of the anomaly.
pub(super) fn check(
    facts: &Facts<'_>,
    level: Level,
    finding: &Finding,
    proof: &Proof,
) -> Result<(), Refutation> {
    check_tree(proof)?;
    let cycles: Vec<&[Edge]> = proof.cases.iter().filter_map(cycle_of).collect();
    findings::check_through(finding, &cycles)?;
    let through = cycles.iter().map(|edges| shape::through(edges)).max().unwrap_or_default();
    let on_ranges = cycles.iter().any(|edges| shape::misses_range(facts, edges));
    let main = main_case(proof);
    let writers = PossibleWriters::new(facts, proof);
    let walk = Walk { level, finding, proof, main, weaker: None, writers };
    walk.run(&mut Given::nothing(facts))?;
    let weaker = Some(Needed { through, on_ranges });
    Walk { weaker, ..walk }.run(&mut Given::nothing(facts))
}

/// Every node but the root is the child of exactly one earlier node.
fn check_tree(proof: &Proof) -> Result<(), Refutation> {
    ensure(!proof.cases.is_empty(), || "a proof without a case".to_owned())?;
    let mut reached = vec![false; proof.cases.len()];
    reached[0] = true;
    for (node, case) in proof.cases.iter().enumerate() {
        let Case::Split { cases, .. } = case else { continue };
        for &child in cases {
            let child = child as usize;
            ensure(node < child && child < reached.len(), || format!("case {child} does not follow {node}"))?;
            let again = std::mem::replace(&mut reached[child], true);
            ensure(!again, || format!("case {child} is reached twice"))?;
        }
    }
    match reached.iter().position(|&reached| !reached) {
        None => Ok(()),
        Some(node) => Err(Refutation::new(format!("case {node} is not reached"))),
    }
}

/// The leaf that the anomaly is named after: the last cycle, or the last wrong read if no leaf is a cycle.
fn main_case(proof: &Proof) -> usize {
    let is_cycle = |case: &Case| matches!(case, Case::Cycle(_));
    let is_leaf = |case: &Case| matches!(case, Case::Split { cases, .. } if cases.is_empty());
    let cycle = proof.cases.iter().rposition(is_cycle);
    cycle.or_else(|| proof.cases.iter().rposition(is_leaf)).unwrap_or(0)
}

fn cycle_of(case: &Case) -> Option<&[Edge]> {
    match case {
        Case::Cycle(edges) => Some(edges),
        Case::Split { .. } => None,
    }
}

/// The constants of a walk over a proof.
struct Walk<'a> {
    level: Level,
    finding: &'a Finding,
    proof: &'a Proof,
    main: usize,
    /// Set on the second walk, which checks the other levels that forbid the anomaly: what the proof needs.
    weaker: Option<Needed>,
    writers: PossibleWriters,
}

/// A node on the path from the root to the current case.
struct Open {
    node: usize,
    /// How many of its alternatives are refuted.
    refuted: usize,
    /// The mark to return to, taken before the assumption that led here.
    mark: usize,
}

impl Walk<'_> {
    fn run(&self, given: &mut Given<'_, '_>) -> Result<(), Refutation> {
        let mut path = vec![Open { node: 0, refuted: 0, mark: 0 }];
        while let Some(open) = path.last_mut() {
            let number = open.node;
            if open.refuted == 0 {
                given.facts.go_on()?;
                self.enter(given, number).map_err(|refutation| refutation.about(format!("case {number}")))?;
            }
            match &self.proof.cases[number] {
                Case::Split { choice, cases } if open.refuted < cases.len() => {
                    let (mark, child) = (given.mark(), cases[open.refuted] as usize);
                    assume(given, choice, open.refuted);
                    open.refuted += 1;
                    path.push(Open { node: child, refuted: 0, mark });
                }
                _ => {
                    given.forget(open.mark);
                    path.pop();
                }
            }
        }
        Ok(())
    }

    /// Checks one node under the assumptions made above it.
    fn enter(&self, given: &Given<'_, '_>, node: usize) -> Result<(), Refutation> {
        match &self.proof.cases[node] {
            Case::Cycle(edges) => {
                if let Some(needed) = self.weaker {
                    let anomaly = self.finding.anomaly;
                    return findings::check_others(given, self.level, anomaly, needed, edges);
                }
                cycle::check(given, self.level, edges)?;
                if node == self.main { findings::check_shape(given, self.finding, edges) } else { Ok(()) }
            }
            Case::Split { choice, cases } => {
                let alternatives = match choice {
                    Choice::Source { read, writers } => self.check_source(given, node, *read, writers)?,
                    Choice::Versions { key, first, second } => check_versions(given, *key, *first, *second)?,
                };
                ensure(cases.len() == alternatives, || {
                    format!("{} cases for {alternatives} alternatives", cases.len())
                })
            }
        }
    }

    /// The number of alternatives of a choice of writers. Fails if a possible writer is left out.
    fn check_source(
        &self,
        given: &Given<'_, '_>,
        node: usize,
        read: Op,
        named: &[Node],
    ) -> Result<usize, Refutation> {
        let (level, facts) = (self.level, given.facts);
        ensure(level.implies(Level::AdyaPl2), || format!("{level} knows no reads"))?;
        let (view, reader) = read_of(given, read)?;
        ensure(!given.assumes_source(read), || {
            format!("the writer of {} is assumed already", facts.text(read))
        })?;
        let possible = match facts.source(read) {
            Source::Nothing | Source::Own => {
                return Err(Refutation::new(format!("{} has no writer to choose", facts.text(read))));
            }
            Source::Wrong => Vec::new(),
            Source::From(_) | Source::Ambiguous => self.writers.of(facts, read),
        };
        for &writer in named {
            let exists = !matches!(writer, Node::Txn(txn) if txn.index() >= facts.history.txn_count());
            ensure(exists, || format!("{writer:?} is no transaction"))?;
        }
        let named_once: FxHashSet<Node> = named.iter().copied().collect();
        ensure(possible.iter().all(|writer| named_once.contains(writer)), || {
            format!("a possible writer of {} is left out", facts.text(read))
        })?;
        if node == self.main {
            let shown = classify::anomalies(facts, view, reader).contains(&self.finding.anomaly);
            let plain = self.finding.against.is_none() && self.finding.through == Through::Dependencies;
            ensure(shown && plain, || format!("{} shows another anomaly", facts.text(read)))?;
        }
        Ok(named.len())
    }
}

/// The two alternatives of a choice of versions.
fn check_versions(given: &Given<'_, '_>, key: Key, first: Txn, second: Txn) -> Result<usize, Refutation> {
    let facts = given.facts;
    ensure(key.index() < facts.history.key_count(), || format!("{key:?} is no key"))?;
    ensure(first != second, || "one writer, not two".to_owned())?;
    for txn in [first, second] {
        ensure(txn.index() < facts.history.txn_count(), || format!("{txn:?} is no transaction"))?;
        ensure(given.is_present(txn), || format!("{} is absent", facts.name(txn)))?;
        ensure(facts.writes(txn, key), || format!("{} does not write the key", facts.name(txn)))?;
    }
    let is_chosen = given.is_overwritten(key, first, second) || given.is_overwritten(key, second, first);
    ensure(!is_chosen, || "which of the two was first is assumed already".to_owned())?;
    Ok(2)
}

fn assume(given: &mut Given<'_, '_>, choice: &Choice, alternative: usize) {
    match choice {
        Choice::Source { read, writers } => given.assume_source(*read, writers[alternative]),
        Choice::Versions { key, first, second } if alternative == 0 => {
            given.assume_versions(*key, *first, *second);
        }
        Choice::Versions { key, first, second } => given.assume_versions(*key, *second, *first),
    }
}

/// The possible writers of every read that the proof splits on.
struct PossibleWriters(FxHashMap<(Key, Value), Vec<Txn>>);

impl PossibleWriters {
    fn new(facts: &Facts<'_>, proof: &Proof) -> PossibleWriters {
        let mut writers: FxHashMap<(Key, Value), Vec<Txn>> = FxHashMap::default();
        for case in &proof.cases {
            if let Case::Split { choice: Choice::Source { read, .. }, .. } = case
                && read.index() < facts.history.op_count()
                && let Some(place) = place(facts, *read)
            {
                writers.insert(place, Vec::new());
            }
        }
        if writers.is_empty() {
            return PossibleWriters(writers);
        }
        for txn in facts.history.txns().filter(|&txn| facts.history.outcome(txn) != Outcome::Aborted) {
            for write in facts.history.ops_of(txn).filter(|op| op.last_write) {
                if let Some(writers) = writers.get_mut(&(write.key, write.value)) {
                    writers.push(txn);
                }
            }
        }
        PossibleWriters(writers)
    }

    /// The possible writers of a read that is not wrong in every order.
    fn of(&self, facts: &Facts<'_>, read: Op) -> Vec<Node> {
        let (view, reader) = (facts.history.op(read), facts.history.txn_of(read));
        let is_initial = if facts.is_list(view.key) {
            facts.external_part(view, reader) == Some(facts.initial_elements(view.key))
        } else {
            facts.history.is_initial(view.key, view.value)
        };
        let initial = is_initial.then_some(Node::Initial);
        let writers = place(facts, read).and_then(|place| self.0.get(&place));
        let others = writers.into_iter().flatten().filter(|&&txn| txn != reader);
        initial.into_iter().chain(others.map(|&txn| Node::Txn(txn))).collect()
    }
}

/// The key and value that a possible writer of the read must have written last.
fn place(facts: &Facts<'_>, read: Op) -> Option<(Key, Value)> {
    let view = facts.history.op(read);
    if !view.kind.is_read() {
        None
    } else if facts.is_list(view.key) {
        let part = facts.external_part(view, facts.history.txn_of(read))?;
        part.last().map(|&element| (view.key, element))
    } else {
        Some((view.key, view.value))
    }
}
