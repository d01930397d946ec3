//! What a statement is worth: a truth value of a concrete history, or a formula about a history that a solver looks for.

use isoscope_solve::{Formula, Formulas};

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
