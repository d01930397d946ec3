//! Any policy, within limits.

use isoscope_application::Call;
use isoscope_certificate::Limit;
use isoscope_check::Watch;
use isoscope_replay::{Asked, Choose, Ran, Source, Store, Trouble};

use crate::failure::Failure;

/// A policy that asks for limits before it chooses.
pub(crate) struct Limited<'w, P> {
    policy: P,
    watch: &'w dyn Watch,
    reached: Option<Limit>,
}

impl<'w, P: Choose> Limited<'w, P> {
    pub(crate) fn new(policy: P, watch: &'w dyn Watch) -> Limited<'w, P> {
        Limited { policy, watch, reached: None }
    }

    /// Runs a transaction, unless a limit has been reached.
    pub(crate) fn run<'s>(&mut self, store: &'s mut Store<'_>, call: Call) -> Result<&'s Ran, Failure> {
        if let Some(limit) = self.watch.limit() {
            return Err(Failure::Limit(limit));
        }
        let ran = store.run(call, self);
        match self.reached {
            Some(limit) => Err(Failure::Limit(limit)),
            None => Ok(ran?),
        }
    }
}

impl<P: Choose> Choose for Limited<'_, P> {
    fn choose(&mut self, asked: &Asked<'_>) -> Result<Source, Trouble> {
        self.reached = self.reached.or_else(|| self.watch.limit());
        if self.reached.is_some() {
            // The caller reports the limit instead.
            return Err(Trouble::Undecided(asked.call));
        }
        self.policy.choose(asked)
    }
}
