//! The brute-force reference: the definitions of levels.md, transcribed.
//!
//! A history satisfies a level when *some* world and *some* total order `co` of its transactions satisfy the
//! level's axiom. A world settles what the history leaves open: which transactions of unknown outcome are
//! present, and from which of several possible writers a read is. All worlds and all orders are tried; an
//! order is given up early only where it breaks `so` or `wr`. Nothing here is meant to be fast, and nothing
//! is shared with the crate under test.
//!
//! Framework 1: `co` contains `so` and `wr`, and for all `t1 != t2` that write `x` and `t3` that reads `x`
//! from `t1`: PHI(t2, t3) implies co(t2, t1). Adya's levels: version orders whose union with `wr` (and for
//! PL-1 without it) has no cycle exist exactly when a total order contains them, and the order gives them; so
//! these, too, ask for a total order, one that need not contain `so`. Cut isolation asks for no order.
//!
//! Lists: the version that `t1` makes of a list is all appends by transactions up to `t1` in `co`, and a read
//! of that version returns exactly this, followed by what its own transaction appended before.
//!
//! Number 0 is the initial transaction; sets of transactions are bit masks.

use isoscope_history::{History, Key, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Level;

/// The levels the reference knows.
pub(crate) const LEVELS: [Level; 9] = [
    Level::CutIsolation,
    Level::AdyaPl1,
    Level::AdyaPl2,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::Prefix,
    Level::Snapshot,
    Level::Serializable,
];

/// Those of them that an engine decides by itself and whose orders the verifier checks.
pub(crate) const WEAK: &[Level] = LEVELS.split_at(6).0;

/// For each level, an order that satisfies it (empty for cut isolation), or `None` when there is none.
pub(crate) fn judge(history: &History, levels: &[Level]) -> Vec<Option<Vec<Txn>>> {
    let mut found: Vec<Option<Vec<Txn>>> = vec![None; levels.len()];
    for world in World::all(history) {
        for (level, found) in levels.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            if *level == Level::CutIsolation {
                *found = world.is_cut_isolated().then(Vec::new);
            }
        }
        for rules in [Rules::Pl1, Rules::Pl2, Rules::Framework1] {
            let asked = |level: Level| level != Level::CutIsolation && Rules::of(level) == rules;
            world.extend(rules, &mut vec![0], &mut |co| {
                let mut open = false;
                for (&level, found) in levels.iter().zip(&mut found).filter(|(level, _)| asked(**level)) {
                    if found.is_none() && world.satisfies(level, co) {
                        *found = Some(co.order[1..].iter().map(|&t| world.txns[t - 1]).collect());
                    }
                    open |= found.is_none();
                }
                open
            });
        }
    }
    found
}

/// Whether a history satisfies a level.
pub(crate) fn holds(history: &History, level: Level) -> bool {
    judge(history, &[level])[0].is_some()
}

/// Whether a given order satisfies a level, in some world with exactly its transactions. For levels that ask
/// for an order.
pub(crate) fn accepts(history: &History, level: Level, order: &[Txn]) -> bool {
    World::all(history).iter().any(|world| {
        let number = |txn: &Txn| world.txns.iter().position(|t| t == txn).map(|i| i + 1);
        let Some(numbers) = order.iter().map(number).collect::<Option<Vec<usize>>>() else { return false };
        let mut accepted = false;
        numbers.len() == world.txns.len() && {
            world.extend(Rules::of(level), &mut vec![0], &mut |co| {
                accepted |= co.order[1..] == numbers[..] && world.satisfies(level, co);
                !accepted
            });
            accepted
        }
    })
}

/// The present transactions of a history: of its smallest world.
pub(crate) fn present(history: &History) -> Vec<Txn> {
    World::all(history).first().map(|world| world.txns.clone()).unwrap_or_default()
}

/// How many worlds there are to try.
pub(crate) fn world_count(history: &History) -> usize {
    World::all(history).len()
}

/// What an order must contain from the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Pl1,
    Pl2,
    Framework1,
}

impl Rules {
    fn of(level: Level) -> Rules {
        match level {
            Level::AdyaPl1 => Rules::Pl1,
            Level::AdyaPl2 => Rules::Pl2,
            _ => Rules::Framework1,
        }
    }
}

