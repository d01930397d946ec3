//! The brute-force reference: the definitions of docs/levels.md, transcribed.
//!
//! A history satisfies a level when *some* world and *some* total order `co` of its transactions satisfy the
//! level's axiom. A world settles what the history leaves open: which transactions of unknown outcome are
//! present, and from which of several possible writers a read is. All worlds and all orders are tried; an
//! order is given up early only where it breaks `so`, `wr` or `rt`. Nothing here is clever, and nothing is
//! shared with the crate under test. `formulations.rs` compares it with other definitions of the same levels.
//!
//! Framework 1: `co` contains `so` and `wr`, and for all `t1 != t2` that write `x` and `t3` that reads `x`
//! from `t1`: PHI(t2, t3) implies co(t2, t1). Adya's levels: version orders whose union with `wr` (and for
//! PL-1 without it) has no cycle exist exactly when a total order contains them, and the order gives them; so
//! these, too, ask for a total order, one that need not contain `so`, and PL-2.99's `rw` is the axiom of
//! serializable. Parallel snapshot isolation is irreflexive((so | wr | ww)+ ; rw?) with the `ww` of a total
//! order, that is PHI(t2, t3) = (so | wr | ww)+(t2, t3). Strict levels: `co` contains `rt`, and `rt` is
//! among what a snapshot holds. Cut isolation asks for no order.
//!
//! What a range read says of a key is a read like any other, but that cut isolation does not look at it, and
//! PL-2.99 lets others come between, and so does cursor stability.
//!
//! Levels without sessions ask for an order that need not contain `so`. Those of Adya and Bailis et al. that speak of
//! cycles are asked for in their own words, with the `ww` of a total order and the `rw` that follows from it:
//! cursor stability (G-cursor), monotonic atomic view (OTV), monotonic view (G-monotonic, with the operations of
//! one transaction as nodes), update serializability (G-update, a graph for each transaction). Update atomic
//! is in the words of Framework 2: what is visible is `so`, `wr`, and every earlier writer of a key.
//!
//! Real time: `rt(t, s)` when `t` returned before `s` was invoked, by events if there are any and else by times.
//! What was not recorded orders nothing, and who never learned its outcome may take effect at any time later: it
//! precedes nobody.
//!
//! Lists: the version that `t1` makes of a list is all appends by transactions up to `t1` in `co`, and a read
//! of that version returns exactly this. A read after appends of its own transaction returns the version that these make: all
//! appends before its transaction in `co`, followed by its own so far.
//!
//! PL-1 asks for no such order. Its version order of a list is an order of all appends, of which the lists that committed
//! transactions read are beginnings; `pl1.rs`.
//!
//! Number 0 is the initial transaction; sets of transactions are bit masks.

use isoscope_history::{History, Key, NO_EVENT, NO_TIME, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Level;

use crate::pl1;

/// The levels the reference knows: all, the weak ones first.
pub(crate) const LEVELS: [Level; 25] = [
    Level::CutIsolation,
    Level::AdyaPl1,
    Level::AdyaPl2,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::AdyaPl299,
    Level::Prefix,
    Level::ParallelSnapshot,
    Level::Snapshot,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
    Level::StrongSessionPl1,
    Level::StrongPl1,
    Level::StrongSessionPl2,
    Level::StrongPl2,
    Level::CursorStability,
    Level::MonotonicAtomicView,
    Level::MonotonicView,
    Level::ConsistentView,
    Level::UpdateSerializable,
    Level::UpdateAtomic,
    Level::AdyaPlSi,
    Level::AdyaPl3,
];

/// Those of them that are decided in polynomial time when values are unique.
pub(crate) const WEAK: &[Level] = LEVELS.split_at(6).0;

/// What satisfies a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// The commit order of the present transactions; empty for cut isolation.
    pub(crate) order: Vec<Txn>,
    /// Where a transaction sees a beginning of the order: how many transactions.
    pub(crate) snapshots: Option<Vec<u32>>,
    /// The writer chosen for each read that could be of several; `None` is the initial state.
    pub(crate) sources: Vec<(Op, Option<Txn>)>,
}

/// For each level, what satisfies it, or `None` when nothing does.
pub(crate) fn judge(history: &History, levels: &[Level]) -> Vec<Option<Explanation>> {
    let mut found: Vec<Option<Explanation>> = vec![None; levels.len()];
    for (&level, found) in levels.iter().zip(&mut found).filter(|(level, _)| is_pl1(**level)) {
        let order = pl1::order(history, &|t, s| pl1_orders(history, level, t, s));
        *found = order.map(|order| Explanation { order, ..Explanation::default() });
    }
    for world in World::all(history) {
        for (level, found) in levels.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            if *level == Level::CutIsolation {
                *found = world.cut().map(|sources| Explanation { sources, ..Explanation::default() });
            }
        }
        for rules in [Rules::Dependencies, Rules::Sessions, Rules::RealTime] {
            let mut open: Vec<usize> = (0..levels.len())
                .filter(|&i| Rules::of(levels[i]) == Some(rules) && found[i].is_none())
                .collect();
            if open.is_empty() || world.broken {
                continue;
            }
            world.for_each_order(rules, &mut |co| {
                if world.makes_the_lists(co) {
                    open.retain(|&i| {
                        let satisfied = world.satisfies(levels[i], co);
                        if satisfied {
                            found[i] = Some(world.explain(levels[i], co));
                        }
                        !satisfied
                    });
                }
                !open.is_empty()
            });
        }
    }
    found
}

/// Whether a history satisfies a level.
pub(crate) fn holds(history: &History, level: Level) -> bool {
    judge(history, &[level])[0].is_some()
}

/// Whether a given explanation satisfies a level: in some world with exactly the transactions of the order, and
/// with the writers that are named. For levels that ask for an order and not for snapshots.
pub(crate) fn accepts(history: &History, level: Level, explanation: &Explanation) -> bool {
    let Some(rules) = Rules::of(level) else {
        return pl1::accepts(history, &explanation.order, &|t, s| pl1_orders(history, level, t, s));
    };
    World::all(history).iter().any(|world| {
        let number = |txn: &Txn| world.txns.iter().position(|t| t == txn).map(|i| i + 1);
        let Some(numbers) = explanation.order.iter().map(number).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let named = |read: &Read| {
            explanation.sources.iter().all(|&(op, from)| op != read.op || world.txn(read.from) == from)
        };
        let mut accepted = false;
        if numbers.len() == world.txns.len() && world.reads.iter().flatten().all(named) {
            world.for_each_order(rules, &mut |co| {
                accepted |=
                    co.order[1..] == numbers[..] && world.makes_the_lists(co) && world.satisfies(level, co);
                !accepted
            });
        }
        accepted
    })
}

