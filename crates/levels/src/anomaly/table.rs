//! The facts about each anomaly, one row per anomaly: first anomalies inside one transaction and between two,
//! then those of order, of lists, and of dependency cycles.
//!
//! The letters are those of Plume's transactional anomalous patterns (TAP). The patterns of order come in two
//! forms. They differ in the reason why the version read is known to be the older one: causality alone, or
//! the commit order, that is, edges that other reads force.
//!
//! The workload can inject the first example of a row (`isoscope generate --inject`). In these examples each
//! transaction is its own session and the values written are 1, 2, 3, ...

use super::{Anomaly, Row};
use crate::Anomaly::{
    AbortedRead, CausalityViolation, CircularInformationFlow, ConflictingCommitOrder, CyclicCausality,
    DirtyWrite, DuplicateElements, FracturedRead, FutureRead, IncompatibleOrder, IntermediateRead, LongFork,
    LostAppend, LostUpdate, NonMonotonicRead, NonRepeatableRead, NotMyLastWrite, NotMyOwnWrite, Phantom,
    ReadSkew, SnapshotSkew, StaleRead, StaleSessionRead, ThinAirRead, WriteSkew,
};
use crate::Level::{
    AdyaPl1, AdyaPl2, AdyaPl3, AdyaPl299, AdyaPlSi, Causal, ConsistentView, CursorStability, CutIsolation,
    MonotonicAtomicView, MonotonicView, ParallelSnapshot, Prefix, ReadAtomic, ReadCommitted, Serializable,
    Snapshot, StrictSnapshot, StrongPl1, StrongSessionPl1, StrongSessionPl2, UpdateAtomic,
    UpdateSerializable,
};
use crate::citation::{
    ADYA, BAILIS_HAT, BAILIS_RAMP, BERENSON, BISWAS_ENEA, CERONE_BERNARDI_GOTSMAN, CERONE_GOTSMAN, ELLE,
    FEKETE, PLUME, TERRY, WALTER,
};
use crate::{Called, Citation, Example};

const fn called(by: &'static str, name: &'static str) -> Called {
    Called { by, name }
}

const fn cite(paper: &'static str, place: &'static str) -> Citation {
    Citation::new(paper, place)
}

