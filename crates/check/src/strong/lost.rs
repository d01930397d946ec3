//! Lost updates: transactions that read the same version of a key and all overwrite it.
//!
//! Saturation meets them, but as one contradiction among the many that follow from them, and its proof is the shortest one that
//! it finds for a component. Users look for this anomaly by its name, so it is searched by its shape: whichever of two such transactions wrote first, the other missed it. That is a proof of three cases at most: the
//! two orders of the two, and before them, unless they read the initial state, that the version they read is older than
//! what either wrote over it.

use isoscope_history::{Key, Txn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::Rules;
use super::problem::Problem;
use super::refute::{By, Hop, Prover, Tree};
use super::sources::Source;
use crate::certificate::{Limit, Proof};
use crate::semantics::Sight;
use crate::watch::{Turnstile, Watch};

/// The lost updates of a history.
#[derive(Default)]
pub(super) struct Lost {
    /// For each version of a key, the reads of those that overwrote it; there are at least two.
    groups: Vec<Vec<u32>>,
    /// The groups of each transaction.
    by_txn: FxHashMap<u32, Vec<u32>>,
}

impl Lost {
    /// Looks for them, where the level forbids them.
    pub(super) fn find(problem: &Problem<'_>, rules: Rules, watch: &dyn Watch) -> Result<Lost, Limit> {
        let turnstile = Turnstile::new(watch);
        let mut by_version: FxHashMap<(Key, Source), Vec<u32>> = FxHashMap::default();
        if rules.conflicts {
            for (read, i) in problem.reads.iter().zip(0..) {
                turnstile.pass()?;
                // Cursors are on single keys.
                let spared = rules.sight == Sight::Cursor && problem.history.op(read.op).in_range;
                if read.source == Source::OPEN || spared || !overwrites(problem, i) {
                    continue;
                }
                let group = by_version.entry((read.key, read.source)).or_default();
                // Reads are sorted by transaction, and one transaction may read a version more than once.
                if group.last().is_none_or(|&last| problem.reads[last as usize].txn != read.txn) {
                    group.push(i);
                }
            }
        }
        let mut groups: Vec<Vec<u32>> = by_version.into_values().filter(|reads| reads.len() > 1).collect();
        groups.sort_unstable();
        let mut by_txn: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (group, number) in groups.iter().zip(0..) {
            for &read in group {
                turnstile.pass()?;
                by_txn.entry(problem.reads[read as usize].txn).or_default().push(number);
            }
        }
        Ok(Lost { groups, by_txn })
    }

    /// The updates that were lost: of those that overwrote a version, all but one, each as the reads of two.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.groups.iter().flat_map(|group| group[1..].iter().map(|&other| (group[0], other)))
    }

    /// The proof for an update that was lost.
    pub(super) fn proof(prover: &Prover<'_>, (one, other): (u32, u32)) -> Proof {
        prover.proof(tree(prover, one, other))
    }

    /// Whether a proof shows no more than that an update was lost: it has two transactions that overwrote one version.
    pub(super) fn explain(&self, proof: &Proof) -> bool {
        let nodes = proof.cycles().flat_map(|(_, cycle)| cycle).map(|edge| edge.from);
        let txns: FxHashSet<u32> = nodes.filter_map(|node| Some(node.txn()?.0)).collect();
        let mut met = FxHashSet::default();
        let mut groups = txns.iter().filter_map(|txn| self.by_txn.get(txn)).flatten();
        groups.any(|&group| !met.insert(group))
    }
}

/// Whether a transaction that took effect overwrites what it read.
fn overwrites(problem: &Problem<'_>, read: u32) -> bool {
    let read = problem.reads[read as usize];
    problem.is_present(read.txn) && problem.history.writes(Txn(read.txn), read.key)
}

/// Why two transactions cannot both have overwritten the version they read.
fn tree(prover: &Prover<'_>, one: u32, other: u32) -> Tree {
    let reads = &prover.problem.reads;
    let (key, first, second) = (reads[one as usize].key, reads[one as usize].txn, reads[other as usize].txn);
    let rules = prover.events.rules;
    // `before` wrote first, so the read of `after` missed it.
    let missed = |before: u32, after: u32, read: u32| {
        let order = Hop { from: rules.commit(before), to: rules.overwrite(after), by: By::Order(key) };
        let miss = Hop { from: rules.begin(after), to: rules.commit(before), by: By::Missed(read) };
        Tree::Cycle(vec![order, miss])
    };
    let cases = [missed(first, second, other), missed(second, first, one)];
    let both = Tree::Versions { key, first, second, cases: Box::new(cases) };
    let inner = older(prover, one, other, both);
    older(prover, other, one, inner)
}

/// Puts before a tree that the version a transaction read is older than what it wrote, unless the read of the other that is
/// to have missed it needs no such thing.
fn older(prover: &Prover<'_>, read: u32, missing: u32, then: Tree) -> Tree {
    let read = prover.problem.reads[read as usize];
    let Some(source) = read.source.txn().filter(|_| !prover.is_plainly_missed(missing, read.txn)) else {
        return then;
    };
    let rules = prover.events.rules;
    let path = prover.path(rules.overwrite(source), rules.commit(read.txn), 0, &|_| true);
    let mut cycle = path.unwrap_or_default();
    let (from, to) = (rules.commit(read.txn), rules.overwrite(source));
    cycle.push(Hop { from, to, by: By::Order(read.key) });
    let (first, second) = (read.txn, source);
    Tree::Versions { key: read.key, first, second, cases: Box::new([Tree::Cycle(cycle), then]) }
}
