//! What a level means to the engines: one row a level (docs/levels.md has the definitions).
//!
//! Engines ask for a row and decide by its fields, never by the name of a level. The verifier has a transcription of its own,
//! on purpose. The tests compare each row with the lattice of the catalogue.

use isoscope_levels::Level;

use crate::axiom::Axiom;
use crate::trace::Relations;

/// The row of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are the columns of a table, not the states of a machine"
)]
pub(crate) struct Semantics {
    /// The engine that decides the level.
    pub(crate) method: Method,
    /// What a reader must have seen.
    pub(crate) sight: Sight,
    /// Session order counts.
    pub(crate) sessions: bool,
    /// Real-time order counts.
    pub(crate) real_time: bool,
    /// A read must return a final write of a transaction that took effect, and lists must be compatible. PL-1 and cut
    /// isolation do not depend on the writers of reads.
    pub(crate) knows_reads: bool,
    /// Which reads of one transaction must agree.
    pub(crate) repeats: Repeats,
    /// Range reads may change: what a range read misses is no anti-dependency.
    pub(crate) spares_ranges: bool,
    /// Stronger levels that are often decided sooner. They and the level are tried in turns.
    pub(crate) stronger: &'static [Level],
    /// A stronger level that saturation decides, while it says little about this one. It is asked first.
    pub(crate) settled_by: Option<Level>,
}

/// How a level is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// By looking at every transaction alone.
    Alone,
    /// By cycles of these relations.
    Cycles(Relations),
    /// By the commit order that an axiom forces, in polynomial time where values are unique.
    Axiom(Axiom),
    /// By a cycle of what is certain: nothing else is forced.
    Certain,
    /// By the event graph: saturation, a schedule, and a search.
    Events(Graph),
}

/// Where the dependencies of a level run in the event graph (docs/levels.md, "The event graph").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    /// Begin and commit are two events.
    pub(crate) split: bool,
    /// Of two writers of a key, one commits before the other begins. Implied when begin and commit are the same event.
    pub(crate) conflicts: bool,
    /// Anti-dependencies are edges. If not, only a cycle with a single one is forbidden.
    pub(crate) misses: bool,
}

/// What a reader must have seen, and so does not miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing.
    Nothing,
    /// The writers of its earlier reads.
    Earlier,
    /// The writers of all its reads, and the earlier transactions of its session.
    Direct,
    /// Every transaction that leads to it along session order and reads.
    Causal,
    /// Every transaction that leads to it along session order, reads and overwrites.
    Parallel,
    /// The transactions that it overwrites on the key that it read.
    Cursor,
    /// As [`Sight::Direct`], and the transactions that it overwrites.
    Update,
    /// The transactions that it read from or overwrote earlier, and what leads to them along reads and overwrites.
    Monotonic,
    /// For a transaction that writes: everything before it in the order. For one that only reads: what leads to it along
    /// reads, overwrites, and anti-dependencies of transactions that write.
    Updates,
}

impl Sight {
    /// Whether it matters which operation of a transaction comes first. Otherwise one read of each key and value stands for
    /// all.
    pub(crate) fn needs_every_read(self) -> bool {
        matches!(self, Sight::Nothing | Sight::Earlier | Sight::Monotonic)
    }
}

/// Which reads of one transaction must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repeats {
    /// None.
    Nothing,
    /// Reads of the same key.
    Keys,
    /// These, and reads of ranges.
    Ranges,
}