pub(super) static ROWS: [Row; Anomaly::ALL.len()] = [
    Row {
        anomaly: ThinAirRead,
        name: "thin-air-read",
        about: "a transaction reads a value that was never written",
        aliases: &["TAP-a", "thin-air"],
        called: &[called("Elle", "reported as a read of a value that was never written")],
        elle: None,
        definition: "A transaction reads a value that no transaction wrote and that is not the initial \
                     value.",
        cause: "Corrupted or mixed-up data, a test that does not record all writers, or a history that lacks \
                the writing transaction.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1: r(x,7)",
            story: "x starts as 0 and is never written, yet T1 reads 7.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(PLUME, "TAP-a")],
        see_also: &[AbortedRead, FutureRead],
    },
    Row {
        anomaly: AbortedRead,
        name: "aborted-read",
        about: "a transaction reads a write that was rolled back",
        aliases: &["TAP-b", "G1a"],
        called: &[
            called("Elle", ":G1a, and :dirty-update where a committed append follows the aborted one"),
            called(
                "ANSI SQL",
                "a case of P1, dirty read, which also counts reads of writers that later commit",
            ),
        ],
        elle: Some("G1a"),
        definition: "A transaction reads a write of another one that rolled back. It acts on a value that \
                     was never committed.",
        cause: "Writes reach shared data before the commit, and readers do not wait: there are no read locks \
                or no versions.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1!: w(x,1)  T2: r(x,1)",
            story: "T1 aborts; T2 has read its 1.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(ADYA, "chapter 3, G1a"), cite(PLUME, "TAP-b")],
        see_also: &[IntermediateRead, ThinAirRead],
    },
    Row {
        anomaly: FutureRead,
        name: "future-read",
        about: "a transaction reads a value that it writes only later",
        aliases: &["TAP-c"],
        called: &[called("Elle", ":future-read, or :internal")],
        elle: Some("future-read"),
        definition: "A transaction reads a value that it writes itself only afterwards.",
        cause: "Operations of a transaction are reordered or retried: a client library sends a batch twice, \
                or the history is not in the order of execution.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1: r(x,1) w(x,1)",
            story: "T1 reads 1 from x before it writes it.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(PLUME, "TAP-c")],
        see_also: &[NotMyOwnWrite, CyclicCausality],
    },
    Row {
        anomaly: NotMyOwnWrite,
        name: "not-my-own-write",
        about: "a read after an own write returns another value",
        aliases: &["TAP-d"],
        called: &[called("Elle", ":internal")],
        elle: Some("internal"),
        definition: "A transaction has written a key, reads it, and finds the value of another transaction.",
        cause: "Writes are buffered where the transaction's own reads do not look, or its reads go to a \
                replica.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(x,2) r(x,1)",
            story: "T2 has just written 2 and reads the 1 of T1.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(PLUME, "TAP-d"), cite(CERONE_BERNARDI_GOTSMAN, "section 3, INT")],
        see_also: &[NotMyLastWrite, FutureRead],
    },
    Row {
        anomaly: NotMyLastWrite,
        name: "not-my-last-write",
        about: "a read after own writes returns an earlier one",
        aliases: &["TAP-e"],
        called: &[called("Elle", ":internal")],
        elle: Some("internal"),
        definition: "A transaction has written a key more than once, reads it, and finds an earlier write of \
                     its own.",
        cause: "The transaction's own writes are buffered without an order, or a client-side cache keeps the \
                first one.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1: w(x,1) w(x,2) r(x,1)",
            story: "T1 has overwritten its 1 with 2 and still reads 1.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(PLUME, "TAP-e"), cite(CERONE_BERNARDI_GOTSMAN, "section 3, INT")],
        see_also: &[NotMyOwnWrite, IntermediateRead],
    },
    Row {
        anomaly: IntermediateRead,
        name: "intermediate-read",
        about: "a read returns a value that its writer then overwrote",
        aliases: &["TAP-f", "G1b"],
        called: &[called("Elle", ":G1b")],
        elle: Some("G1b"),
        definition: "A transaction reads a value that its writer overwrote later in the same transaction. \
                     This state was never committed.",
        cause: "Writes become visible one by one instead of at commit.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "T1: w(x,1) w(x,2)  T2: r(x,1)",
            story: "T2 reads x between the two writes of T1.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(ADYA, "chapter 3, G1b"), cite(PLUME, "TAP-f")],
        see_also: &[AbortedRead, NotMyLastWrite],
    },
    Row {
        anomaly: CyclicCausality,
        name: "cyclic-causality",
        about: "reads, with session or real-time order, form a circle",
        aliases: &["TAP-g"],
        called: &[called("Elle", ":G1c, where no write is overwritten; :G1c-process with sessions")],
        elle: Some("G1c"),
        definition: "Transactions read from each other in a circle, so each must have committed before the \
                     other read. From read-committed up, session order is part of the circle, and at strict \
                     levels real-time order: a transaction reads a value that is written only later in its \
                     session, or only after it returned. Adya's levels count reads only.",
        cause: "Transactions see each other's writes before they commit.",
        forbidden_from: &[AdyaPl2],
        examples: &[
            Example {
                notation: "T1: r(x,2) w(y,1)  T2: r(y,1) w(x,2)",
                story: "T1 has read what T2 wrote, and T2 what T1 wrote: neither can have been first.",
                holds: &[CutIsolation, StrongSessionPl1],
                violated: &[AdyaPl2],
            },
            Example {
                notation: "T1: r(x,1) ; T2: w(x,1)",
                story: "A session reads a value that only its next transaction writes.",
                holds: &[StrongSessionPl1, AdyaPl3],
                violated: &[StrongSessionPl2],
            },
        ],
        sources: &[cite(PLUME, "TAP-g"), cite(ADYA, "chapter 3, G1c")],
        see_also: &[CircularInformationFlow, FutureRead],
    },
    Row {
        anomaly: NonMonotonicRead,
        name: "non-monotonic-read",
        about: "a transaction is seen, then a version it overwrote",
        aliases: &["TAP-h", "TAP-i"],
        called: &[
            called("Bailis et al.", "OTV, observed transaction vanishes"),
            called("Adya", "close to G-monotonic"),
        ],
        elle: None,
        definition: "A transaction reads from another one and then reads a second key in a version older \
                     than the one that transaction wrote. Its reads have gone back in time.",
        cause: "Each read goes to the replica that answers first, and some replicas lag behind others.",
        forbidden_from: &[MonotonicAtomicView, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)",
                story: "T2 sees T1 on y, and then reads x as it was before T1.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
            Example {
                notation: "T1: w(x,1) w(z,2)  T2: w(x,3) w(y,4)  T3: r(y,4) r(x,1)  T4: r(z,2) r(x,3)",
                story: "T3 sees T2 and then the x of T1, so T1 wrote x last; T4 sees T1 and then the x of \
                        T2, so T2 wrote x last. One of the two readers went back in time.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
        ],
        sources: &[
            cite(PLUME, "TAP-h and TAP-i"),
            cite(BISWAS_ENEA, "section 2, read committed"),
            cite(BAILIS_HAT, "section 5.1, monotonic atomic view"),
        ],
        see_also: &[FracturedRead, NonRepeatableRead],
    },
    Row {
        anomaly: NonRepeatableRead,
        name: "non-repeatable-read",
        about: "two reads of a key return two values",
        aliases: &["TAP-j", "unrepeatable-read", "fuzzy-read", "P2"],
        called: &[
            called("Elle", ":internal"),
            called("ANSI SQL", "P2"),
            called("Bailis et al.", "IMP, item many preceders"),
        ],
        elle: Some("internal"),
        definition: "A transaction reads one key twice and finds two values, neither of them its own.",
        cause: "Every statement gets a new snapshot; this is what READ COMMITTED means in most databases.",
        forbidden_from: &[CutIsolation],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: r(x,0) r(x,1)",
            story: "T1 commits between the two reads of T2.",
            holds: &[CursorStability, MonotonicView, ReadCommitted],
            violated: &[CutIsolation],
        }],
        sources: &[cite(PLUME, "TAP-j"), cite(BERENSON, "P2"), cite(BAILIS_HAT, "section 5.1")],
        see_also: &[NonMonotonicRead, FracturedRead],
    },
    Row {
        anomaly: FracturedRead,
        name: "fractured-read",
        about: "one write of a transaction is seen, another missed",
        aliases: &["TAP-k", "TAP-l"],
        called: &[called("Elle", ":G-single-item, with one reader and one writer")],
        elle: None,
        definition: "A transaction sees one write of another and misses a second one: it reads from a \
                     transaction, and before or after that it reads a key in a version older than the one \
                     that transaction wrote.",
        cause: "The writes of a transaction reach shards or replicas one after the other, and readers look \
                in between; or every statement gets a new snapshot.",
        forbidden_from: &[ReadAtomic, ConsistentView, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
                story: "T2 sees the y of T1 and misses its x.",
                holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
                violated: &[AdyaPl299, ConsistentView, ReadAtomic],
            },
            Example {
                notation: "T1: w(x,1) w(z,2)  T2: w(x,3) w(y,4)  T3: r(x,1) r(y,4)  T4: r(x,3) r(z,2)",
                story: "T3 sees T2 and the x of T1, so T1 wrote x last; T4 sees T1 and the x of T2, so T2 \
                        wrote x last. One of the two readers missed a write.",
                holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
                violated: &[AdyaPl299, ConsistentView, ReadAtomic],
            },
        ],
        sources: &[
            cite(PLUME, "TAP-k and TAP-l"),
            cite(BAILIS_RAMP, "section 3, fractured reads"),
            cite(BISWAS_ENEA, "section 2, read atomic"),
        ],
        see_also: &[ReadSkew, NonMonotonicRead, CausalityViolation],
    },
    Row {
        anomaly: StaleSessionRead,
        name: "stale-session-read",
        about: "a transaction misses a write of its own session",
        aliases: &["stale-session"],
        called: &[
            called("Elle", ":G-single-item-process"),
            called("Terry et al.", "a read that lacks read-your-writes"),
        ],
        elle: None,
        definition: "A transaction reads a key in a version older than the one that an earlier transaction \
                     of its own session wrote.",
        cause: "A session writes to the primary and reads from a replica, or is moved to another server.",
        forbidden_from: &[ReadAtomic],
        examples: &[
            Example {
                notation: "T1: w(x,1) ; T2: r(x,0)",
                story: "The session has written 1 and then reads 0.",
                holds: &[ReadCommitted, AdyaPl3],
                violated: &[ReadAtomic],
            },
            Example {
                notation: "T1: r(x,0) w(x,1) ; T2: r(x,0)",
                story: "The same anomaly: that T1 read the version it overwrote changes nothing, and with a \
                        single key no other pattern applies.",
                holds: &[ReadCommitted, AdyaPl3],
                violated: &[ReadAtomic],
            },
        ],
        sources: &[cite(TERRY, "read your writes"), cite(BISWAS_ENEA, "section 2, read atomic")],
        see_also: &[CausalityViolation, FracturedRead],
    },
    Row {
        anomaly: CausalityViolation,
        name: "causality-violation",
        about: "a transaction sees an effect and misses its cause",
        aliases: &["TAP-m", "causal-violation"],
        called: &[called("Elle", ":G-single-item, or :G-single-item-process, through other transactions")],
        elle: None,
        definition: "A transaction sees an effect and misses its cause: it reads a key in a version older \
                     than the one written by a transaction that causally precedes it, through any number of \
                     reads and sessions.",
        cause: "Replicas apply writes as they arrive and do not wait for the writes these depend on.",
        forbidden_from: &[Causal, ConsistentView, AdyaPl299],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
            story: "T2 replies to T1; T3 sees the reply and misses the original.",
            holds: &[UpdateAtomic],
            violated: &[MonotonicView, AdyaPl299, Causal],
        }],
        sources: &[cite(PLUME, "TAP-m"), cite(BISWAS_ENEA, "section 2, causal consistency")],
        see_also: &[ConflictingCommitOrder, StaleSessionRead, LongFork],
    },
    Row {
        anomaly: ConflictingCommitOrder,
        name: "conflicting-commit-order",
        about: "readers disagree about which write came first",
        aliases: &["TAP-n"],
        called: &[called("Elle", ":cyclic-versions, where the versions of one key are in a circle")],
        elle: None,
        definition: "Readers saw concurrent writes of a key in orders that contradict each other: what some \
                     of them must have seen makes one writer the earlier, and what others must have seen \
                     makes the other writer the earlier.",
        cause: "Each replica resolves concurrent writes in its own way, for instance by time of arrival.",
        forbidden_from: &[Causal, ConsistentView, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: w(x,1)  T2: w(x,2)  T3: r(x,1) ; T4: r(x,2)  T5: r(x,2) ; T6: r(x,1)",
                story: "One session sees 1 become 2, another sees 2 become 1.",
                holds: &[UpdateAtomic, AdyaPl3],
                violated: &[Causal],
            },
            Example {
                notation: "T1: w(x,1)  T2: w(x,2)  T3: r(x,1) w(y,3)  T4: r(y,3) r(x,2)  \
                           T5: r(x,2) w(z,4)  T6: r(z,4) r(x,1)",
                story: "The same without sessions: T4 knows of 1 through T3 and reads 2, T6 knows of 2 \
                        through T5 and reads 1.",
                holds: &[UpdateAtomic],
                violated: &[MonotonicView, AdyaPl299, Causal],
            },
        ],
        sources: &[cite(PLUME, "TAP-n"), cite(BISWAS_ENEA, "section 2, causal consistency")],
        see_also: &[CausalityViolation, IncompatibleOrder, LongFork],
    },
    Row {
        anomaly: IncompatibleOrder,
        name: "incompatible-order",
        about: "two reads of a list, neither a prefix of the other",
        aliases: &[],
        called: &[called("Elle", ":incompatible-order")],
        elle: Some("incompatible-order"),
        definition: "Two reads of a list, neither of which is a prefix of the other. Lists only grow at the \
                     end, so at least one of the reads shows a state that never existed.",
        cause: "A partitioned cluster with two primaries, or replicas that diverged and were merged.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])  T4: r(x,[2 1])",
            story: "For T3, 1 was appended before 2; for T4, after.",
            holds: &[CutIsolation],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(ELLE, "incompatible orders")],
        see_also: &[ConflictingCommitOrder, LostAppend],
    },
    Row {
        anomaly: DuplicateElements,
        name: "duplicate-elements",
        about: "a list holds an element more often than appended",
        aliases: &[],
        called: &[called("Elle", ":duplicate-elements")],
        elle: Some("duplicate-elements"),
        definition: "A list holds an element more often than it was appended.",
        cause: "A client or a coordinator retries a write that had already taken effect.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1)  T2: r(x,[1 1])",
            story: "T1 appended the element once, and T2 reads it twice.",
            holds: &[CutIsolation],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(ELLE, "duplicate elements")],
        see_also: &[LostAppend, IncompatibleOrder],
    },
    Row {
        anomaly: LostAppend,
        name: "lost-append",
        about: "a committed append is missing from a later list",
        aliases: &[],
        called: &[called("Jepsen", "lost write")],
        elle: None,
        definition: "A committed append is missing from a list that must be later: the list holds a later \
                     append of the same transaction or, at levels with session order, of the same session.",
        cause: "An acknowledged write was only in memory, or on a primary that lost an election.",
        forbidden_from: &[AdyaPl2],
        examples: &[
            Example {
                notation: "init=nil  T1: a(x,1) a(x,2)  T2: r(x,[2])",
                story: "T1 appended 1 and then 2; the list holds the second and lacks the first.",
                holds: &[CutIsolation],
                violated: &[AdyaPl2],
            },
            Example {
                notation: "init=nil  T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2])",
                story: "The session appended 1 and then 2; the list holds the second and lacks the first.",
                holds: &[AdyaPl3, StrongPl1],
                violated: &[StrongSessionPl2],
            },
        ],
        sources: &[cite(ELLE, "inconsistent version orders")],
        see_also: &[LostUpdate, IncompatibleOrder],
    },
    Row {
        anomaly: DirtyWrite,
        name: "dirty-write",
        about: "transactions overwrite each other in a circle",
        aliases: &["G0", "P0"],
        called: &[called("Elle", ":G0; with sessions :G0-process, with real time :G0-realtime")],
        elle: Some("G0"),
        definition: "Transactions overwrite each other in a circle: on one key the first transaction writes \
                     later, on another key the second. The final state is a mix of both.",
        cause: "Writers do not lock, or each shard decides on its own which of two writes is the later one.",
        forbidden_from: &[AdyaPl1],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])",
            story: "T3 shows that T1 wrote x first, T4 shows that T2 wrote y first.",
            holds: &[CutIsolation],
            violated: &[AdyaPl1],
        }],
        sources: &[cite(ADYA, "chapter 3, G0"), cite(BERENSON, "P0")],
        see_also: &[CircularInformationFlow, IncompatibleOrder],
    },
    Row {
        anomaly: CircularInformationFlow,
        name: "circular-information-flow",
        about: "a transaction reads from another that wrote after it",
        aliases: &["G1c"],
        called: &[called("Elle", ":G1c; with sessions :G1c-process, with real time :G1c-realtime")],
        elle: Some("G1c"),
        definition: "Transactions depend on each other in a circle of reads and at least one overwrite: one \
                     transaction has read from another that wrote after it.",
        cause: "Reads see the writes of transactions that have not committed yet.",
        forbidden_from: &[AdyaPl2],
        examples: &[Example {
            notation: "init=nil  T1: r(y,[2]) a(x,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])",
            story: "T1 has read from T2, yet on x T2 writes after T1.",
            holds: &[CutIsolation, StrongSessionPl1],
            violated: &[AdyaPl2],
        }],
        sources: &[cite(ADYA, "chapter 3, G1c")],
        see_also: &[CyclicCausality, DirtyWrite],
    },
    Row {
        anomaly: LostUpdate,
        name: "lost-update",
        about: "two transactions update a key from the same version",
        aliases: &["P4"],
        called: &[called("Elle", ":lost-update, and its cycle as :G-single-item or :G2-item")],
        elle: Some("lost-update"),
        definition: "A transaction reads a version of a key and overwrites it, although another transaction \
                     has overwritten it in between. The update of that transaction is lost: it was \
                     overwritten without having been read. Usually both read the same version.",
        cause: "Read, compute, write back, without a lock and without a check that the value is unchanged.",
        forbidden_from: &[CursorStability],
        examples: &[Example {
            notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
            story: "Both start from 0; no version contains both updates.",
            holds: &[MonotonicView, Prefix],
            violated: &[CursorStability],
        }],
        sources: &[cite(BERENSON, "section 4.1, P4"), cite(CERONE_BERNARDI_GOTSMAN, "section 3, NOCONFLICT")],
        see_also: &[WriteSkew, ReadSkew],
    },
    Row {
        anomaly: ReadSkew,
        name: "read-skew",
        about: "a transaction sees only part of what it depends on",
        aliases: &["G-single", "G-single-item", "A5A"],
        called: &[
            called(
                "Elle",
                ":G-single-item; with sessions :G-single-item-process, with real time :G-single-item-realtime",
            ),
            called("Elle", ":G-single, where a predicate is read, and in older versions always"),
        ],
        elle: Some("G-single-item"),
        definition: "A transaction sees only part of what it depends on: it depends on a transaction, \
                     directly or through others, and misses a write of that transaction. This is a cycle of \
                     dependencies with exactly one anti-dependency.",
        cause: "A transaction reads its keys at different moments, and others commit in between.",
        forbidden_from: &[MonotonicView, UpdateAtomic, Prefix, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
                story: "T2 reads x before T1 and y after it. In its simplest form this is a fractured read.",
                holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
                violated: &[AdyaPl299, ConsistentView, ReadAtomic],
            },
            Example {
                notation: "init=nil  T1: a(x,1) a(z,1)  T2: a(z,2) a(y,2)  T3: r(x,[]) r(y,[2])  T4: r(z,[1 2])",
                story: "T3 saw T2, which wrote z after T1, and missed T1. No read connects T1 to T3, so \
                        causal allows this.",
                holds: &[MonotonicView, UpdateAtomic, Causal],
                violated: &[AdyaPl299, ConsistentView, Prefix],
            },
            Example {
                notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
                story: "T3 saw what T2 wrote, and then missed what T2 had read.",
                holds: &[UpdateAtomic],
                violated: &[MonotonicView, AdyaPl299, Causal],
            },
        ],
        sources: &[cite(BERENSON, "section 4.2, A5A"), cite(ADYA, "chapter 4, G-single")],
        see_also: &[FracturedRead, CausalityViolation, LostUpdate, LongFork],
    },
    Row {
        anomaly: LongFork,
        name: "long-fork",
        about: "two readers see two writes in opposite order",
        aliases: &[],
        called: &[
            called(
                "Elle",
                "a case of :G-nonadjacent-item, :G-nonadjacent-item-process and :G-nonadjacent-item-realtime",
            ),
            called("Jepsen", "the long-fork workload"),
        ],
        elle: Some("G-nonadjacent-item"),
        definition: "Two readers see two independent writes in opposite order: each has seen one of them and \
                     not the other. This is a cycle of dependencies with two or more anti-dependencies, each \
                     of which directly follows a read or a step in session order.",
        cause: "Two data centres commit independently and replicate to each other later.",
        forbidden_from: &[Prefix, AdyaPlSi, AdyaPl299],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            story: "T3 has seen only T1, T4 only T2.",
            holds: &[UpdateSerializable, ParallelSnapshot],
            violated: &[AdyaPl299, Prefix, AdyaPlSi],
        }],
        sources: &[cite(WALTER, "section 3"), cite(CERONE_BERNARDI_GOTSMAN, "section 3, PREFIX")],
        see_also: &[ReadSkew, SnapshotSkew, WriteSkew, CausalityViolation],
    },
    Row {
        anomaly: SnapshotSkew,
        name: "snapshot-skew",
        about: "snapshots contradict the order of overwrites",
        aliases: &["G-nonadjacent", "G-nonadjacent-item"],
        called: &[
            called(
                "Elle",
                ":G-nonadjacent-item; with sessions :G-nonadjacent-item-process, with real time \
                 :G-nonadjacent-item-realtime",
            ),
            called("Elle", ":G-nonadjacent, where a predicate is read, and in older versions always"),
        ],
        elle: Some("G-nonadjacent-item"),
        definition: "Two snapshots include two transactions in opposite order, as in a long fork. Here an \
                     overwrite is needed to show that one snapshot includes a transaction: of two writers of \
                     a key, the later must have seen the earlier. This is a cycle of dependencies with two \
                     or more anti-dependencies, no two of them adjacent, at least one of which follows an \
                     overwrite.",
        cause: "Write conflicts are checked in one place and snapshots are taken in another: on replicas \
                that lag independently, or shard by shard.",
        forbidden_from: &[AdyaPlSi, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)",
                story: "T1 read x before T2 wrote it, so T2 wrote second and must have seen T1; T2 did not \
                        see T3. T4 saw T3 and not T1. Neither prefix nor parallel-snapshot-isolation alone \
                        forbids this.",
                holds: &[Prefix, ParallelSnapshot],
                violated: &[AdyaPl299, UpdateSerializable, AdyaPlSi],
            },
            Example {
                notation: "T1: a(x,1)  T2: r(y,0) a(x,2)  T3: w(y,3)  T4: r(y,3) r(x,[])  T5: r(x,[1,2])",
                story: "The same with a list: T5 shows that T2 wrote second.",
                holds: &[Prefix, ParallelSnapshot],
                violated: &[AdyaPl299, UpdateSerializable, AdyaPlSi],
            },
        ],
        sources: &[
            cite(CERONE_GOTSMAN, "dependency graphs of SI: cycles without adjacent anti-dependencies"),
            cite(CERONE_BERNARDI_GOTSMAN, "section 3, PREFIX and NOCONFLICT together"),
        ],
        see_also: &[LongFork, WriteSkew, LostUpdate],
    },
    Row {
        anomaly: WriteSkew,
        name: "write-skew",
        about: "each transaction overwrites what the other has read",
        aliases: &["G2-item", "A5B"],
        called: &[called(
            "Elle",
            ":G2-item; with sessions :G2-item-process, with real time :G2-item-realtime",
        )],
        elle: Some("G2-item"),
        definition: "Transactions read versions that the others overwrite, each on a different key, so each \
                     would have to come before the other. A condition that each checked when it read no \
                     longer holds after both have committed.",
        cause: "Transactions read from snapshots, and the commit checks what was written but not what was \
                read.",
        forbidden_from: &[UpdateSerializable, AdyaPl299],
        examples: &[
            Example {
                notation: "T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)",
                story: "Both see x and y as 0. T1 changes x because of y, T2 changes y because of x.",
                holds: &[Snapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)",
                story: "The same circle with a session in it: T3 missed T1, and T2, which follows T1 in its \
                        session, missed T3. Only levels with session order forbid this.",
                holds: &[Snapshot, AdyaPl3],
                violated: &[Serializable],
            },
        ],
        sources: &[
            cite(BERENSON, "section 4.2, A5B"),
            cite(ADYA, "chapter 3, G2-item"),
            cite(FEKETE, "write skew"),
        ],
        see_also: &[LostUpdate, LongFork, SnapshotSkew],
    },
    Row {
        anomaly: StaleRead,
        name: "stale-read",
        about: "a read returns a version overwritten before it began",
        aliases: &[],
        called: &[
            called("Elle", ":G-single-item-realtime, with two transactions"),
            called("the literature on linearizability", "a read that is not linearizable"),
        ],
        elle: Some("G-single-item"),
        definition: "A transaction reads a version that was overwritten before the transaction began: the \
                     overwriting transaction had already returned to its client. Only levels with real-time \
                     order forbid this.",
        cause: "Reads from a replica, a cache or an old snapshot that lags behind acknowledged writes.",
        forbidden_from: &[StrictSnapshot],
        examples: &[
            Example {
                notation: "T1@0-1: w(x,1)  T2@2-3: r(x,0)",
                story: "T1 had returned before T2 was invoked, and T2 still reads x as it was before T1.",
                holds: &[Serializable],
                violated: &[StrictSnapshot],
            },
            Example {
                notation: "T1@0-1: w(x,1)  T2@2-3: w(x,2)  T3@4-5: r(x,1)",
                story: "T2 was invoked after T1 had returned, so its 2 is the newer version; T3 was invoked \
                        after T2 had returned and reads the older version.",
                holds: &[Serializable],
                violated: &[StrictSnapshot],
            },
        ],
        sources: &[cite(ELLE, "real-time edges"), cite(ADYA, "chapter 4, G-single")],
        see_also: &[StaleSessionRead, ReadSkew],
    },
    Row {
        anomaly: Phantom,
        name: "phantom",
        about: "a range changes after a transaction has read it",
        aliases: &["G2", "P3", "phantom-read"],
        called: &[
            called("Elle", ":G2; with sessions :G2-process, with real time :G2-realtime"),
            called("ANSI SQL", "phantom"),
        ],
        elle: Some("G2"),
        definition: "A transaction reads a range of keys, and another one inserts, deletes or changes a key \
                     in the range without being seen. So the first must come before the second. Yet it must \
                     also come after it, directly or through other dependencies. This is a cycle of \
                     dependencies in which a range read misses a write.",
        cause: "Locks and checks cover the rows that were found but not the gaps between them.",
        forbidden_from: &[AdyaPl3],
        examples: &[Example {
            notation: "init=nil  T1: range(1,9,{}) i(3,1)  T2: range(1,9,{}) i(5,1)",
            story: "Each finds the range empty and inserts a row that the other should have seen.",
            holds: &[Snapshot, AdyaPl299],
            violated: &[UpdateSerializable],
        }],
        sources: &[cite(ADYA, "chapter 3, G2"), cite(BERENSON, "P3")],
        see_also: &[WriteSkew, ReadSkew],
    },
];
