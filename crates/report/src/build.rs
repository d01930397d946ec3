//! Builds the report from the verdicts. Renderers compute nothing about isolation.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_certificate::{Finding as Found, Limit, Unknown, Verdict};
use isoscope_explain::{Story, Teller};
use isoscope_history::{Op, Outcome, Txn};
use isoscope_levels::Level;

use crate::checked::{Certified, Checked, Judged, TimeLimit};
use crate::definitions;
use crate::elle::Elle;
use crate::evidence::{Writer, head};
use crate::model::{
    Decided, Detail, Finding, LevelResult, Mark, Reached, Reason, Report, Section, Stage, Transaction, Word,
};
use crate::snippet;

impl Report {
    /// The report on a history.
    pub fn new(checked: &Checked<'_>, detail: Detail) -> Report {
        let history = checked.history;
        let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).count();
        let (levels, stories) = levels(checked, detail);
        let sections = sections(checked, &stories);
        let involved = stories.involved;
        Report {
            file: checked.file.clone(),
            format: checked.format.map(isoscope_formats::Format::name),
            sessions: checked.figures.sessions,
            transactions: history.txn_count(),
            operations: checked.figures.operations,
            seconds: checked.seconds,
            levels,
            definitions: definitions::results(checked),
            problems: checked.warnings.to_vec(),
            verdict: checked.verdict(),
            committed,
            strongest_holding: checked.strongest_holding(),
            weakest_violated: checked.weakest_violated(),
            involved,
            named: checked.named,
            sections,
            elle: None,
        }
    }

    /// The report on a history, with what Elle's checkers would return.
    pub fn with_elle(checked: &Checked<'_>, detail: Detail) -> Report {
        Report { elle: Some(Elle::of(checked)), ..Report::new(checked, detail) }
    }
}

/// The stories of occurrences, by level and finding.
#[derive(Default)]
struct Stories {
    /// For each finding, the transactions that each of its stories names.
    casts: BTreeMap<(Level, usize), Vec<BTreeSet<Txn>>>,
    involved: Vec<Transaction>,
}

fn levels(checked: &Checked<'_>, detail: Detail) -> (Vec<LevelResult>, Stories) {
    let mut reasons: Vec<(&Unknown, Reason)> = Vec::new();
    let mut results: Vec<LevelResult> = Vec::new();
    for judged in checked.judged {
        let mut result = result(checked, judged);
        if let Verdict::Unknown(unknown) = &judged.judgement.verdict {
            if !reasons.iter().any(|(known, _)| *known == unknown) {
                reasons.push((unknown, reason(checked, unknown)));
            }
            let known = reasons.iter().find(|(known, _)| *known == unknown);
            result.reason = known.map(|(_, reason)| reason.clone());
        }
        results.push(result);
    }
    // Choosing the names of transactions takes a pass over all of them.
    let silent = |judged: &Judged| match &judged.judgement.verdict {
        Verdict::Holds(_) => true,
        Verdict::Violated(_) => false,
        Verdict::Unknown(unknown) => first(unknown).is_none(),
    };
    if detail == Detail::Verdicts || checked.judged.iter().all(silent) {
        return (results, Stories::default());
    }
    let stories = add_stories(checked, detail, &mut results);
    (results, stories)
}

/// The parts of a result that every level has.
fn result(checked: &Checked<'_>, judged: &Judged) -> LevelResult {
    let judgement = &judged.judgement;
    let stages = judged.stages.iter().map(|stage| Stage {
        name: stage.name,
        seconds: stage.seconds,
        level: Some(stage.level).filter(|&level| level != judgement.level),
        figures: stage.figures.clone(),
    });
    let findings = match &judgement.verdict {
        Verdict::Violated(findings) => {
            findings.iter().map(|finding| head(checked.history, finding)).collect()
        }
        Verdict::Holds(_) | Verdict::Unknown(_) => Vec::new(),
    };
    LevelResult {
        level: judgement.level,
        verdict: Word::from(&judgement.verdict),
        certified: judged.certified == Certified::Yes,
        not_certified: match judged.certified {
            Certified::Stopped(limit) => Some(reason(checked, &Unknown::Limit(limit))),
            Certified::No | Certified::Yes => None,
        },
        seconds: judged.seconds,
        implied_by: judgement.implied_by,
        stages: stages.collect(),
        findings,
        reason: None,
        repeats: checked.repeats(judgement),
    }
}

/// The reason why a level is unknown. For a limit: which one, and what was decided before it.
fn reason(checked: &Checked<'_>, unknown: &Unknown) -> Reason {
    let (kind, message) = checked.reason(unknown);
    let limit = match unknown {
        Unknown::Limit(Limit::Time) => Some(Reached::Time {
            seconds: checked.limits.time.map(|time| time.duration().as_secs_f64()),
            of: checked.limits.time.map(|time| match time {
                TimeLimit::History(_) => "history",
                TimeLimit::Level(_) => "level",
            }),
        }),
        Unknown::Limit(Limit::Memory) => Some(Reached::Memory { bytes: checked.limits.memory }),
        Unknown::Limit(Limit::Interrupt) => Some(Reached::Interrupt),
        Unknown::Limit(Limit::Proof) => Some(Reached::Proof),
        _ => None,
    };
    let decided = limit.map(|_| Decided { holds: checked.holding(), violated: checked.violated() });
    Reason { kind, message, limit, decided, first: None, mark: None, op: first(unknown) }
}

