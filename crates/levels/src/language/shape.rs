//! Whether two definitions say the same in the same way: up to the names of variables, the order of conjuncts and of quantifiers of
//! one kind, and named definitions, which are inserted.
//!
//! A definition is brought into a normal form, which is printed; equal texts are equal definitions. Every rewriting is an
//! equivalence of logic, so that definitions of one shape allow the same histories. The converse does not hold: most definitions
//! that allow the same histories have different shapes.
//!
//! The normal form: negations stand at atoms. `r in s`, `empty r` and `irreflexive r` are quantifiers; `acyclic r` is
//! `irreflexive r+`. Atoms of unions, intersections, differences, inverses and named relations are formulas. Parts of
//! conjunctions, disjunctions and unions are sorted. The variables of a block of quantifiers have the order that prints first.

use super::ast::Sort;
use super::definition::{Atom, Definition, Formula, Quantifier, Relation, Variable};
use crate::{Framework, Level};

/// The most orders of variables that are tried for blocks inside each other. Further blocks keep their order.
const MOST_ORDERS: usize = 10_000;

/// The shape of a definition. Two definitions with the same shape allow the same histories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    framework: Framework,
    text: String,
}

impl Shape {
    /// The shape of a definition.
    pub fn of(definition: &Definition) -> Shape {
        let mut normal = Normalizer { next: 0 };
        let axioms = definition.axioms.iter().map(|axiom| normal.formula(&axiom.formula, true, &Vec::new()));
        let text = Printer { orders: 1 }.formula(&junction(true, axioms.collect()), &mut Vec::new());
        Shape { framework: definition.framework, text }
    }
}

/// The shipped definitions that have a level of the catalogue under another name. The tests of `isoscope-synth` compare all of
/// them with the engines.
const OTHER_NAMES: [(&str, Framework, Level); 4] = [
    // Crooks's read committed is Adya's PL-2.
    ("read-committed", Framework::States, Level::AdyaPl2),
    ("plume-read-committed", Framework::CommitOrder, Level::ReadCommitted),
    ("plume-read-atomic", Framework::CommitOrder, Level::ReadAtomic),
    ("plume-causal", Framework::CommitOrder, Level::Causal),
];

/// The level of the catalogue that a shipped definition defines.
pub(super) fn shipped_level(definition: &Definition) -> Option<Level> {
    let Definition { name, framework, .. } = definition;
    let other = OTHER_NAMES.iter().find(|(other, of, _)| other == name && of == framework);
    other.map(|(.., level)| *level).or_else(|| Level::ALL.into_iter().find(|level| level.name() == name))
}

/// A formula in normal form. Variables have numbers.
#[derive(Clone, Debug)]
enum Normal {
    /// All of them, or any of them.
    Junction(bool, Vec<Normal>),
    /// Both or neither; both operands are there with their negations.
    Iff(Box<[Normal; 2]>),
    Block(Quantifier, Vec<(u32, Sort)>, Box<Normal>),
    /// An atom or its negation.
    Literal(bool, Fact),
}

