//! The verifier and the reference on explanations, good and bad, of random histories: do they accept the same?

use isoscope_history::{History, Txn};
use isoscope_levels::Level;
use isoscope_verify::verify;

use crate::axioms::{self, Explanation, LEVELS};
use crate::compare;
use crate::draw::{CLOCKED, CLOCKED_REPEATED, Dice, Kind, LISTS, MIXED, REPEATED, SMALL, TIMED, draw};
use crate::random::is_affordable;

/// Explanations good and bad: the verifier accepts one exactly when the axiom does.
#[test]
fn the_verifier_accepts_an_explanation_exactly_when_the_axiom_does() {
    let (mut accepted, mut refused) = (0, 0);
    let kinds = [SMALL, LISTS, MIXED, CLOCKED, TIMED, REPEATED, CLOCKED_REPEATED];
    for seed in 0..14_000 {
        let mut dice = Dice::new(seed);
        let kind = kinds[dice.below(kinds.len())];
        let history = crate::plan::build(&draw(Kind { txns: 5, ..kind }, &mut dice));
        if !is_affordable(&history) {
            continue;
        }
        for (level, found) in LEVELS.into_iter().zip(axioms::judge(&history, &LEVELS)).skip(1) {
            let mut explanation = found.unwrap_or_else(|| guess(&history, level));
            for _ in 0..dice.below(3) {
                change(&history, &mut explanation, &mut dice);
            }
            let expected = match explanation.snapshots {
                Some(_) => axioms::accepts_snapshots(&history, level, &explanation),
                None => axioms::accepts(&history, level, &explanation),
            };
            let verified = verify(&history, &compare::judgement_of(level, &explanation));
            assert_eq!(
                verified.is_ok(),
                expected,
                "seed {seed}: {level} {explanation:?} {verified:?}\n{history:?}"
            );
            *(if expected { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// What might explain a history that has no explanation.
fn guess(history: &History, level: Level) -> Explanation {
    let order = axioms::present(history);
    let sees_snapshot = axioms::sees_snapshot(level);
    let snapshots = sees_snapshot.then(|| (0..order.len() as u32).collect());
    let open = axioms::open_reads(history, &order).into_iter();
    let first = |(op, writers): (_, Vec<_>)| writers.first().map(|&writer| (op, writer));
    let says_it = sees_snapshot || axioms::sees_all_before(level);
    let sources = if says_it { Vec::new() } else { open.filter_map(first).collect() };
    Explanation { order, snapshots, sources }
}

/// Changes something about an explanation: two places of the order, a snapshot or a writer.
fn change(history: &History, explanation: &mut Explanation, dice: &mut Dice) {
    let Explanation { order, snapshots, sources } = explanation;
    if order.is_empty() {
        return;
    }
    let (i, j) = (dice.below(order.len()), dice.below(order.len()));
    match (snapshots, dice.below(3)) {
        (Some(snapshots), 0) => snapshots[i] = dice.below(i + 2) as u32,
        (Some(snapshots), 1) => snapshots[i] = i as u32,
        (None, 0) if !sources.is_empty() => {
            let chosen = dice.below(sources.len());
            let open = axioms::open_reads(history, &sorted(order));
            let (_, writers) = open.iter().find(|(op, _)| *op == sources[chosen].0).expect("it is open");
            sources[chosen].1 = writers[dice.below(writers.len())];
        }
        (None, 1) => order.sort_unstable(),
        _ => order.swap(i, j),
    }
}

fn sorted(order: &[Txn]) -> Vec<Txn> {
    let mut txns = order.to_vec();
    txns.sort_unstable();
    txns
}
