//! SHIM, to be deleted when `isoscope_check::verify` is merged: call that in `certify`, set `certified` to true
//! there, drop the warning, and let the test of `--certify` run.

use isoscope_check::Judgement;
use isoscope_history::History;

/// Nothing is verified yet, and nothing may claim to be.
pub(crate) const VERIFIES: bool = false;

#[allow(clippy::unnecessary_wraps, reason = "the real one can fail")]
pub(crate) fn verify(_: &History, _: &Judgement) -> Result<(), String> {
    Ok(())
}
