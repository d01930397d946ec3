//! Verdicts on what happened, confirmed by the independent verifier.

use isoscope_certificate::{Judgement, Verdict};
use isoscope_check::{Checker, Options, Watch};
use isoscope_history::History;
use isoscope_levels::Level;
use isoscope_verify::Verifier;

use crate::failure::Failure;

/// The verdicts for a level and a target. The level holds; the target holds or is violated.
pub(crate) fn judge(
    history: &History,
    level: Level,
    target: Level,
    watch: &dyn Watch,
) -> Result<(Judgement, Judgement), Failure> {
    let mut checker = Checker::watched(history, Options { max_anomalies: 1, ..Options::default() }, watch);
    let (at_level, at_target) = (checker.check(level), checker.check(target));
    drop(checker);
    for judgement in [&at_level, &at_target] {
        if let Verdict::Unknown(why) = &judgement.verdict {
            if let Some(limit) = watch.limit() {
                return Err(Failure::Limit(limit));
            }
            return Err(Failure::Unknown { level: judgement.level, why: why.clone() });
        }
    }
    if matches!(at_level.verdict, Verdict::Violated(_)) {
        return Err(Failure::Broken(level));
    }
    let budget = || watch.limit();
    let verifier = Verifier::new(history).within(&budget);
    for judgement in [&at_level, &at_target] {
        if let Err(error) = verifier.verify(judgement) {
            if let Some(limit) = error.stopped {
                return Err(Failure::Limit(limit));
            }
            return Err(Failure::Unverified { level: judgement.level, message: error.message });
        }
    }
    Ok((at_level, at_target))
}
