//! Graphs and orders over dense ids: adjacency in flat arrays, strongly connected components, topological
//! order, also under insertion and removal of edges, and vector clocks over chains. No word of databases in here.
//!
//! Nodes are `u32` from 0. Nothing recurses; everything is a function of its arguments, whatever the number
//! of threads.

mod clock;
mod components;
mod dynamic;
mod graph;

pub use clock::{Clock, Clocks, Precedence};
pub use components::Components;
pub use dynamic::{Cycle, DynamicOrder};
pub use graph::Graph;
