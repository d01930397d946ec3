//! What the programs of a run do on other values than those of the run.
//!
//! The program of each transaction runs again, on the versions of other writers: first with one read changed, then with two, and so on,
//! until every combination of different contents has been tried or a limit is reached. Executions with the same accesses have one
//! *form*. The form of the run is the transaction itself; every other form that commits becomes a transaction of its own. A prediction may have it
//! in place of the transaction, as a boundary transaction. Attempts that the program rolled back in the run have no form there, but may have
//! one on other values.
//!
//! In the history of [`Executions::history`] these transactions follow those of the run, in a session of their own and marked as aborted:
//! they did not happen. A key that only they write is absent in the run, and range reads of the run that cover it read its absence.

use std::collections::VecDeque;

use isoscope_history::notation::ValueText;
use isoscope_history::{
    Datum, Draft, DraftTxn, History, OpKind, OpView, Outcome, RangeRow, Remap, Session, Txn, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Refusal;
use crate::observed::{Observed, is_external_read};
use crate::programs::{Access, Programs, Rerun};
use crate::watch::Watch;

/// The most runs of a program for one transaction.
const MOST_RUNS: usize = 1000;
/// The least number of them in a long history, and the most for all its transactions.
const LEAST_RUNS: usize = 50;
const MOST_IN_ALL: usize = 100_000;

/// See the module.
pub struct Executions<'p> {
    pub(crate) programs: &'p dyn Programs,
    history: History,
    /// The transactions that took effect in serial order, each followed by its other forms.
    pub(crate) order: Vec<Txn>,
    /// For each of them, the transaction of the run that it is a form of.
    pub(crate) of: Vec<Txn>,
    /// The accesses of each transaction that can run again, and of each other form.
    pub(crate) accesses: FxHashMap<Txn, Vec<Access>>,
    pub(crate) left_out: usize,
    pub(crate) ambiguous: usize,
    /// How many transactions have more executions than were tried.
    pub incomplete: usize,
    /// How often a program ran.
    pub runs: u64,
}

/// The forms of a transaction, other than its own.
struct Forms {
    of: Txn,
    /// The place in the serial order behind which they stand.
    before: usize,
    others: Vec<Rerun>,
}

impl<'p> Executions<'p> {
    /// Explores the programs of a run. The history may have range reads.
    ///
    /// # Errors
    ///
    /// Why nothing can be predicted, or that the run is not one of these programs.
    pub fn explore(
        run: &History,
        programs: &'p dyn Programs,
        watch: &dyn Watch,
    ) -> Result<Executions<'p>, Refusal> {
        let expanded = expand(run)?;
        let base = expanded.as_ref().unwrap_or(run);
        let observed = Observed::new(base, watch)?;
        let explorer = Explorer::new(run, base, &observed, programs);
        let (mut accesses, mut forms) = (FxHashMap::default(), Vec::new());
        let (mut incomplete, mut runs) = (0, 0);
        for txn in run.txns() {
            if let Some(limit) = watch.limit() {
                return Err(Refusal::Limit(limit));
            }
            let took_effect = explorer.place.contains_key(&txn);
            if programs.program(txn).is_none() || (!took_effect && run.outcome(txn) != Outcome::Aborted) {
                continue;
            }
            let tree = explorer.explore(txn)?;
            runs += tree.runs;
            incomplete += usize::from(!tree.is_complete);
            if took_effect {
                explorer.compare(txn, &tree.root)?;
                accesses.insert(txn, tree.root.accesses);
            }
            forms.push(Forms { of: txn, before: explorer.before(txn), others: tree.others });
        }
        let (extended, names) = extend(run, &forms);
        let history = expand(&extended)?.unwrap_or(extended);
        let mut executions = Executions {
            programs,
            history,
            order: Vec::new(),
            of: Vec::new(),
            accesses,
            left_out: observed.left_out,
            ambiguous: observed.ambiguous,
            incomplete,
            runs,
        };
        executions.arrange(&observed.order, forms, &names);
        Ok(executions)
    }

    /// The run, with the other forms of its transactions.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The other forms of transactions, each with the transaction of the run that it is a form of.
    pub fn forms(&self) -> impl Iterator<Item = (Txn, Txn)> + '_ {
        let both = self.order.iter().copied().zip(self.of.iter().copied());
        both.filter(|(form, of)| form != of)
    }

    /// The run as a prediction needs it.
    pub fn observed(&self) -> Observed<'_> {
        Observed::of_executions(self)
    }

    /// Sets the order: the serial one, in which each transaction is followed by its other forms. Forms of an attempt that was rolled back stand
    /// where it read.
    fn arrange(&mut self, serial: &[Txn], forms: Vec<Forms>, names: &[Vec<Txn>]) {
        let place: FxHashMap<Txn, usize> = serial.iter().copied().zip(0..).collect();
        let mut after: Vec<Vec<(Txn, Txn)>> = vec![Vec::new(); serial.len() + 1];
        for (forms, names) in forms.into_iter().zip(names) {
            let follows = forms.before + usize::from(place.contains_key(&forms.of));
            for (&name, form) in names.iter().zip(forms.others) {
                after[follows].push((name, forms.of));
                self.accesses.insert(name, form.accesses);
            }
        }
        for (i, forms) in after.iter().enumerate() {
            let own = i.checked_sub(1).map(|i| (serial[i], serial[i]));
            for (txn, of) in own.into_iter().chain(forms.iter().copied()) {
                self.order.push(txn);
                self.of.push(of);
            }
        }
    }
}

