//! Random executions at a level: what is found without a prediction (`MonkeyDB`, Biswas and others 2021).
//!
//! The transactions of a run are executed again, one at a time. The sessions are in a random order, and every read is served
//! from a random version that the level permits. The share of executions that violate the target is the baseline for
//! predictions. An execution counts only if the verifier confirms its verdicts.

use std::collections::BTreeMap;

use isoscope_application::Call;
use isoscope_certificate::{Limit, Unknown, Verdict};
use isoscope_check::Watch;
use isoscope_levels::Level;
use isoscope_replay::{RandomLegal, Store};
use isoscope_workload::Dice;

use crate::failure::Failure;
use crate::limited::Limited;
use crate::run::{Run, shuffled};
use crate::verdict::judge;

/// What random executions show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// How many executions ended: `violating + satisfying + nothing + failures.len()`.
    pub runs: usize,
    /// How many violate the target.
    pub violating: usize,
    /// How many satisfy the target.
    pub satisfying: usize,
    /// In how many no read can be related to a write, because nobody wrote: there is nothing to violate.
    pub nothing: usize,
    /// How many violate the target and broke rules of the application.
    pub breaking: usize,
    /// The broken rules, each with the number of executions. Numbers in a rule are those of its first execution.
    pub rules: Vec<(String, usize)>,
    /// The executions that failed.
    pub failures: Vec<Failure>,
    /// The limit that ended the baseline, if one did.
    pub limit: Option<Limit>,
}

impl Baseline {
    /// The share of executions that violate the target, from 0 to 1. Failed executions count as those that do not.
    pub fn share(&self) -> f64 {
        if self.runs == 0 { 0.0 } else { self.violating as f64 / self.runs as f64 }
    }
}

/// Executes a run `runs` times at random. `seed` determines all random choices. Once a limit is reached, no execution is begun,
/// and the one that was interrupted does not count.
pub fn baseline(
    run: &Run<'_>,
    level: Level,
    target: Level,
    runs: usize,
    seed: u64,
    watch: &dyn Watch,
) -> Baseline {
    let mut sessions: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
    for &(_, call) in &run.calls {
        sessions.entry(call.session).or_default().push(call);
    }
    // Several attempts at a transaction are one call.
    for calls in sessions.values_mut() {
        calls.sort_unstable();
        calls.dedup();
    }
    let sessions: Vec<Vec<Call>> = sessions.into_values().collect();
    let mut dice = Dice::new(seed, "baseline");
    let (mut baseline, mut rules) = (Baseline::default(), BTreeMap::<String, (String, usize)>::new());
    for _ in 0..runs {
        let (order, choices) = (shuffled(sessions.clone(), &mut dice), dice.bits());
        match execute(run, &order, choices, (level, target), watch) {
            Ok((true, broken)) => {
                baseline.violating += 1;
                baseline.breaking += usize::from(!broken.is_empty());
                for rule in broken {
                    rules.entry(without_numbers(&rule)).or_insert((rule, 0)).1 += 1;
                }
            }
            Ok((false, _)) => baseline.satisfying += 1,
            Err(Failure::Limit(limit)) => {
                baseline.limit = Some(limit);
                break;
            }
            Err(Failure::Unknown { why: Unknown::NothingToCheck, .. }) => baseline.nothing += 1,
            Err(failure) => baseline.failures.push(failure),
        }
        baseline.runs += 1;
    }
    baseline.rules = rules.into_values().collect();
    baseline
}

/// Executes the calls of a run in an order; whether the target is violated, and the broken rules.
fn execute(
    run: &Run<'_>,
    order: &[Call],
    choices: u64,
    (level, target): (Level, Level),
    watch: &dyn Watch,
) -> Result<(bool, Vec<String>), Failure> {
    let mut store = Store::new(run.application, level, run.seed)?;
    let mut policy = Limited::new(RandomLegal::new(choices), watch);
    for &call in order {
        policy.run(&mut store, call)?;
    }
    let history = store.history()?;
    let (_, at_target) = judge(&history, level, target, watch)?;
    Ok((matches!(at_target.verdict, Verdict::Violated(_)), store.broken_rules()))
}

/// A rule with every number as `#`, so that the same rule of other rows is one.
fn without_numbers(rule: &str) -> String {
    let mut text = String::new();
    for letter in rule.chars() {
        match letter {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            other => text.push(other),
        }
    }
    text
}
