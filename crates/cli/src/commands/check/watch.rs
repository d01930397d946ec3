//! Progress of a check on a terminal: a progress bar, the stages with `--verbose`, and a note if a level takes long.

use std::time::Duration;

use indicatif::ProgressBar;
use isoscope::{Judgement, Level, Progress, Staged, TimeLimit, Verdict};

use crate::terminal::{self, Terminal, Unit};
use crate::words::{count, span};

/// The progress of a check.
pub(crate) struct Shown {
    bar: ProgressBar,
    verbose: bool,
}

impl Shown {
    pub(crate) fn new(terminal: &Terminal, levels: usize) -> Shown {
        let bar = terminal.progress("checking", Some(levels as u64), Unit::Count);
        Shown { bar, verbose: terminal.is_verbose() }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Shown {
    fn begins(&self, level: Level) {
        self.bar.set_message(format!("checking {level}"));
    }

    fn decided(&self, judgement: &Judgement) {
        let decided = !matches!(judgement.verdict, Verdict::Unknown(_));
        self.bar.inc(decided.into());
    }

    fn stage(&self, stage: &Staged) {
        if self.verbose {
            self.bar.suspend(|| terminal::say(&format!("{}\n", said(stage))));
        }
    }

    fn takes_long(&self, level: Option<Level>, so_far: Duration, limit: Option<TimeLimit>) {
        self.bar.suspend(|| terminal::say_note(&hint(level, so_far, limit)));
    }
}

/// The note that a level takes long, with its time limit.
fn hint(level: Option<Level>, so_far: Duration, limit: Option<TimeLimit>) -> String {
    let what = level.map_or_else(|| "the writers of the values read".to_owned(), |level| level.to_string());
    let end = match limit {
        None => "there is no time limit".to_owned(),
        Some(TimeLimit::History(limit)) => {
            format!("--timeout ends the whole check after {}", span(limit))
        }
        Some(TimeLimit::Level(limit)) => {
            format!("its time limit is {} (--timeout sets another)", span(limit))
        }
    };
    format!("still searching {what} after {}; {end}", span(so_far))
}

/// `serializable: saturate in 0.120 s: 1,234 edges, 3 rounds`.
fn said(staged: &Staged) -> String {
    let Staged { level, name, seconds, figures } = staged;
    let figure = |&(name, n): &(&'static str, u64)| match n {
        1 => format!("1 {}", name.strip_suffix('s').unwrap_or(name)),
        n => format!("{} {name}", count(n)),
    };
    let figures: Vec<String> = figures.iter().map(figure).collect();
    let figures = if figures.is_empty() { String::new() } else { format!(": {}", figures.join(", ")) };
    format!("{level}: {name} in {seconds:.3} s{figures}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_the_slow_level_and_its_limit() {
        let hint = |time, level| hint(level, Duration::from_secs(5), time);
        assert_eq!(
            hint(Some(TimeLimit::DEFAULT), Some(Level::Serializable)),
            "still searching serializable after 5 s; its time limit is 60 s (--timeout sets another)"
        );
        assert_eq!(
            hint(None, None),
            "still searching the writers of the values read after 5 s; there is no time limit"
        );
        let all = hint(Some(TimeLimit::History(Duration::from_secs(600))), None);
        assert!(all.ends_with("--timeout ends the whole check after 10 min"), "{all}");
    }

    #[test]
    fn a_stage_is_printed_with_its_figures() {
        let figures = vec![("edges", 1234), ("rounds", 3)];
        let stage = Staged { level: Level::Snapshot, name: "saturate", seconds: 0.12, figures };
        assert_eq!(said(&stage), "snapshot-isolation: saturate in 0.120 s: 1,234 edges, 3 rounds");
        let stage =
            Staged { level: Level::Serializable, name: "linearise", seconds: 2.0, figures: Vec::new() };
        assert_eq!(said(&stage), "serializable: linearise in 2.000 s");
    }
}
