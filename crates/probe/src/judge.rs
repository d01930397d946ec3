//! What runs say about isolation levels.
//!
//! A run becomes a history in the one-line notation, with the order of begins and ends as real time. The checker decides every level
//! for every different history once. A [`Tally`] counts the runs that violate each level, and keeps the smallest.

use std::collections::hash_map::Entry;
use std::rc::Rc;

use isoscope_certificate::{Unknown, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_history::notation;
use isoscope_levels::{Anomaly, Level};
use rustc_hash::FxHashMap;

use crate::plan::Action;
use crate::programs::{Program, key_name};
use crate::run::{Run, Step, StepResult};

/// A run that violates a level.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The program.
    pub program: Program,
    /// What happened.
    pub run: Run,
    /// The anomaly.
    pub anomaly: Anomaly,
}

/// What the runs say about a level.
#[derive(Clone, Debug)]
pub struct LevelTally {
    /// The level.
    pub level: Level,
    /// The number of runs that violate it.
    pub violated: u64,
    /// The number of runs that show each anomaly, the most frequent first. A run may show several.
    pub anomalies: Vec<(Anomaly, u64)>,
    /// The smallest violation: the first of those with the fewest failed transactions, transactions, operations and waits.
    pub smallest: Option<Violation>,
    /// The number of runs on which the checker did not decide.
    pub undecided: u64,
}

/// What the checker says about each level.
type Verdicts = Rc<[Finding]>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    Holds,
    Violated(Vec<Anomaly>),
    /// Nothing that was read can be related to a write.
    Empty,
    Undecided,
}

/// Judges runs.
#[derive(Debug)]
pub(crate) struct Judge {
    /// Each after the levels it implies.
    levels: Vec<Level>,
    known: FxHashMap<String, Verdicts>,
    pub(crate) tallies: Vec<LevelTally>,
}

impl Judge {
    pub(crate) fn new(levels: &[Level]) -> Judge {
        let levels: Vec<Level> = Level::ALL.into_iter().filter(|level| levels.contains(level)).collect();
        let tally = |&level: &Level| LevelTally {
            level,
            violated: 0,
            anomalies: Vec::new(),
            smallest: None,
            undecided: 0,
        };
        Judge { tallies: levels.iter().map(tally).collect(), levels, known: FxHashMap::default() }
    }

    /// The number of different histories.
    pub(crate) fn histories(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn add(&mut self, program: &Program, run: &Run) {
        let text = history(program, run, true);
        let verdicts = match self.known.entry(text) {
            Entry::Occupied(known) => Rc::clone(known.get()),
            Entry::Vacant(unknown) => {
                let verdicts = judged(unknown.key(), &self.levels).into();
                Rc::clone(unknown.insert(verdicts))
            }
        };
        for (tally, finding) in self.tallies.iter_mut().zip(verdicts.iter()) {
            match finding {
                Finding::Holds | Finding::Empty => {}
                Finding::Undecided => tally.undecided += 1,
                Finding::Violated(anomalies) => tally.add(program, run, anomalies),
            }
        }
    }
}

impl LevelTally {
    fn add(&mut self, program: &Program, run: &Run, anomalies: &[Anomaly]) {
        self.violated += 1;
        for &anomaly in anomalies {
            match self.anomalies.iter_mut().find(|(known, _)| *known == anomaly) {
                Some((_, count)) => *count += 1,
                None => self.anomalies.push((anomaly, 1)),
            }
        }
        let is_smaller = match &self.smallest {
            None => true,
            Some(known) => size(program, run) < size(&known.program, &known.run),
        };
        if is_smaller && let Some(&anomaly) = anomalies.first() {
            self.smallest = Some(Violation { program: program.clone(), run: run.clone(), anomaly });
        }
    }

