//! What a statement is worth: a truth value of a concrete history, or a formula about a history that a solver looks for.

use isoscope_solve::{Formula, Formulas};

use crate::matrix::Matrix;

/// Where statements are evaluated.
pub(crate) trait Logic {
    /// The worth of a statement.
    type Truth: Copy + Eq;
    const TRUE: Self::Truth;
    const FALSE: Self::Truth;

    fn not(&mut self, a: Self::Truth) -> Self::Truth;
    fn all(&mut self, parts: &[Self::Truth]) -> Self::Truth;
    fn any(&mut self, parts: &[Self::Truth]) -> Self::Truth;

    fn both(&mut self, a: Self::Truth, b: Self::Truth) -> Self::Truth {
        self.all(&[a, b])
    }

    fn implies(&mut self, a: Self::Truth, b: Self::Truth) -> Self::Truth {
        let not = self.not(a);
        self.any(&[not, b])
    }

    fn iff(&mut self, a: Self::Truth, b: Self::Truth) -> Self::Truth {
        let (one, other) = (self.implies(a, b), self.implies(b, a));
        self.both(one, other)
    }

    /// Whether to give up. What is returned after that means nothing.
    fn is_stopped(&mut self) -> bool {
        false
    }

    /// A transitive relation that contains this one, for a place where a larger relation only makes the whole formula harder to
    /// satisfy: any solution has one that is no larger than the least. None if the logic asks for the least one.
    fn paths_above(&mut self, _relation: &Matrix<Self::Truth>) -> Option<Matrix<Self::Truth>> {
        None
    }

    /// That a relation is acyclic, where the whole formula holds only more easily if this holds: by a total order around it. None if
    /// the logic has no such order.
    fn ordered(&mut self, _relation: &Matrix<Self::Truth>) -> Option<Self::Truth> {
        None
    }

    fn constant(value: bool) -> Self::Truth {
        if value { Self::TRUE } else { Self::FALSE }
    }
}

/// Truth values.
pub(crate) struct Plain;

impl Logic for Plain {
    type Truth = bool;
    const TRUE: bool = true;
    const FALSE: bool = false;

    fn not(&mut self, a: bool) -> bool {
        !a
    }

    fn all(&mut self, parts: &[bool]) -> bool {
        parts.iter().all(|&part| part)
    }

    fn any(&mut self, parts: &[bool]) -> bool {
        parts.iter().any(|&part| part)
    }
}

impl Logic for Formulas {
    type Truth = Formula;
    const TRUE: Formula = Formula::TRUE;
    const FALSE: Formula = Formula::FALSE;

    fn not(&mut self, a: Formula) -> Formula {
        !a
    }

    fn all(&mut self, parts: &[Formula]) -> Formula {
        self.and(parts)
    }

    fn any(&mut self, parts: &[Formula]) -> Formula {
        self.or(parts)
    }
}

/// Why an evaluation ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The caller stopped it.
    Stopped,
    /// It needs more than [`MOST_FORMULAS`] formulas.
    Large,
}

/// The most formulas about one history. With their clauses, they take about 1 GB.
pub(crate) const MOST_FORMULAS: usize = 4_000_000;
/// How many questions are answered between two looks at the limits.
const PATIENCE: u32 = 1_000;

/// Asks now and then whether to stop.
pub(crate) struct Patience<'s> {
    stop: &'s mut dyn FnMut() -> bool,
    asked: u32,
    pub(crate) is_stopped: bool,
}

impl<'s> Patience<'s> {
    pub(crate) fn new(stop: &'s mut dyn FnMut() -> bool) -> Self {
        Patience { stop, asked: 0, is_stopped: false }
    }

    /// Whether to stop: the caller is asked every [`PATIENCE`] times.
    pub(crate) fn is_over(&mut self) -> bool {
        self.asked += 1;
        if self.asked >= PATIENCE {
            self.asked = 0;
            self.is_stopped |= (self.stop)();
        }
        self.is_stopped
    }

    /// The question itself.
    pub(crate) fn stop(&mut self) -> &mut dyn FnMut() -> bool {
        &mut *self.stop
    }
}

/// Formulas with limits.
pub(crate) struct Limited<'l> {
    pub(crate) formulas: &'l mut Formulas,
    pub(crate) stop: &'l mut dyn FnMut() -> bool,
    pub(crate) ended: Option<Ended>,
    asked: u32,
}

impl<'l> Limited<'l> {
    pub(crate) fn new(formulas: &'l mut Formulas, stop: &'l mut dyn FnMut() -> bool) -> Self {
        Limited { formulas, stop, ended: None, asked: 0 }
    }
}

impl Logic for Limited<'_> {
    type Truth = Formula;
    const TRUE: Formula = Formula::TRUE;
    const FALSE: Formula = Formula::FALSE;

    fn not(&mut self, a: Formula) -> Formula {
        !a
    }

    fn all(&mut self, parts: &[Formula]) -> Formula {
        self.formulas.and(parts)
    }

    fn any(&mut self, parts: &[Formula]) -> Formula {
        self.formulas.or(parts)
    }

    fn is_stopped(&mut self) -> bool {
        self.asked += 1;
        if self.ended.is_none() && self.asked >= PATIENCE {
            self.asked = 0;
            if self.formulas.nodes() > MOST_FORMULAS {
                self.ended = Some(Ended::Large);
            } else if (self.stop)() {
                self.ended = Some(Ended::Stopped);
            }
        }
        self.ended.is_some()
    }
}
