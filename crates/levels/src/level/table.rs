//! The facts about each level, one row per level, weaker levels first.
//!
//! *so* is the session order. *wr* leads from a writer to its readers. *ww* leads from a writer of a key to
//! the later writers of that key. *rw* leads from a reader to the transactions that overwrite the version it
//! read. `R?` is R or nothing, `R+` is one or more steps of R, `R ; S` is R followed by S.
//!
//! Products are listed by what their documentation promises, with a note where tests found otherwise. These
//! are facts about other projects and may change. No verdict depends on them.

use super::Engine::{CommitOrder, Direct, Graph, Solver};
use super::{Axiom, Framework, Product, Row};
use crate::Level::{
    self, AdyaPl1, AdyaPl2, AdyaPl3, AdyaPl299, AdyaPlSi, Causal, ConsistentView, CursorStability,
    CutIsolation, MonotonicAtomicView, MonotonicView, ParallelSnapshot, Prefix, ReadAtomic, ReadCommitted,
    Serializable, Snapshot, StrictSerializable, StrictSnapshot, StrongPl1, StrongPl2, StrongSessionPl1,
    StrongSessionPl2, UpdateAtomic, UpdateSerializable,
};
use crate::citation::{
    ADYA, ADYA_LISKOV_ONEIL, BAILIS_HAT, BAILIS_RAMP, BERENSON, BISWAS_ENEA, CERONE_BERNARDI_GOTSMAN,
    CERONE_GOTSMAN, CROOKS, DAUDJEE_SALEM, DAUDJEE_SALEM_ORDER, ELLE_MODELS, HANSDAH_PATNAIK, PAPADIMITRIOU,
    PLUME, WALTER,
};
use crate::{Called, Citation, Example};

const fn called(by: &'static str, name: &'static str) -> Called {
    Called { by, name }
}

const fn cite(paper: &'static str, place: &'static str) -> Citation {
    Citation::new(paper, place)
}

const fn product(name: &'static str, setting: &'static str, note: &'static str) -> Product {
    Product { name, setting, note }
}

const fn alone(text: &'static str) -> Axiom {
    Axiom { framework: Framework::Transaction, text }
}

const fn phi(text: &'static str) -> Axiom {
    Axiom { framework: Framework::CommitOrder, text }
}

const fn vis(text: &'static str) -> Axiom {
    Axiom { framework: Framework::Visibility, text }
}

const fn graph(text: &'static str) -> Axiom {
    Axiom { framework: Framework::Dependencies, text }
}

