//! The table of isolation levels in docs/databases.md matches the data.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use isoscope_record::{Isolation, Vendor, isolations};

fn table() -> String {
    let mut text = String::from(
        "| database | isolation level | checked: registers | checked: computed writes | checked: rows | the name suggests | why | source |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for vendor in [Vendor::Postgres, Vendor::MySql, Vendor::MariaDb, Vendor::Sqlite] {
        for row in isolations(vendor) {
            line(&mut text, row);
        }
    }
    text
}

fn line(text: &mut String, row: &Isolation) {
    let Isolation { vendor, name, registers, computed, rows, name_suggests, why, source, .. } = row;
    let default = if row.is_default { " (default)" } else { "" };
    let setting = row.setting.map(|setting| format!(" with `{setting}`")).unwrap_or_default();
    writeln!(
        text,
        "| {vendor} | `{name}`{setting}{default} | `{}` | `{}` | `{}` | `{}` | {why} | {source} |",
        registers.name(),
        computed.name(),
        rows.name(),
        name_suggests.name(),
    )
    .expect("memory");
}

#[test]
fn the_documented_table_matches_the_data() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/databases.md");
    let document = fs::read_to_string(&path).expect("the document");
    let table = table();
    assert!(document.contains(&table), "docs/databases.md must contain this table:\n\n{table}");
}
