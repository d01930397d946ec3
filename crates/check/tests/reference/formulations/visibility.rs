//! Levels by visibility and arbitration.
//!
//! docs/levels.md, Visibility and arbitration. The definition is about values and does not ask which transaction wrote one, so it also
//! tests the choice of writers. The search places transactions one after the other in the order `ar`, and for each tries every set of
//! earlier ones that it may see.
//!
//! Limits: those of `case.rs`; nine levels.

use isoscope_history::Value;
use isoscope_levels::Level;

use super::case::Case;
use super::relation::bit;

/// What Framework 2 asks of `ar` and `vis` besides INT, EXT and SESSION.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an axiom, asked for or not")]
pub(super) struct Asked {
    /// TRANSVIS: `vis` is transitive.
    pub(super) transitive: bool,
    /// PREFIX: `ar ; vis` is inside `vis`.
    pub(super) prefix: bool,
    /// NOCONFLICT: two that write one key are `vis`-related.
    pub(super) no_conflict: bool,
    /// TOTALVIS: `vis` is `ar`.
    pub(super) total: bool,
    /// `rt` is inside `vis`.
    pub(super) real_time: bool,
}

impl Asked {
    pub(super) fn by(level: Level) -> Option<Asked> {
        let read_atomic = Asked::default();
        let causal = Asked { transitive: true, ..read_atomic };
        let prefix = Asked { prefix: true, ..read_atomic };
        let snapshot = Asked { no_conflict: true, ..prefix };
        let serializable = Asked { total: true, ..read_atomic };
        match level {
            Level::ReadAtomic => Some(read_atomic),
            Level::Causal => Some(causal),
            Level::ParallelSnapshot => Some(Asked { no_conflict: true, ..causal }),
            Level::UpdateAtomic => Some(Asked { no_conflict: true, ..read_atomic }),
            Level::Prefix => Some(prefix),
            Level::Snapshot => Some(snapshot),
            Level::StrictSnapshot => Some(Asked { real_time: true, ..snapshot }),
            Level::Serializable => Some(serializable),
            Level::StrictSerializable => Some(Asked { real_time: true, ..serializable }),
            _ => None,
        }
    }
}

/// A beginning of `ar`, and for each transaction in it those that are visible to it.
pub(super) struct Abstract<'c> {
    pub(super) case: &'c Case,
    pub(super) asked: Asked,
    pub(super) ar: Vec<usize>,
    pub(super) seen: Vec<u16>,
}

impl Abstract<'_> {
    /// Whether the beginning can be continued to the end.
    pub(super) fn can_end(&mut self) -> bool {
        if self.ar.len() == self.case.n {
            return true;
        }
        let placed = self.ar.iter().fold(0, |set, &t| set | bit(t));
        for t in (0..self.case.n).filter(|&t| placed & bit(t) == 0) {
            for seen in (0..=placed).filter(|seen| seen & !placed == 0) {
                if self.may_see(t, placed, seen) {
                    self.ar.push(t);
                    self.seen[t] = seen;
                    if self.can_end() {
                        return true;
                    }
                    self.ar.pop();
                }
            }
        }
        false
    }

    /// Whether `t` may come next in `ar` with `seen` as what is visible to it.
    pub(super) fn may_see(&self, t: usize, placed: u16, seen: u16) -> bool {
        let Abstract { case, asked, ar, .. } = self;
        let sees = |s: usize| seen & bit(s) != 0;
        let returned = |(key, value): (usize, Value)| {
            let last = ar.iter().rev().find(|&&s| sees(s) && case.writes(s, key));
            last.is_some_and(|&s| case.leaves[s][key] == Some(value))
        };
        let before = |s: usize| ar.iter().take_while(|&&u| u != s).fold(0, |set, &u| set | bit(u));
        let all = || 0..case.n;
        let earlier = || ar.iter().copied();
        case.reads[t].iter().all(|&read| returned(read))
            && all().all(|s| !case.so.has(s, t) || sees(s))
            && (!asked.real_time || all().all(|s| !case.rt.has(s, t) || sees(s)))
            && (!asked.transitive || earlier().all(|s| !sees(s) || self.seen[s] & !seen == 0))
            && (!asked.prefix || earlier().all(|s| !sees(s) || before(s) & !seen == 0))
            && (!asked.no_conflict || earlier().all(|s| !case.conflict(s, t) || sees(s)))
            && (!asked.total || seen == placed)
    }
}

/// Framework 2.
pub(super) fn has_visibility(cases: &[Case], asked: Asked) -> bool {
    cases.iter().any(|case| {
        let (ar, seen) = (vec![0], vec![0; case.n]);
        Abstract { case, asked, ar, seen }.can_end()
    })
}