#[derive(Clone, Debug)]
enum Fact {
    Same(u32, u32),
    Related(Steps, u32, u32),
    Total(Steps),
    /// A predicate and its arguments.
    Named(&'static str, Vec<u32>),
}

/// A relation in normal form.
#[derive(Clone, Debug)]
enum Steps {
    Basic(&'static str, Option<u32>),
    Union(Vec<Steps>),
    Intersection(Vec<Steps>),
    Minus(Box<[Steps; 2]>),
    Compose(Box<[Steps; 2]>),
    Inverse(Box<Steps>),
    Plus(Box<Steps>),
    Where(u32, u32, Box<Normal>),
}

/// The numbers of the variables in scope.
type Scope = Vec<(Variable, u32)>;

struct Normalizer {
    next: u32,
}

impl Normalizer {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn formula(&mut self, formula: &Formula, positive: bool, scope: &Scope) -> Normal {
        match formula {
            Formula::Constant(value) => Normal::Junction(*value == positive, Vec::new()),
            Formula::Not(inner) => self.formula(inner, !positive, scope),
            Formula::All(parts) => self.junction(parts, positive, positive, scope),
            Formula::Any(parts) => self.junction(parts, !positive, positive, scope),
            Formula::Iff(a, b) => {
                Normal::Iff(Box::new([self.formula(a, positive, scope), self.formula(b, true, scope)]))
            }
            Formula::Quantified(quantifier, variable, body) => {
                let number = self.fresh();
                let mut inner = scope.clone();
                inner.push((*variable, number));
                let body = self.formula(body, positive, &inner);
                block(*quantifier, positive, vec![(number, variable.sort)], body)
            }
            Formula::Atom(atom) => self.atom(atom, positive, scope),
            Formula::In(a, b) => {
                let (from, to) = (self.fresh(), self.fresh());
                let parts = vec![
                    self.related(a, from, to, !positive, scope),
                    self.related(b, from, to, positive, scope),
                ];
                let txns = vec![(from, Sort::Txn), (to, Sort::Txn)];
                block(Quantifier::Forall, positive, txns, junction(!positive, parts))
            }
            Formula::Empty(relation) => {
                let (from, to) = (self.fresh(), self.fresh());
                let body = self.related(relation, from, to, !positive, scope);
                block(Quantifier::Forall, positive, vec![(from, Sort::Txn), (to, Sort::Txn)], body)
            }
            Formula::Irreflexive(relation) => self.irreflexive(relation, positive, scope),
            Formula::Acyclic(relation) => {
                self.irreflexive(&Relation::Plus(Box::new(relation.clone())), positive, scope)
            }
            // Not a quantifier: the relation would be there twice.
            Formula::Total(relation) => Normal::Literal(positive, Fact::Total(self.steps(relation, scope))),
        }
    }

    fn junction(&mut self, parts: &[Formula], all: bool, positive: bool, scope: &Scope) -> Normal {
        junction(all, parts.iter().map(|part| self.formula(part, positive, scope)).collect())
    }

    fn irreflexive(&mut self, relation: &Relation, positive: bool, scope: &Scope) -> Normal {
        let txn = self.fresh();
        let body = self.related(relation, txn, txn, !positive, scope);
        block(Quantifier::Forall, positive, vec![(txn, Sort::Txn)], body)
    }

    fn atom(&mut self, atom: &Atom, positive: bool, scope: &Scope) -> Normal {
        let of = |variable: &Variable| number(*variable, scope);
        let access =
            |names: [&'static str; 3], txn: &Variable, key: &Option<Variable>, value: &Option<Variable>| {
                let args: Vec<u32> =
                    [Some(txn), key.as_ref(), value.as_ref()].into_iter().flatten().map(of).collect();
                Fact::Named(names[args.len() - 1], args)
            };
        Normal::Literal(
            positive,
            match atom {
                Atom::Same(a, b) => Fact::Same(of(a), of(b)),
                Atom::Related(relation, from, to) => {
                    return self.related(relation, of(from), of(to), positive, scope);
                }
                Atom::Writes(txn, key, value) => {
                    access(["writes", "writes-key", "writes-value"], txn, key, value)
                }
                Atom::Reads(txn, key, value) => {
                    access(["reads", "reads-key", "reads-value"], txn, key, value)
                }
                Atom::ReadsBefore(txn, first, second) => {
                    Fact::Named("po", vec![of(txn), of(first), of(second)])
                }
            },
        )
    }

    /// That a relation leads from one transaction to another.
    fn related(&mut self, relation: &Relation, from: u32, to: u32, positive: bool, scope: &Scope) -> Normal {
        let mut parts = |parts: &[Relation], all: bool| {
            let parts = parts.iter().map(|part| self.related(part, from, to, positive, scope));
            junction(all, parts.collect())
        };
        match relation {
            Relation::Identity => Normal::Literal(positive, Fact::Same(from, to)),
            Relation::Union(some) => parts(some, !positive),
            Relation::Intersection(all) => parts(all, positive),
            Relation::Minus(a, b) => {
                let parts = vec![
                    self.related(a, from, to, positive, scope),
                    self.related(b, from, to, !positive, scope),
                ];
                junction(positive, parts)
            }
            Relation::Inverse(inner) => self.related(inner, to, from, positive, scope),
            Relation::Where(first, second, body) => {
                let mut inner = scope.clone();
                inner.extend([(*first, from), (*second, to)]);
                self.formula(body, positive, &inner)
            }
            relation => Normal::Literal(positive, Fact::Related(self.steps(relation, scope), from, to)),
        }
    }

