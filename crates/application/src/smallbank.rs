//! `SmallBank`: customers with a savings and a checking account each (Alomari, Cahill, Fekete and Röhm, *The Cost of
//! Serializability on Platforms That Use Snapshot Isolation*, ICDE 2008).
//!
//! Its transactions are correct when run serially, and incorrect under snapshot isolation. A transaction first looks up the
//! numbers of its customers by name. The table of names never changes, so these lookups are in the log but not in the
//! history.
//!
//! | transaction | reads | writes | rolls back |
//! |---|---|---|---|
//! | Balance | savings, checking | | |
//! | `DepositChecking` | checking | checking + V | |
//! | `TransactSavings` | savings | savings + V, where V may be negative | if savings would go below zero |
//! | Amalgamate | savings and checking of one, checking of another | moves all of the first's money to the second's checking | |
//! | `WriteCheck` | savings, checking | checking - V, and 1 more if the sum of the two is less than V | |
//! | `SendPayment` | checking of two | moves V | if the balance of the first is too low |
//!
//! `SendPayment` is not in the paper, but in later versions of the benchmark.
//!
//! The anomaly under snapshot isolation is a cycle of three transactions. A `WriteCheck` that read the savings before a
//! concurrent `TransactSavings` changed them precedes it. A Balance that saw the new savings follows the `TransactSavings`.
//! If that Balance did not see the check, it precedes the `WriteCheck`. Each two of the three are serializable, since no
//! two of the other transactions write different accounts after reading both. Lost updates also lose money.
//!
//! Invariants of every serializable execution: savings are never below zero, and the sum of all accounts changes exactly by
//! the committed deposits, checks and penalties.

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::{
    Application, Books, Call, Hotspot, SpecError, Tables, check_money, check_weights, draw_weighted,
};
use crate::field::{Field, Row};
use crate::operations::{Operations, Stopped};
use crate::schema::{Column, Contents, Table};
use crate::select::Select;

/// The maximum number of customers.
const MOST_CUSTOMERS: u32 = 100_000;

static ACCOUNTS: Table = Table {
    name: "isoscope_accounts",
    columns: &[
        Column::constant("custid", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("name", "VARCHAR(64) NOT NULL UNIQUE"),
    ],
    key: &["custid"],
    indexes: &[],
    is_fixed: true,
};

static SAVINGS: Table = balances("isoscope_savings");
static CHECKING: Table = balances("isoscope_checking");

const fn balances(name: &'static str) -> Table {
    const COLUMNS: &[Column] = &[
        Column::constant("custid", "BIGINT NOT NULL PRIMARY KEY"),
        Column::changing("bal", "BIGINT NOT NULL"),
    ];
    Table { name, columns: COLUMNS, key: &["custid"], indexes: &[], is_fixed: true }
}

/// The parameters of a bank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallBankSpec {
    /// The number of customers, at least 2.
    pub customers: u32,
    /// The initial balance of each account.
    pub initial: i64,
    /// The maximum amount.
    pub most: u32,
    /// The weights of Balance, `DepositChecking`, `TransactSavings`, Amalgamate, `WriteCheck` and `SendPayment`.
    pub mix: [u32; 6],
    /// Which customers are accessed more often.
    pub hotspot: Hotspot,
}

impl Default for SmallBankSpec {
    fn default() -> SmallBankSpec {
        let (mix, hotspot) = ([1; 6], Hotspot::default());
        SmallBankSpec { customers: 20, initial: 1000, most: 500, mix, hotspot }
    }
}

/// The application; see the module.
#[derive(Debug)]
pub struct SmallBank {
    spec: SmallBankSpec,
}

impl SmallBank {
    /// Checks the parameters and creates the bank.
    pub fn new(spec: SmallBankSpec) -> Result<SmallBank, SpecError> {
        if !(2..=MOST_CUSTOMERS).contains(&spec.customers) {
            return Err(SpecError(format!(
                "the number of customers must be at least 2 and at most {MOST_CUSTOMERS}"
            )));
        }
        check_money(spec.initial, spec.most)?;
        check_weights(&spec.mix)?;
        spec.hotspot.check()?;
        Ok(SmallBank { spec })
    }

    fn balance(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let customer = look_up(ops, self.draw_customer(dice))?;
        read(ops, &SAVINGS, customer)?;
        read(ops, &CHECKING, customer)?;
        Ok(true)
    }

    fn deposit_checking(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let customer = look_up(ops, customer)?;
        let checking = read(ops, &CHECKING, customer)?;
        ops.brings(amount);
        write(ops, &CHECKING, customer, checking.saturating_add(amount))?;
        Ok(true)
    }

    fn transact_savings(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let amount = if dice.chance(0.5) { amount } else { -amount };
        let customer = look_up(ops, customer)?;
        let savings = read(ops, &SAVINGS, customer)?.saturating_add(amount);
        if savings < 0 {
            return Ok(false);
        }
        ops.brings(amount);
        write(ops, &SAVINGS, customer, savings)?;
        Ok(true)
    }