/// Whether given snapshots satisfy a level: prefix consistency, or with `rt` and NOCONFLICT the stronger ones, in the
/// words of Framework 2. Each transaction sees a beginning of the order; reads are looked up there by value.
pub(crate) fn accepts_snapshots(history: &History, level: Level, explanation: &Explanation) -> bool {
    let Explanation { order, snapshots: Some(snapshots), .. } = explanation else { return false };
    let mut present = order.clone();
    present.sort_unstable();
    snapshots.len() == order.len()
        && presences(history).any(|txns| txns == present)
        && order.iter().zip(snapshots).enumerate().all(|(i, (&txn, &held))| {
            let held = held as usize;
            let must_be_seen = |other: Txn| {
                let session = other < txn && history.session_of(other) == history.session_of(txn);
                let conflict = history.keys().any(|key| {
                    final_write(history, txn, key).is_some() && final_write(history, other, key).is_some()
                });
                let is_earlier = order[..i].contains(&other);
                match level {
                    Level::Prefix => session,
                    Level::AdyaPlSi => conflict && is_earlier,
                    Level::Snapshot => session || conflict && is_earlier,
                    Level::StrictSnapshot => {
                        session || conflict && is_earlier || is_before_in_real_time(history, other, txn)
                    }
                    _ => panic!("{level} has no snapshots"),
                }
            };
            held <= i
                && order.iter().all(|&other| !must_be_seen(other) || order[..held].contains(&other))
                && reads_of(history, txn).all(|read| {
                    let appended =
                        read.kind == OpKind::ReadList && !own_before(history, txn, read).is_empty();
                    returns_state(history, &order[..held], txn, read)
                        && (!appended || returns_state(history, &order[..i], txn, read))
                })
        })
}

/// Whether a read returns what some transactions, one after the other, and then its own, leave in the key.
fn returns_state(history: &History, before: &[Txn], txn: Txn, read: OpView) -> bool {
    let own = own_before(history, txn, read);
    if read.kind == OpKind::ReadList {
        let appends = before.iter().flat_map(|&t| history.ops_of(t)).filter(|op| is_write_of(op, read.key));
        let mut state = history.table().elements(history.initial(read.key)).to_vec();
        state.extend(appends.map(|op| op.value).chain(own));
        return history.table().elements(read.value) == state;
    }
    let last = before.iter().rev().find_map(|&t| final_write(history, t, read.key));
    match own.last().copied().or(last) {
        Some(value) => read.value == value,
        None => history.is_initial(read.key, read.value),
    }
}

/// The reads of some present transactions that could be of several writers, each with those that are present.
pub(crate) fn open_reads(history: &History, txns: &[Txn]) -> Vec<(Op, Vec<Option<Txn>>)> {
    let live = live(history);
    let mut open = Vec::new();
    for &txn in txns {
        for read in reads_of(history, txn) {
            if possible_reads(history, &live, txn, read).is_some_and(|all| all.len() > 1) {
                let possible = possible_reads(history, txns, txn, read).unwrap_or_default();
                let writers = possible.iter().map(|read| read.from.checked_sub(1).map(|i| txns[i])).collect();
                open.push((read.id, writers));
            }
        }
    }
    open
}

/// The present transactions of a history: of its smallest world.
pub(crate) fn present(history: &History) -> Vec<Txn> {
    presences(history).next().unwrap_or_default()
}

/// How many worlds there are to try.
pub(crate) fn world_count(history: &History) -> usize {
    let choices = |txns: &[Txn]| -> usize {
        let reads = txns.iter().flat_map(|&txn| reads_of(history, txn).map(move |read| (txn, read)));
        reads
            .filter_map(|(txn, read)| possible_reads(history, txns, txn, read))
            .fold(1, |product, possible| product.saturating_mul(possible.len().max(1)))
    };
    presences(history).fold(0, |sum: usize, txns| sum.saturating_add(choices(&txns)))
}

/// The sets of transactions that may be the present ones, to a level that knows reads.
pub(crate) fn presences(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    subsets(history).filter(|txns| is_admissible(history, txns, Own::Apart))
}

/// The same to PL-1, to which an element of a list may be what its reader appends later.
pub(crate) fn presences_of_writers(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    subsets(history).filter(|txns| is_admissible(history, txns, Own::Counted))
}

/// The committed transactions and some of unknown outcome.
fn subsets(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    let unknown: Vec<Txn> = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
    (0..1u32 << unknown.len()).map(move |choice| {
        let is_chosen = |txn| unknown.iter().position(|&u| u == txn).is_some_and(|i| choice & bit(i) != 0);
        let is_present = |&txn: &Txn| match history.outcome(txn) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => is_chosen(txn),
        };
        history.txns().filter(is_present).collect()
    })
}

/// Whether `t` had returned before `s` was invoked.
pub(crate) fn is_before_in_real_time(history: &History, t: Txn, s: Txn) -> bool {
    let (t_at, s_at) = (t.index(), s.index());
    let by_clock = match (history.events(), history.times()) {
        (Some(events), _) => {
            let (returned, invoked) = (events.end[t_at], events.start[s_at]);
            returned != NO_EVENT && invoked != NO_EVENT && returned < invoked
        }
        (None, Some(times)) => {
            let (returned, invoked) = (times.end[t_at], times.start[s_at]);
            returned != NO_TIME && invoked != NO_TIME && returned < invoked
        }
        (None, None) => false,
    };
    by_clock && history.outcome(t) == Outcome::Committed
}

fn is_pl1(level: Level) -> bool {
    matches!(level, Level::AdyaPl1 | Level::StrongSessionPl1 | Level::StrongPl1)
}

/// Whether a form of PL-1 puts `t` before `s`, whatever they write.
fn pl1_orders(history: &History, level: Level, t: Txn, s: Txn) -> bool {
    let in_session = t < s && history.session_of(t) == history.session_of(s);
    let in_time = level == Level::StrongPl1 && is_before_in_real_time(history, t, s);
    level != Level::AdyaPl1 && (in_session || in_time)
}

