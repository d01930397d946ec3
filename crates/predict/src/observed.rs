//! The recorded run: which transactions took effect, in which serial order, and where each read comes from.
//!
//! Prediction starts from a run that is serializable. The certificate of `check --level serializable` is a commit order; the writer of
//! a read is the last transaction before it in this order that wrote the key. Where several transactions wrote the value that was
//! read, this is one of the possible writers, and the run is said to be ambiguous.
//!
//! Invariant: every transaction that took effect has one place in the order, and every external read of a known value has the source
//! that the order determines, which wrote the value that the history records.

use isoscope_certificate::{Judgement, Limit, Unknown, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_history::{History, Op, OpView, Outcome, Session, Txn, Value};
use isoscope_levels::Level;
use isoscope_verify::verify;
use rustc_hash::FxHashMap;

use crate::error::Refusal;
use crate::executions::Executions;
use crate::watch::Watch;

/// The source of a read from the initial state.
pub(crate) const INITIAL: u32 = u32::MAX;

/// See the module.
pub struct Observed<'h> {
    pub(crate) history: &'h History,
    /// The transactions that took effect, in commit order. The place in it is the number of a transaction in this crate.
    pub(crate) order: Vec<Txn>,
    /// For each external read of a known value: the number of its source, or [`INITIAL`].
    pub(crate) sources: FxHashMap<Op, u32>,
    /// How many transactions of unknown outcome were left out, because nobody read from them.
    pub(crate) left_out: usize,
    /// How many reads return a value that several transactions wrote.
    pub(crate) ambiguous: usize,
    /// For each operation of the history, the number of its statement in the transaction; empty if unknown.
    statements: Vec<u32>,
    /// For each transaction of the order, the one of the run that it is a form of: mostly itself.
    pub(crate) of: Vec<Txn>,
    /// What the programs of the run do on other values, if they are known.
    pub(crate) executions: Option<&'h Executions<'h>>,
}

impl<'h> Observed<'h> {
    /// Finds the order of a run.
    ///
    /// # Errors
    ///
    /// Why nothing can be predicted from the history.
    pub fn new(history: &'h History, watch: &'h dyn Watch) -> Result<Observed<'h>, Refusal> {
        if history.has_lists() {
            return Err(Refusal::Lists);
        }
        let judgement = Checker::watched(history, Options::default(), watch).check(Level::Serializable);
        let order = match &judgement.verdict {
            Verdict::Holds(witness) => witness.order.as_deref().map(<[Txn]>::to_vec),
            Verdict::Violated(_) => return Err(Refusal::NotSerializable(Box::new(judgement))),
            Verdict::Unknown(unknown) => return Err(refusal(unknown)),
        };
        verify(history, &judgement).map_err(|error| Refusal::internal(format!("serializable: {error}")))?;
        let order = order.ok_or_else(|| Refusal::internal("the certificate has no commit order"))?;
        let sources = sources(history, &order, &order)
            .ok_or_else(|| Refusal::internal("the commit order does not explain a read"))?;
        let left_out = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).count()
            - order.iter().filter(|&&txn| history.outcome(txn) == Outcome::Unknown).count();
        let ambiguous = count_ambiguous(history, &order, &sources);
        let of = order.clone();
        Ok(Observed {
            history,
            order,
            sources,
            left_out,
            ambiguous,
            of,
            executions: None,
            statements: Vec::new(),
        })
    }

    /// Whether a run that is not serializable violates a level, confirmed by the verifier; `None` if that could not be decided.
    ///
    /// # Errors
    ///
    /// An internal error.
    pub fn violates(
        history: &History,
        level: Level,
        watch: &dyn Watch,
    ) -> Result<Option<(bool, Judgement)>, Refusal> {
        let judgement = Checker::watched(history, Options::default(), watch).check(level);
        let violates = match &judgement.verdict {
            Verdict::Holds(_) => false,
            Verdict::Violated(_) => true,
            Verdict::Unknown(_) => return Ok(None),
        };
        verify(history, &judgement).map_err(|error| Refusal::internal(format!("{level}: {error}")))?;
        Ok(Some((violates, judgement)))
    }

    /// The run with the other forms of its transactions.
    pub(crate) fn of_executions(executions: &'h Executions<'h>) -> Observed<'h> {
        let history = executions.history();
        let Executions { left_out, ambiguous, .. } = *executions;
        let (order, of) = (executions.order.clone(), executions.of.clone());
        let sources = sources(history, &order, &of).unwrap_or_default();
        Observed {
            history,
            order,
            sources,
            left_out,
            ambiguous,
            of,
            executions: Some(executions),
            statements: Vec::new(),
        }
    }

    /// Whether a transaction of the order is another form of one of the run.
    pub(crate) fn is_variant(&self, number: usize) -> bool {
        self.order[number] != self.of[number]
    }

    /// Whether a transaction of the order, or the one that it is a form of, took effect in the run.
    pub(crate) fn took_effect(&self, number: usize) -> bool {
        self.history.outcome(self.of[number]) != Outcome::Aborted
    }

    /// The session of a transaction of the order.
    pub(crate) fn session_of(&self, number: usize) -> Session {
        self.history.session_of(self.of[number])
    }

    /// The transactions that took effect, in the serial order of the run.
    pub fn order(&self) -> &[Txn] {
        &self.order
    }

    /// How many transactions of unknown outcome are left out, because no read shows that they took effect.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// How many reads return a value that several transactions wrote, or that is also the initial value. The prediction assumes
    /// the writers that the serial order gives them.
    pub fn ambiguous(&self) -> usize {
        self.ambiguous
    }

    /// Says which operations of a transaction were one statement: those with the same number. One number for each operation of the
    /// history. Only engines look at it: at read committed, the reads of one statement have one snapshot.
    pub fn set_statements(&mut self, statements: Vec<u32>) {
        self.statements = statements;
    }

    /// The statement of an operation, if that is known.
    pub(crate) fn statement(&self, op: Op) -> Option<u32> {
        self.statements.get(op.0 as usize).copied()
    }

    /// Refuses a run whose reads cannot change. Read committed says nothing about sessions, so there even a transaction of the same
    /// session may be missed.
    pub(crate) fn refuse_trivial(&self, level: Level) -> Result<(), Refusal> {
        let first = self.of.first().map(|&txn| self.history.session_of(txn));
        let is_first = |txn: &Txn| Some(self.history.session_of(*txn)) == first;
        if level != Level::ReadCommitted && self.of.iter().all(is_first) {
            return Err(Refusal::SingleSession);
        }
        let writes = |txn: &Txn| self.history.ops_of(*txn).any(|op| op.kind.is_write());
        if self.order.iter().any(writes) { Ok(()) } else { Err(Refusal::NoWrites) }
    }
}

