//! Graphs as SVG: nodes with lines of text, and edges with labels, in a layered layout.
//!
//! The layout is that of Sugiyama, Tagawa and Toda (1981): edges lead from one layer down to another (`layers.rs`), long edges and
//! labels have places of their own in the layers that they pass, and the places of a layer do not overlap (`place.rs`). So no edge
//! runs through a node or a label, and no label covers another one. Between two layers, edges are curves that stay between them.
//!
//! The same page always becomes the same text. Nothing here knows what the nodes mean.
//!
//! ```
//! use isoscope_picture::{Block, Edge, Graph, Node, Page, Stroke, svg};
//!
//! let node = |name: &str| Node { title: name.to_owned(), lines: vec!["w(x,1)".to_owned()] };
//! let edge = Edge { from: 0, to: 1, stroke: Stroke::Read, label: vec!["reads x".to_owned()] };
//! let graph = Graph { nodes: vec![node("T1"), node("T2")], edges: vec![edge] };
//! let page = Page { title: "two transactions".to_owned(), blocks: vec![Block::Graph(graph)] };
//! assert!(svg(&page).starts_with("<svg "));
//! ```

mod layers;
mod place;
mod svg;
mod text;

pub use svg::svg;
pub use text::escape;

/// A picture: blocks from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it shows, for readers who do not see it.
    pub title: String,
    /// The parts.
    pub blocks: Vec<Block>,
}

/// A part of a picture.
#[derive(Clone, Debug)]
pub enum Block {
    /// A line in bold.
    Heading(String),
    /// A line of text.
    Line(String),
    /// A graph.
    Graph(Graph),
    /// What the lines of a graph mean: each kind with its meaning.
    Legend(Vec<(Stroke, String)>),
}

/// Nodes and edges.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The nodes. Where edges do not say what is above, earlier ones are.
    pub nodes: Vec<Node>,
    /// The edges. An edge from a node to itself is not drawn.
    pub edges: Vec<Edge>,
}

/// A box with text.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The first line, in bold.
    pub title: String,
    /// More lines.
    pub lines: Vec<String>,
}

/// An arrow.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The number of the node where it begins.
    pub from: usize,
    /// The number of the node where it ends.
    pub to: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// The lines of its label; may be empty.
    pub label: Vec<String>,
}

/// How an edge is drawn. Kinds differ in colour and in dashes, so that they can be told apart without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stroke {
    /// Nothing in particular.
    Plain,
    /// Session order.
    Session,
    /// Real-time order.
    RealTime,
    /// From a writer to a reader.
    Read,
    /// From a writer to the next one.
    Overwrite,
    /// From a reader to the writer that it missed.
    Miss,
}

impl Stroke {
    /// The colour; against white, its contrast is at least 4.5.
    pub const fn colour(self) -> &'static str {
        match self {
            Stroke::Plain => "#444444",
            Stroke::Session => "#595959",
            Stroke::RealTime => "#7a4a00",
            Stroke::Read => "#0b5cad",
            Stroke::Overwrite => "#176b2c",
            Stroke::Miss => "#b3202a",
        }
    }

    /// The lengths of dashes and gaps; empty for a solid line.
    pub const fn dashes(self) -> &'static str {
        match self {
            Stroke::Plain | Stroke::Read => "",
            Stroke::Session => "1 4",
            Stroke::RealTime => "12 4 2 4",
            Stroke::Overwrite => "10 4",
            Stroke::Miss => "5 4",
        }
    }
}
