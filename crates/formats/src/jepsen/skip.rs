//! Going over a form without reading it, by matching brackets.
//!
//! Most of a history is values that need no look: the value of every invocation that was answered, and
//! fields nobody asked for. A [`Skip`] goes over them at about a byte a cycle. It can stop at the end of
//! one buffer and go on in the next, so a form that is spread over many blocks is looked at once.
//!
//! Invariant: brackets nest and match, no deeper than [`NESTING`]; anything else is an error at the byte
//! that breaks the rule. There is no recursion.

use super::cursor::{Stop, Syntax};

/// How deep brackets may nest. An operation map in the wild needs about ten.
pub(crate) const NESTING: usize = 128;

/// Where between brackets, strings and comments a form was left.
pub(crate) struct Skip {
    /// The closing brackets still to come, innermost last.
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

/// Bytes that mean something between brackets, in any of the syntaxes.
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
    /// At the beginning of a form.
    pub(crate) fn new() -> Skip {
        Skip { closers: [0; NESTING], depth: 0, mode: Mode::Form }
    }

    /// Goes on at `*at`. True with `*at` after the end of the form, which is a closing bracket, a closing
    /// quote or the end of a comment; false with `*at` at the end of the bytes.
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

    /// Takes in a special byte. True when it ends the form.
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
