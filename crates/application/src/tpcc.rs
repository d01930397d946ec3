//! TPC-C: the orders of a wholesale supplier (TPC Benchmark C, Standard Specification, Revision 5.11).
//!
//! The statements are written from the specification. Columns that no transaction uses are left out, such as addresses and
//! the district texts of the stock. Amounts are in cents, rates in hundredths of a percent, dates are numbers of transactions.
//! A terminal is a session: it serves the districts of its share.
//!
//! | transaction | share | effect |
//! |---|---|---|
//! | `NewOrder` | 45 | takes the next order number of a district, inserts the order and its lines, changes the stock; 1 % roll back because of an unknown item |
//! | Payment | 43 | adds an amount to warehouse and district, and subtracts it from a customer's balance; 60 % find the customer by last name |
//! | `OrderStatus` | 4 | reads the last order of a customer |
//! | Delivery | 4 | delivers the oldest new order of each district |
//! | `StockLevel` | 4 | counts the items of the last 20 orders whose stock is low |
//!
//! No SELECT locks (FOR UPDATE). The rules are the consistency conditions 3.3.2.1 to 3.3.2.12 of the specification
//! (`tpcc/rules.rs`).

mod load;
mod programs;
mod rules;
mod schema;

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::{Application, Books, Call, SpecError, Tables, check_weights, draw_weighted};
use crate::operations::{Operations, Stopped};
use crate::schema::Contents;

/// The parameters of a supplier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// The number of warehouses.
    pub warehouses: u32,
    /// The districts of each warehouse.
    pub districts: u32,
    /// The customers of each district; as many orders are loaded, of which three tenths are new.
    pub customers: u32,
    /// The number of items.
    pub items: u32,
    /// The number of sessions, which share the districts.
    pub sessions: u32,
    /// The weights of `NewOrder`, Payment, `OrderStatus`, Delivery and `StockLevel`.
    pub mix: [u32; 5],
}

impl Default for TpccSpec {
    fn default() -> TpccSpec {
        let mix = [45, 43, 4, 4, 4];
        TpccSpec { warehouses: 1, districts: 10, customers: 30, items: 100, sessions: 8, mix }
    }
}

impl TpccSpec {
    /// The size of the experiments with `IsoPredict` (PLDI 2024), for three sessions.
    pub fn paper() -> TpccSpec {
        TpccSpec { districts: 2, customers: 3, items: 1, sessions: 3, ..TpccSpec::default() }
    }

    /// The size of the specification: 1 warehouse is scale factor 1.
    pub fn standard(warehouses: u32) -> TpccSpec {
        TpccSpec { warehouses, customers: 3000, items: 100_000, ..TpccSpec::default() }
    }
}

/// The application; see the module.
#[derive(Debug)]
pub struct Tpcc {
    spec: TpccSpec,
}

impl Tpcc {
    /// Checks the parameters and creates the supplier.
    pub fn new(spec: TpccSpec) -> Result<Tpcc, SpecError> {
        /// The widths of the numbers in the names of keys.
        const MOST: [u32; 4] = [999, 99, 99_999, 999_999];
        let numbers = [spec.warehouses, spec.districts, spec.customers, spec.items];
        if !numbers.iter().zip(MOST).all(|(n, most)| (1..=most).contains(n)) {
            return Err(SpecError(format!(
                "the numbers of warehouses, districts, customers and items must be at least 1 and at most {MOST:?}"
            )));
        }
        if spec.sessions == 0 {
            return Err(SpecError("the number of sessions must be at least 1".to_owned()));
        }
        check_weights(&spec.mix)?;
        Ok(Tpcc { spec })
    }

    /// The warehouse and a district of a terminal's share.
    fn draw_district(&self, call: Call, dice: &mut Dice) -> (i64, i64) {
        let TpccSpec { warehouses, districts, sessions, .. } = self.spec;
        let all = u64::from(warehouses) * u64::from(districts);
        let (terminal, terminals) = (u64::from(call.session % sessions), u64::from(sessions));
        let first = terminal * all / terminals;
        let after = ((terminal + 1) * all / terminals).max(first + 1);
        let district = first + u64::from(dice.below((after - first) as u32));
        let place = |n: u64| n.cast_signed() + 1;
        (place(district / u64::from(districts)), place(district % u64::from(districts)))
    }
}

impl Application for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn about(&self) -> &'static str {
        "TPC-C: the orders of a wholesale supplier"
    }

    fn tables(&self) -> Vec<Contents> {
        load::tables(&self.spec)
    }

    fn parameters(&self) -> Value {
        json!(self.spec)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel"]
    }

    fn draw(&self, _call: Call, dice: &mut Dice) -> usize {
        draw_weighted(&self.spec.mix, dice)
    }

    fn transact(
        &self,
        program: usize,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        match program {
            0 => self.new_order(call, dice, ops),
            1 => self.payment(call, dice, ops),
            2 => self.order_status(call, dice, ops),
            3 => self.delivery(call, dice, ops),
            _ => self.stock_level(call, dice, ops),
        }
    }

    fn rules(&self, tables: &mut dyn Tables, _books: Books) -> Result<Vec<String>, Stopped> {
        rules::broken(&self.spec, tables)
    }
}
