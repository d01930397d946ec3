//! The transcript of a script: all events in order, how the transactions ended, and whether the anomaly happened.

use std::fmt;

use super::condition::is_answer;
use super::{Action, Expected, ExpectedResult, Script};
use crate::database::{Answer, Class, Failure, Scalar};

/// An event: a step was answered, began to wait, failed or was skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct StepDone {
    /// The index of the step in [`Script::steps`].
    pub step: usize,
    /// The session's name.
    pub session: String,
    /// The step's label.
    pub label: Option<String>,
    /// What the session did.
    pub action: Action,
    /// The result.
    pub result: StepResult,
    /// Whether the step waited for a lock before this result.
    pub waited: bool,
    /// The expectation, if the result does not meet it.
    pub expected: Option<Expected>,
}

/// The result of a step. A step that waits has another result later.
#[derive(Clone, Debug, PartialEq)]
pub enum StepResult {
    /// It waits for a lock.
    Waits,
    /// It succeeded, with an answer if it was a statement.
    Done(Option<Answer>),
    /// It failed, and its transaction was rolled back.
    Failed(Failure),
    /// Not sent, because an earlier step of its transaction failed.
    Skipped,
}

impl StepResult {
    /// Whether the result meets the expectation. This is decided by the final result, not when the step begins to wait.
    pub(super) fn is(&self, expected: &Expected, waited: bool) -> bool {
        if *self == StepResult::Waits {
            return true;
        }
        let then = match (&expected.then, self) {
            (None, _) => true,
            (Some(ExpectedResult::Rows(rows)), StepResult::Done(Some(answer))) => is_answer(answer, rows),
            (Some(ExpectedResult::Fails(class)), StepResult::Failed(failure)) => {
                class.is_none_or(|class| class == failure.class)
            }
            _ => false,
        };
        then && expected.waits == waited
    }
}

/// How the last transaction of a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It committed.
    Committed,
    /// The session rolled it back.
    RolledBack,
    /// It failed.
    Failed(Class),
    /// The script left it open.
    LeftOpen,
}

/// Whether the anomaly happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It happened.
    Happened,
    /// It did not.
    Prevented(Prevention),
    /// A step failed for a reason unrelated to isolation, so the script proves nothing.
    Undecided(Failure),
}

/// How an anomaly was prevented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prevention {
    /// All steps succeeded without waiting, and the condition does not hold.
    Unseen,
    /// A step had to wait for another transaction to end.
    Waited,
    /// A transaction failed.
    Failed(Class),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Happened => f.write_str("the anomaly happened"),
            Verdict::Prevented(Prevention::Unseen) => f.write_str("the anomaly did not happen"),
            Verdict::Prevented(Prevention::Waited) => {
                f.write_str("the anomaly did not happen: a step had to wait")
            }
            Verdict::Prevented(Prevention::Failed(class)) => {
                write!(f, "the anomaly did not happen: a transaction failed ({})", class.name())
            }
            Verdict::Undecided(failure) => write!(f, "undecided: {failure}"),
        }
    }
}

/// The result of running a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The name of the script.
    pub name: String,
    /// The events in order. A step that waited appears twice: when it began to wait and when it was answered.
    pub events: Vec<StepDone>,
    /// The sessions, in the script's order, and how the last transaction of each ended; `None` if it had none.
    pub endings: Vec<(String, Option<Ending>)>,
    /// Whether the anomaly happened, if the script has a condition.
    pub verdict: Option<Verdict>,
}

impl Transcript {
    pub(super) fn new(script: &Script, events: Vec<StepDone>, endings: &[Option<Ending>]) -> Transcript {
        let facts = Facts { events: &events, endings };
        let verdict = script
            .anomaly
            .as_ref()
            .map(|anomaly| if anomaly.holds(&facts) { Verdict::Happened } else { prevented(&events) });
        let endings = script.sessions.iter().cloned().zip(endings.iter().copied()).collect();
        Transcript { name: script.name.clone(), events, endings, verdict }
    }

    /// The events that do not meet their expectation.
    pub fn unexpected(&self) -> impl Iterator<Item = &StepDone> {
        self.events.iter().filter(|event| event.expected.is_some())
    }

    /// The first step that failed for a reason unrelated to isolation, such as invalid SQL, and was not expected to fail.
    pub fn mistake(&self, script: &Script) -> Option<(&StepDone, &Failure)> {
        self.events.iter().find_map(|event| match &event.result {
            StepResult::Failed(failure) if is_strange(failure.class) => {
                let expected = script.steps.get(event.step).and_then(|step| step.expected.as_ref());
                let is_expected =
                    matches!(expected, Some(Expected { then: Some(ExpectedResult::Fails(_)), .. }));
                (!is_expected || event.expected.is_some()).then_some((event, failure))
            }
            _ => None,
        })
    }

    /// The final result of the step with this session and label.
    pub fn result(&self, session: &str, label: &str) -> Option<&StepResult> {
        let is_it = |event: &&StepDone| event.session == session && event.label.as_deref() == Some(label);
        self.events.iter().rev().find(is_it).map(|event| &event.result)
    }
}

