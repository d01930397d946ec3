//! How a weak level is decided: by its axiom or by cycles, and where reads have several possible writers by a search.

use isoscope_history::{Outcome, Txn};
use isoscope_levels::{Anomaly, Level};

use super::{Checker, stopped};
use crate::certificate::{Unknown, Verdict, Witness};
use crate::cut::{self, Cut};
use crate::findings::violated;
use crate::resolve::Resolved;
use crate::semantics::{Method, Semantics};
use crate::strong::Answer;

impl Checker<'_> {
    /// Decides a weak level. A violation that ignores open reads is one for every choice of their writers; that the level
    /// holds is final only where nothing is open.
    pub(super) fn weak(&mut self, level: Level) -> Verdict {
        match self.plain(level) {
            Verdict::Holds(witness) => self.unless_open(level, witness),
            violated => violated,
        }
    }

    /// The verdict where the level holds if open reads are ignored.
    fn unless_open(&mut self, level: Level, witness: Witness) -> Verdict {
        let ambiguous = self.resolved.ambiguous;
        if let Some(unsupported) = self.unsupported() {
            return unsupported;
        }
        let Semantics { method, knows_reads, .. } = Semantics::of(level);
        if method == Method::Alone {
            return if self.cut_depends() { self.cut() } else { Verdict::Holds(witness) };
        }
        // The writers of reads do not matter to the order of writes, unless lists show it.
        if !knows_reads || ambiguous.is_none() {
            return Verdict::Holds(witness);
        }
        if let Some(violation) = self.borrowed(level) {
            return Verdict::Violated(self.findings().of_violation(level, violation));
        }
        match self.in_turns(level) {
            Answer::Violated(violation) if !violation.leaves.is_empty() => {
                Verdict::Violated(vec![self.findings().of_leaves(level, violation)])
            }
            answer => self.answered(level, answer),
        }
    }

    /// Whether cut isolation depends on which transactions took effect, where no violation is certain.
    pub(super) fn cut_depends(&self) -> bool {
        let Resolved { ambiguous, open_lists, uncertain, ref wrong, .. } = *self.resolved;
        // Whether a transaction of unknown outcome took effect may depend on who wrote what.
        let open = ambiguous.or(open_lists).is_some() || !wrong.is_empty();
        open && self.any_left_out() || uncertain.is_some()
    }

    /// Cut isolation where it depends on which transactions took effect.
    fn cut(&self) -> Verdict {
        match cut::decide(self.history, &self.resolved, self.watch) {
            Err(limit) => stopped(limit),
            Ok(Cut::Holds) => Verdict::Holds(Witness::default()),
            Ok(Cut::Violated(first, second)) => {
                let pairs = self.findings().of_pairs(Anomaly::NonRepeatableRead, &[(first, second)]);
                violated(pairs.into_iter().collect())
            }
            Ok(Cut::Open(first)) => Verdict::Unknown(Unknown::Ambiguous { reads: 1, first }),
        }
    }

    /// Whether a transaction of unknown outcome is taken as absent.
    fn any_left_out(&self) -> bool {
        let left_out =
            |txn: Txn| self.history.outcome(txn) == Outcome::Unknown && !self.resolved.present[txn.index()];
        self.history.txns().any(left_out)
    }
}
