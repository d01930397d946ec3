//! A witness that a level allows a known history.
//!
//! Small histories, most of them candidates of a search, get an order whose transitivity is clauses. Larger ones get one that the
//! theory of the solver keeps, and their paths are any transitive relation where that suffices (`ordered.rs`).

use std::rc::Rc;

use isoscope_solve::{Formula, Outcome};

use crate::evaluate::{View, Witness};
use crate::logic::{Ended, Limited, Plain};
use crate::matrix::{self, Matrix};
use crate::ordered::{Ordered, Place};
use crate::plan::Plan;
use crate::space::Prover;

/// The most transactions, with the initial one, of a small history.
const SMALL: usize = 12;

/// A witness that a level allows a history.
pub(crate) fn find_witness(
    plan: &Plan,
    view: &View<bool>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Witness<bool>>, Ended> {
    if view.txns > SMALL { in_large(plan, view, stop) } else { in_small(plan, view, stop) }
}

/// By transitivity as clauses.
fn in_small(
    plan: &Plan,
    view: &View<bool>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Witness<bool>>, Ended> {
    let mut prover = Prover::new();
    let Some(mut witness) = witness_of(plan, &mut prover, view) else { return Ok(None) };
    let free = witness.clone();
    let symbolic = symbolic(view);
    let mut limited = Limited::new(&mut prover.formulas, stop);
    let truth = plan.allows(&mut limited, &symbolic, &mut witness);
    if let Some(ended) = limited.ended {
        return Err(ended);
    }
    prover.require_within(truth, stop)?;
    match prover.solve(stop) {
        Outcome::Unsat => Ok(None),
        Outcome::Stopped => Err(Ended::Stopped),
        Outcome::Sat => {
            let lower = |matrix: &Rc<Matrix<Formula>>| Rc::new(matrix.map(|cell| prover.holds(cell)));
            let orders = free.orders.iter().map(lower).collect();
            Ok(Some(Witness { orders, vis: free.vis.as_ref().map(lower) }))
        }
    }
}

/// A witness for a history whose parts are open, except for what every witness has. None if there is no witness.
fn witness_of(plan: &Plan, prover: &mut Prover, view: &View<bool>) -> Option<Witness<Formula>> {
    if plan.order_per_key {
        // Only the order of the writers of a key matters.
        let writes = |txn: usize, key: usize| view.writes[txn * view.keys + key];
        let writers = |key: usize| -> Vec<usize> { (1..view.txns).filter(|&txn| writes(txn, key)).collect() };
        let orders = (0..view.keys.max(1)).map(|key| {
            let writers = if view.keys == 0 { Vec::new() } else { writers(key) };
            prover.order_of_some(view.txns, &writers)
        });
        return Some(Witness { orders: orders.collect(), vis: None });
    }
    let known = known_order(plan, view)?;
    let vis = plan.has_free_visibility().then(|| prover.relation(view.txns));
    Some(Witness { orders: vec![prover.order_containing(&known)], vis })
}

/// What every order of a witness has. None if this is no order.
fn known_order(plan: &Plan, view: &View<bool>) -> Option<Matrix<bool>> {
    let mut known = Matrix::new(view.txns, |from, to| from == 0 && to > 0);
    if plan.orders_sessions {
        known = matrix::union(&mut Plain, view.txns, &[&known, &view.so]);
    }
    if plan.orders_reads {
        let reads: Vec<&Matrix<bool>> = view.wr.iter().map(|wr| &**wr).collect();
        known = matrix::union(&mut Plain, view.txns, &[&[&known], &reads[..]].concat());
    }
    let known = matrix::closure(&mut Plain, &known);
    let is_cyclic = (0..view.txns).any(|txn| known[(txn, txn)]);
    (!is_cyclic).then_some(known)
}

/// By the theory of orders.
fn in_large(
    plan: &Plan,
    view: &View<bool>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Witness<bool>>, Ended> {
    let Some(places) = places(plan, view) else { return Ok(None) };
    let count = places.len();
    let mut logic = Ordered::new(places, view.txns, plan.acyclic(), stop);
    let vis = plan.has_free_visibility().then(|| logic.relation());
    let orders = (0..count).map(|place| logic.order(place)).collect();
    let mut witness = Witness { orders, vis: vis.clone() };
    let truth = plan.allows(&mut logic, &symbolic(view), &mut witness);
    if !logic.solve(truth)? {
        return Ok(None);
    }
    let orders = (0..count).map(|place| logic.found_order(place)).collect();
    let vis = vis.map(|vis| Rc::new(vis.map(|cell| logic.holds(cell))));
    Ok(Some(Witness { orders, vis }))
}

/// The orders of a witness with what is known of them. None if there is no witness.
fn places(plan: &Plan, view: &View<bool>) -> Option<Vec<Place>> {
    if !plan.order_per_key {
        return Some(vec![Place::containing(known_order(plan, view)?)]);
    }
    // Most writers of a key are in the order of sessions and reads.
    let reads: Vec<&Matrix<bool>> = view.wr.iter().map(|wr| &**wr).collect();
    let likely = matrix::union(&mut Plain, view.txns, &[&[&*view.so], &reads[..]].concat());
    let likely = matrix::closure(&mut Plain, &likely);
    let is_writer = |txn: usize, key: usize| view.writes.get(txn * view.keys + key) == Some(&true);
    let writers = |key: usize| (1..view.txns).filter(|&txn| view.keys > 0 && is_writer(txn, key)).collect();
    Some((0..view.keys.max(1)).map(|key| Place::of_some(writers(key), &likely)).collect())
}

/// A history whose facts are constant formulas.
fn symbolic(view: &View<bool>) -> View<Formula> {
    let lift = |matrix: &Rc<Matrix<bool>>| Rc::new(matrix.map(Formula::constant));
    View {
        txns: view.txns,
        keys: view.keys,
        is_known: true,
        writes: view.writes.iter().map(|&writes| Formula::constant(writes)).collect(),
        wr: view.wr.iter().map(lift).collect(),
        so: lift(&view.so),
        rt: lift(&view.rt),
        po: view.po.iter().map(lift).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

    use isoscope_history::notation;
    use isoscope_levels::language::Library;

    use super::*;
    use crate::history::SmallHistory;

    /// A history of up to 7 transactions, with times and up to 3 keys. Every read has a single writer.
    fn random(seed: u64) -> String {
        let mut state = seed;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let txns = 2 + next(6);
        let (mut text, mut written) = (String::new(), [0; 3]);
        let keys = 1 + next(3) as usize;
        let most = 1 + next(4);
        for txn in 1..=txns {
            let joined = if txn == 1 { "" } else { ["  ", " ; "][usize::from(next(3) == 0)] };
            text += &format!("{joined}T{txn}@{}-{}:", 3 * txn + next(3), 3 * txn + 3 + next(6));
            for key in 0..keys {
                let name = ["x", "y", "z"][key];
                if next(2) == 0 {
                    text += &format!(" r({name},{})", next(most));
                }
                if next(2) == 0 {
                    written[key] += 1;
                    text += &format!(" w({name},{})", written[key]);
                }
            }
        }
        text
    }

    /// Definitions in which paths and acyclic relations stand on either side, beside other operators.
    const MORE: &str = "
        level a in dependency-graph { irreflexive (so | wr | ww)+ ; rw }
        level b in dependency-graph { acyclic (so | wr | ww) axiom two: acyclic (wr | rw) axiom three: forall x: Key. acyclic (so | ww[x] | rw) }
        level c in dependency-graph { !(acyclic (wr | rw)) | irreflexive (ww | rw)+ }
        level d in dependency-graph { forall s, t: Txn. (ww | rw)+(s, t) => (so | wr | ww | rw)+(t, s) | so(s, t) }
        level e in dependency-graph { (ww | rw)+ - wr in (so | rw)+ }
        level f in dependency-graph { axiom one: acyclic (wr | ww) axiom two: (forall s, t: Txn. (wr | rw)+(s, t) <=> (so | ww)*(s, t)) | empty (rw+ & so) }
        level g in visibility extends causal { axiom more: acyclic (vis | so) axiom never: forall t: Txn. !(vis | wr)+(t, t) }
        level h in visibility { axiom seen: wr in vis axiom free: forall s, t: Txn. vis(s, t) | (vis ; vis)+(s, t) | ar(t, s) | s = t }
        level i in states { exists s: Txn. forall t: Txn. s = t | (ex - so | wr)+(t, s) }
        level j in commit-order { forall s, t: Txn. (co - so)+(s, t) => (so | wr)*(s, t) | !writes(s) | !writes(t) }";

    /// The two ways to find a witness agree, and what they find is a witness.
    #[test]
    fn small_and_large_agree() {
        let mut library = Library::shipped().clone();
        library.add(MORE).unwrap();
        let plans: Vec<(String, Plan)> = library
            .definitions()
            .iter()
            .map(|one| (format!("{}@{}", one.name, one.framework.keyword()), Plan::new(one)))
            .collect();
        let mut answers = vec![[0; 2]; plans.len()];
        for seed in 0..300 {
            let text = random(seed);
            let Ok(history) = SmallHistory::of(&notation::parse(&text).unwrap()) else { continue };
            let view = history.view();
            for ((name, plan), answers) in plans.iter().zip(&mut answers) {
                let small = in_small(plan, &view, &mut || false).unwrap();
                let large = in_large(plan, &view, &mut || false).unwrap();
                assert_eq!(small.is_some(), large.is_some(), "{name}: {text}");
                answers[usize::from(large.is_some())] += 1;
                for mut found in [small, large].into_iter().flatten() {
                    assert!(plan.allows(&mut Plain, &view, &mut found), "{name}: {text}");
                }
            }
        }
        let all = |place: usize| answers.iter().map(|answers: &[i32; 2]| answers[place]).sum::<i32>();
        assert!(all(0) > 1_000 && all(1) > 1_000, "{} and {}", all(0), all(1));
    }
}
