//! The plan of a key-value workload: the operations of every transaction.
//!
//! The steps of a transaction are a function of the seed, the session and the transaction's number, so the same seed
//! gives the same statements in every run. The values written also depend on the attempt: a value that a failed attempt
//! wrote is never written again, because a read of it would have two possible writers.

use std::fmt;

use isoscope_workload::{Dice, Distribution, Duplication, KeySource, SpecError, ValueSource};

use crate::database::Scalar;
use crate::record::Step;

/// The kind of transactions of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads and writes of registers, in any combination.
    Register,
    /// Reads of lists and appends to them.
    ListAppend,
    /// Every register that is written is read first.
    ReadModifyWrite,
    /// Each transaction either only reads or only writes.
    BlindWrite,
    /// Reads, range scans, inserts and deletes of rows.
    Scan,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] =
        [Kind::Register, Kind::ListAppend, Kind::ReadModifyWrite, Kind::BlindWrite, Kind::Scan];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Register => "register",
            Kind::ListAppend => "list-append",
            Kind::ReadModifyWrite => "read-modify-write",
            Kind::BlindWrite => "blind-write",
            Kind::Scan => "scan",
        }
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        match self {
            Kind::Register => "reads and writes of registers",
            Kind::ListAppend => "reads of lists and appends to them, as in Elle",
            Kind::ReadModifyWrite => "every register that is written is read first: finds lost updates",
            Kind::BlindWrite => "each transaction either only reads or only writes registers",
            Kind::Scan => "reads, range scans, inserts and deletes of rows: finds phantoms",
        }
    }

    /// Whether keys hold lists.
    pub const fn is_list(self) -> bool {
        matches!(self, Kind::ListAppend)
    }

    /// The initial value of keys; `None` if they are absent or empty.
    pub const fn initial(self) -> Option<i64> {
        match self {
            Kind::Register | Kind::ReadModifyWrite | Kind::BlindWrite => Some(0),
            Kind::ListAppend | Kind::Scan => None,
        }
    }
}

