//! Clauses, one behind the other in one array. A clause is a number; the numbers change when clauses are forgotten.

use crate::lit::Lit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clause(u32);

#[derive(Default)]
pub(super) struct Arena {
    lits: Vec<Lit>,
    headers: Vec<Header>,
    learned: usize,
}

#[derive(Clone, Copy)]
struct Header {
    start: u32,
    len: u32,
    kind: Kind,
}

/// Why there is a clause.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It was asked that it holds. The others follow from those of this kind.
    Question,
    /// It follows from the theory.
    Lemma,
    /// It was learned, and linked so many levels.
    Learned(u32),
}

/// Learned clauses that link no more levels are not forgotten.
const GOOD: u32 = 2;

impl Kind {
    /// How many levels a learned clause linked; 0 for others.
    fn glue(self) -> u32 {
        if let Kind::Learned(glue) = self { glue } else { 0 }
    }
}

impl Arena {
    pub(super) fn add(&mut self, lits: &[Lit], kind: Kind) -> Clause {
        let clause = Clause(self.headers.len() as u32);
        self.learned += usize::from(kind.glue() > GOOD);
        self.headers.push(Header { start: self.lits.len() as u32, len: lits.len() as u32, kind });
        self.lits.extend_from_slice(lits);
        clause
    }

    /// How many clauses could be forgotten.
    pub(super) fn learned(&self) -> usize {
        self.learned
    }

    /// How many clauses there are.
    pub(super) fn len(&self) -> usize {
        self.headers.len()
    }

    /// The literals of a clause by its number, if it is one that was asked for.
    pub(super) fn question(&self, number: usize) -> Option<&[Lit]> {
        let Header { start, len, kind } = self.headers[number];
        (kind == Kind::Question).then(|| &self.lits[start as usize..(start + len) as usize])
    }

    pub(super) fn clauses(&self) -> impl Iterator<Item = Clause> + use<> {
        (0..self.headers.len() as u32).map(Clause)
    }

    #[inline]
    pub(super) fn lits(&self, clause: Clause) -> &[Lit] {
        let Header { start, len, .. } = self.headers[clause.0 as usize];
        &self.lits[start as usize..(start + len) as usize]
    }

    #[inline]
    pub(super) fn lits_mut(&mut self, clause: Clause) -> &mut [Lit] {
        let Header { start, len, .. } = self.headers[clause.0 as usize];
        &mut self.lits[start as usize..(start + len) as usize]
    }

    /// Forgets clauses that always hold, and the worse half of those learned: of equals, the older.
    pub(super) fn forget(&mut self, holds: impl Fn(&[Lit]) -> bool) {
        let mut forgettable: Vec<u32> =
            (0..self.headers.len() as u32).filter(|&i| self.headers[i as usize].kind.glue() > GOOD).collect();
        forgettable.sort_by_key(|&i| {
            let header = self.headers[i as usize];
            (header.kind.glue(), header.len, u32::MAX - i)
        });
        let mut gone = vec![false; self.headers.len()];
        for &clause in &forgettable[forgettable.len() / 2..] {
            gone[clause as usize] = true;
        }
        let old = std::mem::take(self);
        for (header, gone) in old.headers.iter().zip(gone) {
            let lits = &old.lits[header.start as usize..(header.start + header.len) as usize];
            if !gone && !holds(lits) {
                self.add(lits, header.kind);
            }
        }
    }
}
