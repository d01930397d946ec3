//! Checks certificates against the history. A verdict is confirmed only if this crate accepts its
//! certificate.
//!
//! [`verify`] checks that the witness of *Holds* explains every read, that every piece of evidence of
//! *Violated* is in the history, and that the stated reason of *Unknown* exists. It shares no code with the
//! engines, only the types of certificates and the columns of the history. A wrong verdict passes only if an
//! engine and this crate make the same mistake.
//!
//! It cannot tell whether an *Unknown* history has a violation, nor whether a history has more anomalies than
//! the certificate shows.
//!
//! `facts.rs` finds the source of every read, and `classify.rs` names what is wrong with a read.
//!
//! - *Holds*: `witness.rs` checks a commit order (`order.rs`), either with the writers of reads
//!   (`sources.rs`, `lists.rs`, then `direct.rs`, `causal.rs`, `seen.rs`) or with what each transaction sees
//!   (`replay.rs`, `realtime.rs`). Cut isolation needs no order (`cut.rs`).
//! - *Violated*: `findings.rs` checks cycles (`cycle.rs`, `shape.rs`), proofs by cases (`cases.rs`,
//!   `given.rs`), and one history per possible outcome or append (`worlds.rs`).
//!
//! All checks take about linear time; each file states its cost.
//!
//! Some levels are another level without sessions. They are checked as that level, on the history in which
//! every transaction is a session of its own.

mod cases;
mod causal;
mod classify;
mod cut;
mod cycle;
mod direct;
mod facts;
mod findings;
mod given;
mod lists;
mod order;
mod realtime;
mod replay;
mod seen;
mod shape;
mod sources;
mod witness;
mod worlds;

use std::fmt;

use isoscope_history::{History, Op, Value};
use isoscope_levels::Level;

use facts::{Facts, Source};
use isoscope_certificate::{Judgement, Limit, Unknown, Verdict};

/// Reports the limit that has been reached, if any. It is called often and must be cheap.
pub type Budget<'b> = &'b (dyn Fn() -> Option<Limit> + Sync);

/// The reason why a certificate does not prove its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// The limit that ended the check early. The certificate may then still be right.
    pub stopped: Option<Limit>,
}

impl Refutation {
    fn new(message: impl Into<String>) -> Refutation {
        Refutation { message: message.into(), stopped: None }
    }

    /// Adds the subject in front of the message.
    fn about(self, what: impl fmt::Display) -> Refutation {
        Refutation { message: format!("{what}: {}", self.message), ..self }
    }
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refutation {}

fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result<(), Refutation> {
    if condition { Ok(()) } else { Err(Refutation::new(message())) }
}

/// Checks the certificate of a verdict; see the crate documentation.
pub fn verify(history: &History, judgement: &Judgement) -> Result<(), Refutation> {
    Verifier::new(history).verify(judgement)
}

/// A history with the sources of its reads, ready to check any number of certificates.
pub struct Verifier<'h> {
    facts: Facts<'h>,
}

impl<'h> Verifier<'h> {
    /// Finds the sources of the reads of a history.
    pub fn new(history: &'h History) -> Self {
        Verifier { facts: Facts::new(history) }
    }

    /// Stops when a limit is reached. The budget is asked before each piece of evidence, each case, each
    /// world, and each transaction of a replayed order.
    pub fn within(mut self, budget: Budget<'h>) -> Self {
        self.facts.budget = budget;
        self
    }

    /// Takes the database's timestamps as real-time order. An engine that trusted them needs this.
    pub fn trusting_timestamps(mut self) -> Self {
        self.facts.trusts_timestamps = true;
        self
    }

    /// Checks the certificate of a verdict.
    pub fn verify(&self, judgement: &Judgement) -> Result<(), Refutation> {
        let Judgement { level, verdict, implied_by } = judgement;
        let (level, facts) = (*level, &self.facts);
        if let Some(weaker) = *implied_by {
            ensure(weaker != level && level.implies(weaker), || format!("{level} does not imply {weaker}"))?;
            let inherited = matches!(verdict, Verdict::Violated(_));
            ensure(inherited, || "only a violation is inherited".to_owned())?;
        }
        match level.with_sessions() {
            Some(base) => {
                let apart = facts.history.apart();
                check(&facts.of_same(&apart), base, verdict)
            }
            None => check(facts, level, verdict),
        }
    }
}

fn check(facts: &Facts<'_>, level: Level, verdict: &Verdict) -> Result<(), Refutation> {
    facts.go_on()?;
    match verdict {
        Verdict::Holds(witness) => witness::check(facts, level, witness),
        Verdict::Violated(findings) => findings::check(facts, level, findings),
        Verdict::Unknown(unknown) => check_unknown(facts, unknown),
    }
}

/// Nothing can be checked if the present transactions have no read, or no write and only reads of initial
/// values.
fn check_nothing(facts: &Facts<'_>) -> Result<(), Refutation> {
    let history = facts.history;
    let (mut read, mut written, mut other) = (None, None, None);
    for op in facts.present().flat_map(|txn| history.ops_of(txn)) {
        if op.kind.is_write() {
            written = Some(op.id);
        } else if op.value != Value::UNKNOWN {
            read = Some(op.id);
            let initial = op.kind.is_read() && history.reads_initial(&op);
            other = other.or((!initial).then_some(op.id));
        }
    }
    match read.and(written.or(other)) {
        None => Ok(()),
        Some(op) => Err(Refutation::new(format!("{} is there to be checked", facts.text(op)))),
    }
}

fn check_unknown(facts: &Facts<'_>, unknown: &Unknown) -> Result<(), Refutation> {
    let present =
        |op: Op| op.index() < facts.history.op_count() && facts.is_present(facts.history.txn_of(op));
    match *unknown {
        Unknown::NothingToCheck => check_nothing(facts),
        Unknown::Ambiguous { reads, first } => {
            ensure(present(first), || format!("{first:?} is no operation of a present transaction"))?;
            let ambiguous = facts.source(first) == Source::Ambiguous
                || cut::is_uncertain(facts, first)
                || worlds::is_open(facts, first)
                || cut::depends(facts);
            ensure(ambiguous && reads > 0, || format!("{} is not ambiguous", facts.text(first)))
        }
        Unknown::Unsupported { operations, first } => {
            ensure(present(first), || format!("{first:?} is no operation of a present transaction"))?;
            let unsupported = facts.is_unsupported(facts.history.op(first));
            ensure(unsupported && operations > 0, || format!("{} is supported", facts.text(first)))
        }
        Unknown::Limit(_) | Unknown::Refuted(_) => Ok(()),
    }
}
