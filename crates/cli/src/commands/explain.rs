//! `isoscope explain`: the catalogue's entry for a level or an anomaly, and definitions of levels in words.

use std::fmt::Display;
use std::time::Duration;

use isoscope_levels::language::{Definition, Library};
use isoscope_levels::{Anomaly, Called, Citation, Example, Framework, Level, Product, Topic};
use isoscope_synth::{Problem, Scope, Smallest, smallest};

use crate::args::{ExplainArgs, Explained};
use crate::commands::definitions::{self, Definitions, Limited, full_name};
use crate::commands::levels;
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, FRAME, NOTE, Terminal, styled};
use crate::words::wrap;

/// The maximum width of a line.
const WIDTH: usize = 92;
/// The indentation of the text.
const INDENT: usize = 2;
/// The start of the second column.
const COLUMN: usize = 18;
/// The longest search for an example.
const EXAMPLE_TIME: Duration = Duration::from_secs(20);

pub(crate) fn run(args: &ExplainArgs, terminal: &Terminal) -> Exit {
    let text = match &args.topic {
        None => topics(),
        Some(Explained::Topic(Topic::Level(level))) => level_page(*level),
        Some(Explained::Topic(Topic::Anomaly(anomaly))) => anomaly_page(*anomaly),
        Some(Explained::Defined(name)) => match definition_pages(name, terminal) {
            Ok(pages) => pages,
            Err(exit) => return exit,
        },
    };
    terminal.print(&text);
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}

fn topics() -> String {
    format!(
        "{}\n{}\n{}",
        levels::level_table(),
        levels::anomaly_table(),
        styled(
            DIM,
            "`isoscope explain NAME` explains one of them. Aliases such as `repeatable-read` or `G1a` also work.\n"
        )
    )
}

fn level_page(level: Level) -> String {
    let mut page = title(level.name(), "isolation level");
    page += &wrap(level.definition(), INDENT, WIDTH);
    page += &heading("Names");
    page += &names(level.aliases(), level.called());
    page += &heading("Axioms");
    for axiom in level.axioms() {
        page += &row(axiom.framework.name(), axiom.text);
        page += &setting(axiom.framework);
    }
    page += &row("decided by", &format!("{}: {}", level.engine().name(), level.engine().about()));
    page += &shipped_definitions(level);
    page += &heading("Place");
    page += &list("implies", level.covers());
    page += &list("and so", indirectly_implied(level));
    page += &list("implied by", level.covered_by());
    page += &list("forbids", Anomaly::ALL.into_iter().filter(|&anomaly| level.forbids(anomaly)));
    page += &examples(level.examples());
    page += &products(level.products());
    page += &sources(level.sources());
    page + &see_also(level.covers().chain(level.covered_by()).map(Level::name))
}

/// The definitions in the level language.
fn shipped_definitions(level: Level) -> String {
    let out: String = Library::shipped().of(level).map(definition_text).collect();
    if out.is_empty() { out } else { format!("{}{out}", heading("Definitions")) }
}

fn definition_text(definition: &Definition) -> String {
    let mut out = String::new();
    if !definition.about.is_empty() {
        // A line of its own for each, so that the definition can be put into a file as it is.
        for line in wrap(&definition.about, INDENT + 3, WIDTH).lines() {
            out += &format!("{:INDENT$}// {}\n", "", line.trim_start());
        }
    }
    for line in definition.text.lines() {
        let depth = line.len() - line.trim_start().len();
        // The continuation lines of an axiom are indented, to separate it from the next one.
        let text = wrap(line.trim_start(), INDENT + depth + 4, WIDTH);
        out += &format!("{:1$}{2}", "", INDENT + depth, text.trim_start());
    }
    out
}

/// A page for each definition that a text names.
fn definition_pages(name: &str, terminal: &Terminal) -> Result<String, Exit> {
    let mut known = Definitions::new(terminal);
    let found = known.find_all(name)?;
    let pages: Vec<String> =
        found.iter().map(|definition| definition_page(definition, &known.library, terminal)).collect();
    Ok(pages.join("\n"))
}

