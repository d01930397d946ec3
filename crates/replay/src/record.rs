//! What happened in a store, as a history.
//!
//! There are two forms. In the history *by sources*, the value of a version is the number of its writer, so the writer of
//! every read is known: this is what happened. It has the external reads and the final writes, in program order, and ranges
//! are reads of single keys: those that had a version, and then those that were written only later and were read as absent.
//! In the history *by values*, the operations have the contents, as a recorder of a database sees them.

use std::sync::Arc;

use isoscope_application::{Contents, Field};
use isoscope_history::{Builder, Datum, History, Outcome, TxnBuilder};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::content::{Content, Operation, Origin, Source};
use crate::judge::Writer;
use crate::store::{End, Ran, Store};
use crate::trouble::Trouble;

impl Store<'_> {
    /// What happened, by sources. The initial value of every key is 0, and the value that a transaction writes is its
    /// number among the committed ones, from 1. Fails if nothing committed.
    pub fn history(&self) -> Result<History, Trouble> {
        self.refuse_empty()?;
        let mut builder = Builder::new();
        let mut number: Writer = 0;
        for ran in &self.ran {
            let mut txn = begin(&mut builder, ran);
            if ran.end == End::Committed {
                number += 1;
                for access in self.accesses(ran) {
                    txn = match access {
                        Access::Read(key, source) => txn.read(&*key, self.number(source)),
                        Access::Write(key) => txn.write(&*key, number),
                    };
                }
                continue;
            }
            for (key, source) in ran.reads() {
                txn = txn.read(key, self.number(source));
            }
            txn.outcome(Outcome::Aborted);
        }
        Ok(builder.finish())
    }

    /// What happened, by values. Fails if nothing committed.
    pub fn history_by_values(&self, tables: &[Contents]) -> Result<History, Trouble> {
        self.refuse_empty()?;
        let mut builder = Builder::new();
        builder.initial(None);
        for (key, field) in tables.iter().flat_map(Contents::initials) {
            builder.initial_of(key.as_str(), datum(&field));
        }
        for ran in &self.ran {
            let mut txn = begin(&mut builder, ran);
            for operation in &ran.operations {
                txn = push(txn, operation);
            }
            if ran.end != End::Committed {
                txn.outcome(Outcome::Aborted);
            }
        }
        Ok(builder.finish())
    }

    /// The external reads and final writes of a transaction that committed, in program order.
    fn accesses(&self, ran: &Ran) -> Vec<Access> {
        let (mut accesses, mut own) = (Vec::new(), FxHashSet::default());
        let mut last: FxHashMap<&str, usize> = FxHashMap::default();
        for (place, operation) in ran.operations.iter().enumerate() {
            if let Operation::Write { key, .. } = operation {
                last.insert(&**key, place);
            }
        }
        for (place, operation) in ran.operations.iter().enumerate() {
            match operation {
                Operation::Read { key, from: Origin::Store(source), .. } => {
                    accesses.push(Access::Read(Arc::clone(key), *source));
                }
                Operation::Read { .. } => {}
                Operation::Range { low, high, keys } => {
                    for (key, from, _) in keys {
                        if let Origin::Store(source) = from {
                            accesses.push(Access::Read(Arc::clone(key), *source));
                        }
                    }
                    let known: FxHashSet<&str> = keys.iter().map(|(key, ..)| &**key).collect();
                    let later = self.state.between(low, high).into_iter();
                    let later = later.filter(|key| !known.contains(&**key) && !own.contains(&**key));
                    accesses.extend(later.map(|key| Access::Read(key, Source::Initial)));
                }
                Operation::Write { key, .. } => {
                    own.insert(&**key);
                    if last.get(&**key) == Some(&place) {
                        accesses.push(Access::Write(Arc::clone(key)));
                    }
                }
            }
        }
        accesses
    }

    fn refuse_empty(&self) -> Result<(), Trouble> {
        let committed = self.ran.iter().any(|ran| ran.end == End::Committed);
        if committed { Ok(()) } else { Err(Trouble::Empty) }
    }

    fn number(&self, source: Source) -> Writer {
        let number = self.state.sources.iter().position(|&known| known == source);
        number.map_or(0, |number| number as Writer)
    }
}

/// What a history by sources has of a transaction.
enum Access {
    Read(Arc<str>, Source),
    Write(Arc<str>),
}

impl Ran {
    /// The reads of versions that other transactions wrote, in program order; a range is a read of each of its keys.
    pub fn reads(&self) -> impl Iterator<Item = (&str, Source)> + '_ {
        let found = self.operations.iter().flat_map(|operation| match operation {
            Operation::Read { key, from, .. } => vec![(&**key, *from)],
            Operation::Range { keys, .. } => keys.iter().map(|(key, from, _)| (&**key, *from)).collect(),
            Operation::Write { .. } => Vec::new(),
        });
        found.filter_map(|(key, from)| match from {
            Origin::Store(source) => Some((key, source)),
            Origin::Own => None,
        })
    }

    /// The keys that it wrote, in program order.
    pub fn writes(&self) -> impl Iterator<Item = &str> + '_ {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Write { key, .. } => Some(&**key),
            Operation::Read { .. } | Operation::Range { .. } => None,
        })
    }
}

fn begin<'b>(builder: &'b mut Builder, ran: &Ran) -> TxnBuilder<'b> {
    let name = format!("{}.{}", ran.call.session, ran.call.number);
    builder.session(ran.call.session).named(name.as_str())
}

fn push<'b>(txn: TxnBuilder<'b>, operation: &Operation) -> TxnBuilder<'b> {
    match operation {
        Operation::Read { key, content, .. } => txn.read(&**key, datum(&content.field())),
        Operation::Range { low, high, keys } => {
            let rows = keys.iter().filter(|(_, _, exists)| *exists).map(|(key, ..)| (&**key, 1));
            txn.range(low.as_str(), high.as_str(), rows)
        }
        Operation::Write { key, content } => match content {
            Content::Absent => txn.delete(&**key),
            Content::Row(_) => txn.insert(&**key, 1),
            Content::Cell(field) => txn.write(&**key, datum(field)),
        },
    }
}

fn datum(field: &Field) -> Datum<'_> {
    match field {
        Field::Null => Datum::Nil,
        Field::Int(n) => Datum::Int(*n),
        Field::Text(text) => Datum::Text(text),
    }
}
