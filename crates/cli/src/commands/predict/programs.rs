//! The programs of a run, from the header of its log.

use std::sync::Arc;

use isoscope_application::{Application, Call, rebuild};
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Txn};
use isoscope_log::{LogHeader, call_of};
use rustc_hash::FxHashMap;

/// The application of a run, and the call of each transaction.
pub(super) struct Known {
    pub(super) application: Arc<dyn Application>,
    pub(super) seed: u64,
    pub(super) calls: FxHashMap<Txn, Call>,
}

/// The programs that a log names, or why it names none.
pub(super) fn known(header: &LogHeader, history: &History) -> Result<Known, String> {
    let application =
        rebuild(&header.workload, header.parameters.as_ref()).map_err(|error| error.to_string())?;
    if header.parameters.is_none() {
        return Err("it has no parameters of the application; record it again with this version".to_owned());
    }
    let sessions = header.sessions.filter(|&sessions| sessions > 0);
    let (Some(sessions), Some(seed)) = (sessions, header.seed) else {
        return Err("it does not say the number of sessions and the seed".to_owned());
    };
    let mut calls = FxHashMap::default();
    for txn in history.txns() {
        let name = match history.datum(history.txn_name(txn)) {
            Datum::Text(name) => name.to_owned(),
            _ => ValueText(history, history.txn_name(txn)).to_string(),
        };
        let (session, number) = call_of(&name, sessions).ok_or_else(|| {
            format!("transaction {name} of the history is not named like those of a recording")
        })?;
        calls.insert(txn, Call { session, number });
    }
    Ok(Known { application, seed, calls })
}
