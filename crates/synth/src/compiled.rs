//! Formulas in a flat form that is fast to evaluate: nodes with numbers, each with its free variables.

use crate::plan::mentions;
use isoscope_levels::language::{Atom, Formula, Quantifier, Relation, Sort, Variable};

/// The number of a node.
pub(crate) type Id = u32;
/// The number of a variable.
pub(crate) type Var = u8;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    // Formulas.
    Constant(bool),
    Not(Id),
    All(Vec<Id>),
    Any(Vec<Id>),
    Iff(Id, Id),
    Block(Quantifier, Vec<Step>),
    Same(Var, Var),
    Related(Id, Var, Var),
    Writes(Var, Option<Var>, Option<Var>),
    Reads(Var, Option<Var>, Option<Var>),
    ReadsBefore(Var, Var, Var),
    In(Id, Id),
    Acyclic(Id),
    Irreflexive(Id),
    Total(Id),
    Empty(Id),
    // Relations.
    So,
    Rt,
    Wr(Option<Var>),
    Order,
    Vis,
    Ww(Option<Var>),
    Rw(Option<Var>),
    Identity,
    Union(Vec<Id>),
    Intersection(Vec<Id>),
    Minus(Id, Id),
    Compose(Id, Id),
    Inverse(Id),
    Plus(Id),
    Where(Var, Var, Id),
}

/// A step in evaluating a block of quantifiers of one kind. The body of the block is a disjunction below `forall`, a conjunction
/// below `exists`. Its parts are evaluated as soon as their variables have values, so that most values of the other variables
/// are never tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All values of a variable are tried.
    Bind(Var, Sort),
    /// A part of the body.
    Part(Id),
    /// A part that another one implies. It is used only to leave out values, and only where the history is known.
    Guard(Id),
}

/// A formula as nodes; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) nodes: Vec<Node>,
    /// The free variables of each node, in ascending order.
    pub(crate) free: Vec<Vec<Var>>,
    /// Where each node stands, seen from the root.
    sides: Vec<Side>,
    variables: Vec<u32>,
}

/// Where a node stands in a formula that must hold. A larger relation on the negative side makes the formula only harder to satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Positive,
    Negative,
    Both,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Positive => Side::Negative,
            Side::Negative => Side::Positive,
            Side::Both => Side::Both,
        }
    }
}

impl Compiled {
    /// A formula and the number of its node.
    pub(crate) fn formula(formula: &Formula) -> (Compiled, Id) {
        let mut compiled = Compiled::default();
        let root = compiled.add_formula(formula);
        compiled.place(root, Side::Positive);
        (compiled, root)
    }

    /// A relation that must be inside another one, and the number of its node.
    pub(crate) fn relation(relation: &Relation) -> (Compiled, Id) {
        let mut compiled = Compiled::default();
        let root = compiled.add_relation(relation);
        compiled.place(root, Side::Negative);
        (compiled, root)
    }

    /// Whether a node stands only on the negative side.
    pub(crate) fn is_negative(&self, id: Id) -> bool {
        self.sides[id as usize] == Side::Negative
    }

    /// Whether a node stands only on the positive side.
    pub(crate) fn is_positive(&self, id: Id) -> bool {
        self.sides[id as usize] == Side::Positive
    }

    /// The number of conditions that a relation is acyclic, without those that depend on variables.
    pub(crate) fn acyclic(&self) -> usize {
        let is_fixed = |id: &usize| matches!(self.nodes[*id], Node::Acyclic(_)) && self.free[*id].is_empty();
        (0..self.nodes.len()).filter(is_fixed).count()
    }

