//! What shows that a level allows a small history: a witness in words of its framework.
//!
//! [`satisfies`] evaluates a definition for a given history and witness, axiom by axiom. It uses none of the reductions of
//! `plan.rs`, so that the tests can compare the two.

use std::rc::Rc;

use isoscope_levels::Framework;
use isoscope_levels::language::Definition;

use crate::compiled::Compiled;
use crate::evaluate::{Evaluator, View, Witness};
use crate::history::{SmallHistory, key_name};
use crate::logic::Plain;
use crate::matrix::{Matrix, pairs, union};
use crate::plan::Plan;
use crate::witness::find_witness;

/// Whether a level allows a history, and what shows it. None if the search was stopped, or needs too much memory.
pub fn allows(
    definition: &Definition,
    history: &SmallHistory,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Option<Evidence>> {
    let plan = Plan::new(definition);
    let view = history.view();
    let witness = find_witness(&plan, &view, stop).ok()?;
    Some(witness.map(|mut witness| {
        plan.complete(&mut Plain, &view, &mut witness);
        Evidence::new(&plan, history, &witness)
    }))
}

/// What shows that a level allows a history, in words of its framework. Transactions have the numbers of the one-line notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The framework.
    pub framework: Framework,
    /// The order of all transactions; empty for dependency graphs.
    pub order: Vec<usize>,
    /// The pairs of visibility, without the initial transaction: the second transaction sees the first.
    pub visible: Vec<(usize, usize)>,
    /// The transactions that see the initial one; empty without visibility.
    pub sees_initial: Vec<usize>,
    /// For dependency graphs: each key that is written more than once, and its writers in their order.
    pub versions: Vec<(String, Vec<usize>)>,
}

impl Evidence {
    fn new(plan: &Plan, history: &SmallHistory, witness: &Witness<bool>) -> Evidence {
        let numbers = history.numbers();
        let sorted = |order: &Matrix<bool>| {
            let mut txns: Vec<usize> = (1..order.size()).collect();
            txns.sort_by_key(|&txn| (0..order.size()).filter(|&other| order[(other, txn)]).count());
            txns
        };
        let named = |txns: Vec<usize>| -> Vec<usize> { txns.into_iter().map(|txn| numbers[txn]).collect() };
        let is_graph = plan.framework == Framework::Dependencies;
        let versions = (0..history.keys).filter(|_| is_graph).map(|key| {
            let writers = sorted(witness.order_of(key)).into_iter().filter(|&txn| history.writes[txn][key]);
            (key_name(key), named(writers.collect()))
        });
        let seen = || witness.vis.iter().flat_map(|vis| pairs(vis));
        let mut visible: Vec<(usize, usize)> =
            seen().filter(|&(from, _)| from > 0).map(|(from, to)| (numbers[from], numbers[to])).collect();
        visible.sort_unstable();
        let mut sees_initial: Vec<usize> =
            seen().filter(|&(from, _)| from == 0).map(|(_, to)| numbers[to]).collect();
        sees_initial.sort_unstable();
        Evidence {
            framework: plan.framework,
            order: if is_graph { Vec::new() } else { named(sorted(&witness.orders[0])) },
            visible,
            sees_initial,
            versions: versions.filter(|(_, writers)| writers.len() > 1).collect(),
        }
    }

    /// The witness for a history.
    fn witness(&self, history: &SmallHistory) -> Witness<bool> {
        let numbers = history.numbers();
        let txns = numbers.len();
        let place = |order: &[usize], txn: usize| match txn {
            0 => Some(0),
            txn => order.iter().position(|&other| other == numbers[txn]).map(|place| place + 1),
        };
        let matrix = |order: &[usize]| {
            Rc::new(Matrix::new(txns, |from, to| match (place(order, from), place(order, to)) {
                (Some(from), Some(to)) => from < to,
                _ => false,
            }))
        };
        let orders = if self.framework == Framework::Dependencies {
            let of_key = |key: usize| {
                let named = self.versions.iter().find(|(name, _)| *name == key_name(key));
                let writer = (1..txns).find(|&txn| history.writes[txn][key]);
                let single: Vec<usize> = writer.into_iter().map(|txn| numbers[txn]).collect();
                matrix(named.map_or(&single, |(_, writers)| writers))
            };
            (0..history.keys.max(1))
                .map(|key| if history.keys == 0 { matrix(&[]) } else { of_key(key) })
                .collect()
        } else {
            vec![matrix(&self.order)]
        };
        let sees = |from: usize, to: usize| match from {
            0 => self.sees_initial.contains(&numbers[to]),
            from => self.visible.contains(&(numbers[from], numbers[to])),
        };
        let has_visibility = self.framework == Framework::Visibility;
        let vis = has_visibility.then(|| Rc::new(Matrix::new(txns, |from, to| to > 0 && sees(from, to))));
        Witness { orders, vis }
    }
}

/// Whether a witness satisfies all that its framework asks for, and all axioms of a definition.
pub fn satisfies(definition: &Definition, history: &SmallHistory, evidence: &Evidence) -> bool {
    let view = history.view();
    let witness = evidence.witness(history);
    definition.framework == evidence.framework
        && is_witness(definition.framework, &view, &witness)
        && definition.axioms.iter().all(|axiom| {
            let (compiled, root) = Compiled::formula(&axiom.formula);
            Evaluator::new(&mut Plain, &view, &witness, &compiled).truth(root)
        })
}

/// Whether a witness is one of its framework.
fn is_witness(framework: Framework, view: &View<bool>, witness: &Witness<bool>) -> bool {
    let is_ordered = |relation: &Matrix<bool>| pairs(relation).all(|pair| witness.orders[0][pair]);
    match framework {
        Framework::CommitOrder => {
            let reads: Vec<&Matrix<bool>> = view.wr.iter().map(|wr| &**wr).collect();
            is_ordered(&view.so) && is_ordered(&union(&mut Plain, view.txns, &reads))
        }
        Framework::Visibility => witness.vis.as_deref().is_some_and(is_ordered),
        Framework::Dependencies | Framework::States | Framework::Transaction => true,
    }
}