/// What an order must contain from the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// `wr`.
    Dependencies,
    /// `so` and `wr`.
    Sessions,
    /// `so`, `wr` and `rt`.
    RealTime,
}

impl Rules {
    /// What a level asks for that has a commit order.
    fn of(level: Level) -> Option<Rules> {
        match level {
            Level::CutIsolation | Level::AdyaPl1 | Level::StrongSessionPl1 | Level::StrongPl1 => None,
            Level::AdyaPl2
            | Level::AdyaPl299
            | Level::AdyaPl3
            | Level::AdyaPlSi
            | Level::ConsistentView
            | Level::CursorStability
            | Level::MonotonicAtomicView
            | Level::MonotonicView
            | Level::UpdateSerializable => Some(Rules::Dependencies),
            Level::StrongPl2 | Level::StrictSnapshot | Level::StrictSerializable => Some(Rules::RealTime),
            _ => Some(Rules::Sessions),
        }
    }
}

/// A read of a key from a transaction, and for a list the external part.
#[derive(Clone)]
struct Read {
    op: Op,
    key: Key,
    from: usize,
    list: Option<Vec<Value>>,
}

/// A history of which nothing is left open.
struct World<'h> {
    history: &'h History,
    /// The present transactions; the one numbered `t` is `txns[t - 1]`.
    txns: Vec<Txn>,
    /// For each number, its reads from others in program order.
    reads: Vec<Vec<Read>>,
    /// For each number, the keys it writes; and for each key, those that write it.
    writes: Vec<u64>,
    writers: Vec<u32>,
    /// For each number, those before it by `so`, `rt`, `wr`, by `so | wr`, and by `(so | wr)+`.
    so: Vec<u32>,
    rt: Vec<u32>,
    wr: Vec<u32>,
    direct: Vec<u32>,
    causal: Vec<u32>,
    /// A read is wrong in every order: nothing but cut isolation and PL-1 can hold.
    broken: bool,
}

/// A total order, and for each transaction those before it.
pub(crate) struct Co {
    order: Vec<usize>,
    before: Vec<u32>,
}

impl Co {
    /// All of a set, and all that are before one of them.
    fn up_to(&self, set: u32) -> u32 {
        self.order.iter().filter(|&&t| set & bit(t) != 0).fold(set, |all, &t| all | self.before[t])
    }
}

fn bit(t: usize) -> u32 {
    1 << t
}

