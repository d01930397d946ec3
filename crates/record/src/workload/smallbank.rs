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

use super::application::{
    Application, Cells, Hotspot, Ledger, SpecError, Table, Transaction, check_money, check_weights,
    draw_weighted, other, pairs,
};
use crate::database::{Connection, Failure, Scalar};

/// The maximum number of customers.
const MOST_CUSTOMERS: u32 = 100_000;

const SAVINGS: Cells = Cells {
    prefix: "savings",
    select: "SELECT bal FROM isoscope_savings WHERE custid = ?",
    update: "UPDATE isoscope_savings SET bal = ? WHERE custid = ?",
};

const CHECKING: Cells = Cells {
    prefix: "checking",
    select: "SELECT bal FROM isoscope_checking WHERE custid = ?",
    update: "UPDATE isoscope_checking SET bal = ? WHERE custid = ?",
};

const LOOK_UP: &str = "SELECT custid FROM isoscope_accounts WHERE name = ?";

/// The parameters of a bank.
#[derive(Clone, Debug, PartialEq)]
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
    ledger: Ledger,
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
        Ok(SmallBank { spec, ledger: Ledger::default() })
    }

    fn balance(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let customer = look_up(txn, self.draw_customer(dice))?;
        txn.read(&SAVINGS, customer)?;
        txn.read(&CHECKING, customer)?;
        Ok(true)
    }

    fn deposit_checking(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let customer = look_up(txn, customer)?;
        let checking = txn.read(&CHECKING, customer)?;
        txn.brings(amount);
        txn.write(&CHECKING, customer, checking.saturating_add(amount))?;
        Ok(true)
    }

    fn transact_savings(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let amount = if dice.chance(0.5) { amount } else { -amount };
        let customer = look_up(txn, customer)?;
        let savings = txn.read(&SAVINGS, customer)?.saturating_add(amount);
        if savings < 0 {
            return Ok(false);
        }
        txn.brings(amount);
        txn.write(&SAVINGS, customer, savings)?;
        Ok(true)
    }

    fn amalgamate(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let (from, to) = self.spec.hotspot.draw_two(self.spec.customers, dice);
        let (from, to) = (look_up(txn, from)?, look_up(txn, to)?);
        let (savings, checking) = (txn.read(&SAVINGS, from)?, txn.read(&CHECKING, from)?);
        let target = txn.read(&CHECKING, to)?;
        txn.write(&SAVINGS, from, 0)?;
        txn.write(&CHECKING, from, 0)?;
        txn.write(&CHECKING, to, target.saturating_add(savings).saturating_add(checking))?;
        Ok(true)
    }

    fn write_check(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let (customer, amount) = (self.draw_customer(dice), self.draw_amount(dice));
        let customer = look_up(txn, customer)?;
        let (savings, checking) = (txn.read(&SAVINGS, customer)?, txn.read(&CHECKING, customer)?);
        let penalty = i64::from(savings.saturating_add(checking) < amount);
        txn.brings(-(amount + penalty));
        txn.write(&CHECKING, customer, checking.saturating_sub(amount + penalty))?;
        Ok(true)
    }

    fn send_payment(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        let (from, to) = self.spec.hotspot.draw_two(self.spec.customers, dice);
        let amount = self.draw_amount(dice);
        let (from, to) = (look_up(txn, from)?, look_up(txn, to)?);
        let source = txn.read(&CHECKING, from)?;
        if source < amount {
            return Ok(false);
        }
        let target = txn.read(&CHECKING, to)?;
        txn.write(&CHECKING, from, source.saturating_sub(amount))?;
        txn.write(&CHECKING, to, target.saturating_add(amount))?;
        Ok(true)
    }

    fn draw_customer(&self, dice: &mut Dice) -> u32 {
        self.spec.hotspot.draw(self.spec.customers, dice)
    }

    fn draw_amount(&self, dice: &mut Dice) -> i64 {
        1 + i64::from(dice.below(self.spec.most))
    }

    fn table(&self, name: &'static str) -> Table {
        let row = |id: u32| vec![Scalar::Int(id.into()), Scalar::Int(self.spec.initial)];
        let columns = &[("custid", "BIGINT NOT NULL PRIMARY KEY"), ("bal", "BIGINT NOT NULL")];
        Table { name, columns, rows: (0..self.spec.customers).map(row).collect() }
    }
}

fn name_of(customer: u32) -> Scalar {
    Scalar::Text(format!("customer {customer}"))
}

/// The number of a customer, by name.
fn look_up(txn: &mut Transaction<'_>, customer: u32) -> Result<u32, Failure> {
    let rows = txn.query(LOOK_UP, &[name_of(customer)])?;
    let expected = [vec![Scalar::Int(customer.into())]];
    if rows == expected {
        Ok(customer)
    } else {
        Err(other(format!("expected customer {customer}, found {rows:?}")))
    }
}

impl Application for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn about(&self) -> &'static str {
        "SmallBank: customers with savings and checking accounts; not serializable under snapshot isolation"
    }

    fn tables(&self) -> Vec<Table> {
        let columns = &[("custid", "BIGINT NOT NULL PRIMARY KEY"), ("name", "VARCHAR(64) NOT NULL UNIQUE")];
        let row = |id: u32| vec![Scalar::Int(id.into()), name_of(id)];
        let rows = (0..self.spec.customers).map(row).collect();
        let accounts = Table { name: "isoscope_accounts", columns, rows };
        vec![accounts, self.table("isoscope_savings"), self.table("isoscope_checking")]
    }

    fn initials(&self) -> Vec<(Scalar, i64)> {
        let both = [SAVINGS, CHECKING];
        let keys = both.iter().flat_map(|cells| (0..self.spec.customers).map(|id| cells.key(id)));
        keys.map(|key| (key, self.spec.initial)).collect()
    }

    fn transact(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure> {
        match draw_weighted(&self.spec.mix, dice) {
            0 => self.balance(dice, txn),
            1 => self.deposit_checking(dice, txn),
            2 => self.transact_savings(dice, txn),
            3 => self.amalgamate(dice, txn),
            4 => self.write_check(dice, txn),
            _ => self.send_payment(dice, txn),
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn invariant(&self, connection: &mut dyn Connection) -> Result<Vec<String>, Failure> {
        let savings = pairs(connection, "SELECT custid, bal FROM isoscope_savings ORDER BY custid")?;
        let checking = pairs(connection, "SELECT custid, bal FROM isoscope_checking ORDER BY custid")?;
        let began = self.spec.initial * i64::from(self.spec.customers) * 2;
        let now =
            savings.iter().chain(&checking).fold(0, |sum: i64, &(_, balance)| sum.saturating_add(balance));
        let mut broken: Vec<String> = self.ledger.compare("accounts", began, now).into_iter().collect();
        for (customer, balance) in savings {
            if balance < 0 {
                broken.push(format!("the savings of customer {customer} went below zero: {balance}"));
            }
        }
        Ok(broken)
    }
}