fn first(unknown: &Unknown) -> Option<Op> {
    match unknown {
        Unknown::Ambiguous { first, .. } | Unknown::Unsupported { first, .. } => Some(*first),
        _ => None,
    }
}

/// Adds the occurrences and the places of reasons.
fn add_stories(checked: &Checked<'_>, detail: Detail, results: &mut [LevelResult]) -> Stories {
    let teller = Teller::new(checked.history);
    let own = |judged: &&Judged| checked.repeats(&judged.judgement).is_none();
    let mut found: Vec<(Level, usize, &Found, Vec<Narrated>)> = Vec::new();
    for judged in checked.judged.iter().filter(own) {
        let Verdict::Violated(findings) = &judged.judgement.verdict else { continue };
        for (i, finding) in findings.iter().enumerate() {
            let narrated = finding.instances.iter().map(|instance| Narrated {
                story: teller.story(finding.anomaly, instance),
                ops: match detail {
                    Detail::Evidence => teller.operations(finding.anomaly, &instance.evidence),
                    Detail::Verdicts | Detail::Stories => Vec::new(),
                },
            });
            found.push((judged.judgement.level, i, finding, narrated.collect()));
        }
    }
    let firsts = results.iter().filter_map(|result| result.reason.as_ref()?.op);
    let mut ops: Vec<Op> = firsts.collect();
    for narrated in found.iter().flat_map(|(.., narrated)| narrated) {
        ops.extend(narrated.story.clauses.iter().flat_map(|clause| &clause.ops).chain(&narrated.ops));
    }
    let places = snippet::places(checked, ops.into_iter());
    let writer = Writer { history: checked.history, teller: &teller, places: &places };
    for reason in results.iter_mut().filter_map(|result| result.reason.as_mut()) {
        let Some(op) = reason.op else { continue };
        reason.first = Some(writer.operation(op));
        let label = format!("the first: {}", teller.label(op));
        reason.mark = places.get(&op).map(|place| Mark { place: place.clone(), label, main: true });
    }
    let mut stories = Stories::default();
    let mut involved: BTreeSet<Txn> = BTreeSet::new();
    for (level, i, finding, narrated) in found {
        let Some(out) = finding_of(results, level, i) else { continue };
        for (instance, Narrated { story, ops }) in finding.instances.iter().zip(&narrated) {
            let mut occurrence = writer.occurrence(instance, story);
            if detail >= Detail::Evidence {
                involved.extend(writer.add_evidence(&mut occurrence, instance, story, ops));
            }
            out.occurrences.push(occurrence);
        }
        let casts = narrated.iter().map(|narrated| cast(checked, &narrated.story)).collect();
        stories.casts.insert((level, i), casts);
    }
    stories.involved = involved.into_iter().map(|txn| writer.transaction(txn)).collect();
    stories
}

/// The story of an occurrence, and the operations of its evidence.
struct Narrated {
    story: Story,
    ops: Vec<Op>,
}

fn finding_of(results: &mut [LevelResult], level: Level, i: usize) -> Option<&mut Finding> {
    results.iter_mut().find(|result| result.level == level)?.findings.get_mut(i)
}

/// The transactions that a story names by their operations.
fn cast(checked: &Checked<'_>, story: &Story) -> BTreeSet<Txn> {
    let ops = story.clauses.iter().flat_map(|clause| &clause.ops);
    ops.map(|&op| checked.history.txn_of(op)).collect()
}

/// The sections of the report: which findings to show under which level.
fn sections(checked: &Checked<'_>, stories: &Stories) -> Vec<Section> {
    let (weakest, violated) = (checked.weakest_violated(), checked.violated());
    let mut shown: Vec<&BTreeSet<Txn>> = Vec::new();
    let mut sections = Vec::new();
    for (level, findings) in checked.findings() {
        // Adya has one name for several anomalies, and levels that were decided separately may use different
        // names. Each story is shown once.
        let is_weakest = weakest.contains(&level);
        let casts = |i: usize| stories.casts.get(&(level, i)).map_or(&[][..], Vec::as_slice);
        let is_known = |i: usize, shown: &[&BTreeSet<Txn>]| {
            let again = |cast: &BTreeSet<Txn>| shown.iter().any(|known| cast.is_subset(known));
            (level == Level::AdyaPl299 || !is_weakest) && casts(i).iter().all(again)
        };
        let new: Vec<usize> = findings.iter().copied().filter(|&i| !is_known(i, &shown)).collect();
        shown.extend(new.iter().flat_map(|&i| casts(i)));
        let again = new.is_empty();
        let said = |l: Level| again && weakest.iter().any(|&other| other != level && l.implies(other));
        let above = violated.iter().copied().filter(|&l| l != level && l.implies(level) && !said(l));
        let also_violated = above.collect();
        sections.push(Section { level, findings, new, is_weakest, also_violated });
    }
    sections
}

impl From<&Verdict> for Word {
    fn from(verdict: &Verdict) -> Word {
        match verdict {
            Verdict::Holds(_) => Word::Holds,
            Verdict::Violated(_) => Word::Violated,
            Verdict::Unknown(_) => Word::Unknown,
        }
    }
}
