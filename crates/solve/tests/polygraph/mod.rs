//! Polygraphs (Papadimitriou 1979): edges, and choices between two edges of which one must hold.

// Each test and benchmark uses a part of this.
#![allow(dead_code)]

use std::collections::BinaryHeap;

use isoscope_solve::OrderSolver;

use crate::random::Random;

pub(crate) struct Polygraph {
    pub(crate) nodes: u32,
    pub(crate) edges: Vec<(u32, u32)>,
    /// One edge of each choice must be in the order.
    pub(crate) choices: Vec<[(u32, u32); 2]>,
}

/// Nodes that read and write cells one after the other; each read returns what was written last.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) nodes: u32,
    /// Nodes belong to chains, and the order of each chain is known.
    pub(crate) chains: u32,
    pub(crate) cells: u32,
    /// The number of reads per node; `writes` likewise.
    pub(crate) reads: u32,
    pub(crate) writes: u32,
    /// One read in `stale` returns the last value but one; 0 for none.
    pub(crate) stale: u32,
}

impl Polygraph {
    /// The constraints on an order when the writer of every read is known: the writer precedes the reader,
    /// and every other writer of the cell precedes the writer or follows the reader.
    pub(crate) fn of_turns(turns: Turns, seed: u64) -> Polygraph {
        let random = &mut Random::new(seed);
        let Turns { nodes, chains, cells, .. } = turns;
        let names = random.shuffled(nodes);
        let mut writers: Vec<Vec<u32>> = vec![Vec::new(); cells as usize];
        let mut readings: Vec<(u32, u32, u32)> = Vec::new();
        let mut last_of_chain: Vec<Option<u32>> = vec![None; chains as usize];
        let mut edges = Vec::new();
        for &node in &names {
            let chain = &mut last_of_chain[random.below(chains) as usize];
            edges.extend(chain.replace(node).map(|earlier| (earlier, node)));
            for _ in 0..turns.reads {
                let cell = random.below(cells);
                let back = if turns.stale > 0 && random.below(turns.stale) == 0 { 2 } else { 1 };
                let writers = &writers[cell as usize];
                if let Some(&writer) = writers.len().checked_sub(back).and_then(|i| writers.get(i)) {
                    edges.push((writer, node));
                    readings.push((cell, writer, node));
                }
            }
            for _ in 0..turns.writes {
                let writers = &mut writers[random.below(cells) as usize];
                if writers.last() != Some(&node) {
                    writers.push(node);
                }
            }
        }
        edges.retain(|(a, b)| a != b);
        let mut choices = Vec::new();
        for (cell, writer, reader) in readings {
            for &other in writers[cell as usize].iter().filter(|&&other| other != writer && other != reader) {
                choices.push([(other, writer), (reader, other)]);
            }
        }
        Polygraph { nodes, edges, choices }
    }

    /// Choices between random edges, along random known edges. With `hide`, one edge of each choice agrees
    /// with a hidden order; otherwise there may be no order.
    pub(crate) fn of_choices(nodes: u32, edges: u32, choices: u32, hide: bool, seed: u64) -> Polygraph {
        let random = &mut Random::new(seed);
        let place = random.shuffled(nodes);
        let forwards =
            |(a, b): (u32, u32)| if place[a as usize] < place[b as usize] { (a, b) } else { (b, a) };
        let edges: Vec<(u32, u32)> = (0..edges).map(|_| forwards(random.pair(nodes))).collect();
        let mut chosen = Vec::new();
        while chosen.len() < choices as usize {
            let (writer, reader) = edges[random.below(edges.len() as u32) as usize];
            let other = random.below(nodes);
            let choice = [(other, writer), (reader, other)];
            let sound = other != writer && other != reader;
            let within = choice.iter().any(|&edge| forwards(edge) == edge);
            if sound && (within || !hide) {
                chosen.push(choice);
            }
        }
        Polygraph { nodes, edges, choices: chosen }
    }

    /// A topological order of the edges, in which nodes of greater number come first where possible.
    pub(crate) fn start(&self) -> Vec<u32> {
        let mut waiting = vec![0u32; self.nodes as usize];
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); self.nodes as usize];
        for &(a, b) in &self.edges {
            after[a as usize].push(b);
            waiting[b as usize] += 1;
        }
        let mut ready: BinaryHeap<u32> =
            (0..self.nodes).filter(|&node| waiting[node as usize] == 0).collect();
        let mut order = Vec::new();
        while let Some(node) = ready.pop() {
            order.push(node);
            for &next in &after[node as usize] {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        order
    }

    /// A solver with the edges and without the choices.
    pub(crate) fn solver(&self) -> OrderSolver {
        OrderSolver::new(self.nodes as usize, &self.edges, &self.start())
    }

    /// Adds a choice to the solver.
    pub(crate) fn choose(&self, solver: &mut OrderSolver, choice: usize) {
        let lits = self.choices[choice].map(|(a, b)| solver.before(a, b));
        solver.add_clause(&lits);
    }

    /// The choices that an order violates. Panics if the order does not contain the edges.
    pub(crate) fn violated(&self, order: &[u32]) -> Vec<usize> {
        let mut places = vec![u32::MAX; self.nodes as usize];
        order.iter().zip(0..).for_each(|(&node, place)| places[node as usize] = place);
        let holds = |&(a, b): &(u32, u32)| places[a as usize] < places[b as usize];
        assert!(order.len() == places.len() && !places.contains(&u32::MAX), "every node once");
        assert!(self.edges.iter().all(holds), "the order contains the edges");
        (0..self.choices.len()).filter(|&choice| !self.choices[choice].iter().any(holds)).collect()
    }
}
