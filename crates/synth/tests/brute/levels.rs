//! The levels, framework by framework.

use isoscope_levels::Framework;

use super::{Pairs, Tiny, Witness, has, has_cycle, is_reflexive_somewhere, pair, pairs_of, paths, then};

/// Whether a witness shows that a level allows a history. None if the level is not known here.
pub(crate) fn allows(name: &str, framework: Framework, tiny: &Tiny, witness: &Witness) -> Option<bool> {
    match framework {
        Framework::CommitOrder => commit_order(name, tiny, pairs_of(&witness.order)),
        Framework::Visibility => visibility(name, tiny, &witness.order, witness.vis),
        Framework::Dependencies => dependencies(name, tiny, &witness.versions),
        Framework::States => states(name, tiny, &witness.order),
        Framework::Transaction => None,
    }
}

fn same() -> Pairs {
    (0..4).fold(0, |found, txn| found | pair(txn, txn))
}

/// Whether t3 reads something from t2 before it reads a key.
fn reads_earlier(tiny: &Tiny, t2: usize, t3: usize, key: usize) -> bool {
    let other = 1 - key;
    let is_first = if tiny.backwards[t3] { other == 1 } else { other == 0 };
    tiny.source[t3][other] == Some(t2) && tiny.source[t3][key].is_some() && is_first
}

/// Biswas and Enea: t3 reads a key from t1, t2 writes it too and is related to t3: then t2 is before t1.
fn forces(tiny: &Tiny, co: Pairs, related: &dyn Fn(usize, usize, usize) -> bool) -> bool {
    for key in 0..2 {
        for t3 in 1..=tiny.txns {
            let Some(t1) = tiny.source[t3][key] else { continue };
            for t2 in (0..=tiny.txns).filter(|&t2| t2 != t1 && tiny.writes[t2][key]) {
                if related(t2, t3, key) && !has(co, t2, t1) {
                    return false;
                }
            }
        }
    }
    true
}

fn commit_order(name: &str, tiny: &Tiny, co: Pairs) -> Option<bool> {
    let (so, wr, rt) = (tiny.so, tiny.wr(None), tiny.rt());
    let direct = so | wr;
    let by = |pairs: Pairs| forces(tiny, co, &|t2, t3, _| has(pairs, t2, t3));
    let up_to = |pairs: Pairs| then(co | same(), pairs);
    let conflict = |t2: usize, t3: usize, _: usize| {
        let share = |t4: usize| (0..2).any(|key| tiny.writes[t3][key] && tiny.writes[t4][key]);
        (0..=tiny.txns).any(|t4| share(t4) && (t2 == t4 || has(co, t2, t4)) && has(co, t4, t3))
    };
    let in_time = rt & !co == 0;
    let si = || by(up_to(direct)) && forces(tiny, co, &conflict);
    // Plume: t3 reads a key from t1, t2 writes it too and is related to t3: then t1 is not before t2, causally or by commit order.
    let pattern = |related: &dyn Fn(usize, usize, usize) -> bool| {
        let mut is_free = true;
        for key in 0..2 {
            for t3 in 1..=tiny.txns {
                let Some(t1) = tiny.source[t3][key] else { continue };
                for t2 in (0..=tiny.txns).filter(|&t2| tiny.writes[t2][key] && related(t2, t3, key)) {
                    is_free &= !has(paths(direct), t1, t2) && !has(co, t1, t2);
                }
            }
        }
        is_free
    };
    let h_i = || pattern(&|t2, t3, key| reads_earlier(tiny, t2, t3, key));
    let k_l = || pattern(&|t2, t3, key| tiny.source[t3][1 - key] == Some(t2));
    let stale = || {
        let mut is_free = true;
        for key in 0..2 {
            for t3 in 1..=tiny.txns {
                let Some(t1) = tiny.source[t3][key] else { continue };
                for t2 in (0..=tiny.txns).filter(|&t2| tiny.writes[t2][key] && has(so, t2, t3)) {
                    is_free &= !has(co, t1, t2);
                }
            }
        }
        is_free
    };
    let allowed = match name {
        "read-committed" => forces(tiny, co, &|t2, t3, key| reads_earlier(tiny, t2, t3, key)),
        "read-atomic" => by(direct),
        "causal" => by(paths(direct)),
        "prefix" => by(up_to(direct)),
        "snapshot-isolation" => si(),
        "serializable" => by(co),
        "serializable-updates" => {
            forces(tiny, co, &|t2, t3, _| has(co, t2, t3) && (tiny.writes[t3][0] || tiny.writes[t3][1]))
        }
        "strict-serializable" => by(co) && in_time,
        "strict-snapshot-isolation" => si() && in_time && by(up_to(rt)),
        "real-time-causal" => by(paths(direct)) && in_time,
        "strict-prefix" => by(up_to(direct)) && in_time && by(up_to(rt)),
        "plume-read-committed" => h_i(),
        "plume-read-atomic-published" => h_i() && k_l(),
        "plume-read-atomic" => h_i() && k_l() && stale(),
        "plume-causal" => h_i() && k_l() && pattern(&|t2, t3, _| has(paths(direct), t2, t3)),
        _ => return None,
    };
    Some(direct & !co == 0 && allowed)
}

