//! A proof that a weak level is violated whoever wrote what was read, where values repeat.
//!
//! With the sources of all reads known, the level is decided in polynomial time and shows a cycle. Where some are open, a
//! violation found by ignoring them is one under every choice. So sources are assumed one read after the other, those first that
//! the search stumbled over most often, until there is a cycle in every case.

use isoscope_history::{Op, Txn};
use isoscope_levels::Anomaly;
use rustc_hash::FxHashMap;

use super::broken;
use super::problem::{INITIAL, OPEN, Problem};
use super::search::Axiom;
use crate::certificate::{Against, Case, Edge, Limit, Proof};
use crate::resolve::{Link, Resolved};
use crate::watch::{Watch, go_on};

/// A cycle that a level forbids, and its name.
pub(crate) struct Leaf {
    pub(crate) cycle: Vec<Edge>,
    pub(crate) anomaly: Anomaly,
    pub(crate) against: Option<Against>,
}

/// More cases than this are not gone through.
const MOST_CASES: usize = 20_000;

/// A case to be told: what is known in it, and where its number is to be entered.
struct Todo {
    resolved: Resolved,
    place: Option<(usize, usize)>,
}

/// The proof, unless it has too many cases or a limit is reached.
pub(super) fn prove(
    problem: &Problem<'_>,
    axioms: &[Axiom],
    watch: &dyn Watch,
    leaf: &mut dyn FnMut(&Resolved) -> Option<Leaf>,
) -> Result<Proof, Limit> {
    let mut often: FxHashMap<u32, usize> = FxHashMap::default();
    for axiom in axioms {
        if let Axiom::Sources { read } | Axiom::Between { read, .. } = axiom {
            *often.entry(*read).or_default() += 1;
        }
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut todo = vec![Todo { resolved: problem.resolved.clone(), place: None }];
    while let Some(Todo { resolved, place }) = todo.pop() {
        let number = cases.len();
        go_on(watch)?;
        if number > MOST_CASES {
            return Err(Limit::Proof);
        }
        if let Some(place) = place {
            broken::enter(&mut cases, place, number);
        }
        if let Some(leaf) = leaf(&resolved) {
            cases.push(Case::Cycle(leaf.cycle));
            continue;
        }
        go_on(watch)?;
        let is_open =
            |read: &u32| resolved.links[problem.reads[*read as usize].op.index()] == Link::AMBIGUOUS;
        let open = (0..problem.reads.len() as u32).filter(is_open);
        let next = open.max_by_key(|read| (often.get(read).copied(), std::cmp::Reverse(*read)));
        let next = next.ok_or(Limit::Proof)?;
        let read = &problem.reads[next as usize];
        let sources: Vec<u32> = match problem.open.binary_search_by_key(&next, |open| open.read) {
            Ok(place) => problem.open[place].sources.iter().collect(),
            Err(_) => vec![read.source],
        };
        let split = broken::split(problem, read.op, &sources, &mut cases);
        for (which, &source) in sources.iter().enumerate().rev() {
            let resolved = assume(problem, &resolved, read.op, source);
            todo.push(Todo { resolved, place: Some((split, which)) });
        }
    }
    Ok(Proof { cases })
}

/// The same history where one read has a source, which is there then.
pub(super) fn assume(problem: &Problem<'_>, resolved: &Resolved, read: Op, source: u32) -> Resolved {
    let mut resolved = resolved.clone();
    if source == INITIAL {
        resolved.links[read.index()] = Link::INITIAL;
        return resolved;
    }
    resolved.links[read.index()] = Link::from(Txn(source));
    let mut todo = vec![source];
    while let Some(txn) = todo.pop() {
        if std::mem::replace(&mut resolved.present[txn as usize], true) {
            continue;
        }
        for op in problem.history.ops_of(Txn(txn)).filter(|op| op.kind.is_write() && op.last_write) {
            resolved.links[op.id.index()] = Link::WRITE;
        }
        for i in problem.reads_of(txn) {
            let read = problem.reads[i];
            resolved.links[read.op.index()] = match read.source {
                OPEN => Link::AMBIGUOUS,
                INITIAL => Link::INITIAL,
                source => {
                    todo.push(source);
                    Link::from(Txn(source))
                }
            };
        }
    }
    resolved
}
