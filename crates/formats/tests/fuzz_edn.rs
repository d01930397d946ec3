//! No bytes make the EDN reader panic or hang, and what it reads it can write and read again.

mod support;

use isoscope_formats::{Format, Target, write};

fn check(bytes: &[u8]) {
    let Ok(reading) = support::try_reading(Format::Edn, bytes) else { return };
    let mut out = Vec::new();
    if write(&reading.history, Format::Edn, Target::Stream(&mut out)).is_ok() {
        let again = support::reading(Format::Edn, &out).history;
        assert_eq!(again.txn_count(), reading.history.txn_count());
    }
}

#[test]
fn fuzz_edn() {
    for seed in ["wild.edn", "register.edn"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds/jepsen").join(seed);
        let bytes = std::fs::read(path).unwrap();
        assert!(support::try_reading(Format::Edn, &bytes).is_ok(), "{seed}");
        check(&bytes);
    }
    bolero::check!().for_each(|bytes: &[u8]| check(bytes));
}
