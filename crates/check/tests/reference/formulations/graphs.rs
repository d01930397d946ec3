//! Levels by dependency graphs, and by the event graph that the engines use.
//!
//! docs/levels.md, Dependency graphs and The event graph, and docs/finer-levels.md. Every writer of every read and every version order of
//! every key is tried. The event graph takes the same dependencies, and must agree graph by graph, not only on whether there is one.
//!
//! Limits: those of `case.rs`; sixteen levels. PL-FCV is compared for up to three transactions.

use isoscope_history::History;
use isoscope_levels::Level;

use super::case::{Case, Inside};
use super::relation::Relation;

/// The dependencies of a choice of writers and version orders.
#[derive(Clone, Copy)]
pub(super) struct Graph {
    pub(super) n: usize,
    pub(super) so: Relation,
    pub(super) rt: Relation,
    pub(super) wr: Relation,
    pub(super) ww: Relation,
    pub(super) rw: Relation,
}

/// Calls `visit` with every graph of a case.
pub(super) fn for_each_graph(case: &Case, visit: &mut dyn FnMut(&Graph)) {
    let reads: Vec<(usize, usize, Vec<usize>)> = (0..case.n)
        .flat_map(|t| case.reads[t].iter().map(move |&(key, value)| (t, key, value)))
        .map(|(t, key, value)| {
            let wrote = |&s: &usize| s != t && case.leaves[s][key] == Some(value);
            (t, key, (0..case.n).filter(wrote).collect())
        })
        .collect();
    let orders: Vec<Vec<Vec<usize>>> = (0..case.leaves[0].len())
        .map(|key| permutations(&(1..case.n).filter(|&t| case.writes(t, key)).collect::<Vec<_>>()))
        .collect();
    for sources in choices(&reads.iter().map(|(_, _, from)| from.len()).collect::<Vec<_>>()) {
        for versions in choices(&orders.iter().map(Vec::len).collect::<Vec<_>>()) {
            let (mut wr, mut ww, mut rw) = (Relation::EMPTY, Relation::EMPTY, Relation::EMPTY);
            let order = |key: usize| std::iter::once(0).chain(orders[key][versions[key]].iter().copied());
            for key in 0..orders.len() {
                for (i, t) in order(key).enumerate() {
                    order(key).skip(i + 1).for_each(|s| ww.add(t, s));
                }
            }
            for ((t, key, from), &chosen) in reads.iter().zip(&sources) {
                wr.add(from[chosen], *t);
                let overwrote = order(*key).skip_while(|&s| s != from[chosen]).skip(1);
                overwrote.filter(|s| s != t).for_each(|s| rw.add(*t, s));
            }
            visit(&Graph { n: case.n, so: case.so, rt: case.rt, wr, ww, rw });
        }
    }
}

/// How many graphs `for_each_graph` visits.
pub(super) fn graph_count(case: &Case) -> usize {
    let writers = |key: usize| (1..case.n).filter(|&t| case.writes(t, key)).count();
    let orders: usize = (0..case.leaves[0].len()).map(|key| (1..=writers(key)).product::<usize>()).product();
    let candidates = |t: usize, key: usize, value| {
        (0..case.n).filter(|&s| s != t && case.leaves[s][key] == Some(value)).count()
    };
    let reads = (0..case.n).flat_map(|t| case.reads[t].iter().map(move |&(key, value)| (t, key, value)));
    reads.fold(orders, |product, (t, key, value)| product.saturating_mul(candidates(t, key, value)))
}

/// All ways to choose a number below each of some bounds.
pub(super) fn choices(bounds: &[usize]) -> Vec<Vec<usize>> {
    bounds.iter().fold(vec![Vec::new()], |all, &bound| {
        let extend = |chosen: &Vec<usize>, i| chosen.iter().copied().chain([i]).collect();
        all.iter().flat_map(|chosen| (0..bound).map(move |i| extend(chosen, i))).collect()
    })
}

pub(super) fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let starting_with = |i: usize| {
        let rest: Vec<usize> = items.iter().copied().filter(|&item| item != items[i]).collect();
        permutations(&rest).into_iter().map(move |rest| [vec![items[i]], rest].concat())
    };
    (0..items.len()).flat_map(starting_with).collect()
}

impl Graph {
    /// Framework 3: the condition of a level.
    pub(super) fn satisfies(&self, level: Level) -> bool {
        let Graph { so, rt, wr, ww, rw, .. } = *self;
        match level {
            Level::AdyaPl2 => wr.or(ww).is_acyclic(),
            Level::StrongSessionPl2 => so.or(wr).or(ww).is_acyclic(),
            Level::StrongPl2 => so.or(rt).or(wr).or(ww).is_acyclic(),
            Level::AdyaPl299 | Level::AdyaPl3 => wr.or(ww).or(rw).is_acyclic(),
            Level::AdyaPlSi => wr.or(ww).then(rw.maybe()).is_acyclic(),
            Level::ConsistentView => wr.or(ww).plus().then(rw.maybe()).is_irreflexive(),
            Level::UpdateAtomic => {
                so.or(wr).or(ww).is_acyclic() && so.or(wr).or(ww).then(rw).is_irreflexive()
            }
            Level::ReadAtomic => so.or(wr).or(ww).is_acyclic() && so.or(wr).then(rw).is_irreflexive(),
            Level::Causal => so.or(wr).or(ww).is_acyclic() && so.or(wr).plus().then(rw).is_irreflexive(),
            Level::ParallelSnapshot => so.or(wr).or(ww).plus().then(rw.maybe()).is_irreflexive(),
            Level::Prefix => so.or(wr).then(rw.maybe()).or(ww).is_acyclic(),
            Level::Snapshot => so.or(wr).or(ww).then(rw.maybe()).is_acyclic(),
            Level::StrictSnapshot => so.or(rt).or(wr).or(ww).then(rw.maybe()).is_acyclic(),
            Level::Serializable => so.or(wr).or(ww).or(rw).is_acyclic(),
            Level::StrictSerializable => so.or(rt).or(wr).or(ww).or(rw).is_acyclic(),
            _ => panic!("{level} has no such condition"),
        }
    }

