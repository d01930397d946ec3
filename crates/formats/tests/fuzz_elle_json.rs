//! No bytes make the elle-cli JSON reader panic or hang, and what it reads it can write and read again.

mod support;

use isoscope_formats::{Format, Target, write};

fn check(bytes: &[u8]) {
    let Ok(reading) = support::try_reading(Format::ElleJson, bytes) else { return };
    let mut out = Vec::new();
    if write(&reading.history, Format::ElleJson, Target::Stream(&mut out)).is_ok() {
        let again = support::reading(Format::ElleJson, &out).history;
        assert_eq!(again.txn_count(), reading.history.txn_count());
    }
}

#[test]
fn fuzz_elle_json() {
    for seed in ["list.json", "register.jsonl"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds/jepsen").join(seed);
        let bytes = std::fs::read(path).unwrap();
        assert!(support::try_reading(Format::ElleJson, &bytes).is_ok(), "{seed}");
        check(&bytes);
    }
    bolero::check!().for_each(|bytes: &[u8]| check(bytes));
}
