//! How a definition is evaluated: what its witness consists of, and which of its axioms need special care.
//!
//! A witness is at most two things: an order of the transactions and, in visibility, a relation `vis`. Two observations make it
//! small.
//!
//! **Dependency graphs.** If an axiom says `acyclic E` where E contains `ww`, then some total order contains E, and the writers of a
//! key are in this order. So one order of all transactions stands for the orders of the versions of all keys, and `acyclic E`
//! becomes `E in order`. A definition without such an axiom has an order for each key.
//!
//! **Least visibility.** Axioms of the forms `R in vis` (R without `vis`), `transitive vis` and `ar ; vis in vis` ask for more
//! visibility. If `vis` stands only in negative positions of all others, these hold for a smaller `vis` if they hold for a larger
//! one. Then some `vis` satisfies the level exactly if the least one does, which is a function of the history and the order. All
//! shipped levels are of this kind. For any other definition `vis` is searched for.

use std::rc::Rc;

use isoscope_levels::Framework;
use isoscope_levels::language::{Atom, Definition, Formula, Quantifier, Relation};

use crate::compiled::{Compiled, Id};
use crate::evaluate::{Evaluator, View, Witness};
use crate::logic::Logic;
use crate::matrix::{self, Matrix};

type Part = (Compiled, Id);

/// See the module.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Plan {
    pub(crate) framework: Framework,
    /// Relations that must be inside the order.
    ordered: Vec<Part>,
    axioms: Vec<Part>,
    visibility: Visibility,
    /// Whether the versions of each key have an order of their own.
    pub(crate) order_per_key: bool,
    /// Whether session order, and reads, are inside the order of every witness.
    pub(crate) orders_sessions: bool,
    pub(crate) orders_reads: bool,
    pub(crate) uses_real_time: bool,
    pub(crate) uses_read_order: bool,
}

enum Visibility {
    /// The framework has none.
    Absent,
    /// The least relation that contains `base` and is closed.
    Least { base: Vec<Part>, closed: Closed },
    /// It is searched for.
    Free,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Closed {
    Not,
    Transitive,
    /// With everything before it in the order. This implies transitivity, because visibility is inside the order.
    Prefix,
}

impl Plan {
    pub(crate) fn new(definition: &Definition) -> Plan {
        let formulas: Vec<&Formula> =
            definition.axioms.iter().flat_map(|axiom| conjuncts(&axiom.formula)).collect();
        let mut plan = Plan {
            framework: definition.framework,
            ordered: Vec::new(),
            axioms: Vec::new(),
            visibility: Visibility::Absent,
            order_per_key: false,
            orders_sessions: false,
            orders_reads: false,
            uses_real_time: formulas
                .iter()
                .any(|formula| mentions(formula, &|relation| *relation == Relation::Rt)),
            uses_read_order: formulas
                .iter()
                .any(|formula| any_atom(formula, &|atom| matches!(atom, Atom::ReadsBefore(..)))),
        };
        let rest = match definition.framework {
            Framework::Visibility => plan.visible(formulas),
            Framework::Dependencies => plan.dependent(formulas),
            Framework::CommitOrder => {
                for relation in [Relation::So, Relation::Wr(None)] {
                    plan.order(&relation);
                }
                formulas
            }
            Framework::States | Framework::Transaction => formulas,
        };
        for formula in rest {
            match formula {
                Formula::In(relation, Relation::Order) => plan.order(relation),
                formula => plan.axioms.push(Compiled::formula(formula)),
            }
        }
        plan
    }

    /// Requires that a relation is inside the order.
    fn order(&mut self, relation: &Relation) {
        self.orders_sessions |= contains(relation, &Relation::So);
        self.orders_reads |= contains(relation, &Relation::Wr(None));
        self.ordered.push(Compiled::relation(relation));
    }

