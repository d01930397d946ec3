//! The theory of total orders: the chosen directions of pairs, together with fixed edges, form no cycle.
//!
//! A theory variable stands for a pair of nodes. Its positive literal is an edge in one direction and its negative
//! literal is the edge in the other direction. When a literal becomes true, its edge is inserted into a
//! [`DynamicOrder`]. If the edge would close a cycle, the lemma says that not all directions on this cycle can hold.
//! The lemma has one literal for each chosen direction on the cycle and none for the fixed edges, and
//! the order reports the cycle with the fewest chosen directions.
//!
//! An acyclic assignment is a partial order, and every topological order of it agrees with all assigned pairs. So
//! acyclicity is all that a total order requires. The theory always holds a topological order, and the directions in it
//! are the preferred values: taking every open pair in this direction adds no cycle.
//!
//! Invariant: the inserted edges are those of the literals at the beginning of the trail, in its order. The literals
//! behind them have been assigned and not yet been inserted.

use isoscope_order::{DynamicOrder, Graph};

use crate::lit::{Lit, Var};
use crate::theory::Theory;

/// The theory of total orders over nodes numbered from 0; see the module.
pub struct Acyclicity {
    order: DynamicOrder,
    /// The edge of the positive literal of each variable; `None` for a plain variable.
    pairs: Vec<Option<(u32, u32)>>,
    /// Whether a literal of each variable is on the trail.
    assigned: Vec<bool>,
    trail: Vec<Lit>,
    /// The length of the trail when each level above 0 was opened.
    levels: Vec<u32>,
    lemma: Vec<Lit>,
    lemmas: u64,
}

impl Acyclicity {
    /// Orders of nodes that contain all `edges`; `order` is one of them, from which the search starts.
    ///
    /// # Panics
    ///
    /// If `order` does not have every node once, or an edge leads backwards in it.
    pub fn new(nodes: usize, edges: &[(u32, u32)], order: &[u32]) -> Acyclicity {
        Acyclicity {
            order: DynamicOrder::new(Graph::from_edges(nodes, edges), order.to_vec()),
            pairs: Vec::new(),
            assigned: Vec::new(),
            trail: Vec::new(),
            levels: Vec::new(),
            lemma: Vec::new(),
            lemmas: 0,
        }
    }

    /// Gives a theory variable its meaning: it is true exactly if `from` is before `to`.
    pub fn set_pair(&mut self, var: Var, from: u32, to: u32) {
        while self.pairs.len() <= var.index() {
            self.pairs.push(None);
            self.assigned.push(false);
        }
        self.pairs[var.index()] = Some((from, to));
    }

    /// A topological order of the edges and of all directions that hold.
    pub fn order(&self) -> &[u32] {
        self.order.order()
    }

    /// Whether a node comes before another in the order.
    pub fn precedes(&self, a: u32, b: u32) -> bool {
        self.order.position(a) < self.order.position(b)
    }

    /// Whether the order agrees with the direction of a literal; `None` for a plain variable.
    pub(crate) fn agrees(&self, lit: Lit) -> Option<bool> {
        self.edge(lit).map(|(from, to)| self.precedes(from, to))
    }

    /// The number of cycles found so far.
    pub fn lemmas(&self) -> u64 {
        self.lemmas
    }

    #[inline]
    fn edge(&self, lit: Lit) -> Option<(u32, u32)> {
        let (from, to) = self.pairs.get(lit.var().index()).copied()??;
        Some(if lit.is_positive() { (from, to) } else { (to, from) })
    }
}

impl Theory for Acyclicity {
    const COMPLETES: bool = true;

    fn assign(&mut self, lit: Lit) {
        let assigned = &mut self.assigned[lit.var().index()];
        if !std::mem::replace(assigned, true) {
            self.trail.push(lit);
        }
    }

    fn open_level(&mut self) {
        self.levels.push(self.trail.len() as u32);
    }

    fn backtrack(&mut self, level: usize) {
        if let Some(&start) = self.levels.get(level) {
            self.levels.truncate(level);
            for lit in self.trail.drain(start as usize..) {
                self.assigned[lit.var().index()] = false;
            }
            self.order.truncate(self.trail.len());
        }
    }

    fn lemma(&mut self) -> Option<&[Lit]> {
        while let Some(&lit) = self.trail.get(self.order.inserted()) {
            let (from, to) = self.edge(lit).expect("a theory variable has a pair");
            if let Err(cycle) = self.order.insert(from, to) {
                self.lemma.clear();
                self.lemma.push(!lit);
                self.lemma.extend(cycle.edges.iter().map(|&edge| !self.trail[edge as usize]));
                self.lemmas += 1;
                return Some(&self.lemma);
            }
        }
        None
    }

    /// A direction that the order already has closes no cycle and moves no node.
    fn prefers(&self, lit: Lit) -> bool {
        self.agrees(lit).expect("a theory variable has a pair")
    }

    /// How far apart the two nodes are in the order, on the wrong side of each other.
    fn distance(&self, lit: Lit) -> u32 {
        let (from, to) = self.edge(lit).expect("a theory variable has a pair");
        self.order.position(from).saturating_sub(self.order.position(to))
    }
}
