//! Fuzzing the reader of dbcop's JSON: `cargo bolero test -p isoscope-formats --test fuzz_dbcop_json any_bytes`.
//!
//! No bytes may make the reader panic, and what it reads it reads again the same after writing it.

mod support;

use isoscope_formats::Format;

#[test]
fn any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(reading) = support::try_reading(Format::DbcopJson, bytes) else { return };
        let (written, _) = support::written(&reading.history, Format::DbcopJson);
        let again = support::reading(Format::DbcopJson, &written).history;
        assert_eq!(support::shape(&again), support::shape(&reading.history));
    });
}
