//! The programs behind the smallest histories that tell two levels apart.

use std::collections::BTreeSet;

use isoscope_history::notation;
use isoscope_levels::Level;
use isoscope_levels::language::{Definition, Library};
use isoscope_synth::{Problem, Scope, SmallHistory, Watch, smallest};

use crate::interleavings::count;
use crate::programs::Program;

/// The most histories per pair of levels.
const MOST: usize = 1_000;

/// The programs of all smallest histories that one level of the catalogue allows and another forbids, within a scope; those with the
/// fewest interleavings first. Also returns whether the search was complete.
pub fn separating(scope: Scope, watch: &mut dyn Watch) -> (Vec<Program>, bool) {
    let definitions = catalogue();
    let mut programs = BTreeSet::new();
    let mut is_complete = true;
    for allow in &definitions {
        for forbid in &definitions {
            if allow.0.implies(forbid.0) {
                continue;
            }
            let problem = Problem { allow: vec![allow.1], forbid: vec![forbid.1], conditions: Vec::new() };
            let found = smallest(&problem, scope, MOST, watch);
            is_complete &= found.stopped.is_none() && found.histories.len() < MOST;
            programs.extend(found.histories.iter().filter_map(program));
        }
    }
    let mut programs: Vec<Program> = programs.into_iter().filter(Program::says_something).collect();
    programs.sort_by_key(|program| count(&program.steps()));
    (programs, is_complete)
}

/// The levels of the catalogue with one definition each. All definitions of a level are equivalent.
fn catalogue() -> Vec<(Level, &'static Definition)> {
    let shipped = Library::shipped().definitions();
    let of_level = |level: Level| shipped.iter().find(|one| one.name == level.name());
    Level::ALL.into_iter().filter_map(|level| Some((level, of_level(level)?))).collect()
}

/// The program behind a small history.
fn program(history: &SmallHistory) -> Option<Program> {
    Program::of(&notation::parse(&history.to_string()).ok()?)
}