fn visibility(name: &str, tiny: &Tiny, order: &[usize], vis: Pairs) -> Option<bool> {
    let ar = pairs_of(order);
    let place = |txn: usize| order.iter().position(|&other| other == txn).map_or(0, |place| place + 1);
    let share = |s: usize, t: usize| (0..2).any(|key| tiny.writes[s][key] && tiny.writes[t][key]);
    let all = || (0..=tiny.txns).flat_map(|s| (0..=tiny.txns).map(move |t| (s, t)));
    // EXT: a read returns what the last visible writer wrote.
    let external = (1..=tiny.txns).all(|txn| {
        (0..2).all(|key| {
            let visible = (0..=tiny.txns).filter(|&s| has(vis, s, txn) && tiny.writes[s][key]);
            tiny.source[txn][key].is_none_or(|writer| visible.max_by_key(|&s| place(s)) == Some(writer))
        })
    });
    let atomic = external && tiny.so & !vis == 0;
    let transitive = then(vis, vis) & !vis == 0;
    let prefix = then(ar, vis) & !vis == 0;
    let no_conflict = all().all(|(s, t)| s == t || !share(s, t) || has(vis, s, t) || has(vis, t, s));
    let total = ar & !vis == 0;
    // The writer directly before a transaction, for each key that it writes.
    let overwritten_are_seen = (1..=tiny.txns).all(|t| {
        (0..2).filter(|&key| tiny.writes[t][key]).all(|key| {
            let before = (0..=tiny.txns).filter(|&s| has(ar, s, t) && tiny.writes[s][key]);
            before.max_by_key(|&s| place(s)).is_none_or(|s| has(vis, s, t))
        })
    });
    let writes = |txn: usize| tiny.writes[txn][0] || tiny.writes[txn][1];
    let updates = all().all(|(s, t)| !(writes(s) && writes(t) && has(ar, s, t)) || has(vis, s, t));
    let (rt_in_ar, rt_in_vis) = (tiny.rt() & !ar == 0, tiny.rt() & !vis == 0);
    let allowed = match name {
        "read-atomic" => true,
        "causal" => transitive,
        "update-atomic" => no_conflict,
        "no-lost-update" => overwritten_are_seen,
        "parallel-snapshot-isolation" => transitive && no_conflict,
        "prefix" => prefix,
        "snapshot-isolation" => prefix && no_conflict,
        "serializable" => total,
        "serializable-updates" => updates,
        "strict-serializable" => total && rt_in_ar,
        "strict-snapshot-isolation" => prefix && no_conflict && rt_in_vis,
        "real-time-causal" => transitive && rt_in_ar,
        "strict-prefix" => prefix && rt_in_vis,
        _ => return None,
    };
    Some(atomic && allowed)
}

