//! Who looks on while a history is checked: may end the search, and is told what each stage settled.
//!
//! This crate sees no clock and no memory figures; whoever has them says when enough is enough, and puts times to
//! the stages.

use isoscope_levels::Level;

use crate::certificate::Limit;

/// An onlooker; see the module.
pub trait Watch: Sync {
    /// The limit that has been reached, if one has. Asked often; must be cheap.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// A stage of deciding a level has ended.
    fn stage(&self, level: Level, stage: &Stage) {
        let _ = (level, stage);
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
pub(crate) struct Nobody;

impl Watch for Nobody {}