    fn steps(&mut self, relation: &Relation, scope: &Scope) -> Steps {
        let of = |key: &Option<Variable>| key.map(|key| number(key, scope));
        match relation {
            Relation::So => Steps::Basic("so", None),
            Relation::Rt => Steps::Basic("rt", None),
            Relation::Order => Steps::Basic("order", None),
            Relation::Vis => Steps::Basic("vis", None),
            Relation::Identity => Steps::Basic("id", None),
            Relation::Wr(key) => Steps::Basic("wr", of(key)),
            Relation::Ww(key) => Steps::Basic("ww", of(key)),
            Relation::Rw(key) => Steps::Basic("rw", of(key)),
            Relation::Union(parts) => {
                let mut flat = Vec::new();
                for part in parts {
                    match self.steps(part, scope) {
                        Steps::Union(more) => flat.extend(more),
                        part => flat.push(part),
                    }
                }
                Steps::Union(flat)
            }
            Relation::Intersection(parts) => {
                let mut flat = Vec::new();
                for part in parts {
                    match self.steps(part, scope) {
                        Steps::Intersection(more) => flat.extend(more),
                        part => flat.push(part),
                    }
                }
                Steps::Intersection(flat)
            }
            Relation::Minus(a, b) => Steps::Minus(Box::new([self.steps(a, scope), self.steps(b, scope)])),
            Relation::Compose(a, b) => Steps::Compose(Box::new([self.steps(a, scope), self.steps(b, scope)])),
            Relation::Inverse(inner) => Steps::Inverse(Box::new(self.steps(inner, scope))),
            Relation::Plus(inner) => Steps::Plus(Box::new(self.steps(inner, scope))),
            Relation::Where(first, second, body) => {
                let (from, to) = (self.fresh(), self.fresh());
                let mut inner = scope.clone();
                inner.extend([(*first, from), (*second, to)]);
                Steps::Where(from, to, Box::new(self.formula(body, true, &inner)))
            }
        }
    }
}

fn number(variable: Variable, scope: &Scope) -> u32 {
    let bound = scope.iter().rev().find(|(bound, _)| *bound == variable);
    bound.expect("a resolved formula has no free variables").1
}

/// All, or any, of some formulas; a part of the same kind gives its own parts.
fn junction(all: bool, parts: Vec<Normal>) -> Normal {
    let mut flat = Vec::new();
    for part in parts {
        match part {
            Normal::Junction(kind, more) if kind == all => flat.extend(more),
            part => flat.push(part),
        }
    }
    if flat.len() == 1 { flat.remove(0) } else { Normal::Junction(all, flat) }
}

/// A block of quantifiers, joined with the next one if that is of the same kind.
fn block(quantifier: Quantifier, positive: bool, mut variables: Vec<(u32, Sort)>, body: Normal) -> Normal {
    let quantifier = match (quantifier, positive) {
        (Quantifier::Forall, true) | (Quantifier::Exists, false) => Quantifier::Forall,
        _ => Quantifier::Exists,
    };
    match body {
        Normal::Block(inner, more, body) if inner == quantifier => {
            variables.extend(more);
            Normal::Block(quantifier, variables, body)
        }
        body => Normal::Block(quantifier, variables, Box::new(body)),
    }
}

/// Prints normal forms. A variable is printed as its place among the variables in scope.
#[derive(Clone, Copy)]
struct Printer {
    /// The number of orders that the blocks around this place have.
    orders: usize,
}

impl Printer {
    fn formula(self, formula: &Normal, scope: &mut Vec<u32>) -> String {
        match formula {
            Normal::Junction(all, parts) => {
                format!("{}({})", if *all { "all" } else { "any" }, self.sorted(parts, scope))
            }
            Normal::Iff(sides) => format!("iff({})", self.sorted(&sides[..], scope)),
            Normal::Literal(positive, fact) => {
                format!("{}{}", if *positive { "" } else { "!" }, self.fact(fact, scope))
            }
            Normal::Block(quantifier, variables, body) => {
                let kind = if *quantifier == Quantifier::Forall { "forall" } else { "exists" };
                let count = (1..=variables.len()).fold(self.orders, usize::saturating_mul);
                let inner = if count > MOST_ORDERS { self } else { Printer { orders: count } };
                let print = |order: &[(u32, Sort)], scope: &mut Vec<u32>| {
                    let outside = scope.len();
                    scope.extend(order.iter().map(|(number, _)| number));
                    let sorts: Vec<&str> = order.iter().map(|(_, sort)| sort.name()).collect();
                    let text = format!("{kind}[{}]({})", sorts.join(","), inner.formula(body, scope));
                    scope.truncate(outside);
                    text
                };
                if count > MOST_ORDERS {
                    return print(variables, scope);
                }
                let texts = orders(variables).into_iter().map(|order| print(&order, scope));
                texts.min().unwrap_or_default()
            }
        }
    }

