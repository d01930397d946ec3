//! What happened in a store, as a history.
//!
//! There are two forms. In the history *by sources*, the value of a version is the number of its writer, so the writer of
//! every read is known: this is what happened. It has the external reads and the final writes, and ranges are reads of
//! single keys. In the history *by values*, the operations have the contents, as a recorder of a database sees them.

use isoscope_application::{Contents, Field};
use isoscope_history::{Builder, Datum, History, Outcome, TxnBuilder};

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
                for &(key, writer) in self.state.judge.reads(number) {
                    txn = txn.read(&*self.state.names[key as usize], writer);
                }
                for &key in self.state.judge.writes(number) {
                    txn = txn.write(&*self.state.names[key as usize], number);
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

    fn refuse_empty(&self) -> Result<(), Trouble> {
        let committed = self.ran.iter().any(|ran| ran.end == End::Committed);
        if committed { Ok(()) } else { Err(Trouble::Empty) }
    }

    fn number(&self, source: Source) -> Writer {
        let number = self.state.sources.iter().position(|&known| known == source);
        number.map_or(0, |number| number as Writer)
    }
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
