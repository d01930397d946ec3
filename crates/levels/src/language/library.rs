//! Definitions by name: those that isoscope ships (`definitions/*.iso`), and those of the user.

use std::fmt;
use std::sync::OnceLock;

use super::definition::{Axiom, Definition, Formula};
use super::error::Error;
use super::shape::{self, Shape};
use super::{ast, parser, resolve};
use crate::{Framework, Level};

/// The shipped files, in the order in which they use each other.
const FILES: [(&str, &str); 14] = [
    ("adya.iso", include_str!("../../definitions/adya.iso")),
    ("strong.iso", include_str!("../../definitions/strong.iso")),
    ("read-committed.iso", include_str!("../../definitions/read-committed.iso")),
    ("read-atomic.iso", include_str!("../../definitions/read-atomic.iso")),
    ("causal.iso", include_str!("../../definitions/causal.iso")),
    ("update-atomic.iso", include_str!("../../definitions/update-atomic.iso")),
    ("no-lost-update.iso", include_str!("../../definitions/no-lost-update.iso")),
    ("prefix.iso", include_str!("../../definitions/prefix.iso")),
    ("parallel-snapshot-isolation.iso", include_str!("../../definitions/parallel-snapshot-isolation.iso")),
    ("snapshot-isolation.iso", include_str!("../../definitions/snapshot-isolation.iso")),
    ("serializable.iso", include_str!("../../definitions/serializable.iso")),
    ("serializable-updates.iso", include_str!("../../definitions/serializable-updates.iso")),
    ("strict.iso", include_str!("../../definitions/strict.iso")),
    ("plume.iso", include_str!("../../definitions/plume.iso")),
];

/// The most bytes of a text: what is done with it is then quick. The shipped files have 13 kB together.
const LONGEST: usize = 1 << 20;

/// A collection of definitions.
#[derive(Clone, Debug, Default)]
pub struct Library {
    definitions: Vec<Definition>,
}

/// A name that is not the name of one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotDefined {
    /// The name.
    pub name: String,
    /// The frameworks in which there is a definition with this name.
    pub frameworks: Vec<&'static str>,
}

impl fmt::Display for NotDefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotDefined { name, frameworks } = self;
        let level = name.split('@').next().unwrap_or(name);
        if frameworks.is_empty() {
            write!(f, "there is no definition of `{level}`")
        } else {
            write!(f, "`{level}` is defined only in {}", frameworks.join(", "))
        }
    }
}

impl std::error::Error for NotDefined {}