impl<'h> World<'h> {
    /// All worlds of a history.
    fn all(history: &'h History) -> Vec<World<'h>> {
        let mut worlds = Vec::new();
        for txns in presences(history) {
            World::with_present(history, &txns, &mut worlds);
        }
        worlds
    }

    /// All worlds with the given transactions: every choice of writers.
    fn with_present(history: &'h History, txns: &[Txn], worlds: &mut Vec<World<'h>>) {
        let n = txns.len() + 1;
        let mut so = vec![0; n];
        let mut rt = vec![0; n];
        let mut writes = vec![u64::MAX; n];
        for (i, &txn) in txns.iter().enumerate() {
            let earlier = |&(_, &other): &(usize, &Txn)| {
                other < txn && history.session_of(other) == history.session_of(txn)
            };
            so[i + 1] = txns.iter().enumerate().filter(earlier).fold(1, |set, (j, _)| set | bit(j + 1));
            let returned = |&(_, &other): &(usize, &Txn)| is_before_in_real_time(history, other, txn);
            rt[i + 1] = txns.iter().enumerate().filter(returned).fold(1, |set, (j, _)| set | bit(j + 1));
            writes[i + 1] =
                history.ops_of(txn).filter(|op| op.kind.is_write()).fold(0, |set, op| set | 1 << op.key.0);
        }
        let writers_of =
            |key: Key| (0..n).filter(|&t| writes[t] & 1 << key.0 != 0).fold(0, |set, t| set | bit(t));
        let writers: Vec<u32> = history.keys().map(writers_of).collect();
        let mut broken = false;
        let mut choices = vec![vec![Vec::new(); n]];
        for (i, &txn) in txns.iter().enumerate() {
            for op in reads_of(history, txn) {
                let Some(possible) = possible_reads(history, txns, txn, op) else { continue };
                broken |= possible.is_empty();
                if !possible.is_empty() {
                    choices = choices
                        .iter()
                        .flat_map(|so_far| possible.iter().map(move |read| (so_far, read)))
                        .map(|(so_far, read)| {
                            let mut reads = so_far.clone();
                            reads[i + 1].push(read.clone());
                            reads
                        })
                        .collect();
                }
            }
        }
        for reads in choices {
            let (txns, writes, writers) = (txns.to_vec(), writes.clone(), writers.clone());
            let (so, rt) = (so.clone(), rt.clone());
            let (wr, direct, causal) = (Vec::new(), Vec::new(), Vec::new());
            let mut world =
                World { history, txns, reads, writes, writers, so, rt, wr, direct, causal, broken };
            world.relate();
            worlds.push(world);
        }
    }

    fn relate(&mut self) {
        let n = self.reads.len();
        let from = |t: usize| self.reads[t].iter().fold(0, |set, read| set | bit(read.from));
        self.wr = (0..n).map(from).collect();
        self.direct = (0..n).map(|t| self.so[t] | self.wr[t]).collect();
        self.causal.clone_from(&self.direct);
        for k in 0..n {
            for t in 0..n {
                if self.causal[t] & bit(k) != 0 {
                    self.causal[t] |= self.causal[k];
                }
            }
        }
    }

    /// The transaction of that number; none is the initial one.
    fn txn(&self, t: usize) -> Option<Txn> {
        t.checked_sub(1).map(|i| self.txns[i])
    }

    /// Calls `visit` with every total order that respects the rules, until it says no.
    fn for_each_order(&self, rules: Rules, visit: &mut dyn FnMut(&Co) -> bool) {
        let needed: Vec<u32> = (0..self.reads.len())
            .map(|t| match rules {
                Rules::Dependencies => self.wr[t],
                Rules::Sessions => self.direct[t],
                Rules::RealTime => self.direct[t] | self.rt[t],
            })
            .collect();
        extend(&needed, &mut Co { order: vec![0], before: vec![0; self.reads.len()] }, bit(0), visit);
    }

    /// Every list is what its version in this order is. After appends of its own transaction, that is the version its
    /// transaction found when it appended.
    fn makes_the_lists(&self, co: &Co) -> bool {
        let appends = |t: usize, key: Key| {
            let ops = self.txn(t).into_iter().flat_map(|txn| self.history.ops_of(txn));
            ops.filter(move |op| is_write_of(op, key)).map(|op| op.value)
        };
        self.reads.iter().enumerate().flat_map(|(t3, reads)| reads.iter().map(move |read| (t3, read))).all(
            |(t3, read)| {
                let Some(list) = &read.list else { return true };
                let own = !own_before(self.history, self.txns[t3 - 1], self.history.op(read.op)).is_empty();
                let seen = if own { co.before[t3] } else { co.before[read.from] | bit(read.from) };
                let mut version = self.history.table().elements(self.history.initial(read.key)).to_vec();
                let in_order = || co.order.iter().filter(|&&t| seen & bit(t) != 0);
                version.extend(in_order().flat_map(|&t| appends(t, read.key)));
                let last = in_order().rfind(|&&t| self.writers[read.key.index()] & bit(t) != 0);
                *list == version && last == Some(&read.from)
            },
        )
    }

    /// Whether an order that respects the level's rules, and makes the lists, satisfies the level's axiom.
    fn satisfies(&self, level: Level, co: &Co) -> bool {
        let each = |holds: &dyn Fn(usize) -> bool| (1..self.reads.len()).all(holds);
        match level {
            _ if self.broken => false,
            Level::AdyaPl2 | Level::StrongSessionPl2 | Level::StrongPl2 => true,
            Level::ReadCommitted => each(&|t3| self.is_read_committed(co, t3)),
            Level::CursorStability => each(&|t| !self.has_g_cursor(co, t)),
            Level::MonotonicAtomicView => each(&|t| !self.has_otv(co, t)),
            Level::MonotonicView => each(&|t| !self.has_g_monotonic(co, t)),
            Level::UpdateSerializable => each(&|t| !self.has_g_update(co, t)),
            Level::AdyaPl299 => {
                (1..self.reads.len()).all(|t3| self.satisfies_on_items(co, t3, self.phi(level, co, t3)))
            }
            _ => (1..self.reads.len()).all(|t3| self.satisfies_axiom(co, t3, self.phi(level, co, t3))),
        }
    }

    /// Of every read of `t3`, of `x` from `t1`: all `t2 != t1` that write `x`, and of which PHI(t2, t3) holds, are
    /// before `t1`.
    fn satisfies_axiom(&self, co: &Co, t3: usize, phi: u32) -> bool {
        self.reads[t3].iter().all(|read| self.is_newest(co, read, phi))
    }

    /// The same, but for reads in ranges.
    fn satisfies_on_items(&self, co: &Co, t3: usize, phi: u32) -> bool {
        let in_range = |read: &&Read| self.history.op(read.op).in_range;
        self.reads[t3].iter().filter(|read| !in_range(read)).all(|read| self.is_newest(co, read, phi))
    }

    fn is_newest(&self, co: &Co, read: &Read, phi: u32) -> bool {
        let t1 = read.from;
        phi & self.writers[read.key.index()] & !bit(t1) & !co.before[t1] == 0
    }

    /// The axiom of read committed: PHI is about each read, `t3` reads from `t2` before it.
    fn is_read_committed(&self, co: &Co, t3: usize) -> bool {
        let reads = &self.reads[t3];
        (0..reads.len()).all(|place| {
            let earlier = reads[..place].iter().fold(0, |set, earlier| set | bit(earlier.from));
            self.is_newest(co, &reads[place], earlier)
        })
    }

    /// The set of all `t2` with PHI(t2, t3).
    fn phi(&self, level: Level, co: &Co, t3: usize) -> u32 {
        match level {
            Level::ReadAtomic => self.direct[t3],
            Level::Causal => self.causal[t3],
            Level::Prefix => co.up_to(self.direct[t3]),
            Level::ParallelSnapshot => self.before_by(co, t3, &|s| self.direct[s]),
            Level::ConsistentView => self.before_by(co, t3, &|s| self.wr[s]),
            Level::UpdateAtomic => self.direct[t3] | self.conflicting(t3) & co.before[t3],
            Level::AdyaPlSi => co.up_to(bit(0) | self.wr[t3] | self.conflicting(t3) & co.before[t3]),
            Level::Snapshot => co.up_to(self.direct[t3] | self.conflicting(t3) & co.before[t3]),
            Level::StrictSnapshot => {
                co.up_to(self.direct[t3] | self.rt[t3] | self.conflicting(t3) & co.before[t3])
            }
            Level::Serializable | Level::StrictSerializable | Level::AdyaPl299 | Level::AdyaPl3 => {
                co.before[t3]
            }
            _ => panic!("{level} has no axiom here"),
        }
    }

    /// Those that write a key which `t` writes.
    fn conflicting(&self, t: usize) -> u32 {
        (0..self.reads.len()).filter(|&s| self.writes[t] & self.writes[s] != 0).fold(0, |set, s| set | bit(s))
    }

    /// Those from which a path of some relation inside `co` and of `ww` leads to `t`, where `ww` is the order `co` of
    /// two that write one key.
    fn before_by(&self, co: &Co, t: usize, relation: &dyn Fn(usize) -> u32) -> u32 {
        let mut found = bit(t);
        let mut before = 0;
        // Both are inside `co`, so going back along it finds everything once.
        for &s in co.order.iter().rev().filter(|&&s| s == t || co.before[t] & bit(s) != 0) {
            if found & bit(s) != 0 {
                before |= relation(s) | self.conflicting(s) & co.before[s];
                found |= before;
            }
        }
        before
    }

    /// Those that overwrite what a read returned, other than the reader.
    fn overwriting(&self, co: &Co, reader: usize, read: &Read) -> Vec<usize> {
        let later = |&t: &usize| co.before[t] & bit(read.from) != 0 && t != reader;
        (1..self.reads.len())
            .filter(later)
            .filter(|&t| self.writers[read.key.index()] & bit(t) != 0)
            .collect()
    }

    /// G-cursor(x), with `t` the reader: `t` overwrites, on x, somebody who overwrote what `t` read of x.
    fn has_g_cursor(&self, co: &Co, t: usize) -> bool {
        self.reads[t].iter().filter(|read| !self.history.op(read.op).in_range).any(|read| {
            self.writers[read.key.index()] & bit(t) != 0
                && self.overwriting(co, t, read).iter().any(|&other| co.before[t] & bit(other) != 0)
        })
    }

    /// OTV: `t` reads from `s`, and later reads what `s` had overwritten.
    fn has_otv(&self, co: &Co, t: usize) -> bool {
        let reads = &self.reads[t];
        (0..reads.len()).any(|later| {
            let missed = self.overwriting(co, t, &reads[later]);
            reads[..later].iter().any(|earlier| missed.contains(&earlier.from))
        })
    }

    /// G-monotonic for `t`: a graph whose nodes are the other transactions and the operations of `t`, with edges of
    /// `wr`, `ww` and program order, in which one `rw` from a read of `t` closes a cycle.
    fn has_g_monotonic(&self, co: &Co, t: usize) -> bool {
        let n = self.reads.len();
        let ops: Vec<OpView> = self.history.ops_of(self.txns[t - 1]).collect();
        let node = |op: Op| n + ops.iter().position(|other| other.id == op).expect("an operation of it");
        let mut edges: Vec<(usize, usize)> = (n + 1..n + ops.len()).map(|later| (later - 1, later)).collect();
        let others = || (1..n).filter(|&s| s != t);
        for s in others() {
            edges.extend(self.reads[s].iter().filter(|read| read.from != t).map(|read| (read.from, s)));
            edges.extend(
                others().filter(|&r| self.conflicting(s) & co.before[s] & bit(r) != 0).map(|r| (r, s)),
            );
        }
        edges.extend(self.reads[t].iter().map(|read| (read.from, node(read.op))));
        // The version that `t` makes of a key is that of its last write.
        for (i, op) in ops.iter().enumerate().filter(|(_, op)| op.kind.is_write() && op.last_write) {
            let writer = |&s: &usize| self.writers[op.key.index()] & bit(s) != 0;
            for s in others().filter(writer) {
                edges.push(if co.before[t] & bit(s) != 0 { (s, n + i) } else { (n + i, s) });
            }
        }
        self.reads[t].iter().any(|read| {
            let missed = self.overwriting(co, t, read);
            missed.iter().any(|&other| leads(&edges, other, node(read.op)))
        })
    }

    /// G-update for `t`: a cycle of `wr`, `ww` and `rw` over `t` and all who write.
    fn has_g_update(&self, co: &Co, t: usize) -> bool {
        let counts = |s: &usize| *s == t || self.writes[*s] != 0;
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for s in (1..self.reads.len()).filter(counts) {
            edges.extend(self.reads[s].iter().filter(|read| counts(&read.from)).map(|read| (read.from, s)));
            let over = self.conflicting(s) & co.before[s];
            edges.extend((1..self.reads.len()).filter(|&r| over & bit(r) != 0).map(|r| (r, s)));
            for read in &self.reads[s] {
                edges.extend(self.overwriting(co, s, read).into_iter().map(|other| (s, other)));
            }
        }
        (1..self.reads.len()).any(|s| edges.iter().any(|&(from, to)| from == s && leads(&edges, to, s)))
    }

    fn explain(&self, level: Level, co: &Co) -> Explanation {
        let order: Vec<Txn> = co.order[1..].iter().map(|&t| self.txns[t - 1]).collect();
        let sees_snapshot = sees_snapshot(level);
        // The initial transaction is in every snapshot and is not counted.
        let held = |&t: &usize| self.phi(level, co, t).count_ones() - 1;
        let snapshots = sees_snapshot.then(|| co.order[1..].iter().map(held).collect());
        let sources = if sees_snapshot || sees_all_before(level) { Vec::new() } else { self.sources() };
        Explanation { order, snapshots, sources }
    }

    /// Where the reads are from that could be from several.
    fn sources(&self) -> Vec<(Op, Option<Txn>)> {
        let open = self.reads.iter().flatten().filter(|read| self.is_open(read.op));
        let mut sources: Vec<_> = open.map(|read| (read.op, self.txn(read.from))).collect();
        sources.sort_unstable_by_key(|&(op, _)| op);
        sources
    }

    /// Whether a read could be from several of those who may have committed.
    fn is_open(&self, read: Op) -> bool {
        let (history, live) = (self.history, live(self.history));
        possible_reads(history, &live, history.txn_of(read), history.op(read))
            .is_some_and(|all| all.len() > 1)
    }

    /// Cut isolation: no transaction reads a key twice and finds what two others wrote, but for each key there is one
    /// other from which all its reads may be. Values nobody present wrote do not count. Gives that one for the reads
    /// that could be from several.
    fn cut(&self) -> Option<Vec<(Op, Option<Txn>)>> {
        let mut sources = Vec::new();
        for (&txn, key) in self.txns.iter().flat_map(|txn| self.history.keys().map(move |key| (txn, key))) {
            let reads = || reads_of(self.history, txn).filter(|read| read.key == key && !read.in_range);
            let counted = || reads().filter(|&read| self.origins(txn, read) != 0);
            let all = counted().fold(u32::MAX, |common, read| common & self.origins(txn, read));
            let ends = |t: usize| t == 0 || self.ends_all(txn, key, &counted().collect::<Vec<_>>(), t);
            let common = (0..self.reads.len())
                .filter(|&t| all & bit(t) != 0 && ends(t))
                .fold(0, |set, t| set | bit(t));
            if common == 0 && counted().next().is_some() {
                return None;
            }
            // Of no reads nothing is chosen.
            let chosen = if common == 0 { None } else { self.txn(common.trailing_zeros() as usize) };
            sources.extend(counted().filter(|&read| self.is_open(read.id)).map(|read| (read.id, chosen)));
        }
        sources.sort_unstable_by_key(|&(op, _)| op);
        Some(sources)
    }

    /// Whether a transaction made the appends that lists of a key end with: lists of different lengths end with
    /// different appends, as far as others than the reader made so many.
    fn ends_all(&self, reader: Txn, key: Key, reads: &[OpView], t: usize) -> bool {
        let history = self.history;
        let mut ends: Vec<(usize, Value)> = reads
            .iter()
            .filter(|read| read.kind == OpKind::ReadList)
            .filter_map(|&read| external_part(history, reader, read))
            .filter(|part| part[..] != *history.table().elements(history.initial(key)))
            .filter_map(|part| Some((part.len(), *part.last()?)))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends.iter().all(|&(_, last)| {
            let lengths = ends.iter().filter(|end| end.1 == last).count();
            let appends =
                |txn: Txn| history.ops_of(txn).filter(|op| is_write_of(op, key) && op.value == last).count();
            let others = live(history).into_iter().filter(|&txn| txn != reader).map(appends).sum();
            self.txn(t).map_or(0, appends) >= lengths.min(others)
        })
    }

    /// The other present transactions whose final write a read returned; when there is none, those that wrote
    /// the value at all. Of a list, those that appended the last element that is not the reader's.
    fn origins(&self, txn: Txn, read: OpView) -> u32 {
        let history = self.history;
        let (value, is_list) = match read.kind {
            OpKind::ReadList => match external_part(history, txn, read) {
                Some(part) if part[..] == *history.table().elements(history.initial(read.key)) => {
                    return bit(0);
                }
                Some(part) => match part.last() {
                    Some(&last) => (last, true),
                    None => return bit(0),
                },
                None => return 0,
            },
            _ => (read.value, false),
        };
        // A wrong read of a value that the reader itself writes is of nobody else.
        let own = history.ops_of(txn).any(|op| is_write_of(&op, read.key) && op.value == value);
        if own
            && !is_list
            && possible_reads(history, &self.txns, txn, read).is_none_or(|possible| possible.is_empty())
        {
            return 0;
        }
        let set_of = |writes: &dyn Fn(Txn) -> bool| {
            let others = self.txns.iter().enumerate().filter(|&(_, &t)| t != txn && writes(t));
            others.fold(0, |set, (i, _)| set | bit(i + 1))
        };
        if is_list {
            return set_of(&|t| history.ops_of(t).any(|op| is_write_of(&op, read.key) && op.value == value));
        }
        let finals = u32::from(history.is_initial(read.key, value))
            | set_of(&|t| final_write(history, t, read.key) == Some(value));
        match finals {
            0 => set_of(&|t| history.ops_of(t).any(|op| is_write_of(&op, read.key) && op.value == value)),
            finals => finals,
        }
    }
}

/// Extends an order in all ways in which everybody has those before it that it needs; stops when `visit` of a
/// full one says no.
fn extend(needed: &[u32], co: &mut Co, placed: u32, visit: &mut dyn FnMut(&Co) -> bool) -> bool {
    if co.order.len() == needed.len() {
        return visit(co);
    }
    (1..needed.len()).filter(|&t| placed & bit(t) == 0).all(|t| {
        if needed[t] & !placed != 0 {
            return true;
        }
        co.order.push(t);
        co.before[t] = placed;
        let go_on = extend(needed, co, placed | bit(t), visit);
        co.order.pop();
        go_on
    })
}

/// Levels at which an order says from whom every read is, because a transaction sees all before it.
pub(crate) fn sees_all_before(level: Level) -> bool {
    matches!(level, Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable)
}

/// Levels at which a transaction sees a beginning of the order.
pub(crate) fn sees_snapshot(level: Level) -> bool {
    matches!(level, Level::Prefix | Level::AdyaPlSi | Level::Snapshot | Level::StrictSnapshot)
}

/// Whether some edges lead from one node to another, or the two are one.
fn leads(edges: &[(usize, usize)], from: usize, to: usize) -> bool {
    let mut met = vec![from];
    let mut next = 0;
    while next < met.len() {
        let node = met[next];
        for &(_, after) in edges.iter().filter(|edge| edge.0 == node) {
            if !met.contains(&after) {
                met.push(after);
            }
        }
        next += 1;
    }
    met.contains(&to)
}

/// Those who may have committed.
fn live(history: &History) -> Vec<Txn> {
    history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect()
}

/// The reads of a transaction that say what they returned.
fn reads_of(history: &History, txn: Txn) -> impl Iterator<Item = OpView> {
    history.ops_of(txn).filter(|op| op.kind.is_read() && op.value != Value::UNKNOWN)
}

fn is_write_of(op: &OpView, key: Key) -> bool {
    op.kind.is_write() && op.key == key
}

/// What the transaction wrote to the key of a read before it.
fn own_before(history: &History, txn: Txn, read: OpView) -> Vec<Value> {
    history.ops_of(txn).filter(|op| op.id < read.id && is_write_of(op, read.key)).map(|op| op.value).collect()
}

/// The part of a list that others appended; `None` when it does not end with what the reader appended.
fn external_part(history: &History, txn: Txn, read: OpView) -> Option<Vec<Value>> {
    let list = history.table().elements(read.value);
    list.strip_suffix(&own_before(history, txn, read)[..]).map(<[Value]>::to_vec)
}

/// What a list shows of the appends of others; all of it where that cannot be told.
fn shown(history: &History, txn: Txn, read: OpView) -> Vec<Value> {
    let list = history.table().elements(read.value).to_vec();
    let part = external_part(history, txn, read).unwrap_or(list);
    let initial = history.table().elements(history.initial(read.key));
    part.strip_prefix(initial).unwrap_or(&part).to_vec()
}

/// All that a read may be from, given who is present: empty when it is wrong in every order, `None` when it
/// reads its own transaction's last write.
fn possible_reads(history: &History, txns: &[Txn], txn: Txn, read: OpView) -> Option<Vec<Read>> {
    let own = own_before(history, txn, read);
    if read.kind == OpKind::Read && !own.is_empty() {
        return if own.last() == Some(&read.value) { None } else { Some(Vec::new()) };
    }
    let list = match read.kind {
        OpKind::ReadList => match external_part(history, txn, read) {
            Some(part) => Some(part),
            None => return Some(Vec::new()),
        },
        _ => None,
    };
    let value = list.as_ref().map_or(Some(read.value), |part| part.last().copied());
    let mut possible = Vec::new();
    let is_initial = match &list {
        Some(part) => part == history.table().elements(history.initial(read.key)),
        None => history.is_initial(read.key, read.value),
    };
    if is_initial {
        possible.push(Read { op: read.id, key: read.key, from: 0, list: list.clone() });
    }
    for (i, &writer) in txns.iter().enumerate().filter(|&(_, &writer)| writer != txn) {
        if value.is_some() && final_write(history, writer, read.key) == value {
            possible.push(Read { op: read.id, key: read.key, from: i + 1, list: list.clone() });
        }
    }
    Some(possible)
}

/// A transaction's last write of a key.
fn final_write(history: &History, txn: Txn, key: Key) -> Option<Value> {
    history.ops_of(txn).rfind(|op| is_write_of(op, key)).map(|op| op.value)
}

/// Whether a list may show what its reader itself appends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Apart,
    Counted,
}

