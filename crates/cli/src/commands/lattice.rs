//! `isoscope lattice`: all definitions, and which of them imply which.

use std::path::PathBuf;

use isoscope_levels::language::Definition;
use isoscope_picture::svg;
use isoscope_synth::{Lattice, LatticeEdge};
use serde_json::json;

use super::definitions::{self, Definitions, Limited, full_name, names_of_node};
use super::picture;
use super::synth::history_json;
use crate::args::{LatticeArgs, LatticeStyle, ScopeArgs};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, Terminal, styled};

pub(crate) fn run(args: &LatticeArgs, terminal: &Terminal) -> Exit {
    let files = args.files.iter().map(PathBuf::as_path);
    let known = match Definitions::with(files, terminal) {
        Ok(known) => known,
        Err(exit) => return exit,
    };
    let all: Vec<&Definition> = known.library.definitions().iter().collect();
    let watch = &mut Limited::new(&args.scope, terminal);
    let lattice = Lattice::new(&all, args.scope.scope(), watch);
    for definition in &all {
        definitions::warn_of_extremes(definition, args.scope.scope(), watch, terminal);
    }
    terminal.print(&match args.format {
        LatticeStyle::Full => full(&lattice, &all, &args.scope.words()),
        LatticeStyle::Svg => svg(&picture::lattice(&lattice, &all, &args.scope.words())),
        LatticeStyle::Dot => dot(&lattice, &all),
        LatticeStyle::Json => json(&lattice, &all, &args.scope),
    });
    if lattice.stopped {
        terminal.warning("the limit of time or memory was reached: some levels were not compared, and examples may not be the smallest");
    }
    match (terminal.lost_output(), lattice.stopped) {
        (true, _) => Exit::Failed,
        (_, true) => Exit::Unknown,
        _ => Exit::Holds,
    }
}

/// The names of a node: each level with its frameworks.
fn names(node: &[usize], all: &[&Definition]) -> Vec<String> {
    names_of_node(node, all).into_iter().map(|(name, frameworks)| format!("{name} ({frameworks})")).collect()
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
        let open = lattice.open.iter().filter(|(first, _)| *first == place);
        let open: Vec<String> = open.map(|&(_, other)| full_name(all[lattice.nodes[other][0]])).collect();
        if !open.is_empty() {
            text += &format!("  may imply, not compared before the limit: {}\n", open.join(", "));
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
    for (first, second) in &lattice.open {
        text +=
            &format!("  n{first} -> n{second} [style=dotted, constraint=false, label=\"not compared\"];\n");
    }
    text + "}\n"
}

fn json(lattice: &Lattice, all: &[&Definition], scope: &ScopeArgs) -> String {
    let nodes =
        lattice.nodes.iter().map(|node| node.iter().map(|&one| full_name(all[one])).collect::<Vec<_>>());
    let edges = lattice.edges.iter().map(|LatticeEdge { stronger, weaker, example }| {
        let [forbid, allow] = [stronger, weaker].map(|&node| {
            let definitions = lattice.nodes[node].iter().map(|&one| all[one]);
            definitions.collect::<Vec<_>>()
        });
        let example = example.as_ref().map(|history| history_json(&allow, &forbid, history));
        json!({ "stronger": stronger, "weaker": weaker, "example": example })
    });
    let value = json!({
        "scope": scope.json(),
        "complete": !lattice.stopped,
        "nodes": nodes.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "not_compared": lattice.open,
    });
    format!("{value:#}\n")
}
