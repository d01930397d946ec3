//! Reachability in an event graph: a topological order, and vector clocks over chains along it.
//!
//! The clocks are computed anew whenever edges were added: a sweep costs edges × chains, which for graphs that are
//! almost chains is little more than writing the clocks down. Blocks of chains are swept in parallel.

use isoscope_history::History;
use isoscope_order::Graph;
use rayon::prelude::*;

use super::Events;
use crate::watch::{Turnstile, Watch};

/// Reachability in an event graph; see the module.
pub(crate) struct Reach {
    /// The place of each node in a topological order.
    pub(crate) place: Vec<u32>,
    width: u32,
    /// For each block of chains, the rows of all nodes.
    rows: Vec<Vec<u32>>,
}

/// Clocks of more bytes than this are not built: what they would show is left to the search.
const MOST_BYTES: usize = 3 << 30;
/// The same where sessions do not count and every transaction is a chain.
const MOST_BYTES_WITHOUT_SESSIONS: usize = 64 << 20;

impl Reach {
    /// Whether the clocks of all events are small enough to be built.
    pub(crate) fn fits(events: &Events) -> bool {
        let most = if events.rules.sessions { MOST_BYTES } else { MOST_BYTES_WITHOUT_SESSIONS };
        Reach::bytes(events) <= most as u64
    }

    /// The size of the clocks of all events, in bytes.
    pub(crate) fn bytes(events: &Events) -> u64 {
        4 * u64::from(events.nodes) * u64::from(events.chains)
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
        let threads = rayon::current_num_threads() as u32;
        let width = events.chains.div_ceil(threads).max(1);
        let rows = (0..events.chains.div_ceil(width))
            .into_par_iter()
            .map(|block| {
                let turnstile = Turnstile::new(watch);
                let order = order.iter().copied().take_while(|_| turnstile.step());
                sweep(history, events, &reversed, order, block * width, width)
            })
            .collect();
        Some(Reach { place, width, rows })
    }

    /// The nodes of a chain that precede a node are those below this bound.
    #[inline]
    pub(crate) fn bound(&self, node: u32, chain: u32) -> u32 {
        let (block, column) = (chain / self.width, chain % self.width);
        self.rows[block as usize][node as usize * self.width as usize + column as usize]
    }

    /// Whether a node of a chain precedes another.
    #[inline]
    pub(crate) fn precedes(&self, node: u32, chain: u32, other: u32) -> bool {
        node < self.bound(other, chain)
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

fn sweep(
    history: &History,
    events: &Events,
    reversed: &Graph,
    order: impl Iterator<Item = u32>,
    first: u32,
    width: u32,
) -> Vec<u32> {
    let wide = width as usize;
    let mut rows = vec![0u32; events.nodes as usize * wide];
    let mut row = vec![0u32; wide];
    for node in order {
        row.fill(0);
        for &before in reversed.successors(node) {
            let from = before as usize * wide;
            row.iter_mut().zip(&rows[from..from + wide]).for_each(|(a, &b)| *a = (*a).max(b));
            let column = events.chain_of(history, before).wrapping_sub(first) as usize;
            if let Some(bound) = row.get_mut(column) {
                *bound = (*bound).max(before + 1);
            }
        }
        rows[node as usize * wide..][..wide].copy_from_slice(&row);
    }
    rows
}
