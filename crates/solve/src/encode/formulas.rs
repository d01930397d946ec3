//! Formulas that are stored once (hash consing), with constants folded.
//!
//! A formula is the number of a node and a sign, so that negation is free. A node is the constant *true*, a variable, a
//! conjunction of two or more formulas, an exclusive or, or an if-then-else; everything else is expressed by these.
//! Equal nodes are one node. A conjunction is simplified with respect to the arguments of its arguments (the two-level
//! rules of Brummayer and Biere 2006): `a & (a | b)` is `a`, `a & (!a | b)` is `a & b`, `a & !(a | b)` is *false*.
//!
//! Invariants. The arguments of a node have smaller numbers than the node. No argument is a constant. The arguments of a
//! conjunction are sorted, different, and none is the negation of another. The arguments of an exclusive or, and the
//! condition and the first branch of an if-then-else, have no sign.

use std::hash::{Hash, Hasher};
use std::ops::Not;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::cardinality::FEW;
use crate::lit::{Lit, Var};

/// A formula of a [`Formulas`]. `!formula` is its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Formula(u32);

impl Formula {
    /// The formula that always holds.
    pub const TRUE: Formula = Formula(0);
    /// The formula that never holds.
    pub const FALSE: Formula = Formula(1);

    /// A constant.
    pub fn constant(value: bool) -> Formula {
        if value { Formula::TRUE } else { Formula::FALSE }
    }

    pub(super) fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    fn negated_if(self, negate: bool) -> Formula {
        Formula(self.0 ^ u32::from(negate))
    }
}

impl Not for Formula {
    type Output = Formula;

    fn not(self) -> Formula {
        self.negated_if(true)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    True,
    Var,
    And,
    Xor,
    Ite,
}

#[derive(Clone, Copy)]
struct Node {
    op: Op,
    /// The place of the arguments, or the number of the variable.
    start: u32,
    len: u32,
    /// How many nodes have this one as an argument.
    uses: u32,
}

/// A collection of formulas; see the module.
///
/// ```
/// use isoscope_solve::{Formula, Formulas, Var};
///
/// let mut formulas = Formulas::new();
/// let a = formulas.lit(Var::new(0).positive());
/// let b = formulas.lit(Var::new(1).positive());
/// let either = formulas.or(&[a, b]);
/// assert_eq!(formulas.and(&[b, either, Formula::TRUE]), b);
/// let implied = formulas.implies(a, either);
/// assert_eq!(implied, Formula::TRUE);
/// let differ = formulas.xor(a, b);
/// assert!(formulas.evaluate(differ, |var| var.index() == 0));
/// ```
pub struct Formulas {
    nodes: Vec<Node>,
    args: Vec<Formula>,
    /// All nodes but the constant and variables, by what they are.
    table: HashTable<u32>,
    /// The formula of each variable.
    vars: Vec<Option<Formula>>,
}

/// Arguments with more arguments than this are not examined by the two-level rules.
const SMALL: usize = 8;

impl Default for Formulas {
    fn default() -> Formulas {
        let constant = Node { op: Op::True, start: 0, len: 0, uses: 0 };
        Formulas { nodes: vec![constant], args: Vec::new(), table: HashTable::new(), vars: Vec::new() }
    }
}

impl Formulas {
    /// No formulas but the constants.
    pub fn new() -> Formulas {
        Formulas::default()
    }

    /// The number of different nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A literal.
    pub fn lit(&mut self, lit: Lit) -> Formula {
        let var = lit.var().index();
        if var >= self.vars.len() {
            self.vars.resize(var + 1, None);
        }
        let formula = self.vars[var].unwrap_or_else(|| {
            let formula = Formula((self.nodes.len() as u32) << 1);
            self.nodes.push(Node { op: Op::Var, start: var as u32, len: 0, uses: 0 });
            formula
        });
        self.vars[var] = Some(formula);
        formula.negated_if(!lit.is_positive())
    }

