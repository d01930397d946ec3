//! Formulas to clauses (Tseitin 1968), in only the direction that is needed (Plaisted and Greenbaum 1986).
//!
//! A node gets a variable, and clauses that connect it with the literals of its arguments. If the node is only ever
//! required to hold, the clauses say that the variable implies the node; if only ever to fail, that the node implies
//! the variable. The clauses of the other direction are added when they are needed first. A conjunction that is the argument
//! of one conjunction only, with the same sign, gets no variable: its arguments take its place. A formula that is
//! required gets no variable either.
//!
//! Consequence: the variable of a node may differ from the value of the formula in a model. Use
//! [`Formulas::evaluate`] or [`Tseitin::literal`] for values.
//!
//! Invariant: `directions` of a node are those for which all clauses of the node and below it have been added.

use super::ClauseSink;
use super::formulas::{Formula, Formulas, Op};
use crate::lit::Lit;

/// The clauses of formulas in one solver. Use one for each pair of a [`Formulas`] and a solver.
///
/// ```
/// use isoscope_solve::{Formulas, Outcome, Solver, Tseitin};
///
/// let mut solver = Solver::new();
/// let [a, b] = [(); 2].map(|()| solver.new_var().positive());
/// let (mut formulas, mut tseitin) = (Formulas::new(), Tseitin::new());
/// let (fa, fb) = (formulas.lit(a), formulas.lit(b));
/// let differ = formulas.xor(fa, fb);
/// // A literal that implies the formula, to be assumed in one search and not in another.
/// let assumption = tseitin.assumption(&formulas, differ, &mut solver);
/// assert_eq!(solver.solve(&[assumption, a, b]), Outcome::Unsat);
/// assert_eq!(solver.solve(&[a, b]), Outcome::Sat);
/// tseitin.require(&formulas, differ, &mut solver);
/// assert_eq!(solver.solve(&[a, b]), Outcome::Unsat);
/// ```
#[derive(Default)]
pub struct Tseitin {
    /// The literal of each node.
    lits: Vec<Option<Lit>>,
    /// The directions of each node that have been encoded.
    directions: Vec<u8>,
    /// Nodes to encode, and the directions.
    work: Vec<(usize, u8)>,
}

/// The literal implies the node.
const IMPLIES: u8 = 1;
/// The node implies the literal.
const IMPLIED: u8 = 2;

impl Tseitin {
    /// No clauses yet.
    pub fn new() -> Tseitin {
        Tseitin::default()
    }

    /// Adds clauses that require a formula to hold.
    pub fn require(&mut self, formulas: &Formulas, formula: Formula, sink: &mut impl ClauseSink) {
        let mut required = vec![formula];
        while let Some(formula) = required.pop() {
            if sink.is_stopped() {
                break;
            }
            let args = formulas.args(formula.node());
            match formulas.op(formula.node()) {
                Op::True if formula.is_negated() => sink.add_clause(&[]),
                Op::True => {}
                Op::Var => {
                    let lit = self.lit(formulas, formula, sink);
                    sink.add_clause(&[lit]);
                }
                Op::And if !formula.is_negated() => required.extend(args.iter().rev()),
                _ => self.define(formulas, formula.node(), None, formula.is_negated(), sink),
            }
        }
        self.finish(formulas, sink);
    }

    /// A literal that is true exactly if the formula holds.
    pub fn literal(&mut self, formulas: &Formulas, formula: Formula, sink: &mut impl ClauseSink) -> Lit {
        self.literal_in(formulas, formula, IMPLIES | IMPLIED, sink)
    }

    /// A literal that implies the formula. It may be false although the formula holds.
    pub fn assumption(&mut self, formulas: &Formulas, formula: Formula, sink: &mut impl ClauseSink) -> Lit {
        let direction = if formula.is_negated() { IMPLIED } else { IMPLIES };
        self.literal_in(formulas, formula, direction, sink)
    }

    fn literal_in(
        &mut self,
        formulas: &Formulas,
        formula: Formula,
        directions: u8,
        sink: &mut impl ClauseSink,
    ) -> Lit {
        let lit = self.lit(formulas, formula, sink);
        self.work.push((formula.node(), directions));
        self.finish(formulas, sink);
        lit
    }