fn expand(history: &History) -> Result<Option<History>, Refusal> {
    history.expand_ranges().map_err(|limit| Refusal::TooLarge { what: limit.what, most: limit.most })
}

/// What was found about a transaction.
struct Tree {
    root: Rerun,
    others: Vec<Rerun>,
    is_complete: bool,
    runs: u64,
}

struct Explorer<'a> {
    run: &'a History,
    base: &'a History,
    programs: &'a dyn Programs,
    /// The place of each transaction in the serial order.
    place: FxHashMap<Txn, usize>,
    /// The writers of each key, in serial order.
    writers: FxHashMap<String, Vec<Txn>>,
    /// The most runs for one transaction.
    most: usize,
}

impl<'a> Explorer<'a> {
    fn new(
        run: &'a History,
        base: &'a History,
        observed: &Observed<'_>,
        programs: &'a dyn Programs,
    ) -> Explorer<'a> {
        let mut writers: FxHashMap<String, Vec<Txn>> = FxHashMap::default();
        for &txn in &observed.order {
            for op in base.ops_of(txn).filter(|op| op.last_write) {
                writers.entry(key_text(base, &op)).or_default().push(txn);
            }
        }
        let place = observed.order.iter().copied().zip(0..).collect();
        let most = (MOST_IN_ALL / observed.order.len().max(1)).clamp(LEAST_RUNS, MOST_RUNS);
        Explorer { run, base, programs, place, writers, most }
    }

    /// The place in the serial order before which a transaction ran.
    fn before(&self, txn: Txn) -> usize {
        if let Some(&place) = self.place.get(&txn) {
            return place;
        }
        let of_session = || self.run.txns_of(self.run.session_of(txn));
        let place = |other: Txn| self.place.get(&other).copied();
        let earlier = of_session().filter(|&other| other < txn).filter_map(place);
        let sources = self.base.ops_of(txn).filter(is_external_read).filter_map(|op| self.source(&op));
        let before = earlier.chain(sources).max().map_or(0, |place| place + 1);
        let later = of_session().filter(|&other| other > txn).filter_map(place).min();
        later.map_or(before, |later| before.min(later))
    }

    /// The place of the first transaction that wrote what an operation read.
    fn source(&self, read: &OpView) -> Option<usize> {
        let writers = self.writers.get(&key_text(self.base, read))?;
        let mut wrote = writers.iter().filter(|&&writer| {
            let mut ops = self.base.ops_of(writer);
            ops.any(|op| op.last_write && op.key == read.key && op.value == read.value)
        });
        wrote.next().map(|writer| self.place[writer])
    }

    /// The writer of a key in the serial order, at a place.
    fn serial(&self, key: &str, before: usize) -> Option<Txn> {
        let writers = self.writers.get(key)?;
        let earlier = writers.partition_point(|writer| self.place[writer] < before);
        earlier.checked_sub(1).map(|last| writers[last])
    }

    /// One writer for each content that a key can have for a transaction, other than the content in the serial order.
    fn others(&self, txn: Txn, key: &str, serial: Option<Txn>) -> Vec<Option<Txn>> {
        let session = self.run.session_of(txn);
        let is_possible = |writer: &Txn| self.run.session_of(*writer) != session || *writer < txn;
        let writers = self.writers.get(key).map_or(&[][..], Vec::as_slice);
        let writers = writers.iter().copied().filter(is_possible).map(Some);
        let mut found: Vec<Option<Txn>> = Vec::new();
        for writer in std::iter::once(None).chain(writers) {
            let same = |&other: &Option<Txn>| self.programs.is_same(key, writer, other);
            if writer != serial && !same(&serial) && !found.iter().any(same) {
                found.push(writer);
            }
        }
        found
    }

    /// Runs the program of a transaction on all contents that its reads can return, few changes first.
    fn explore(&self, txn: Txn) -> Result<Tree, Refusal> {
        let before = self.before(txn);
        let mut queue: VecDeque<Vec<(String, Option<Txn>)>> = VecDeque::from([Vec::new()]);
        let mut known: FxHashSet<Vec<Access>> = FxHashSet::default();
        let (mut root, mut others, mut runs) = (None, Vec::new(), 0);
        let mut alternatives: FxHashMap<String, Vec<Option<Txn>>> = FxHashMap::default();
        while let Some(changed) = queue.pop_front() {
            if runs == self.most {
                queue.push_front(changed);
                break;
            }
            runs += 1;
            let mut asked: Vec<String> = Vec::new();
            let mut choose = |key: &str| {
                if !asked.iter().any(|known| known == key) {
                    asked.push(key.to_owned());
                }
                let change = changed.iter().find(|(other, _)| other == key);
                change.map_or_else(|| self.serial(key, before), |&(_, writer)| writer)
            };
            let ran = self.programs.rerun(txn, &mut choose).map_err(|message| self.mismatch(txn, message))?;
            // Only reads after the last changed one are changed next, so that no combination comes twice.
            let last = changed.last().and_then(|(key, _)| asked.iter().position(|other| other == key));
            for key in &asked[last.map_or(0, |last| last + 1)..] {
                let writers = alternatives
                    .entry(key.clone())
                    .or_insert_with(|| self.others(txn, key, self.serial(key, before)));
                for &writer in &*writers {
                    let mut more = changed.clone();
                    more.push((key.clone(), writer));
                    if queue.len() <= self.most {
                        queue.push_back(more);
                    }
                }
            }
            // A rollback may have the accesses of a form that commits.
            let is_new = ran.commits && known.insert(ran.accesses.clone());
            let is_root = root.is_none();
            if is_root {
                root = Some(ran.clone());
            }
            // The form of a transaction that took effect is the transaction itself.
            if is_new && !(is_root && self.place.contains_key(&txn)) {
                others.push(ran);
            }
        }
        let is_complete = queue.is_empty();
        let root = root.ok_or_else(|| Refusal::internal("no program ran"))?;
        Ok(Tree { root, others, is_complete, runs: runs as u64 })
    }

    fn mismatch(&self, txn: Txn, message: impl Into<String>) -> Refusal {
        let name = ValueText(self.run, self.run.txn_name(txn)).to_string();
        Refusal::Mismatch { txn: name, message: message.into() }
    }

    /// Refuses a program that does something else than the transaction did, on the values of the run.
    fn compare(&self, txn: Txn, root: &Rerun) -> Result<(), Refusal> {
        if !root.commits {
            return Err(self.mismatch(txn, "it committed, but its program does not commit on what it read"));
        }
        let did = accesses(self.run, txn);
        let differs = did.iter().zip(&root.accesses).position(|(one, other)| one != other);
        let at = differs.unwrap_or(did.len().min(root.accesses.len()));
        if at == did.len() && at == root.accesses.len() {
            return Ok(());
        }
        let (did, does) = (told(did.get(at)), told(root.accesses.get(at)));
        Err(self.mismatch(txn, format!("operation {} of it {did}, but that of its program {does}", at + 1)))
    }
}