/// Whether those present explain what can be explained: who is read from did commit. A world without it would
/// take a read for a wrong one though it need not be.
fn is_admissible(history: &History, txns: &[Txn], own: Own) -> bool {
    let live = live(history);
    let finally = |writer, key, value| final_write(history, writer, key) == Some(value);
    let at_all = |writer, key, value| {
        history.ops_of(writer).any(|op: OpView| is_write_of(&op, key) && op.value == value)
    };
    txns.iter().all(|&txn| {
        reads_of(history, txn).all(|read| {
            let (values, writes): (_, &dyn Fn(Txn, Key, Value) -> bool) = match read.kind {
                OpKind::ReadList => (shown(history, txn, read), &at_all),
                _ if !own_before(history, txn, read).is_empty() => return true,
                _ if history.is_initial(read.key, read.value) => return true,
                _ => (vec![read.value], &finally),
            };
            values.iter().all(|&value| {
                let counts =
                    |other: Txn| other != txn || own == Own::Counted && read.kind == OpKind::ReadList;
                let explained = |among: &[Txn]| {
                    among.iter().any(|&other| counts(other) && writes(other, read.key, value))
                };
                (!explained(&live) || explained(txns))
                    && (read.kind == OpKind::Read || {
                        // As many appended an element as a list holds, if as many can have.
                        let held = values.iter().filter(|&&other| other == value).count();
                        let appends = |among: &[Txn]| -> usize {
                            let others = among.iter().filter(|&&other| counts(other));
                            let of = |op: &OpView| is_write_of(op, read.key) && op.value == value;
                            others.map(|&other| history.ops_of(other).filter(of).count()).sum()
                        };
                        appends(txns) >= held.min(appends(&live))
                    })
            })
        })
    })
}

