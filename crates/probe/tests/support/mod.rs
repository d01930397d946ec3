//! Shared by the tests of probes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use isoscope_levels::Level;
use isoscope_probe::{Findings, LevelTally, Program, Unwatched, exhaustive, probe, script, separating};
use isoscope_record::Database;
use isoscope_record::script::{Options, Verdict, parse};
use isoscope_synth::Scope;

/// The programs that tell levels apart with up to three transactions, and all of two transactions of two operations.
pub(crate) fn programs() -> Vec<Program> {
    let (mut programs, is_complete) = separating(Scope::new(3, 2), &mut isoscope_synth::Unwatched);
    assert!(is_complete);
    programs.extend(exhaustive(2, 2, 2));
    programs.sort();
    programs.dedup();
    programs
}

pub(crate) fn probed(database: &dyn Database, programs: &[Program]) -> Findings {
    let stop = Arc::new(AtomicBool::new(false));
    let findings = probe(database, programs, &Level::COMMON, &stop, &mut Unwatched);
    let findings = findings.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(findings.is_complete());
    for tally in &findings.levels {
        assert_eq!(tally.undecided, 0, "{}", tally.level);
        assert_eq!(tally.violated == 0, tally.smallest.is_none(), "{}", tally.level);
        let shown: u64 = tally.anomalies.iter().map(|&(_, count)| count).sum();
        assert!(shown >= tally.violated, "{}", tally.level);
    }
    findings
}

pub(crate) fn weakest(findings: &Findings) -> Vec<Level> {
    findings.weakest_violated().iter().map(|tally| tally.level).collect()
}

/// The script of the smallest violation shows it again.
pub(crate) fn assert_script_repeats(database: &dyn Database, tally: &LevelTally) {
    let violation = tally.smallest.as_ref().expect("a violation");
    let text = script(violation, "a test");
    let parsed = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let transcript = parsed.run(database, &Options::default(), &mut |_| {});
    let transcript = transcript.unwrap_or_else(|failure| panic!("{failure}\n{text}"));
    assert_eq!(transcript.verdict, Some(Verdict::Happened), "{text}\n{transcript}");
    assert_eq!(transcript.unexpected().count(), 0, "{text}\n{transcript}");
}
