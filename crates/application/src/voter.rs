//! Voter: a talent show that counts votes by telephone (H-Store's benchmark, later in `OLTP-Bench`).
//!
//! There is one transaction, Vote. It looks up the contestant, reads the votes of the telephone number, and, unless the number
//! has used all its votes, looks up the state of its area code and inserts a vote. Contestants and area codes never change.
//!
//! Rule of every serializable execution: no number has more votes than allowed. Two votes of one number that miss each other
//! violate it; this is write skew on rows that do not exist yet.

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::{Application, Books, Call, SpecError, Tables};
use crate::field::Field;
use crate::operations::{Operations, Stopped};
use crate::schema::{Column, Contents, Index, Table};
use crate::select::Select;

/// The maximum number of contestants, area codes and telephone numbers.
const MOST: u32 = 100_000;
/// Telephone numbers of an area code.
const NUMBERS: i64 = 10_000_000;
/// The lowest area code.
const FIRST_AREA: i64 = 201;

static CONTESTANTS: Table = Table {
    name: "isoscope_contestants",
    columns: &[
        Column::constant("contestant_number", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("contestant_name", "VARCHAR(50) NOT NULL"),
    ],
    key: &["contestant_number"],
    indexes: &[],
    is_fixed: true,
};

static AREA_CODES: Table = Table {
    name: "isoscope_area_code_state",
    columns: &[
        Column::constant("area_code", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("state", "VARCHAR(2) NOT NULL"),
    ],
    key: &["area_code"],
    indexes: &[],
    is_fixed: true,
};

static VOTES: Table = Table {
    name: "isoscope_votes",
    columns: &[
        Column::constant("vote_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("phone_number", "BIGINT NOT NULL"),
        Column::constant("state", "VARCHAR(2) NOT NULL"),
        Column::constant("contestant_number", "BIGINT NOT NULL"),
        Column::constant("created", "BIGINT NOT NULL"),
    ],
    key: &["vote_id"],
    indexes: &[Index { name: "phone", columns: &["phone_number"] }],
    is_fixed: false,
};

/// The parameters of a show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoterSpec {
    /// The number of contestants.
    pub contestants: u32,
    /// The number of area codes.
    pub areas: u32,
    /// The number of telephone numbers.
    pub phones: u32,
    /// The votes that each number has.
    pub votes: u32,
}

impl Default for VoterSpec {
    fn default() -> VoterSpec {
        VoterSpec { contestants: 6, areas: 305, phones: 30, votes: 2 }
    }
}

impl VoterSpec {
    /// The size of the experiments with `IsoPredict` (PLDI 2024): one number with one vote.
    pub fn paper() -> VoterSpec {
        VoterSpec { contestants: 1, areas: 305, phones: 1, votes: 1 }
    }
}

/// The application; see the module.
#[derive(Debug)]
pub struct Voter {
    spec: VoterSpec,
}

impl Voter {
    /// Checks the parameters and creates the show.
    pub fn new(spec: VoterSpec) -> Result<Voter, SpecError> {
        let numbers = [spec.contestants, spec.areas, spec.phones, spec.votes];
        if numbers.iter().all(|n| (1..=MOST).contains(n)) {
            return Ok(Voter { spec });
        }
        Err(SpecError(format!(
            "the numbers of contestants, area codes, telephones and votes must be at least 1 and at most {MOST}"
        )))
    }

    fn vote(&self, call: Call, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let contestant = i64::from(dice.below(self.spec.contestants)) + 1;
        let phone = dice.below(self.spec.phones);
        let area = FIRST_AREA + i64::from(phone % self.spec.areas);
        let number = area * NUMBERS + i64::from(phone);
        ops.row(&CONTESTANTS, &["contestant_number"], &[contestant.into()])?;
        let votes = ops.select(&Select::from(&VOTES, &["vote_id"]).equal("phone_number", number))?;
        if votes.len() as u64 >= u64::from(self.spec.votes) {
            return Ok(true);
        }
        let state = ops.row(&AREA_CODES, &["state"], &[area.into()])?;
        let created = call.number.cast_signed();
        let vote = [call.id().into(), number.into(), state.text(0).into(), contestant.into(), created.into()];
        ops.insert(&VOTES, &vote)?;
        Ok(true)
    }
}

impl Application for Voter {
    fn name(&self) -> &'static str {
        "voter"
    }

    fn about(&self) -> &'static str {
        "Voter: votes by telephone, a limited number for each number"
    }

    fn tables(&self) -> Vec<Contents> {
        let contestant = |n: u32| vec![(n + 1).into(), Field::Text(format!("contestant {}", n + 1))];
        let state = |n: u32| {
            let letter = |n: u32| char::from(b'A' + (n % 26) as u8);
            Field::Text(format!("{}{}", letter(n / 26), letter(n)))
        };
        let area = |n: u32| vec![(FIRST_AREA + i64::from(n)).into(), state(n % 50)];
        vec![
            Contents { table: &CONTESTANTS, rows: (0..self.spec.contestants).map(contestant).collect() },
            Contents { table: &AREA_CODES, rows: (0..self.spec.areas).map(area).collect() },
            Contents { table: &VOTES, rows: Vec::new() },
        ]
    }

    fn parameters(&self) -> Value {
        json!(self.spec)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["Vote"]
    }

    fn draw(&self, _call: Call, _dice: &mut Dice) -> usize {
        0
    }

    fn transact(
        &self,
        _program: usize,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        self.vote(call, dice, ops)
    }

    fn rules(&self, tables: &mut dyn Tables, _books: Books) -> Result<Vec<String>, Stopped> {
        let mut phones: Vec<i64> =
            tables.rows(&VOTES, &["phone_number"])?.iter().map(|row| row.int(0)).collect();
        phones.sort_unstable();
        let most = self.spec.votes as usize;
        let numbers = phones.chunk_by(|a, b| a == b).filter(|votes| votes.len() > most);
        let broken = numbers.map(|votes| {
            format!("the number {} has {} votes, but only {most} are allowed", votes[0], votes.len())
        });
        Ok(broken.collect())
    }
}