/// The parameters of a key-value workload.
#[derive(Clone, Debug)]
pub struct PlanSpec {
    /// The kind of transactions.
    pub kind: Kind,
    /// The number of sessions.
    pub sessions: u32,
    /// The approximate number of operations per transaction.
    pub ops: u32,
    /// The number of keys.
    pub keys: u32,
    /// The fraction of operations that read, or for [`Kind::BlindWrite`] of transactions that only read.
    pub reads: f64,
    /// The fraction of transactions that roll back at the end.
    pub aborts: f64,
    /// The distribution of keys.
    pub distribution: Distribution,
    /// Which writes repeat values, if any.
    pub duplication: Option<Duplication>,
    /// How often a transaction may be retried.
    pub retries: u32,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Default for PlanSpec {
    /// Eight sessions, four operations per transaction, half of them reads, on thirty keys.
    fn default() -> PlanSpec {
        PlanSpec {
            kind: Kind::ReadModifyWrite,
            sessions: 8,
            ops: 4,
            keys: 30,
            reads: 0.5,
            aborts: 0.0,
            distribution: Distribution::Uniform,
            duplication: None,
            retries: 0,
            seed: 0,
        }
    }
}

/// A key-value workload; see the module.
#[derive(Debug)]
pub struct Plan {
    /// Its parameters.
    pub spec: PlanSpec,
    key_source: KeySource,
    values: ValueSource,
}

/// An invalid parameter of a workload.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanError {
    /// A number is 0.
    Zero(&'static str),
    /// A number exceeds its maximum.
    TooMany {
        /// The parameter.
        what: &'static str,
        /// Its maximum.
        most: u32,
    },
    /// A fraction is not between 0 and 1.
    Share(&'static str),
    /// List elements must be unique.
    DuplicateElements,
    /// The distribution of keys or values is invalid.
    Law(SpecError),
}

impl From<SpecError> for PlanError {
    fn from(error: SpecError) -> PlanError {
        PlanError::Law(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Zero(what) => write!(f, "at least one {what} is required"),
            PlanError::TooMany { what, most } => write!(f, "too many {what}: at most {most}"),
            PlanError::Share(what) => write!(f, "{what} must be between 0 and 1"),
            PlanError::DuplicateElements => {
                f.write_str("list elements must be unique: value duplication works on registers only")
            }
            PlanError::Law(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

/// The maximum number of sessions, operations and keys. With these limits, 64-bit values do not run out.
const MOST: [(&str, u32); 3] = [("sessions", 10_000), ("operations", 10_000), ("keys", 10_000_000)];
const MOST_RETRIES: u32 = 1_000;

impl Plan {
    /// Checks the parameters and creates the workload.
    pub fn new(spec: PlanSpec) -> Result<Plan, PlanError> {
        for ((what, most), count) in MOST.into_iter().zip([spec.sessions, spec.ops, spec.keys]) {
            if count == 0 {
                return Err(PlanError::Zero(what.trim_end_matches('s')));
            }
            if count > most {
                return Err(PlanError::TooMany { what, most });
            }
        }
        if spec.retries > MOST_RETRIES {
            return Err(PlanError::TooMany { what: "retries", most: MOST_RETRIES });
        }
        for (what, share) in [("the share of reads", spec.reads), ("the share of aborts", spec.aborts)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(PlanError::Share(what));
            }
        }
        if spec.duplication.is_some() && spec.kind.is_list() {
            return Err(PlanError::DuplicateElements);
        }
        spec.distribution.validate()?;
        spec.duplication.map_or(Ok(()), |duplication| duplication.validate())?;
        let key_source = KeySource::of(spec.keys, spec.distribution);
        let values = ValueSource::of(spec.duplication);
        Ok(Plan { spec, key_source, values })
    }

    /// Fills in the steps of a transaction. Returns whether it commits after them.
    pub fn steps(&self, session: u32, number: u64, attempt: u32, steps: &mut Vec<Step>) -> bool {
        steps.clear();
        let PlanSpec { kind, sessions, ops, reads, aborts, retries, seed, .. } = self.spec;
        // Every operation of every attempt of every transaction has a unique number, which is the value it writes.
        let transaction = number * u64::from(sessions) + u64::from(session);
        let attempt = transaction * (u64::from(retries) + 1) + u64::from(attempt);
        let dice = Dice::new(seed, &format!("{session} {number}"));
        let mut draw = Draw { plan: self, dice, next: attempt * u64::from(ops) };
        let commits = !draw.dice.chance(aborts);
        let reads_only = draw.dice.chance(reads);
        while steps.len() < ops as usize {
            match kind {
                Kind::Register => {
                    let reads = draw.dice.chance(reads);
                    steps.push(draw.register(reads));
                }
                Kind::BlindWrite => steps.push(draw.register(reads_only)),
                Kind::ListAppend => steps.push(draw.list()),
                Kind::ReadModifyWrite => draw.update(steps),
                Kind::Scan => steps.push(draw.row()),
            }
        }
        commits
    }
}

struct Draw<'p> {
    plan: &'p Plan,
    dice: Dice,
    next: u64,
}

impl Draw<'_> {
    fn key(&mut self) -> isoscope_history::Key {
        self.plan.key_source.draw(&mut self.dice)
    }

    fn value(&mut self, key: isoscope_history::Key) -> i64 {
        self.next += 1;
        let repeated = self.plan.values.draw(key, &mut self.dice);
        repeated.map_or(self.next.cast_signed(), i64::from)
    }

    fn register(&mut self, reads: bool) -> Step {
        let key = self.key();
        if reads { Step::Read(name(key)) } else { Step::Write(name(key), self.value(key)) }
    }

    fn list(&mut self) -> Step {
        let key = self.key();
        if self.dice.chance(self.plan.spec.reads) {
            Step::ReadList(name(key))
        } else {
            Step::Append(name(key), self.value(key))
        }
    }

    /// Reads a register and perhaps overwrites it.
    fn update(&mut self, steps: &mut Vec<Step>) {
        let key = self.key();
        steps.push(Step::Read(name(key)));
        if !self.dice.chance(self.plan.spec.reads) {
            let value = self.value(key);
            steps.push(Step::Write(name(key), value));
        }
    }

    fn row(&mut self) -> Step {
        /// A scan covers one in this many keys.
        const WIDTH: u32 = 10;
        let key = self.key();
        if self.dice.chance(self.plan.spec.reads) {
            if self.dice.chance(0.5) {
                return Step::Read(name(key));
            }
            let high = key.0.saturating_add(self.plan.spec.keys.div_ceil(WIDTH)).min(self.plan.spec.keys - 1);
            return Step::Range(name(key), Scalar::Int(high.into()));
        }
        if self.dice.chance(0.5) { Step::Insert(name(key), self.value(key)) } else { Step::Delete(name(key)) }
    }
}

fn name(key: isoscope_history::Key) -> Scalar {
    Scalar::Int(key.0.into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn plan(kind: Kind, seed: u64) -> Plan {
        let spec = PlanSpec { kind, sessions: 3, ops: 4, keys: 5, retries: 2, seed, ..PlanSpec::default() };
        Plan::new(spec).unwrap()
    }

    fn steps(plan: &Plan, session: u32, number: u64, attempt: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        plan.steps(session, number, attempt, &mut steps);
        steps
    }

    #[test]
    fn the_seed_determines_the_steps() {
        for kind in Kind::ALL {
            let (one, other) = (plan(kind, 7), plan(kind, 8));
            let all = |plan: &Plan| (0..20).map(|n| steps(plan, 1, n, 0)).collect::<Vec<_>>();
            assert_eq!(all(&one), all(&plan(kind, 7)));
            assert_ne!(all(&one), all(&other));
        }
    }

    /// No two writes of a run, failed attempts included, write the same value.
    #[test]
    fn values_are_unique() {
        for kind in Kind::ALL {
            let plan = plan(kind, 1);
            let mut seen = HashSet::new();
            for session in 0..3 {
                for number in 0..50 {
                    for attempt in 0..3 {
                        for step in steps(&plan, session, number, attempt) {
                            if let Step::Write(_, v) | Step::Append(_, v) | Step::Insert(_, v) = step {
                                assert!(v > 0 && seen.insert(v), "{kind:?} repeats {v}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn retries_differ_only_in_values() {
        let plan = plan(Kind::Register, 3);
        let shape = |steps: Vec<Step>| -> Vec<Step> {
            let blank = |step| match step {
                Step::Write(key, _) => Step::Write(key, 0),
                other => other,
            };
            steps.into_iter().map(blank).collect()
        };
        assert_eq!(shape(steps(&plan, 2, 9, 0)), shape(steps(&plan, 2, 9, 1)));
        assert_ne!(steps(&plan, 2, 9, 0), steps(&plan, 2, 9, 1));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let make = |sessions, reads| Plan::new(PlanSpec { sessions, reads, ..PlanSpec::default() });
        assert_eq!(make(0, 0.5).unwrap_err(), PlanError::Zero("session"));
        assert_eq!(make(1, f64::NAN).unwrap_err(), PlanError::Share("the share of reads"));
        assert!(matches!(make(u32::MAX, 0.5), Err(PlanError::TooMany { .. })));
        let steep = Distribution::Zipfian { theta: 1e9 };
        let spec = PlanSpec { distribution: steep, ..PlanSpec::default() };
        assert!(matches!(Plan::new(spec), Err(PlanError::Law(SpecError::OutOfRange { .. }))));
    }
}
