//! Running a script, and what became of the prediction.

use std::collections::BTreeMap;
use std::fmt;

use isoscope_certificate::Verdict;
use isoscope_check::{Checker, Options as CheckOptions};
use isoscope_levels::Level;
use isoscope_record::script::{Ending, Options, StepDone, StepResult, Transcript};
use isoscope_record::{Answer, Class, Database};
use isoscope_verify::verify;

use crate::judge::history;
use crate::text::Reproduction;

/// What became of a prediction on a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every answer was as predicted, all transactions committed, and the history of the answers violates the target.
    Reproduced,
    /// All transactions committed and the history of the answers violates the target, but some answer was another.
    ReproducedOtherwise,
    /// All transactions committed, and the target holds. This includes runs with the predicted answers in which equal values hide the
    /// anomaly.
    Diverged,
    /// The database refused a step, to keep its isolation level or because of a lock.
    Refused {
        /// The statement.
        statement: String,
        /// Serialization, deadlock or lock timeout.
        class: Class,
        /// The code of the database.
        code: Option<String>,
        /// Its message.
        message: String,
    },
    /// Anything else. It counts as nothing.
    Error(String),
}

impl Outcome {
    /// A word for tables and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Outcome::Reproduced => "reproduced",
            Outcome::ReproducedOtherwise => "reproduced-otherwise",
            Outcome::Diverged => "diverged",
            Outcome::Refused { .. } => "refused",
            Outcome::Error(_) => "error",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Reproduced => f.write_str("reproduced"),
            Outcome::ReproducedOtherwise => {
                f.write_str("reproduced otherwise: the level is violated, with other answers")
            }
            Outcome::Diverged => {
                f.write_str("diverged: all transactions committed, and the answers satisfy the target")
            }
            Outcome::Refused { statement, class, code, message } => {
                write!(f, "refused: `{statement}` fails with {}: {message}", class.name())?;
                code.as_ref().map_or(Ok(()), |code| write!(f, " ({code})"))
            }
            Outcome::Error(message) => write!(f, "error: {message}"),
        }
    }
}

/// What became of a prediction, and the run that shows it.
#[derive(Clone, Debug)]
pub struct Report {
    /// What became of it.
    pub outcome: Outcome,
    /// Product and version of the database.
    pub version: String,
    /// The steps with their answers, if the script ran.
    pub transcript: Option<Transcript>,
}

/// Runs the script of a prediction on a database, and judges the history of the answers by the target of the prediction.
pub fn reproduce(
    reproduction: &Reproduction,
    database: &dyn Database,
    target: Level,
    options: &Options,
    on_step: &mut dyn FnMut(&StepDone),
) -> Report {
    let version = database.version().to_owned();
    match reproduction.script.run(database, options, on_step) {
        Err(error) => Report { outcome: Outcome::Error(error.to_string()), version, transcript: None },
        Ok(transcript) => {
            let outcome = classify(reproduction, &transcript, target).unwrap_or_else(Outcome::Error);
            Report { outcome, version, transcript: Some(transcript) }
        }
    }
}

/// The outcome of a run, or why it shows nothing.
fn classify(reproduction: &Reproduction, transcript: &Transcript, target: Level) -> Result<Outcome, String> {
    let mut answers: BTreeMap<usize, Answer> = BTreeMap::new();
    for event in &transcript.events {
        let statement = event.action.to_string();
        match &event.result {
            StepResult::Done(Some(answer)) => {
                answers.insert(event.step, answer.clone());
            }
            StepResult::Done(None) | StepResult::Waits => {}
            StepResult::Skipped => return Err(format!("`{statement}` was skipped")),
            StepResult::Failed(failure) => {
                let is_refusal =
                    matches!(failure.class, Class::Serialization | Class::Deadlock | Class::LockTimeout);
                if !is_refusal {
                    return Err(format!("`{statement}` fails with {}: {failure}", failure.class.name()));
                }
                let (class, code, message) = (failure.class, failure.code.clone(), failure.message.clone());
                return Ok(Outcome::Refused { statement, class, code, message });
            }
        }
    }
    let is_committed = |(_, ending): &(String, Option<Ending>)| *ending == Some(Ending::Committed);
    if let Some((session, _)) = transcript.endings.iter().find(|ending| !is_committed(ending)) {
        return Err(format!("{session} did not commit"));
    }
    let history = history(reproduction, &answers)?;
    let judgement = Checker::new(&history, CheckOptions::default()).check(target);
    verify(&history, &judgement).map_err(|error| format!("internal error: {target}: {error}"))?;
    let as_predicted = transcript.unexpected().all(|event| is_only_a_wait(reproduction, event));
    match judgement.verdict {
        Verdict::Violated(_) if as_predicted => Ok(Outcome::Reproduced),
        Verdict::Violated(_) => Ok(Outcome::ReproducedOtherwise),
        Verdict::Holds(_) => Ok(Outcome::Diverged),
        Verdict::Unknown(_) => Err(format!("it could not be decided whether {target} is violated")),
    }
}

/// Whether the answer of a step is as predicted, and the step only had to wait for it.
fn is_only_a_wait(reproduction: &Reproduction, event: &StepDone) -> bool {
    let statement = reproduction.statements.get(event.step).copied().flatten();
    let StepResult::Done(Some(answer)) = &event.result else { return false };
    event.waited
        && statement.is_some_and(|(txn, place)| reproduction.parts[txn].statements[place].answer == *answer)
}
