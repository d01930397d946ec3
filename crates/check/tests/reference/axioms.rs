//! The brute-force reference: the definitions of docs/levels.md and docs/finer-levels.md, transcribed.
//!
//! A history satisfies a level if *some* world and *some* total order `co` of its transactions satisfy the level's axiom. A
//! world settles what the history leaves open. All worlds and all orders are tried. The code is simple on purpose, and shares nothing
//! with the crate under test. `formulations.rs` compares it with other definitions of the same levels.
//!
//! | file | subject |
//! |---|---|
//! | `presence.rs` | which transactions took effect |
//! | `reads.rs` | the writers that a read may be from |
//! | `clock.rs` | real time |
//! | `world.rs` | worlds and total orders |
//! | `commit_orders.rs` | levels with a commit order |
//! | `phenomena.rs` | levels that forbid a phenomenon |
//! | `cut.rs` | cut isolation, which needs no order |
//! | `pl1.rs` | the forms of PL-1: an order of the appends to each list |
//! | `snapshots.rs` | explanations with snapshots |
//!
//! Limits: the reference never sees more than about seven transactions or three keys (see `draw.rs` and `exhaustive.rs` for what is
//! drawn and enumerated), no limits of time or memory, and no keys that are a register and a list at once.

mod clock;
mod commit_orders;
mod cut;
mod phenomena;
mod pl1;
mod presence;
mod reads;
mod snapshots;
mod tests;
mod world;

use isoscope_history::{History, Op, OpKind, Txn, Value};
use isoscope_levels::Level;

pub(crate) use clock::is_before_in_real_time;
pub(crate) use commit_orders::{sees_all_before, sees_snapshot};
pub(crate) use presence::present;
pub(crate) use reads::open_reads;
pub(crate) use snapshots::accepts_snapshots;
pub(crate) use world::world_count;

use reads::Read;
use world::{Rules, World};

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

fn is_pl1(level: Level) -> bool {
    matches!(level, Level::AdyaPl1 | Level::StrongSessionPl1 | Level::StrongPl1)
}

/// Whether a form of PL-1 puts `t` before `s`, whatever they write.
fn pl1_orders(history: &History, level: Level, t: Txn, s: Txn) -> bool {
    let in_session = t < s && history.session_of(t) == history.session_of(s);
    let in_time = level == Level::StrongPl1 && is_before_in_real_time(history, t, s);
    level != Level::AdyaPl1 && (in_session || in_time)
}

/// Whether an element is appended twice to one list, or is also an initial element.
pub(crate) fn elements_repeat(history: &History) -> bool {
    history.keys().any(|key| {
        let appends = history.txns().flat_map(|txn| history.ops_of(txn));
        let appends = appends.filter(|op| op.key == key && op.kind == OpKind::Append).map(|op| op.value);
        let mut elements: Vec<Value> = history.table().elements(history.initial(key)).to_vec();
        elements.extend(appends);
        (1..elements.len()).any(|i| elements[..i].contains(&elements[i]))
    })
}
