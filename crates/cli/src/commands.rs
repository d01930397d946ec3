//! The verbs, one file each.

pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod formats;
pub(crate) mod generate;
pub(crate) mod levels;
pub(crate) mod manual;
pub(crate) mod open;
pub(crate) mod save;
pub(crate) mod stats;
