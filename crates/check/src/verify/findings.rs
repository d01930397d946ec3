//! *Violated*, checked: is every anomaly that a certificate shows in the history, and does the level forbid
//! it?
//!
//! One sound instance proves the verdict; all shown are checked, since people read all of them.

use isoscope_history::{Op, OpKind, OpView, Txn};
use isoscope_levels::{Anomaly, Level};

use super::cut::{self, Origins};
use super::facts::Facts;
use super::given::Given;
use super::{Refutation, cases, classify, cycle, ensure, shape, worlds};
use crate::certificate::{Edge, Evidence, Finding, Through, Why};

/// Checks all findings of a violated level.
pub(super) fn check(facts: &Facts<'_>, level: Level, findings: &[Finding]) -> Result<(), Refutation> {
    ensure(!findings.is_empty(), || "a violation without an anomaly".to_owned())?;
    for finding in findings {
        check_finding(facts, level, finding).map_err(|refutation| refutation.about(finding.anomaly))?;
    }
    Ok(())
}

fn check_finding(facts: &Facts<'_>, level: Level, finding: &Finding) -> Result<(), Refutation> {
    let Finding { anomaly, against, through, count, instances, .. } = finding;
    ensure(level.forbids(*anomaly), || format!("{level} does not forbid it"))?;
    ensure(!instances.is_empty(), || "no instance is shown".to_owned())?;
    ensure(*count >= instances.len() as u64, || "more instances than counted".to_owned())?;
    for instance in instances {
        match &instance.evidence {
            Evidence::Cycle(edges) => {
                let given = Given::nothing(facts);
                cycle::check(&given, level, edges)?;
                check_name(&given, finding, edges)?;
            }
            Evidence::Cases(proof) => cases::check(facts, level, finding, proof)?,
            Evidence::Worlds(worlds) => worlds::check(facts, level, finding, worlds)?,
            _ if against.is_some() => return Err(Refutation::new("no order is contradicted")),
            _ if *through != Through::Dependencies => {
                return Err(Refutation::new("neither sessions nor real time are needed"));
            }
            Evidence::Read { read, write } => check_read(facts, *anomaly, *read, *write)?,
            Evidence::Pair { first, second } => check_pair(facts, level, *anomaly, *first, *second)?,
        }
    }
    Ok(())
}

/// Checks what a cycle is called, the order it contradicts, and what it needs besides reads and writes.
///
/// Weak levels count cycles with sessions and without together, and say that they need nothing; so where a
/// cycle is made of what weak levels know, that is let pass.
pub(super) fn check_name(given: &Given<'_, '_>, finding: &Finding, edges: &[Edge]) -> Result<(), Refutation> {
    ensure(shape::fits(given, finding.anomaly, edges), || "the cycle has another shape".to_owned())?;
    ensure(finding.against.is_none_or(|against| against == shape::against(edges)), || {
        "the order it contradicts is the other one".to_owned()
    })?;
    let is_strong =
        |edge: &Edge| matches!(edge.why, Why::RealTime | Why::Overwritten { .. } | Why::Misses { .. });
    let unsaid = finding.through == Through::Dependencies && !edges.iter().any(is_strong);
    ensure(unsaid || finding.through == shape::through(edges), || {
        format!("what it needs besides reads and writes is {:?}", shape::through(edges))
    })
}

/// A read of a present transaction, with its transaction.
pub(super) fn read_of(given: &Given<'_, '_>, read: Op) -> Result<(OpView, Txn), Refutation> {
    let facts = given.facts;
    ensure(read.index() < facts.history.op_count(), || format!("{read:?} is no operation"))?;
    let (view, txn) = (facts.history.op(read), facts.history.txn_of(read));
    ensure(view.kind.is_read(), || format!("{} is no read", facts.text(read)))?;
    ensure(given.is_present(txn), || format!("{} is absent", facts.name(txn)))?;
    Ok((view, txn))
}

fn check_read(facts: &Facts<'_>, anomaly: Anomaly, read: Op, write: Option<Op>) -> Result<(), Refutation> {
    let (read, reader) = read_of(&Given::nothing(facts), read)?;
    let shown = classify::anomalies(facts, read, reader);
    ensure(shown.contains(&anomaly), || match shown.first() {
        Some(other) => format!("{} is rather a {other}", facts.text(read.id)),
        None => format!("{} is right by itself", facts.text(read.id)),
    })?;
    ensure(classify::is_write_of(facts, anomaly, read, reader, write), || {
        format!("{} did not return the write that is named", facts.text(read.id))
    })
}

fn check_pair(
    facts: &Facts<'_>,
    level: Level,
    anomaly: Anomaly,
    first: Op,
    second: Op,
) -> Result<(), Refutation> {
    let given = Given::nothing(facts);
    if anomaly == Anomaly::NonRepeatableRead {
        let in_range = |op: Op| op.index() < facts.history.op_count() && facts.history.op(op).in_range;
        ensure(level.implies(Level::ReadAtomic) || !in_range(first) && !in_range(second), || {
            format!("{level} lets ranges change")
        })?;
        return check_unrepeatable(facts, first, second);
    }
    let (first, _) = read_of(&given, first)?;
    let (second, _) = read_of(&given, second)?;
    ensure(first.key == second.key, || "two reads of different keys".to_owned())?;
    match anomaly {
        Anomaly::IncompatibleOrder => {
            let lists = [first, second].iter().all(|read| read.kind == OpKind::ReadList);
            ensure(lists && facts.is_list(first.key), || "not two reads of a list".to_owned())?;
            let [a, b] = [first, second].map(|read| facts.history.table().elements(read.value));
            ensure(!a.starts_with(b) && !b.starts_with(a), || {
                "one of the lists begins with the other".to_owned()
            })
        }
        _ => Err(Refutation::new("two reads do not show it")),
    }
}

/// Two reads of one key by one transaction that are certainly of two others. The reader may be one of unknown outcome, if cut
/// isolation is violated whether it took effect or not.
fn check_unrepeatable(facts: &Facts<'_>, first: Op, second: Op) -> Result<(), Refutation> {
    for read in [first, second] {
        let is_read = read.index() < facts.history.op_count() && facts.history.op(read).kind.is_read();
        ensure(is_read, || format!("{read:?} is no read"))?;
    }
    let (one, other) = (facts.history.op(first), facts.history.op(second));
    let reader = facts.history.txn_of(first);
    ensure(one.key == other.key, || "two reads of different keys".to_owned())?;
    ensure(reader == facts.history.txn_of(second) && first < second, || {
        "not an earlier and a later read of one transaction".to_owned()
    })?;
    let differ = facts.is_present(reader) && cut::compare(facts, reader, one, other) == Origins::Differ;
    ensure(differ || cut::is_unrepeatable(facts, reader, one, other), || {
        if facts.is_present(reader) {
            "the reads are not certainly of two others".to_owned()
        } else {
            format!("{} is absent", facts.name(reader))
        }
    })
}