/// A read of a key from a transaction, and for a list the external part.
#[derive(Clone)]
struct Read {
    key: Key,
    from: usize,
    list: Option<Vec<Value>>,
    /// For a list: nothing is wrong with it whatever the order.
    right: bool,
}

/// A history of which nothing is left open.
struct World<'h> {
    history: &'h History,
    /// The present transactions; the one numbered `t` is `txns[t - 1]`.
    txns: Vec<Txn>,
    /// For each number, its reads from others in program order.
    reads: Vec<Vec<Read>>,
    /// For each number, the keys it writes.
    writes: Vec<u64>,
    /// For each number, those before it by `so`, by `wr`, by `so | wr`, and by `(so | wr)+`.
    so: Vec<u32>,
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

fn bit(t: usize) -> u32 {
    1 << t
}

impl<'h> World<'h> {
    /// All worlds of a history.
    fn all(history: &'h History) -> Vec<World<'h>> {
        let unknown: Vec<Txn> =
            history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
        let mut worlds = Vec::new();
        for choice in 0..1u32 << unknown.len() {
            let txns: Vec<Txn> = history
                .txns()
                .filter(|&txn| match history.outcome(txn) {
                    Outcome::Committed => true,
                    Outcome::Aborted => false,
                    Outcome::Unknown => {
                        unknown.iter().position(|&u| u == txn).is_some_and(|i| choice & bit(i) != 0)
                    }
                })
                .collect();
            if is_admissible(history, &txns) {
                World::with_present(history, &txns, &mut worlds);
            }
        }
        worlds
    }

    /// All worlds with the given transactions: every choice of writers.
    fn with_present(history: &'h History, txns: &[Txn], worlds: &mut Vec<World<'h>>) {
        let n = txns.len() + 1;
        let mut so = vec![0; n];
        let mut writes = vec![u64::MAX; n];
        for (i, &txn) in txns.iter().enumerate() {
            let earlier = |&(_, &other): &(usize, &Txn)| {
                other < txn && history.session_of(other) == history.session_of(txn)
            };
            so[i + 1] = txns.iter().enumerate().filter(earlier).fold(1, |set, (j, _)| set | bit(j + 1));
            writes[i + 1] =
                history.ops_of(txn).filter(|op| op.kind.is_write()).fold(0, |set, op| set | 1 << op.key.0);
        }
        let mut broken = false;
        let mut choices = vec![vec![Vec::new(); n]];
        for (i, &txn) in txns.iter().enumerate() {
            for op in history.ops_of(txn).filter(|op| op.kind.is_read() && op.value != Value::UNKNOWN) {
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
            let (txns, writes, so) = (txns.to_vec(), writes.clone(), so.clone());
            let (wr, direct, causal) = (Vec::new(), Vec::new(), Vec::new());
            let mut world = World { history, txns, reads, writes, so, wr, direct, causal, broken };
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

    /// Extends an order in all ways that respect the rules; stops when a full one is not asked to go on.
    fn extend(&self, rules: Rules, order: &mut Vec<usize>, visit: &mut dyn FnMut(&Co) -> bool) -> bool {
        let n = self.reads.len();
        let placed = order.iter().fold(0, |set, &t| set | bit(t));
        if order.len() == n {
            let mut before = vec![0; n];
            for (i, &t) in order.iter().enumerate() {
                before[t] = order[..i].iter().fold(0, |set, &s| set | bit(s));
            }
            return visit(&Co { order: order.clone(), before });
        }
        (1..n).filter(|&t| placed & bit(t) == 0).all(|t| {
            let needed = match rules {
                Rules::Pl1 => 0,
                Rules::Pl2 => self.wr[t],
                Rules::Framework1 => self.direct[t],
            };
            if needed & !placed != 0 {
                return true;
            }
            order.push(t);
            let go_on = self.extend(rules, order, visit);
            order.pop();
            go_on
        })
    }

    fn satisfies(&self, level: Level, co: &Co) -> bool {
        match level {
            // PL-1 knows nothing but the order of versions, and learns none from lists that are wrong.
            Level::AdyaPl1 => self.lists_agree(co, |read| read.right),
            Level::AdyaPl2 => !self.broken && self.lists_agree(co, |_| true),
            _ => !self.broken && self.lists_agree(co, |_| true) && self.satisfies_axiom(level, co),
        }
    }

    /// Every list is what its version in this order is.
    fn lists_agree(&self, co: &Co, counts: impl Fn(&Read) -> bool) -> bool {
        self.reads.iter().flatten().filter(|read| counts(read)).all(|read| {
            let Some(list) = &read.list else { return true };
            let upto = co.order.iter().position(|&t| t == read.from).expect("the order is total");
            let mut version = self.history.table().elements(self.history.initial(read.key)).to_vec();
            for &t in co.order[..=upto].iter().filter(|&&t| t > 0) {
                let appends = self.history.ops_of(self.txns[t - 1]);
                version.extend(appends.filter(|op| is_write_of(op, read.key)).map(|op| op.value));
            }
            *list == version
        })
    }

    fn satisfies_axiom(&self, level: Level, co: &Co) -> bool {
        let n = self.reads.len();
        (1..n).all(|t3| {
            self.reads[t3].iter().enumerate().all(|(place, read)| {
                let t1 = read.from;
                (0..n).all(|t2| {
                    t2 == t1
                        || self.writes[t2] & 1 << read.key.0 == 0
                        || !self.phi(level, co, t2, t3, place)
                        || co.before[t1] & bit(t2) != 0
                })
            })
        })
    }

    /// PHI(t2, t3), where `place` is the read of `t3` in question.
    fn phi(&self, level: Level, co: &Co, t2: usize, t3: usize, place: usize) -> bool {
        let all = || 0..self.reads.len();
        let in_co = |t: usize, s: usize| co.before[s] & bit(t) != 0;
        let same_or_in_co = |t, s| t == s || in_co(t, s);
        let prefix = || all().any(|t4| same_or_in_co(t2, t4) && self.direct[t3] & bit(t4) != 0);
        let conflict = || {
            all().any(|t4| same_or_in_co(t2, t4) && in_co(t4, t3) && self.writes[t3] & self.writes[t4] != 0)
        };
        match level {
            Level::ReadCommitted => self.reads[t3][..place].iter().any(|earlier| earlier.from == t2),
            Level::ReadAtomic => self.direct[t3] & bit(t2) != 0,
            Level::Causal => self.causal[t3] & bit(t2) != 0,
            Level::Prefix => prefix(),
            Level::Snapshot => prefix() || conflict(),
            Level::Serializable => in_co(t2, t3),
            _ => panic!("{level} has no axiom here"),
        }
    }

    /// No transaction reads a key twice and finds what two others wrote: for each key there is one other from
    /// which all its reads may be. Values nobody present wrote do not count.
    fn is_cut_isolated(&self) -> bool {
        self.txns.iter().all(|&txn| {
            self.history.keys().all(|key| {
                let of_key = |op: &OpView| op.kind.is_read() && op.key == key && op.value != Value::UNKNOWN;
                let reads = self.history.ops_of(txn).filter(of_key);
                let origins = reads.map(|read| self.origins(txn, read)).filter(|&set| set != 0);
                origins.fold(u32::MAX, |common, set| common & set) != 0
            })
        })
    }

    /// The other present transactions whose final write a read returned; when there is none, those that wrote
    /// the value at all. Of a list the last element counts that is not the reader's.
    fn origins(&self, txn: Txn, read: OpView) -> u32 {
        let history = self.history;
        let value = match read.kind {
            OpKind::ReadList => match external_part(history, txn, read).as_deref() {
                Some([.., last]) => *last,
                Some([]) => return bit(0),
                None => return 0,
            },
            _ => read.value,
        };
        // A wrong read of a value that the reader itself writes is of nobody else.
        let own = history.ops_of(txn).any(|op| is_write_of(&op, read.key) && op.value == value);
        if own && possible_reads(history, &self.txns, txn, read).is_none_or(|possible| possible.is_empty()) {
            return 0;
        }
        let set_of = |writes: &dyn Fn(Txn) -> bool| {
            let others = self.txns.iter().enumerate().filter(|&(_, &t)| t != txn && writes(t));
            others.fold(0, |set, (i, _)| set | bit(i + 1))
        };
        let finals = u32::from(is_initial(history, read, value))
            | set_of(&|t| final_write(history, t, read.key) == Some(value));
        match finals {
            0 => set_of(&|t| history.ops_of(t).any(|op| is_write_of(&op, read.key) && op.value == value)),
            finals => finals,
        }
    }
}

fn is_write_of(op: &OpView, key: Key) -> bool {
    op.kind.is_write() && op.key == key
}

/// Whether a value is what the key holds initially: for a list, its last element.
fn is_initial(history: &History, read: OpView, value: Value) -> bool {
    match read.kind {
        OpKind::ReadList => history.table().elements(history.initial(read.key)).last() == Some(&value),
        _ => history.is_initial(read.key, value),
    }
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
    let right = list.as_ref().is_none_or(|part| is_right(history, txns, txn, read, part));
    if is_initial {
        possible.push(Read { key: read.key, from: 0, list: list.clone(), right });
    }
    for (i, &writer) in txns.iter().enumerate().filter(|&(_, &writer)| writer != txn) {
        if value.is_some() && final_write(history, writer, read.key) == value {
            possible.push(Read { key: read.key, from: i + 1, list: list.clone(), right });
        }
    }
    Some(possible)
}

/// A transaction's last write of a key.
fn final_write(history: &History, txn: Txn, key: Key) -> Option<Value> {
    history.ops_of(txn).rfind(|op| is_write_of(op, key)).map(|op| op.value)
}

/// Whether those present explain what can be explained: who is read from did commit. A world without it would
/// take a read for a wrong one though it need not be.
fn is_admissible(history: &History, txns: &[Txn]) -> bool {
    let live: Vec<Txn> = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    let finally = |writer, key, value| final_write(history, writer, key) == Some(value);
    let at_all = |writer, key, value| {
        history.ops_of(writer).any(|op: OpView| is_write_of(&op, key) && op.value == value)
    };
    txns.iter().all(|&txn| {
        history.ops_of(txn).filter(|op| op.kind.is_read() && op.value != Value::UNKNOWN).all(|read| {
            let (values, writes): (_, &dyn Fn(Txn, Key, Value) -> bool) = match read.kind {
                OpKind::ReadList => (external_part(history, txn, read).unwrap_or_default(), &at_all),
                _ if !own_before(history, txn, read).is_empty() => return true,
                _ if history.is_initial(read.key, read.value) => return true,
                _ => (vec![read.value], &finally),
            };
            values.iter().all(|&value| {
                let explained =
                    |among: &[Txn]| among.iter().any(|&other| other != txn && writes(other, read.key, value));
                !explained(&live) || explained(txns)
            })
        })
    })
}

/// Whether a value is written twice to one key, or is there initially: then a read may have several writers.
pub(crate) fn values_repeat(history: &History) -> bool {
    let mut seen: Vec<(Key, Value)> = Vec::new();
    let ops = history.txns().flat_map(|txn| history.ops_of(txn));
    ops.filter(|op| op.kind.is_write()).any(|op| {
        let again = seen.contains(&(op.key, op.value)) || history.is_initial(op.key, op.value);
        seen.push((op.key, op.value));
        again
    })
}

/// Whether two list reads of one key by committed transactions contradict each other, or one is wrong by
/// itself: then the order of versions, which is all PL-1 knows, cannot be told.
pub(crate) fn lists_contradict(history: &History) -> bool {
    World::all(history).iter().all(|world| {
        let mut parts: Vec<(Key, Vec<Value>)> = Vec::new();
        for &txn in &world.txns {
            for read in history.ops_of(txn).filter(|op| op.kind == OpKind::ReadList) {
                match external_part(history, txn, read) {
                    Some(part) if is_right(history, &world.txns, txn, read, &part) => {
                        parts.push((read.key, part));
                    }
                    _ => return true,
                }
            }
        }
        parts.iter().any(|(k, a)| {
            parts.iter().any(|(l, b)| k == l && !a.starts_with(&b[..]) && !b.starts_with(&a[..]))
        })
    })
}

/// Whether a list holds each element once, all of others, in their order, and ends with a final append.
fn is_right(history: &History, txns: &[Txn], txn: Txn, read: OpView, part: &[Value]) -> bool {
    let distinct = (1..part.len()).all(|i| !part[..i].contains(&part[i]));
    let of_others = part.iter().all(|&element| {
        txns.iter().any(|&other| {
            other != txn && history.ops_of(other).any(|op| is_write_of(&op, read.key) && op.value == element)
        })
    });
    let whole = part
        .last()
        .is_none_or(|&last| txns.iter().any(|&other| final_write(history, other, read.key) == Some(last)));
    // Of each transaction it holds the first so many appends, in order.
    let in_order = txns.iter().all(|&other| {
        let appends: Vec<Value> =
            history.ops_of(other).filter(|op| is_write_of(op, read.key)).map(|op| op.value).collect();
        let held: Vec<Value> = part.iter().copied().filter(|element| appends.contains(element)).collect();
        appends.starts_with(&held)
    });
    distinct && of_others && whole && in_order
}

/// The classics of levels.md and of the literature, each with the levels that it violates.
#[test]
fn the_reference_knows_the_classics() {
    use isoscope_history::notation::parse;
    let all = "cut-isolation adya-pl-1 adya-pl-2 read-committed read-atomic causal prefix \
               snapshot-isolation serializable";
    let from = |name: &str| all[all.find(name).unwrap()..].to_owned();
    let but_pl1 = "adya-pl-2 read-committed read-atomic causal prefix snapshot-isolation serializable";
    for (text, violated) in [
        ("T1: w(x,1)  T2: r(x,1)", String::new()),
        ("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)", from("serializable")),
        ("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)", from("snapshot")),
        ("T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)", from("prefix")),
        ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)", from("causal")),
        ("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)", from("read-atomic")),
        ("T1: r(x,0) w(x,1) ; T2: r(x,0)", from("read-atomic")),
        ("T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)", from("read-committed")),
        ("T1: r(x,1) ; T2: w(x,1)", from("read-committed")),
        ("T1: w(x,1)  T2: w(x,2)  T3: r(x,1) r(x,2)", format!("cut-isolation {}", from("read-atomic"))),
        ("T1: w(x,1)  T2: r(x,0) r(x,1) w(x,2) r(x,2)", format!("cut-isolation {}", from("read-atomic"))),
        ("T1: w(x,1) w(x,2)  T3: r(x,1) r(x,2)", but_pl1.to_owned()),
        ("T1: w(x,1) r(x,0)", but_pl1.to_owned()),
        ("T1!: w(x,1)  T2: r(x,1)", but_pl1.to_owned()),
        ("T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)", but_pl1.to_owned()),
        // Unknown outcomes: who is read is present, who is not need not be.
        ("T1?: w(x,1)  T2: r(x,1) ; T3: r(x,0)", from("causal")),
        ("T1?: w(x,1) r(y,7)  T2: r(x,0)", String::new()),
        ("T1?: w(x,1) r(y,7)  T2: r(x,1)", but_pl1.to_owned()),
        ("T1?: w(x,1)  T2: r(x,0) r(x,1)", format!("cut-isolation {}", from("read-atomic"))),
        // Repeated values: one choice of writers is enough.
        ("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(x,1) r(y,2)", String::new()),
        (
            "T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(y,1) r(y,2) r(x,1)",
            format!("cut-isolation {}", from("read-atomic")),
        ),
        // Lists.
        (
            "T1: a(x,1)  T2: a(x,2) r(x,[1 2])  T3: r(x,[]) r(x,[1])",
            format!("cut-isolation {}", from("read-atomic")),
        ),
        ("T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])", from("read-committed")),
        ("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])", from("adya-pl-1")),
        ("T1: a(x,1) r(y,1)  T2: a(x,2)  T3: r(x,[2]) w(y,1)", String::new()),
        ("T1: a(x,1) a(x,2)  T2: r(x,[1])", but_pl1.to_owned()),
        ("T1: a(x,1)  T2: r(x,[1 1])", but_pl1.to_owned()),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", String::new()),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[2])", String::new()),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[2]) ; T4: r(x,[1 2])", all.split_once(' ').unwrap().1.to_owned()),
    ] {
        let history = parse(text).unwrap();
        for level in LEVELS {
            let expected = !violated.split(' ').any(|name| name == level.name());
            assert_eq!(holds(&history, level), expected, "{level} of {text}");
        }
    }
}
