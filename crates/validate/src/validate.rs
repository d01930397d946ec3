//! A prediction, executed again.
//!
//! A prediction ends in exactly one class:
//!
//! | class | all of it must hold |
//! |---|---|
//! | *validated* | every predicted transaction ran and committed; every read had the predicted key and writer, and was legal at the level; what happened has exactly these transactions, satisfies the level and violates the target, and the verifier confirms both |
//! | *diverged, still violating* | all transactions ran to an end, and some access or end differs; what happened satisfies the level and violates the target, verified |
//! | *diverged, harmless* | the same, and the target holds, verified |
//! | *failed* | anything else: an illegal choice, a panic, a limit, a missing transaction, an unknown verdict |
//!
//! **A strict boundary.** A transaction that is cut has no predicted accesses after the read at which it is cut. It still runs to
//! its end: what follows the cut reads the newest versions that the level permits, whatever the transaction then does. This is no
//! divergence, because nothing was predicted. It cannot hide the anomaly either: more reads and writes only add constraints to
//! what must be ordered. But the transaction must commit, and it must have written what it was predicted to write before the cut.
//! So *validated* says the same as for other boundaries: everything that was predicted happened. (`IsoPredict`, section 5,
//! runs boundary transactions to their end as well.)

use isoscope_certificate::{Judgement, Verdict};
use isoscope_check::Watch;
use isoscope_history::{History, Outcome};
use isoscope_predict::{Boundary, Prediction, Settings};
use isoscope_replay::{Ran, Store};

use crate::differences::{Difference, difference};
use crate::failure::Failure;
use crate::limited::Limited;
use crate::plan::{Planned, plan, told};
use crate::run::Run;
use crate::verdict::judge;

/// What became of a prediction; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// It happened exactly as predicted.
    Validated,
    /// Something else happened, which violates the target too.
    StillViolating,
    /// Something else happened, and the target holds.
    Harmless,
    /// There is no answer, for this reason.
    Failed(Failure),
}

impl Class {
    /// Its name, as in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Class::Validated => "validated",
            Class::StillViolating => "diverged, still violating",
            Class::Harmless => "diverged, harmless",
            Class::Failed(_) => "failed",
        }
    }
}

/// A prediction that was executed again.
pub struct Validation {
    /// The class.
    pub class: Class,
    /// What was not as predicted: the first difference of each transaction, in the order in which they ran.
    pub differences: Vec<Difference>,
    /// The transactions that ran, in order.
    pub ran: Vec<Ran>,
    /// What happened, by sources, and the verdicts for the level and the target. `None` if the class is *failed*.
    pub evidence: Option<Evidence>,
    /// The rules of the application that the newest versions violate.
    pub broken_rules: Vec<String>,
}

/// What happened, and what was decided about it.
pub struct Evidence {
    /// What happened; the value of a version is the number of its writer.
    pub history: History,
    /// That it satisfies the level.
    pub at_level: Judgement,
    /// Whether it violates the target.
    pub at_target: Judgement,
}

/// Executes a prediction again, with the level, target and boundary of `settings`.
pub fn validate(
    prediction: &Prediction,
    run: &Run<'_>,
    settings: &Settings,
    watch: &dyn Watch,
) -> Validation {
    let mut validation = Validation {
        class: Class::Validated,
        differences: Vec::new(),
        ran: Vec::new(),
        evidence: None,
        broken_rules: Vec::new(),
    };
    let is_cut = settings.boundary == Boundary::Strict;
    let ended =
        plan(prediction, run, is_cut).and_then(|plan| validation.execute(&plan, run, settings, watch));
    validation.class = ended.unwrap_or_else(Class::Failed);
    validation
}

impl Validation {
    fn execute(
        &mut self,
        plan: &[Planned],
        run: &Run<'_>,
        settings: &Settings,
        watch: &dyn Watch,
    ) -> Result<Class, Failure> {
        let mut store = Store::new(run.application, settings.level, run.seed)?;
        let mut policy = Limited::new(told(plan), watch);
        for planned in plan {
            let ran = policy.run(&mut store, planned.call)?;
            self.differences.extend(difference(planned, ran));
            self.ran.push(ran.clone());
        }
        let history = store.history()?;
        let (at_level, at_target) = judge(&history, settings.level, settings.target, watch)?;
        let is_violated = matches!(at_target.verdict, Verdict::Violated(_));
        let class = match (self.differences.is_empty(), is_violated) {
            (false, true) => Class::StillViolating,
            (false, false) => Class::Harmless,
            (true, true) => Class::Validated,
            (true, false) => return Err(Failure::Holds(settings.target)),
        };
        let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).count();
        if class == Class::Validated && (committed, history.txn_count()) != (plan.len(), plan.len()) {
            return Err(Failure::Transactions { predicted: plan.len(), recorded: history.txn_count() });
        }
        self.broken_rules = store.broken_rules();
        self.evidence = Some(Evidence { history, at_level, at_target });
        Ok(class)
    }
}