fn definition_page(definition: &Definition, library: &Library, terminal: &Terminal) -> String {
    let mut page = title(&full_name(definition), "definition");
    page += &definition_text(definition);
    page += &heading("In words");
    for sentence in definition.words() {
        // The continuation lines of a sentence are indented, to separate it from the next one.
        page += &format!("{:INDENT$}{}", "", wrap(&sentence, INDENT + 2, WIDTH).trim_start());
    }
    for base in bases(definition, library) {
        page += &heading(&format!("{}, in words", full_name(base)));
        // What every witness is was said above.
        for sentence in base.words().iter().skip(1) {
            page += &format!("{:INDENT$}{}", "", wrap(sentence, INDENT + 2, WIDTH).trim_start());
        }
    }
    if let Some((level, shipped)) = Library::catalogue_level(definition) {
        page += &heading("Catalogue");
        let text = format!("It defines the level {level}. `isoscope explain {level}` has more.");
        let same = format!("It says the same as {}, a definition of {level}.", full_name(shipped));
        let is_shipped = full_name(shipped) == full_name(definition);
        page += &wrap(if is_shipped { &text } else { &same }, INDENT, WIDTH);
    }
    page += &heading("A smallest history that it forbids");
    page + &forbidden(definition, terminal)
}

/// What a definition extends, what that extends, and so on. A level extends only those above it, so this ends.
fn bases<'l>(definition: &Definition, library: &'l Library) -> impl Iterator<Item = &'l Definition> {
    let base = |of: &Definition| -> Option<&'l Definition> {
        let name = format!("{}@{}", of.extends.as_ref()?, of.framework.keyword());
        library.find(&name).ok()
    };
    std::iter::successors(base(definition), move |one| base(one))
}

/// A smallest history that a definition forbids, and the common levels that allow it.
fn forbidden(definition: &Definition, terminal: &Terminal) -> String {
    let (scope, within) = (Scope::new(4, 2), "4 transactions and 2 keys");
    let problem = Problem { forbid: vec![definition], ..Problem::default() };
    let watch = &mut Limited::within(EXAMPLE_TIME, terminal);
    let Smallest { histories, stopped } = smallest(&problem, scope, 1, watch);
    definitions::warn_of_extremes(definition, scope, watch, terminal);
    let Some(history) = histories.first() else {
        let text = match stopped {
            None => format!("There is none within {within}: it allows all of them."),
            Some(_) => format!("None was found within {} seconds.", EXAMPLE_TIME.as_secs()),
        };
        return wrap(&text, INDENT, WIDTH);
    };
    let mut out = format!("    {}\n", styled(BOLD, history));
    let names = definitions::anomalies(definition, history).join(", ");
    if !names.is_empty() {
        out += &wrap(&format!("It shows {names}."), INDENT, WIDTH);
    }
    let allowing = definitions::allowed_by_common(history);
    if !allowing.is_empty() {
        out += &wrap(
            &format!("The strongest common levels that allow it: {}.", allowing.join(", ")),
            INDENT,
            WIDTH,
        );
    }
    out
}

fn indirectly_implied(level: Level) -> impl Iterator<Item = Level> {
    let below = Level::ALL.into_iter().rev().filter(move |&other| other != level && level.implies(other));
    below.filter(move |&other| level.covers().all(|direct| direct != other))
}

/// The meaning of the symbols of an axiom.
fn setting(framework: Framework) -> String {
    match framework.setting() {
        "" => String::new(),
        setting => styled(DIM, wrap(&format!("({setting})"), COLUMN, WIDTH)),
    }
}

fn anomaly_page(anomaly: Anomaly) -> String {
    let mut page = title(anomaly.name(), "anomaly");
    page += &wrap(anomaly.definition(), INDENT, WIDTH);
    page += &heading("Why it happens");
    page += &wrap(anomaly.cause(), INDENT, WIDTH);
    page += &heading("Names");
    page += &names(anomaly.aliases(), anomaly.called());
    page += &heading("Place");
    let forbids = |level: &Level| level.forbids(anomaly);
    page += &list("forbidden from", anomaly.forbidden_from().iter());
    page +=
        &list("and so by", Level::ALL.into_iter().filter(forbids).filter(not_in(anomaly.forbidden_from())));
    page += &list("possible under", Level::ALL.into_iter().filter(|level| !forbids(level)));
    page += &examples(anomaly.examples());
    page += &sources(anomaly.sources());
    page + &see_also(anomaly.see_also().iter().map(|other| other.name()))
}

