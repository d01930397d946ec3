//! Fuzzing the reader of Viper's logs: `cargo bolero test -p isoscope-formats --test fuzz_viper any_bytes`.
//!
//! No bytes may make the reader panic, and what it reads it reads again the same, alone or in a list.

mod support;

use isoscope_formats::Format;

#[test]
fn any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(lines) = support::try_reading(Format::Viper, bytes) else { return };
        if lines.warnings.is_empty()
            && !bytes.trim_ascii_start().starts_with(b"[")
            && !bytes.trim_ascii().contains(&b'\n')
        {
            let list = support::reading(Format::Viper, [b"[", bytes, b"]"].concat());
            assert_eq!(support::content(&list.history), support::content(&lines.history));
        }
    });
}
