//! What is known about each level, a row each, weaker ones first.
//!
//! *so* is the order of a session, *wr* leads from a writer to its readers, *ww* from a writer of a key to
//! the next ones, *rw* from a reader to those who overwrite what it read. `R?` is R or nothing, `R+` one or
//! more steps, `R ; S` first R and then S.
//!
//! Products are told by what their documentation promises and, where that was found wanting, by what is
//! known of them. They are facts about others and may change; nothing is decided by them.

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
        about: "a transaction that reads a key twice finds one value",
        aliases: &["ci", "item-cut-isolation", "i-ci"],
        called: &[called("Bailis et al.", "item cut isolation")],
        definition: "When a transaction reads a key from other transactions more than once, it reads it from \
                     the same one each time. Nothing is said about different keys, nor about values that \
                     nobody wrote or that their own writer overwrote.",
        engine: Direct,
        axioms: &[alone(
            "any two reads of a key in one transaction that return writes of others return those of one",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1)  T2: r(x,0) r(x,1)",
                story: "T1 overwrites x between the two reads of T2, and T2 notices.",
                holds: &[CursorStability, MonotonicView, ReadCommitted],
                violated: &[CutIsolation],
            },
            Example {
                notation: "T1@0-3: w(x,1)  T2@1-2: r(x,0) r(x,1)",
                story: "The same while the two run at the same time, by the clock.",
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
                     Clients see the order of writes only through lists; for the rest it is enough that some \
                     order is possible.",
        engine: Graph,
        axioms: &[graph("acyclic(ww): no G0")],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])",
            story: "On x, T2 wrote after T1; on y, before it. Their writes went through in a mix.",
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
        about: "as PL-1, in an order of writes that keeps sessions",
        aliases: &["ss-pl-1", "strong-session-pl-1"],
        called: &[called("Elle", ":strong-session-read-uncommitted, :strong-session-PL-1")],
        definition: "As adya-pl-1, and the order in which transactions write agrees with every session: nobody's \
                     write is overwritten by one that the same session made before. Reads may return anything.",
        engine: Graph,
        axioms: &[graph("acyclic(so | ww): no G0-process")],
        examples: &[Example {
            notation: "init=nil  T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])",
            story: "A session appends 1 and then 2, and the list has them the other way round.",
            holds: &[AdyaPl3],
            violated: &[StrongSessionPl1],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-session-PL-1")],
    },
    Row {
        level: StrongPl1,
        name: "strong-read-uncommitted",
        about: "as PL-1, in an order of writes that keeps the clock",
        aliases: &["s-pl-1", "strong-pl-1"],
        called: &[called("Elle", ":strong-read-uncommitted, :strong-PL-1")],
        definition: "As adya-pl-1, and the order in which transactions write agrees with every session and with \
                     real time: who begins after another has returned overwrites it and is not overwritten by \
                     it. Reads may return anything.",
        engine: Graph,
        axioms: &[graph(
            "acyclic(so | rt | ww), where rt leads from t to s when t returned before s was invoked: no \
             G0-realtime",
        )],
        examples: &[Example {
            notation: "init=nil  T1@0-1: a(x,1)  T2@2-3: a(x,2)  T3: r(x,[2 1])",
            story: "T1 had returned before T2 began, and yet its append stands after that of T2.",
            holds: &[Serializable],
            violated: &[StrongPl1],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-PL-1")],
    },
    Row {
        level: AdyaPl2,
        name: "adya-pl-2",
        about: "committed, final writes are read, without circular flow",
        aliases: &["pl-2", "adya-read-committed"],
        called: &[called("Elle", ":read-committed"), called("ANSI SQL, as Adya reads it", "READ COMMITTED")],
        definition: "Only the final writes of committed transactions are read, and information never flows \
                     in a circle: if one transaction depends on another by reading or overwriting, that one \
                     does not depend on the first. This is less than read-committed here: a transaction may \
                     see another one and then read what that one had overwritten.",
        engine: Graph,
        axioms: &[graph("no aborted and no intermediate reads, and acyclic(wr | ww): no G1a, G1b, G1c")],
        examples: &[
            Example {
                notation: "T1!: w(x,1)  T2: r(x,1)",
                story: "T1 rolls back, and T2 has used what T1 never did.",
                holds: &[CutIsolation, StrongSessionPl1],
                violated: &[AdyaPl2],
            },
            Example {
                notation: "T1!@0-1: w(x,1)  T2@2-3: r(x,1)",
                story: "T1 had rolled back before T2 began.",
                holds: &[CutIsolation, StrongPl1],
                violated: &[AdyaPl2],
            },
        ],
        products: &[product(
            "MySQL",
            "REPEATABLE READ",
            "the default; plain reads come from one snapshot, but writes and locking reads act on the newest \
             versions and the snapshot then shows them, so neither snapshots nor repeatable reads can be \
             relied on",
        )],
        sources: &[cite(ADYA, "chapter 3, PL-2"), cite(ADYA_LISKOV_ONEIL, "section 5")],
    },
    Row {
        level: StrongSessionPl2,
        name: "strong-session-read-committed",
        about: "as PL-2, in an order that keeps sessions",
        aliases: &["ss-pl-2", "strong-session-pl-2"],
        called: &[called("Elle", ":strong-session-read-committed, :strong-session-PL-2")],
        definition: "As adya-pl-2, and information does not flow against sessions either: if one transaction \
                     depends on another by reading or overwriting, at once or through others, it is not earlier \
                     in the same session.",
        engine: Graph,
        axioms: &[graph(
            "no aborted and no intermediate reads, and acyclic(so | wr | ww): no G1a, G1b, G1c-process",
        )],
        examples: &[Example {
            notation: "T1: r(x,1) ; T2: w(x,1)",
            story: "A session reads what it writes only in its next transaction.",
            holds: &[StrongSessionPl1, AdyaPl3],
            violated: &[StrongSessionPl2],
        }],
        products: &[],
        sources: &[cite(ELLE_MODELS, "strong-session-PL-2")],
    },
    Row {
        level: StrongPl2,
        name: "strong-read-committed",
        about: "as PL-2, in an order that keeps the clock",
        aliases: &["s-pl-2", "strong-pl-2"],
        called: &[called("Elle", ":strong-read-committed, :strong-PL-2")],
        definition: "As adya-pl-2, and information flows neither against sessions nor against real time: if one \
                     transaction depends on another by reading or overwriting, at once or through others, it did \
                     not return before the other was invoked. A stale read is allowed.",
        engine: Graph,
        axioms: &[graph(
            "no aborted and no intermediate reads, and acyclic(so | rt | wr | ww), where rt leads from t to s \
             when t returned before s was invoked: no G1a, G1b, G1c-realtime",
        )],
        examples: &[
            Example {
                notation: "T1@0-1: r(x,1)  T2@2-3: w(x,1)",
                story: "T1 returned what T2 was to write only later.",
                holds: &[StrongPl1, Serializable],
                violated: &[StrongPl2],
            },
            Example {
                notation: "T1@0-1: r(x,1) ; T2@2-3: w(x,1)",
                story: "The same in one session, which needs no clock to object.",
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
        about: "as PL-2, and no key changes between its read and write",
        aliases: &["pl-cs", "adya-pl-cs", "adya-cursor-stability"],
        called: &[called("Elle", ":cursor-stability, :PL-CS"), called("Db2", "CURSOR STABILITY")],
        definition: "As adya-pl-2, and when a transaction reads a key and later writes it, nobody else writes the \
                     key in between, so that no update is lost. The definition asks this of reads through a \
                     cursor; histories do not tell cursors, and here every read of a single key counts as one.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and no cycle of one rw and one or more ww all of which are on one key: no G-cursor(x)",
        )],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "Both update x from the same old value; one of the updates is lost.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "init=nil  T1: a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])",
                story: "T2 found x empty and appended to it, but in between T1 had.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "T1@0-2: r(x,0) w(x,1)  T2@1-3: r(x,0) w(x,2)",
                story: "The two run at the same time, by the clock.",
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
        about: "as PL-2, and no read goes back; sessions do not count",
        aliases: &["mav"],
        called: &[
            called("Elle", ":monotonic-atomic-view"),
            called("Biswas and Enea", "read committed without sessions"),
        ],
        definition: "As adya-pl-2, and reads do not go back: once a transaction has read from another, its later \
                     reads find that one's writes or newer ones. An earlier read may still have missed them. \
                     This is read-committed of this catalogue without the order of sessions.",
        engine: CommitOrder,
        axioms: &[graph(
            "adya-pl-2, and when t reads from s and later reads a key that s writes, it reads s's version or a \
             later one: no OTV",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)",
                story: "T2 has seen T1 on y, and then finds x as it was before T1.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
            Example {
                notation: "T1@0-3: w(x,1) w(y,2)  T2@1-2: r(y,2) r(x,0)",
                story: "The same while the two run at the same time, by the clock.",
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
        about: "as MAV, and no read goes back behind what is depended on",
        aliases: &["pl-2l", "adya-pl-2l", "adya-monotonic-view"],
        called: &[called("Elle", ":monotonic-view, :PL-2L")],
        definition: "As monotonic-atomic-view, for all that a transaction has come to depend on: once it has read \
                     from another or overwritten it, its later reads do not miss what that one depends on by \
                     reading or overwriting, at once or through others.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and for no t, with its operations as nodes of their own in program order, a cycle of wr, \
             ww and program order and one rw, which is from a read of t: no G-monotonic",
        )],
        examples: &[
            Example {
                notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
                story: "T3 reads from T2, which depends on T1, and then finds x as it was before T1.",
                holds: &[UpdateAtomic],
                violated: &[MonotonicView, AdyaPl299, Causal],
            },
            Example {
                notation: "init=nil  T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[])  T3: r(y,[1 2])",
                story: "T2 overwrites T1 on y, and then finds x as it was before T1.",
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
        about: "as PL-2, and serializable as far as single keys go",
        aliases: &["pl-2.99", "repeatable-read", "rr"],
        called: &[called("Elle", ":repeatable-read"), called("ANSI SQL", "REPEATABLE READ")],
        definition: "As adya-pl-2, and what a transaction has read is not overwritten by others in a way \
                     that leads back to it: over single keys, transactions have a serial order. Only \
                     predicates (ranges) may change under a transaction. Sessions are not considered.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic(wr | ww | rw) over single keys: no G2-item")],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
                story: "Each reads what the other overwrites, so each would have to come first.",
                holds: &[Snapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "Both update x from the same old value; one of the updates is lost.",
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
        definition: "A transaction sees a consistent state: it does not miss what it depends on by reading or \
                     overwriting, at once or through others. This is parallel-snapshot-isolation without the \
                     order of sessions. It is forward consistent view (PL-FCV) as well: that level also asks \
                     for a choice of start points, and if all transactions may have started before any \
                     committed, which no history of clients excludes, it asks for no more than this one.",
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
        about: "serializable to every single transaction that only reads",
        aliases: &["pl-3u", "adya-pl-3u", "update-serializability"],
        called: &[called("Elle", ":update-serializable, :PL-3U")],
        definition: "The transactions that write are serializable, and each of those that only read fits into \
                     their serial order by itself. Two that only read may see writers that do not depend on \
                     each other in opposite orders. Sessions are not considered.",
        engine: Solver,
        axioms: &[graph(
            "adya-pl-2, and for every t acyclic(wr | ww | rw) over t and the transactions that write: no G-update",
        )],
        examples: &[Example {
            notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
            story: "Each reads what the other overwrites, and both write.",
            holds: &[Snapshot],
            violated: &[AdyaPl299, UpdateSerializable],
        }],
        products: &[],
        sources: &[cite(ADYA, "chapter 4, PL-3U"), cite(HANSDAH_PATNAIK, "update serializability")],
    },
    Row {
        level: ReadCommitted,
        name: "read-committed",
        about: "as PL-2, and no read goes back behind an earlier one",
        aliases: &["rc"],
        called: &[
            called("Bailis et al.", "close to monotonic atomic view (MAV)"),
            called("Adya", "stronger than PL-2, close to monotonic view (PL-2L)"),
        ],
        definition: "Only the final writes of committed transactions are read, and reads do not go back: \
                     once a transaction has read from another, its later reads find that one's writes or \
                     newer ones. An earlier read may still have missed them.",
        engine: CommitOrder,
        axioms: &[phi("PHI(t2, t3): t3 reads from t2, any key, before this read of x from t1")],
        examples: &[
            Example {
                notation: "T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)",
                story: "T2 has seen T1 on y, and then finds x as it was before T1.",
                holds: &[CutIsolation, StrongSessionPl2, CursorStability],
                violated: &[MonotonicAtomicView, AdyaPl299],
            },
            Example {
                notation: "T1: r(x,1) ; T2: w(x,1)",
                story: "A session reads what it writes only in its next transaction. Adya's levels know no \
                        sessions and put T2 before T1.",
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
        about: "a transaction is seen whole or not at all; sessions hold",
        aliases: &["ra"],
        called: &[called("Elle", ":read-atomic")],
        definition: "Transactions are seen whole: who reads one write of a transaction finds all its others, \
                     or newer ones, whatever the order of the reads. And who belongs to a session finds all \
                     that the session wrote before.",
        engine: CommitOrder,
        axioms: &[
            phi("PHI(t2, t3): (so | wr)(t2, t3)"),
            vis("INT, EXT, SESSION (so inside vis)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr) ; rw)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
            story: "T2 sees the y of T1 and misses its x. Read x first, and read committed cannot object.",
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
        definition: "As read-atomic, and of two transactions that write the same key one has seen the other, with \
                     all it wrote. What that one had seen need not be visible.",
        engine: Solver,
        axioms: &[
            vis("read-atomic and NOCONFLICT (two writers of one key are vis-related)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr | ww) ; rw)"),
        ],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "T1 and T2 both update x from the value 0; whoever is second has not seen the first.",
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
        about: "who sees a transaction sees all that this one saw",
        aliases: &["cc", "tcc", "causal-consistency", "transactional-causal-consistency", "causal-cerone"],
        called: &[called("Elle", ":causal-cerone (its :causal is about single objects)")],
        definition: "Who sees a transaction sees all that this one saw, and all that its session did before. \
                     Effects never arrive without their causes; transactions that know nothing of each \
                     other may be seen in different orders by different observers.",
        engine: CommitOrder,
        axioms: &[
            phi("PHI(t2, t3): (so | wr)+(t2, t3)"),
            vis("read-atomic and TRANSVIS (vis is transitive)"),
            graph("acyclic(so | wr | ww) and irreflexive((so | wr)+ ; rw)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
            story: "T2 answers to what T1 wrote; T3 finds the answer and not the question.",
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
        about: "a transaction sees a beginning of the one commit order",
        aliases: &["pc", "prefix-consistency", "prefix-consistent"],
        called: &[called("Elle", ":prefix"), called("Cerone et al.", "prefix consistency")],
        definition: "All observers see transactions arrive in one order, and each sees a beginning of it, a \
                     snapshot, that holds what its session did before. Two transactions may still both start \
                     from the same snapshot and overwrite the same key.",
        engine: Solver,
        axioms: &[
            phi("PHI(t2, t3): (co? ; (so | wr))(t2, t3)"),
            vis("read-atomic and PREFIX (ar ; vis inside vis)"),
            graph("acyclic(((so | wr) ; rw?) | ww)"),
        ],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            story: "T3 has seen T1 and not T2, T4 has seen T2 and not T1: for the one T1 came first, for \
                    the other T2.",
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
        definition: "As causal, and of two transactions that write the same key one has seen the other, so \
                     no update is lost. Replicas may apply independent transactions in different orders.",
        engine: Solver,
        axioms: &[
            vis("causal and NOCONFLICT (two writers of one key are vis-related)"),
            graph("irreflexive((so | wr | ww)+ ; rw?)"),
        ],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
                story: "T1 and T2 both update x from the value 0; whoever is second overwrites what it never saw.",
                holds: &[MonotonicView, Prefix],
                violated: &[CursorStability],
            },
            Example {
                notation: "T1: w(x,1) ; T2: r(x,0)",
                story: "A session does not see what it wrote. Adya's levels know no sessions and put T2 before T1.",
                holds: &[ReadCommitted, AdyaPl3],
                violated: &[ReadAtomic],
            },
            Example {
                notation: "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
                story: "T3 finds what T2 wrote and not what T2 had read.",
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
        about: "snapshot isolation; sessions do not count",
        aliases: &["pl-si", "adya-snapshot-isolation"],
        called: &[called("Elle", ":snapshot-isolation, :PL-SI"), called("Elnikety et al.", "generalized SI")],
        definition: "A transaction reads from a snapshot, a beginning of the one commit order, and commits only if \
                     nobody after the snapshot wrote a key it writes. This is snapshot-isolation of this \
                     catalogue without the order of sessions: the snapshot may be older than what the same \
                     session did before.",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic((wr | ww) ; rw?): no G-SI, no G-nonadjacent")],
        examples: &[Example {
            notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            story: "T3 and T4 see T1 and T2 arrive in opposite orders.",
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
        definition: "A transaction reads from a snapshot, a beginning of the one commit order that holds \
                     what its session did before, and commits only if nobody after the snapshot wrote a key \
                     it writes. What it only read may have changed.",
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
                story: "T3 and T4 see T1 and T2 arrive in opposite orders.",
                holds: &[UpdateSerializable, ParallelSnapshot],
                violated: &[AdyaPl299, Prefix, AdyaPlSi],
            },
            Example {
                notation: "T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)",
                story: "Neither of the levels below alone objects. T2 must have seen T1, which wrote x \
                        first, and not T3; T4 saw T3 and not T1.",
                holds: &[Prefix, ParallelSnapshot],
                violated: &[AdyaPl299, UpdateSerializable, AdyaPlSi],
            },
            Example {
                notation: "T1: w(x,1) ; T2: r(x,0)",
                story: "The snapshot of T2 is older than its own session.",
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
        about: "serializable; sessions do not count",
        aliases: &["pl-3", "adya-serializable", "conflict-serializable"],
        called: &[
            called("Elle", ":serializable, :PL-3"),
            called("ANSI SQL, as Adya reads it", "SERIALIZABLE"),
        ],
        definition: "Transactions might have run one after the other, each seeing all that went before it. This is \
                     serializable of this catalogue without the order of sessions: a transaction may come \
                     before others that its session ran earlier. It differs from adya-pl-2.99 in the \
                     anti-dependencies of predicates (ranges).",
        engine: Solver,
        axioms: &[graph("adya-pl-2, and acyclic(wr | ww | rw), predicates included: no G2")],
        examples: &[
            Example {
                notation: "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)",
                story: "Each reads what the other overwrites, so each would have to come first.",
                holds: &[Snapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
                story: "T3 and T4 see T1 and T2 arrive in opposite orders.",
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
        definition: "Transactions might have run one after the other, each seeing all that went before it, in \
                     an order that keeps that of every session. The order need not be that of the clock.",
        engine: Solver,
        axioms: &[
            phi("PHI(t2, t3): co(t2, t3)"),
            vis("read-atomic and TOTALVIS (vis = ar)"),
            graph("acyclic(so | wr | ww | rw)"),
        ],
        examples: &[
            Example {
                notation: "T1@0-2: r(x,0) r(y,0) w(x,1)  T2@1-3: r(x,0) r(y,0) w(y,2)",
                story: "Two doctors each see that both are on call, and each goes home. Whoever is second \
                        in a serial order would have seen the first leave.",
                holds: &[StrictSnapshot],
                violated: &[AdyaPl299, UpdateSerializable],
            },
            Example {
                notation: "T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)",
                story: "T3 missed T1 and so comes before it; T2 missed T3 and so comes before T3, and yet it \
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
        about: "snapshot isolation in the order of the clock",
        aliases: &["ssi", "strict-snapshot", "strict-si", "strong-snapshot-isolation", "strong-si"],
        called: &[
            called("Elle", ":strong-snapshot-isolation"),
            called("PostgreSQL", "not its SSI: serializable snapshot isolation is a way to be serializable"),
        ],
        definition: "Snapshot isolation in which a snapshot holds every transaction that had returned before \
                     its own was invoked: no stale snapshots.",
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
            story: "T1 had returned before T2 began, in another session, and T2 does not see it.",
            holds: &[StrongPl2, Serializable],
            violated: &[StrictSnapshot],
        }],
        products: &[],
        sources: &[cite(DAUDJEE_SALEM, "section 2, strong snapshot isolation"), cite(CROOKS, "strict SI")],
    },
    Row {
        level: StrictSerializable,
        name: "strict-serializable",
        about: "serializable in the order of the clock",
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
        definition: "Transactions might have run one after the other in an order that agrees with the clock: \
                     who begins after another has returned comes after it. With transactions of one \
                     operation this is linearizability.",
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
                story: "T1 missed T2, which had returned before T3 began, and T3 missed T1. Serial orders \
                        put T3 first; the clock puts it after T2.",
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