fn dependencies(name: &str, tiny: &Tiny, versions: &[Vec<usize>]) -> Option<bool> {
    let (so, wr, rt) = (tiny.so, tiny.wr(None), tiny.rt());
    let mut ww_of = [0; 2];
    let mut rw_of = [0; 2];
    for key in 0..2 {
        ww_of[key] = pairs_of(&versions[key]);
        for reader in 1..=tiny.txns {
            let Some(writer) = tiny.source[reader][key] else { continue };
            for later in (1..=tiny.txns).filter(|&t| t != reader && has(ww_of[key], writer, t)) {
                rw_of[key] |= pair(reader, later);
            }
        }
    }
    let (ww, rw) = (ww_of[0] | ww_of[1], rw_of[0] | rw_of[1]);
    let once = |pairs: Pairs| !is_reflexive_somewhere(then(pairs, rw));
    let maybe = |pairs: Pairs| pairs | then(pairs, rw);
    let misses_what_it_read_earlier = (1..=tiny.txns).any(|t3| {
        (0..=tiny.txns)
            .any(|t2| (0..2).any(|key| reads_earlier(tiny, t2, t3, key) && has(rw_of[key], t3, t2)))
    });
    let pl2 = !has_cycle(wr | ww);
    let writes = |txn: usize| tiny.writes[txn][0] || tiny.writes[txn][1];
    let update_serializable = || {
        (1..=tiny.txns).all(|t| {
            let counts = |s: usize| s == t || writes(s);
            let mut graph = 0;
            for s in (0..=tiny.txns).filter(|&s| counts(s)) {
                for r in (0..=tiny.txns).filter(|&r| counts(r) && has(wr | ww | rw, s, r)) {
                    graph |= pair(s, r);
                }
            }
            !has_cycle(graph)
        })
    };
    Some(match name {
        "plume-cut-isolation" => true,
        "adya-pl-1" => !has_cycle(ww),
        "adya-pl-2" => pl2,
        "strong-session-read-uncommitted" => !has_cycle(so | ww),
        "strong-read-uncommitted" => !has_cycle(so | rt | ww),
        "strong-session-read-committed" => !has_cycle(so | wr | ww),
        "strong-read-committed" => !has_cycle(so | rt | wr | ww),
        "cursor-stability" => pl2 && (0..2).all(|key| !is_reflexive_somewhere(then(rw_of[key], ww_of[key]))),
        "monotonic-atomic-view" => pl2 && !misses_what_it_read_earlier,
        "read-committed" => !has_cycle(so | wr | ww) && !misses_what_it_read_earlier,
        "consistent-view" => pl2 && once(paths(wr | ww)),
        "adya-pl-2.99" | "adya-pl-3" => !has_cycle(wr | ww | rw),
        "update-serializable" => update_serializable(),
        "adya-pl-si" => !has_cycle(maybe(wr | ww)),
        "read-atomic" => !has_cycle(so | wr | ww) && once(so | wr),
        "update-atomic" => !has_cycle(so | wr | ww) && once(so | wr | ww),
        "causal" => !has_cycle(so | wr | ww) && once(paths(so | wr)),
        "real-time-causal" => !has_cycle(so | rt | wr | ww) && once(paths(so | wr)),
        "prefix" => !has_cycle(maybe(so | wr) | ww),
        "strict-prefix" => !has_cycle(maybe(so | rt | wr) | ww),
        "parallel-snapshot-isolation" => !has_cycle(so | wr | ww) && once(paths(so | wr | ww)),
        "snapshot-isolation" => !has_cycle(maybe(so | wr | ww)),
        "strict-snapshot-isolation" => !has_cycle(maybe(so | rt | wr | ww)),
        "serializable" => !has_cycle(so | wr | ww | rw),
        "strict-serializable" => !has_cycle(so | rt | wr | ww | rw),
        _ => return None,
    })
}

fn states(name: &str, tiny: &Tiny, order: &[usize]) -> Option<bool> {
    let place = |txn: usize| order.iter().position(|&other| other == txn).map_or(0, |place| place + 1);
    let ordered = |pairs: Pairs| pairs & !pairs_of(order) == 0;
    // The database after the first transactions: who wrote each key last.
    let mut after = vec![[0; 2]];
    for &txn in order {
        let mut next = after[after.len() - 1];
        (0..2).filter(|&key| tiny.writes[txn][key]).for_each(|key| next[key] = txn);
        after.push(next);
    }
    let reads = |txn: usize| (0..2).filter_map(move |key| Some((key, tiny.source[txn][key]?)));
    let is_complete = |state: usize, txn: usize| reads(txn).all(|(key, writer)| after[state][key] == writer);
    let everyone = || 1..=tiny.txns;
    let serial = || everyone().all(|txn| is_complete(place(txn) - 1, txn));
    let snapshot = |before: Pairs| {
        everyone().all(|txn| {
            (0..place(txn)).any(|state| {
                let shares =
                    |other: usize| (0..2).any(|key| tiny.writes[other][key] && tiny.writes[txn][key]);
                is_complete(state, txn)
                    && everyone().all(|other| !has(before, other, txn) || place(other) <= state)
                    && order[state..place(txn) - 1].iter().all(|&other| !shares(other))
            })
        })
    };
    Some(match name {
        "serializable" => ordered(tiny.so) && serial(),
        "adya-pl-3" => serial(),
        "strict-serializable" => ordered(tiny.so | tiny.rt()) && serial(),
        "snapshot-isolation" => snapshot(tiny.so),
        "adya-pl-si" => snapshot(0),
        "strict-snapshot-isolation" => snapshot(tiny.so | tiny.rt()),
        "read-committed" => everyone().all(|txn| {
            reads(txn).all(|(key, writer)| (0..place(txn)).any(|state| after[state][key] == writer))
        }),
        "read-atomic" => {
            let seen = tiny.so | tiny.wr(None);
            let is_older = |key: usize, writer: usize, other: usize| {
                tiny.writes[other][key] && place(other) > place(writer)
            };
            let is_atomic = |txn: usize| {
                let sees = |&other: &usize| has(seen, other, txn);
                reads(txn)
                    .all(|(key, writer)| !everyone().filter(sees).any(|other| is_older(key, writer, other)))
            };
            ordered(seen) && everyone().all(is_atomic)
        }
        _ => return None,
    })
}
