//! Literals: variables are numbered from 0, and the literals of variable `v` are `2v` and `2v + 1`.

/// A literal: a variable or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// The literal that is true when the variable is.
    pub(crate) fn positive(variable: u32) -> Lit {
        Lit(variable << 1)
    }

    /// The literal, or its negation.
    pub(crate) fn negated_if(self, negate: bool) -> Lit {
        Lit(self.0 ^ u32::from(negate))
    }

    /// A number of its own, for tables of literals.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn variable(self) -> u32 {
        self.0 >> 1
    }

    pub(crate) fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        self.negated_if(true)
    }
}
