//! Fuzzing the reader of the native format: `cargo bolero test -p isoscope-formats --test fuzz_native any_bytes`.
//!
//! No bytes may make the reader panic, and what it reads it reads again the same after writing it.

mod support;

use isoscope_formats::Format;

#[test]
fn any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| {
        for header in [&b""[..], b"{\"isoscope\":\"history\",\"version\":1}\n"] {
            let Ok(reading) = support::try_reading(Format::Native, [header, bytes].concat()) else {
                continue;
            };
            let (written, losses) = support::written(&reading.history, Format::Native);
            assert!(losses.is_empty());
            let again = support::reading(Format::Native, &written).history;
            assert_eq!(support::written(&again, Format::Native).0, written);
        }
    });
}