impl Library {
    /// The definitions that isoscope ships.
    pub fn shipped() -> &'static Library {
        static SHIPPED: OnceLock<Library> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let mut library = Library::default();
            for (file, text) in FILES {
                if let Err(error) = library.add(text) {
                    let (line, column) = error.position(text);
                    panic!("{file}:{line}:{column}: {error}");
                }
            }
            library
        })
    }

    /// Adds the definitions of a text and returns them. A definition may extend those above it and those that are already here.
    /// Nothing is added if there is an error.
    pub fn add(&mut self, text: &str) -> Result<&[Definition], Error> {
        if text.len() > LONGEST {
            let message =
                format!("a text of definitions has at most {LONGEST} bytes, this one has {}", text.len());
            return Err(Error::new(0..0, message));
        }
        let before = self.definitions.len();
        let levels = parser::levels(text)?;
        for (place, level) in levels.iter().enumerate() {
            if let Err(error) = self.define(level, &levels[place + 1..]) {
                self.definitions.truncate(before);
                return Err(error);
            }
        }
        Ok(&self.definitions[before..])
    }

    /// Adds a level. `below` are those after it in the text, which it cannot extend.
    fn define(&mut self, level: &ast::Level, below: &[ast::Level]) -> Result<(), Error> {
        let framework = resolve::framework(&level.framework)?;
        let name = &level.name;
        let canonical_name = canonical(&name.text);
        if canonical_name != name.text {
            let message = format!("`{}` is another name of the level `{canonical_name}`", name.text);
            return Err(
                Error::new(name.span.clone(), message).help("choose a name that is not in the catalogue")
            );
        }
        if self.exact(&name.text, framework).is_some() {
            let message = format!("`{}` is already defined in {}", name.text, framework.keyword());
            return Err(Error::new(name.span.clone(), message));
        }
        let base = match &level.extends {
            None => None,
            Some(base) if base.text == name.text => {
                return Err(Error::new(base.span.clone(), format!("`{}` extends itself", name.text)));
            }
            Some(base) => Some(self.exact(&canonical(&base.text), framework).ok_or_else(|| {
                let is_base = |other: &&ast::Level| {
                    other.name.text == base.text && other.framework.text == level.framework.text
                };
                if let Some(other) = below.iter().find(is_base) {
                    let message = format!("`{}` is defined only below", base.text);
                    let help = if extends_back(other, level, below) {
                        "the two extend each other; a level extends only levels above it"
                    } else {
                        "a level extends only levels above it: move this one down"
                    };
                    return Error::new(base.span.clone(), message).help(help);
                }
                let message = format!("there is no level `{}` in {}", base.text, framework.keyword());
                let names: Vec<&str> = self
                    .definitions
                    .iter()
                    .filter(|one| one.framework == framework)
                    .map(|one| one.name.as_str())
                    .collect();
                Error::new(base.span.clone(), message).help(format!("there are: {}", names.join(", ")))
            })?),
        };
        let definition = resolve::level(level, base)?;
        self.definitions.push(definition);
        Ok(())
    }

    /// All definitions, each after those it extends.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The definitions of a level of the catalogue.
    pub fn of(&self, level: Level) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |one| one.name == level.name())
    }

    fn exact(&self, name: &str, framework: Framework) -> Option<&Definition> {
        self.definitions.iter().find(|one| one.name == name && one.framework == framework)
    }

    /// The definition of a name: `si`, or `si@visibility` for the one in that framework. Without a framework, it is the first in
    /// the order of the frameworks.
    pub fn find(&self, name: &str) -> Result<&Definition, NotDefined> {
        let (level, framework) = name.split_once('@').unwrap_or((name, ""));
        let canonical = canonical(level);
        let named = |framework| self.exact(level, framework).or_else(|| self.exact(&canonical, framework));
        let framework = framework.to_ascii_lowercase();
        let frameworks = Framework::LANGUAGE.into_iter().filter(|one| one.keyword().starts_with(&framework));
        let found: Vec<&Definition> = frameworks.filter_map(named).collect();
        // A definition of the user in another framework does not take the place of a shipped one.
        found.iter().find(|one| Library::is_shipped(one)).or(found.first()).copied().ok_or_else(|| {
            let defined = Framework::LANGUAGE.into_iter().filter(|&one| named(one).is_some());
            NotDefined { name: name.to_owned(), frameworks: defined.map(Framework::keyword).collect() }
        })
    }

    /// Whether a definition is one of those that isoscope ships.
    pub fn is_shipped(definition: &Definition) -> bool {
        Library::same_name(definition).is_some()
    }

    /// The shipped definition with this name and text.
    fn same_name(definition: &Definition) -> Option<&'static Definition> {
        let shipped = Library::shipped().exact(&definition.name, definition.framework);
        shipped.filter(|shipped| shipped.text == definition.text)
    }

    /// The level of the catalogue whose engine decides a definition, and the shipped definition with its text. A shipped
    /// definition stands for its level, whatever the catalogue says of it beyond the text. Any other definition means what its
    /// text says: no reads of aborted, intermediate or unwritten values. Levels that permit these have no engine for it.
    pub fn decided_by(definition: &Definition) -> Option<(Level, &'static Definition)> {
        let is_shipped = Library::is_shipped(definition);
        Library::catalogue_level(definition).filter(|(level, _)| is_shipped || level.implies(Level::AdyaPl2))
    }

    /// The level of the catalogue that a shipped definition defines. For any other definition, the level whose shipped definition
    /// has the same shape, and this definition; if there are several levels, it is the strongest.
    pub fn catalogue_level(definition: &Definition) -> Option<(Level, &'static Definition)> {
        if let Some(shipped) = Library::same_name(definition) {
            return Some((shape::shipped_level(shipped)?, shipped));
        }
        let shape = Shape::of(definition);
        let same = Library::shapes().iter().filter(|(other, ..)| *other == shape);
        same.map(|&(_, level, one)| (level, one)).reduce(|a, b| if b.0.implies(a.0) { b } else { a })
    }

    /// The shapes of the shipped definitions of levels of the catalogue.
    fn shapes() -> &'static [(Shape, Level, &'static Definition)] {
        static SHAPES: OnceLock<Vec<(Shape, Level, &'static Definition)>> = OnceLock::new();
        SHAPES.get_or_init(|| {
            let definitions = Library::shipped().definitions().iter();
            definitions.filter_map(|one| Some((Shape::of(one), shape::shipped_level(one)?, one))).collect()
        })
    }

    /// A level of the catalogue that a definition extends, directly or not, and that is as asked; the strongest, if there are
    /// several. A shipped definition extends its own level.
    pub fn extends(definition: &Definition, is: impl Fn(Level) -> bool) -> Option<Level> {
        let is_base = |base: &&Definition| {
            // The axioms of what a definition extends come first.
            let same =
                |(mine, other): (&Axiom, &Axiom)| mine.level == other.level && mine.formula == other.formula;
            base.framework == definition.framework
                && !base.axioms.is_empty()
                && base.axioms.len() <= definition.axioms.len()
                && definition.axioms.iter().zip(&base.axioms).all(same)
        };
        let bases = Library::shipped().definitions.iter().filter(is_base);
        let levels = bases.filter_map(shape::shipped_level).filter(|&level| is(level));
        levels.reduce(|a, b| if b.implies(a) { b } else { a })
    }

    /// A formula about histories alone, without a witness: for example `forall t: Txn, x: Key. writes(t, x) => reads(t, x)`.
    pub fn condition(text: &str) -> Result<Formula, Error> {
        resolve::condition(&parser::formula(text)?)
    }
}

/// Whether a level extends another one, directly or not, by levels of the same text.
fn extends_back(level: &ast::Level, other: &ast::Level, levels: &[ast::Level]) -> bool {
    let same_framework = |one: &&ast::Level| one.framework.text == other.framework.text;
    let mut current = Some(level);
    // Not more steps than there are levels: they may extend each other.
    for _ in 0..=levels.len() {
        let Some(base) = current.and_then(|level| level.extends.as_ref()) else { return false };
        if base.text == other.name.text {
            return true;
        }
        current = levels.iter().filter(same_framework).find(|one| one.name.text == base.text);
    }
    false
}

/// The canonical name of a level of the catalogue; any other name stays as it is.
fn canonical(name: &str) -> String {
    Level::parse(name).map_or_else(|_| name.to_owned(), |level| level.name().to_owned())
}
