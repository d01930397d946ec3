//! Parses the blocks of a stream on all cores and merges the results in order.
//!
//! Every worker repeats: take the next block (under a lock, so blocks come in order), parse it, and then
//! merge the results that are next in order (under another lock). The results are merged in the order of the
//! blocks, independent of scheduling. While one worker merges, the others parse.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::input::{Block, Blocks};

struct Taking {
    blocks: Blocks,
    next: u64,
    stopped: bool,
}

struct Merging<'a, T> {
    next: u64,
    waiting: BTreeMap<u64, T>,
    merge: &'a mut (dyn FnMut(T) -> ControlFlow<()> + Send),
}

/// Parses every block and merges the results in order, until `merge` breaks or the input ends.
pub(crate) fn parse_blocks<T: Send>(
    blocks: Blocks,
    parse: impl Fn(Block) -> T + Sync,
    merge: &mut (dyn FnMut(T) -> ControlFlow<()> + Send),
) -> io::Result<()> {
    let taking = Mutex::new(Taking { blocks, next: 0, stopped: false });
    let merging = Mutex::new(Merging { next: 0, waiting: BTreeMap::new(), merge });
    let failure = Mutex::new(None);
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|_| {
                if let Err(error) = work(&taking, &parse, &merging) {
                    lock(&failure).get_or_insert(error);
                    lock(&taking).stopped = true;
                }
            });
        }
    });
    match lock(&failure).take() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn work<T>(
    taking: &Mutex<Taking>,
    parse: &(impl Fn(Block) -> T + Sync),
    merging: &Mutex<Merging<'_, T>>,
) -> io::Result<()> {
    loop {
        let (number, block) = {
            let mut taking = lock(taking);
            if taking.stopped {
                return Ok(());
            }
            let Some(block) = taking.blocks.next()? else { return Ok(()) };
            taking.next += 1;
            (taking.next - 1, block)
        };
        let parsed = parse(block);
        let mut guard = lock(merging);
        let Merging { next, waiting, merge } = &mut *guard;
        waiting.insert(number, parsed);
        while let Some(ready) = waiting.remove(next) {
            *next += 1;
            if merge(ready).is_break() {
                // Blocks that are being parsed now will wait for a turn that never comes.
                *next = u64::MAX;
                lock(taking).stopped = true;
                return Ok(());
            }
        }
    }
}

/// A worker that panicked has already failed the scope, so the state it locked is not used again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
