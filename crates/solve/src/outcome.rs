//! How a search ends, and what may end it early.

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The clauses are satisfiable under the assumptions; there is a model.
    Sat,
    /// The clauses are unsatisfiable under the assumptions; there is a core of failed assumptions.
    Unsat,
    /// The budget ran out. A later search continues with everything learned so far.
    Stopped,
}

/// How long a search may take. The default has no limit.
///
/// ```
/// use isoscope_solve::{Budget, Outcome, Solver};
///
/// let mut solver = Solver::new();
/// let lit = solver.new_var().positive();
/// solver.add_clause(&[lit]);
/// let mut flag = || true; // For example an atomic flag or a deadline.
/// assert_eq!(solver.solve_within(&[], Budget::stopped_by(&mut flag)), Outcome::Stopped);
/// assert_eq!(solver.solve_within(&[], Budget::conflicts(10)), Outcome::Sat);
/// ```
#[derive(Default)]
pub struct Budget<'a> {
    pub(crate) conflicts: Option<u64>,
    pub(crate) stop: Option<&'a mut dyn FnMut() -> bool>,
}

impl<'a> Budget<'a> {
    /// The search may meet this number of conflicts; it learns from the next one and stops.
    pub fn conflicts(limit: u64) -> Budget<'a> {
        Budget { conflicts: Some(limit), stop: None }
    }

    /// The search asks `stop` at its start and then every few dozen steps, and stops when the answer is `true`.
    pub fn stopped_by(stop: &'a mut dyn FnMut() -> bool) -> Budget<'a> {
        Budget { conflicts: None, stop: Some(stop) }
    }

    /// Adds a limit on the number of conflicts.
    pub fn with_conflicts(self, limit: u64) -> Budget<'a> {
        Budget { conflicts: Some(limit), ..self }
    }

    pub(crate) fn is_stopped(&mut self) -> bool {
        self.stop.as_mut().is_some_and(|stop| stop())
    }
}
