//! Graphs and orders over dense ids: adjacency in flat arrays, strongly connected components, topological
//! order (static, or under insertion and removal of edges), and vector clocks over chains. This crate knows
//! nothing about databases.
//!
//! Nodes are `u32` from 0. Nothing recurses. Every result is a function of the arguments, for any number of
//! threads.

mod clock;
mod components;
mod dynamic;
mod graph;

pub use clock::{Clock, Clocks, Precedence};
pub use components::Components;
pub use dynamic::{Cycle, DynamicOrder};
pub use graph::Graph;
