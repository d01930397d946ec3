//! The name of a prediction, and which of several is more important.

use isoscope_certificate::Finding;
use isoscope_levels::Anomaly;

use crate::predict::Prediction;

/// The anomaly of a violation: that with the fewest steps, which is the first instance of some finding.
pub(crate) fn anomaly(findings: &[Finding]) -> Option<Anomaly> {
    let steps =
        |finding: &&Finding| finding.instances.first().map_or(usize::MAX, |first| steps(&first.evidence));
    findings.iter().min_by_key(steps).map(|finding| finding.anomaly)
}

fn steps(evidence: &isoscope_certificate::Evidence) -> usize {
    use isoscope_certificate::Evidence;
    match evidence.main() {
        Evidence::Cycle(edges) => edges.len(),
        Evidence::Cases(proof) => proof.main_cycle().len(),
        _ => 1,
    }
}

/// Sorts predictions: lost writes before wrong reads, fewer changed reads, fewer transactions, the order of the run.
pub(crate) fn rank(found: &mut [Prediction]) {
    let loses_writes = |one: &Prediction| matches!(one.anomaly, Anomaly::LostUpdate | Anomaly::DirtyWrite);
    found.sort_by_key(|one| {
        let changed = one.changes.len() + one.commits.len();
        (!loses_writes(one), changed, one.txns.len(), one.changes.first().map(|change| change.read))
    });
}