/// Whether an element is appended twice to one list, or is there initially.
pub(crate) fn elements_repeat(history: &History) -> bool {
    history.keys().any(|key| {
        let appends = history.txns().flat_map(|txn| history.ops_of(txn));
        let appends = appends.filter(|op| op.key == key && op.kind == OpKind::Append).map(|op| op.value);
        let mut elements: Vec<Value> = history.table().elements(history.initial(key)).to_vec();
        elements.extend(appends);
        (1..elements.len()).any(|i| elements[..i].contains(&elements[i]))
    })
}

/// The classics of docs/levels.md and of the literature, each with the weakest levels that it violates: it violates those
/// that imply one of them and no others.
#[test]
fn the_reference_knows_the_classics() {
    use isoscope_history::notation::parse;
    let unrepeatable = "cut-isolation";
    for (text, weakest) in [
        ("T1: w(x,1)  T2: r(x,1)", ""),
        ("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)", "adya-pl-2.99 pl-3u"),
        ("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)", "pl-cs"),
        ("T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)", "prefix pl-si adya-pl-2.99"),
        ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)", "causal pl-2l adya-pl-2.99"),
        ("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)", "read-atomic pl-2+ adya-pl-2.99"),
        ("T1: r(x,0) w(x,1) ; T2: r(x,0)", "read-atomic"),
        ("T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)", "mav adya-pl-2.99"),
        ("T1: r(x,1) ; T2: w(x,1)", "ss-pl-2"),
        ("T1: w(x,1)  T2: w(x,2)  T3: r(x,1) r(x,2)", unrepeatable),
        ("T1: w(x,1)  T2: r(x,0) r(x,1) w(x,2) r(x,2)", "cut-isolation pl-cs"),
        ("T1: w(x,1) w(x,2)  T3: r(x,1) r(x,2)", "adya-pl-2"),
        ("T1: w(x,1) r(x,0)", "adya-pl-2"),
        ("T1!: w(x,1)  T2: r(x,1)", "adya-pl-2"),
        ("T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)", "adya-pl-2"),
        // Sessions are nothing to Adya's levels.
        ("T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)", "serializable"),
        ("T1: w(x,1) ; T2: r(x,0)", "read-atomic"),
        // Prefix and parallel snapshot isolation together are less than snapshot isolation.
        ("T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)", "pl-si pl-3u adya-pl-2.99"),
        // Unknown outcomes: who is read is present, who is not need not be.
        ("T1?: w(x,1)  T2: r(x,1) ; T3: r(x,0)", "causal"),
        ("T1?: w(x,1) r(y,7)  T2: r(x,0)", ""),
        ("T1?: w(x,1) r(y,7)  T2: r(x,1)", "adya-pl-2"),
        ("T1?: w(x,1)  T2: r(x,0) r(x,1)", unrepeatable),
        ("T1: r(x,0) w(x,1)  T2?: r(x,0) w(x,2)", ""),
        ("T1: r(x,0) w(x,1)  T2?: r(x,0) w(x,2) w(y,1)  T3: r(y,1)", "pl-cs"),
        // Repeated values: one choice of writers is enough.
        ("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(x,1) r(y,2)", ""),
        ("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(y,1) r(y,2) r(x,1)", unrepeatable),
        ("T1: r(x,0) w(x,1)  T2: w(x,0)  T3: r(x,0) w(x,2)", ""),
        ("T1: r(x,0) w(x,1)  T2: w(x,0)  T3: r(x,0) w(x,2)  T4: r(x,0) w(x,3)", "pl-cs"),
        (
            "T1: w(x,1)  T2: w(x,1)  T3: w(y,1)  T4: r(x,1) r(y,0)  T5: r(x,0) r(y,1)",
            "prefix pl-si adya-pl-2.99",
        ),
        ("T1?: w(x,1)  T2?: w(x,1) r(y,7)  T3: r(x,1)", ""),
        // Real time.
        ("T1@0-1: w(x,1)  T2@2-3: r(x,0)", "ssi"),
        ("T1@0-5: r(x,0) w(y,1)  T2@1-2: w(x,2)  T3@3-4: r(y,0)", "sser"),
        ("T1@0-2: w(x,1)  T2@2-3: r(x,0)", ""),
        ("T1@0-: w(x,1)  T2@2-3: r(x,0)", ""),
        ("T1@0-1: w(x,1)  T2: r(x,0)", ""),
        ("T1?@0-1: w(x,1)  T2@2-3: r(x,0)  T3@4-5: r(x,1)", ""),
        ("T1@0-1: w(x,1)  T2?@2-3: r(x,0) w(y,1)  T3: r(y,1)", "ssi"),
        ("T1@2-3: w(x,1) ; T2@0-1: w(x,2)", "s-pl-1"),
        ("T1@0-1: w(x,1)  T2@2-3: w(x,1)  T3@4-5: r(x,1)", ""),
        ("T1@0-1: w(x,1)  T2@2-3: w(x,2)  T3@4-5: r(x,1)", "ssi"),
        // Lists.
        ("T1: a(x,1)  T2: r(x,[1])  T3: a(x,2) r(x,[2])", "adya-pl-2"),
        ("T1: a(x,1)  T3: a(x,2) r(x,[2])", ""),
        ("T1: a(x,1) ; T3: a(x,2) r(x,[2])", "ss-pl-2"),
        ("T1: a(x,1) r(x,[1])  T2: a(x,2) r(x,[2])", "adya-pl-2"),
        ("T1: a(x,1) a(x,3)  T2: a(x,2) r(x,[1 2 3])", "adya-pl-1"),
        ("T1: a(x,1)  T2: a(x,2) r(x,[1 2 3])  T3: a(x,3)", "adya-pl-2"),
        ("T1: a(x,1) a(x,2) r(x,[2 1])", "adya-pl-2"),
        ("T1: a(x,1) a(x,2) r(x,[2 3 1])  T2: a(x,3)", "adya-pl-1"),
        ("T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[1 3])", "adya-pl-2"),
        ("T1: a(x,1) a(x,3) a(x,4)  T2: a(x,2)  T3: r(x,[3 2 4])", "adya-pl-1"),
        ("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[2]) r(y,[1 2])", "adya-pl-2"),
        ("T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[2 3])", "adya-pl-2"),
        ("T1: a(x,1)  T2: a(x,2) r(x,[1 2])  T3: r(x,[]) r(x,[1])", unrepeatable),
        ("T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])", "ss-pl-1"),
        ("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])", "adya-pl-1"),
        ("T1: a(x,1) r(y,1)  T2: a(x,2)  T3: r(x,[2]) w(y,1)", ""),
        ("T1: a(x,1) a(x,2)  T2: r(x,[1])", "adya-pl-2"),
        ("T1: a(x,1)  T2: r(x,[1 1])", "adya-pl-2"),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", ""),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[2])", ""),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[2]) ; T4: r(x,[1 2])", "adya-pl-2"),
        ("T1: r(x,[]) a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])", "pl-cs"),
        // Adya's and Bailis et al.'s finer levels.
        ("T1: a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])", "pl-cs"),
        ("T1: a(x,1) a(y,1)  T2: r(x,[]) a(y,2)  T3: r(y,[1 2])", "ua pl-2+ adya-pl-2.99"),
        ("T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[])  T3: r(y,[1 2])", "ua pl-2l adya-pl-2.99"),
        ("T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[]) a(y,3)  T3: r(y,[1 2 3])", "ua pl-2+ adya-pl-2.99"),
        (
            "T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0) w(z,1)  T4: r(x,0) r(y,1)",
            "prefix pl-si pl-3u adya-pl-2.99",
        ),
        ("T1@0-1: r(x,1)  T2@2-3: w(x,1)", "s-pl-2"),
        ("T1@0-1: a(x,1)  T2@2-3: a(x,2)  T3@4-5: r(x,[2 1])", "s-pl-1"),
    ] {
        let history = parse(text).unwrap();
        let weakest: Vec<Level> =
            weakest.split_whitespace().map(|name| Level::parse(name).unwrap()).collect();
        for level in LEVELS {
            let expected = !weakest.iter().any(|&weaker| level.implies(weaker));
            assert_eq!(holds(&history, level), expected, "{level} of {text}");
        }
    }
}

