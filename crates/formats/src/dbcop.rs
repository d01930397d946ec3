//! The three formats of dbcop.

pub(crate) mod bincode;
pub(crate) mod hist;
pub(crate) mod json;
