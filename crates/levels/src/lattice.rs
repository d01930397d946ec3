//! The implications between levels: a history that satisfies the stronger level satisfies the weaker one.
//!
//! The table lists the edges that do not follow from others. [`Level::implies`] is their reflexive and
//! transitive closure. A test checks that the table has no edge too few and none too many: if one level does
//! not imply another, some example of the catalogue satisfies the first and violates the second.
//!
//! Some edges are absent on purpose. Snapshot isolation allows write skew, which adya-pl-2.99 forbids. Adya's
//! levels ignore session order, so adya-pl-2.99 does not imply read committed, although it forbids far more.
//! And adya-pl-2.99 ignores the anti-dependencies of predicate reads, so it implies none of the levels
//! between adya-pl-2 and adya-pl-3 that count every read.

use crate::Level::{
    self, AdyaPl1, AdyaPl2, AdyaPl3, AdyaPl299, AdyaPlSi, Causal, ConsistentView, CursorStability,
    CutIsolation, MonotonicAtomicView, MonotonicView, ParallelSnapshot, Prefix, ReadAtomic, ReadCommitted,
    Serializable, Snapshot, StrictSerializable, StrictSnapshot, StrongPl1, StrongPl2, StrongSessionPl1,
    StrongSessionPl2, UpdateAtomic, UpdateSerializable,
};
use crate::citation::{
    ADYA, BAILIS_HAT, BISWAS_ENEA, CERONE_BERNARDI_GOTSMAN, CERONE_GOTSMAN, Citation, DAUDJEE_SALEM,
    ELLE_MODELS,
};

/// The stronger level implies the weaker, and no level lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The level that implies.
    pub stronger: Level,
    /// The level that is implied.
    pub weaker: Level,
    /// Why.
    pub reason: &'static str,
    /// The source that states it.
    pub source: Citation,
}

const fn edge(
    stronger: Level,
    weaker: Level,
    reason: &'static str,
    paper: &'static str,
    place: &'static str,
) -> Edge {
    Edge { stronger, weaker, reason, source: Citation::new(paper, place) }
}