    pub(crate) fn sort_anomalies(&mut self) {
        self.anomalies.sort_by_key(|&(anomaly, count)| (std::cmp::Reverse(count), anomaly));
    }
}

/// What makes a violation small, the most important first.
fn size(program: &Program, run: &Run) -> [usize; 5] {
    let failed = run.steps.iter().filter(|step| matches!(step.result, StepResult::Failed(_))).count();
    let ops: usize = program.sessions().iter().flatten().map(Vec::len).sum();
    let waits = run.steps.iter().filter(|step| step.waited).count();
    let changes = run.steps.windows(2).filter(|pair| pair[0].session != pair[1].session).count();
    [failed, program.txns(), ops, waits, changes]
}

/// The verdicts on a history.
fn judged(text: &str, levels: &[Level]) -> Vec<Finding> {
    // A run that could not be written down as a history would be a mistake here; it is then counted as undecided.
    let Ok(history) = notation::parse(text) else { return vec![Finding::Undecided; levels.len()] };
    let mut checker = Checker::new(&history, Options::default());
    // A stronger level first: if it holds, the weaker ones need no work.
    for &level in levels.iter().rev() {
        checker.check(level);
    }
    let finding = |&level: &Level| match checker.check(level).verdict {
        Verdict::Holds(_) => Finding::Holds,
        Verdict::Violated(findings) => {
            let mut anomalies: Vec<Anomaly> = findings.iter().map(|finding| finding.anomaly).collect();
            anomalies.dedup();
            Finding::Violated(anomalies)
        }
        Verdict::Unknown(Unknown::NothingToCheck) => Finding::Empty,
        Verdict::Unknown(_) => Finding::Undecided,
    };
    levels.iter().map(finding).collect()
}

/// A run in the one-line notation. The transaction `End` reads all keys after the others. With real time, `@2-5` is when a transaction
/// began and ended; the numbers are the smallest that order the same pairs of transactions.
pub fn history(program: &Program, run: &Run, with_real_time: bool) -> String {
    let txns: Vec<Vec<&Step>> =
        (0..program.txns()).map(|txn| run.steps.iter().filter(|step| step.txn == txn).collect()).collect();
    let lasted = |steps: &Vec<&Step>| match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => (first.sent, last.answered),
        _ => (0, 0),
    };
    let times = with_real_time.then(|| intervals(&txns.iter().map(lasted).collect::<Vec<_>>()));
    let mut text = String::new();
    let mut number = 0;
    for session in program.sessions() {
        for place in 0..session.len() {
            text += if place > 0 {
                " ; "
            } else if number > 0 {
                "  "
            } else {
                ""
            };
            let time = times.as_ref().map(|times| times[number]);
            transaction(&mut text, number, &txns[number], time);
            number += 1;
        }
    }
    text += "  End";
    if let Some(times) = &times {
        // All others ended before it began.
        let after = times.iter().map(|&(_, end)| end).max().unwrap_or(0) + 1;
        text += &format!("@{after}-{}", after + 1);
    }
    text.push(':');
    for (key, value) in run.last.iter().enumerate() {
        text += &format!(" r({},{value})", key_name(key));
    }
    text
}

fn transaction(text: &mut String, number: usize, steps: &[&Step], time: Option<(u32, u32)>) {
    let failed = steps.iter().find_map(|step| match step.result {
        StepResult::Failed(class) => Some((step.action, class)),
        _ => None,
    });
    let outcome = match failed {
        None => "",
        // Only a commit that failed without a promise may have taken effect.
        Some((Action::Commit, class)) if !class.promises_rollback() => "?",
        Some(_) => "!",
    };
    *text += &format!("T{}{outcome}", number + 1);
    if let Some((begin, end)) = time {
        *text += &format!("@{begin}-{end}");
    }
    text.push(':');
    for step in steps {
        match (step.action, step.result) {
            (Action::Read(key), StepResult::Value(value)) => {
                *text += &format!(" r({},{value})", key_name(key));
            }
            (Action::Write(key, value), StepResult::Done) => {
                *text += &format!(" w({},{value})", key_name(key));
            }
            // A failed statement read and wrote nothing.
            _ => {}
        }
    }
}

/// When each transaction begins and ends, as small numbers that order the same pairs. A transaction begins at twice the number of transactions that ended
/// before it, and ends as late as possible before the next one begins.
fn intervals(raw: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let rank = |time: u32| 2 * raw.iter().filter(|&&(_, end)| end < time).count() as u32;
    let begins: Vec<u32> = raw.iter().map(|&(begin, _)| rank(begin)).collect();
    let last = 2 * raw.len() as u32 + 1;
    let end_of = |end: u32| {
        let later = raw.iter().zip(&begins).filter(|((begin, _), _)| *begin > end);
        later.map(|(_, &rank)| rank - 1).min().unwrap_or(last)
    };
    raw.iter().zip(&begins).map(|(&(_, end), &begin)| (begin, end_of(end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The small numbers order the same pairs as the real ones, for all ways in which three transactions can overlap.
    #[test]
    fn intervals_keep_the_order_of_real_time() {
        let mut seen = 0;
        for number in 0..6_u32.pow(6) {
            let time = |place: u32| number / 6_u32.pow(place) % 6;
            let times: Vec<u32> = (0..6).map(time).collect();
            let is_order = (0..6).all(|event| times.contains(&event));
            let raw: Vec<(u32, u32)> = times.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            if !is_order || raw.iter().any(|(begin, end)| begin > end) {
                continue;
            }
            seen += 1;
            let small = intervals(&raw);
            for (one, &(begin, end)) in small.iter().enumerate() {
                assert!(begin < end);
                for (other, &(later, _)) in small.iter().enumerate() {
                    assert_eq!(end < later, raw[one].1 < raw[other].0, "{raw:?} {small:?}");
                }
            }
        }
        assert_eq!(seen, 90);
    }
}
