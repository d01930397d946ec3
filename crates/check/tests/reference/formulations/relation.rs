//! Relations between up to 16 numbers, with the operators of docs/levels.md.

pub(super) fn bit(t: usize) -> u16 {
    1 << t
}

/// A relation between numbers: for each, those to which it leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) to: [u16; 16],
}

impl Relation {
    pub(super) const EMPTY: Relation = Relation { to: [0; 16] };

    pub(super) fn add(&mut self, t: usize, s: usize) {
        self.to[t] |= bit(s);
    }

    pub(super) fn has(&self, t: usize, s: usize) -> bool {
        self.to[t] & bit(s) != 0
    }

    /// R | S
    pub(super) fn or(self, other: Relation) -> Relation {
        Relation { to: std::array::from_fn(|t| self.to[t] | other.to[t]) }
    }

    /// R ; S
    pub(super) fn then(self, other: Relation) -> Relation {
        let reached = |t: usize| (0..16).filter(|&u| self.has(t, u)).fold(0, |set, u| set | other.to[u]);
        Relation { to: std::array::from_fn(reached) }
    }

    /// R?
    pub(super) fn maybe(self) -> Relation {
        Relation { to: std::array::from_fn(|t| self.to[t] | bit(t)) }
    }

    /// R+
    pub(super) fn plus(self) -> Relation {
        let mut all = self;
        for u in 0..16 {
            for t in 0..16 {
                if all.has(t, u) {
                    all.to[t] |= all.to[u];
                }
            }
        }
        all
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..16).all(|t| !self.has(t, t))
    }

    pub(super) fn is_acyclic(self) -> bool {
        self.plus().is_irreflexive()
    }
}
