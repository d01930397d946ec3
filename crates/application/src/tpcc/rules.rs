//! The consistency conditions of TPC-C (clauses 3.3.2.1 to 3.3.2.12 of the specification), as sentences about what is wrong.
//!
//! Condition 11 of the specification holds for the initial rows only: 2,100 orders of a district are delivered. Here it says
//! what follows for the time after: each further delivery was counted at a customer.

use std::collections::BTreeMap;

use super::TpccSpec;
use super::schema::{CUSTOMER, DISTRICT, HISTORY, NEW_ORDER, ORDER_LINE, ORDERS, WAREHOUSE};
use crate::application::Tables;
use crate::field::{Row, size};
use crate::operations::Stopped;
use crate::schema::Table;

/// A warehouse and a district.
type Place = (i64, i64);
/// A customer.
type Customer = (i64, i64, i64);

/// What is known of an order.
#[derive(Default)]
struct Order {
    customer: i64,
    /// The number of lines that it says it has.
    count: i64,
    is_delivered: bool,
    is_new: bool,
    lines: i64,
    delivered_lines: i64,
    amount: i64,
}

/// The sums over the tables.
#[derive(Default)]
struct Sums {
    orders: BTreeMap<Place, BTreeMap<i64, Order>>,
    paid_at: BTreeMap<Place, i64>,
    paid_by: BTreeMap<Customer, i64>,
    delivered_to: BTreeMap<Customer, i64>,
    /// Lines and entries of NEW-ORDER without an order.
    orphans: Vec<String>,
}

/// The violated conditions.
pub(super) fn broken(spec: &TpccSpec, tables: &mut dyn Tables) -> Result<Vec<String>, Stopped> {
    let sums = Sums::of(tables)?;
    let mut broken = sums.orphans.clone();
    let districts = tables.rows(&DISTRICT, &["d_w_id", "d_id", "d_ytd", "d_next_o_id"])?;
    for house in tables.rows(&WAREHOUSE, &["w_id", "w_ytd"])? {
        warehouse(&house, &districts, &sums, &mut broken);
    }
    let customers = tables
        .rows(&CUSTOMER, &["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment", "c_delivery_cnt"])?;
    for row in &districts {
        district(spec, row, &customers, &sums, &mut broken);
    }
    for row in &customers {
        customer(row, &sums, &mut broken);
    }
    Ok(broken)
}

impl Sums {
    fn of(tables: &mut dyn Tables) -> Result<Sums, Stopped> {
        let mut sums = Sums::default();
        let mut rows = |table: &'static Table, columns: &[&'static str]| tables.rows(table, columns);
        for row in rows(&ORDERS, &["o_w_id", "o_d_id", "o_id", "o_c_id", "o_ol_cnt", "o_carrier_id"])? {
            let (customer, count) = (row.int(3), row.int(4));
            let order = Order { customer, count, is_delivered: !row.is_null(5), ..Order::default() };
            sums.orders.entry((row.int(0), row.int(1))).or_default().insert(row.int(2), order);
        }
        for row in rows(&NEW_ORDER, &["no_w_id", "no_d_id", "no_o_id"])? {
            sums.order(&row, "an entry of NEW-ORDER", |order| order.is_new = true);
        }
        for row in rows(&ORDER_LINE, &["ol_w_id", "ol_d_id", "ol_o_id", "ol_amount", "ol_delivery_d"])? {
            sums.order(&row, "a line", |order| {
                order.lines += 1;
                order.delivered_lines += i64::from(!row.is_null(4));
                order.amount += if row.is_null(4) { 0 } else { row.int(3) };
            });
        }
        let columns = ["h_w_id", "h_d_id", "h_c_w_id", "h_c_d_id", "h_c_id", "h_amount"];
        for row in rows(&HISTORY, &columns)? {
            *sums.paid_at.entry((row.int(0), row.int(1))).or_default() += row.int(5);
            *sums.paid_by.entry((row.int(2), row.int(3), row.int(4))).or_default() += row.int(5);
        }
        for (&(w, d), orders) in &sums.orders {
            for order in orders.values() {
                *sums.delivered_to.entry((w, d, order.customer)).or_default() += order.amount;
            }
        }
        Ok(sums)
    }

    /// Notes a row of another table at its order, whose key is in the first three columns.
    fn order(&mut self, row: &Row, what: &str, note: impl FnOnce(&mut Order)) {
        let (w, d, o) = (row.int(0), row.int(1), row.int(2));
        match self.orders.get_mut(&(w, d)).and_then(|orders| orders.get_mut(&o)) {
            Some(order) => note(order),
            None => self.orphans.push(format!("there is {what} of order {w}.{d}.{o}, but no such order")),
        }
    }

    fn orders_of(&self, place: Place) -> impl Iterator<Item = (i64, &Order)> + '_ {
        self.orders.get(&place).into_iter().flatten().map(|(&number, order)| (number, order))
    }
}

