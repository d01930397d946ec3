//! A number that distinguishes histories. A certificate carries it, so that it is not applied to another
//! history.
//!
//! Equal histories have equal fingerprints, independent of the file and format they were read from. The
//! fingerprint is not a cryptographic hash. A certificate is always checked against the history; the
//! fingerprint only detects a mismatch earlier and gives a clearer message.

use crate::history::{History, Intervals, RangeRow};
use crate::value::{Datum, Value};

/// A 64-bit hash (FNV-1a, a word at a time). It is part of the file format of certificates and must not change.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn text(&mut self, text: &str) {
        self.add(text.len() as u64);
        text.bytes().for_each(|byte| self.add(byte.into()));
    }
}

impl History {
    /// A hash of the operations, outcomes, sessions, times and initial values of this history, and of the
    /// names of keys. The names of sessions and transactions and their positions in a file are not included.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Hash::new();
        for session in self.sessions() {
            hash.add(self.txns_of(session).len() as u64);
        }
        for txn in self.txns() {
            hash.add(self.op_range(txn).len() as u64);
            hash.add(self.outcome(txn) as u64);
            for op in self.ops_of(txn) {
                hash.add(u64::from(op.continues) << 9 | u64::from(op.in_range) << 8 | op.kind as u64);
                hash.add(op.key.0.into());
                self.hash(&mut hash, op.value);
                if let Some(RangeRow { low, high, live, dead }) = self.range(op.id) {
                    let rows = live.iter().chain(dead).flat_map(|&(key, value)| [key, value]);
                    [*low, *high].into_iter().chain(rows).for_each(|value| self.hash(&mut hash, value));
                    hash.add(live.len() as u64);
                }
            }
        }
        for key in self.keys() {
            self.hash(&mut hash, self.key_name(key));
            self.hash(&mut hash, self.initial(key));
        }
        intervals(&mut hash, self.events(), |&event| event.into());
        intervals(&mut hash, self.times(), |&time| time.cast_unsigned());
        intervals(&mut hash, self.timestamps(), |&time| time.cast_unsigned());
        hash.0
    }

    fn hash(&self, hash: &mut Hash, value: Value) {
        match self.datum(value) {
            Datum::Nil => hash.add(0),
            Datum::Unknown => hash.add(1),
            Datum::Bool(truth) => hash.add(2 + u64::from(truth)),
            Datum::Int(n) => {
                hash.add(4);
                hash.add(n.cast_unsigned());
            }
            Datum::Nat(n) => {
                hash.add(5);
                hash.add(n);
            }
            Datum::Float(x) => {
                hash.add(6);
                hash.add(x.to_bits());
            }
            Datum::Text(text) => {
                hash.add(7);
                hash.text(text);
            }
            Datum::Keyword(text) => {
                hash.add(8);
                hash.text(text);
            }
            Datum::List(elements) => {
                hash.add(9);
                hash.add(elements.len() as u64);
                // Readers limit the nesting depth of lists.
                for &element in elements {
                    self.hash(hash, element);
                }
            }
        }
    }
}

fn intervals<T>(hash: &mut Hash, intervals: Option<&Intervals<T>>, word: impl Fn(&T) -> u64) {
    let Some(Intervals { start, end }) = intervals else { return hash.add(0) };
    hash.add(1);
    start.iter().chain(end).for_each(|time| hash.add(word(time)));
}

#[cfg(test)]
mod tests {
    use crate::notation::parse;

    #[test]
    fn every_part_of_a_history_changes_the_fingerprint() {
        let texts = [
            "T1: w(x,1) ; T2: r(x,1)",
            "T1: w(x,1)  T2: r(x,1)",
            "T1: w(x,1) r(x,1)",
            "T1: w(y,1) ; T2: r(y,1)",
            "T1: w(x,2) ; T2: r(x,2)",
            "T1!: w(x,1) ; T2: r(x,1)",
            "T1?: w(x,1) ; T2: r(x,1)",
            "T1: a(x,1) ; T2: r(x,[1])",
            "T1@0-1: w(x,1) ; T2@2-3: r(x,1)",
            "T1@0-1: w(x,1) ; T2@2-4: r(x,1)",
        ];
        let all: Vec<u64> = texts.iter().map(|text| parse(text).unwrap().fingerprint()).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{}", texts[i]);
        }
    }

    /// Certificates are files, so the fingerprint must never change.
    #[test]
    fn the_fingerprint_is_stable() {
        assert_eq!(parse("T1: w(x,1) ; T2: r(x,1)").unwrap().fingerprint(), 11_769_058_943_215_018_304);
        assert_eq!(
            parse("T7: w(x,1) ; T9: r(x,1)").unwrap().fingerprint(),
            parse("T1: w(x,1) ; T2: r(x,1)").unwrap().fingerprint()
        );
    }
}
