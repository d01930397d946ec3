//! Clauses in one flat array.
//!
//! A clause is two header words, the number of literals and the kind, followed by the literals. Its number is the
//! place of its first literal, which is never 0. Numbers change when clauses are removed.
//!
//! Invariant: clauses follow each other without gaps, in the order in which they were added.

use std::num::NonZeroU32;

use crate::lit::Lit;

/// A clause, by the place of its first literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clause(NonZeroU32);

const HEADER: usize = 2;
/// Watches use the top bit of a clause's number.
const MOST_WORDS: usize = 1 << 31;

/// Why a clause exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user added it. All others follow from these and the theory.
    Problem,
    /// The theory implies it.
    Lemma,
    /// It was learned from a conflict; its literals were on this number of levels (LBD).
    Learned(u32),
}

/// Learned clauses on at most this number of levels are kept for ever.
const GOOD: u32 = 2;

impl Kind {
    fn to_word(self) -> u32 {
        match self {
            Kind::Problem => 0,
            Kind::Lemma => 1,
            Kind::Learned(levels) => 2 + levels,
        }
    }

    /// The number of levels of a clause that may be removed; 0 for the others.
    fn removable_levels(word: u32) -> u32 {
        if word > 2 + GOOD { word - 2 } else { 0 }
    }
}

#[derive(Default)]
pub(super) struct Arena {
    words: Vec<Lit>,
    clauses: usize,
    removable: usize,
}

impl Clause {
    #[inline]
    fn place(self) -> usize {
        self.0.get() as usize
    }

    #[inline]
    pub(super) fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    pub(super) fn from_number(number: u32) -> Clause {
        Clause(NonZeroU32::new(number).expect("a header comes before the first literal"))
    }
}

impl Arena {
    pub(super) fn add(&mut self, lits: &[Lit], kind: Kind) -> Clause {
        let word = kind.to_word();
        self.clauses += 1;
        self.removable += usize::from(Kind::removable_levels(word) > 0);
        self.words.extend_from_slice(&[Lit::from_raw(lits.len() as u32), Lit::from_raw(word)]);
        let clause = Clause::from_number(self.words.len() as u32);
        self.words.extend_from_slice(lits);
        assert!(self.words.len() < MOST_WORDS, "clauses take at most 8 GiB");
        clause
    }

    /// The number of clauses that may be removed.
    pub(super) fn removable(&self) -> usize {
        self.removable
    }

    /// The number of clauses.
    pub(super) fn len(&self) -> usize {
        self.clauses
    }

    /// The first clause, if there is one.
    pub(super) fn first(&self) -> Option<Clause> {
        (!self.words.is_empty()).then(|| Clause::from_number(HEADER as u32))
    }

    /// The clause behind another.
    #[inline]
    pub(super) fn next(&self, clause: Clause) -> Option<Clause> {
        let next = clause.place() + self.words[clause.place() - HEADER].index() + HEADER;
        (next < self.words.len()).then(|| Clause::from_number(next as u32))
    }

    pub(super) fn clauses(&self) -> impl Iterator<Item = Clause> + '_ {
        std::iter::successors(self.first(), |&clause| self.next(clause))
    }

    #[inline]
    pub(super) fn is_problem(&self, clause: Clause) -> bool {
        self.words[clause.place() - 1].raw() == 0
    }

    #[inline]
    pub(super) fn lits(&self, clause: Clause) -> &[Lit] {
        let len = self.words[clause.place() - HEADER].index();
        &self.words[clause.place()..clause.place() + len]
    }

    #[inline]
    pub(super) fn lits_mut(&mut self, clause: Clause) -> &mut [Lit] {
        let len = self.words[clause.place() - HEADER].index();
        &mut self.words[clause.place()..clause.place() + len]
    }

    /// Removes the clauses that `holds` accepts, and the worse half of the removable ones: those on more levels, then
    /// the longer, then the older.
    pub(super) fn reduce(&mut self, holds: impl Fn(&[Lit]) -> bool) {
        let levels = |clause: &Clause| Kind::removable_levels(self.words[clause.place() - 1].raw());
        let mut removable: Vec<Clause> = self.clauses().filter(|clause| levels(clause) > 0).collect();
        removable
            .sort_by_key(|clause| (levels(clause), self.lits(*clause).len(), u32::MAX - clause.number()));
        let mut removed = removable.split_off(removable.len() / 2);
        removed.sort_unstable_by_key(|clause| clause.number());
        let mut removed = removed.into_iter().peekable();
        let old = std::mem::take(self);
        self.words.reserve(old.words.len());
        for clause in old.clauses() {
            let lits = old.lits(clause);
            if removed.next_if_eq(&clause).is_none() && !holds(lits) {
                let word = old.words[clause.place() - 1].raw();
                self.clauses += 1;
                self.removable += usize::from(Kind::removable_levels(word) > 0);
                self.words.extend_from_slice(&old.words[clause.place() - HEADER..clause.place()]);
                self.words.extend_from_slice(lits);
            }
        }
    }
}
