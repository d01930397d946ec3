//! What kind of wrong a violation is: the first rung of a ladder of weaker promises that explains the log up to it.
//!
//! Each weaker model gets the same log, and explains the answers up to the failing entry or does not. Searches get a share of
//! the work that the audit itself may do. A model that does not decide says nothing, and the next one is asked. If
//! no model explains the answers, `rungs.rs` looks for rows that would.

use isoscope_log::Log;

use crate::engine::Engine;
use crate::error::AuditError;
use crate::options::Options;
use crate::verdict::{Blame, Rung, Verdict, Watch};

/// The part of the proposals of an audit that one model gets, in all its searches.
const SHARE: u64 = 4;

/// Whom to blame for a violation at an entry.
pub(crate) fn find(
    log: &Log,
    options: &Options,
    watch: &dyn Watch,
    entry: usize,
) -> Result<Blame, AuditError> {
    for &model in options.model.weaker() {
        if watch.is_over() {
            break;
        }
        let mut options = Options { model, ..options.clone() };
        options.most_proposals = (options.most_proposals / SHARE).max(1);
        if let Verdict::Explained(_) = Engine::run(log, &options, watch, Some(entry))?.verdict {
            return Ok(Blame::Isolation(Rung::Model(model)));
        }
    }
    let mut options = options.clone();
    options.most_proposals = (options.most_proposals / SHARE).max(1);
    let rung = Engine::rung(log, &options, watch, entry)?;
    Ok(rung.map_or(Blame::Undetermined, Blame::Isolation))
}