    /// The axioms of a dependency graph that are left.
    fn dependent<'f>(&mut self, mut formulas: Vec<&'f Formula>) -> Vec<&'f Formula> {
        let is_order = |formula: &&Formula| matches!(formula, Formula::Acyclic(relation) if contains(relation, &Relation::Ww(None)));
        match formulas.iter().position(is_order) {
            Some(place) => {
                if let Formula::Acyclic(relation) = formulas.remove(place) {
                    self.order(relation);
                }
            }
            None => self.order_per_key = true,
        }
        formulas
    }

    /// The axioms of visibility that are left.
    fn visible<'f>(&mut self, formulas: Vec<&'f Formula>) -> Vec<&'f Formula> {
        let has_vis = |relation: &Relation| relation_mentions(relation, &|one| *one == Relation::Vis);
        let (mut base, mut closed, mut rest) = (Vec::new(), Closed::Not, Vec::new());
        for formula in &formulas {
            match formula {
                Formula::In(relation, Relation::Vis) if !has_vis(relation) => base.push(relation),
                Formula::In(Relation::Compose(first, second), Relation::Vis) if **second == Relation::Vis => {
                    match **first {
                        Relation::Vis => closed = closed.max(Closed::Transitive),
                        Relation::Order => closed = closed.max(Closed::Prefix),
                        _ => rest.push(*formula),
                    }
                }
                _ => rest.push(*formula),
            }
        }
        if rest.iter().any(|formula| grows_with_visibility(formula, true)) {
            self.visibility = Visibility::Free;
            self.order_visible(&formulas);
            return formulas;
        }
        for relation in &base {
            self.orders_sessions |= contains(relation, &Relation::So);
            self.orders_reads |= contains(relation, &Relation::Wr(None));
        }
        let base = base.into_iter().map(Compiled::relation).collect();
        self.visibility = Visibility::Least { base, closed };
        rest
    }

    fn order_visible(&mut self, formulas: &[&Formula]) {
        for formula in formulas {
            if let Formula::In(relation, Relation::Vis) = formula {
                self.orders_sessions |= contains(relation, &Relation::So);
                self.orders_reads |= contains(relation, &Relation::Wr(None));
            }
        }
    }

    /// The number of conditions that a relation is acyclic.
    pub(crate) fn acyclic(&self) -> usize {
        self.axioms.iter().map(|(compiled, _)| compiled.acyclic()).sum()
    }

    /// Whether a witness has a visibility of its own.
    pub(crate) fn has_free_visibility(&self) -> bool {
        matches!(self.visibility, Visibility::Free)
    }

    /// Whether a witness shows that the level allows a history. Completes the witness by its visibility.
    pub(crate) fn allows<L: Logic>(
        &self,
        logic: &mut L,
        view: &View<L::Truth>,
        witness: &mut Witness<L::Truth>,
    ) -> L::Truth {
        let mut parts = Vec::new();
        self.complete(logic, view, witness);
        if let Some(vis) = &witness.vis {
            parts.push(matrix::inside(logic, vis, &witness.orders[0]));
        }
        for (compiled, root) in &self.ordered {
            let relation = Evaluator::new(logic, view, witness, compiled).relation(*root);
            parts.push(matrix::inside(logic, &relation, &witness.orders[0]));
        }
        for (compiled, root) in &self.axioms {
            if parts.last() == Some(&L::FALSE) {
                break;
            }
            parts.push(Evaluator::new(logic, view, witness, compiled).truth(*root));
        }
        logic.all(&parts)
    }

    /// Adds the least visibility to a witness.
    pub(crate) fn complete<L: Logic>(
        &self,
        logic: &mut L,
        view: &View<L::Truth>,
        witness: &mut Witness<L::Truth>,
    ) {
        let Visibility::Least { base, closed } = &self.visibility else { return };
        let mut vis: Matrix<L::Truth> = Matrix::new(view.txns, |_, _| L::FALSE);
        for (compiled, root) in base {
            let relation = Evaluator::new(logic, view, witness, compiled).relation(*root);
            vis = matrix::union(logic, view.txns, &[&vis, &relation]);
        }
        witness.vis = Some(Rc::new(match closed {
            Closed::Not => vis,
            // Visibility stands only in negative positions, so that any larger one serves as well.
            Closed::Transitive => {
                let above = logic.paths_above(&vis);
                above.unwrap_or_else(|| matrix::closure(logic, &vis))
            }
            Closed::Prefix => {
                let before = matrix::compose(logic, &witness.orders[0], &vis);
                matrix::union(logic, view.txns, &[&vis, &before])
            }
        }));
    }
}

/// Whether a definition speaks of real time.
pub fn uses_real_time(definition: &Definition) -> bool {
    Plan::new(definition).uses_real_time
}

/// The parts of a conjunction.
fn conjuncts(formula: &Formula) -> Vec<&Formula> {
    match formula {
        Formula::All(parts) => parts.iter().flat_map(conjuncts).collect(),
        formula => vec![formula],
    }
}

/// Whether a relation certainly contains another one.
fn contains(relation: &Relation, part: &Relation) -> bool {
    match relation {
        relation if relation == part => true,
        Relation::Union(parts) => parts.iter().any(|one| contains(one, part)),
        Relation::Compose(a, b) => {
            contains(a, part) && is_reflexive(b) || is_reflexive(a) && contains(b, part)
        }
        Relation::Plus(inner) => contains(inner, part),
        _ => false,
    }
}

