//! The initial rows of TPC-C (clause 4.3 of the specification). They satisfy all rules.

use isoscope_workload::Dice;

use super::TpccSpec;
use super::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};
use crate::field::{Field, size};
use crate::schema::Contents;

/// The payment that each customer has made before the run, in cents.
const FIRST_PAYMENT: i64 = 1000;
/// The initial rows do not depend on the seed of the workload.
const SEED: u64 = 0;

type Rows = Vec<Vec<Field>>;

pub(super) fn tables(spec: &TpccSpec) -> Vec<Contents> {
    let mut dice = Dice::new(SEED, "tpcc");
    let (warehouses, districts) = (ids(spec.warehouses), ids(spec.districts));
    let places: Vec<(i64, i64)> =
        warehouses.iter().flat_map(|&w| districts.iter().map(move |&d| (w, d))).collect();
    let paid = FIRST_PAYMENT * i64::from(spec.customers);
    let warehouse = |&w: &i64| {
        let ytd = paid * i64::from(spec.districts);
        vec![w.into(), Field::Text(format!("house {w}")), 500i64.into(), ytd.into()]
    };
    let district = |&(w, d): &(i64, i64)| {
        let next = i64::from(spec.customers) + 1;
        let name = Field::Text(format!("area {d}"));
        vec![w.into(), d.into(), name, 750i64.into(), paid.into(), next.into()]
    };
    let mut tables = vec![
        Contents { table: &WAREHOUSE, rows: warehouses.iter().map(warehouse).collect() },
        Contents { table: &DISTRICT, rows: places.iter().map(district).collect() },
        Contents { table: &CUSTOMER, rows: customers(spec, &places, &mut dice) },
        Contents { table: &ITEM, rows: items(spec, &mut dice) },
        Contents { table: &STOCK, rows: stock(spec, &warehouses, &mut dice) },
    ];
    let [orders, new, lines] = orders(spec, &places, &mut dice);
    tables.extend([
        Contents { table: &ORDERS, rows: orders },
        Contents { table: &NEW_ORDER, rows: new },
        Contents { table: &ORDER_LINE, rows: lines },
        Contents { table: &HISTORY, rows: history(spec, &places) },
    ]);
    tables
}

fn ids(n: u32) -> Vec<i64> {
    (1..=i64::from(n)).collect()
}

fn customers(spec: &TpccSpec, places: &[(i64, i64)], dice: &mut Dice) -> Rows {
    let customer = |(w, d): (i64, i64), c: i64, dice: &mut Dice| {
        let number = if c <= 1000 { c - 1 } else { super::programs::draw_name(999, dice) };
        let credit = if dice.chance(0.1) { "BC" } else { "GC" };
        vec![
            w.into(),
            d.into(),
            c.into(),
            Field::Text(format!("first {:05}", dice.below(100_000))),
            last_name(number).into(),
            credit.into(),
            i64::from(dice.below(5001)).into(),
            (-FIRST_PAYMENT).into(),
            FIRST_PAYMENT.into(),
            1i64.into(),
            0i64.into(),
            Field::Text(format!("customer {c}")),
        ]
    };
    let mut rows = Rows::new();
    for &place in places {
        rows.extend(ids(spec.customers).into_iter().map(|c| customer(place, c, dice)));
    }
    rows
}

/// A last name: three syllables, one for each digit of a number below 1000 (clause 4.3.2.3).
pub(super) fn last_name(number: i64) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let digits = [number / 100 % 10, number / 10 % 10, number % 10];
    digits.iter().map(|&digit| SYLLABLES[digit.unsigned_abs() as usize]).collect()
}

fn items(spec: &TpccSpec, dice: &mut Dice) -> Rows {
    let item = |i: i64| {
        let price = i64::from(dice.between(100, 10_000));
        vec![i.into(), Field::Text(format!("item {i}")), price.into()]
    };
    ids(spec.items).into_iter().map(item).collect()
}

fn stock(spec: &TpccSpec, warehouses: &[i64], dice: &mut Dice) -> Rows {
    let mut rows = Rows::new();
    for &w in warehouses {
        for i in ids(spec.items) {
            let quantity = i64::from(dice.between(10, 100));
            rows.push(vec![w.into(), i.into(), quantity.into(), 0i64.into(), 0i64.into(), 0i64.into()]);
        }
    }
    rows
}

/// One order for each customer, in a random order of the customers. The last three tenths are new: not delivered yet.
fn orders(spec: &TpccSpec, places: &[(i64, i64)], dice: &mut Dice) -> [Rows; 3] {
    let (mut orders, mut new, mut lines) = (Rows::new(), Rows::new(), Rows::new());
    let new_orders = i64::from((spec.customers * 3).div_ceil(10));
    for &(w, d) in places {
        let mut customers = ids(spec.customers);
        for place in (1..customers.len()).rev() {
            customers.swap(place, dice.below(place as u32 + 1) as usize);
        }
        for (o, c) in (1..).zip(customers) {
            let is_new = o > i64::from(spec.customers) - new_orders;
            let count = i64::from(dice.between(5, 15));
            let carrier = if is_new { Field::Null } else { i64::from(dice.between(1, 10)).into() };
            let key = [w.into(), d.into(), o.into()];
            let rest = [c.into(), 0i64.into(), count.into(), 1i64.into(), carrier];
            orders.push(key.iter().cloned().chain(rest).collect());
            if is_new {
                new.push(key.to_vec());
            }
            for number in 1..=count {
                let item = i64::from(dice.between(1, spec.items));
                let amount = if is_new { i64::from(dice.between(1, 999_999)) } else { 0 };
                let delivered = if is_new { Field::Null } else { 0i64.into() };
                let rest = [number.into(), item.into(), w.into(), 5i64.into(), amount.into(), delivered];
                lines.push(key.iter().cloned().chain(rest).collect());
            }
        }
    }
    [orders, new, lines]
}

/// The first payments. Their numbers are not positive, so that no transaction of a run has them.
fn history(spec: &TpccSpec, places: &[(i64, i64)]) -> Rows {
    let mut rows = Rows::new();
    for &(w, d) in places {
        for c in ids(spec.customers) {
            let id = -size(rows.len());
            let fields = [id, w, d, c, w, d, FIRST_PAYMENT];
            rows.push(fields.into_iter().map(Field::Int).collect());
        }
    }
    rows
}
