//! Formulas in a flat form that is fast to evaluate: nodes with numbers, each with its free variables.

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
    Quantified(Quantifier, Var, Sort, Id),
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

/// A formula as nodes; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) nodes: Vec<Node>,
    /// The free variables of each node, in ascending order.
    pub(crate) free: Vec<Vec<Var>>,
    variables: Vec<u32>,
}

impl Compiled {
    /// A formula and the number of its node.
    pub(crate) fn formula(formula: &Formula) -> (Compiled, Id) {
        let mut compiled = Compiled::default();
        let root = compiled.add_formula(formula);
        (compiled, root)
    }

    /// A relation and the number of its node.
    pub(crate) fn relation(relation: &Relation) -> (Compiled, Id) {
        let mut compiled = Compiled::default();
        let root = compiled.add_relation(relation);
        (compiled, root)
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
            Node::Quantified(_, var, _, body) => (vec![*body], vec![], vec![*var]),
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
            Formula::Quantified(quantifier, variable, body) => {
                let var = self.var(*variable);
                Node::Quantified(*quantifier, var, variable.sort, self.add_formula(body))
            }
            Formula::Atom(atom) => self.atom(atom),
            Formula::In(a, b) => Node::In(self.add_relation(a), self.add_relation(b)),
            Formula::Acyclic(relation) => Node::Acyclic(self.add_relation(relation)),
            Formula::Irreflexive(relation) => Node::Irreflexive(self.add_relation(relation)),
            Formula::Total(relation) => Node::Total(self.add_relation(relation)),
            Formula::Empty(relation) => Node::Empty(self.add_relation(relation)),
        };
        self.add(node)
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
