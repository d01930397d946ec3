//! Finding a level or an anomaly by what people call it.
//!
//! Names are compared without regard to case; `_` and a space are a `-`, and the colon of an Elle keyword
//! is ignored. An alias is a name only where the definitions are the same: Elle's `read-committed` is not
//! ours but adya-pl-2, and so it is told ([`Called`]) and not parsed.

use std::fmt;

use crate::{Anomaly, ELLE_PROCESS, ELLE_REALTIME, Level};

/// A name that others use for an entry, for the reader's information; it may mean something else here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// Who says so.
    pub by: &'static str,
    /// What they say.
    pub name: &'static str,
}

/// What a name was expected to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An isolation level.
    Level,
    /// An anomaly.
    Anomaly,
    /// Either.
    Topic,
}

/// A name that nothing in the catalogue has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name as it was given.
    pub name: String,
    /// What it was expected to name.
    pub kind: Kind,
    /// The nearest name there is, if any is near.
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

    /// Other names that [`Topic::parse`] takes.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Topic::Level(level) => level.aliases(),
            Topic::Anomaly(anomaly) => anomaly.aliases(),
        }
    }

    /// The entry of a name.
    pub fn parse(name: &str) -> Result<Topic, UnknownName> {
        find(name, Kind::Topic, Topic::all())
    }
}

impl Level {
    /// The level of a name or alias.
    pub fn parse(name: &str) -> Result<Level, UnknownName> {
        let topics = Level::ALL.into_iter().map(Topic::Level);
        match find(name, Kind::Level, topics)? {
            Topic::Level(level) => Ok(level),
            Topic::Anomaly(_) => unreachable!("only levels were searched"),
        }
    }
}

impl Anomaly {
    /// The anomaly of a name or alias.
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
    // Of a long name a third may be wrong; of a short one, a letter.
    let tolerance = (wanted.chars().count() / 3).max(1);
    let near = known.iter().map(|(_, name)| (distance(&wanted, &normal(name)), *name));
    let nearest = near.filter(|&(distance, _)| distance <= tolerance).min_by_key(|&(distance, _)| distance);
    Err(UnknownName { name: name.to_owned(), kind, nearest: nearest.map(|(_, name)| name) })
}

/// Whether a name is that of a form of an anomaly that Elle knows: `G-single-process`, `G-single-item-realtime`.
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

/// A name as it is compared.
fn normal(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_prefix(':').unwrap_or(name);
    name.chars().map(|c| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// How many letters must be inserted, deleted or replaced to make one name of the other (Levenshtein).
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
    fn the_distance_is_levenshteins() {
        for (a, b, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("si", "si", 0)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
