//! A bank: transfers, deposits and withdrawals between accounts.
//!
//! Each holder `h` has a pair of accounts, `2h` and `2h + 1`. The pairs of even holders have an *overdraft*: one account may
//! go below zero as long as the sum of the two does not. No other account may go below zero. So of four consecutive
//! accounts, the first two have an overdraft.
//!
//! | transaction | reads | writes | rolls back |
//! |---|---|---|---|
//! | transfer | an account without overdraft, any other | both | if the balance of the first is too low |
//! | deposit | an account | it | |
//! | withdraw | an account without overdraft | it | if the balance is too low |
//! | overdraft | a pair with overdraft | one of the two | if the sum of the pair is too low |
//! | balance | four consecutive accounts, with one statement | | |
//!
//! Invariants of every serializable execution: the sum of a pair with overdraft is never below zero, and the sum of all
//! accounts changes exactly by the committed deposits and withdrawals. Write skew violates the first: two overdrafts of one
//! pair each rely on the balance that the other withdraws. Lost updates violate the second.

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::{
    Application, Books, Call, Hotspot, SpecError, Tables, check_money, check_weights, draw_weighted,
};
use crate::operations::{Operations, Stopped};
use crate::schema::{Column, Contents, Table};
use crate::select::Select;

/// The maximum number of accounts.
const MOST_ACCOUNTS: u32 = 100_000;

static ACCOUNT: Table = Table {
    name: "isoscope_account",
    columns: &[
        Column::constant("id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::changing("balance", "BIGINT NOT NULL"),
    ],
    key: &["id"],
    indexes: &[],
    is_fixed: true,
};

/// The parameters of a bank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankSpec {
    /// The number of accounts, a multiple of 4.
    pub accounts: u32,
    /// The initial balance of each.
    pub initial: i64,
    /// The maximum amount.
    pub most: u32,
    /// The weights of transfer, deposit, withdraw, overdraft and balance.
    pub mix: [u32; 5],
    /// Which accounts are accessed more often.
    pub hotspot: Hotspot,
}

impl Default for BankSpec {
    fn default() -> BankSpec {
        let (mix, hotspot) = ([3, 4, 2, 4, 2], Hotspot::default());
        BankSpec { accounts: 40, initial: 100, most: 100, mix, hotspot }
    }
}

/// The application; see the module.
#[derive(Debug)]
pub struct Bank {
    spec: BankSpec,
}

impl Bank {
    /// Checks the parameters and creates the bank.
    pub fn new(spec: BankSpec) -> Result<Bank, SpecError> {
        if !spec.accounts.is_multiple_of(4) || !(4..=MOST_ACCOUNTS).contains(&spec.accounts) {
            return Err(SpecError(format!(
                "the number of accounts must be a multiple of 4, at least 4 and at most {MOST_ACCOUNTS}"
            )));
        }
        check_money(spec.initial, spec.most)?;
        check_weights(&spec.mix)?;
        spec.hotspot.check()?;
        Ok(Bank { spec })
    }

    fn transfer(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (from, amount) = (self.draw_plain(dice), self.draw_amount(dice));
        let to = match self.spec.hotspot.draw(self.spec.accounts, dice) {
            same if same == from => (from + 1) % self.spec.accounts,
            to => to,
        };
        let (source, target) = (read(ops, from)?, read(ops, to)?);
        if source < amount {
            return Ok(false);
        }
        write(ops, from, source.saturating_sub(amount))?;
        write(ops, to, target.saturating_add(amount))?;
        Ok(true)
    }

    fn deposit(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (account, amount) = (self.spec.hotspot.draw(self.spec.accounts, dice), self.draw_amount(dice));
        let balance = read(ops, account)?;
        ops.brings(amount);
        write(ops, account, balance.saturating_add(amount))?;
        Ok(true)
    }

    fn withdraw(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (account, amount) = (self.draw_plain(dice), self.draw_amount(dice));
        let balance = read(ops, account)?;
        if balance < amount {
            return Ok(false);
        }
        ops.brings(-amount);
        write(ops, account, balance.saturating_sub(amount))?;
        Ok(true)
    }

