//! Determines up to where an incomplete recording is complete, and what is kept of it. [`native`](super)
//! explains why this is sound.
//!
//! The last mark is known only at the end of the input. Until then, the transactions that the marks so far do
//! not decide are stored. They are few, since a mark decides all transactions that returned before its time.

use isoscope_history::{Draft, DraftTxn, NO_TIME};

use super::scan::{Mark, Scan};
use crate::problem::{Problems, Warning};

/// The state of a file with marks that is being read.
#[derive(Default)]
pub(super) struct Cut {
    /// The time of the last mark.
    time: Option<i64>,
    has_ended: bool,
    /// Transactions that had not returned at the last mark, in draft order.
    open: Vec<Open>,
}

struct Open {
    txn: DraftTxn,
    invoked: i64,
    returned: i64,
    at: u64,
}

impl Cut {
    /// Processes a block whose transactions are in the draft from `first` on.
    pub(super) fn follow(&mut self, first: u32, scan: &Scan, problems: &mut Problems) {
        let end = scan.mark.and_then(|(mark, at)| (mark == Mark::End).then_some(at));
        let is_late = |at: u32| self.has_ended || end.is_some_and(|end| at > end);
        if let Some(late) = scan.txns.iter().find(|txn| is_late(txn.at)) {
            let at = Some(scan.base + u64::from(late.at));
            problems.error(at, "a transaction after the end mark", "the end mark on the last line");
        }
        self.has_ended |= end.is_some();
        // For a transaction without times, only its line position is known.
        let opened = self.open.len();
        self.open.extend(scan.txns.iter().zip(first..).map(|(txn, id)| Open {
            txn: DraftTxn(id),
            invoked: i64::MIN,
            returned: i64::MAX,
            at: scan.base + u64::from(txn.at),
        }));
        for &(local, invoked, returned) in &scan.times {
            let open = &mut self.open[opened + local as usize];
            open.invoked = if invoked == NO_TIME { i64::MIN } else { invoked };
            open.returned = if returned == NO_TIME { i64::MAX } else { returned };
        }
        if let Some((Mark::Time(time), _)) = scan.mark {
            self.time = self.time.max(Some(time));
        }
        let settled = self.time;
        self.open.retain(|open| settled.is_none_or(|time| open.returned > time));
    }

    /// Drops from the draft what the last mark does not cover, unless the file has its end mark.
    pub(super) fn make(self, draft: &mut Draft, problems: &mut Problems) {
        if self.has_ended || problems.failed() {
            return;
        }
        problems.warn(Warning::NoEnd, None);
        let is_before = |open: &Open| self.time.is_some_and(|time| open.invoked < time);
        let (running, later): (Vec<Open>, Vec<Open>) = self.open.into_iter().partition(is_before);
        problems.warn_many(Warning::AtMark, running.len() as u64, running.first().map(|open| open.at));
        problems.warn_many(Warning::AfterMark, later.len() as u64, later.first().map(|open| open.at));
        for open in later {
            draft.drop_txn(open.txn);
        }
        draft.forget_reads(|txn| running.binary_search_by_key(&txn, |open| open.txn).is_ok());
    }
}
