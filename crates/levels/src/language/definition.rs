//! A level as formulas whose names have a meaning.

use super::ast::Sort;
use crate::Framework;

/// A level in one framework: it allows the histories for which some witness satisfies all axioms.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// What a witness is.
    pub framework: Framework,
    /// The level whose axioms it adds to, if any.
    pub extends: Option<String>,
    /// The comment above the definition, on one line; may be empty.
    pub about: String,
    /// All axioms, those of the levels it extends first.
    pub axioms: Vec<Axiom>,
    /// The definition as text, printed anew.
    pub text: String,
}

/// A condition of a level.
#[derive(Clone, Debug)]
pub struct Axiom {
    /// The name; may be empty.
    pub name: String,
    /// The level in which it is written.
    pub level: String,
    /// The condition.
    pub formula: Formula,
    /// The condition as text, printed anew.
    pub text: String,
}

/// A variable. Every quantifier and every use of a named definition has variables of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The number, unique within an axiom.
    pub id: u32,
    /// What it stands for.
    pub sort: Sort,
}

/// Which of the values of a variable count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Every one.
    Forall,
    /// Some one.
    Exists,
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// True or false.
    Constant(bool),
    /// Not.
    Not(Box<Formula>),
    /// Every one.
    All(Vec<Formula>),
    /// At least one.
    Any(Vec<Formula>),
    /// Both or neither.
    Iff(Box<Formula>, Box<Formula>),
    /// For all, or for some values of a variable.
    Quantified(Quantifier, Variable, Box<Formula>),
    /// A statement about values of variables.
    Atom(Atom),
    /// The pairs of the first relation are pairs of the second.
    In(Relation, Relation),
    /// No path leads from a transaction to itself.
    Acyclic(Relation),
    /// No transaction is related to itself.
    Irreflexive(Relation),
    /// Of two different transactions, one is related to the other.
    Total(Relation),
    /// No transactions are related.
    Empty(Relation),
}

/// A statement about values of variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// Two variables have the same value.
    Same(Variable, Variable),
    /// A relation leads from one transaction to another.
    Related(Relation, Variable, Variable),
    /// A transaction writes anything, a key, or a value of a key.
    Writes(Variable, Option<Variable>, Option<Variable>),
    /// A transaction reads anything from another, a key, or a value of a key.
    Reads(Variable, Option<Variable>, Option<Variable>),
    /// A transaction reads a key before it reads another one.
    ReadsBefore(Variable, Variable, Variable),
}

/// A binary relation of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Session order.
    So,
    /// Real-time order.
    Rt,
    /// From a writer to a reader, of any key or of one.
    Wr(Option<Variable>),
    /// The order of the witness: `co`, `ar` or `ex`.
    Order,
    /// Visibility.
    Vis,
    /// From a writer to a later one, of any key or of one.
    Ww(Option<Variable>),
    /// From a reader to a later writer, of any key or of one.
    Rw(Option<Variable>),
    /// Every transaction to itself.
    Identity,
    /// Any of them.
    Union(Vec<Relation>),
    /// All of them.
    Intersection(Vec<Relation>),
    /// The first, and not the second.
    Minus(Box<Relation>, Box<Relation>),
    /// The first, then the second.
    Compose(Box<Relation>, Box<Relation>),
    /// The other way round.
    Inverse(Box<Relation>),
    /// One or more steps.
    Plus(Box<Relation>),
    /// The pairs for which a formula holds.
    Where(Variable, Variable, Box<Formula>),
}
