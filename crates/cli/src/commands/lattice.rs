//! `isoscope lattice`: all definitions, and which of them imply which.

use std::path::PathBuf;

use isoscope_levels::language::Definition;
use isoscope_synth::{Lattice, LatticeEdge};
use serde_json::json;

use super::definitions::{self, Limited, full_name};
use crate::args::{LatticeArgs, LatticeStyle};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, Terminal, styled};

pub(crate) fn run(args: &LatticeArgs, terminal: &Terminal) -> Exit {
    let files = args.files.iter().map(PathBuf::as_path);
    let Some(library) = definitions::library(files, terminal) else { return Exit::Failed };
    let all: Vec<&Definition> = library.definitions().iter().collect();
    let lattice = Lattice::new(&all, args.scope.scope(), &mut Limited::new(&args.scope, terminal));
    terminal.print(&match args.format {
        LatticeStyle::Full => full(&lattice, &all, &args.scope.words()),
        LatticeStyle::Dot => dot(&lattice, &all),
        LatticeStyle::Json => json(&lattice, &all),
    });
    if lattice.stopped {
        terminal.warning("the time limit was reached: pairs that were not compared count as implied");
    }
    match (terminal.lost_output(), lattice.stopped) {
        (true, _) => Exit::Failed,
        (_, true) => Exit::Unknown,
        _ => Exit::Holds,
    }
}

/// The names of a node: each level with its frameworks.
fn names(node: &[usize], all: &[&Definition]) -> Vec<String> {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for &one in node {
        let Definition { name, framework, .. } = all[one];
        match names.iter_mut().find(|(other, _)| other == name) {
            Some((_, frameworks)) => frameworks.push(framework.keyword()),
            None => names.push((name, vec![framework.keyword()])),
        }
    }
    names.into_iter().map(|(name, frameworks)| format!("{name} ({})", frameworks.join(", "))).collect()
}

fn full(lattice: &Lattice, all: &[&Definition], scope: &str) -> String {
    let mut text = format!(
        "{}\n\n",
        styled(DIM, format!("Stronger levels first. Levels on one line are equivalent within {scope}."))
    );
    for (place, node) in lattice.nodes.iter().enumerate() {
        text += &format!("{}\n", styled(BOLD, names(node, all).join(" = ")));
        for LatticeEdge { weaker, example, .. } in lattice.edges.iter().filter(|edge| edge.stronger == place)
        {
            let example = example.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = full_name(all[lattice.nodes[*weaker][0]]);
            text += &format!("  implies {name}, which also allows\n    {example}\n");
        }
    }
    text
}

fn dot(lattice: &Lattice, all: &[&Definition]) -> String {
    let mut text = "digraph levels {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"monospace\", fontsize=9];\n".to_owned();
    for (place, node) in lattice.nodes.iter().enumerate() {
        text += &format!("  n{place} [label=\"{}\"];\n", names(node, all).join("\\n"));
    }
    for LatticeEdge { stronger, weaker, example } in &lattice.edges {
        let label =
            example.as_ref().map(|example| example.to_string().replace("  ", "\\n")).unwrap_or_default();
        text += &format!("  n{stronger} -> n{weaker} [label=\"{label}\"];\n");
    }
    text + "}\n"
}

fn json(lattice: &Lattice, all: &[&Definition]) -> String {
    let nodes =
        lattice.nodes.iter().map(|node| node.iter().map(|&one| full_name(all[one])).collect::<Vec<_>>());
    let edges = lattice.edges.iter().map(|edge| {
        let example = edge.example.as_ref().map(ToString::to_string);
        json!({ "stronger": edge.stronger, "weaker": edge.weaker, "example": example })
    });
    let value = json!({
        "complete": !lattice.stopped,
        "nodes": nodes.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
