//! Values: a variable of sort `Value` stands for a version of one key.
//!
//! A history has a value for each version of a key, and values of different keys have nothing to do with each other. So every
//! variable has a key, which is a variable, too: the one beside it in `reads(t, x, v)` and `writes(t, x, v)`, or the key of a value
//! that it is compared with. The variable ranges over the versions of this key: its quantifier is limited to them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::ast::Sort;
use super::definition::{Atom, Formula, Quantifier, Relation, Variable};
use super::error::Error;

/// How values are used in an axiom.
#[derive(Default)]
pub(super) struct Values {
    /// The quantified values.
    pub(super) bound: Vec<(Variable, Range<usize>)>,
    /// Values beside keys.
    pub(super) used: Vec<(Variable, Variable, Range<usize>)>,
    /// Values that are compared.
    pub(super) compared: Vec<(Variable, Variable, Range<usize>)>,
}

impl Values {
    /// The key of each value. `blocks` are the numbers of the quantifiers that bind variables: outer ones have smaller numbers.
    pub(super) fn keys(&self, blocks: &[u32]) -> Result<BTreeMap<u32, Variable>, Error> {
        let mut keys: BTreeMap<u32, Variable> = BTreeMap::new();
        for (value, key, span) in &self.used {
            if keys.insert(value.id, *key).is_some_and(|other| other != *key) {
                return Err(different(span));
            }
        }
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for (a, b, span) in &self.compared {
                match (keys.get(&a.id).copied(), keys.get(&b.id).copied()) {
                    (Some(one), Some(other)) if one != other => return Err(different(span)),
                    (Some(key), None) => is_done &= keys.insert(b.id, key).is_some(),
                    (None, Some(key)) => is_done &= keys.insert(a.id, key).is_some(),
                    _ => {}
                }
            }
        }
        for (value, span) in &self.bound {
            let help = "for example: forall x: Key, v: Value. writes(t, x, v) => reads(s, x, v)";
            match keys.get(&value.id) {
                None => return Err(Error::new(span.clone(), "this value is of no key").help(help)),
                Some(key) if blocks[key.id as usize] > blocks[value.id as usize] => {
                    let message = "the key of a value must be bound before the value";
                    return Err(Error::new(span.clone(), message).help(help));
                }
                Some(_) => {}
            }
        }
        Ok(keys)
    }
}

fn different(span: &Range<usize>) -> Error {
    Error::new(span.clone(), "values of different keys cannot be compared")
        .help("a value is a version of one key; other keys have versions of their own")
}

/// A formula whose values range over the versions of their keys. `fresh` makes variables.
pub(super) fn limited(
    formula: Formula,
    keys: &BTreeMap<u32, Variable>,
    fresh: &mut dyn FnMut(Sort) -> Variable,
) -> Formula {
    let mut inner = |formula: Formula| limited(formula, keys, fresh);
    match formula {
        Formula::Not(a) => Formula::Not(Box::new(inner(*a))),
        Formula::All(parts) => Formula::All(parts.into_iter().map(inner).collect()),
        Formula::Any(parts) => Formula::Any(parts.into_iter().map(inner).collect()),
        Formula::Iff(a, b) => Formula::Iff(Box::new(inner(*a)), Box::new(inner(*b))),
        Formula::Quantified(quantifier, variable, body) => {
            let body = inner(*body);
            let body = match keys.get(&variable.id) {
                None => body,
                Some(&key) => {
                    let writer = fresh(Sort::Txn);
                    let writes = Formula::Atom(Atom::Writes(writer, Some(key), Some(variable)));
                    let exists = Formula::Quantified(Quantifier::Exists, writer, Box::new(writes));
                    match quantifier {
                        Quantifier::Forall => Formula::Any(vec![Formula::Not(Box::new(exists)), body]),
                        Quantifier::Exists => Formula::All(vec![exists, body]),
                    }
                }
            };
            Formula::Quantified(quantifier, variable, Box::new(body))
        }
        Formula::Atom(Atom::Related(a, from, to)) => {
            Formula::Atom(Atom::Related(limited_relation(a, keys, fresh), from, to))
        }
        Formula::In(a, b) => Formula::In(limited_relation(a, keys, fresh), limited_relation(b, keys, fresh)),
        Formula::Acyclic(a) => Formula::Acyclic(limited_relation(a, keys, fresh)),
        Formula::Irreflexive(a) => Formula::Irreflexive(limited_relation(a, keys, fresh)),
        Formula::Total(a) => Formula::Total(limited_relation(a, keys, fresh)),
        Formula::Empty(a) => Formula::Empty(limited_relation(a, keys, fresh)),
        formula @ (Formula::Constant(_) | Formula::Atom(_)) => formula,
    }
}

fn limited_relation(
    relation: Relation,
    keys: &BTreeMap<u32, Variable>,
    fresh: &mut dyn FnMut(Sort) -> Variable,
) -> Relation {
    let mut inner = |relation: Relation| limited_relation(relation, keys, fresh);
    let mut boxed = |relation: Box<Relation>| Box::new(inner(*relation));
    match relation {
        Relation::Minus(a, b) => Relation::Minus(boxed(a), boxed(b)),
        Relation::Compose(a, b) => Relation::Compose(boxed(a), boxed(b)),
        Relation::Inverse(a) => Relation::Inverse(boxed(a)),
        Relation::Plus(a) => Relation::Plus(boxed(a)),
        Relation::Union(parts) => Relation::Union(parts.into_iter().map(inner).collect()),
        Relation::Intersection(parts) => Relation::Intersection(parts.into_iter().map(inner).collect()),
        Relation::Where(from, to, body) => Relation::Where(from, to, Box::new(limited(*body, keys, fresh))),
        basic => basic,
    }
}
