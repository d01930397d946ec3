//! The tables of TPC-C, with the columns that transactions use.

use crate::schema::{Column, Index, Table};

const INT: &str = "BIGINT NOT NULL";
const OPEN: &str = "BIGINT";

const fn id(name: &'static str) -> Column {
    Column::constant(name, INT)
}

const fn number(name: &'static str) -> Column {
    Column::changing(name, INT)
}

pub(super) static WAREHOUSE: Table = Table {
    name: "isoscope_warehouse",
    columns: &[
        Column::constant("w_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("w_name", "VARCHAR(10) NOT NULL"),
        id("w_tax"),
        number("w_ytd"),
    ],
    key: &["w_id"],
    indexes: &[],
    is_fixed: true,
};

pub(super) static DISTRICT: Table = Table {
    name: "isoscope_district",
    columns: &[
        id("d_w_id"),
        id("d_id"),
        Column::constant("d_name", "VARCHAR(10) NOT NULL"),
        id("d_tax"),
        number("d_ytd"),
        number("d_next_o_id"),
    ],
    key: &["d_w_id", "d_id"],
    indexes: &[],
    is_fixed: true,
};

pub(super) static CUSTOMER: Table = Table {
    name: "isoscope_customer",
    columns: &[
        id("c_w_id"),
        id("c_d_id"),
        id("c_id"),
        Column::constant("c_first", "VARCHAR(16) NOT NULL"),
        Column::constant("c_last", "VARCHAR(16) NOT NULL"),
        Column::constant("c_credit", "VARCHAR(2) NOT NULL"),
        id("c_discount"),
        number("c_balance"),
        number("c_ytd_payment"),
        number("c_payment_cnt"),
        number("c_delivery_cnt"),
        Column::changing("c_data", "VARCHAR(500) NOT NULL"),
    ],
    key: &["c_w_id", "c_d_id", "c_id"],
    indexes: &[Index { name: "name", columns: &["c_w_id", "c_d_id", "c_last", "c_first"] }],
    is_fixed: true,
};

pub(super) static ITEM: Table = Table {
    name: "isoscope_item",
    columns: &[
        Column::constant("i_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("i_name", "VARCHAR(24) NOT NULL"),
        id("i_price"),
    ],
    key: &["i_id"],
    indexes: &[],
    is_fixed: true,
};

pub(super) static STOCK: Table = Table {
    name: "isoscope_stock",
    columns: &[
        id("s_w_id"),
        id("s_i_id"),
        number("s_quantity"),
        number("s_ytd"),
        number("s_order_cnt"),
        number("s_remote_cnt"),
    ],
    key: &["s_w_id", "s_i_id"],
    indexes: &[],
    is_fixed: true,
};

pub(super) static ORDERS: Table = Table {
    name: "isoscope_orders",
    columns: &[
        id("o_w_id"),
        id("o_d_id"),
        id("o_id").digits(8),
        id("o_c_id"),
        id("o_entry_d"),
        id("o_ol_cnt"),
        id("o_all_local"),
        Column::changing("o_carrier_id", OPEN),
    ],
    key: &["o_w_id", "o_d_id", "o_id"],
    indexes: &[Index { name: "customer", columns: &["o_w_id", "o_d_id", "o_c_id", "o_id"] }],
    is_fixed: false,
};

pub(super) static NEW_ORDER: Table = Table {
    name: "isoscope_new_order",
    columns: &[id("no_w_id"), id("no_d_id"), id("no_o_id").digits(8)],
    key: &["no_w_id", "no_d_id", "no_o_id"],
    indexes: &[],
    is_fixed: false,
};

pub(super) static ORDER_LINE: Table = Table {
    name: "isoscope_order_line",
    columns: &[
        id("ol_w_id"),
        id("ol_d_id"),
        id("ol_o_id").digits(8),
        id("ol_number").digits(2),
        id("ol_i_id"),
        id("ol_supply_w_id"),
        id("ol_quantity"),
        id("ol_amount"),
        Column::changing("ol_delivery_d", OPEN),
    ],
    key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
    indexes: &[],
    is_fixed: false,
};

pub(super) static HISTORY: Table = Table {
    name: "isoscope_history",
    columns: &[
        Column::constant("h_id", "BIGINT NOT NULL PRIMARY KEY"),
        id("h_c_w_id"),
        id("h_c_d_id"),
        id("h_c_id"),
        id("h_w_id"),
        id("h_d_id"),
        id("h_amount"),
    ],
    key: &["h_id"],
    indexes: &[],
    is_fixed: false,
};
