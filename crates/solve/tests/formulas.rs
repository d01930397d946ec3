//! Formulas against their truth tables: more than 15,000 random formulas over 5 variables, with every operation, and
//! 12,000 that are required alone.
//!
//! A random formula is built in [`Formulas`] and, beside it, as a truth table of 32 bits. The value of the formula, the
//! models of its clauses, and the literals of both directions must agree with the table.

mod random;

use isoscope_solve::{
    ClauseSink, Formula, Formulas, Lit, Outcome, Solver, Tseitin, Var, at_most_one, exactly_one,
};
use random::Random;

const VARS: usize = 5;
const ROWS: u32 = 1 << VARS;

/// Whether a variable is true in a row of the truth table.
fn is_true(row: u32, var: Var) -> bool {
    row >> var.index() & 1 == 1
}

fn table_of(mut holds: impl FnMut(u32) -> bool) -> u32 {
    (0..ROWS).map(|row| u32::from(holds(row)) << row).sum()
}

fn assumptions_of(row: u32) -> Vec<Lit> {
    (0..VARS).map(Var::new).map(|var| var.is(is_true(row, var))).collect()
}

/// Formulas and their truth tables, each built from earlier ones.
fn random_formulas(random: &mut Random, formulas: &mut Formulas) -> Vec<(Formula, u32)> {
    let mut all = vec![(Formula::TRUE, u32::MAX)];
    for var in (0..VARS).map(Var::new) {
        all.push((formulas.lit(var.positive()), table_of(|row| is_true(row, var))));
    }
    for _ in 0..4 + random.below(20) {
        let count = 1 + random.below(4) as usize + if random.below(8) == 0 { 6 } else { 0 };
        let args: Vec<(Formula, u32)> = (0..count.max(3))
            .map(|_| (all[random.below(all.len() as u32) as usize], random.below(2) == 0))
            .map(|((formula, table), negate)| if negate { (!formula, !table) } else { (formula, table) })
            .collect();
        let [(a, ta), (b, tb), (c, tc), ..] = args[..] else { unreachable!("at least three") };
        let (some, tables): (Vec<Formula>, Vec<u32>) = args[..count].iter().copied().unzip();
        let ones = |row: u32| tables.iter().filter(|&&table| table >> row & 1 == 1).count();
        all.push(match random.below(8) {
            0 => (formulas.and(&some), tables.iter().fold(u32::MAX, |all, table| all & table)),
            1 => (formulas.or(&some), tables.iter().fold(0, |any, table| any | table)),
            2 => (formulas.xor(a, b), ta ^ tb),
            3 => (formulas.iff(a, b), !(ta ^ tb)),
            4 => (formulas.ite(a, b, c), ta & tb | !ta & tc),
            5 => (formulas.implies(a, b), !ta | tb),
            6 => (formulas.at_most_one(&some), table_of(|row| ones(row) <= 1)),
            _ => (formulas.exactly_one(&some), table_of(|row| ones(row) == 1)),
        });
    }
    all
}

fn solver() -> Solver {
    let mut solver = Solver::new();
    (0..VARS).for_each(|_| {
        solver.new_var();
    });
    solver
}

#[test]
fn formulas_and_clauses_agree_with_truth_tables() {
    let (mut nontrivial, mut checked) = (0, 0);
    for seed in 0..1_000 {
        let random = &mut Random::new(seed);
        let mut formulas = Formulas::new();
        let all = random_formulas(random, &mut formulas);
        // One encoder for several formulas, in all ways, so that directions are added later.
        let (mut solver, mut tseitin) = (solver(), Tseitin::new());
        for (turn, &(formula, table)) in all.iter().rev().take(20).enumerate() {
            checked += 1;
            nontrivial += u32::from(table != 0 && table != u32::MAX);
            assert_eq!(table_of(|row| formulas.evaluate(formula, |var| is_true(row, var))), table);
            if turn % 3 > 0 {
                let lit = tseitin.assumption(&formulas, formula, &mut solver);
                for row in 0..ROWS {
                    let mut assumptions = assumptions_of(row);
                    assumptions.push(lit);
                    let holds = table >> row & 1 == 1;
                    assert_eq!(solver.solve(&assumptions) == Outcome::Sat, holds, "seed {seed} row {row}");
                }
            }
            if turn % 3 < 2 {
                let lit = tseitin.literal(&formulas, formula, &mut solver);
                for row in 0..ROWS {
                    assert_eq!(solver.solve(&assumptions_of(row)), Outcome::Sat);
                    assert_eq!(solver.value(lit), table >> row & 1 == 1, "seed {seed} row {row}");
                }
            }
        }
        // Formulas that are required together, and literals that exist already.
        let mut left = u32::MAX;
        for &(formula, table) in all.iter().rev().take(3) {
            tseitin.require(&formulas, formula, &mut solver);
            left &= table;
            let models = table_of(|row| solver.solve(&assumptions_of(row)) == Outcome::Sat);
            assert_eq!(models, left, "seed {seed}");
        }
    }
    assert!(checked > 15_000 && nontrivial > checked / 2, "{nontrivial} of {checked}");
}

