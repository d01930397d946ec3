//! Who looks on while a history is checked: may end the search, and is told what each stage settled.
//!
//! This crate sees no clock and no memory figures; whoever has them says when enough is enough, and puts times to
//! the stages.

use std::cell::Cell;

use isoscope_levels::Level;

use crate::certificate::Limit;

/// An onlooker; see the module.
pub trait Watch: Sync {
    /// The limit that has been reached, if one has. Asked often; must be cheap. Once reached, a limit stays reached until
    /// the level at hand is answered: a stage that is interrupted leaves its work undone and relies on the next question.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Whether this many more bytes may be allocated. If not, the memory limit is reached. Engines ask before a large
    /// allocation, because a look at the memory in use may come too late after it.
    fn fits(&self, bytes: u64) -> bool {
        let _ = bytes;
        true
    }

    /// A stage of deciding a level has ended.
    fn stage(&self, level: Level, stage: &Stage) {
        let _ = (level, stage);
    }
}

/// Asks for the limit once in so many steps, and remembers it.
pub(crate) struct Turnstile<'w> {
    watch: &'w dyn Watch,
    steps: Cell<u32>,
    reached: Cell<Option<Limit>>,
}

/// Steps between two questions: of the kind that takes about a microsecond.
const STEPS: u32 = 1 << 12;

impl<'w> Turnstile<'w> {
    pub(crate) fn new(watch: &'w dyn Watch) -> Self {
        Turnstile { watch, steps: Cell::new(0), reached: Cell::new(None) }
    }

    /// Counts a step; whether to go on.
    #[inline]
    pub(crate) fn step(&self) -> bool {
        self.steps.set(self.steps.get().wrapping_add(1));
        if self.steps.get().is_multiple_of(STEPS) {
            self.ask();
        }
        self.reached.get().is_none()
    }

    /// Asks now; the limit that has been reached, then or before.
    pub(crate) fn ask(&self) -> Option<Limit> {
        if self.reached.get().is_none() {
            self.reached.set(self.watch.limit());
        }
        self.reached.get()
    }

    /// The limit that was met so far.
    pub(crate) fn reached(&self) -> Option<Limit> {
        self.reached.get()
    }
}

/// A stage and what it settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What it is called.
    pub name: &'static str,
    /// Figures, each with its name.
    pub figures: Vec<(&'static str, u64)>,
}

/// Nobody in particular.
pub(crate) struct NoLimits;

impl Watch for NoLimits {}

/// Fails when a limit has been reached.
pub(crate) fn go_on(watch: &dyn Watch) -> Result<(), Limit> {
    watch.limit().map_or(Ok(()), Err)
}
