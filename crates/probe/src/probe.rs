//! All interleavings of some programs on a database.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use isoscope_levels::Level;
use isoscope_record::{Database, Failure};

use crate::interleavings::Explorer;
use crate::judge::{Judge, LevelTally};
use crate::plan::Plan;
use crate::programs::Program;
use crate::run::{Stage, StepResult};

/// Watches a probe.
pub trait Watch {
    /// Whether to stop. It is asked after every interleaving.
    fn stops(&mut self) -> bool {
        false
    }

    /// All interleavings of a program have run. The arguments are the numbers of programs and interleavings done.
    fn done(&mut self, _programs: usize, _interleavings: u64) {}
}

/// Watches nothing.
pub struct Unwatched;

impl Watch for Unwatched {}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The number of programs of which all interleavings ran.
    pub programs: usize,
    /// The number of programs that were to run.
    pub of_programs: usize,
    /// The number of interleavings that ran.
    pub interleavings: u64,
    /// The number of different histories.
    pub histories: usize,
    /// The number of interleavings in which a step waited for a lock, and in which a transaction failed.
    pub waited: u64,
    /// See `waited`.
    pub failed: u64,
    /// The number of interleavings in which the database did something else than before, with the same choices.
    pub lost: u64,
    /// The time of all runs, including the checks.
    pub elapsed: Duration,
    /// What the runs say about each level; each level comes after those it implies.
    pub levels: Vec<LevelTally>,
}

impl Findings {
    /// Whether all programs ran.
    pub fn is_complete(&self) -> bool {
        self.programs == self.of_programs
    }

    /// Interleavings per second.
    pub fn rate(&self) -> f64 {
        self.interleavings as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The levels that some run violated.
    pub fn violated(&self) -> Vec<Level> {
        self.levels.iter().filter(|tally| tally.violated > 0).map(|tally| tally.level).collect()
    }

    /// The strongest levels that no run violated.
    pub fn strongest_kept(&self) -> Vec<Level> {
        let kept: Vec<Level> =
            self.levels.iter().filter(|tally| tally.violated == 0).map(|tally| tally.level).collect();
        let is_strongest = |&level: &Level| !kept.iter().any(|&other| other != level && other.implies(level));
        kept.iter().copied().filter(is_strongest).collect()
    }

    /// The weakest levels that some run violated.
    pub fn weakest_violated(&self) -> Vec<&LevelTally> {
        let violated = self.violated();
        let is_weakest = |level: Level| !violated.iter().any(|&other| other != level && level.implies(other));
        self.levels.iter().filter(|tally| tally.violated > 0 && is_weakest(tally.level)).collect()
    }
}

/// Runs all interleavings of some programs, and checks these levels. `stop` ends a run that waits.
///
/// It fails if the database fails for a reason unrelated to isolation. A run in which `stop` was set does not count.
pub fn probe(
    database: &dyn Database,
    programs: &[Program],
    levels: &[Level],
    stop: &Arc<AtomicBool>,
    watch: &mut dyn Watch,
) -> Result<Findings, Failure> {
    let sessions = programs.iter().map(|program| program.sessions().len()).max().unwrap_or(0);
    let mut stage = Stage::open(database, sessions, Arc::clone(stop))?;
    let result = run_all(&mut stage, programs, levels, watch);
    let closed = stage.close();
    // The first failure is the one to report.
    let findings = result?;
    closed.map(|()| findings)
}

fn run_all(
    stage: &mut Stage,
    programs: &[Program],
    levels: &[Level],
    watch: &mut dyn Watch,
) -> Result<Findings, Failure> {
    let start = Instant::now();
    let mut judge = Judge::new(levels);
    let mut findings = Findings {
        programs: 0,
        of_programs: programs.len(),
        interleavings: 0,
        histories: 0,
        waited: 0,
        failed: 0,
        lost: 0,
        elapsed: Duration::ZERO,
        levels: Vec::new(),
    };
    'programs: for program in programs {
        let plan = Plan::new(program);
        let mut explorer = Explorer::new(program.symmetries());
        loop {
            if watch.stops() {
                break 'programs;
            }
            let run = match stage.run(&plan, &mut explorer) {
                Ok(run) => run,
                // The end of a run that was stopped is no failure.
                Err(_) if stage.is_stopped() => break 'programs,
                Err(failure) => return Err(failure),
            };
            judge.add(program, &run);
            findings.interleavings += 1;
            let failed = |result| matches!(result, StepResult::Failed(_));
            findings.waited += u64::from(run.steps.iter().any(|step| step.waited));
            findings.failed += u64::from(run.steps.iter().any(|step| failed(step.result)));
            findings.lost += u64::from(explorer.is_lost());
            if !explorer.advance() {
                break;
            }
        }
        findings.programs += 1;
        watch.done(findings.programs, findings.interleavings);
    }
    findings.histories = judge.histories();
    findings.levels = judge.tallies;
    findings.levels.iter_mut().for_each(LevelTally::sort_anomalies);
    findings.elapsed = start.elapsed();
    Ok(findings)
}