    /// All of them hold.
    pub fn and(&mut self, formulas: &[Formula]) -> Formula {
        let mut args: Vec<Formula> = formulas.to_vec();
        loop {
            args.sort_unstable();
            args.dedup();
            // The constants come first: true, then false.
            if args.first() == Some(&Formula::TRUE) {
                args.remove(0);
            }
            if args.first() == Some(&Formula::FALSE) || args.windows(2).any(|two| two[0] == !two[1]) {
                return Formula::FALSE;
            }
            match self.simplify(&args) {
                Simpler::No => break,
                Simpler::False => return Formula::FALSE,
                Simpler::Without(place) => {
                    args.remove(place);
                }
                Simpler::With(place, formula) => args[place] = formula,
            }
        }
        self.conjunction(&args)
    }

    /// At least one of them holds.
    pub fn or(&mut self, formulas: &[Formula]) -> Formula {
        let negated: Vec<Formula> = formulas.iter().map(|&formula| !formula).collect();
        !self.and(&negated)
    }

    /// If `a` holds, so does `b`.
    pub fn implies(&mut self, a: Formula, b: Formula) -> Formula {
        self.or(&[!a, b])
    }

    /// Exactly one of the two holds.
    pub fn xor(&mut self, a: Formula, b: Formula) -> Formula {
        let negated = a.is_negated() != b.is_negated();
        let (a, b) = (a.negated_if(a.is_negated()), b.negated_if(b.is_negated()));
        let (a, b) = (a.min(b), a.max(b));
        let positive = if a == b {
            Formula::FALSE
        } else if a == Formula::TRUE {
            !b
        } else {
            self.intern(Op::Xor, &[a, b])
        };
        positive.negated_if(negated)
    }

    /// Both hold or none does.
    pub fn iff(&mut self, a: Formula, b: Formula) -> Formula {
        !self.xor(a, b)
    }

    /// `then` holds if the condition does, and `otherwise` if not.
    pub fn ite(&mut self, condition: Formula, then: Formula, otherwise: Formula) -> Formula {
        let negated = condition.is_negated();
        let condition = condition.negated_if(negated);
        let (mut then, mut otherwise) = if negated { (otherwise, then) } else { (then, otherwise) };
        if then == condition {
            then = Formula::TRUE;
        } else if then == !condition {
            then = Formula::FALSE;
        }
        if otherwise == condition {
            otherwise = Formula::FALSE;
        } else if otherwise == !condition {
            otherwise = Formula::TRUE;
        }
        match (then, otherwise) {
            _ if condition == Formula::TRUE => then,
            _ if then == otherwise => then,
            _ if then == !otherwise => self.iff(condition, then),
            (Formula::TRUE, _) => self.or(&[condition, otherwise]),
            (Formula::FALSE, _) => self.and(&[!condition, otherwise]),
            (_, Formula::TRUE) => self.or(&[!condition, then]),
            (_, Formula::FALSE) => self.and(&[condition, then]),
            _ => {
                let negated = then.is_negated();
                let args = [condition, then.negated_if(negated), otherwise.negated_if(negated)];
                self.intern(Op::Ite, &args).negated_if(negated)
            }
        }
    }

    /// At most one of them holds.
    pub fn at_most_one(&mut self, formulas: &[Formula]) -> Formula {
        let mut parts = Vec::new();
        if formulas.len() <= FEW {
            for (place, &first) in formulas.iter().enumerate() {
                for &second in &formulas[place + 1..] {
                    parts.push(self.or(&[!first, !second]));
                }
            }
        } else {
            // "One of the formulas up to here holds." A chain, as in `cardinality.rs`.
            let mut any = formulas[0];
            for &formula in &formulas[1..] {
                parts.push(self.or(&[!any, !formula]));
                any = self.or(&[any, formula]);
            }
        }
        self.and(&parts)
    }

    /// Exactly one of them holds.
    pub fn exactly_one(&mut self, formulas: &[Formula]) -> Formula {
        let most = self.at_most_one(formulas);
        let least = self.or(formulas);
        self.and(&[most, least])
    }

