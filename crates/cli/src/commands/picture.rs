//! Histories and lattices as pages of `isoscope-picture`.

use isoscope_levels::language::Definition;
use isoscope_picture::{Block, Edge, Graph, Node, Page, Stroke};
use isoscope_synth::{Kind, Lattice, SmallHistory};

use super::definitions::{self, full_name, names_of_node};

/// What a kind of dependency is drawn as: the line, its short name, and what it means.
const fn drawn(kind: Kind) -> (Stroke, &'static str, &'static str) {
    match kind {
        Kind::Session => (Stroke::Session, "so", "so: next in the session"),
        Kind::RealTime => (Stroke::RealTime, "rt", "rt: returned before the other was invoked"),
        Kind::Read => (Stroke::Read, "wr", "wr: wrote what the other read"),
        Kind::Overwrite => (Stroke::Overwrite, "ww", "ww: wrote the version before the other's"),
        Kind::Miss => (Stroke::Miss, "rw", "rw: read the version before the other's, and so missed it"),
    }
}

/// Histories with the levels that allow and forbid them.
pub(crate) fn histories(title: &str, examples: &[(&SmallHistory, &[&Definition], &[&Definition])]) -> Page {
    let mut page = Page { title: title.to_owned(), blocks: vec![Block::Heading(title.to_owned())] };
    let mut kinds = Vec::new();
    for (history, allow, forbid) in examples {
        page.blocks.push(Block::Line(String::new()));
        page.blocks.push(Block::Heading(history.to_string()));
        for definition in *allow {
            let why = definitions::evidence(definition, history).map(|(_, words)| words).unwrap_or_default();
            page.blocks.push(Block::Line(format!("✓ allowed by {}: {why}", full_name(definition))));
        }
        for definition in *forbid {
            let names = definitions::anomalies(definition, history).join(", ");
            let names = if names.is_empty() { names } else { format!(": {names}") };
            page.blocks.push(Block::Line(format!("✗ forbidden by {}{names}", full_name(definition))));
        }
        page.blocks.push(Block::Graph(graph(history, allow, &mut kinds)));
    }
    let all = [Kind::Session, Kind::RealTime, Kind::Read, Kind::Overwrite, Kind::Miss];
    let entries = all.into_iter().filter(|kind| kinds.contains(kind)).map(|kind| {
        let (stroke, _, meaning) = drawn(kind);
        (stroke, meaning.to_owned())
    });
    let entries: Vec<_> = entries.collect();
    if kinds.contains(&Kind::Overwrite) {
        let note = "The order of the versions is that of the first level that allows the history.";
        page.blocks.push(Block::Line(note.to_owned()));
    }
    page.blocks.push(Block::Legend(entries));
    page
}

/// A history with the dependencies of the first witness.
fn graph(history: &SmallHistory, allow: &[&Definition], kinds: &mut Vec<Kind>) -> Graph {
    let evidence = allow.iter().find_map(|definition| definitions::evidence(definition, history));
    let evidence = evidence.map(|(evidence, _)| evidence);
    // Earlier transactions are above.
    let transactions = history.transactions();
    let mut order: Vec<usize> = evidence.as_ref().map(|evidence| evidence.order.clone()).unwrap_or_default();
    if order.len() != transactions.len() {
        order = (1..=transactions.len()).collect();
    }
    let place = |txn: usize| order.iter().position(|&other| other == txn).unwrap_or_default();
    let nodes =
        order.iter().map(|&txn| Node { title: format!("T{txn}"), lines: transactions[txn - 1].clone() });
    let edges = history.dependencies(evidence.as_ref()).into_iter().map(|one| {
        kinds.push(one.kind);
        let (stroke, name, _) = drawn(one.kind);
        let label =
            if one.keys.is_empty() { name.to_owned() } else { format!("{name} {}", one.keys.join(", ")) };
        Edge { from: place(one.from), to: place(one.to), stroke, label: vec![label] }
    });
    Graph { nodes: nodes.collect(), edges: edges.collect() }
}

/// Levels, and the steps between them.
pub(crate) fn lattice(lattice: &Lattice, all: &[&Definition], scope: &str) -> Page {
    let node = |node: &Vec<usize>| {
        let mut names = names_of_node(node, all).into_iter();
        let (title, frameworks) = names.next().unwrap_or_default();
        let others = names.map(|(name, frameworks)| format!("= {name} ({frameworks})"));
        Node { title, lines: std::iter::once(frameworks).chain(others).collect() }
    };
    let edge = |edge: &isoscope_synth::LatticeEdge| {
        let text = edge.example.as_ref().map(ToString::to_string).unwrap_or_default();
        let label = text.split("  ").filter(|session| !session.is_empty()).map(str::to_owned).collect();
        Edge { from: edge.stronger, to: edge.weaker, stroke: Stroke::Plain, label }
    };
    let graph = Graph {
        nodes: lattice.nodes.iter().map(node).collect(),
        edges: lattice.edges.iter().map(edge).collect(),
    };
    let title = format!("Levels, compared within {scope}");
    let lines = [
        "An arrow leads to a weaker level. Beside it is a smallest history that only the weaker one allows.",
        "The definitions in one box allow the same histories.",
    ];
    let mut blocks = vec![Block::Heading(title.clone())];
    blocks.extend(lines.map(|line| Block::Line(line.to_owned())));
    blocks.extend([Block::Line(String::new()), Block::Graph(graph)]);
    Page { title, blocks }
}