/// Whether a failure is unrelated to isolation.
fn is_strange(class: Class) -> bool {
    matches!(class, Class::Other | Class::Denied | Class::Connection)
}

/// How an anomaly that did not happen was prevented. A failure takes precedence over a wait.
fn prevented(events: &[StepDone]) -> Verdict {
    let failures = || {
        events.iter().filter_map(|event| match &event.result {
            StepResult::Failed(failure) => Some(failure),
            _ => None,
        })
    };
    if let Some(failure) = failures().find(|failure| is_strange(failure.class)) {
        return Verdict::Undecided(failure.clone());
    }
    Verdict::Prevented(match failures().next() {
        Some(failure) => Prevention::Failed(failure.class),
        None if events.iter().any(|event| event.waited) => Prevention::Waited,
        None => Prevention::Unseen,
    })
}

/// The facts that conditions refer to.
pub(super) struct Facts<'a> {
    pub(super) events: &'a [StepDone],
    pub(super) endings: &'a [Option<Ending>],
}

impl Facts<'_> {
    fn result(&self, step: usize) -> Option<&StepResult> {
        self.events.iter().rev().find(|event| event.step == step).map(|event| &event.result)
    }

    pub(super) fn answer(&self, step: usize) -> Option<&Answer> {
        match self.result(step) {
            Some(StepResult::Done(answer)) => answer.as_ref(),
            _ => None,
        }
    }

    pub(super) fn failure(&self, step: usize) -> Option<&Failure> {
        match self.result(step) {
            Some(StepResult::Failed(failure)) => Some(failure),
            _ => None,
        }
    }

    pub(super) fn waited(&self, step: usize) -> bool {
        self.events.iter().any(|event| event.step == step && event.result == StepResult::Waits)
    }

    pub(super) fn skipped(&self, step: usize) -> bool {
        self.result(step) == Some(&StepResult::Skipped)
    }

    pub(super) fn ending(&self, session: usize) -> Option<Ending> {
        self.endings.get(session).copied().flatten()
    }
}

/// The width of the column of statements. A longer statement shifts its result to the right.
const WIDTH: usize = 56;

/// The formatter's width is the width of the column of session names.
impl fmt::Display for StepDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.action.to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_late = self.waited && self.result != StepResult::Waits;
        let text = if is_late { format!("... {text}") } else { text };
        let result = self.result.to_string();
        let name = f.width().unwrap_or(0);
        if result.is_empty() && self.expected.is_none() && !is_late {
            return write!(f, "{:<name$}  {text}", self.session);
        }
        let result = if result.is_empty() { "done" } else { &result };
        write!(f, "{:<name$}  {text:<WIDTH$}  => {result}", self.session)?;
        match &self.expected {
            Some(expected) => write!(f, "   (expected: {expected})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for StepResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepResult::Waits => f.write_str("waits"),
            StepResult::Done(None) => Ok(()),
            StepResult::Done(Some(Answer::Count(count))) => write!(f, "{count}"),
            StepResult::Done(Some(Answer::Rows(rows))) => f.write_str(&show(rows)),
            StepResult::Failed(failure) => write!(f, "fails with {}: {failure}", failure.class.name()),
            StepResult::Skipped => f.write_str("skipped"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.waits {
            f.write_str(if self.then.is_some() { "waits, then " } else { "waits" })?;
        }
        match &self.then {
            None => Ok(()),
            Some(ExpectedResult::Rows(rows)) => f.write_str(&show(rows)),
            Some(ExpectedResult::Fails(None)) => f.write_str("fails"),
            Some(ExpectedResult::Fails(Some(class))) => write!(f, "fails with {}", class.name()),
        }
    }
}

/// Rows in the syntax of scripts.
fn show(rows: &[Vec<Scalar>]) -> String {
    if rows.is_empty() {
        return "none".to_owned();
    }
    let row = |row: &Vec<Scalar>| match row.as_slice() {
        [one] => value(one),
        more => format!("({})", more.iter().map(value).collect::<Vec<_>>().join(", ")),
    };
    rows.iter().map(row).collect::<Vec<_>>().join(", ")
}

fn value(value: &Scalar) -> String {
    match value {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(yes) => yes.to_string(),
        Scalar::Int(n) => n.to_string(),
        Scalar::Float(n) => n.to_string(),
        Scalar::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.endings.iter().map(|(session, _)| session.chars().count()).max().unwrap_or(0);
        for event in &self.events {
            writeln!(f, "{event:width$}")?;
        }
        let endings = self.endings.iter().filter_map(|(session, ending)| {
            let ending = match (*ending)? {
                Ending::Committed => "committed".to_owned(),
                Ending::RolledBack => "rolled back".to_owned(),
                Ending::Failed(class) => format!("failed ({})", class.name()),
                Ending::LeftOpen => "was left open".to_owned(),
            };
            Some(format!("{session} {ending}"))
        });
        let endings: Vec<String> = endings.collect();
        if !endings.is_empty() {
            writeln!(f, "{}", endings.join(", "))?;
        }
        match &self.verdict {
            Some(verdict) => writeln!(f, "{verdict}"),
            None => Ok(()),
        }
    }
}
