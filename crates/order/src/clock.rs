//! Vector clocks over chains (Mattern 1989), computed in one sweep along a topological order.
//!
//! Nodes are grouped in chains: the nodes of a chain have ascending ids and each precedes the next. So one
//! number per chain describes everything that precedes a node: how far up the chain it reaches. The clock of
//! a node is the join of its predecessors' clocks and the predecessors themselves.
//!
//! All clocks together take nodes × chains numbers. They are computed for one block of chains at a time.
//! Blocks do not depend on each other, so they run in parallel. If all blocks fit into the memory budget,
//! they are kept. Otherwise every query costs another sweep, with blocks narrow enough that those in flight
//! fit. The work of a sweep is edges × chains, independent of the block width.

use std::ops::Range;

use rayon::prelude::*;

/// A partial order, as chains and the other direct predecessors of each node.
pub trait Precedence: Sync {
    /// The number of chains.
    fn chains(&self) -> u32;
    /// The number of nodes.
    fn nodes(&self) -> usize;
    /// The chain of a node.
    fn chain_of(&self, node: u32) -> u32;
    /// Calls `each` with the direct predecessors of a node.
    fn predecessors(&self, node: u32, each: impl FnMut(u32));
}

/// The predecessors of a node, restricted to a block of chains.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    first: u32,
    row: &'a [u32],
}

impl Clock<'_> {
    /// The chains this clock covers.
    pub fn block(&self) -> Range<u32> {
        self.first..self.first + self.row.len() as u32
    }

    /// Whether a node of a chain precedes this one; also `false` if the chain is not in the block.
    #[inline]
    pub fn follows(&self, chain: u32, node: u32) -> bool {
        self.row.get(chain.wrapping_sub(self.first) as usize).is_some_and(|&bound| node < bound)
    }

    /// The upper bound of a chain of the block: its nodes below the bound precede this node.
    #[inline]
    pub fn bound(&self, chain: u32) -> u32 {
        self.row[(chain - self.first) as usize]
    }
}

/// The clocks of a partial order; see the module.
pub struct Clocks<'p, P> {
    precedence: &'p P,
    order: Vec<u32>,
    width: u32,
    /// One entry per block with the rows of all nodes, if they fit into the budget.
    kept: Option<Vec<Vec<u32>>>,
}

/// The memory budget for clocks.
const BUDGET_BYTES: usize = 1 << 30;

impl<'p, P: Precedence> Clocks<'p, P> {
    /// Computes the clocks, given a topological order.
    pub fn new(precedence: &'p P, order: Vec<u32>) -> Self {
        Clocks::within(precedence, order, BUDGET_BYTES)
    }

    fn within(precedence: &'p P, order: Vec<u32>, budget_bytes: usize) -> Self {
        let threads = rayon::current_num_threads();
        let (chains, column) = (precedence.chains(), 4 * precedence.nodes().max(1));
        let fit = chains as usize * column <= budget_bytes;
        let affordable = budget_bytes / (column * if fit { 1 } else { threads });
        let width = (chains as usize).div_ceil(threads).min(affordable).max(1) as u32;
        let mut clocks = Clocks { precedence, order, width, kept: None };
        if fit {
            clocks.kept = Some(clocks.blocks().map(|block| clocks.sweep(block, |_, _| {})).collect());
        }
        clocks
    }

