//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod database;
pub(crate) mod definitions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod formats;
pub(crate) mod generate;
pub(crate) mod hermitage;
pub(crate) mod interrupt;
pub(crate) mod lattice;
pub(crate) mod levels;
pub(crate) mod manual;
pub(crate) mod open;
pub(crate) mod outputs;
pub(crate) mod picture;
pub(crate) mod predict;
pub(crate) mod probe;
pub(crate) mod record;
pub(crate) mod save;
pub(crate) mod script;
pub(crate) mod stats;
pub(crate) mod synth;
pub(crate) mod test;
pub(crate) mod verify;
