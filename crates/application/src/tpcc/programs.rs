//! The five transactions of TPC-C (clauses 2.4 to 2.8 of the specification).

use std::collections::BTreeMap;

use isoscope_workload::Dice;

use super::Tpcc;
use super::load::last_name;
use super::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};
use crate::application::Call;
use crate::field::Field;
use crate::operations::{Operations, Stopped};
use crate::select::Select;

/// The constants C of the non-uniform distribution (clause 2.1.6).
const C_LAST: u32 = 123;
const C_ID: u32 = 259;
const C_ITEM: u32 = 7911;
/// `c_data` keeps this many letters.
const MOST_DATA: usize = 500;

/// A number from 1 to `n` by the non-uniform distribution NURand(a, 1, n).
fn draw_skewed(a: u32, c: u32, n: u32, dice: &mut Dice) -> i64 {
    let (one, other) = (dice.between(0, a), dice.between(1, n));
    i64::from(((one | other) + c) % n) + 1
}

/// The number of a last name, at most `most`.
pub(super) fn draw_name(most: u32, dice: &mut Dice) -> i64 {
    draw_skewed(255, C_LAST, most + 1, dice) - 1
}

/// A customer with warehouse and district.
type CustomerKey = [Field; 3];

impl Tpcc {
    fn draw_customer(&self, dice: &mut Dice) -> i64 {
        draw_skewed(1023, C_ID, self.spec.customers, dice)
    }

    fn draw_item(&self, dice: &mut Dice) -> i64 {
        draw_skewed(8191, C_ITEM, self.spec.items, dice)
    }

