//! Evidence that was made for something else: changed, or of another history or level.
//!
//! It may be accepted only where the level is violated; and where it is, some proof must be accepted.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_check::{
    Case, Checker, Choice, Edge, Evidence, Finding, Judgement, Options, Proof, Through, Verdict,
};
use isoscope_history::{History, Txn};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::{Verifier, verify};

use super::claims::{draw_any, holds_by_definition};
use super::prover::{PROVABLE, Prover};
use super::{finding, violated};
use crate::axioms::{self, WEAK};
use crate::draw::{Dice, draw_small};
use crate::plan::{Plan, Step, build};

/// A small history of which no list repeats an element.
fn draw_provable(dice: &mut Dice) -> History {
    loop {
        let history = draw_any(dice);
        if !axioms::elements_repeat(&history) {
            return history;
        }
    }
}

/// Some name under which a proof is accepted.
fn name_for(verifier: &Verifier<'_>, level: Level, proof: &Proof) -> Option<Judgement> {
    let throughs = [Through::Dependencies, Through::Sessions, Through::RealTime];
    let names = Anomaly::ALL.into_iter().flat_map(|anomaly| throughs.map(|through| (anomaly, through)));
    let named = names.map(|(anomaly, through)| {
        let evidence = Evidence::Cases(proof.clone());
        violated(level, vec![Finding { through, ..finding(anomaly, evidence) }])
    });
    named.into_iter().find(|judgement| verifier.verify(judgement).is_ok())
}

/// The same proof with each of its cycles as the last, after which it is named.
fn endings(proof: &Proof) -> impl Iterator<Item = Proof> {
    let is_cycle = |&node: &usize| matches!(proof.cases[node], Case::Cycle(_));
    (0..proof.cases.len()).rev().filter(is_cycle).map(|last| {
        let mut cases = Vec::new();
        write_ending(proof, 0, last, &mut cases);
        Proof { cases }
    })
}

/// Writes a node and all below it, with some node at the end; gives its number.
fn write_ending(proof: &Proof, node: usize, last: usize, cases: &mut Vec<Case>) -> u32 {
    fn holds(proof: &Proof, node: usize, last: usize) -> bool {
        let Case::Split { cases, .. } = &proof.cases[node] else { return node == last };
        cases.iter().any(|&child| holds(proof, child as usize, last))
    }
    let number = cases.len();
    cases.push(proof.cases[node].clone());
    if let Case::Split { cases: children, .. } = &proof.cases[node] {
        let mut order: Vec<usize> = (0..children.len()).collect();
        order.sort_by_key(|&i| holds(proof, children[i] as usize, last));
        for i in order {
            let child = write_ending(proof, children[i] as usize, last, cases);
            if let Case::Split { cases, .. } = &mut cases[number] {
                cases[i] = child;
            }
        }
    }
    number as u32
}

/// What is violated has a proof that the verifier accepts under some name, and what holds has none.
#[test]
fn every_violation_of_a_small_history_can_be_certified() {
    let mut accepted = BTreeMap::new();
    for seed in 0..1_500 {
        let history = draw_provable(&mut Dice::new(seed));
        let (verifier, holds) = (Verifier::new(&history), holds_by_definition(&history));
        for level in PROVABLE {
            let proof = Prover::prove(&history, level);
            assert_eq!(proof.is_none(), holds(level), "{seed}: {level} {proof:?}\n{history:?}");
            let Some(proof) = proof else { continue };
            let name = name_for(&verifier, level, &proof)
                .or_else(|| endings(&proof).find_map(|proof| name_for(&verifier, level, &proof)));
            assert!(name.is_some(), "{seed}: {level} {proof:?}\n{history:?}");
            *accepted.entry(level).or_insert(0) += 1;
        }
    }
    assert!(accepted.len() == PROVABLE.len() && accepted.values().all(|&n| n > 100), "{accepted:?}");
}

/// A proof that is changed, or made for another history or level, is accepted only where the level is
/// violated.
#[test]
fn no_changed_proof_is_accepted_where_the_level_holds() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut dice = Dice::new(seed);
        let history = draw_provable(&mut dice);
        let proved = PROVABLE[dice.below(PROVABLE.len())];
        let Some(proof) = Prover::prove(&history, proved) else { continue };
        let other = draw_provable(&mut dice);
        for borrower in [&history, &other] {
            let (verifier, holds) = (Verifier::new(borrower), holds_by_definition(borrower));
            for _ in 0..4 {
                let changed = change_proof(&proof, &mut dice);
                for level in PROVABLE {
                    match name_for(&verifier, level, &changed) {
                        Some(judgement) if holds(level) => panic!("{seed}: {judgement:?}\n{borrower:?}"),
                        Some(_) => accepted += 1,
                        None => refused += 1,
                    }
                }
            }
        }
    }
    assert!(accepted > 1_000 && refused > 1_000, "{accepted} and {refused}");
}