    /// Finds where each node stands. Nodes form a tree, and children have smaller numbers.
    fn place(&mut self, root: Id, side: Side) {
        let mut sides = vec![Side::Both; self.nodes.len()];
        sides[root as usize] = side;
        for (id, node) in self.nodes.iter().enumerate().rev() {
            let side = sides[id];
            let mut put = |child: Id, side: Side| sides[child as usize] = side;
            match node {
                Node::Not(a) | Node::Acyclic(a) | Node::Irreflexive(a) | Node::Empty(a) => {
                    put(*a, side.other());
                }
                Node::Total(a)
                | Node::Inverse(a)
                | Node::Plus(a)
                | Node::Related(a, ..)
                | Node::Where(_, _, a) => put(*a, side),
                Node::All(parts) | Node::Any(parts) | Node::Union(parts) | Node::Intersection(parts) => {
                    for &part in parts {
                        put(part, side);
                    }
                }
                Node::Block(_, steps) => {
                    for step in steps {
                        if let Step::Part(part) | Step::Guard(part) = step {
                            put(*part, side);
                        }
                    }
                }
                Node::In(a, b) => {
                    put(*a, side.other());
                    put(*b, side);
                }
                Node::Minus(a, b) => {
                    put(*a, side);
                    put(*b, side.other());
                }
                Node::Compose(a, b) => {
                    put(*a, side);
                    put(*b, side);
                }
                Node::Iff(a, b) => {
                    put(*a, Side::Both);
                    put(*b, Side::Both);
                }
                _ => {}
            }
        }
        self.sides = sides;
    }

    /// How many variables there are.
    pub(crate) fn variables(&self) -> usize {
        self.variables.len()
    }

    fn var(&mut self, variable: Variable) -> Var {
        let place = self.variables.iter().position(|&id| id == variable.id).unwrap_or_else(|| {
            self.variables.push(variable.id);
            self.variables.len() - 1
        });
        place.try_into().expect("a formula has at most 256 variables")
    }

    fn add(&mut self, node: Node) -> Id {
        let mut free = Vec::new();
        let (children, mine, bound): (Vec<Id>, Vec<Var>, Vec<Var>) = match &node {
            Node::Not(a)
            | Node::Acyclic(a)
            | Node::Irreflexive(a)
            | Node::Total(a)
            | Node::Empty(a)
            | Node::Inverse(a)
            | Node::Plus(a) => (vec![*a], vec![], vec![]),
            Node::All(parts) | Node::Any(parts) | Node::Union(parts) | Node::Intersection(parts) => {
                (parts.clone(), vec![], vec![])
            }
            Node::Iff(a, b) | Node::In(a, b) | Node::Minus(a, b) | Node::Compose(a, b) => {
                (vec![*a, *b], vec![], vec![])
            }
            Node::Block(_, steps) => {
                let bound = steps.iter().filter_map(|step| match step {
                    Step::Bind(var, _) => Some(*var),
                    Step::Part(_) | Step::Guard(_) => None,
                });
                let parts = steps.iter().filter_map(|step| match step {
                    Step::Part(id) | Step::Guard(id) => Some(*id),
                    Step::Bind(..) => None,
                });
                (parts.collect(), vec![], bound.collect())
            }
            Node::Where(from, to, body) => (vec![*body], vec![], vec![*from, *to]),
            Node::Related(relation, from, to) => (vec![*relation], vec![*from, *to], vec![]),
            Node::Same(a, b) => (vec![], vec![*a, *b], vec![]),
            Node::ReadsBefore(a, b, c) => (vec![], vec![*a, *b, *c], vec![]),
            Node::Writes(a, b, c) | Node::Reads(a, b, c) => {
                (vec![], [Some(*a), *b, *c].into_iter().flatten().collect(), vec![])
            }
            Node::Wr(key) | Node::Ww(key) | Node::Rw(key) => (vec![], key.iter().copied().collect(), vec![]),
            Node::Constant(_) | Node::So | Node::Rt | Node::Order | Node::Vis | Node::Identity => {
                (vec![], vec![], vec![])
            }
        };
        free.extend(mine);
        for child in children {
            free.extend(&self.free[child as usize]);
        }
        free.sort_unstable();
        free.dedup();
        free.retain(|var| !bound.contains(var));
        self.nodes.push(node);
        self.free.push(free);
        (self.nodes.len() - 1) as Id
    }

    fn add_formulas(&mut self, formulas: &[Formula]) -> Vec<Id> {
        formulas.iter().map(|formula| self.add_formula(formula)).collect()
    }