fn told(access: Option<&Access>) -> String {
    match access {
        None => "does not exist".to_owned(),
        Some(Access::Read(key)) => format!("reads {key}"),
        Some(Access::Range(low, high)) => format!("reads the range from {low} to {high}"),
        Some(Access::Write(key)) => format!("writes {key}"),
    }
}

/// The name of an operation's key, as programs spell it.
pub(crate) fn key_text(history: &History, op: &OpView) -> String {
    name_text(history, history.key_name(op.key))
}

fn name_text(history: &History, name: Value) -> String {
    match history.datum(name) {
        Datum::Text(text) => text.to_owned(),
        _ => ValueText(history, name).to_string(),
    }
}

/// The accesses of a transaction, from its operations. Its range reads are not expanded.
fn accesses(history: &History, txn: Txn) -> Vec<Access> {
    let access = |op: OpView| match (op.kind, history.range(op.id)) {
        (OpKind::RangeRead, Some(row)) => {
            Some(Access::Range(name_text(history, row.low), name_text(history, row.high)))
        }
        (kind, _) if kind.is_write() => Some(Access::Write(key_text(history, &op))),
        _ if is_external_read(&op) => Some(Access::Read(key_text(history, &op))),
        _ => None,
    };
    history.ops_of(txn).filter_map(access).collect()
}

/// A copy of the run with the other forms of its transactions, in a session of their own; and their ids. Times are not copied.
fn extend(run: &History, forms: &[Forms]) -> (History, Vec<Vec<Txn>>) {
    let mut copy = Copy::new(run);
    for session in run.sessions() {
        let name = copy.names.apply(run.session_name(session));
        let place = copy.draft.new_session(name);
        for txn in run.txns_of(session) {
            copy.txn(place, txn);
        }
    }
    let name = copy.draft.values.add(Datum::Text("other executions"));
    let others = copy.draft.new_session(name);
    let mut next = run.txn_count() as u32;
    let mut ids = Vec::new();
    for forms in forms {
        ids.push((next..next + forms.others.len() as u32).map(Txn).collect());
        next += forms.others.len() as u32;
        for (form, nth) in forms.others.iter().zip(1..) {
            copy.form(others, forms.of, nth, form);
        }
    }
    let history = copy.draft.finish().expect("a run with some more transactions fits the model");
    (history, ids)
}