    /// The literal of a formula, whose clauses may still be missing.
    fn lit(&mut self, formulas: &Formulas, formula: Formula, sink: &mut impl ClauseSink) -> Lit {
        let node = formula.node();
        if node >= self.lits.len() {
            self.lits.resize(formulas.nodes(), None);
            self.directions.resize(formulas.nodes(), 0);
        }
        let lit = *self.lits[node].get_or_insert_with(|| match formulas.op(node) {
            Op::Var => formulas.var(node).positive(),
            _ => sink.new_var().positive(),
        });
        lit.negated_if(formula.is_negated())
    }

    /// The literal of an argument, which has to hold, or to fail, together with a node. Its clauses are left to do.
    fn arg(&mut self, formulas: &Formulas, arg: Formula, directions: u8, sink: &mut impl ClauseSink) -> Lit {
        let lit = self.lit(formulas, arg, sink);
        let both = directions == IMPLIES | IMPLIED;
        let directions =
            if arg.is_negated() && !both { directions ^ (IMPLIES | IMPLIED) } else { directions };
        self.work.push((arg.node(), directions));
        lit
    }

    /// Encodes everything that is left to do.
    fn finish(&mut self, formulas: &Formulas, sink: &mut impl ClauseSink) {
        while let Some((node, directions)) = self.work.pop() {
            if sink.is_stopped() {
                self.work.clear();
                break;
            }
            let missing = directions & !self.directions[node];
            self.directions[node] |= directions;
            let lit = self.lits[node];
            for (direction, negated) in [(IMPLIES, false), (IMPLIED, true)] {
                if missing & direction != 0 {
                    self.define(formulas, node, lit, negated, sink);
                }
            }
        }
    }

    /// Adds the clauses of *if the literal holds, so does the node*; negated: *if the literal fails, so does the
    /// node*. Without a literal the node must hold, or must fail.
    fn define(
        &mut self,
        formulas: &Formulas,
        node: usize,
        lit: Option<Lit>,
        negated: bool,
        sink: &mut impl ClauseSink,
    ) {
        let mut clause: Vec<Lit> = lit.map(|lit| lit.negated_if(!negated)).into_iter().collect();
        let fixed = clause.len();
        let direction = if negated { IMPLIED } else { IMPLIES };
        let add = |clause: &mut Vec<Lit>, lits: &[Lit], sink: &mut _| {
            clause.extend_from_slice(lits);
            ClauseSink::add_clause(sink, clause);
            clause.truncate(fixed);
        };
        match formulas.op(node) {
            Op::Var => {}
            Op::True => {
                if !negated {
                    return;
                }
                // The literal of the constant cannot fail.
                add(&mut clause, &[], sink);
            }
            Op::And => {
                let mut lits = Vec::new();
                let mut args: Vec<Formula> = formulas.args(node).iter().rev().copied().collect();
                while let Some(arg) = args.pop() {
                    if sink.is_stopped() {
                        return;
                    }
                    let inner = arg.node();
                    let nested = formulas.op(inner) == Op::And && !arg.is_negated();
                    if nested && formulas.is_used_once(inner) && !self.has_lit(inner) {
                        args.extend(formulas.args(inner).iter().rev());
                    } else {
                        lits.push(self.arg(formulas, arg, direction, sink));
                    }
                }
                if negated {
                    let negated: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
                    add(&mut clause, &negated, sink);
                } else {
                    for lit in lits {
                        add(&mut clause, &[lit], sink);
                    }
                }
            }
            Op::Xor => {
                let args = formulas.args(node);
                let a = self.arg(formulas, args[0], IMPLIES | IMPLIED, sink);
                let b = self.arg(formulas, args[1], IMPLIES | IMPLIED, sink).negated_if(negated);
                add(&mut clause, &[a, b], sink);
                add(&mut clause, &[!a, !b], sink);
            }
            Op::Ite => {
                let args = formulas.args(node);
                let condition = self.arg(formulas, args[0], IMPLIES | IMPLIED, sink);
                let then = self.arg(formulas, args[1], direction, sink).negated_if(negated);
                let otherwise = self.arg(formulas, args[2], direction, sink).negated_if(negated);
                add(&mut clause, &[!condition, then], sink);
                add(&mut clause, &[condition, otherwise], sink);
                // Redundant, but lets unit propagation conclude without the condition.
                add(&mut clause, &[then, otherwise], sink);
            }
        }
    }

    fn has_lit(&self, node: usize) -> bool {
        self.lits.get(node).is_some_and(Option::is_some)
    }
}