    /// Adya's PL-FCV: PL-2, and with some order of begins and commits no cycle of `wr`, `ww` and *start* edges and exactly one
    /// `rw`. A start edge leads from `t` to `s` when `t` commits before `s` begins; the initial transaction has
    /// committed before all begin.
    pub(super) fn is_forward_consistent(&self) -> bool {
        let Graph { n, wr, ww, rw, .. } = *self;
        if !wr.or(ww).is_acyclic() {
            return false;
        }
        // Begin of `t` is event `2 t`, commit `2 t + 1`.
        let mut orders: Vec<Vec<usize>> = vec![vec![0, 1]];
        for _ in 2..2 * n {
            orders = orders
                .iter()
                .flat_map(|order| {
                    let next = (2..2 * n).filter(|event| !order.contains(event));
                    let begun = next.filter(|&event| event % 2 == 0 || order.contains(&(event - 1)));
                    begun.map(move |event| [&order[..], &[event]].concat()).collect::<Vec<_>>()
                })
                .collect();
        }
        orders.iter().any(|order| {
            let place = |event: usize| order.iter().position(|&other| other == event);
            let mut starts = Relation::EMPTY;
            for (t, s) in (0..n).flat_map(|t| (0..n).map(move |s| (t, s))) {
                if t != s && place(2 * t + 1) < place(2 * s) {
                    starts.add(t, s);
                }
            }
            wr.or(ww).or(starts).plus().then(rw).is_irreflexive()
        })
    }

    /// The event graph of a level, where it has one: begin `B(t)` is number `t` and commit `C(t)` number `n + t`,
    /// and at serializable they are one.
    pub(super) fn events(&self, level: Level) -> Option<Relation> {
        let Graph { n, so, rt, wr, ww, rw } = *self;
        let strict = matches!(level, Level::StrictSnapshot | Level::StrictSerializable);
        let from_commit_to_begin = match level {
            Level::AdyaPl299 | Level::AdyaPl3 | Level::AdyaPlSi => wr,
            _ if strict => so.or(wr).or(rt),
            _ => so.or(wr),
        };
        let (begin, commit) = match level {
            Level::Prefix | Level::AdyaPlSi | Level::Snapshot | Level::StrictSnapshot => (0, n),
            Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable => (0, 0),
            _ => return None,
        };
        let versions_end_at = if level == Level::Prefix { commit } else { begin };
        let mut events = Relation::EMPTY;
        for t in 0..n {
            if commit != begin {
                events.add(begin + t, commit + t);
            }
            for s in 0..n {
                if from_commit_to_begin.has(t, s) {
                    events.add(commit + t, begin + s);
                }
                if ww.has(t, s) {
                    events.add(commit + t, versions_end_at + s);
                }
                if rw.has(t, s) {
                    events.add(begin + t, commit + s);
                }
            }
        }
        Some(events)
    }
}

/// The levels with a condition in Framework 3.
pub(super) const CONDITIONS: [Level; 16] = [
    Level::AdyaPl2,
    Level::StrongSessionPl2,
    Level::StrongPl2,
    Level::AdyaPl299,
    Level::AdyaPl3,
    Level::AdyaPlSi,
    Level::ConsistentView,
    Level::UpdateAtomic,
    Level::ReadAtomic,
    Level::Causal,
    Level::ParallelSnapshot,
    Level::Prefix,
    Level::Snapshot,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
];

/// Of each of [`CONDITIONS`], whether some graph satisfies it; an error when an event graph disagrees.
pub(super) fn has_graphs(history: &History) -> Result<[bool; CONDITIONS.len()], String> {
    let mut satisfied = [false; CONDITIONS.len()];
    let mut complaint = None;
    for inside in [Inside::LastWrite, Inside::LastAccess] {
        // Adya's levels allow what INT forbids: two reads of one key that differ.
        let is_asked = |level: Level| level.implies(Level::ReadAtomic) == (inside == Inside::LastAccess);
        for case in Case::all(history, inside) {
            for_each_graph(&case, &mut |graph| {
                for (level, found) in CONDITIONS.into_iter().zip(&mut satisfied) {
                    if is_asked(level) {
                        let holds = graph.satisfies(level);
                        *found |= holds;
                        if graph.events(level).is_some_and(|events| events.is_acyclic() != holds) {
                            complaint = Some(format!("{level}: the event graph says {}", !holds));
                        }
                    }
                }
                let view = graph.satisfies(Level::ConsistentView);
                if inside == Inside::LastWrite && graph.n <= 4 && graph.is_forward_consistent() != view {
                    complaint = Some(format!("forward consistent view is {}", !view));
                }
            });
        }
    }
    complaint.map_or(Ok(satisfied), Err)
}