    fn overdraft(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (account, amount) = (self.draw_covered(dice), self.draw_amount(dice));
        let balance = read(ops, account)?;
        let cover = read(ops, account ^ 1)?;
        if balance.saturating_add(cover) < amount {
            return Ok(false);
        }
        ops.brings(-amount);
        write(ops, account, balance.saturating_sub(amount))?;
        Ok(true)
    }

    fn balance(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let first = self.spec.hotspot.draw(self.spec.accounts / 4, dice) * 4;
        let four = Select::from(&ACCOUNT, &["id", "balance"]).between("id", first, first + 3).ascending();
        let rows = ops.select(&four)?;
        let found = rows.iter().map(|row| row.int(0));
        if found.eq((first..first + 4).map(i64::from)) {
            return Ok(true);
        }
        Err(ops.fail(format!("expected four accounts from {first}, found {rows:?}")))
    }

    /// An account with overdraft: one of the first two of four.
    fn draw_covered(&self, dice: &mut Dice) -> u32 {
        let place = self.spec.hotspot.draw(self.spec.accounts / 2, dice);
        place / 2 * 4 + place % 2
    }

    /// An account without overdraft: one of the last two of four.
    fn draw_plain(&self, dice: &mut Dice) -> u32 {
        self.draw_covered(dice) + 2
    }

    fn draw_amount(&self, dice: &mut Dice) -> i64 {
        1 + i64::from(dice.below(self.spec.most))
    }
}

fn read(ops: &mut dyn Operations, account: u32) -> Result<i64, Stopped> {
    Ok(ops.row(&ACCOUNT, &["balance"], &[account.into()])?.int(0))
}

fn write(ops: &mut dyn Operations, account: u32, balance: i64) -> Result<(), Stopped> {
    ops.change(&ACCOUNT, &[account.into()], &[("balance", balance.into())])
}

impl Application for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn about(&self) -> &'static str {
        "accounts with transfers, deposits, withdrawals, and overdrafts covered by a second account"
    }

    fn tables(&self) -> Vec<Contents> {
        let row = |id: u32| vec![id.into(), self.spec.initial.into()];
        vec![Contents { table: &ACCOUNT, rows: (0..self.spec.accounts).map(row).collect() }]
    }

    fn parameters(&self) -> Value {
        json!(self.spec)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["Transfer", "Deposit", "Withdraw", "Overdraft", "Balance"]
    }

    fn draw(&self, _call: Call, dice: &mut Dice) -> usize {
        draw_weighted(&self.spec.mix, dice)
    }

    fn transact(
        &self,
        program: usize,
        _call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        match program {
            0 => self.transfer(dice, ops),
            1 => self.deposit(dice, ops),
            2 => self.withdraw(dice, ops),
            3 => self.overdraft(dice, ops),
            _ => self.balance(dice, ops),
        }
    }

    fn rules(&self, tables: &mut dyn Tables, books: Books) -> Result<Vec<String>, Stopped> {
        let accounts = tables.rows(&ACCOUNT, &["id", "balance"])?;
        let accounts: Vec<(i64, i64)> = accounts.iter().map(|row| (row.int(0), row.int(1))).collect();
        let began = self.spec.initial * i64::from(self.spec.accounts);
        let now = accounts.iter().fold(0, |sum: i64, &(_, balance)| sum.saturating_add(balance));
        let mut broken: Vec<String> = books.compare("accounts", began, now).into_iter().collect();
        for four in accounts.chunks_exact(4) {
            let [(first, a), (second, b)] = [four[0], four[1]];
            let together = a.saturating_add(b);
            if together < 0 {
                broken.push(format!(
                    "accounts {first} and {second} went below zero: {a} and {b}, in total {together}"
                ));
            }
            for (account, balance) in [four[2], four[3]] {
                if balance < 0 {
                    broken.push(format!("account {account} went below zero: {balance}"));
                }
            }
        }
        Ok(broken)
    }
}