/// The edges, strongest first.
#[rustfmt::skip]
pub static EDGES: [Edge; 40] = [
    edge(StrictSerializable, Serializable, "it requires the same of an order that need not agree with real time", ADYA, "PL-SS"),
    edge(StrictSerializable, StrictSnapshot, "seeing all earlier transactions is a snapshot without write conflicts", DAUDJEE_SALEM, "section 2"),
    edge(StrictSnapshot, Snapshot, "it requires the same of an order that need not agree with real time", DAUDJEE_SALEM, "section 2"),
    edge(StrictSnapshot, StrongPl2, "the commit order agrees with real time and with all dependencies", ELLE_MODELS, "strong read committed"),
    edge(Serializable, Snapshot, "seeing all earlier transactions is a snapshot without write conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Serializable, AdyaPl3, "the same without sessions", ADYA, "chapter 3"),
    edge(AdyaPl3, AdyaPl299, "no cycle at all, so no cycle over single keys", ADYA, "chapter 3"),
    edge(AdyaPl3, AdyaPlSi, "seeing all earlier transactions is a snapshot without write conflicts", ADYA, "chapter 4"),
    edge(AdyaPl3, UpdateSerializable, "no cycle at all, so no cycle with at most one read-only transaction", ADYA, "chapter 4"),
    edge(Snapshot, Prefix, "the same without the rule on write conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Snapshot, ParallelSnapshot, "a prefix of the commit order is closed under causes", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Snapshot, AdyaPlSi, "the same without sessions", ADYA, "chapter 4"),
    edge(AdyaPlSi, ConsistentView, "a cycle with one anti-dependency has no two adjacent ones", ADYA, "chapter 4"),
    edge(Prefix, Causal, "a prefix of the commit order is closed under causes", BISWAS_ENEA, "section 2"),
    edge(ParallelSnapshot, Causal, "the same without the rule on write conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(ParallelSnapshot, ConsistentView, "the same without sessions", CERONE_GOTSMAN, "dependency graphs of PSI"),
    edge(ParallelSnapshot, UpdateAtomic, "the same, except that visibility need not be closed under causes", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Causal, ReadAtomic, "a direct cause is a cause", BISWAS_ENEA, "section 2"),
    edge(UpdateAtomic, ReadAtomic, "the same without the rule on write conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(UpdateAtomic, CursorStability, "a transaction that overwrites a version has seen it, and reads no older one", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(ReadAtomic, ReadCommitted, "the transactions read from earlier are among all those read from", BISWAS_ENEA, "section 2"),
    edge(ReadAtomic, CutIsolation, "two versions of a key would each have to be the newer one", CERONE_BERNARDI_GOTSMAN, "section 3, INT"),
    edge(ReadCommitted, StrongSessionPl2, "the commit order itself orders the versions without a cycle", CERONE_GOTSMAN, "from orders to dependency graphs"),
    edge(ReadCommitted, MonotonicAtomicView, "the same without sessions", BAILIS_HAT, "section 5.1"),
    edge(UpdateSerializable, ConsistentView, "a cycle with one anti-dependency has at most one read-only transaction", ADYA, "chapter 4"),
    edge(ConsistentView, MonotonicView, "the dependencies before a read are among all dependencies", ADYA, "chapter 4"),
    edge(ConsistentView, CursorStability, "the forbidden cycle has exactly one anti-dependency", ADYA, "chapter 4"),
    edge(ConsistentView, CutIsolation, "a reader of two versions of a key has an anti-dependency on a transaction it read from", BAILIS_HAT, "section 5.1"),
    edge(AdyaPl299, CursorStability, "the forbidden cycle is over single keys", ADYA, "chapter 4"),
    edge(AdyaPl299, CutIsolation, "a reader of two versions of a key has an anti-dependency on a transaction it read from", BAILIS_HAT, "section 5.1"),
    edge(MonotonicView, MonotonicAtomicView, "a transaction depends on those it reads from", ADYA, "chapter 4"),
    edge(MonotonicAtomicView, AdyaPl2, "the same without the rule on monotonic reads", BAILIS_HAT, "section 5.1"),
    edge(CursorStability, AdyaPl2, "the same without the rule on cursors", ADYA, "chapter 4"),
    edge(StrongPl2, StrongSessionPl2, "a session runs one transaction after the other", ELLE_MODELS, "strong read committed"),
    edge(StrongPl2, StrongPl1, "the same without reads", ELLE_MODELS, "strong read committed"),
    edge(StrongSessionPl2, StrongSessionPl1, "the same without reads", ELLE_MODELS, "strong session read committed"),
    edge(StrongSessionPl2, AdyaPl2, "the same without sessions", ELLE_MODELS, "strong session read committed"),
    edge(AdyaPl2, AdyaPl1, "the same without reads", ADYA, "chapter 3"),
    edge(StrongPl1, StrongSessionPl1, "a session runs one transaction after the other", ELLE_MODELS, "strong read uncommitted"),
    edge(StrongSessionPl1, AdyaPl1, "the same without sessions", ELLE_MODELS, "strong session read uncommitted"),
];

/// The common levels as a drawing: a stronger level is above a weaker one, a line means that no common level
/// lies between.
pub const DRAWING: &str = "              strict-serializable
               ╭───────┴───────╮
         serializable  strict-snapshot-isolation
       ╭───────┴───────╮       │
       │              snapshot-isolation
       │             ╭─────────┴─────────╮
       │          prefix    parallel-snapshot-isolation
       │             ╰─────────┬─────────╯
       │                    causal
       │                       │
       │                  read-atomic
       │             ╭─────────┴─────────╮
 adya-pl-2.99        │                   │
  │    ╰────── cut-isolation      read-committed
  ╰───────────────────┬──────────────────╯
                  adya-pl-2
                      │
                  adya-pl-1
";

/// For each level, the levels it implies, as a bit set.
const IMPLIED: [u32; Level::ALL.len()] = closure();

const fn closure() -> [u32; Level::ALL.len()] {
    let mut implied = [0; Level::ALL.len()];
    let mut level = 0;
    while level < implied.len() {
        // The weaker level of an edge comes first in the order of levels, so its set is complete.
        implied[level] = 1 << level;
        let mut i = 0;
        while i < EDGES.len() {
            if EDGES[i].stronger as usize == level {
                implied[level] |= implied[EDGES[i].weaker as usize];
            }
            i += 1;
        }
        level += 1;
    }
    implied
}

impl Level {
    /// Whether every history that satisfies this level satisfies the other. A level implies itself.
    pub const fn implies(self, other: Level) -> bool {
        IMPLIED[self as usize] & (1 << other as usize) != 0
    }

    /// The levels directly below this one.
    pub fn covers(self) -> impl Iterator<Item = Level> {
        EDGES.iter().filter(move |edge| edge.stronger == self).map(|edge| edge.weaker)
    }

    /// The levels directly above this one.
    pub fn covered_by(self) -> impl Iterator<Item = Level> {
        EDGES.iter().filter(move |edge| edge.weaker == self).map(|edge| edge.stronger)
    }
}
