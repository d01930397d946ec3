//! Which level implies which: a history that satisfies the stronger satisfies the weaker.
//!
//! The table holds the edges that follow from no others; [`Level::implies`] is their reflexive and transitive
//! closure. That the table is complete, and no edge too many, is a test: for any two levels of which the
//! first does not imply the second, some example of the catalogue satisfies the first and violates the second.
//!
//! Some edges are missing on purpose. Snapshot isolation allows write skew, which adya-pl-2.99 forbids. Adya's
//! levels leave the order of sessions out, so adya-pl-2.99, though it forbids far more than read committed, does
//! not imply it. And adya-pl-2.99 leaves the anti-dependencies of predicate reads out, so it implies none of the
//! levels between adya-pl-2 and adya-pl-3 to which every read counts.

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
    /// Who says so.
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
    edge(StrictSerializable, Serializable, "an order that agrees with real time is an order", ADYA, "PL-SS"),
    edge(StrictSerializable, StrictSnapshot, "seeing all that went before is seeing a snapshot that missed no conflict", DAUDJEE_SALEM, "section 2"),
    edge(StrictSnapshot, Snapshot, "an order that agrees with real time is an order", DAUDJEE_SALEM, "section 2"),
    edge(StrictSnapshot, StrongPl2, "the commit order agrees with real time and with all dependencies", ELLE_MODELS, "strong read committed"),
    edge(Serializable, Snapshot, "seeing all that went before is seeing a snapshot that missed no conflict", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Serializable, AdyaPl3, "the same without sessions", ADYA, "chapter 3"),
    edge(AdyaPl3, AdyaPl299, "no cycle at all, so none of items", ADYA, "chapter 3"),
    edge(AdyaPl3, AdyaPlSi, "seeing all that went before is seeing a snapshot that missed no conflict", ADYA, "chapter 4"),
    edge(AdyaPl3, UpdateSerializable, "no cycle at all, so none with one transaction that only reads", ADYA, "chapter 4"),
    edge(Snapshot, Prefix, "the same without the rule on conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Snapshot, ParallelSnapshot, "what is a prefix for all is a causally closed set for each", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Snapshot, AdyaPlSi, "the same without sessions", ADYA, "chapter 4"),
    edge(AdyaPlSi, ConsistentView, "a cycle with one anti-dependency has no two neighbouring ones", ADYA, "chapter 4"),
    edge(Prefix, Causal, "a prefix of the commit order is closed under causes", BISWAS_ENEA, "section 2"),
    edge(ParallelSnapshot, Causal, "the same without the rule on conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(ParallelSnapshot, ConsistentView, "the same without sessions", CERONE_GOTSMAN, "dependency graphs of PSI"),
    edge(ParallelSnapshot, UpdateAtomic, "what is visible need not be closed under causes", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(Causal, ReadAtomic, "direct causes are causes", BISWAS_ENEA, "section 2"),
    edge(UpdateAtomic, ReadAtomic, "the same without the rule on conflicts", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(UpdateAtomic, CursorStability, "who overwrites a version has seen it, and reads no older one", CERONE_BERNARDI_GOTSMAN, "section 3"),
    edge(ReadAtomic, ReadCommitted, "what was read earlier is among what was read", BISWAS_ENEA, "section 2"),
    edge(ReadAtomic, CutIsolation, "two versions of a key would each have to be the newer one", CERONE_BERNARDI_GOTSMAN, "section 3, INT"),
    edge(ReadCommitted, StrongSessionPl2, "the commit order itself orders the versions without a cycle", CERONE_GOTSMAN, "from orders to dependency graphs"),
    edge(ReadCommitted, MonotonicAtomicView, "the same without sessions", BAILIS_HAT, "section 5.1"),
    edge(UpdateSerializable, ConsistentView, "a cycle with one anti-dependency has at most one transaction that only reads", ADYA, "chapter 4"),
    edge(ConsistentView, MonotonicView, "what is seen before a read is among what is seen", ADYA, "chapter 4"),
    edge(ConsistentView, CursorStability, "one read and one overwritten version make a cycle with one anti-dependency", ADYA, "chapter 4"),
    edge(ConsistentView, CutIsolation, "who reads two versions of a key has an anti-dependency on what he read", BAILIS_HAT, "section 5.1"),
    edge(AdyaPl299, CursorStability, "the cycle is one of single keys", ADYA, "chapter 4"),
    edge(AdyaPl299, CutIsolation, "who reads two versions of a key has an anti-dependency on what he read", BAILIS_HAT, "section 5.1"),
    edge(MonotonicView, MonotonicAtomicView, "who is read from is depended on", ADYA, "chapter 4"),
    edge(MonotonicAtomicView, AdyaPl2, "the same without the rule on what was observed", BAILIS_HAT, "section 5.1"),
    edge(CursorStability, AdyaPl2, "the same without cursors", ADYA, "chapter 4"),
    edge(StrongPl2, StrongSessionPl2, "a session runs one transaction after the other", ELLE_MODELS, "strong read committed"),
    edge(StrongPl2, StrongPl1, "the same without reads", ELLE_MODELS, "strong read committed"),
    edge(StrongSessionPl2, StrongSessionPl1, "the same without reads", ELLE_MODELS, "strong session read committed"),
    edge(StrongSessionPl2, AdyaPl2, "the same without sessions", ELLE_MODELS, "strong session read committed"),
    edge(AdyaPl2, AdyaPl1, "the same without reads", ADYA, "chapter 3"),
    edge(StrongPl1, StrongSessionPl1, "a session runs one transaction after the other", ELLE_MODELS, "strong read uncommitted"),
    edge(StrongSessionPl1, AdyaPl1, "the same without sessions", ELLE_MODELS, "strong session read uncommitted"),
];

/// The common levels for people: the stronger above the weaker, a line where nothing common lies between.
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

/// By level, the levels it implies, as a set of bits.
const IMPLIED: [u32; Level::ALL.len()] = closure();

const fn closure() -> [u32; Level::ALL.len()] {
    let mut implied = [0; Level::ALL.len()];
    let mut level = 0;
    while level < implied.len() {
        // The weaker of an edge stands before the stronger in the order of levels, and is done already.
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