    fn add_formula(&mut self, formula: &Formula) -> Id {
        let node = match formula {
            Formula::Constant(value) => Node::Constant(*value),
            Formula::Not(inner) => Node::Not(self.add_formula(inner)),
            Formula::All(parts) => Node::All(self.add_formulas(parts)),
            Formula::Any(parts) => Node::Any(self.add_formulas(parts)),
            Formula::Iff(a, b) => Node::Iff(self.add_formula(a), self.add_formula(b)),
            Formula::Quantified(quantifier, ..) => Node::Block(*quantifier, self.block(formula)),
            Formula::Atom(atom) => self.atom(atom),
            Formula::In(a, b) => Node::In(self.add_relation(a), self.add_relation(b)),
            Formula::Acyclic(relation) => Node::Acyclic(self.add_relation(relation)),
            Formula::Irreflexive(relation) => Node::Irreflexive(self.add_relation(relation)),
            Formula::Total(relation) => Node::Total(self.add_relation(relation)),
            Formula::Empty(relation) => Node::Empty(self.add_relation(relation)),
        };
        self.add(node)
    }

    /// The steps of nested quantifiers of one kind.
    fn block(&mut self, formula: &Formula) -> Vec<Step> {
        let mut variables: Vec<(Var, Sort)> = Vec::new();
        let mut body = formula;
        let Formula::Quantified(kind, ..) = formula else { unreachable!("a block begins with a quantifier") };
        while let Formula::Quantified(quantifier, variable, inner) = body
            && quantifier == kind
        {
            variables.push((self.var(*variable), variable.sort));
            body = inner;
        }
        let mut leaves = Vec::new();
        collect_parts(body, true, *kind == Quantifier::Forall, &mut leaves);
        let mut parts: Vec<Part> = Vec::new();
        for (leaf, positive) in leaves {
            // A negated part of a disjunction, or a part of a conjunction, that says who reads from whom.
            if positive == (*kind == Quantifier::Exists)
                && let Formula::Atom(Atom::Related(Relation::Wr(Some(key)), from, to)) = leaf
            {
                for guard in [Atom::Writes(*from, Some(*key), None), Atom::Reads(*to, Some(*key), None)] {
                    let step = Step::Guard(self.add_signed(&Formula::Atom(guard), positive));
                    parts.push(Part { step, free: self.free_of(step), cost: 0 });
                }
            }
            let step = Step::Part(self.add_signed(leaf, positive));
            parts.push(Part { step, free: self.free_of(step), cost: cost(leaf) });
        }
        schedule(variables, parts)
    }

    fn add_signed(&mut self, formula: &Formula, positive: bool) -> Id {
        let id = self.add_formula(formula);
        if positive { id } else { self.add(Node::Not(id)) }
    }

    fn free_of(&self, step: Step) -> Vec<Var> {
        match step {
            Step::Part(id) | Step::Guard(id) => self.free[id as usize].clone(),
            Step::Bind(..) => Vec::new(),
        }
    }

    fn atom(&mut self, atom: &Atom) -> Node {
        let mut optional = |variable: &Option<Variable>| variable.map(|variable| self.var(variable));
        match atom {
            Atom::Writes(txn, key, value) => {
                let (key, value) = (optional(key), optional(value));
                Node::Writes(self.var(*txn), key, value)
            }
            Atom::Reads(txn, key, value) => {
                let (key, value) = (optional(key), optional(value));
                Node::Reads(self.var(*txn), key, value)
            }
            Atom::Same(a, b) => Node::Same(self.var(*a), self.var(*b)),
            Atom::Related(relation, from, to) => {
                let relation = self.add_relation(relation);
                Node::Related(relation, self.var(*from), self.var(*to))
            }
            Atom::ReadsBefore(txn, first, second) => {
                Node::ReadsBefore(self.var(*txn), self.var(*first), self.var(*second))
            }
        }
    }

    fn add_relations(&mut self, relations: &[Relation]) -> Vec<Id> {
        relations.iter().map(|relation| self.add_relation(relation)).collect()
    }