pub(super) static ROWS: [Row; Level::ALL.len()] = [
    Row {
        level: CutIsolation,
        name: "cut-isolation",
        about: "a transaction's reads of one key return one version",
        aliases: &["ci", "item-cut-isolation", "i-ci"],
        called: &[called("Bailis et al.", "item cut isolation")],
        definition: "When a transaction reads a key from other transactions more than once, every read \
                     returns the write of the same transaction. The level says nothing about different keys, \
                     about values that were never written, or about values that their own writer overwrote.",
        engine: Direct,
        axioms: &[alone(
            "any two reads of a key in one transaction that return writes of others return writes of the \
             same transaction",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1)  T2: r(x,0) r(x,1)",
                story: "T1 overwrites x between the two reads of T2, and T2 sees both versions.",
                holds: &[CursorStability, MonotonicView, ReadCommitted],
                violated: &[CutIsolation],
            },
            Example {
                notation: "T1@0-3: w(x,1)  T2@1-2: r(x,0) r(x,1)",
                story: "The same with times: T1 and T2 run concurrently.",
                holds: &[StrongPl2, CursorStability, MonotonicView, ReadCommitted],
                violated: &[CutIsolation],
            },
        ],
        products: &[],
        sources: &[cite(BAILIS_HAT, "section 5.1, item cut isolation"), cite(PLUME, "CI")],
    },
    Row {
        level: AdyaPl1,
        name: "adya-pl-1",
        about: "writes of transactions are not interleaved (Adya's PL-1)",
        aliases: &["pl-1", "read-uncommitted", "ru"],
        called: &[called("Elle", ":read-uncommitted"), called("Gray", "degree 1")],
        definition: "The writes of transactions are not interleaved: if one of two transactions overwrites \
                     the other on some key, it does so on every key both write. Reads may return anything. \
                     Clients see the order of writes only through lists. For all other keys, it is enough \
                     that some order is possible.",
        engine: Graph,
        axioms: &[graph("acyclic(ww): no G0")],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])",
            story: "On x, T2 wrote after T1; on y, before T1. Their writes were interleaved.",
            holds: &[CutIsolation],
            violated: &[AdyaPl1],
        }],
        products: &[
            product("MySQL", "READ UNCOMMITTED", "writers lock, readers do not"),
            product("SQL Server", "READ UNCOMMITTED", "also the hint NOLOCK"),
            product("Db2", "UNCOMMITTED READ", ""),
        ],
        sources: &[cite(ADYA, "chapter 3, PL-1"), cite(ADYA_LISKOV_ONEIL, "section 5")],
    },
    Row {
        level: StrongSessionPl1,
        name: "strong-session-read-uncommitted",
        about: "as PL-1, with writes in session order",
        aliases: &["ss-pl-1", "strong-session-pl-1"],
        called: &[called("Elle", ":strong-session-read-uncommitted, :strong-session-PL-1")],
        definition: "As adya-pl-1, and the order of the writes agrees with session order: no write is \
                     overwritten by an earlier write of its own session. Reads may return anything.",
        engine: Graph,
        axioms: &[graph("acyclic(so | ww): no G0-process")],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])",
            story: "A session appends 1 and then 2, and the list holds them in the opposite order.",
            holds: &[AdyaPl3],
            violated: &[StrongSessionPl1],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-session-PL-1")],
    },
    Row {
        level: StrongPl1,
        name: "strong-read-uncommitted",
        about: "as PL-1, with writes in real-time order",
        aliases: &["s-pl-1", "strong-pl-1"],
        called: &[called("Elle", ":strong-read-uncommitted, :strong-PL-1")],
        definition: "As adya-pl-1, and the order of the writes agrees with session order and with real-time \
                     order: a transaction that is invoked after another has returned may overwrite it and is \
                     never overwritten by it. Reads may return anything.",
        engine: Graph,
        axioms: &[graph(
            "acyclic(so | rt | ww), where rt leads from t to s when t returned before s was invoked: no \
             G0-realtime",
        )],
        examples: &[Example {
            notation: "init=nil  T1@0-1: a(x,1)  T2@2-3: a(x,2)  T3: r(x,[2 1])",
            story: "T1 had returned before T2 was invoked, yet the list holds the append of T1 after that of \
                    T2.",
            holds: &[Serializable],
            violated: &[StrongPl1],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-PL-1")],
    },
    Row {
        level: AdyaPl2,
        name: "adya-pl-2",
        about: "reads return final committed writes, without circular flow",
        aliases: &["pl-2", "adya-read-committed"],
        called: &[called("Elle", ":read-committed"), called("ANSI SQL, as Adya reads it", "READ COMMITTED")],
        definition: "Only the final writes of committed transactions are read, and information never flows \
                     in a circle: if one transaction depends on another by reading or overwriting, the other \
                     does not depend on it. This level is weaker than read-committed in this catalogue: a \
                     transaction may see another one and then read a version which that one had overwritten.",
        engine: Graph,
        axioms: &[graph("no aborted and no intermediate reads, and acyclic(wr | ww): no G1a, G1b, G1c")],
        examples: &[
            Example {
                notation: "T1!: w(x,1)  T2: r(x,1)",
                story: "T1 rolls back, and T2 has read its write.",
                holds: &[CutIsolation, StrongSessionPl1],
                violated: &[AdyaPl2],
            },
            Example {
                notation: "T1!@0-1: w(x,1)  T2@2-3: r(x,1)",
                story: "T1 had rolled back before T2 was invoked.",
                holds: &[CutIsolation, StrongPl1],
                violated: &[AdyaPl2],
            },
        ],
        products: &[product(
            "MySQL",
            "REPEATABLE READ",
            "the default; plain reads come from one snapshot, but writes and locking reads act on the newest \
             versions and the snapshot then shows them, so neither snapshots nor repeatable reads are \
             reliable",
        )],
        sources: &[cite(ADYA, "chapter 3, PL-2"), cite(ADYA_LISKOV_ONEIL, "section 5")],
    },
    Row {
        level: StrongSessionPl2,
        name: "strong-session-read-committed",
        about: "as PL-2, with dependencies in session order",
        aliases: &["ss-pl-2", "strong-session-pl-2"],
        called: &[called("Elle", ":strong-session-read-committed, :strong-session-PL-2")],
        definition: "As adya-pl-2, and information does not flow against session order: if one transaction \
                     depends on another by reading or overwriting, directly or through others, it is not \
                     earlier in the same session.",
        engine: Graph,
        axioms: &[graph(
            "no aborted and no intermediate reads, and acyclic(so | wr | ww): no G1a, G1b, G1c-process",
        )],
        examples: &[Example {
            notation: "T1: r(x,1) ; T2: w(x,1)",
            story: "A session reads a value that only its next transaction writes.",
            holds: &[StrongSessionPl1, AdyaPl3],
            violated: &[StrongSessionPl2],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-session-PL-2")],
    },
    Row {
        level: StrongPl2,
        name: "strong-read-committed",
        about: "as PL-2, with dependencies in real-time order",
        aliases: &["s-pl-2", "strong-pl-2"],
        called: &[called("Elle", ":strong-read-committed, :strong-PL-2")],
        definition: "As adya-pl-2, and information flows neither against session order nor against real-time \
                     order: if one transaction depends on another by reading or overwriting, directly or \
                     through others, it did not return before the other was invoked. A stale read is \
                     allowed.",
        engine: Graph,
        axioms: &[graph(
            "no aborted and no intermediate reads, and acyclic(so | rt | wr | ww), where rt leads from t to s \
             when t returned before s was invoked: no G1a, G1b, G1c-realtime",
        )],
        examples: &[
            Example {
                notation: "T1@0-1: r(x,1)  T2@2-3: w(x,1)",
                story: "T1 had read and returned the value before T2, which writes it, was invoked.",
                holds: &[StrongPl1, Serializable],
                violated: &[StrongPl2],
            },
            Example {
                notation: "T1@0-1: r(x,1) ; T2@2-3: w(x,1)",
                story: "The same in one session; session order alone shows it.",
                holds: &[StrongPl1, AdyaPl3],
                violated: &[StrongSessionPl2],
            },
        ],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-PL-2")],
    },
    Row {
        level: CursorStability,
        name: "cursor-stability",
        about: "as PL-2, and no key changes between read and write",
        aliases: &["pl-cs", "adya-pl-cs", "adya-cursor-stability"],
        called: &[called("Elle", ":cursor-stability, :PL-CS"), called("Db2", "CURSOR STABILITY")],
        definition: "As adya-pl-2, and when a transaction reads a key and later writes it, no other \
                     transaction writes the key in between, so no update is lost. The original definition \
                     covers reads through a cursor only. Histories do not record cursors, so every read of a \
                     single key counts as one here.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and no cycle of one rw and one or more ww all of which are on one key: no G-cursor(x)",
        )],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "Both update x from the same old value; one update is lost.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "init=nil  T1: a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])",
                story: "T2 read x as empty and appended to it, but T1 had appended in between.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "T1@0-2: r(x,0) w(x,1)  T2@1-3: r(x,0) w(x,2)",
                story: "The same with times: T1 and T2 run concurrently.",
                holds: &[StrongPl2, MonotonicView, Prefix],
                violated: &[CursorStability],
            },
        ],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-CS"), cite(BERENSON, "section 4.1, P4C")],
    },
    Row {
        level: MonotonicAtomicView,
        name: "monotonic-atomic-view",
        about: "as PL-2, and reads are monotonic; session order is ignored",
        aliases: &["mav"],
        called: &[
            called("Elle", ":monotonic-atomic-view"),
            called("Biswas and Enea", "read committed without sessions"),
        ],
        definition: "As adya-pl-2, and reads are monotonic: once a transaction has read from another, its \
                     later reads return that transaction's writes or newer ones. An earlier read may still \
                     have missed them. This is read-committed of this catalogue without session order.",
        engine: CommitOrder,
        axioms: &[graph(
            "adya-pl-2, and when t reads from s and later reads a key that s writes, it reads s's version or a \
             later one: no OTV",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)",
                story: "T2 sees T1 on y, and then reads x as it was before T1.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
            Example {
                notation: "T1@0-3: w(x,1) w(y,2)  T2@1-2: r(y,2) r(x,0)",
                story: "The same with times: T1 and T2 run concurrently.",
                holds: &[CutIsolation, StrongPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
        ],
        products: &[],
        sources: &[cite(BAILIS_HAT, "section 5.1, monotonic atomic view, and appendix A, OTV")],
    },
    Row {
        level: MonotonicView,
        name: "monotonic-view",
        about: "as MAV, and no read misses an earlier dependency",
        aliases: &["pl-2l", "adya-pl-2l", "adya-monotonic-view"],
        called: &[called("Elle", ":monotonic-view, :PL-2L")],
        definition: "As monotonic-atomic-view, extended to everything a transaction depends on: once it has \
                     read from another or overwritten it, its later reads do not miss the writes of any \
                     transaction which that one depends on by reading or overwriting, directly or through \
                     others.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and for no t, with its operations as nodes of their own in program order, a cycle of wr, \
             ww and program order and one rw, which is from a read of t: no G-monotonic",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
                story: "T3 reads from T2, which depends on T1, and then reads x as it was before T1.",
                holds: &[UpdateAtomic],
                violated: &[MonotonicView, AdyaPl299, Causal],
            },
            Example {
                notation: "init=nil  T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[])  T3: r(y,[1 2])",
                story: "T2 overwrites T1 on y, and then reads x as it was before T1.",
                holds: &[CursorStability, Prefix],
                violated: &[MonotonicView, AdyaPl299, UpdateAtomic],
            },
        ],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-2L")],
    },
    Row {
        level: AdyaPl299,
        name: "adya-pl-2.99",
        about: "as PL-2, and serializable for reads of single keys",
        aliases: &["pl-2.99", "repeatable-read", "rr"],
        called: &[called("Elle", ":repeatable-read"), called("ANSI SQL", "REPEATABLE READ")],
        definition: "As adya-pl-2, and a version that a transaction has read is not overwritten in a way \
                     that leads back to that transaction: over single keys, transactions have a serial \
                     order. Only predicates (ranges) may change under a transaction. Session order is \
                     ignored.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic(wr | ww | rw) over single keys: no G2-item")],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
                story: "Each reads a version that the other overwrites, so each would have to come first.",
                holds: &[Snapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "Both update x from the same old value; one update is lost.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
        ],
        products: &[
            product("SQL Server", "REPEATABLE READ", "read locks on rows are kept to the end"),
            product("Db2", "READ STABILITY", "what Db2 calls REPEATABLE READ is serializable"),
        ],
        sources: &[cite(ADYA, "chapter 3, PL-2.99"), cite(ADYA_LISKOV_ONEIL, "section 5")],
    },
    Row {
        level: ConsistentView,
        name: "consistent-view",
        about: "as PL-2, and no cycle with a single anti-dependency",
        aliases: &[
            "pl-2+",
            "adya-pl-2+",
            "adya-consistent-view",
            "forward-consistent-view",
            "pl-fcv",
            "adya-pl-fcv",
        ],
        called: &[
            called("Elle", ":consistent-view, :PL-2+; :forward-consistent-view, :PL-FCV"),
            called("Cerone et al.", "parallel snapshot isolation without sessions"),
        ],
        definition: "A transaction sees a consistent state: it misses no write of a transaction it depends \
                     on by reading or overwriting, directly or through others. This is \
                     parallel-snapshot-isolation without session order. It is also forward consistent view \
                     (PL-FCV). That level adds a choice of start points. All transactions may have started \
                     before any committed; no history recorded by clients excludes this choice. With it, \
                     PL-FCV requires no more than this level.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and irreflexive((wr | ww)+ ; rw): no G-single")],
        examples: &[Example {
            notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
            story: "T2 sees the y of T1 and misses its x.",
            holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
            violated: &[AdyaPl299, ConsistentView, ReadAtomic],
        }],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-2+"), cite(ADYA, "chapter 4, PL-FCV")],
    },
    Row {
        level: UpdateSerializable,
        name: "update-serializable",
        about: "serializable for each read-only transaction by itself",
        aliases: &["pl-3u", "adya-pl-3u", "update-serializability"],
        called: &[called("Elle", ":update-serializable, :PL-3U")],
        definition: "The transactions that write are serializable, and each read-only transaction by itself \
                     fits into their serial order. Two read-only transactions may see independent writers in \
                     opposite orders. Session order is ignored.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and for every t acyclic(wr | ww | rw) over t and the transactions that write: no G-update",
        )],
        examples: &[Example {
            notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
            story: "Each reads a version that the other overwrites, and both write.",
            holds: &[Snapshot],
            violated: &[AdyaPl299, UpdateSerializable],
        }],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-3U"), cite(HANSDAH_PATNAIK, "update serializability")],
    },
    Row {
        level: ReadCommitted,
        name: "read-committed",
        about: "as PL-2, and reads are monotonic",
        aliases: &["rc"],
        called: &[
            called("Bailis et al.", "close to monotonic atomic view (MAV)"),
            called("Adya", "stronger than PL-2, close to monotonic view (PL-2L)"),
        ],
        definition: "Only the final writes of committed transactions are read, and reads are monotonic: once \
                     a transaction has read from another, its later reads return that transaction's writes \
                     or newer ones. An earlier read may still have missed them.",
        engine: CommitOrder,
        axioms: &[phi("PHI(t2, t3): t3 reads from t2, any key, before this read of x from t1")],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)",
                story: "T2 sees T1 on y, and then reads x as it was before T1.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
            Example {
                notation: "T1: r(x,1) ; T2: w(x,1)",
                story: "A session reads a value that only its next transaction writes. Adya's levels ignore \
                        session order and put T2 before T1.",
                holds: &[StrongSessionPl1, AdyaPl3],
                violated: &[StrongSessionPl2],
            },
        ],
        products: &[
            product("PostgreSQL", "READ COMMITTED", "the default; READ UNCOMMITTED means the same"),
            product("Oracle", "READ COMMITTED", "the default"),
            product("MySQL", "READ COMMITTED", ""),
            product("SQL Server", "READ COMMITTED", "the default, with locks or with row versions"),
            product("CockroachDB", "READ COMMITTED", ""),
            product("YugabyteDB", "READ COMMITTED", "where it is enabled"),
        ],
        sources: &[cite(BISWAS_ENEA, "section 2"), cite(CROOKS, "read committed"), cite(PLUME, "RC")],
    },
    Row {
        level: ReadAtomic,
        name: "read-atomic",
        about: "a transaction is seen whole or not at all; sessions count",
        aliases: &["ra"],
        called: &[called("Elle", ":read-atomic")],
        definition: "Transactions are seen as a whole: a transaction that reads one write of another reads \
                     all its other writes or newer ones, in whatever order the reads come. A transaction \
                     also sees everything that its session wrote before.",
        engine: CommitOrder,
        axioms: &[
            phi("PHI(t2, t3): (so | wr)(t2, t3)"),
            vis("INT, EXT, SESSION (so inside vis)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr) ; rw)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
            story: "T2 sees the y of T1 and misses its x. Read committed allows this because T2 reads x \
                    first.",
            holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
            violated: &[AdyaPl299, ConsistentView, ReadAtomic],
        }],
        products: &[product("RAMP", "read atomic", "the algorithms of the paper and those built on them")],
        sources: &[
            cite(CERONE_BERNARDI_GOTSMAN, "section 3"),
            cite(BISWAS_ENEA, "section 2"),
            cite(BAILIS_RAMP, "section 3"),
        ],
    },
    Row {
        level: UpdateAtomic,
        name: "update-atomic",
        about: "as read atomic, and no two concurrent writers of a key",
        aliases: &["ua"],
        called: &[called("Liu et al.", "close to ROLA, read atomic without lost updates")],
        definition: "As read-atomic, and of two transactions that write the same key, one sees the other \
                     with all its writes. It need not see what the other has seen.",
        engine: Solver,
        axioms: &[
            vis("read-atomic and NOCONFLICT (two writers of one key are vis-related)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr | ww) ; rw)"),
        ],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "T1 and T2 both update x from the value 0; the second has not seen the first.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "init=nil  T1: a(x,1) a(y,1)  T2: r(x,[]) a(y,2)  T3: r(y,[1 2])",
                story: "T2 overwrites the y of T1 and has not seen its x.",
                holds: &[CursorStability, MonotonicView, Prefix],
                violated: &[AdyaPl299, ConsistentView, UpdateAtomic],
            },
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
                story: "T2 sees the y of T1 and misses its x.",
                holds: &[CutIsolation, CursorStability, MonotonicView, ReadCommitted],
                violated: &[AdyaPl299, ConsistentView, ReadAtomic],
            },
        ],
        products: &[],
        sources: &[cite(CERONE_BERNARDI_GOTSMAN, "section 3")],
    },
    Row {
        level: Causal,
        name: "causal",
        about: "seeing a transaction means seeing everything it saw",
        aliases: &["cc", "tcc", "causal-consistency", "transactional-causal-consistency", "causal-cerone"],
        called: &[called("Elle", ":causal-cerone (its :causal is about single objects)")],
        definition: "A transaction sees everything that its session did before, and if it sees another \
                     transaction, everything which that one saw. No effect is visible without its causes. \
                     Different observers may see transactions that are causally independent in different \
                     orders.",
        engine: CommitOrder,
        axioms: &[
            phi("PHI(t2, t3): (so | wr)+(t2, t3)"),
            vis("read-atomic and TRANSVIS (vis is transitive)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr)+ ; rw)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
            story: "T2 replies to what T1 wrote; T3 sees the reply and misses the original.",
            holds: &[UpdateAtomic],
            violated: &[MonotonicView, AdyaPl299, Causal],
        }],
        products: &[
            product("AntidoteDB", "transactional causal consistency", ""),
            product("MongoDB", "causally consistent sessions", "with majority reads and writes"),
        ],
        sources: &[
            cite(CERONE_BERNARDI_GOTSMAN, "section 3"),
            cite(BISWAS_ENEA, "section 2"),
            cite(PLUME, "TCC"),
        ],
    },
    Row {
        level: Prefix,
        name: "prefix",
        about: "a transaction sees a prefix of one commit order",
        aliases: &["pc", "prefix-consistency", "prefix-consistent"],
        called: &[called("Elle", ":prefix"), called("Cerone et al.", "prefix consistency")],
        definition: "All transactions see the others in one commit order, and each sees a prefix of it, a \
                     snapshot, that includes everything its session did before. Two transactions may still \
                     start from the same snapshot and overwrite the same key.",
        engine: Solver,
        axioms: &[
            phi("PHI(t2, t3): (co? ; (so | wr))(t2, t3)"),
            vis("read-atomic and PREFIX (ar ; vis inside vis)"),
            graph("acyclic(((so | wr) ; rw?) | ww)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            story: "T3 has seen T1 and not T2; T4 has seen T2 and not T1. For T3, T1 committed first; for \
                    T4, T2 did.",
            holds: &[UpdateSerializable, ParallelSnapshot],
            violated: &[AdyaPl299, Prefix, AdyaPlSi],
        }],
        products: &[],
        sources: &[cite(CERONE_BERNARDI_GOTSMAN, "section 3"), cite(BISWAS_ENEA, "section 2")],
    },
    Row {
        level: ParallelSnapshot,
        name: "parallel-snapshot-isolation",
        about: "as causal, and no two concurrent writers of a key",
        aliases: &["psi", "parallel-snapshot", "parallel-si"],
        called: &[
            called("Elle", ":parallel-snapshot-isolation"),
            called("Adya", "PL-2+ with sessions: no G-single"),
        ],
        definition: "As causal, and of two transactions that write the same key, one has seen the other, so \
                     no update is lost. Replicas may apply independent transactions in different orders.",
        engine: Solver,
        axioms: &[
            vis("causal and NOCONFLICT (two writers of one key are vis-related)"),
            graph("irreflexive((so | wr | ww)+ ; rw?)"),
        ],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "T1 and T2 both update x from the value 0; the second overwrites a version it has not \
                        seen.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "T1: w(x,1) ; T2: r(x,0)",
                story: "A session does not see its own write. Adya's levels ignore session order and put T2 \
                        before T1.",
                holds: &[ReadCommitted, AdyaPl3],
                violated: &[ReadAtomic],
            },
            Example {
                notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
                story: "T3 sees what T2 wrote and misses what T2 had read.",
                holds: &[UpdateAtomic],
                violated: &[MonotonicView, AdyaPl299, Causal],
            },
        ],
        products: &[product("Walter", "parallel snapshot isolation", "the system of the paper")],
        sources: &[
            cite(WALTER, "section 3"),
            cite(CERONE_BERNARDI_GOTSMAN, "section 3"),
            cite(CERONE_GOTSMAN, "dependency graphs of PSI"),
        ],
    },
    Row {
        level: AdyaPlSi,
        name: "adya-pl-si",
        about: "snapshot isolation; session order is ignored",
        aliases: &["pl-si", "adya-snapshot-isolation"],
        called: &[called("Elle", ":snapshot-isolation, :PL-SI"), called("Elnikety et al.", "generalized SI")],
        definition: "A transaction reads from a snapshot, a prefix of one commit order, and commits only if \
                     no transaction after the snapshot has written a key it writes. This is \
                     snapshot-isolation of this catalogue without session order: the snapshot may miss \
                     earlier transactions of the same session.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic((wr | ww) ; rw?): no G-SI, no G-nonadjacent")],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            story: "T3 and T4 see T1 and T2 commit in opposite orders.",
            holds: &[UpdateSerializable, ParallelSnapshot],
            violated: &[AdyaPl299, Prefix, AdyaPlSi],
        }],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-SI"), cite(CERONE_GOTSMAN, "dependency graphs of SI")],
    },
    Row {
        level: Snapshot,
        name: "snapshot-isolation",
        about: "as prefix, and no two concurrent writers of a key",
        aliases: &["si", "snapshot", "strong-session-snapshot-isolation"],
        called: &[
            called(
                "Elle",
                ":strong-session-snapshot-isolation (its :snapshot-isolation leaves sessions out)",
            ),
            called("Adya", "PL-SI, there without sessions"),
        ],
        definition: "A transaction reads from a snapshot, a prefix of one commit order that includes \
                     everything its session did before, and commits only if no transaction after the \
                     snapshot has written a key it writes. Keys that it only read may have changed.",
        engine: Solver,
        axioms: &[
            phi("PHI(t2, t3): that of prefix, or t4 writes a key that t3 writes, co?(t2, t4) and co(t4, t3)"),
            vis("prefix and NOCONFLICT (two writers of one key are vis-related)"),
            graph("acyclic((so | wr | ww) ; rw?)"),
        ],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "T1 and T2 update x from the same snapshot, and both commit.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
                story: "T3 and T4 see T1 and T2 commit in opposite orders.",
                holds: &[UpdateSerializable, ParallelSnapshot],
                violated: &[AdyaPl299, Prefix, AdyaPlSi],
            },
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)",
                story: "Neither prefix nor parallel-snapshot-isolation alone forbids this. T2 must have seen \
                        T1, which wrote x first, and did not see T3; T4 saw T3 and not T1.",
                holds: &[Prefix, ParallelSnapshot],
                violated: &[AdyaPl299, UpdateSerializable, AdyaPlSi],
            },
            Example {
                notation: "T1: w(x,1) ; T2: r(x,0)",
                story: "The snapshot of T2 misses an earlier write of its own session.",
                holds: &[ReadCommitted, AdyaPl3],
                violated: &[ReadAtomic],
            },
        ],
        products: &[
            product("PostgreSQL", "REPEATABLE READ", ""),
            product("Oracle", "SERIALIZABLE", "write skew is possible"),
            product("SQL Server", "SNAPSHOT", ""),
            product("YugabyteDB", "REPEATABLE READ", "also called SNAPSHOT"),
            product("TiDB", "REPEATABLE READ", "the default; locking reads see newer versions"),
            product("MariaDB", "REPEATABLE READ", "with innodb_snapshot_isolation, the default since 11.6"),
            product("MongoDB", "read concern snapshot", "with majority writes"),
        ],
        sources: &[
            cite(BERENSON, "section 4.2"),
            cite(CERONE_BERNARDI_GOTSMAN, "section 3"),
            cite(CERONE_GOTSMAN, "dependency graphs of SI"),
            cite(BISWAS_ENEA, "section 2"),
        ],
    },
    Row {
        level: AdyaPl3,
        name: "adya-pl-3",
        about: "serializable; session order is ignored",
        aliases: &["pl-3", "adya-serializable", "conflict-serializable"],
        called: &[
            called("Elle", ":serializable, :PL-3"),
            called("ANSI SQL, as Adya reads it", "SERIALIZABLE"),
        ],
        definition: "The result is the same as if the transactions had run one after the other, each seeing \
                     all earlier ones. This is serializable of this catalogue without session order: a \
                     transaction may come before earlier transactions of its own session. It differs from \
                     adya-pl-2.99 in that the anti-dependencies of predicates (ranges) count too.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic(wr | ww | rw), predicates included: no G2")],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
                story: "Each reads a version that the other overwrites, so each would have to come first.",
                holds: &[Snapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
                story: "T3 and T4 see T1 and T2 commit in opposite orders.",
                holds: &[UpdateSerializable, ParallelSnapshot],
                violated: &[AdyaPl299, Prefix, AdyaPlSi],
            },
        ],
        products: &[],
        sources: &[cite(ADYA, "chapter 3, PL-3"), cite(ADYA_LISKOV_ONEIL, "section 5")],
    },
    Row {
        level: Serializable,
        name: "serializable",
        about: "a transaction sees everything before it in one order",
        aliases: &["ser", "serializability", "strong-session-serializable", "strong-session-serializability"],
        called: &[
            called("Elle", ":strong-session-serializable (its :serializable leaves sessions out)"),
            called("Adya", "PL-3, there without sessions"),
        ],
        definition: "The result is the same as if the transactions had run one after the other, each seeing \
                     all earlier ones, in an order that keeps session order. The order need not be the \
                     real-time order.",
        engine: Solver,
        axioms: &[
            phi("PHI(t2, t3): co(t2, t3)"),
            vis("read-atomic and TOTALVIS (vis = ar)"),
            graph("acyclic(so | wr | ww | rw)"),
        ],
        examples: &[
            Example {
                notation: "T1@0-2: r(x,0) r(y,0) w(x,1)  T2@1-3: r(x,0) r(y,0) w(y,2)",
                story: "Two doctors each see that both are on call, and each goes off call. In a serial \
                        order, the second would have seen the first leave.",
                holds: &[StrictSnapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)",
                story: "T3 missed T1, so it comes before T1; T2 missed T3, so it comes before T3; yet T2 \
                        follows T1 in its session.",
                holds: &[Snapshot, AdyaPl3],
                violated: &[Serializable],
            },
        ],
        products: &[
            product("PostgreSQL", "SERIALIZABLE", "by serializable snapshot isolation"),
            product("CockroachDB", "SERIALIZABLE", "the default; reads of a key are never stale"),
            product("YugabyteDB", "SERIALIZABLE", ""),
            product("MySQL", "SERIALIZABLE", "by locks"),
            product("SQL Server", "SERIALIZABLE", "by locks"),
            product("Db2", "REPEATABLE READ", ""),
            product("SQLite", "its only level", "one writer at a time"),
        ],
        sources: &[
            cite(PAPADIMITRIOU, "serializability"),
            cite(BISWAS_ENEA, "section 2"),
            cite(CERONE_BERNARDI_GOTSMAN, "section 3"),
            cite(DAUDJEE_SALEM_ORDER, "strong session serializability"),
        ],
    },
    Row {
        level: StrictSnapshot,
        name: "strict-snapshot-isolation",
        about: "snapshot isolation in real-time order",
        aliases: &["ssi", "strict-snapshot", "strict-si", "strong-snapshot-isolation", "strong-si"],
        called: &[
            called("Elle", ":strong-snapshot-isolation"),
            called("PostgreSQL", "not its SSI: serializable snapshot isolation is a way to be serializable"),
        ],
        definition: "Snapshot isolation in which a snapshot includes every transaction that had returned \
                     before the reading transaction was invoked: snapshots are never stale.",
        engine: Solver,
        axioms: &[
            vis("snapshot-isolation, and t is visible to s when t returned before s was invoked"),
            graph(
                "acyclic((so | rt | wr | ww) ; rw?), where rt leads from t to s when t returned before s was \
                   invoked",
            ),
        ],
        examples: &[Example {
            notation: "T1@0-1: w(x,1)  T2@2-3: r(x,0)",
            story: "T1 had returned before T2 was invoked in another session, and T2 does not see it.",
            holds: &[StrongPl2, Serializable],
            violated: &[StrictSnapshot],
        }],
        products: &[],
        sources: &[cite(DAUDJEE_SALEM, "section 2, strong snapshot isolation"), cite(CROOKS, "strict SI")],
    },
    Row {
        level: StrictSerializable,
        name: "strict-serializable",
        about: "serializable in real-time order",
        aliases: &[
            "sser",
            "strict-serializability",
            "strong-serializable",
            "strong-serializability",
            "pl-ss",
        ],
        called: &[
            called("Elle", ":strict-serializable and :strong-serializable"),
            called("Spanner", "external consistency"),
        ],
        definition: "The result is the same as if the transactions had run one after the other, in an order \
                     that agrees with real-time order: if T1 returned before T2 was invoked, T1 precedes T2. \
                     With transactions of one operation this is linearizability.",
        engine: Solver,
        axioms: &[
            phi("that of serializable, and t is co-before s when t returned before s was invoked"),
            graph(
                "acyclic(so | rt | wr | ww | rw), where rt leads from t to s when t returned before s was \
                   invoked",
            ),
        ],
        examples: &[
            Example {
                notation: "T1@0-5: r(x,0) w(y,1)  T2@1-2: w(x,2)  T3@3-4: r(y,0)",
                story: "T1 missed T2, which had returned before T3 was invoked, and T3 missed T1. A serial \
                        order must put T3 first; real-time order puts it after T2.",
                holds: &[Serializable, StrictSnapshot],
                violated: &[StrictSerializable],
            },
            Example {
                notation: "T1@0-1: w(x,1)  T2@2-3: r(x,0)",
                story: "T2 reads old data, as from a replica that lags behind.",
                holds: &[StrongPl2, Serializable],
                violated: &[StrictSnapshot],
            },
        ],
        products: &[
            product("Spanner", "its default level", "called external consistency"),
            product("FoundationDB", "its default level", ""),
            product("etcd", "its only level", "unless a read asks for possibly stale data"),
        ],
        sources: &[
            cite(PAPADIMITRIOU, "strict serializability"),
            cite(ADYA, "PL-SS"),
            cite(CROOKS, "strict serializability"),
        ],
    },
];
