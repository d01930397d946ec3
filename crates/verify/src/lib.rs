//! Certificates, checked against the history: believe a verdict only when this says so.
//!
//! [`verify`] asks of *Holds* that its order explains every read, of *Violated* that every piece of evidence
//! is there, and of *Unknown* that the reason it gives exists. It shares no code with the engines, only the
//! types of certificates and the columns of the history; so an engine and this must be wrong in the same way
//! for a wrong verdict to pass.
//!
//! What it cannot know: whether a violation was missed in a history that is said to be *Unknown*, and whether
//! more anomalies are there than the shown ones that it checks.
//!
//! `facts.rs` says where every read has its value from, and `classify.rs` what is wrong with one. *Holds*:
//! `witness.rs`, for an order (`order.rs`) with the writers of reads (`sources.rs`, `lists.rs`: then
//! `direct.rs`, `causal.rs`, `seen.rs`) or with what each transaction sees (`replay.rs`, `realtime.rs`); cut isolation
//! has none (`cut.rs`). *Violated*: `findings.rs`, cycles (`cycle.rs`, `shape.rs`), proofs by cases
//! (`cases.rs`, `given.rs`), and all worlds of what lists leave open (`worlds.rs`). All take about linear time;
//! their files say exactly.
//!
//! A level that is another one without sessions is checked as that one, of the history in which every transaction is a
//! session of its own.

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

/// Says which limit has been reached, if one has. It is asked often and must be cheap.
pub type Budget<'b> = &'b (dyn Fn() -> Option<Limit> + Sync);

/// Why a certificate does not prove its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// The limit that was reached before there was an answer. Then nothing is wrong as far as is known.
    pub stopped: Option<Limit>,
}

impl Refutation {
    fn new(message: impl Into<String>) -> Refutation {
        Refutation { message: message.into(), stopped: None }
    }

    /// The same, with what it is about in front.
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

/// Checks the certificate of a verdict; see the module.
pub fn verify(history: &History, judgement: &Judgement) -> Result<(), Refutation> {
    Verifier::new(history).verify(judgement)
}

/// A history whose reads are looked up, ready to check the certificates of any number of verdicts.
pub struct Verifier<'h> {
    facts: Facts<'h>,
}

impl<'h> Verifier<'h> {
    /// Looks up the reads of a history.
    pub fn new(history: &'h History) -> Self {
        Verifier { facts: Facts::new(history) }
    }

    /// Gives up when a limit is reached: before each piece of evidence, each case and world of a proof, and each transaction that an
    /// order is replayed for.
    pub fn within(mut self, budget: Budget<'h>) -> Self {
        self.facts.budget = budget;
        self
    }

    /// Takes the database's timestamps for real time, as an engine does that was told to trust them.
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

/// There is nothing to check when the transactions that took effect have no read, or no write and only reads of initial
/// values.
fn check_nothing(facts: &Facts<'_>) -> Result<(), Refutation> {
    let history = facts.history;
    let (mut read, mut written, mut other) = (None, None, None);
    for op in facts.present().flat_map(|txn| history.ops_of(txn)) {
        if op.kind.is_write() {
            written = Some(op.id);
        } else if op.value != Value::UNKNOWN {
            read = Some(op.id);
            let initial = op.kind.is_read() && history.is_initial(op.key, op.value);
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
        Unknown::Limit(_) => Ok(()),
    }
}
