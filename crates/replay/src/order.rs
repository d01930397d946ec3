//! Partial orders that grow: reachability as one bit set per element.

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn has(&self, n: u32) -> bool {
        self.0.get(n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    pub(crate) fn add(&mut self, n: u32) {
        let place = n as usize / 64;
        if place >= self.0.len() {
            self.0.resize(place + 1, 0);
        }
        self.0[place] |= 1 << (n % 64);
    }

    pub(crate) fn join(&mut self, other: &Bits) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// A strict partial order. Elements are added at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// What precedes each element.
    before: Vec<Bits>,
}

impl Order {
    /// Adds an element that comes after all of `before`, which must be closed.
    pub(crate) fn push(&mut self, before: Bits) {
        self.before.push(before);
    }

    /// Whether `a` precedes `b`.
    pub(crate) fn precedes(&self, a: u32, b: u32) -> bool {
        self.before[b as usize].has(a)
    }

    /// What precedes an element.
    pub(crate) fn before(&self, b: u32) -> &Bits {
        &self.before[b as usize]
    }

    /// Orders `a` before `b`; `false` if that contradicts the order.
    pub(crate) fn add(&mut self, a: u32, b: u32) -> bool {
        if a == b || self.precedes(b, a) {
            return false;
        }
        if self.precedes(a, b) {
            return true;
        }
        let mut earlier = self.before[a as usize].clone();
        earlier.add(a);
        for (element, before) in (0..).zip(&mut self.before) {
            if element == b || before.has(b) {
                before.join(&earlier);
            }
        }
        true
    }
}
