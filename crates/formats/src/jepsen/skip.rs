//! Skips a form without reading it, by matching brackets.
//!
//! Most of a history consists of values that need not be read: the value of every invocation with an `ok`
//! completion, and unused fields. A [`Skip`] passes over them at about one byte per cycle. It can stop at the
//! end of one buffer and continue in the next, so each byte of a form that extends over many blocks is
//! examined once.
//!
//! Invariant: brackets nest and match, no deeper than [`NESTING`]; anything else is an error at the byte that
//! violates the rule. There is no recursion.

use super::cursor::{Stop, Syntax};

/// The maximal nesting depth of brackets. Real operation maps need about ten.
pub(crate) const NESTING: usize = 128;

/// The state of the scanner between brackets, strings and comments.
pub(crate) struct Skip {
    /// The expected closing brackets, innermost last.
    closers: [u8; NESTING],
    depth: usize,
    mode: Mode,
}

#[derive(Clone, Copy)]
enum Mode {
    Form,
    Text,
    TextEscape,
    Comment,
    Character,
}

/// Bytes with a meaning between brackets, in either syntax.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let special = b"{}[]()\";\\";
    let mut i = 0;
    while i < special.len() {
        table[special[i] as usize] = true;
        i += 1;
    }
    table
};

impl Skip {
    /// The state at the beginning of a form.
    pub(crate) fn new() -> Skip {
        Skip { closers: [0; NESTING], depth: 0, mode: Mode::Form }
    }

    /// Continues at `*at`. Returns true with `*at` after the end of the form, which is a closing bracket, a
    /// closing quote or the end of a comment. Returns false with `*at` at the end of the bytes.
    pub(crate) fn advance<S: Syntax>(&mut self, bytes: &[u8], at: &mut usize) -> Result<bool, Stop> {
        while *at < bytes.len() {
            match self.mode {
                Mode::Form => {
                    let rest = &bytes[*at..];
                    let Some(n) = rest.iter().position(|&b| SPECIAL[usize::from(b)]) else { break };
                    *at += n;
                    if self.special::<S>(bytes[*at])? {
                        *at += 1;
                        return Ok(true);
                    }
                }
                Mode::Text => {
                    let Some(n) = memchr::memchr2(b'"', b'\\', &bytes[*at..]) else { break };
                    *at += n;
                    self.mode = if bytes[*at] == b'"' { Mode::Form } else { Mode::TextEscape };
                    if bytes[*at] == b'"' && self.depth == 0 {
                        *at += 1;
                        return Ok(true);
                    }
                }
                Mode::Comment => {
                    let Some(n) = memchr::memchr(b'\n', &bytes[*at..]) else { break };
                    *at += n;
                    self.mode = Mode::Form;
                    if self.depth == 0 {
                        *at += 1;
                        return Ok(true);
                    }
                }
                Mode::TextEscape => self.mode = Mode::Text,
                Mode::Character => self.mode = Mode::Form,
            }
            *at += 1;
        }
        *at = bytes.len();
        Ok(false)
    }

    /// Processes a special byte. Returns true if it ends the form.
    #[inline]
    fn special<S: Syntax>(&mut self, byte: u8) -> Result<bool, Stop> {
        let closer = match byte {
            b'{' => b'}',
            b'[' => b']',
            b'(' => b')',
            b'"' => {
                self.mode = Mode::Text;
                return Ok(false);
            }
            b';' | b'\\' if S::JSON => return Ok(false),
            b';' => {
                self.mode = Mode::Comment;
                return Ok(false);
            }
            b'\\' => {
                self.mode = Mode::Character;
                return Ok(false);
            }
            closing => {
                if self.depth == 0 || self.closers[self.depth - 1] != closing {
                    return Err(Stop::Expected(self.expectation()));
                }
                self.depth -= 1;
                return Ok(self.depth == 0);
            }
        };
        if self.depth == NESTING {
            return Err(Stop::Expected("brackets nested at most 128 deep"));
        }
        self.closers[self.depth] = closer;
        self.depth += 1;
        Ok(false)
    }

    fn expectation(&self) -> &'static str {
        match self.depth.checked_sub(1).map(|top| self.closers[top]) {
            Some(b'}') => "`}`, which closes the innermost open bracket",
            Some(b']') => "`]`, which closes the innermost open bracket",
            Some(_) => "`)`, which closes the innermost open bracket",
            None => "a value",
        }
    }
}
