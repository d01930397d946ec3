//! What proofs and edges look like: the cycles of a proof, the one it is named after, and the kind of an edge.
//!
//! These are readings of the data, without the history. The verifier has its own, on purpose.

use isoscope_history::Op;

use crate::{Case, Edge, Evidence, Finding, Node, Proof, Seen, Through, Why};

/// The kind of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// Session order, real-time order or read-from: the later transaction has seen the earlier one.
    Seen,
    /// The later transaction overwrote a version of the earlier one.
    Overwritten,
    /// An anti-dependency: the earlier transaction read a version that the later one overwrote.
    Missed,
}

impl Edge {
    /// The kind of the edge.
    pub fn dependency(&self) -> Dependency {
        match self.why {
            Why::Session | Why::RealTime | Why::ReadFrom { .. } => Dependency::Seen,
            Why::Overwritten { .. } | Why::Versions { .. } | Why::Missing { .. } | Why::Forced { .. } => {
                Dependency::Overwritten
            }
            Why::Misses { .. } => Dependency::Missed,
        }
    }
}

impl Through {
    /// What a cycle needs besides reads and writes. That the initial state precedes all transactions needs no session.
    pub fn of(cycle: &[Edge]) -> Through {
        let of = |edge: &Edge| match edge.why {
            Why::RealTime => Through::RealTime,
            Why::Session if edge.from != Node::Initial => Through::Sessions,
            _ => Through::Dependencies,
        };
        cycle.iter().map(of).max().unwrap_or_default()
    }

    /// The same, where what a reader had seen counts as well.
    pub fn behind(cycle: &[Edge]) -> Through {
        let seen = |edge: &Edge| match &edge.why {
            Why::Forced { seen: Seen::Session, .. } => Through::Sessions,
            Why::Forced { seen: Seen::Causal(path), .. } => Through::of(path),
            _ => Through::Dependencies,
        };
        cycle.iter().map(seen).max().unwrap_or_default().max(Through::of(cycle))
    }
}

impl Evidence {
    /// What the evidence needs besides reads and writes, in any of its cases.
    pub fn orders(&self) -> Through {
        let all = |finding: &Finding| finding.instances.iter().map(|it| it.evidence.orders()).max();
        match self {
            Evidence::Read { .. } | Evidence::Pair { .. } => Through::Dependencies,
            Evidence::Cycle(edges) => Through::behind(edges),
            Evidence::Cases(proof) => {
                proof.cycles().map(|(_, cycle)| Through::behind(cycle)).max().unwrap_or_default()
            }
            Evidence::Worlds(worlds) => {
                let leaves = worlds.leaves().map(|(_, finding)| all(finding).unwrap_or(finding.through));
                leaves.max().unwrap_or_default()
            }
        }
    }

    /// Whether the evidence needs a read for which something holds: one that missed a write, or one of two that differ.
    pub fn misses(&self, is_one: &dyn Fn(Op) -> bool) -> bool {
        let along = |edges: &[Edge]| {
            edges.iter().any(|edge| match edge.why {
                Why::Misses { read } | Why::Forced { read, .. } => is_one(read),
                _ => false,
            })
        };
        match self {
            Evidence::Read { .. } => false,
            Evidence::Pair { first, second } => is_one(*first) || is_one(*second),
            Evidence::Cycle(edges) => along(edges),
            Evidence::Cases(proof) => proof.cycles().any(|(_, cycle)| along(cycle)),
            Evidence::Worlds(worlds) => {
                let mut instances = worlds.leaves().flat_map(|(_, finding)| &finding.instances);
                instances.any(|instance| instance.evidence.misses(is_one))
            }
        }
    }
}

impl Proof {
    /// A proof that consists of one cycle.
    pub fn of_cycle(cycle: Vec<Edge>) -> Proof {
        Proof { cases: vec![Case::Cycle(cycle)] }
    }

    /// The cycles, each with the number of its node.
    pub fn cycles(&self) -> impl DoubleEndedIterator<Item = (usize, &[Edge])> {
        self.cases.iter().enumerate().filter_map(|(node, case)| match case {
            Case::Cycle(edges) => Some((node, edges.as_slice())),
            Case::Split { .. } => None,
        })
    }

    /// The cycle that the proof is named after: the last one. A proof that no writer explains a read may have none.
    pub fn main_cycle(&self) -> &[Edge] {
        self.cycles().next_back().map_or(&[], |(_, cycle)| cycle)
    }

    /// The length of the proof: its edges and its splits.
    pub fn size(&self) -> usize {
        let size = |case: &Case| match case {
            Case::Cycle(edges) => edges.len(),
            Case::Split { .. } => 1,
        };
        self.cases.iter().map(size).sum()
    }
}