    fn add_relation(&mut self, relation: &Relation) -> Id {
        let mut key = |key: &Option<Variable>| key.map(|key| self.var(key));
        let node = match relation {
            Relation::So => Node::So,
            Relation::Rt => Node::Rt,
            Relation::Wr(of) => Node::Wr(key(of)),
            Relation::Ww(of) => Node::Ww(key(of)),
            Relation::Rw(of) => Node::Rw(key(of)),
            Relation::Order => Node::Order,
            Relation::Vis => Node::Vis,
            Relation::Identity => Node::Identity,
            Relation::Union(parts) => Node::Union(self.add_relations(parts)),
            Relation::Intersection(parts) => Node::Intersection(self.add_relations(parts)),
            Relation::Minus(a, b) => Node::Minus(self.add_relation(a), self.add_relation(b)),
            Relation::Compose(a, b) => Node::Compose(self.add_relation(a), self.add_relation(b)),
            Relation::Inverse(inner) => Node::Inverse(self.add_relation(inner)),
            Relation::Plus(inner) => Node::Plus(self.add_relation(inner)),
            Relation::Where(from, to, body) => {
                let (from, to) = (self.var(*from), self.var(*to));
                Node::Where(from, to, self.add_formula(body))
            }
        };
        self.add(node)
    }
}

/// The parts of a disjunction or a conjunction, with negations moved to them.
fn collect_parts<'f>(
    formula: &'f Formula,
    positive: bool,
    disjunction: bool,
    parts: &mut Vec<(&'f Formula, bool)>,
) {
    match (formula, positive == disjunction) {
        (Formula::Not(inner), _) => collect_parts(inner, !positive, disjunction, parts),
        (Formula::Any(more), true) | (Formula::All(more), false) => {
            for part in more {
                collect_parts(part, positive, disjunction, parts);
            }
        }
        _ => parts.push((formula, positive)),
    }
}

/// A part of a block before its place is known.
struct Part {
    step: Step,
    free: Vec<Var>,
    cost: u8,
}

/// The cost of a part that depends on the witness.
const WITNESS: u8 = 3;

/// How costly a part is: facts of the history, relations made of them, quantifiers, anything about the witness.
fn cost(formula: &Formula) -> u8 {
    let is_witness = |relation: &Relation| {
        matches!(relation, Relation::Order | Relation::Vis | Relation::Ww(_) | Relation::Rw(_))
    };
    match formula {
        formula if mentions(formula, &is_witness) => WITNESS,
        Formula::Atom(Atom::Related(Relation::So | Relation::Rt | Relation::Wr(_), ..)) => 0,
        Formula::Atom(Atom::Related(..)) => 1,
        Formula::Atom(_) | Formula::Constant(_) => 0,
        _ => 2,
    }
}

/// Orders variables and parts: next is a variable that completes most facts of the history, and then those parts that are
/// complete, cheap ones first.
fn schedule(mut variables: Vec<(Var, Sort)>, mut parts: Vec<Part>) -> Vec<Step> {
    let mut steps = Vec::new();
    loop {
        let is_open = |var: &Var| variables.iter().any(|(open, _)| open == var);
        let (mut ready, waiting): (Vec<Part>, Vec<Part>) =
            parts.into_iter().partition(|part| !part.free.iter().any(is_open));
        ready.sort_by_key(|part| part.cost);
        steps.extend(ready.into_iter().map(|part| part.step));
        parts = waiting;
        if variables.is_empty() {
            return steps;
        }
        let completed = |var: Var| {
            let facts = parts.iter().filter(|part| part.cost < WITNESS);
            facts
                .filter(|part| part.free.iter().filter(|free| is_open(free)).all(|free| *free == var))
                .count()
        };
        let counts: Vec<usize> = variables.iter().map(|(var, _)| completed(*var)).collect();
        let most = counts.iter().max().copied().unwrap_or_default();
        let next = counts.iter().position(|&count| count == most).unwrap_or_default();
        let (var, sort) = variables.remove(next);
        steps.push(Step::Bind(var, sort));
    }
}