/// A formula that is required has exactly the models of its truth table, without help of other clauses.
#[test]
fn required_formulas_alone() {
    for seed in 0..3_000 {
        let random = &mut Random::new(seed);
        let mut formulas = Formulas::new();
        let all = random_formulas(random, &mut formulas);
        for &(formula, table) in all.iter().rev().take(2) {
            for (formula, table) in [(formula, table), (!formula, !table)] {
                let mut solver = solver();
                Tseitin::new().require(&formulas, formula, &mut solver);
                let models = table_of(|row| solver.solve(&assumptions_of(row)) == Outcome::Sat);
                assert_eq!(models, table, "seed {seed}");
            }
        }
    }
}

/// Equal formulas are one node, and the simplest redundancies disappear.
#[test]
fn formulas_are_simplified_while_they_are_built() {
    let formulas = &mut Formulas::new();
    let [a, b, c] = [0, 1, 2].map(|var| formulas.lit(Var::new(var).positive()));
    let either = formulas.or(&[a, b]);
    assert_eq!(formulas.or(&[b, a, b]), either);
    assert_eq!(formulas.and(&[a, either]), a);
    assert_eq!(formulas.and(&[a, !either]), Formula::FALSE);
    let both = formulas.and(&[a, b]);
    assert_eq!(formulas.and(&[a, both]), both);
    let implication = formulas.implies(a, b);
    assert_eq!(formulas.and(&[a, implication]), both);
    let differ = formulas.xor(a, b);
    assert_eq!(formulas.xor(!a, b), !differ);
    assert_eq!(formulas.ite(c, a, a), a);
    assert_eq!(formulas.ite(a, b, !b), !differ);
    assert_eq!(formulas.ite(a, a, b), either);
    let choice = formulas.ite(c, a, b);
    assert_eq!(formulas.ite(!c, b, a), choice);
    assert_eq!(formulas.ite(c, !a, !b), !choice);
    assert_eq!(formulas.and(&[]), Formula::TRUE);
    assert_eq!(formulas.or(&[]), Formula::FALSE);
}

/// At most one and exactly one of up to 12 literals, over all assignments, by propagation alone.
#[test]
fn cardinalities_by_propagation() {
    for count in 0..=12 {
        let mut solvers = [Solver::new(), Solver::new()];
        for solver in &mut solvers {
            (0..count).for_each(|_| {
                solver.new_var();
            });
        }
        let lits: Vec<Lit> = (0..count).map(|var| Var::new(var).positive()).collect();
        at_most_one(&mut solvers[0], &lits);
        exactly_one(&mut solvers[1], &lits);
        for row in 0..1u32 << count {
            let assumptions: Vec<Lit> =
                lits.iter().map(|lit| lit.var().is(is_true(row, lit.var()))).collect();
            let [most, one] = &mut solvers;
            let ones = row.count_ones();
            assert_eq!(most.solve(&assumptions) == Outcome::Sat, ones <= 1);
            assert_eq!(one.solve(&assumptions) == Outcome::Sat, ones == 1);
        }
        // A conflict would need a decision.
        assert_eq!(solvers.map(|solver| solver.conflicts()), [0, 0]);
    }
}

/// A deep formula is built, evaluated and encoded without recursion.
#[test]
fn deep_formulas() {
    let (mut solver, formulas) = (Solver::new(), &mut Formulas::new());
    let lits: Vec<Lit> = (0..100_000).map(|_| ClauseSink::new_var(&mut solver).positive()).collect();
    let mut formula = Formula::TRUE;
    for (place, &lit) in lits.iter().enumerate() {
        let lit = formulas.lit(lit);
        formula = if place % 2 == 0 { formulas.and(&[formula, lit]) } else { formulas.or(&[formula, lit]) };
    }
    assert!(formulas.evaluate(formula, |var| var.index() == 99_999));
    Tseitin::new().require(formulas, !formula, &mut solver);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    assert_eq!(solver.solve(&[lits[99_999]]), Outcome::Unsat);
}