impl Semantics {
    /// The row of a level.
    #[allow(clippy::too_many_lines, reason = "a table")]
    pub(crate) fn of(level: Level) -> Semantics {
        let weak = Semantics {
            method: Method::Alone,
            sight: Sight::Nothing,
            sessions: false,
            real_time: false,
            knows_reads: false,
            repeats: Repeats::Nothing,
            spares_ranges: false,
            stronger: &[],
            settled_by: None,
        };
        let pl1 = Semantics { method: Method::Cycles(Relations::Versions), ..weak };
        let pl2 = Semantics {
            method: Method::Cycles(Relations::Dependencies),
            knows_reads: true,
            stronger: &[Level::Serializable, Level::Prefix],
            ..weak
        };
        let by_axiom = |axiom, sight| Semantics {
            method: Method::Axiom(axiom),
            sight,
            sessions: true,
            repeats: Repeats::Ranges,
            ..pl2
        };
        let ser = Semantics {
            method: events(false, true, true),
            sight: Sight::Parallel,
            sessions: true,
            knows_reads: true,
            repeats: Repeats::Ranges,
            ..weak
        };
        // Without sessions; a history that repeats reads may still change ranges.
        let adya = Semantics { sessions: false, repeats: Repeats::Keys, ..ser };
        let certain = Method::Certain;
        match level {
            Level::CutIsolation => Semantics { repeats: Repeats::Keys, ..weak },
            Level::AdyaPl1 => pl1,
            Level::StrongSessionPl1 => Semantics { method: certain, sessions: true, ..pl1 },
            Level::StrongPl1 => Semantics { method: certain, sessions: true, real_time: true, ..pl1 },
            Level::AdyaPl2 => pl2,
            Level::StrongSessionPl2 => Semantics { method: certain, sessions: true, ..pl2 },
            Level::StrongPl2 => Semantics {
                method: certain,
                sessions: true,
                real_time: true,
                stronger: &[Level::StrictSerializable],
                ..pl2
            },
            Level::MonotonicAtomicView => Semantics {
                sessions: false,
                repeats: Repeats::Nothing,
                ..by_axiom(Axiom::ReadCommitted, Sight::Earlier)
            },
            Level::ReadCommitted => {
                Semantics { repeats: Repeats::Nothing, ..by_axiom(Axiom::ReadCommitted, Sight::Earlier) }
            }
            Level::ReadAtomic => by_axiom(Axiom::ReadAtomic, Sight::Direct),
            Level::Causal => by_axiom(Axiom::Causal, Sight::Causal),
            Level::CursorStability => Semantics {
                method: events(false, true, false),
                sight: Sight::Cursor,
                repeats: Repeats::Nothing,
                settled_by: Some(Level::ConsistentView),
                ..adya
            },
            // A lost update is none of its anomalies.
            Level::MonotonicView => Semantics {
                method: events(false, false, false),
                sight: Sight::Monotonic,
                repeats: Repeats::Nothing,
                settled_by: Some(Level::ConsistentView),
                ..adya
            },
            Level::AdyaPl299 => Semantics { spares_ranges: true, stronger: &[Level::Serializable], ..adya },
            Level::ConsistentView => Semantics { method: events(false, true, false), ..adya },
            Level::UpdateSerializable => {
                Semantics { sight: Sight::Updates, stronger: &[Level::Serializable], ..adya }
            }
            Level::AdyaPlSi => Semantics { method: events(true, true, true), ..adya },
            Level::AdyaPl3 => adya,
            Level::UpdateAtomic => Semantics {
                method: events(false, true, false),
                sight: Sight::Update,
                settled_by: Some(Level::ParallelSnapshot),
                ..ser
            },
            Level::Prefix => Semantics { method: events(true, false, true), ..ser },
            Level::ParallelSnapshot => {
                Semantics { method: events(false, true, false), stronger: &[Level::Snapshot], ..ser }
            }
            Level::Snapshot => Semantics { method: events(true, true, true), ..ser },
            Level::StrictSnapshot => Semantics { method: events(true, true, true), real_time: true, ..ser },
            Level::Serializable => ser,
            Level::StrictSerializable => Semantics { real_time: true, ..ser },
        }
    }

    /// Whether the event graph decides the level.
    pub(crate) fn is_strong(&self) -> bool {
        matches!(self.method, Method::Events(_))
    }
}

fn events(split: bool, conflicts: bool, misses: bool) -> Method {
    Method::Events(Graph { split, conflicts, misses })
}

#[cfg(test)]
mod tests {
    use isoscope_levels::Engine;

    use super::*;

    #[test]
    fn rows_agree_with_the_catalogue() {
        for level in Level::ALL {
            let row = Semantics::of(level);
            assert_eq!(row.sessions, level.has_sessions(), "{level}");
            assert_eq!(row.real_time, level.has_real_time(), "{level}");
            assert_eq!(row.knows_reads, level.implies(Level::AdyaPl2), "{level}");
            assert_eq!(row.repeats >= Repeats::Keys, level.implies(Level::CutIsolation), "{level}");
            assert_eq!(row.repeats == Repeats::Ranges, level.implies(Level::ReadAtomic), "{level}");
            assert_eq!(row.is_strong(), level.engine() == Engine::Solver, "{level}");
            let stronger = row.stronger.iter().copied().chain(row.settled_by);
            assert!(stronger.into_iter().all(|other| other != level && other.implies(level)), "{level}");
        }
    }

    /// A level without sessions has the row of the level with them, but for sessions and what follows from them.
    #[test]
    fn rows_without_sessions_agree_with_those_with_sessions() {
        for level in Level::ALL {
            if let Some(base) = level.with_sessions() {
                let (row, base) = (Semantics::of(level), Semantics::of(base));
                assert_eq!((row.method, row.sight), (base.method, base.sight), "{level}");
            }
        }
    }
}
