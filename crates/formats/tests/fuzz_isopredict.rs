//! Whatever the bytes, the reader of this format gives a history or errors, and what it gives can be used.

mod support;

use isoscope_formats::Format;

#[test]
fn any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| match support::try_reading(Format::IsoPredict, bytes) {
        Ok(reading) => drop(support::content(&reading.history)),
        Err(failure) => assert!(!failure.problems.is_empty()),
    });
}
