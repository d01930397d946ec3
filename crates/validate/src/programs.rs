//! The programs of a run, for predictions with a value-aware boundary.
//!
//! The run is repeated in a store, in its serial order, so that the store has every version. Then any transaction can run again on any of
//! them.

use isoscope_application::Call;
use isoscope_history::{History, Outcome, Txn};
use isoscope_levels::Level;
use isoscope_predict::{Access, Programs, Rerun};
use isoscope_replay::{Content, End, Latest, Operation, Origin, Ran, Source, Store, Trouble};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::run::Run;

/// See the module.
pub struct StorePrograms<'a> {
    store: Store<'a>,
    calls: FxHashMap<Txn, Call>,
    programs: FxHashMap<Txn, &'static str>,
}

impl<'a> StorePrograms<'a> {
    /// Repeats a run. What the history says did not take effect is not repeated; but if no attempt at a call took effect, its last
    /// attempt can run again.
    ///
    /// # Errors
    ///
    /// The run cannot be repeated.
    pub fn new(run: &Run<'a>, history: &History) -> Result<StorePrograms<'a>, Trouble> {
        let took_effect = |txn: &Txn| history.outcome(*txn) != Outcome::Aborted;
        let mut store = Store::new(run.application, Level::ReadCommitted, run.seed)?;
        let mut done: FxHashSet<Call> = FxHashSet::default();
        for &(_, call) in run.calls.iter().filter(|(txn, _)| took_effect(txn)) {
            let ran = store.run(call, &mut Latest)?;
            // What does not commit has no versions. That the history has some is found when a transaction runs again.
            if ran.end == End::Committed {
                done.insert(call);
            }
        }
        let mut last: FxHashMap<Call, Txn> = FxHashMap::default();
        for &(txn, call) in run.calls.iter().filter(|(txn, call)| !took_effect(txn) && !done.contains(call)) {
            let known = last.entry(call).or_insert(txn);
            *known = txn.max(*known);
        }
        let kept = |(txn, call): &(Txn, Call)| took_effect(txn) || last.get(call) == Some(txn);
        let program = |(txn, call): (Txn, Call)| (txn, run.application.program_of(call, run.seed));
        let programs = run.calls.iter().copied().filter(kept).map(program).collect();
        Ok(StorePrograms { store, calls: run.calls.iter().copied().collect(), programs })
    }

    fn source(&self, writer: Option<Txn>) -> Source {
        writer.and_then(|txn| self.calls.get(&txn)).map_or(Source::Initial, |&call| Source::Txn(call))
    }
}

impl Programs for StorePrograms<'_> {
    fn program(&self, txn: Txn) -> Option<&str> {
        self.programs.get(&txn).copied()
    }

    fn rerun(&self, txn: Txn, choose: &mut dyn FnMut(&str) -> Option<Txn>) -> Result<Rerun, String> {
        let call = *self.calls.get(&txn).ok_or("it is not a call of the application")?;
        let ran = self.store.rerun(call, &mut |key| self.source(choose(key)));
        let ran = ran.map_err(|trouble| trouble.to_string())?;
        Ok(Rerun { commits: ran.end == End::Committed, accesses: accesses(&ran), written: written(&ran) })
    }

    fn is_same(&self, key: &str, one: Option<Txn>, other: Option<Txn>) -> bool {
        let content = |writer: Option<Txn>| self.store.content(key, self.source(writer));
        one == other || content(one) == content(other)
    }
}

fn accesses(ran: &Ran) -> Vec<Access> {
    let access = |operation: &Operation| match operation {
        Operation::Read { from: Origin::Own, .. } => None,
        Operation::Read { key, .. } => Some(Access::Read(key.to_string())),
        Operation::Range { low, high, .. } => Some(Access::Range(low.clone(), high.clone())),
        Operation::Write { key, .. } => Some(Access::Write(key.to_string())),
    };
    ran.operations.iter().filter_map(access).collect()
}

/// The final content of each written key, as the value that a history has.
fn written(ran: &Ran) -> Vec<(String, String)> {
    let mut written: Vec<(String, String)> = Vec::new();
    for operation in &ran.operations {
        let Operation::Write { key, content } = operation else { continue };
        let content = match content {
            Content::Absent => "absent".to_owned(),
            Content::Row(_) => "1".to_owned(),
            Content::Cell(field) => field.to_string(),
        };
        match written.iter_mut().find(|(known, _)| **known == **key) {
            Some(known) => known.1 = content,
            None => written.push((key.to_string(), content)),
        }
    }
    written
}