    /// The partial order.
    pub fn precedence(&self) -> &'p P {
        self.precedence
    }

    /// Visits some nodes with their clocks, once for each block of chains, and collects the results in no
    /// particular order.
    pub fn visit<T: Send>(
        &self,
        nodes: &[u32],
        visit: impl Fn(u32, Clock<'_>, &mut Vec<T>) + Sync,
    ) -> Vec<T> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let found: Vec<Vec<T>> = if let Some(kept) = &self.kept {
            let look = |mut found: Vec<T>, &node: &u32| {
                for (rows, block) in kept.iter().zip(self.starts()) {
                    visit(node, clock_of(rows, self.block(block), node), &mut found);
                }
                found
            };
            nodes.par_iter().with_min_len(64).fold(Vec::new, look).collect()
        } else {
            let mut asked = vec![false; self.precedence.nodes()];
            for &node in nodes {
                asked[node as usize] = true;
            }
            self.blocks().map(|block| self.visit_block(block, &asked, &visit)).collect()
        };
        found.into_iter().flatten().collect()
    }

    fn visit_block<T>(
        &self,
        block: Range<u32>,
        asked: &[bool],
        visit: impl Fn(u32, Clock<'_>, &mut Vec<T>),
    ) -> Vec<T> {
        let mut found = Vec::new();
        self.sweep(block, |node, clock| {
            if asked[node as usize] {
                visit(node, clock, &mut found);
            }
        });
        found
    }

    fn starts(&self) -> impl Iterator<Item = u32> + use<P> {
        (0..self.precedence.chains()).step_by(self.width as usize)
    }

    fn block(&self, start: u32) -> Range<u32> {
        start..self.precedence.chains().min(start + self.width)
    }

    fn blocks(&self) -> impl ParallelIterator<Item = Range<u32>> + '_ {
        let starts: Vec<u32> = self.starts().collect();
        starts.into_par_iter().map(|start| self.block(start))
    }

    /// Computes the clocks of a block along the order.
    fn sweep(&self, block: Range<u32>, mut visit: impl FnMut(u32, Clock<'_>)) -> Vec<u32> {
        let width = block.len();
        let mut rows = vec![0u32; self.precedence.nodes() * width];
        let mut row = vec![0u32; width];
        for &node in &self.order {
            row.fill(0);
            self.precedence.predecessors(node, |other| {
                let from = other as usize * width;
                row.iter_mut().zip(&rows[from..from + width]).for_each(|(a, &b)| *a = (*a).max(b));
                let chain = self.precedence.chain_of(other).wrapping_sub(block.start) as usize;
                if let Some(bound) = row.get_mut(chain) {
                    *bound = (*bound).max(other + 1);
                }
            });
            visit(node, Clock { first: block.start, row: &row });
            rows[node as usize * width..][..width].copy_from_slice(&row);
        }
        rows
    }
}

fn clock_of(rows: &[u32], block: Range<u32>, node: u32) -> Clock<'_> {
    let from = node as usize * block.len();
    Clock { first: block.start, row: &rows[from..from + block.len()] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Chains of three nodes each, with additional ascending edges.
    struct Small {
        before: Vec<Vec<u32>>,
    }

    impl Precedence for Small {
        fn chains(&self) -> u32 {
            (self.before.len() as u32).div_ceil(3)
        }
        fn nodes(&self) -> usize {
            self.before.len()
        }
        fn chain_of(&self, node: u32) -> u32 {
            node / 3
        }
        fn predecessors(&self, node: u32, mut each: impl FnMut(u32)) {
            if !node.is_multiple_of(3) {
                each(node - 1);
            }
            self.before[node as usize].iter().for_each(|&other| each(other));
        }
    }

    proptest! {
        /// Clocks agree with a graph search, whether they are kept or computed again.
        #[test]
        fn clocks_are_reachability(
            raw in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..14),
            budget in prop::sample::select(vec![0usize, 60, 1 << 20]),
        ) {
            let before = raw.iter().enumerate().map(|(node, list)| {
                list.iter().filter(|_| node > 0).map(|i| i.index(node) as u32).collect()
            }).collect();
            let small = Small { before };
            let nodes: Vec<u32> = (0..raw.len() as u32).collect();
            let clocks = Clocks::within(&small, nodes.clone(), budget);
            let found = clocks.visit(&nodes, |node, clock, found| {
                found.extend(nodes.iter().filter(|&&n| clock.follows(n / 3, n)).map(|&n| (n, node)));
            });
            let mut found_sorted = found;
            found_sorted.sort_unstable();
            let mut expected = Vec::new();
            for &node in &nodes {
                let mut seen = vec![false; nodes.len()];
                let mut todo = vec![node];
                while let Some(next) = todo.pop() {
                    small.predecessors(next, |other| {
                        if !std::mem::replace(&mut seen[other as usize], true) {
                            todo.push(other);
                        }
                    });
                }
                expected.extend(nodes.iter().filter(|&&n| seen[n as usize]).map(|&n| (n, node)));
            }
            expected.sort_unstable();
            prop_assert_eq!(found_sorted, expected);
        }
    }
}
