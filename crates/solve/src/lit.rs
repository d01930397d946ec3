//! Variables and literals.
//!
//! Variables are numbered from 0 in the order of their creation. The literals of variable `v` have the indices `2v`
//! (positive) and `2v + 1` (negative), so that negation flips one bit and tables of literals are flat arrays.

use std::fmt;

/// A Boolean variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(u32);

impl Var {
    /// The variable with a number; variables are numbered from 0 in the order of their creation.
    ///
    /// # Panics
    ///
    /// If the number does not leave room for the sign of a literal.
    #[inline]
    pub fn new(number: usize) -> Var {
        assert!(number < 1 << 31, "at most 2^31 variables");
        Var(number as u32)
    }

    /// The number of the variable, for tables of variables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The literal that is true when the variable is true.
    #[inline]
    pub fn positive(self) -> Lit {
        Lit(self.0 << 1)
    }

    /// The literal that is true when the variable is false.
    #[inline]
    pub fn negative(self) -> Lit {
        !self.positive()
    }

    /// The literal that is true when the variable has the value.
    #[inline]
    pub fn is(self, value: bool) -> Lit {
        self.positive().negated_if(!value)
    }
}

/// A literal: a variable or its negation. `!lit` is the opposite literal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// The variable of the literal.
    #[inline]
    pub fn var(self) -> Var {
        Var(self.0 >> 1)
    }

    /// Whether the literal is true when its variable is true.
    #[inline]
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    /// The literal itself, or its negation.
    #[inline]
    pub fn negated_if(self, negate: bool) -> Lit {
        Lit(self.0 ^ u32::from(negate))
    }

    /// The index of the literal in tables of literals.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the literal in the DIMACS format: variables count from 1, and a negation has a minus sign.
    pub fn to_dimacs(self) -> i32 {
        let number = (self.0 >> 1).cast_signed() + 1;
        if self.is_positive() { number } else { -number }
    }

    /// The literal of a DIMACS number.
    ///
    /// # Panics
    ///
    /// If the number is 0.
    pub fn from_dimacs(number: i32) -> Lit {
        assert!(number != 0, "0 is not a literal");
        Var::new(number.unsigned_abs() as usize - 1).is(number > 0)
    }

    /// The clause arena keeps lengths and other numbers between literals.
    #[inline]
    pub(crate) fn from_raw(raw: u32) -> Lit {
        Lit(raw)
    }

    #[inline]
    pub(crate) fn raw(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_positive() { "" } else { "!" }, self.0 >> 1)
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    #[inline]
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}
