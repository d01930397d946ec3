//! The interface of applications: tables with initial rows, transactions, and consistency rules.

use std::fmt;

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::field::Row;
use crate::operations::{Operations, Stopped};
use crate::schema::{Contents, Table};

/// A workload of transactions on tables. It has no state of its own: all clients share it.
pub trait Application: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// A one-line description.
    fn about(&self) -> &'static str;

    /// The tables with their initial rows.
    fn tables(&self) -> Vec<Contents>;

    /// Its parameters. [`crate::rebuild`] makes the same application from its name and these.
    fn parameters(&self) -> Value;

    /// The names of its programs, such as `NewOrder`. Each transaction runs one of them.
    fn programs(&self) -> &'static [&'static str];

    /// Draws the program of a transaction, a position in [`Application::programs`].
    fn draw(&self, call: Call, dice: &mut Dice) -> usize;

    /// Runs a program as one transaction, without BEGIN and COMMIT. All random choices are drawn from `dice`. `Ok(false)`
    /// asks for a rollback.
    fn transact(
        &self,
        program: usize,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped>;

    /// Checks the tables after a run. Returns the violated rules, one sentence each, in the terms of the application. Every
    /// serializable execution preserves all of them. `books` has what the transactions declared with
    /// [`Operations::brings`].
    fn rules(&self, tables: &mut dyn Tables, books: Books) -> Result<Vec<String>, Stopped>;

    /// Draws a transaction and runs it; see [`Application::transact`].
    fn run(&self, call: Call, seed: u64, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let mut dice = call.dice(seed);
        let program = self.draw(call, &mut dice);
        self.transact(program, call, &mut dice, ops)
    }

    /// The name of the program that a transaction runs.
    fn program_of(&self, call: Call, seed: u64) -> &'static str {
        self.programs()[self.draw(call, &mut call.dice(seed))]
    }

    /// Whether rows appear or vanish.
    fn has_living_rows(&self) -> bool {
        self.tables().iter().any(|contents| !contents.is_fixed)
    }
}

/// The tables at the end of a run.
pub trait Tables {
    /// Columns of all rows of a table, in the order of the primary key.
    fn rows(&mut self, table: &'static Table, columns: &[&'static str]) -> Result<Vec<Row>, Stopped>;
}

/// A transaction of a run: number `number` of session `session`, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The session.
    pub session: u32,
    /// The number of the transaction in its session. A retry has the same number.
    pub number: u64,
}

impl Call {
    /// The random choices of the transaction. They depend on nothing else, so that each transaction can be repeated by
    /// itself.
    pub fn dice(self, seed: u64) -> Dice {
        let session = Dice::new(seed, &format!("session {}", self.session)).bits();
        Dice::new(session.wrapping_add(self.number), "transaction")
    }

    /// A number that no other transaction of the run has.
    pub(crate) fn id(self) -> i64 {
        /// Transactions per session.
        const MOST: u64 = 1_000_000_000;
        i64::from(self.session) * MOST.cast_signed() + (self.number % MOST).cast_signed() + 1
    }
}

/// The expected change of the sum that an application keeps: at least `least`, at most `most`. They differ only if the
/// outcome of a transaction is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// The least change.
    pub least: i64,
    /// The greatest change.
    pub most: i64,
}

impl Books {
    /// Compares the current sum with the initial one. `whose` is the plural of the rows, for the message.
    pub fn compare(&self, whose: &str, began: i64, now: i64) -> Option<String> {
        let (least, most) = (began.saturating_add(self.least), began.saturating_add(self.most));
        let (bound, how) = match now {
            _ if now < least => (least, "are missing"),
            _ if now > most => (most, "too much"),
            _ => return None,
        };
        let difference = now.abs_diff(bound);
        Some(format!("the {whose} hold {now} in total but should hold {bound}: {difference} {how}"))
    }
}

/// A skewed distribution: a fraction `draws` of the accesses goes to the first fraction `part` of the rows, and the rest
/// to any row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hotspot {
    /// The fraction of rows that are hot, from 0 to 1.
    pub part: f64,
    /// The fraction of accesses that go there, from 0 to 1.
    pub draws: f64,
}

impl Default for Hotspot {
    /// Half of the accesses go to a fifth of the rows.
    fn default() -> Hotspot {
        Hotspot { part: 0.2, draws: 0.5 }
    }
}

impl Hotspot {
    /// No hot spot.
    pub const NONE: Hotspot = Hotspot { part: 1.0, draws: 0.0 };

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let is_part = |x: f64| (0.0..=1.0).contains(&x);
        if is_part(self.part) && is_part(self.draws) {
            return Ok(());
        }
        Err(SpecError("the fractions of a hot spot must be from 0 to 1".to_owned()))
    }

    /// A number below `n`. `n` must not be 0.
    #[allow(clippy::cast_sign_loss)]
    pub(crate) fn draw(&self, n: u32, dice: &mut Dice) -> u32 {
        let hot = ((f64::from(n) * self.part) as u32).clamp(1, n);
        let n = if dice.chance(self.draws) { hot } else { n };
        dice.below(n)
    }

    /// Two different numbers below `n`. `n` must be at least 2.
    pub(crate) fn draw_two(&self, n: u32, dice: &mut Dice) -> (u32, u32) {
        let (first, second) = (self.draw(n, dice), self.draw(n, dice));
        (first, if first == second { (second + 1) % n } else { second })
    }
}

/// Draws an index with a probability proportional to its weight.
pub(crate) fn draw_weighted(weights: &[u32], dice: &mut Dice) -> usize {
    let mut lot = dice.below(weights.iter().sum());
    for (place, &weight) in weights.iter().enumerate() {
        if lot < weight {
            return place;
        }
        lot -= weight;
    }
    0
}

/// The maximum initial balance and the maximum amount. With these, no run overflows 64 bits.
const MOST_MONEY: i64 = 1_000_000_000;

/// Refuses an initial balance or a maximum amount that is out of bounds.
pub(crate) fn check_money(initial: i64, most: u32) -> Result<(), SpecError> {
    if (0..=MOST_MONEY).contains(&initial) && (1..=MOST_MONEY).contains(&i64::from(most)) {
        return Ok(());
    }
    Err(SpecError(format!("amounts must be at least 0 and at most {MOST_MONEY}")))
}

/// Refuses weights whose sum is 0 or too large.
pub(crate) fn check_weights(weights: &[u32]) -> Result<(), SpecError> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    if sum == 0 || u32::try_from(sum).is_err() {
        return Err(SpecError(
            "the sum of the weights of a mix must be at least 1 and less than 2^32".to_owned(),
        ));
    }
    Ok(())
}

/// An invalid parameter of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub(crate) String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}
