//! The meaning of Jepsen's operation maps, shared by EDN and JSON histories.
//!
//! A history is a sequence of maps, one after the other or in one vector. Each map records that a process
//! invoked a transaction, or how a transaction ended. The conventions that change verdicts:
//!
//! - `ok` is committed, with the values of its completion. `fail` is aborted and `info` is of unknown
//!   outcome; both have the operations of the invocation, and the results of their reads are unknown.
//! - An invocation without a completion is treated as `info`.
//! - Real-time order is the order of the maps: a transaction begins at its invocation and ends at its
//!   completion. A transaction of unknown outcome never ends. A completion without an invocation is not
//!   ordered in real time.
//! - A process that is an integer is a client and a session; any other (`:nemesis`) is ignored. Without a
//!   process, every transaction is a session of its own, and a completion belongs to the preceding
//!   invocation.
//! - The initial value of every key is nil. A read of nil from a list is a read of the empty list. Whether a
//!   key is a list or a register is decided by its other operations, when the whole input is known.
//! - A read without a value, `[:r :x]`, has an unknown result, also in an `ok`.
//! - A key may be any datum. A composite key is named by its canonical text ([`composite`]).
//!
//! The conventions of histories with rows (Elle's closed-predicate):
//!
//! - `[:insert k v]` writes a value, `[:delete k]` writes nil, and a read returns nil if the row does not
//!   exist.
//! - `[:rp :true {k v}]` reads all keys of the history and returns the rows `{k v}`: it is a range read from
//!   the lowest to the highest key. Rows may also be pairs, `[[k v]]`. A name in a JSON object that spells an
//!   integer is that integer.
//! - With any other predicate, the returned rows are reads. The absence of other matching rows is not
//!   checked, and a warning says so. The same applies to `:true` if the keys have no common order.
//! - An `ok` of `:f :init` that ends before anything else begins contains the initial values, `{k v}`. A value
//!   that is a list is the initial elements of a list, which Elle's histories do not have. Any other is a
//!   transaction of inserts.
//!
//! Reading takes three steps. [`scan`] turns a block of text into records of transactions, in parallel. It
//! pairs invocations with completions if both are in the block; the value of an invocation whose completion
//! is `ok` is never read. [`merge`] puts the blocks together in order: pairs split between blocks, sessions,
//! real-time order, and forms that extend over several blocks. At the end the merger decides which keys are
//! lists and passes the operations to the draft.
//!
//! A value that is never read is checked for matching brackets only.

use std::io;

use crate::Job;
use crate::input::{Blocks, Stream};
use crate::parallel;

pub(crate) mod composite;
pub(crate) mod cursor;
mod merge;
mod micro;
mod opmap;
mod rows;
mod scan;
mod skip;
pub(crate) mod write;

use cursor::Syntax;

/// The longest form. A form is held in memory as a whole.
const LONGEST_FORM: usize = 64 << 20;
/// [`Blocks`] cuts a longer line. This is harmless, since forms may extend over several blocks.
const LONGEST_LINE: usize = 16 << 20;
/// The longest word, and the largest distance from an error to the next operation: beyond it the input is in
/// another format.
const LONGEST_WORD: usize = 16 << 20;

/// Reads a stream.
pub(crate) fn read<S: Syntax>(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    // Binary data may have no line end for a gigabyte, so it is rejected at once.
    if let Some(zero) = memchr::memchr(0, stream.head()) {
        problems.error(Some(base + zero as u64), "unexpected byte 0x00", "text");
        return Ok(());
    }
    let mut merger = merge::Merger::<S>::new(draft, problems);
    parallel::parse_blocks(
        Blocks::new(stream, LONGEST_LINE),
        |block| {
            progress(block.bytes.len() as u64);
            merge::Piece::of::<S>(block, base)
        },
        &mut |piece| merger.merge(piece),
    )?;
    merger.finish();
    Ok(())
}