/// The examples of the catalogue, at the levels that they name and at those that follow.
#[test]
fn the_reference_agrees_with_the_catalogue() {
    for example in Level::ALL.into_iter().flat_map(Level::examples) {
        let history = isoscope_history::notation::parse(example.notation).unwrap();
        let history = history.expand_ranges().unwrap().unwrap_or(history);
        for level in LEVELS {
            if example.holds.iter().any(|stronger| stronger.implies(level)) {
                assert!(holds(&history, level), "{level} of {}", example.notation);
            }
            if example.violated.iter().any(|&weaker| level.implies(weaker)) {
                assert!(!holds(&history, level), "{level} of {}", example.notation);
            }
        }
    }
}

/// The clock is what was recorded: events if there are any, else times.
#[test]
fn real_time_is_that_of_events_and_else_that_of_times() {
    use isoscope_history::Builder;
    let strict = |events: [Option<(u32, u32)>; 2], times: [Option<(i64, i64)>; 2]| {
        let mut b = Builder::new();
        for i in 0..2 {
            let txn = b.session(i as u32).txn();
            let txn = if i == 0 { txn.write("x", 1) } else { txn.read("x", 0) };
            let txn = match events[i] {
                Some((invoke, complete)) => txn.events(invoke, complete),
                None => txn,
            };
            if let Some((invoke, complete)) = times[i] {
                txn.times(invoke, complete);
            }
        }
        holds(&b.finish(), Level::StrictSnapshot)
    };
    let none = [None, None];
    assert!(!strict(none, [Some((0, 1)), Some((2, 3))]));
    assert!(strict(none, [Some((0, 1)), Some((1, 3))]));
    assert!(strict(none, [Some((0, 1)), None]));
    assert!(strict(none, [Some((0, 1)), Some((NO_TIME, 3))]));
    assert!(strict(none, [Some((0, NO_TIME)), Some((2, 3))]));
    assert!(!strict([None, None], [Some((-5, -4)), Some((-3, NO_TIME))]));
    assert!(strict([Some((0, 2)), Some((1, 3))], [Some((0, 1)), Some((2, 3))]));
    assert!(strict([Some((0, 1)), None], [Some((0, 1)), Some((2, 3))]));
    assert!(!strict([Some((0, 1)), Some((2, NO_EVENT))], [Some((2, 3)), Some((0, 1))]));
    assert!(strict([Some((0, 1)), Some((NO_EVENT, 3))], [None, None]));
}
