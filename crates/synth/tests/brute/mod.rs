//! The brute-force reference of the level language: every witness of a history of at most three transactions is tried, and the
//! conditions of each level are written by hand, from the papers. Nothing here reads a definition, reduces a witness, or searches.
//!
//! Transaction 0 is the initial one. A relation is a set of bits: bit 4 * s + t for the pair (s, t).

mod levels;

pub(crate) use levels::allows;

/// A relation.
pub(crate) type Pairs = u16;

pub(crate) fn pair(from: usize, to: usize) -> Pairs {
    1 << (4 * from + to)
}

pub(crate) fn has(pairs: Pairs, from: usize, to: usize) -> bool {
    pairs & pair(from, to) != 0
}

/// The first relation, then the second.
pub(crate) fn then(first: Pairs, second: Pairs) -> Pairs {
    let mut found = 0;
    for from in 0..4 {
        for middle in (0..4).filter(|&middle| has(first, from, middle)) {
            for to in (0..4).filter(|&to| has(second, middle, to)) {
                found |= pair(from, to);
            }
        }
    }
    found
}

/// One or more steps. Four transactions: no path needs more than four.
pub(crate) fn paths(pairs: Pairs) -> Pairs {
    (0..3).fold(pairs, |longer, _| longer | then(longer, pairs))
}

pub(crate) fn is_reflexive_somewhere(pairs: Pairs) -> bool {
    (0..4).any(|txn| has(pairs, txn, txn))
}

pub(crate) fn has_cycle(pairs: Pairs) -> bool {
    is_reflexive_somewhere(paths(pairs))
}

/// A history.
#[derive(Clone, Debug)]
pub(crate) struct Tiny {
    pub(crate) txns: usize,
    /// By transaction and key.
    pub(crate) writes: [[bool; 2]; 4],
    /// By transaction and key: who wrote what it reads.
    pub(crate) source: [[Option<usize>; 2]; 4],
    /// By transaction: it reads y before x.
    pub(crate) backwards: [bool; 4],
    pub(crate) so: Pairs,
    /// By transaction: invoked and returned, if there are times.
    pub(crate) times: Option<[(u8, u8); 4]>,
}

impl Tiny {
    /// All histories with these sessions over some keys. Two that differ only by the names of the keys are one.
    pub(crate) fn all(sessions: &[&[usize]], keys: usize) -> Vec<Tiny> {
        let txns = sessions.concat().len();
        let mut so = 0;
        for to in 1..=txns {
            so |= pair(0, to);
        }
        for session in sessions {
            for (place, &from) in session.iter().enumerate() {
                session[place + 1..].iter().for_each(|&to| so |= pair(from, to));
            }
        }
        let empty = Tiny {
            txns,
            writes: [[true; 2], [false; 2], [false; 2], [false; 2]],
            source: [[None; 2]; 4],
            backwards: [false; 4],
            so,
            times: None,
        };
        let mut found = vec![empty];
        for txn in 1..=txns {
            for key in 0..keys {
                let writing = |tiny: &Tiny| {
                    let mut other = tiny.clone();
                    other.writes[txn][key] = true;
                    [tiny.clone(), other]
                };
                found = found.iter().flat_map(writing).collect();
            }
        }
        for txn in 1..=txns {
            for key in 0..keys {
                let reading = |tiny: &Tiny| -> Vec<Tiny> {
                    let writers = (0..=txns).filter(|&other| other != txn && tiny.writes[other][key]);
                    let with = |source: Option<usize>| {
                        let mut other = tiny.clone();
                        other.source[txn][key] = source;
                        other
                    };
                    std::iter::once(None).chain(writers.map(Some)).map(with).collect()
                };
                found = found.iter().flat_map(reading).collect();
            }
        }
        found.retain(|tiny| (1..=txns).all(|txn| tiny.ops(txn) > 0) && tiny.is_first_of_its_names());
        found
    }

    /// Both orders of the two reads of each transaction that reads both keys.
    pub(crate) fn read_orders(&self) -> Vec<Tiny> {
        let mut found = vec![self.clone()];
        for txn in (1..=self.txns).filter(|&txn| self.source[txn].iter().flatten().count() == 2) {
            let both = |tiny: &Tiny| {
                let mut other = tiny.clone();
                other.backwards[txn] = true;
                [tiny.clone(), other]
            };
            found = found.iter().flat_map(both).collect();
        }
        found
    }

    fn ops(&self, txn: usize) -> usize {
        self.source[txn].iter().flatten().count() + self.writes[txn].iter().filter(|&&writes| writes).count()
    }