/// The number of the source of each external read, if an order explains all of them. `of` names the transactions of the run: what
/// differs from it is another form, which reads what the order has at its place, and which no transaction reads from.
fn sources(history: &History, order: &[Txn], of: &[Txn]) -> Option<FxHashMap<Op, u32>> {
    let mut current = vec![INITIAL; history.key_count()];
    let mut values: Vec<Value> = history.keys().map(|key| history.initial(key)).collect();
    let mut sources = FxHashMap::default();
    for ((&txn, &of), number) in order.iter().zip(of).zip(0..) {
        for op in history.ops_of(txn).filter(is_external_read) {
            let source = current[op.key.index()];
            let written = values[op.key.index()];
            let is_same = op.value == written || (source == INITIAL && history.is_initial(op.key, op.value));
            if txn == of && !is_same {
                return None;
            }
            sources.insert(op.id, source);
        }
        for op in history.ops_of(txn).filter(|op| op.last_write && txn == of) {
            (current[op.key.index()], values[op.key.index()]) = (number, op.value);
        }
    }
    Some(sources)
}

/// Whether an operation reads what another transaction wrote, and the value was learned.
pub(crate) fn is_external_read(op: &OpView) -> bool {
    op.kind.is_read() && op.external && op.value != Value::UNKNOWN
}

fn refusal(unknown: &Unknown) -> Refusal {
    match unknown {
        Unknown::NothingToCheck => Refusal::NothingRead,
        Unknown::Limit(limit @ (Limit::Time | Limit::Memory)) => Refusal::Limit(*limit),
        _ => Refusal::Undecided,
    }
}

/// How many reads return a value that several transactions wrote to the key, or that is also the initial value.
fn count_ambiguous(history: &History, order: &[Txn], sources: &FxHashMap<Op, u32>) -> usize {
    let mut writers: FxHashMap<(u32, Value), u32> = FxHashMap::default();
    for key in history.keys() {
        writers.insert((key.0, history.initial(key)), 1);
    }
    for op in order.iter().flat_map(|&txn| history.ops_of(txn)).filter(|op| op.last_write) {
        *writers.entry((op.key.0, op.value)).or_default() += 1;
    }
    let several = |op: &&Op| {
        let op = history.op(**op);
        writers.get(&(op.key.0, op.value)).is_some_and(|&count| count > 1)
    };
    sources.keys().filter(several).count()
}
