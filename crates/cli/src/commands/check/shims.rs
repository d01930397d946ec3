//! SHIM, to be deleted when `isoscope_check::verify` is merged.

use isoscope_check::Judgement;
use isoscope_history::History;

#[allow(clippy::unnecessary_wraps, reason = "the real one can fail")]
pub(crate) fn verify(_: &History, _: &Judgement) -> Result<(), String> {
    Ok(())
}
