//! Prints numbers and strings without allocation; shared by the writers of all text formats.

/// Writes a quoted string, with the escapes that JSON and EDN have in common.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => Some(byte),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            0..0x20 => None,
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..i]);
        from = i + 1;
        if let Some(letter) = short {
            out.extend_from_slice(&[b'\\', letter]);
        } else {
            let hex = |n: u8| b"0123456789abcdef"[usize::from(n & 15)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Writes an unsigned integer.
pub(crate) fn push_nat(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a signed integer.
pub(crate) fn push_int(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    push_nat(out, n.unsigned_abs());
}