    /// The value of a formula under values of the variables.
    pub fn evaluate(&self, formula: Formula, value: impl Fn(Var) -> bool) -> bool {
        match self.op(formula.node()) {
            Op::True => return !formula.is_negated(),
            Op::Var => return value(self.var(formula.node())) != formula.is_negated(),
            Op::And | Op::Xor | Op::Ite => {}
        }
        let mut needed = vec![false; formula.node() + 1];
        needed[formula.node()] = true;
        for node in (0..needed.len()).rev() {
            if needed[node] {
                self.args(node).iter().for_each(|arg| needed[arg.node()] = true);
            }
        }
        let mut values = vec![true; needed.len()];
        for node in (0..needed.len()).filter(|&node| needed[node]) {
            let holds = |arg: &Formula| values[arg.node()] != arg.is_negated();
            let args = self.args(node);
            values[node] = match self.op(node) {
                Op::True => true,
                Op::Var => value(self.var(node)),
                Op::And => args.iter().all(holds),
                Op::Xor => holds(&args[0]) != holds(&args[1]),
                Op::Ite => holds(if holds(&args[0]) { &args[1] } else { &args[2] }),
            };
        }
        values[formula.node()] != formula.is_negated()
    }

    pub(super) fn op(&self, node: usize) -> Op {
        self.nodes[node].op
    }

    pub(super) fn var(&self, node: usize) -> Var {
        Var::new(self.nodes[node].start as usize)
    }

    pub(super) fn args(&self, node: usize) -> &[Formula] {
        let Node { start, len, .. } = self.nodes[node];
        if len == 0 { &[] } else { &self.args[start as usize..(start + len) as usize] }
    }

    /// Whether at most one node has this one as an argument.
    pub(super) fn is_used_once(&self, node: usize) -> bool {
        self.nodes[node].uses <= 1
    }

    /// The first two-level rule that applies to the arguments of a conjunction, which are sorted.
    fn simplify(&mut self, args: &[Formula]) -> Simpler {
        let has = |formula: Formula| args.binary_search(&formula).ok();
        for (place, &arg) in args.iter().enumerate() {
            let inner = self.args(arg.node());
            if self.op(arg.node()) != Op::And || inner.len() > SMALL {
                continue;
            }
            if arg.is_negated() {
                // A disjunction of the negations of `inner`.
                if inner.iter().any(|&formula| has(!formula).is_some()) {
                    return Simpler::Without(place);
                }
                if inner.iter().any(|&formula| has(formula).is_some()) {
                    let rest: Vec<Formula> =
                        inner.iter().copied().filter(|&formula| has(formula).is_none()).collect();
                    return Simpler::With(place, !self.conjunction(&rest));
                }
            } else {
                if inner.iter().any(|&formula| has(!formula).is_some()) {
                    return Simpler::False;
                }
                if let Some(place) = inner.iter().find_map(|&formula| has(formula)) {
                    return Simpler::Without(place);
                }
            }
        }
        Simpler::No
    }

    /// The conjunction of arguments as the invariant demands; none and one are possible.
    fn conjunction(&mut self, args: &[Formula]) -> Formula {
        match args {
            [] => Formula::TRUE,
            &[only] => only,
            _ => self.intern(Op::And, args),
        }
    }

    fn intern(&mut self, op: Op, args: &[Formula]) -> Formula {
        let hash = hash(op, args);
        let same = |&node: &u32| self.op(node as usize) == op && self.args(node as usize) == args;
        if let Some(&node) = self.table.find(hash, same) {
            return Formula(node << 1);
        }
        let node = self.nodes.len() as u32;
        assert!(node < 1 << 31, "at most 2^31 formulas");
        self.nodes.push(Node { op, start: self.args.len() as u32, len: args.len() as u32, uses: 0 });
        self.args.extend_from_slice(args);
        for arg in args {
            self.nodes[arg.node()].uses += 1;
        }
        let (nodes, args) = (&self.nodes, &self.args);
        self.table.insert_unique(hash, node, |&node| {
            let Node { op, start, len, .. } = nodes[node as usize];
            self::hash(op, &args[start as usize..(start + len) as usize])
        });
        Formula(node << 1)
    }
}

/// What a two-level rule does to the arguments of a conjunction.
enum Simpler {
    No,
    False,
    Without(usize),
    With(usize, Formula),
}

fn hash(op: Op, args: &[Formula]) -> u64 {
    let mut hasher = FxHasher::default();
    (op, args).hash(&mut hasher);
    hasher.finish()
}