fn not_in(levels: &[Level]) -> impl Fn(&Level) -> bool {
    move |level| !levels.contains(level)
}

fn title(name: &str, kind: &str) -> String {
    format!("{}  {}\n\n", styled(BOLD, name), styled(DIM, kind))
}

fn heading(text: &str) -> String {
    format!("\n{}\n", styled(BOLD, text))
}

/// A label and a text beside it.
fn row(name: &str, text: &str) -> String {
    format!("{}{}", label(name), wrap(text, COLUMN, WIDTH).trim_start())
}

fn label(name: &str) -> String {
    format!("{:INDENT$}{}", "", styled(FRAME, format!("{name:<width$}", width = COLUMN - INDENT)))
}

/// A label and names beside it; empty without names.
fn list(name: &str, items: impl Iterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    if items.is_empty() { String::new() } else { row(name, &items.join(", ")) }
}

fn names(aliases: &[&str], called: &[Called]) -> String {
    let mut out = list("also", aliases.iter());
    for (i, called) in called.iter().enumerate() {
        out += &row(if i == 0 { "elsewhere" } else { "" }, &format!("{}: {}", called.by, called.name));
    }
    out
}

fn examples(examples: &[Example]) -> String {
    let mut out = heading(if examples.len() == 1 { "Example" } else { "Examples" });
    for (i, example) in examples.iter().enumerate() {
        out += if i > 0 { "\n" } else { "" };
        out += &sessions(example.notation);
        out += &wrap(example.story, INDENT, WIDTH);
        out += &verdict(&styled(NOTE, "allowed by   "), example.holds, ["all it implies", "all they imply"]);
        let above = ["all that imply it", "all that imply them"];
        out += &verdict(&styled(ERROR, "forbidden by "), example.violated, above);
    }
    out
}

/// An example with a line for each session. In the catalogue, two spaces separate sessions and occur nowhere
/// else.
fn sessions(notation: &str) -> String {
    let (settings, sessions): (Vec<&str>, Vec<&str>) =
        notation.split("  ").partition(|part| part.starts_with("init"));
    let mut out = String::new();
    for (number, session) in (1..).zip(sessions) {
        let name = styled(DIM, format!("session {number}"));
        out += &format!("    {name}   {}\n", session.replace(" ; ", "  ;  "));
    }
    for setting in settings {
        let begin = if notation.contains(" a(") {
            "keys are initially empty lists"
        } else {
            "keys are initially absent (init=nil)"
        };
        let meaning = setting.replace("init=nil", begin);
        out += &format!("    {}\n", styled(DIM, meaning));
    }
    out
}

/// The levels of a verdict, and the others that follow, in the singular or the plural.
fn verdict(name: &str, levels: &[Level], others: [&str; 2]) -> String {
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    let others = others[usize::from(levels.len() > 1)];
    let text = format!("{} and {others}", names.join(", "));
    format!("{:INDENT$}{name}{}", "", wrap(&text, INDENT + 13, WIDTH).trim_start())
}

fn products(products: &[Product]) -> String {
    if products.is_empty() {
        return String::new();
    }
    let mut out = heading("Databases that promise it");
    for product in products {
        let note = if product.note.is_empty() { String::new() } else { format!(": {}", product.note) };
        out += &row(product.name, &format!("{}{note}", product.setting));
    }
    out
}

fn sources(sources: &[Citation]) -> String {
    let mut out = heading("Sources");
    for source in sources {
        // The continuation lines of a source are indented, to separate it from the next one.
        let text = wrap(&source.to_string(), INDENT + 2, WIDTH);
        out += &format!("{:INDENT$}{}", "", text.trim_start());
    }
    out
}

fn see_also(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("{}{}", heading("See also"), wrap(&names.join(", "), INDENT, WIDTH))
}
