//! Reachability in an event graph: a topological order, and vector clocks over chains along it.
//!
//! The clocks are computed anew whenever edges were added: a sweep costs edges × chains, which for graphs that are
//! almost chains is little more than writing the clocks down. Blocks of chains are swept in parallel.
//!
//! Where sessions do not count, every transaction is a chain, and a clock would have an entry for each of them. Then the events
//! before an event are a set of bits instead.

use isoscope_history::History;
use isoscope_order::Graph;
use rayon::prelude::*;

use super::Events;
use crate::watch::{Turnstile, Watch};

/// Reachability in an event graph; see the module.
pub(crate) struct Reach {
    /// The place of each node in a topological order.
    pub(crate) place: Vec<u32>,
    /// How many chains, or words of bits, a block has.
    width: usize,
    rows: Rows,
    /// Whether begin and commit are two events of a chain.
    split: bool,
}

/// For each block, the rows of all nodes.
enum Rows {
    /// By chain, the bound of the nodes that come before.
    Clocks(Vec<Vec<u32>>),
    /// The nodes that come before.
    Bits(Vec<Vec<u64>>),
}

/// Clocks of more bytes than this are not built: what they would show is left to the search.
const MOST_BYTES: u64 = 3 << 30;
/// The same where sessions do not count and every transaction is a chain.
const MOST_BYTES_WITHOUT_SESSIONS: u64 = 256 << 20;
/// The bits of a word.
const BITS: u32 = u64::BITS;

impl Reach {
    /// Whether what comes before every event is small enough to be written down.
    pub(crate) fn fits(events: &Events) -> bool {
        let most = if events.rules.sessions { MOST_BYTES } else { MOST_BYTES_WITHOUT_SESSIONS };
        Reach::bytes(events) <= most
    }

    /// The size of what comes before every event, in bytes.
    pub(crate) fn bytes(events: &Events) -> u64 {
        let nodes = u64::from(events.nodes);
        let row = if events.rules.sessions { 4 * u64::from(events.chains) } else { nodes.div_ceil(64) * 8 };
        nodes * row
    }

    /// Reachability along edges, or `None` when they have a cycle. If a limit is reached on the way, it is not complete: the
    /// caller must ask `watch` afterwards.
    pub(crate) fn new(
        history: &History,
        events: &Events,
        edges: &[(u32, u32)],
        watch: &dyn Watch,
    ) -> Option<Reach> {
        let reversed = reversed(events.nodes as usize, edges);
        let order = topological_order(&reversed)?;
        let mut place = vec![0; order.len()];
        for (&node, i) in order.iter().zip(0..) {
            place[node as usize] = i;
        }
        let is_clock = events.rules.sessions;
        let columns = if is_clock { events.chains } else { events.nodes.div_ceil(BITS) } as usize;
        let width = columns.div_ceil(rayon::current_num_threads()).max(1);
        let blocks = (0..columns.div_ceil(width)).into_par_iter();
        let rows = if is_clock {
            let clocks = |row: &mut [u32], first: usize, before: u32| {
                let column = (events.chain_of(history, before) as usize).wrapping_sub(first);
                if let Some(bound) = row.get_mut(column) {
                    *bound = (*bound).max(before + 1);
                }
            };
            let swept = |block| sweep(&reversed, &order, block * width, width, watch, u32::max, &clocks);
            Rows::Clocks(blocks.map(swept).collect())
        } else {
            let bits = |row: &mut [u64], first: usize, before: u32| {
                if let Some(word) = row.get_mut(((before / BITS) as usize).wrapping_sub(first)) {
                    *word |= 1 << (before % BITS);
                }
            };
            let swept = |block| sweep(&reversed, &order, block * width, width, watch, |a, b| a | b, &bits);
            Rows::Bits(blocks.map(swept).collect())
        };
        Some(Reach { place, width, rows, split: events.rules.split })
    }

    /// The nodes of a chain that precede a node are those below this bound.
    #[inline]
    pub(crate) fn bound(&self, node: u32, chain: u32) -> u32 {
        match &self.rows {
            Rows::Clocks(rows) => {
                let (block, column) = (chain as usize / self.width, chain as usize % self.width);
                rows[block][node as usize * self.width + column]
            }
            Rows::Bits(_) => {
                let (first, last) = if self.split { (2 * chain, 2 * chain + 1) } else { (chain, chain) };
                let before = (first..=last).rev().find(|&event| self.is_marked(node, event));
                before.map_or(0, |event| event + 1)
            }
        }
    }

    /// Whether a node of a chain precedes another.
    #[inline]
    pub(crate) fn precedes(&self, node: u32, chain: u32, other: u32) -> bool {
        match &self.rows {
            Rows::Clocks(_) => node < self.bound(other, chain),
            Rows::Bits(_) => self.is_marked(other, node),
        }
    }

    /// Whether one event is in the set of those before another.
    #[inline]
    fn is_marked(&self, node: u32, before: u32) -> bool {
        let Rows::Bits(rows) = &self.rows else { return false };
        let word = (before / BITS) as usize;
        let words = &rows[word / self.width];
        words[node as usize * self.width + word % self.width] >> (before % BITS) & 1 == 1
    }

    /// Of some nodes, those that precede no other of them, and all that precedes one of them.
    pub(crate) fn latest(&self, mut nodes: Vec<u32>) -> (Vec<u32>, Before) {
        let mut before = Before(Vec::new());
        nodes.sort_unstable_by_key(|&node| std::cmp::Reverse(self.place[node as usize]));
        nodes.retain(|&node| {
            let is_last = !before.has(node);
            if is_last && let Rows::Bits(rows) = &self.rows {
                let own = rows.iter().flat_map(|rows| &rows[node as usize * self.width..][..self.width]);
                if before.0.is_empty() {
                    before.0 = own.copied().collect();
                } else {
                    before.0.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
                }
            }
            is_last
        });
        (nodes, before)
    }
}

