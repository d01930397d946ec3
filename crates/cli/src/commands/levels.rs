//! `isoscope levels`: the catalogue of isolation levels and anomalies.

use isoscope_levels::language::{Definition, Library};
use isoscope_levels::{Anomaly, Called, Citation, DRAWING, Example, Level};
use serde_json::{Value, json};

use crate::args::{CatalogueStyle, LevelsArgs};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, Terminal, styled};

pub(crate) fn run(args: &LevelsArgs, terminal: &Terminal) -> Exit {
    match args.format {
        CatalogueStyle::Full => terminal.print(&full()),
        CatalogueStyle::Json => terminal.print(&format!("{:#}\n", catalogue_json())),
    }
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}

fn full() -> String {
    let drawing: Vec<String> = DRAWING.lines().map(|line| format!("  {}\n", with_names_bold(line))).collect();
    format!(
        "Isolation levels. A line leads from each level down to the levels that it implies.\n\n{}\n{}\n{}\n{}\n{}",
        drawing.concat(),
        level_table(),
        definition_table(),
        anomaly_table(),
        styled(DIM, "`isoscope explain NAME` describes one of them.\n")
    )
}

/// A line of the drawing with the levels in bold.
fn with_names_bold(line: &str) -> String {
    let mut out = String::new();
    for (i, word) in line.split(' ').enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        let is_level = Level::ALL.iter().any(|level| level.name() == word);
        out.push_str(&if is_level { styled(BOLD, word) } else { word.to_owned() });
    }
    out
}

/// The levels, strongest first, as in the drawing.
pub(crate) fn level_table() -> String {
    let mut out = format!("{}\n", styled(BOLD, format!("{:<28} {:<8} guarantee", "level", "short")));
    for level in Level::COMMON.into_iter().rev() {
        out.push_str(&format!("{level:<28} {:<8} {}\n", level.short(), level.about()));
    }
    let heading = format!("{:<32} {:<8} guarantee", "finer levels, checked if named", "short");
    out.push_str(&format!("\n{}\n", styled(BOLD, heading)));
    for level in Level::ALL.into_iter().rev().filter(|level| !level.is_common()) {
        out.push_str(&format!("{level:<32} {:<8} {}\n", level.short(), level.about()));
    }
    out
}

/// The definitions in the level language: each name with its frameworks, in the order of the shipped files.
fn definition_table() -> String {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for definition in Library::shipped().definitions() {
        let framework = definition.framework.keyword();
        match names.iter_mut().find(|(name, _)| *name == definition.name) {
            Some((_, frameworks)) => frameworks.push(framework),
            None => names.push((&definition.name, vec![framework])),
        }
    }
    let heading = format!("{:<32} frameworks", "definitions as text");
    let mut out = format!("{}\n", styled(BOLD, heading));
    for (name, frameworks) in names {
        out.push_str(&format!("{name:<32} {}\n", frameworks.join(", ")));
    }
    out.push_str(&styled(DIM, "`isoscope explain NAME@FRAMEWORK` prints one of them, also in words.\n"));
    out
}

pub(crate) fn anomaly_table() -> String {
    let heading = format!("{:<26} {:<18} description", "anomaly", "forbidden from");
    let mut out = format!("{}\n", styled(BOLD, heading));
    for anomaly in Anomaly::ALL {
        let from: Vec<&str> = anomaly.forbidden_from().iter().map(|level| level.short()).collect();
        out.push_str(&format!("{anomaly:<26} {:<18} {}\n", from.join(", "), anomaly.about()));
    }
    out
}

/// The machine-readable form. Fields may be added, never renamed.
fn catalogue_json() -> Value {
    json!({
        "levels": Level::ALL.map(level_json),
        "definitions": Library::shipped().definitions().iter().map(definition_json).collect::<Vec<_>>(),
        "anomalies": Anomaly::ALL.map(anomaly_json),
    })
}

fn level_json(level: Level) -> Value {
    let axioms = level.axioms().iter().map(|a| json!({ "framework": a.framework.name(), "text": a.text }));
    let products = level.products().iter();
    let products =
        products.map(|p| json!({ "product": p.name, "setting": p.setting, "note": non_empty(p.note) }));
    let forbids = Anomaly::ALL.into_iter().filter(|&anomaly| level.forbids(anomaly)).map(Anomaly::name);
    let implies = Level::ALL.into_iter().filter(|&other| other != level && level.implies(other));
    json!({
        "level": level.name(),
        "short": level.short(),
        "common": level.is_common(),
        "aliases": level.aliases(),
        "called": called_json(level.called()),
        "about": level.about(),
        "definition": level.definition(),
        "engine": level.engine().name(),
        "axioms": axioms.collect::<Vec<_>>(),
        "covers": level.covers().map(Level::name).collect::<Vec<_>>(),
        "implies": implies.map(Level::name).collect::<Vec<_>>(),
        "forbids": forbids.collect::<Vec<_>>(),
        "examples": examples_json(level.examples()),
        "products": products.collect::<Vec<_>>(),
        "sources": sources_json(level.sources()),
    })
}

fn definition_json(definition: &Definition) -> Value {
    let level = Library::catalogue_level(definition).map(|(level, _)| level.name());
    json!({
        "name": definition.name,
        "framework": definition.framework.keyword(),
        "level": level,
        "about": definition.about,
        "text": definition.text,
        "words": definition.words(),
    })
}

fn anomaly_json(anomaly: Anomaly) -> Value {
    json!({
        "anomaly": anomaly.name(),
        "aliases": anomaly.aliases(),
        "called": called_json(anomaly.called()),
        "elle": anomaly.elle(),
        "about": anomaly.about(),
        "definition": anomaly.definition(),
        "cause": anomaly.cause(),
        "forbidden_from": names(anomaly.forbidden_from()),
        "examples": examples_json(anomaly.examples()),
        "sources": sources_json(anomaly.sources()),
        "see_also": anomaly.see_also().iter().map(|other| other.name()).collect::<Vec<_>>(),
    })
}

fn called_json(called: &[Called]) -> Vec<Value> {
    called.iter().map(|called| json!({ "by": called.by, "name": called.name })).collect()
}

/// Lists the verdict of every level that the example decides.
fn examples_json(examples: &[Example]) -> Vec<Value> {
    let with = |example: &Example, verdict: bool| {
        let levels = Level::ALL.into_iter().filter(|&level| example.satisfies(level) == Some(verdict));
        levels.map(Level::name).collect::<Vec<_>>()
    };
    let json = |example: &Example| {
        json!({
            "history": example.notation,
            "story": example.story,
            "holds": with(example, true),
            "violated": with(example, false),
        })
    };
    examples.iter().map(json).collect()
}

fn sources_json(sources: &[Citation]) -> Vec<Value> {
    sources.iter().map(|source| json!({ "paper": source.paper, "place": non_empty(source.place) })).collect()
}

fn names(levels: &[Level]) -> Vec<&'static str> {
    levels.iter().map(|level| level.name()).collect()
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
