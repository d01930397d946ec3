//! Windows over long runs.
//!
//! A run with more transactions than a window has is searched in windows of this size, each beginning half a window after the one before.
//! Inside a window, what is before it is full, what is after it is left out, only its own transactions can be boundary transactions, and
//! writers are at most [`STALENESS`] versions old. So *none* is then a statement about anomalies inside a window.

use crate::encode::Window;

/// The most versions between the observed writer of a read and an older one, in a run with several windows.
const STALENESS: u32 = 100;

/// The windows of a run.
pub(crate) fn windows(transactions: u32, size: u32) -> Vec<Window> {
    if transactions <= size {
        return vec![Window { start: 0, end: transactions, staleness: u32::MAX }];
    }
    let step = (size / 2).max(1);
    let mut windows = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + size).min(transactions);
        windows.push(Window { start, end, staleness: STALENESS });
        if end == transactions {
            return windows;
        }
        start += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_by_half_and_cover_all() {
        let spans = |transactions, size| -> Vec<(u32, u32)> {
            windows(transactions, size).iter().map(|window| (window.start, window.end)).collect()
        };
        assert_eq!(spans(10, 10), [(0, 10)]);
        assert_eq!(spans(11, 4), [(0, 4), (2, 6), (4, 8), (6, 10), (8, 11)]);
        assert_eq!(spans(3, 1), [(0, 1), (1, 2), (2, 3)]);
    }
}
