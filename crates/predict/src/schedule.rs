//! A greedy serial order of the included transactions.
//!
//! At each step some session has a next transaction whose reads find their writers and whose writes take nothing from a read that is still
//! to come. The one that is first in the observed order runs, so that the order deviates from it only where it must. The schedule gives up
//! where no session can go on.

use rustc_hash::FxHashMap;

use crate::candidate::Form;
use crate::problem::{INITIAL, Problem};

/// A serial order, as numbers; `late` says whether boundary transactions wait for full ones, or run as soon as they can.
pub(crate) fn schedule(problem: &Problem<'_>, forms: &[Form], late: bool) -> Option<Vec<u32>> {
    // By session, its forms; forms are in observed order, in which sessions are ascending.
    let mut sessions: Vec<Vec<usize>> = vec![Vec::new(); problem.sessions.len()];
    let mut readers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for (at, form) in forms.iter().enumerate() {
        sessions[problem.txn(form.txn).session as usize].push(at);
        for &read in &form.reads {
            *readers.entry(read).or_default() += 1;
        }
    }
    let mut current: FxHashMap<u32, u32> = FxHashMap::default();
    let mut next = vec![0; sessions.len()];
    let mut order = Vec::with_capacity(forms.len());
    while order.len() < forms.len() {
        let heads = sessions.iter().zip(&next).enumerate();
        let heads = heads.filter_map(|(session, (own, &next))| Some((session, &forms[*own.get(next)?])));
        let can_run = |form: &Form| {
            let now = |key: u32| current.get(&key).copied().unwrap_or(INITIAL);
            let taken = |&key: &u32| {
                let version = (key, now(key));
                let own = form.reads.iter().filter(|&&read| read == version).count() as u32;
                readers.get(&version).is_some_and(|&count| count > own)
            };
            form.reads.iter().all(|&(key, source)| now(key) == source) && !form.writes.iter().any(taken)
        };
        let first = heads
            .filter(|(_, form)| can_run(form))
            .min_by_key(|(_, form)| (form.is_boundary == late, form.txn));
        let (session, form) = first?;
        for read in &form.reads {
            readers.entry(*read).and_modify(|count| *count -= 1);
        }
        for &key in &form.writes {
            current.insert(key, form.txn);
        }
        next[session] += 1;
        order.push(form.txn);
    }
    Some(order)
}