/// Whether a relation certainly relates every transaction to itself.
fn is_reflexive(relation: &Relation) -> bool {
    contains(relation, &Relation::Identity)
}

/// Whether some relation in a formula is as asked.
pub(crate) fn mentions(formula: &Formula, is: &dyn Fn(&Relation) -> bool) -> bool {
    match formula {
        Formula::Not(inner) | Formula::Quantified(_, _, inner) => mentions(inner, is),
        Formula::All(parts) | Formula::Any(parts) => parts.iter().any(|part| mentions(part, is)),
        Formula::Iff(a, b) => mentions(a, is) || mentions(b, is),
        Formula::In(a, b) => relation_mentions(a, is) || relation_mentions(b, is),
        Formula::Atom(Atom::Related(relation, ..))
        | Formula::Acyclic(relation)
        | Formula::Irreflexive(relation)
        | Formula::Total(relation)
        | Formula::Empty(relation) => relation_mentions(relation, is),
        Formula::Constant(_) | Formula::Atom(_) => false,
    }
}

fn relation_mentions(relation: &Relation, is: &dyn Fn(&Relation) -> bool) -> bool {
    is(relation)
        || match relation {
            Relation::Union(parts) | Relation::Intersection(parts) => {
                parts.iter().any(|part| relation_mentions(part, is))
            }
            Relation::Minus(a, b) | Relation::Compose(a, b) => {
                relation_mentions(a, is) || relation_mentions(b, is)
            }
            Relation::Inverse(inner) | Relation::Plus(inner) => relation_mentions(inner, is),
            Relation::Where(_, _, body) => mentions(body, is),
            _ => false,
        }
}

/// Whether some atom of a formula is as asked.
pub(crate) fn any_atom(formula: &Formula, is: &dyn Fn(&Atom) -> bool) -> bool {
    let in_relation = |relation: &Relation| {
        relation_mentions(relation, &|one| matches!(one, Relation::Where(_, _, body) if any_atom(body, is)))
    };
    match formula {
        Formula::Constant(_) => false,
        Formula::Not(inner) | Formula::Quantified(_, _, inner) => any_atom(inner, is),
        Formula::All(parts) | Formula::Any(parts) => parts.iter().any(|part| any_atom(part, is)),
        Formula::Iff(a, b) => any_atom(a, is) || any_atom(b, is),
        Formula::Atom(atom) => {
            is(atom) || matches!(atom, Atom::Related(relation, ..) if in_relation(relation))
        }
        Formula::In(a, b) => in_relation(a) || in_relation(b),
        Formula::Acyclic(relation)
        | Formula::Irreflexive(relation)
        | Formula::Total(relation)
        | Formula::Empty(relation) => in_relation(relation),
    }
}

/// Whether a formula, or its negation if `positive` is false, may become true when `vis` grows.
fn grows_with_visibility(formula: &Formula, positive: bool) -> bool {
    match formula {
        Formula::Not(inner) => grows_with_visibility(inner, !positive),
        Formula::Quantified(Quantifier::Forall | Quantifier::Exists, _, inner) => {
            grows_with_visibility(inner, positive)
        }
        Formula::All(parts) | Formula::Any(parts) => {
            parts.iter().any(|part| grows_with_visibility(part, positive))
        }
        Formula::Iff(a, b) => {
            mentions(a, &|one| *one == Relation::Vis) || mentions(b, &|one| *one == Relation::Vis)
        }
        Formula::Atom(Atom::Related(relation, ..)) | Formula::Total(relation) => {
            relation_grows(relation, positive)
        }
        Formula::Constant(_) | Formula::Atom(_) => false,
        Formula::In(a, b) => relation_grows(a, !positive) || relation_grows(b, positive),
        Formula::Acyclic(relation) | Formula::Irreflexive(relation) | Formula::Empty(relation) => {
            relation_grows(relation, !positive)
        }
    }
}

/// Whether a relation may get more pairs (fewer, if `positive` is false) when `vis` grows.
fn relation_grows(relation: &Relation, positive: bool) -> bool {
    match relation {
        Relation::Vis => positive,
        Relation::Union(parts) | Relation::Intersection(parts) => {
            parts.iter().any(|part| relation_grows(part, positive))
        }
        Relation::Minus(a, b) => relation_grows(a, positive) || relation_grows(b, !positive),
        Relation::Compose(a, b) => relation_grows(a, positive) || relation_grows(b, positive),
        Relation::Inverse(inner) | Relation::Plus(inner) => relation_grows(inner, positive),
        Relation::Where(_, _, body) => grows_with_visibility(body, positive),
        _ => false,
    }
}
