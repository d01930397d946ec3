//! Definitions by name: those that isoscope ships (`definitions/*.iso`), and those of the user.

use std::fmt;
use std::sync::OnceLock;

use super::definition::{Definition, Formula};
use super::error::Error;
use super::{parser, resolve};
use crate::{Framework, Level};

/// The shipped files, in the order in which they use each other.
const FILES: [(&str, &str); 13] = [
    ("adya.iso", include_str!("../../definitions/adya.iso")),
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
        let before = self.definitions.len();
        for level in parser::levels(text)? {
            let added = self.define(&level);
            if let Err(error) = added {
                self.definitions.truncate(before);
                return Err(error);
            }
        }
        Ok(&self.definitions[before..])
    }

    fn define(&mut self, level: &super::ast::Level) -> Result<(), Error> {
        let framework = resolve::framework(&level.framework)?;
        let name = &level.name;
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
        let mut frameworks =
            Framework::LANGUAGE.into_iter().filter(|one| one.keyword().starts_with(framework));
        frameworks.find_map(named).ok_or_else(|| {
            let defined = Framework::LANGUAGE.into_iter().filter(|&one| named(one).is_some());
            NotDefined { name: name.to_owned(), frameworks: defined.map(Framework::keyword).collect() }
        })
    }

    /// A formula about histories alone, without a witness: for example `forall t: Txn, x: Key. writes(t, x) => reads(t, x)`.
    pub fn condition(text: &str) -> Result<Formula, Error> {
        resolve::condition(&parser::formula(text)?)
    }
}

/// The canonical name of a level of the catalogue; any other name stays as it is.
fn canonical(name: &str) -> String {
    Level::parse(name).map_or_else(|_| name.to_owned(), |level| level.name().to_owned())
}