/// A proof with one or two things changed: an alternative or an edge left out, turned, exchanged or bent.
fn change_proof(proof: &Proof, dice: &mut Dice) -> Proof {
    let mut proof = proof.clone();
    for _ in 0..=dice.below(2) {
        let all: Vec<Edge> = proof
            .cases
            .iter()
            .flat_map(|case| match case {
                Case::Cycle(edges) => edges.clone(),
                Case::Split { .. } => Vec::new(),
            })
            .collect();
        let place = dice.below(proof.cases.len());
        let (what, which) = (dice.below(4), dice.below(100));
        match &mut proof.cases[place] {
            Case::Cycle(edges) if !edges.is_empty() => {
                let i = which % edges.len();
                match what {
                    0 => drop(edges.remove(i)),
                    1 => edges[i].to = edges[(i + 1) % edges.len()].to,
                    2 => edges[i] = all[which % all.len()].clone(),
                    _ => edges[i].why = all[which % all.len()].why.clone(),
                }
            }
            Case::Cycle(_) => {}
            Case::Split { choice: Choice::Source { writers, .. }, cases } => match what {
                0 => drop(writers.pop()),
                1 => writers.reverse(),
                2 => cases.reverse(),
                _ => drop(writers.pop().and(cases.pop())),
            },
            Case::Split { choice: Choice::Versions { first, second, .. }, cases } => match what {
                0 => drop(cases.pop()),
                1 => cases.reverse(),
                2 => std::mem::swap(first, second),
                _ => *second = Txn(which as u32 % 4),
            },
        }
    }
    // Nodes that lost their parents, and the numbers that would leave gaps, are left for the verifier to
    // refuse; but a last one may go.
    let reached: BTreeSet<u32> = proof
        .cases
        .iter()
        .flat_map(|case| match case {
            Case::Split { cases, .. } => cases.clone(),
            Case::Cycle(_) => Vec::new(),
        })
        .collect();
    while proof.cases.len() > 1 && !reached.contains(&(proof.cases.len() as u32 - 1)) {
        proof.cases.pop();
    }
    proof
}

/// The evidence of one history is accepted for another, or for another level, only where that is violated.
#[test]
fn no_borrowed_evidence_is_accepted_where_the_level_holds() {
    let (mut accepted, mut refused) = (BTreeSet::new(), 0);
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let plan = draw_small(&mut dice);
        let lender = build(&plan);
        let borrower = build(&change_a_read(&plan, &mut dice));
        let verdicts = axioms::judge(&borrower, WEAK);
        let mut checker = Checker::new(&lender, Options::default());
        for &level in WEAK {
            let Verdict::Violated(findings) = checker.check(level).verdict else { continue };
            for finding in findings {
                for (&level, verdict) in WEAK.iter().zip(&verdicts) {
                    let judgement = violated(level, vec![finding.clone()]);
                    if verify(&borrower, &judgement).is_ok() {
                        assert!(verdict.is_none(), "seed {seed}: {judgement:?}\n{borrower:?}");
                        accepted.insert(finding.anomaly);
                    } else {
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(accepted.len() >= 12 && refused > 1_000, "{accepted:?}, {refused} refused");
}

/// The same plan with another value in one read.
fn change_a_read(plan: &[Plan], dice: &mut Dice) -> Vec<Plan> {
    let mut plan = plan.to_vec();
    let mut reads: Vec<&mut Step> = plan
        .iter_mut()
        .flat_map(|txn| &mut txn.steps)
        .filter(|step| matches!(step, Step::Read(..) | Step::ReadList(..)))
        .collect();
    if !reads.is_empty() {
        let chosen = dice.below(reads.len());
        match &mut *reads[chosen] {
            Step::Read(_, value) => *value = Some(dice.below(4) as u32),
            Step::ReadList(_, list) if list.len() > 1 => list.swap(0, 1),
            Step::ReadList(_, list) => list.push(1 + dice.below(3) as u32),
            _ => {}
        }
    }
    plan
}
