//! The application behind a history, and which of its calls each transaction is.
//!
//! `isoscope record` names the sessions of a run 0, 1, and so on. A client that continues as another session after an unknown outcome adds
//! the number of sessions. Transaction `n` of session `s`, both from 0, is named `n * sessions + s + 1`, and a retry has `/2`, `/3` behind it.

use isoscope_application::{Application, Call};
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Txn};

/// The programs of a recorded run.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    /// The application with the parameters of the recording.
    pub application: &'a dyn Application,
    /// The seed of the recording.
    pub seed: u64,
    /// The number of sessions of the recording.
    pub sessions: u32,
}

impl Programs<'_> {
    /// The call that a transaction of a recorded history is; `None` if its name says otherwise.
    pub fn call(&self, history: &History, txn: Txn) -> Option<Call> {
        let sessions = u64::from(self.sessions).max(1);
        let Datum::Int(session) = history.datum(history.session_name(history.session_of(txn))) else {
            return None;
        };
        let name = match history.datum(history.txn_name(txn)) {
            Datum::Int(name) => u64::try_from(name).ok()?,
            Datum::Text(text) => text.split_once('/')?.0.parse().ok()?,
            _ => return None,
        };
        let (number, of) = (name.checked_sub(1)? / sessions, (name - 1) % sessions);
        let session = u64::try_from(session).ok()? % sessions;
        (session == of).then_some(Call { session: session as u32, number })
    }
}

/// What a transaction is called in messages and scripts: its program and its name.
pub(crate) fn title(history: &History, txn: Txn, program: &str) -> String {
    let name = ValueText(history, history.txn_name(txn)).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{program}{}", name.trim_matches('_'))
}
