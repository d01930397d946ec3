//! The theory of total orders: directions of pairs, together with edges that always hold, have no cycle.
//!
//! A watched variable stands for a pair of nodes, its positive literal for one direction and its negative literal
//! for the other. A literal that becomes true is an edge, inserted into a [`DynamicOrder`]; a refused edge
//! closes a cycle, and the clause that not all directions on this cycle can hold goes to the solver. It has a
//! literal for every chosen direction on the cycle and none for the edges that always hold, and
//! the order reports the cycle with the fewest. Reversing one pair of a cycle does not break all cycles, but an
//! assignment without any is a partial order, and every topological order of it agrees with all pairs: so
//! acyclicity is all there is to being total.
//!
//! Invariant: the edges inserted are those of the literals at the beginning of the trail, in its order. Literals
//! behind them have been told and not yet been looked at.

use isoscope_order::DynamicOrder;

use crate::lit::Lit;
use crate::sat::Theory;

pub(crate) struct Acyclic {
    order: DynamicOrder,
    /// The edge of the positive literal of each variable; `None` for a plain variable.
    pairs: Vec<Option<(u32, u32)>>,
    /// Whether a literal of each variable is on the trail.
    told: Vec<bool>,
    trail: Vec<Lit>,
    /// How long the trail was when each level above 0 was opened.
    levels: Vec<u32>,
    lemma: Vec<Lit>,
    lemmas: u64,
}

impl Acyclic {
    pub(crate) fn new(order: DynamicOrder) -> Acyclic {
        Acyclic {
            order,
            pairs: Vec::new(),
            told: Vec::new(),
            trail: Vec::new(),
            levels: Vec::new(),
            lemma: Vec::new(),
            lemmas: 0,
        }
    }

    /// Says what the next variable stands for.
    pub(crate) fn add_variable(&mut self, pair: Option<(u32, u32)>) {
        self.pairs.push(pair);
        self.told.push(false);
    }

    /// A topological order of the edges and of all directions that hold.
    pub(crate) fn order(&self) -> &[u32] {
        self.order.order()
    }

    /// Whether the order agrees with the direction a literal stands for; `None` for a plain variable.
    pub(crate) fn agrees(&self, lit: Lit) -> Option<bool> {
        self.edge(lit).map(|(from, to)| self.precedes(from, to))
    }

    /// Whether a node comes before another in the order.
    pub(crate) fn precedes(&self, a: u32, b: u32) -> bool {
        self.order.position(a) < self.order.position(b)
    }

    /// How many cycles were reported.
    pub(crate) fn lemmas(&self) -> u64 {
        self.lemmas
    }

    fn edge(&self, lit: Lit) -> Option<(u32, u32)> {
        let (from, to) = self.pairs[lit.variable() as usize]?;
        Some(if lit.is_positive() { (from, to) } else { (to, from) })
    }
}

impl Theory for Acyclic {
    fn assign(&mut self, lit: Lit) {
        let told = &mut self.told[lit.variable() as usize];
        if !std::mem::replace(told, true) {
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
                self.told[lit.variable() as usize] = false;
            }
            self.order.truncate(self.trail.len());
        }
    }

    fn conflict(&mut self) -> Option<&[Lit]> {
        while let Some(&lit) = self.trail.get(self.order.inserted()) {
            let (from, to) = self.edge(lit).expect("only pairs are watched");
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

    /// A direction that the order has already can neither close a cycle nor move a node.
    fn prefers(&self, lit: Lit) -> bool {
        self.agrees(lit).unwrap_or(true)
    }

    /// How far the two nodes are apart in the order, on the wrong side of each other.
    fn distance(&self, lit: Lit) -> u32 {
        self.edge(lit)
            .map_or(0, |(from, to)| self.order.position(from).saturating_sub(self.order.position(to)))
    }
}
