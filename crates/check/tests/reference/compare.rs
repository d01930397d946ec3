//! One history, judged by everybody: do the engine, the verifier and the reference agree?

use std::sync::Arc;

use isoscope_check::{Checker, Judgement, Options, Unknown, Verdict, verify};
use isoscope_history::{History, Txn, notation};
use isoscope_levels::Level;

use crate::axioms::{self, WEAK};
use crate::plan::{Plan, build, shrink};

/// Panics when somebody disagrees on a plan, with the smallest history that still shows it.
pub(crate) fn agree(plan: Vec<Plan>, what: impl std::fmt::Display) {
    if let Some(complaint) = complain(&plan) {
        panic!("{what}: {}", shrink(plan, complaint, complain));
    }
}

fn complain(plan: &[Plan]) -> Option<String> {
    let history = build(plan);
    compare(&history).err().map(|complaint| format!("{complaint}\n    {}", notation::print(&history)))
}

/// Compares the verdicts of all levels that the reference knows, and verifies every certificate.
pub(crate) fn compare(history: &History) -> Result<(), String> {
    let levels = if history.txn_count() < 5 { &axioms::LEVELS[..] } else { WEAK };
    let expected = axioms::judge(history, levels);
    let mut checker = Checker::new(history, Options::default());
    for (&level, expected) in levels.iter().zip(&expected) {
        let judgement = checker.check(level);
        verify(history, &judgement)
            .map_err(|refutation| format!("{level}: {refutation} in {judgement:?}"))?;
        // What a list says that is wrong, or contradicts another, is no version order; PL-1 knows nothing
        // else.
        if level == Level::AdyaPl1 && history.has_lists() && axioms::lists_contradict(history) {
            continue;
        }
        compare_verdicts(history, &judgement, expected.as_deref())?;
        verify_order(history, level, expected.as_deref())?;
    }
    Ok(())
}

fn compare_verdicts(
    history: &History,
    judgement: &Judgement,
    expected: Option<&[Txn]>,
) -> Result<(), String> {
    let Judgement { level, verdict, .. } = judgement;
    match (verdict, expected) {
        (Verdict::Holds(_), None) => Err(format!("{level} holds, says the engine, but it is violated")),
        (Verdict::Violated(findings), Some(order)) => {
            Err(format!("{level} is violated, says the engine, but it holds: {order:?}; {findings:?}"))
        }
        (Verdict::Unknown(Unknown::NothingToCheck), _) if axioms::present(history).is_empty() => Ok(()),
        (Verdict::Unknown(Unknown::Ambiguous { .. }), _) => Ok(()),
        (Verdict::Unknown(Unknown::NoEngine), _) if !WEAK.contains(level) => Ok(()),
        (Verdict::Unknown(unknown), _) => Err(format!("{level} is said to be {unknown:?}")),
        _ => Ok(()),
    }
}

/// The reference's own order must pass the verifier, unless the reference had to choose writers.
fn verify_order(history: &History, level: Level, expected: Option<&[Txn]>) -> Result<(), String> {
    match expected {
        Some(order) if WEAK.contains(&level) && !axioms::values_repeat(history) => {
            verify_that_holds(history, level, order)
                .map_err(|refutation| format!("{level}: the reference's {order:?} is refused: {refutation}"))
        }
        _ => Ok(()),
    }
}

/// Asks the verifier whether an order shows that a level holds.
pub(crate) fn verify_that_holds(
    history: &History,
    level: Level,
    order: &[Txn],
) -> Result<(), isoscope_check::Refutation> {
    let order = (level != Level::CutIsolation).then(|| Arc::from(order));
    let witness = Witness { order, ..Witness::default() };
    verify(history, &Judgement { level, verdict: Verdict::Holds(witness), implied_by: None })
}

/// Runs a test on one thread: small histories gain nothing from more.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread starts");
    pool.install(test);
}

/// Histories that were once judged wrongly, each the smallest that showed it.
#[test]
fn histories_once_judged_wrongly() {
    let mut complaints = Vec::new();
    for text in [
        // A list without an earlier append of a transaction whose later one it holds.
        "T1: a(x,1) a(x,2)  T2: r(x,[2])",
        "T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[3 2])",
        "T1: a(x,1) a(x,2)  T2: r(x,[2 1])",
        // The same, and an edge that leans on the wrong read.
        "T1: r(x,[2]) ; T2: a(x,1) a(x,2)",
        // A list that holds an element twice says nothing about the order of versions.
        "T1: a(x,1)  T2: a(x,2)  T3: r(x,[2 1 2])",
        "T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1 2])",
        "T1: a(x,1) r(y,1)  T2: a(x,2) w(y,1)  T3: r(x,[1 1])",
        // A list read twice, once in the middle of a transaction's appends.
        "T1: a(x,1) a(x,2)  T2: r(x,[]) r(x,[1])",
        "T1: a(x,1)  T2: r(x,[]) r(x,[1 1])",
        // Ambiguous lists that no choice of writers makes repeatable, and that some choice does.
        "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1]) r(x,[])",
        "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1]) r(x,[1 1])",
        // An ambiguous read and one of an overwritten value may be of one transaction.
        "T1: w(x,2) w(x,1)  T2: w(x,1)  T3: r(x,1) r(x,2)",
        "T1: w(x,2) w(x,1)  T2: w(x,1)  T3: r(x,1) w(x,3) r(x,2)",
        // A read of one's own last write, of a value that somebody else's wrong read returned too.
        "T1: w(z,1) r(z,nil) r(z,1)  T2: w(z,1)  T3: d(z) r(z,1)",
        // One of two transactions of unknown outcome was there, and each reads y twice.
        "T1: w(y,1)  T2: r(x,5)  U1?: w(x,5) r(y,0) r(y,1)  U2?: w(x,5) r(y,0) r(y,1)",
        "T1: a(l,1)  T2: a(l,1)  T3: w(x,1)  U?: r(x,0) r(x,1) a(l,2)  T4: r(l,[1 2])",
    ] {
        let history = notation::parse(text).unwrap();
        complaints.extend(compare(&history).err().map(|complaint| format!("{text}\n    {complaint}\n")));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.concat());
}
