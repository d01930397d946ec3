//! What the crate does not do yet, and what the tests therefore do not ask. Empty, and all `true`, when it is done.
#![allow(dead_code, reason = "every test uses some of it")]

use isoscope_levels::Level;

/// Levels without an engine: they may be unknown. Once a level is not in the list, that is a failure.
pub(crate) const UNDECIDED: &[Level] = &[];

/// Whether every level is decided where reads of registers have several possible writers. Lists with repeated
/// elements may stay ambiguous.
pub(crate) const EXACT_ON_DUPLICATES: bool = true;

/// Whether the verifier knows what shows that a strong level holds.
pub(crate) const VERIFIES_STRONG: bool = true;

/// Whether the verifier knows what shows that a level holds where reads of registers have several possible writers.
pub(crate) const VERIFIES_DUPLICATES: bool = true;

/// The same for cut isolation.
pub(crate) const VERIFIES_CUT_OF_DUPLICATES: bool = false;