/// A history that is copied into a draft.
struct Copy<'h> {
    run: &'h History,
    draft: Draft,
    names: Remap,
    forms: u32,
}

impl<'h> Copy<'h> {
    fn new(run: &'h History) -> Copy<'h> {
        let mut draft = Draft::new();
        let names = draft.values.absorb(run.table());
        draft.sources = run.sources().clone();
        draft.set_initial(names.apply(run.default_initial()));
        for key in run.keys() {
            if run.initial(key) != run.default_initial() {
                draft.set_initial_of(names.apply(run.key_name(key)), names.apply(run.initial(key)));
            }
        }
        Copy { run, draft, names, forms: 0 }
    }

    fn begin(&mut self, session: Session, txn: Txn, name: Value, outcome: Outcome) -> DraftTxn {
        let position = self.run.txn_position(txn).map(|position| position.0);
        self.draft.txn(session, name, outcome, position)
    }

    /// The name of another form of a transaction, the `nth` one: `T17'` of `T17`, then `T17'2`. No two forms have the same name.
    fn name_of_form(&mut self, of: Txn, nth: usize) -> Value {
        let run = self.run;
        let name = run.txn_name(of);
        let name = match run.datum(name) {
            Datum::Int(n) => format!("T{n}"),
            Datum::Nat(n) => format!("T{n}"),
            _ => name_text(run, name),
        };
        let nth = if nth == 1 { String::new() } else { nth.to_string() };
        self.draft.values.add(Datum::Text(&format!("{name}'{nth}")))
    }

    fn txn(&mut self, session: Session, txn: Txn) {
        let run = self.run;
        let to = self.begin(session, txn, self.names.apply(run.txn_name(txn)), run.outcome(txn));
        for op in run.ops_of(txn) {
            let at = run.op_position(op.id).map(|position| position.0);
            if let (OpKind::RangeRead, Some(row)) = (op.kind, run.range(op.id)) {
                let both = |&(key, value): &(Value, Value)| (self.names.apply(key), self.names.apply(value));
                let row = RangeRow {
                    low: self.names.apply(row.low),
                    high: self.names.apply(row.high),
                    live: row.live.iter().map(both).collect(),
                    dead: row.dead.iter().map(both).collect(),
                };
                self.draft.push_range(to, row, at);
                continue;
            }
            let key = self.names.apply(run.key_name(op.key));
            self.draft.push(to, op.kind, key, self.names.apply(op.value), at);
        }
    }

    /// Adds a form of a transaction. Its operations have the places of the same operations of the transaction, if there are any.
    fn form(&mut self, session: Session, of: Txn, nth: usize, form: &Rerun) {
        let run = self.run;
        let name = self.name_of_form(of, nth);
        let to = self.begin(session, of, name, Outcome::Aborted);
        self.forms += 1;
        let mut places: FxHashMap<Access, Option<u64>> = FxHashMap::default();
        let begin = run.txn_position(of).map(|position| position.0);
        for op in run.ops_of(of) {
            let access = match (op.kind, run.range(op.id)) {
                (OpKind::RangeRead, Some(row)) => {
                    Access::Range(name_text(run, row.low), name_text(run, row.high))
                }
                (kind, _) if kind.is_write() => Access::Write(key_text(run, &op)),
                _ => Access::Read(key_text(run, &op)),
            };
            places.insert(access, run.op_position(op.id).map(|position| position.0));
        }
        for access in &form.accesses {
            let at = places.get(access).copied().flatten().or(begin);
            match access {
                Access::Read(key) => {
                    let key = self.draft.values.add(Datum::Text(key));
                    self.draft.push(to, OpKind::Read, key, Value::NIL, at);
                }
                Access::Write(key) => {
                    let content = form.written.iter().find(|(written, _)| written == key);
                    let content = content.map_or("?", |(_, content)| content.as_str());
                    // No read of the run may return it.
                    let value = format!("{content} (other execution {})", self.forms);
                    let key = self.draft.values.add(Datum::Text(key));
                    let value = self.draft.values.add(Datum::Text(&value));
                    self.draft.push(to, OpKind::Write, key, value, at);
                }
                Access::Range(low, high) => {
                    let low = self.draft.values.add(Datum::Text(low));
                    let high = self.draft.values.add(Datum::Text(high));
                    self.draft.push_range(to, RangeRow { low, high, live: Vec::new(), dead: Vec::new() }, at);
                }
            }
        }
    }
}
