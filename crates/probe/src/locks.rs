//! A guess at who waits for whom.
//!
//! Asking a database whether a session waits takes as long as a statement. The guess says when to ask at once and when to be
//! patient, and whether several waiting sessions are a deadlock that the database will end by itself. Nothing depends on it but
//! time: a wait counts only if the database confirms it.
//!
//! The guess is that a transaction keeps write locks on the keys it wrote until it ends. If a session waits without a writer in its
//! way, the database also locks what is read, and from then on the guess includes read locks.

use crate::plan::Action;

/// The locks that are believed to be held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    /// The session, the key, and whether it was written.
    held: Vec<(usize, usize, bool)>,
    locks_reads: bool,
}

impl Locks {
    /// All transactions have ended.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }

    /// A session did something.
    pub(crate) fn take(&mut self, session: usize, action: Action) {
        match action {
            Action::Read(key) => self.held.push((session, key, false)),
            Action::Write(key, _) => self.held.push((session, key, true)),
            Action::Commit => {}
        }
    }

    /// The transaction of a session has ended.
    pub(crate) fn release(&mut self, session: usize) {
        self.held.retain(|&(holder, ..)| holder != session);
    }

    /// The sessions that another one must wait for before it can do something.
    pub(crate) fn blockers(&self, session: usize, action: Action) -> impl Iterator<Item = usize> + '_ {
        let (key, writes) = match action {
            Action::Read(key) => (Some(key), false),
            Action::Write(key, _) => (Some(key), true),
            Action::Commit => (None, false),
        };
        let conflicts = move |written: bool| (writes && written) || (self.locks_reads && (writes || written));
        let held = self.held.iter().copied();
        held.filter(move |&(holder, of, written)| holder != session && Some(of) == key && conflicts(written))
            .map(|(holder, ..)| holder)
    }

    /// A session was seen to wait.
    pub(crate) fn waits(&mut self, session: usize, action: Action) {
        if self.blockers(session, action).next().is_none() {
            self.locks_reads = true;
        }
    }

    /// Whether some waiting sessions wait for each other in a circle.
    pub(crate) fn is_deadlock(&self, waiting: &[(usize, Action)]) -> bool {
        // Drop the sessions that wait for nobody who waits, until none is left or all that are left wait for each other.
        let mut left: Vec<(usize, Action)> = waiting.to_vec();
        loop {
            let stuck: Vec<(usize, Action)> = left
                .iter()
                .copied()
                .filter(|&(session, action)| {
                    self.blockers(session, action).any(|other| left.iter().any(|&(one, _)| one == other))
                })
                .collect();
            if stuck.is_empty() || stuck.len() == left.len() {
                return !stuck.is_empty();
            }
            left = stuck;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_in_the_way_of_writers_and_after_a_surprise_of_readers() {
        let mut locks = Locks::default();
        locks.take(0, Action::Write(0, 1));
        locks.take(1, Action::Read(1));
        let blockers = |locks: &Locks, session, action| locks.blockers(session, action).collect::<Vec<_>>();
        assert_eq!(blockers(&locks, 1, Action::Write(0, 2)), [0]);
        assert_eq!(blockers(&locks, 0, Action::Write(0, 2)), Vec::<usize>::new());
        assert_eq!(blockers(&locks, 1, Action::Read(0)), Vec::<usize>::new());
        // The database confirms what was expected, and then surprises.
        locks.waits(1, Action::Write(0, 2));
        assert_eq!(blockers(&locks, 0, Action::Write(1, 1)), Vec::<usize>::new());
        locks.waits(0, Action::Write(1, 1));
        assert_eq!(blockers(&locks, 0, Action::Write(1, 1)), [1]);
        assert_eq!(blockers(&locks, 1, Action::Read(0)), [0]);
        locks.release(1);
        assert_eq!(blockers(&locks, 0, Action::Write(1, 1)), Vec::<usize>::new());
    }

    #[test]
    fn sessions_that_wait_in_a_circle_are_a_deadlock() {
        let mut locks = Locks::default();
        for session in 0..3 {
            locks.take(session, Action::Write(session, 1));
        }
        let waits = |session, key| (session, Action::Write(key, 2));
        assert!(!locks.is_deadlock(&[waits(0, 1)]));
        assert!(!locks.is_deadlock(&[waits(0, 1), waits(1, 2)]));
        assert!(locks.is_deadlock(&[waits(0, 1), waits(1, 0)]));
        assert!(locks.is_deadlock(&[waits(0, 1), waits(1, 2), waits(2, 0)]));
        // The third one waits for a deadlock of the others.
        assert!(locks.is_deadlock(&[waits(0, 1), waits(1, 0), waits(2, 0)]));
    }
}