    fn amalgamate(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (from, to) = self.spec.hotspot.draw_two(self.spec.customers, dice);
        let (from, to) = (look_up(ops, from)?, look_up(ops, to)?);
        let (savings, checking) = (read(ops, &SAVINGS, from)?, read(ops, &CHECKING, from)?);
        let target = read(ops, &CHECKING, to)?;
        write(ops, &SAVINGS, from, 0)?;
        write(ops, &CHECKING, from, 0)?;
        write(ops, &CHECKING, to, target.saturating_add(savings).saturating_add(checking))?;
        Ok(true)
    }

    fn write_check(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let customer = look_up(ops, customer)?;
        let (savings, checking) = (read(ops, &SAVINGS, customer)?, read(ops, &CHECKING, customer)?);
        let penalty = i64::from(savings.saturating_add(checking) < amount);
        ops.brings(-(amount + penalty));
        write(ops, &CHECKING, customer, checking.saturating_sub(amount + penalty))?;
        Ok(true)
    }

    fn send_payment(&self, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (from, to) = self.spec.hotspot.draw_two(self.spec.customers, dice);
        let amount = self.draw_amount(dice);
        let (from, to) = (look_up(ops, from)?, look_up(ops, to)?);
        let source = read(ops, &CHECKING, from)?;
        if source < amount {
            return Ok(false);
        }
        let target = read(ops, &CHECKING, to)?;
        write(ops, &CHECKING, from, source.saturating_sub(amount))?;
        write(ops, &CHECKING, to, target.saturating_add(amount))?;
        Ok(true)
    }

    fn draw_customer(&self, dice: &mut Dice) -> u32 {
        self.spec.hotspot.draw(self.spec.customers, dice)
    }

    fn draw_amount(&self, dice: &mut Dice) -> i64 {
        1 + i64::from(dice.below(self.spec.most))
    }
}

fn name_of(customer: u32) -> Field {
    Field::Text(format!("customer {customer}"))
}

/// The number of a customer, by name.
fn look_up(ops: &mut dyn Operations, customer: u32) -> Result<u32, Stopped> {
    let rows = ops.select(&Select::from(&ACCOUNTS, &["custid"]).equal("name", name_of(customer)))?;
    if rows == [Row(vec![customer.into()])] {
        Ok(customer)
    } else {
        Err(ops.fail(format!("expected customer {customer}, found {rows:?}")))
    }
}

fn read(ops: &mut dyn Operations, table: &'static Table, customer: u32) -> Result<i64, Stopped> {
    Ok(ops.row(table, &["bal"], &[customer.into()])?.int(0))
}

fn write(
    ops: &mut dyn Operations,
    table: &'static Table,
    customer: u32,
    balance: i64,
) -> Result<(), Stopped> {
    ops.change(table, &[customer.into()], &[("bal", balance.into())])
}

impl Application for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn about(&self) -> &'static str {
        "SmallBank: customers with savings and checking accounts; not serializable under snapshot isolation"
    }

    fn tables(&self) -> Vec<Contents> {
        let filled = |table, column: &dyn Fn(u32) -> Field| {
            let row = |id: u32| vec![id.into(), column(id)];
            Contents { table, rows: (0..self.spec.customers).map(row).collect() }
        };
        let initial = |_| self.spec.initial.into();
        vec![filled(&ACCOUNTS, &name_of), filled(&SAVINGS, &initial), filled(&CHECKING, &initial)]
    }

    fn parameters(&self) -> Value {
        json!(self.spec)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["Balance", "DepositChecking", "TransactSavings", "Amalgamate", "WriteCheck", "SendPayment"]
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
            0 => self.balance(dice, ops),
            1 => self.deposit_checking(dice, ops),
            2 => self.transact_savings(dice, ops),
            3 => self.amalgamate(dice, ops),
            4 => self.write_check(dice, ops),
            _ => self.send_payment(dice, ops),
        }
    }

    fn rules(&self, tables: &mut dyn Tables, books: Books) -> Result<Vec<String>, Stopped> {
        let mut pairs = |table| -> Result<Vec<(i64, i64)>, Stopped> {
            let rows = tables.rows(table, &["custid", "bal"])?;
            Ok(rows.iter().map(|row| (row.int(0), row.int(1))).collect())
        };
        let (savings, checking) = (pairs(&SAVINGS)?, pairs(&CHECKING)?);
        let began = self.spec.initial * i64::from(self.spec.customers) * 2;
        let now =
            savings.iter().chain(&checking).fold(0, |sum: i64, &(_, balance)| sum.saturating_add(balance));
        let mut broken: Vec<String> = books.compare("accounts", began, now).into_iter().collect();
        for (customer, balance) in savings {
            if balance < 0 {
                broken.push(format!("the savings of customer {customer} went below zero: {balance}"));
            }
        }
        Ok(broken)
    }
}
