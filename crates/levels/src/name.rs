//! Parses the names of levels and anomalies.
//!
//! Names are compared without regard to case. `_` and a space count as `-`, and the colon of an Elle keyword
//! is ignored. An alias is accepted only if the definitions are the same. Elle's `read-committed` is
//! adya-pl-2 here, not read-committed, so the catalogue mentions it ([`Called`]) and does not parse it.

use std::fmt;

use crate::{Anomaly, ELLE_PROCESS, ELLE_REALTIME, Level};

/// A name that others use for an entry, for information only; the same name may mean something else here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// The project or paper that uses the name.
    pub by: &'static str,
    /// The name it uses.
    pub name: &'static str,
}

/// The kind of entry that was looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An isolation level.
    Level,
    /// An anomaly.
    Anomaly,
    /// Either.
    Topic,
}

/// A name that no entry of the catalogue has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name as given.
    pub name: String,
    /// The kind of entry that was looked up.
    pub kind: Kind,
    /// The nearest known name, if one is near.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Level => "isolation level",
            Kind::Anomaly => "anomaly",
            Kind::Topic => "isolation level or anomaly",
        };
        write!(f, "no {kind} is called `{}`", self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownName {}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A level.
    Level(Level),
    /// An anomaly.
    Anomaly(Anomaly),
}

impl Topic {
    /// All entries, levels first.
    pub fn all() -> impl Iterator<Item = Topic> {
        let levels = Level::ALL.into_iter().map(Topic::Level);
        levels.chain(Anomaly::ALL.into_iter().map(Topic::Anomaly))
    }

    /// The canonical name.
    pub fn name(self) -> &'static str {
        match self {
            Topic::Level(level) => level.name(),
            Topic::Anomaly(anomaly) => anomaly.name(),
        }
    }

    /// Other names that [`Topic::parse`] accepts.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Topic::Level(level) => level.aliases(),
            Topic::Anomaly(anomaly) => anomaly.aliases(),
        }
    }

    /// Finds the entry with this name or alias.
    pub fn parse(name: &str) -> Result<Topic, UnknownName> {
        find(name, Kind::Topic, Topic::all())
    }
}

impl Level {
    /// Finds the level with this name or alias.
    pub fn parse(name: &str) -> Result<Level, UnknownName> {
        let topics = Level::ALL.into_iter().map(Topic::Level);
        match find(name, Kind::Level, topics)? {
            Topic::Level(level) => Ok(level),
            Topic::Anomaly(_) => unreachable!("only levels were searched"),
        }
    }
}

impl Anomaly {
    /// Finds the anomaly with this name or alias.
    pub fn parse(name: &str) -> Result<Anomaly, UnknownName> {
        let topics = Anomaly::ALL.into_iter().map(Topic::Anomaly);
        match find(name, Kind::Anomaly, topics)? {
            Topic::Anomaly(anomaly) => Ok(anomaly),
            Topic::Level(_) => unreachable!("only anomalies were searched"),
        }
    }
}

#[cfg(feature = "serde")]
macro_rules! serde_by_name {
    ($type:ident) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                $type::parse(&name).map_err(serde::de::Error::custom)
            }
        }
    };
}

#[cfg(feature = "serde")]
serde_by_name!(Level);
#[cfg(feature = "serde")]
serde_by_name!(Anomaly);

fn find(name: &str, kind: Kind, topics: impl Iterator<Item = Topic>) -> Result<Topic, UnknownName> {
    let wanted = normal(name);
    let known: Vec<(Topic, &'static str)> =
        topics.flat_map(|topic| names(topic).map(move |name| (topic, name))).collect();
    if let Some(&(topic, _)) = known.iter().find(|(_, name)| normal(name) == wanted) {
        return Ok(topic);
    }
    if let Some(&(topic, _)) = known.iter().find(|(topic, name)| is_variant(*topic, &normal(name), &wanted)) {
        return Ok(topic);
    }
    // A third of a long name may be wrong, or one letter of a short name.
    let tolerance = (wanted.chars().count() / 3).max(1);
    let near = known.iter().map(|(_, name)| (distance(&wanted, &normal(name)), *name));
    let nearest = near.filter(|&(distance, _)| distance <= tolerance).min_by_key(|&(distance, _)| distance);
    Err(UnknownName { name: name.to_owned(), kind, nearest: nearest.map(|(_, name)| name) })
}

/// Whether the name is Elle's keyword for a form of the anomaly: `G-single-process`,
/// `G-single-item-realtime`.
fn is_variant(topic: Topic, name: &str, wanted: &str) -> bool {
    let Topic::Anomaly(anomaly) = topic else { return false };
    let keyword = anomaly.elle().map(normal).unwrap_or_default();
    let is_keyword = name == keyword || Some(name) == keyword.strip_suffix("-item");
    let order = wanted.strip_prefix(name).filter(|_| is_keyword && anomaly.elle_has_variants());
    order.is_some_and(|order| [ELLE_PROCESS, ELLE_REALTIME].contains(&order))
}

fn names(topic: Topic) -> impl Iterator<Item = &'static str> {
    std::iter::once(topic.name()).chain(topic.aliases().iter().copied())
}

/// Normalizes a name for comparison.
fn normal(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_prefix(':').unwrap_or(name);
    name.chars().map(|c| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The Levenshtein distance: the number of letters to insert, delete or replace to turn one name into the
/// other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_levenshtein_distance() {
        for (a, b, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("si", "si", 0)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