/// Adds a sentence if two amounts that must be equal differ.
fn equal(broken: &mut Vec<String>, condition: u32, what: &str, one: i64, other: i64, of: &str) {
    if one != other {
        broken.push(format!("condition {condition}: {what} {one}, but {of} {other}"));
    }
}

/// Conditions 1 and 8.
fn warehouse(row: &Row, districts: &[Row], sums: &Sums, broken: &mut Vec<String>) {
    let (w, ytd) = (row.int(0), row.int(1));
    let of_districts = districts.iter().filter(|row| row.int(0) == w).map(|row| row.int(2)).sum();
    let what = format!("the payments of warehouse {w} are");
    equal(broken, 1, &what, ytd, of_districts, "those of its districts are");
    let paid = sums.paid_at.iter().filter(|((house, _), _)| *house == w).map(|(_, paid)| paid).sum();
    equal(broken, 8, &what, ytd, paid, "the history has");
}

/// Conditions 2 to 7, 9 and 11.
fn district(spec: &TpccSpec, row: &Row, customers: &[Row], sums: &Sums, broken: &mut Vec<String>) {
    let (w, d) = (row.int(0), row.int(1));
    let place = (w, d);
    let name = format!("district {w}.{d}");
    let orders = || sums.orders_of(place);
    let new: Vec<i64> = orders().filter(|(_, order)| order.is_new).map(|(number, _)| number).collect();
    let last = orders().map(|(number, _)| number).max().unwrap_or(0);
    let next = format!("the last order number that {name} gave is");
    equal(broken, 2, &next, row.int(3) - 1, last, "its last order is");
    if let (Some(first), Some(newest)) = (new.first(), new.last()) {
        equal(broken, 2, &next, row.int(3) - 1, *newest, "its last new order is");
        let what = format!("the new orders of {name} have these numbers:");
        equal(broken, 3, &what, newest - first + 1, size(new.len()), "the number of new orders is");
    }
    let (counts, lines) = orders().fold((0, 0), |(a, b), (_, order)| (a + order.count, b + order.lines));
    equal(broken, 4, &format!("the orders of {name} count lines:"), counts, lines, "there are");
    for (number, order) in orders() {
        let name = format!("order {w}.{d}.{number}");
        if order.is_delivered == order.is_new {
            let is = if order.is_new { "is delivered and still new" } else { "is neither new nor delivered" };
            broken.push(format!("condition 5: {name} {is}"));
        }
        equal(broken, 6, &format!("{name} counts lines:"), order.count, order.lines, "there are");
        let expected = if order.is_delivered { order.lines } else { 0 };
        let what = format!("{name} has delivered lines:");
        equal(broken, 7, &what, order.delivered_lines, expected, "expected are");
    }
    let paid = sums.paid_at.get(&place).copied().unwrap_or(0);
    equal(broken, 9, &format!("the payments of {name} are"), row.int(2), paid, "the history has");
    let first = i64::from(spec.customers - (spec.customers * 3).div_ceil(10));
    let own = customers.iter().filter(|customer| (customer.int(0), customer.int(1)) == place);
    let counted = first + own.map(|customer| customer.int(5)).sum::<i64>();
    let delivered = size(orders().count() - new.len());
    equal(broken, 11, &format!("the customers of {name} count deliveries:"), counted, delivered, "there are");
}

/// Conditions 10 and 12.
fn customer(row: &Row, sums: &Sums, broken: &mut Vec<String>) {
    let key = (row.int(0), row.int(1), row.int(2));
    let name = format!("customer {}.{}.{}", key.0, key.1, key.2);
    let delivered = sums.delivered_to.get(&key).copied().unwrap_or(0);
    let paid = sums.paid_by.get(&key).copied().unwrap_or(0);
    let balance = row.int(3);
    equal(
        broken,
        10,
        &format!("the balance of {name} is"),
        balance,
        delivered - paid,
        "its lines and payments give",
    );
    let what = format!("balance and payments of {name} are");
    equal(broken, 12, &what, balance + row.int(4), delivered, "its delivered lines cost");
}