/// A set of nodes, as bits. It is empty where reachability is by clocks.
pub(crate) struct Before(Vec<u64>);

impl Before {
    pub(crate) fn has(&self, node: u32) -> bool {
        self.0.get((node / BITS) as usize).is_some_and(|word| word >> (node % BITS) & 1 == 1)
    }
}

/// The graph of reversed edges.
pub(crate) fn reversed(nodes: usize, edges: &[(u32, u32)]) -> Graph {
    let edges: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (to, from)).collect();
    Graph::from_edges(nodes, &edges)
}

/// An order in which every node comes after its successors in a reversed graph, if there is one.
pub(crate) fn topological_order(reversed: &Graph) -> Option<Vec<u32>> {
    const NEW: u32 = 0;
    const DONE: u32 = u32::MAX;
    let nodes = reversed.len();
    // While a node is open: one more than the number of its edges looked at.
    let mut state = vec![NEW; nodes];
    let mut order = Vec::with_capacity(nodes);
    let mut path: Vec<u32> = Vec::new();
    for root in 0..nodes as u32 {
        if state[root as usize] != NEW {
            continue;
        }
        path.push(root);
        state[root as usize] = 1;
        while let Some(&node) = path.last() {
            let seen = &mut state[node as usize];
            let Some(&before) = reversed.successors(node).get(*seen as usize - 1) else {
                *seen = DONE;
                order.push(node);
                path.pop();
                continue;
            };
            *seen += 1;
            match state[before as usize] {
                NEW => {
                    state[before as usize] = 1;
                    path.push(before);
                }
                DONE => {}
                _ => return None,
            }
        }
    }
    Some(order)
}

/// The rows of a block: what comes before every node, joined from those directly before it, which `mark` adds.
fn sweep<T: Copy + Default>(
    reversed: &Graph,
    order: &[u32],
    first: usize,
    width: usize,
    watch: &dyn Watch,
    join: impl Fn(T, T) -> T,
    mark: &dyn Fn(&mut [T], usize, u32),
) -> Vec<T> {
    let turnstile = Turnstile::new(watch);
    let mut rows = vec![T::default(); reversed.len() * width];
    let mut row = vec![T::default(); width];
    for &node in order.iter().take_while(|_| turnstile.step()) {
        row.fill(T::default());
        for &before in reversed.successors(node) {
            let from = before as usize * width;
            row.iter_mut().zip(&rows[from..from + width]).for_each(|(a, &b)| *a = join(*a, b));
            mark(&mut row, first, before);
        }
        rows[node as usize * width..][..width].copy_from_slice(&row);
    }
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use std::fmt::Write;

    use isoscope_history::notation;
    use isoscope_levels::Level;

    use super::*;
    use crate::events::Rules;
    use crate::resolve::Resolved;
    use crate::watch::NoLimits;

    /// Bits say the same as clocks over sessions of one transaction each, also across words and blocks.
    #[test]
    fn bits_agree_with_clocks() {
        let txns = 300;
        let mut text = String::new();
        for txn in 0..txns {
            // Every transaction has a session of its own.
            write!(text, "S{txn}: w(x,{}) ", txn + 1).unwrap();
        }
        let history = notation::parse(&text).unwrap();
        assert_eq!(history.session_count(), txns as usize);
        let resolved = Resolved::new(&history);
        let mut random = 1u32;
        for level in [Level::Serializable, Level::Snapshot] {
            let rules = Rules::of(level, false).unwrap();
            let mut edges = Vec::new();
            let clocks = Events::new(&history, &resolved, rules, &mut edges, &NoLimits).unwrap();
            let apart = Rules { sessions: false, ..rules };
            let bits = Events::new(&history, &resolved, apart, &mut Vec::new(), &NoLimits).unwrap();
            for _ in 0..400 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (one, other) = ((random >> 16) % txns, (random >> 4) % txns);
                if one != other {
                    edges.push((rules.commit(one.max(other)), rules.begin(one.min(other))));
                }
            }
            let clocked = Reach::new(&history, &clocks, &edges, &NoLimits).unwrap();
            let marked = Reach::new(&history, &bits, &edges, &NoLimits).unwrap();
            let mut any = 0;
            for (node, txn) in (0..bits.nodes).flat_map(|node| (0..txns).map(move |txn| (node, txn))) {
                let bound = clocked.bound(node, txn);
                assert_eq!(marked.bound(node, txn), bound, "{txn} before {node}");
                let commit = rules.commit(txn);
                assert_eq!(marked.precedes(commit, txn, node), commit < bound, "{txn} before {node}");
                any += usize::from(bound > 0);
            }
            assert!(any > 1_000, "{any}");

            let nodes: Vec<u32> = (0..bits.nodes).step_by(3).collect();
            let precedes = |node: u32, other: u32| marked.precedes(node, rules.txn(node), other);
            let (latest, before) = marked.latest(nodes.clone());
            for node in nodes.iter().copied() {
                let is_latest = !nodes.iter().any(|&other| precedes(node, other));
                assert_eq!(latest.contains(&node), is_latest, "{node}");
            }
            for node in 0..bits.nodes {
                assert_eq!(before.has(node), nodes.iter().any(|&other| precedes(node, other)), "{node}");
            }
        }
    }
}
