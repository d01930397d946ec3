//! The axioms of the levels over all total orders of an execution.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on should not")]

/// The levels, in the order of the verdicts.
pub const LEVELS: [&str; 6] = [
    "read-committed",
    "read-atomic",
    "causal",
    "prefix",
    "parallel-snapshot-isolation",
    "snapshot-isolation",
];

/// A transaction of an execution. The transaction 0 is the initial state.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    pub session: usize,
    /// External reads in program order: key and writer.
    pub reads: Vec<(usize, usize)>,
    pub writes: Vec<usize>,
    /// What it may write: with a strict boundary, also what the cut left out.
    pub may_write: Vec<usize>,
}

/// Adds the levels that an execution satisfies if it violates the target.
pub fn judge(execution: &[Option<Txn>], target: usize, found: &mut [bool; 6]) {
    let txns: Vec<usize> = (0..execution.len()).filter(|&txn| execution[txn].is_some()).collect();
    let renumber = |txn: usize| txns.iter().position(|&other| other == txn).unwrap();
    let txns: Vec<Txn> = txns
        .iter()
        .map(|&txn| {
            let mut txn = execution[txn].clone().unwrap();
            txn.reads.iter_mut().for_each(|read| read.1 = renumber(read.1));
            txn
        })
        .collect();
    let before = before(&txns);
    let mut order = vec![0];
    // A may-write is not in the predicted history, so it does not count against the target.
    let actual: Vec<Txn> =
        txns.iter().map(|txn| Txn { may_write: txn.writes.clone(), ..txn.clone() }).collect();
    if any_order(&before, &mut order, &mut |order| holds(&actual, &before, order, target)) {
        return;
    }
    for (level, found) in found.iter_mut().enumerate().filter(|(_, found)| !**found) {
        let mut order = vec![0];
        *found = any_order(&before, &mut order, &mut |order| holds(&txns, &before, order, level));
    }
}

/// so | wr.
fn before(txns: &[Txn]) -> Vec<Vec<bool>> {
    let count = txns.len();
    let mut before = vec![vec![false; count]; count];
    for t in 1..count {
        before[0][t] = true;
        for s in 1..t {
            before[s][t] |= txns[s].session == txns[t].session;
        }
        for &(_, source) in &txns[t].reads {
            before[source][t] = true;
        }
    }
    before
}

/// Whether some total order that contains so | wr passes.
fn any_order(before: &[Vec<bool>], order: &mut Vec<usize>, passes: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    if order.len() == before.len() {
        return passes(order);
    }
    for next in 0..before.len() {
        let is_free =
            !order.contains(&next) && (0..before.len()).all(|t| !before[t][next] || order.contains(&t));
        if is_free {
            order.push(next);
            if any_order(before, order, passes) {
                return true;
            }
            order.pop();
        }
    }
    false
}

/// Whether an order satisfies the axiom of a level; 6 is serializable.
fn holds(txns: &[Txn], before: &[Vec<bool>], order: &[usize], level: usize) -> bool {
    let count = txns.len();
    let mut place = vec![0; count];
    for (at, &txn) in order.iter().enumerate() {
        place[txn] = at;
    }
    let co = |a: usize, b: usize| place[a] < place[b];
    if level == 4 {
        return holds_parallel(txns, before, &co);
    }
    let causal = closure(before);
    // What t must have seen when it does its `at`-th read.
    let phi = |other: usize, t: usize, at: usize| match level {
        0 => txns[t].reads[..at].iter().any(|&(_, source)| source == other),
        1 => before[other][t],
        2 => causal[other][t],
        3 => sees_prefix(before, &co, other, t),
        5 => {
            sees_prefix(before, &co, other, t)
                || (0..count).any(|other4| {
                    let both = txns[t].may_write.iter().any(|key| txns[other4].may_write.contains(key));
                    both && other4 != t && co(other4, t) && (other == other4 || co(other, other4))
                })
        }
        _ => co(other, t),
    };
    for t in 0..count {
        for (at, &(key, source)) in txns[t].reads.iter().enumerate() {
            for other in (0..count).filter(|&other| other != source && other != t) {
                if txns[other].writes.contains(&key) && phi(other, t, at) && !co(other, source) {
                    return false;
                }
            }
        }
    }
    true
}

/// co* ; (so | wr).
fn sees_prefix(before: &[Vec<bool>], co: &dyn Fn(usize, usize) -> bool, other: usize, t: usize) -> bool {
    (0..before.len()).any(|mid| before[mid][t] && (mid == other || co(other, mid)))
}

/// Parallel snapshot isolation: irreflexive((so | wr | ww)+ ; rw?), with the order of writers from the total order.
fn holds_parallel(txns: &[Txn], before: &[Vec<bool>], co: &dyn Fn(usize, usize) -> bool) -> bool {
    let count = txns.len();
    let mut depends = before.to_vec();
    for a in 0..count {
        for b in 0..count {
            let both = txns[a].may_write.iter().any(|key| txns[b].may_write.contains(key));
            depends[a][b] |= a != b && both && co(a, b);
        }
    }
    let depends = closure(&depends);
    for t in 0..count {
        for &(key, source) in &txns[t].reads {
            for other in (0..count).filter(|&other| other != t && other != source) {
                if txns[other].writes.contains(&key) && co(source, other) && depends[other][t] {
                    return false;
                }
            }
        }
    }
    true
}

fn closure(relation: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let mut closure = relation.to_vec();
    for mid in 0..closure.len() {
        for from in 0..closure.len() {
            if closure[from][mid] {
                let further = closure[mid].clone();
                for (reached, further) in closure[from].iter_mut().zip(further) {
                    *reached |= further;
                }
            }
        }
    }
    closure
}