    /// A customer of a district: 60 % by last name, of those with this name the middle one by first name.
    fn find_customer(
        &self,
        (w, d): (i64, i64),
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<CustomerKey, Stopped> {
        if !dice.chance(0.6) {
            return Ok([w.into(), d.into(), self.draw_customer(dice).into()]);
        }
        let name = last_name(draw_name(self.spec.customers.min(1000) - 1, dice));
        let named = Select::from(&CUSTOMER, &["c_id"]);
        let named = named.equal("c_w_id", w).equal("c_d_id", d).equal("c_last", name.as_str()).ascending();
        let customers = ops.select(&named)?;
        match customers.get(customers.len().saturating_sub(1) / 2) {
            Some(customer) => Ok([w.into(), d.into(), customer.int(0).into()]),
            None => Err(ops.fail(format!("no customer of district {w}.{d} has the name {name}"))),
        }
    }

    /// Another warehouse, with a probability; the own one if there is only one.
    fn draw_supplier(&self, w: i64, probability: f64, dice: &mut Dice) -> i64 {
        let others = self.spec.warehouses - 1;
        if others == 0 || !dice.chance(probability) {
            return w;
        }
        let other = i64::from(dice.below(others)) + 1;
        if other < w { other } else { other + 1 }
    }

    pub(super) fn new_order(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let (w, d) = self.draw_district(call, dice);
        let customer = self.draw_customer(dice);
        let count = i64::from(dice.between(5, 15));
        let is_wrong = dice.chance(0.01);
        let lines: Vec<(i64, i64, i64)> = (0..count)
            .map(|_| {
                let supplier = self.draw_supplier(w, 0.01, dice);
                (self.draw_item(dice), supplier, i64::from(dice.between(1, 10)))
            })
            .collect();
        ops.row(&WAREHOUSE, &["w_tax"], &[w.into()])?;
        ops.row(&CUSTOMER, &["c_discount", "c_last", "c_credit"], &[w.into(), d.into(), customer.into()])?;
        let district = [w.into(), d.into()];
        let order = ops.row(&DISTRICT, &["d_next_o_id", "d_tax"], &district)?.int(0);
        ops.change(&DISTRICT, &district, &[("d_next_o_id", (order + 1).into())])?;
        let all_local = i64::from(lines.iter().all(|&(_, supplier, _)| supplier == w));
        let now = call.number.cast_signed() + 1;
        let fields = [w, d, order, customer, now, count, all_local].map(Field::Int);
        ops.insert(&ORDERS, &fields.into_iter().chain([Field::Null]).collect::<Vec<_>>())?;
        ops.insert(&NEW_ORDER, &[w, d, order].map(Field::Int))?;
        let mut stocks = BTreeMap::new();
        for (number, (item, supplier, quantity)) in (1..).zip(lines) {
            let item = if is_wrong && number == count { i64::from(self.spec.items) + 1 } else { item };
            let Some(price) = ops.find(&ITEM, &["i_price", "i_name"], &[item.into()])? else {
                return Ok(false);
            };
            let stock = match stocks.get(&(supplier, item)) {
                Some(known) => *known,
                None => read_stock(ops, supplier, item)?,
            };
            let left = stock.take(quantity, supplier != w);
            left.write(ops, supplier, item)?;
            stocks.insert((supplier, item), left);
            let amount = price.int(0) * quantity;
            let fields = [w, d, order, number, item, supplier, quantity, amount].map(Field::Int);
            ops.insert(&ORDER_LINE, &fields.into_iter().chain([Field::Null]).collect::<Vec<_>>())?;
        }
        Ok(true)
    }

    pub(super) fn payment(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let (w, d) = self.draw_district(call, dice);
        let amount = i64::from(dice.between(100, 500_000));
        // 15 % of the customers belong to another warehouse.
        let home = match self.draw_supplier(w, 0.15, dice) {
            own if own == w => (w, d),
            other => (other, i64::from(dice.below(self.spec.districts)) + 1),
        };
        let ytd = ops.row(&WAREHOUSE, &["w_ytd", "w_name"], &[w.into()])?.int(0);
        ops.change(&WAREHOUSE, &[w.into()], &[("w_ytd", (ytd + amount).into())])?;
        let district = [w.into(), d.into()];
        let ytd = ops.row(&DISTRICT, &["d_ytd", "d_name"], &district)?.int(0);
        ops.change(&DISTRICT, &district, &[("d_ytd", (ytd + amount).into())])?;
        let customer = self.find_customer(home, dice, ops)?;
        pay(ops, &customer, (w, d), amount)?;
        let [c_w, c_d, c] = customer;
        let payment = [call.id().into(), c_w, c_d, c, w.into(), d.into(), amount.into()];
        ops.insert(&HISTORY, &payment)?;
        Ok(true)
    }

    pub(super) fn order_status(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let place = self.draw_district(call, dice);
        let customer = self.find_customer(place, dice, ops)?;
        ops.row(&CUSTOMER, &["c_balance", "c_first", "c_last"], &customer)?;
        let [w, d, c] = customer;
        let last = Select::from(&ORDERS, &["o_id", "o_carrier_id", "o_entry_d"]);
        let last = last.equal("o_w_id", w.clone()).equal("o_d_id", d.clone()).equal("o_c_id", c);
        let orders = ops.select(&last.descending().limit(1))?;
        // Small sizes have customers without an order.
        let Some(order) = orders.first() else { return Ok(true) };
        let columns = ["ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d"];
        let lines = Select::from(&ORDER_LINE, &columns);
        let lines = lines.equal("ol_w_id", w).equal("ol_d_id", d).equal("ol_o_id", order.int(0));
        ops.select(&lines.ascending())?;
        Ok(true)
    }

    pub(super) fn delivery(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let (w, _) = self.draw_district(call, dice);
        let carrier = i64::from(dice.between(1, 10));
        let now = call.number.cast_signed() + 1;
        for d in 1..=i64::from(self.spec.districts) {
            if !deliver(ops, (w, d), carrier, now)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn stock_level(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        /// The orders that count.
        const LAST: i64 = 20;
        let (w, d) = self.draw_district(call, dice);
        let threshold = i64::from(dice.between(10, 20));
        let next = ops.row(&DISTRICT, &["d_next_o_id"], &[w.into(), d.into()])?.int(0);
        let lines = Select::from(&ORDER_LINE, &["ol_i_id"]).equal("ol_w_id", w).equal("ol_d_id", d);
        let lines = ops.select(&lines.between("ol_o_id", (next - LAST).max(1), next - 1))?;
        let mut items: Vec<i64> = lines.iter().map(|line| line.int(0)).collect();
        items.sort_unstable();
        items.dedup();
        let mut low = 0;
        for item in items {
            let quantity = ops.row(&STOCK, &["s_quantity"], &[w.into(), item.into()])?.int(0);
            low += u32::from(quantity < threshold);
        }
        // The count is the answer to the terminal; nothing depends on it.
        let _ = low;
        Ok(true)
    }
}

/// The stock of an item. A transaction reads it once: an order may have several lines with the item.
#[derive(Clone, Copy)]
struct Stock {
    quantity: i64,
    ytd: i64,
    orders: i64,
    remote: i64,
}

fn read_stock(ops: &mut dyn Operations, supplier: i64, item: i64) -> Result<Stock, Stopped> {
    let columns = ["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"];
    let row = ops.row(&STOCK, &columns, &[supplier.into(), item.into()])?;
    Ok(Stock { quantity: row.int(0), ytd: row.int(1), orders: row.int(2), remote: row.int(3) })
}

impl Stock {
    /// The stock after an order of a quantity; a stock that would be low is filled up.
    fn take(self, quantity: i64, is_remote: bool) -> Stock {
        let left = self.quantity - quantity;
        Stock {
            quantity: if left >= 10 { left } else { left + 91 },
            ytd: self.ytd + quantity,
            orders: self.orders + 1,
            remote: self.remote + i64::from(is_remote),
        }
    }

    fn write(self, ops: &mut dyn Operations, supplier: i64, item: i64) -> Result<(), Stopped> {
        let changes = [
            ("s_quantity", self.quantity.into()),
            ("s_ytd", self.ytd.into()),
            ("s_order_cnt", self.orders.into()),
            ("s_remote_cnt", self.remote.into()),
        ];
        ops.change(&STOCK, &[supplier.into(), item.into()], &changes)
    }
}

/// Subtracts a payment from a customer's balance. A customer with bad credit gets a note.
fn pay(
    ops: &mut dyn Operations,
    customer: &CustomerKey,
    (w, d): (i64, i64),
    amount: i64,
) -> Result<(), Stopped> {
    let columns = ["c_balance", "c_ytd_payment", "c_payment_cnt", "c_credit"];
    let row = ops.row(&CUSTOMER, &columns, customer)?;
    let mut changes: Vec<(&'static str, Field)> = vec![
        ("c_balance", (row.int(0) - amount).into()),
        ("c_ytd_payment", (row.int(1) + amount).into()),
        ("c_payment_cnt", (row.int(2) + 1).into()),
    ];
    if row.text(3) == "BC" {
        let data = ops.row(&CUSTOMER, &["c_data"], customer)?;
        let [c_w, c_d, c] = customer;
        let mut note = format!("{c} {c_d} {c_w} {d} {w} {amount} {}", data.text(0));
        note.truncate(MOST_DATA);
        changes.push(("c_data", note.into()));
    }
    ops.change(&CUSTOMER, customer, &changes)
}

/// Delivers the oldest new order of a district, if there is one. `false` if another transaction has delivered it.
fn deliver(ops: &mut dyn Operations, (w, d): (i64, i64), carrier: i64, now: i64) -> Result<bool, Stopped> {
    let oldest = Select::from(&NEW_ORDER, &["no_o_id"]).equal("no_w_id", w).equal("no_d_id", d);
    let oldest = ops.select(&oldest.ascending().limit(1))?;
    let Some(order) = oldest.first().map(|row| row.int(0)) else { return Ok(true) };
    let key = [w, d, order].map(Field::Int);
    if !ops.delete(&NEW_ORDER, &key)? {
        return Ok(false);
    }
    let customer = ops.row(&ORDERS, &["o_c_id"], &key)?.int(0);
    ops.change(&ORDERS, &key, &[("o_carrier_id", carrier.into())])?;
    let lines = Select::from(&ORDER_LINE, &["ol_number", "ol_amount"]);
    let lines = lines.equal("ol_w_id", w).equal("ol_d_id", d).equal("ol_o_id", order);
    let mut total = 0;
    for line in ops.select(&lines.ascending())? {
        let [w, d, o] = key.clone();
        ops.change(&ORDER_LINE, &[w, d, o, line.int(0).into()], &[("ol_delivery_d", now.into())])?;
        total += line.int(1);
    }
    let customer = [w, d, customer].map(Field::Int);
    let row = ops.row(&CUSTOMER, &["c_balance", "c_delivery_cnt"], &customer)?;
    let changes = [("c_balance", (row.int(0) + total).into()), ("c_delivery_cnt", (row.int(1) + 1).into())];
    ops.change(&CUSTOMER, &customer, &changes)?;
    Ok(true)
}
