//! Jepsen's operation maps: what EDN and JSON histories mean, once for both.
//!
//! A history is maps, one after the other or in one vector. Each says that a process invoked a transaction
//! or how one ended. The conventions that change verdicts:
//!
//! - `ok` happened, with the values of its completion. `fail` did not, and `info` may have; both have the
//!   operations of the invocation, and what they read nobody knows;
//! - an invocation without a completion is like `info`;
//! - real time is the order of the maps: a transaction begins at its invocation and ends at its completion.
//!   One of unknown outcome never ends; a completion without an invocation has no real time at all;
//! - a process that is an integer is a client, and its session; any other (`:nemesis`) is left out. Where
//!   the process is missing every transaction is a session of its own, and a completion belongs to the
//!   invocation before it;
//! - every key begins with nil. Reading nil from a list is reading the empty list; whether a key is a list
//!   or a register is decided by what else is done to it, when the whole input is known;
//! - a read without a value, `[:r :x]`, has an unknown result, also in an `ok`;
//! - a key may be any datum; one with brackets is called by its canonical text ([`composite`]).
//!
//! And those of histories with rows (Elle's closed-predicate):
//!
//! - `[:insert k v]` writes a value, `[:delete k]` writes nil, and nil is read where there is no row;
//! - `[:rp :true {k v}]` reads all keys of the history and found the rows `{k v}`: a range read from the lowest to the
//!   highest key. Rows may also be pairs, `[[k v]]`. A name in a JSON object that spells an integer is that integer;
//! - with any other predicate, the rows found are reads. That no other row matched is not judged, and a warning says so. The
//!   same applies to `:true` where the keys have no common order;
//! - an `ok` of `:f :init` that is over before anything else begins has the initial values, `{k v}`. Any other is a
//!   transaction of inserts.
//!
//! Reading goes in three steps. [`scan`] turns a block of text into records of transactions, in parallel,
//! pairing invocations with completions where both are in the block; the value of an invocation that was
//! answered with `ok` is never read. [`merge`] puts the blocks together in order: the pairs that blocks
//! tore apart, sessions, real time, and the forms that lie across blocks. At the end the merger decides
//! lists and registers and hands the operations to the draft.
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

/// No form may be longer: it is held in memory as a whole.
const LONGEST_FORM: usize = 64 << 20;
/// A longer line is cut by [`Blocks`], which does no harm: forms may lie across blocks.
const LONGEST_LINE: usize = 16 << 20;
/// No word may be longer, and no operation may be later than this after errors: the input is something else.
const LONGEST_WORD: usize = 16 << 20;

/// Reads a stream.
pub(crate) fn read<S: Syntax>(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    // Binary data may have no line end for a gigabyte; it is told at once.
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