    /// Of two histories with the keys exchanged, one is.
    fn is_first_of_its_names(&self) -> bool {
        let side = |key: usize| -> Vec<_> {
            (1..=self.txns).map(|txn| (self.writes[txn][key], self.source[txn][key])).collect()
        };
        side(0) >= side(1)
    }

    /// The one-line notation. A writer's value is its number.
    pub(crate) fn notation(&self, sessions: &[&[usize]]) -> String {
        let key = |key: usize| ["x", "y"][key];
        let txn = |&txn: &usize| {
            let mut ops: Vec<String> = Vec::new();
            let order = if self.backwards[txn] { [1, 0] } else { [0, 1] };
            for one in order {
                ops.extend(self.source[txn][one].map(|writer| format!("r({},{writer})", key(one))));
            }
            ops.extend(
                (0..2).filter(|&one| self.writes[txn][one]).map(|one| format!("w({},{txn})", key(one))),
            );
            let times = self.times.map(|times| format!("@{}-{}", times[txn].0, times[txn].1));
            format!("T{txn}{}: {}", times.unwrap_or_default(), ops.join(" "))
        };
        let session = |session: &&[usize]| session.iter().map(txn).collect::<Vec<_>>().join(" ; ");
        sessions.iter().map(session).collect::<Vec<_>>().join("  ")
    }

    /// Who reads a key, or any key, from whom.
    pub(crate) fn wr(&self, of: Option<usize>) -> Pairs {
        let mut found = 0;
        for txn in 1..=self.txns {
            for key in (0..2).filter(|&key| of.is_none_or(|of| of == key)) {
                found |= self.source[txn][key].map_or(0, |writer| pair(writer, txn));
            }
        }
        found
    }

    /// Who returned before whom was invoked.
    pub(crate) fn rt(&self) -> Pairs {
        let mut found = 0;
        for to in 1..=self.txns {
            found |= pair(0, to);
            for from in 1..=self.txns {
                if self.times.is_some_and(|times| times[from].1 < times[to].0) {
                    found |= pair(from, to);
                }
            }
        }
        found
    }
}

/// A witness: an order of all transactions with visibility, or an order of the writers of each key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    /// Without the initial transaction.
    pub(crate) order: Vec<usize>,
    pub(crate) vis: Pairs,
    /// By key.
    pub(crate) versions: Vec<Vec<usize>>,
}

/// All orders of some transactions.
fn orders(txns: &[usize]) -> Vec<Vec<usize>> {
    if txns.is_empty() {
        return vec![Vec::new()];
    }
    let first = |&txn: &usize| -> Vec<Vec<usize>> {
        let others: Vec<usize> = txns.iter().copied().filter(|&other| other != txn).collect();
        orders(&others).into_iter().map(|rest| [vec![txn], rest].concat()).collect()
    };
    txns.iter().flat_map(first).collect()
}

/// The pairs of an order that the initial transaction begins.
pub(crate) fn pairs_of(order: &[usize]) -> Pairs {
    let mut found = 0;
    for (place, &to) in order.iter().enumerate() {
        found |= pair(0, to);
        order[..place].iter().for_each(|&from| found |= pair(from, to));
    }
    found
}

impl Witness {
    /// All orders of the transactions.
    pub(crate) fn orders(tiny: &Tiny) -> Vec<Witness> {
        let txns: Vec<usize> = (1..=tiny.txns).collect();
        orders(&txns).into_iter().map(|order| Witness { order, ..Witness::default() }).collect()
    }

    /// All orders with all visibilities inside of them. Everyone sees the initial transaction.
    pub(crate) fn visibilities(tiny: &Tiny) -> Vec<Witness> {
        let with_vis = |witness: Witness| -> Vec<Witness> {
            let all = pairs_of(&witness.order);
            let initial = (1..=tiny.txns).fold(0, |found, txn| found | pair(0, txn));
            let subsets = (0..=Pairs::MAX).filter(|vis| vis & !all == 0 && vis & initial == initial);
            subsets.map(|vis| Witness { vis, ..witness.clone() }).collect()
        };
        Witness::orders(tiny).into_iter().flat_map(with_vis).collect()
    }

    /// All orders of the writers of each key.
    pub(crate) fn versions(tiny: &Tiny) -> Vec<Witness> {
        let of_key =
            |key: usize| orders(&(1..=tiny.txns).filter(|&txn| tiny.writes[txn][key]).collect::<Vec<_>>());
        let second = of_key(1);
        let with_first = |first: Vec<usize>| -> Vec<Witness> {
            let both = |other: &Vec<usize>| vec![first.clone(), other.clone()];
            second.iter().map(|other| Witness { versions: both(other), ..Witness::default() }).collect()
        };
        of_key(0).into_iter().flat_map(with_first).collect()
    }
}