    fn sorted(self, parts: &[Normal], scope: &mut Vec<u32>) -> String {
        joined(parts.iter().map(|part| self.formula(part, scope)).collect())
    }

    fn fact(self, fact: &Fact, scope: &mut Vec<u32>) -> String {
        match fact {
            Fact::Same(a, b) => {
                let (a, b) = (place(*a, scope), place(*b, scope));
                format!("same({},{})", a.min(b), a.max(b))
            }
            Fact::Related(steps, from, to) => {
                let (from, to) = (place(*from, scope), place(*to, scope));
                format!("{}({from},{to})", self.steps(steps, scope))
            }
            Fact::Total(steps) => format!("total({})", self.steps(steps, scope)),
            Fact::Named(name, args) => {
                let args: Vec<String> = args.iter().map(|arg| place(*arg, scope).to_string()).collect();
                format!("{name}({})", args.join(","))
            }
        }
    }

    fn steps(self, steps: &Steps, scope: &mut Vec<u32>) -> String {
        let mut all =
            |parts: &[Steps]| -> Vec<String> { parts.iter().map(|part| self.steps(part, scope)).collect() };
        match steps {
            Steps::Basic(name, None) => (*name).to_owned(),
            Steps::Basic(name, Some(key)) => format!("{name}[{}]", place(*key, scope)),
            Steps::Union(parts) => format!("union({})", joined(all(parts))),
            Steps::Intersection(parts) => format!("both({})", joined(all(parts))),
            Steps::Minus(sides) => format!("minus({})", all(&sides[..]).join(",")),
            Steps::Compose(sides) => format!("then({})", all(&sides[..]).join(",")),
            Steps::Inverse(inner) => format!("inverse({})", self.steps(inner, scope)),
            Steps::Plus(inner) => format!("plus({})", self.steps(inner, scope)),
            Steps::Where(from, to, body) => {
                scope.extend([*from, *to]);
                let text = format!("where({})", self.formula(body, scope));
                scope.truncate(scope.len() - 2);
                text
            }
        }
    }
}

/// Texts in ascending order, each once.
fn joined(mut texts: Vec<String>) -> String {
    texts.sort();
    texts.dedup();
    texts.join(",")
}

fn place(number: u32, scope: &[u32]) -> usize {
    scope.iter().rposition(|&bound| bound == number).expect("every variable is bound")
}

/// All orders of some variables.
fn orders(variables: &[(u32, Sort)]) -> Vec<Vec<(u32, Sort)>> {
    variables.iter().fold(vec![Vec::new()], |shorter, next| {
        let inserted = |order: &Vec<(u32, Sort)>| -> Vec<Vec<(u32, Sort)>> {
            (0..=order.len()).map(|place| [&order[..place], &[*next], &order[place..]].concat()).collect()
        };
        shorter.iter().flat_map(inserted).collect()
    })
}
