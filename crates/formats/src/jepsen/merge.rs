//! Merges the pieces of a history, in the order of the text.
//!
//! The text comes in blocks that end at line ends, and a form may extend over several blocks. So a block is
//! scanned on the guess that its first line that looks like an operation is one. The merger knows where the
//! previous text really ended. It uses the scan if the guess was right and scans again if not. An incomplete
//! form is carried into the next block. Its brackets are counted as it grows, each byte once.
//!
//! Blocks also separate invocations from their completions. For each process, the merger keeps the open
//! invocation and its operations.
//!
//! Operations are held back until the end, when it is known which keys exist and which of them are lists.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use isoscope_history::{
    Datum, Draft, DraftTxn, NO_EVENT, NO_TIME, OpKind, Outcome, RawOp, Remap, Session, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cursor::Syntax;
use super::micro::{Kind, MicroOp, Rows};
use super::opmap::OpType;
use super::scan::{Mark, Record, Scan, begins_operation, next_operation, scan};
use super::skip::Skip;
use super::{LONGEST_FORM, LONGEST_WORD};
use crate::input::Block;
use crate::problem::{Problems, Warning};

/// A block and its scan, under the assumption that a form begins at `head`.
pub(super) struct Piece {
    block: Block,
    position: u64,
    /// The start of the text, after a byte-order mark.
    first: usize,
    head: usize,
    scan: Scan,
}

impl Piece {
    /// Scans a block. The first block needs no guess.
    pub(super) fn of<S: Syntax>(block: Block, base: u64) -> Piece {
        let (start, bytes) = (block.start, &block.bytes);
        let marked = start == 0 && bytes.starts_with(b"\xef\xbb\xbf");
        let first = if marked { 3 } else { 0 };
        let certain = start == 0 || begins_operation::<S>(bytes);
        let head = if certain { first } else { next_operation::<S>(bytes, 0) };
        let position = base + start;
        let scan = scan::<S>(&bytes[head..], position + head as u64);
        Piece { block, position, first, head, scan }
    }
}

/// The beginning of a form whose end has not been read yet.
struct Rest {
    bytes: Vec<u8>,
    position: u64,
    /// The brackets of `bytes`.
    skip: Skip,
    /// The minimal length of `bytes` at which the end of a bracket is tried as the end of the form. It is
    /// zero until such an attempt fails. Then it doubles, so that all attempts together cost no more than the
    /// last.
    patience: usize,
}

impl Rest {
    /// The maximal length: only brackets, strings and comments are legitimately long.
    fn longest(&self) -> usize {
        let first = self.bytes.first().copied().unwrap_or(b'{');
        if b"{[(#\";".contains(&first) { LONGEST_FORM } else { LONGEST_WORD }
    }
}

/// The state of a process.
#[derive(Default)]
struct Client {
    session: Option<Session>,
    open: Option<Open>,
    after_info: bool,
}

/// An invocation without a completion so far.
struct Open {
    txn: DraftTxn,
    position: u64,
    invoke: Mark,
    /// Its operations. If it succeeds, the operations of the completion replace them.
    ops: Vec<Late>,
    skipped: bool,
}

/// An operation that was read in another piece than its transaction.
#[derive(Clone, Copy)]
pub(super) struct Late {
    position: u64,
    pub(super) op: MicroOp,
}

/// The operations of one piece.
pub(super) struct Held {
    pub(super) base: u64,
    pub(super) ops: Vec<MicroOp>,
    pub(super) runs: Vec<(DraftTxn, u32)>,
}

/// The history so far; see the module documentation.
pub(super) struct Merger<'d, S> {
    pub(super) draft: &'d mut Draft,
    pub(super) problems: &'d mut Problems,
    rest: Option<Rest>,
    /// The closing bracket of the open vector around the maps, if any, and the position of the opening one.
    wrap: Option<(u8, u64)>,
    clients: Vec<Client>,
    client_of: FxHashMap<Option<i64>, usize>,
    /// The number of client maps so far.
    events: u32,
    pub(super) held: Vec<Held>,
    pub(super) late: Vec<(DraftTxn, Late)>,
    lists: bool,
    registers: bool,
    /// The rows returned by predicates that all keys match.
    pub(super) ranges: Vec<Rows>,
    /// The `:init` transaction that completed before any other began, if any.
    pub(super) init: Option<DraftTxn>,
    syntax: PhantomData<fn() -> S>,
}

impl<'d, S: Syntax> Merger<'d, S> {
    /// An empty merger.
    pub(super) fn new(draft: &'d mut Draft, problems: &'d mut Problems) -> Merger<'d, S> {
        draft.set_initial(Value::NIL);
        Merger {
            draft,
            problems,
            rest: None,
            wrap: None,
            clients: Vec::new(),
            client_of: FxHashMap::default(),
            events: 0,
            held: Vec::new(),
            late: Vec::new(),
            lists: false,
            registers: false,
            ranges: Vec::new(),
            init: None,
            syntax: PhantomData,
        }
    }

    /// Adds the next block.
    pub(super) fn merge(&mut self, piece: Piece) -> ControlFlow<()> {
        let read = piece.block.start;
        match self.rest.take() {
            None => self.take_from(piece.first, piece),
            Some(rest) => self.go_on(rest, piece),
        }
        let too_long = self.rest.as_ref().filter(|rest| rest.bytes.len() > rest.longest());
        if let Some(rest) = too_long {
            let message = format!("this form does not end within {} MiB", rest.longest() >> 20);
            self.problems.error(Some(rest.position), message, "a closing bracket");
            self.rest = None;
            return ControlFlow::Break(());
        }
        let nothing = self.events == 0 && read > LONGEST_WORD as u64;
        if self.problems.hopeless() || (nothing && self.problems.failed()) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Continues a form that began in an earlier block.
    fn go_on(&mut self, mut rest: Rest, piece: Piece) {
        let mut at = 0;
        let ended = rest.skip.advance::<S>(&piece.block.bytes, &mut at);
        rest.bytes.extend_from_slice(&piece.block.bytes[..at]);
        match ended {
            Ok(false) => self.rest = Some(rest),
            Ok(true) if rest.bytes.len() < rest.patience => {
                rest.bytes.extend_from_slice(&piece.block.bytes[at..]);
                rest.skip = brackets::<S>(&piece.block.bytes[at..]);
                self.rest = Some(rest);
            }
            Ok(true) => {
                let whole = scan::<S>(&rest.bytes, rest.position);
                if whole.tail.is_none() {
                    self.accept(whole);
                    self.take_from(at, piece);
                } else {
                    // The bracket only looks like the end of the form, for instance in a comment after `#_`.
                    rest.bytes.extend_from_slice(&piece.block.bytes[at..]);
                    self.take_text(&rest.bytes, rest.position);
                    if let Some(still) = self.rest.as_mut().filter(|still| still.position == rest.position) {
                        still.patience = 2 * still.bytes.len();
                    }
                }
            }
            Err(_) => {
                rest.bytes.extend_from_slice(&piece.block.bytes[at..]);
                self.take_text(&rest.bytes, rest.position);
            }
        }
    }

    /// Adds a block from `from` on, where a form may begin.
    fn take_from(&mut self, from: usize, piece: Piece) {
        if from <= piece.head {
            let gap = scan::<S>(&piece.block.bytes[from..piece.head], piece.position + from as u64);
            if gap.tail.is_none() {
                self.accept(gap);
                let text = &piece.block.bytes[piece.head..];
                return self.accept_with_tail(piece.scan, text);
            }
        }
        self.take_text(&piece.block.bytes[from..], piece.position + from as u64);
    }

    fn take_text(&mut self, text: &[u8], position: u64) {
        let scan = scan::<S>(text, position);
        self.accept_with_tail(scan, text);
    }

    /// Adds the scan of `text`, and keeps its incomplete end.
    fn accept_with_tail(&mut self, scan: Scan, text: &[u8]) {
        if let Some(tail) = scan.tail {
            let bytes = text[tail..].to_vec();
            let skip = brackets::<S>(&bytes);
            self.rest = Some(Rest { bytes, position: scan.base + tail as u64, skip, patience: 0 });
        }
        self.accept(scan);
    }

    /// Adds a scan.
    fn accept(&mut self, mut scan: Scan) {
        self.problems.absorb(std::mem::take(&mut scan.problems));
        self.check_wrap(&scan);
        let Some(events) = self.events.checked_add(scan.events).filter(|&events| events < NO_EVENT) else {
            self.problems.error(Some(scan.base), "too many operations", "at most 2^32 - 2 operations");
            return;
        };
        if self.problems.failed() {
            return;
        }
        self.lists |= scan.micro.lists;
        self.registers |= scan.micro.registers;
        let remap = (!scan.micro.values.is_empty()).then(|| self.draft.values.absorb(&scan.micro.values));
        if let Some(remap) = &remap {
            scan.ops.iter_mut().chain(&mut scan.pending).for_each(|op| op.remap(remap));
        }
        self.take_ranges(&mut scan, remap.as_ref());
        let mut txns = Vec::with_capacity(scan.records.len());
        for record in &scan.records {
            txns.push(self.record(&scan, record));
        }
        for note in &scan.notes {
            if let Some(txn) = txns[note.record as usize] {
                let apply = |value| remap.as_ref().map_or(value, |remap| remap.apply(value));
                self.draft.annotate(txn, apply(note.name), apply(note.text));
            }
        }
        let runs = scan.runs.iter().filter_map(|&(record, count)| Some((txns[record as usize]?, count)));
        let runs: Vec<(DraftTxn, u32)> = runs.collect();
        self.held.push(Held { base: scan.base, ops: scan.ops, runs });
        self.events = events;
    }

    /// Checks the bracket around the maps across pieces. The scan has checked it inside one piece.
    fn check_wrap(&mut self, scan: &Scan) {
        let Some((bracket, at)) = scan.wrap.first else { return };
        let opens = matches!(bracket, b'[' | b'(');
        let right = match self.wrap {
            None => opens,
            Some((due, _)) => bracket == due,
        };
        if !right {
            let message = format!("unexpected `{}`", char::from(bracket));
            self.problems.error(Some(scan.base + at as u64), message, "an operation map");
        }
        self.wrap = scan.wrap.open.map(|(due, at)| (due, scan.base + at as u64));
    }

    /// Adds a transaction, or half of one. `None` if it is ignored.
    fn record(&mut self, scan: &Scan, record: &Record) -> Option<DraftTxn> {
        let next = self.clients.len();
        let client = *self.client_of.entry(record.process).or_insert(next);
        if client == next {
            self.clients.push(Client::default());
        }
        let position = scan.base + u64::from(record.at);
        let open = self.clients[client].open.take();
        match (record.invoke, record.done) {
            (Some(invoke), done) => {
                if let Some(open) = open {
                    self.problems.warn(Warning::DoubleInvoke, Some(position));
                    self.never_ended(open);
                } else if self.clients[client].after_info && record.process.is_some() {
                    self.problems.warn(Warning::InvokeAfterInfo, Some(position));
                }
                self.clients[client].after_info = false;
                if record.skipped && done.is_some() {
                    self.problems.warn(Warning::SkippedOperation, Some(position));
                    return None;
                }
                let txn = self.txn(client, record, position, invoke);
                let invoke = self.absolute(invoke);
                if let Some((kind, mark)) = done {
                    self.ended(client, txn, Some(invoke), kind, mark, record);
                } else {
                    let (ops, skipped) = (late(scan, record), record.skipped);
                    self.clients[client].open = Some(Open { txn, position, invoke, ops, skipped });
                }
                Some(txn)
            }
            (None, Some((kind, mark))) => match open {
                Some(open) => self.answered(client, open, scan, record, kind, mark),
                None => self.not_invoked(client, scan, record, kind, mark),
            },
            (None, None) => None,
        }
    }

    /// Handles a completion whose invocation is in an earlier piece.
    fn answered(
        &mut self,
        client: usize,
        open: Open,
        scan: &Scan,
        record: &Record,
        kind: OpType,
        mark: Mark,
    ) -> Option<DraftTxn> {
        self.ended(client, open.txn, Some(open.invoke), kind, mark, record);
        if record.skipped && (open.skipped || kind == OpType::Ok) {
            self.problems.warn(Warning::SkippedOperation, Some(open.position));
            self.draft.drop_txn(open.txn);
            return None;
        }
        if kind != OpType::Ok {
            let ops = if open.skipped { late(scan, record) } else { open.ops };
            self.late.extend(ops.into_iter().map(|late| (open.txn, late)));
        }
        Some(open.txn)
    }

    /// Handles a completion without an invocation.
    fn not_invoked(
        &mut self,
        client: usize,
        scan: &Scan,
        record: &Record,
        kind: OpType,
        mark: Mark,
    ) -> Option<DraftTxn> {
        let position = scan.base + u64::from(record.at);
        if record.skipped {
            self.problems.warn(Warning::SkippedOperation, Some(position));
            return None;
        }
        self.problems.warn(Warning::NoInvoke, Some(position));
        let txn = self.txn(client, record, position, mark);
        self.ended(client, txn, None, kind, mark, record);
        self.late.extend(late(scan, record).into_iter().map(|late| (txn, late)));
        Some(txn)
    }

    fn txn(&mut self, client: usize, record: &Record, position: u64, first: Mark) -> DraftTxn {
        let name = record.index.unwrap_or(u64::from(self.events + first.event));
        let name = self.draft.values.nat(name);
        let session = match (self.clients[client].session, record.process) {
            (Some(session), _) => session,
            (None, Some(process)) => {
                let process = self.draft.values.int(process);
                let session = self.draft.session(process);
                self.clients[client].session = Some(session);
                session
            }
            (None, None) => self.draft.new_session(name),
        };
        self.draft.txn(session, name, Outcome::Unknown, Some(position))
    }

    /// Converts a mark of the current piece to one of the whole input.
    fn absolute(&self, mark: Mark) -> Mark {
        Mark { event: self.events + mark.event, time: mark.time }
    }

    /// Records the end of a transaction. `invoke` is absolute, `mark` is relative to this piece.
    fn ended(
        &mut self,
        client: usize,
        txn: DraftTxn,
        invoke: Option<Mark>,
        kind: OpType,
        mark: Mark,
        record: &Record,
    ) {
        let outcome = match kind {
            OpType::Ok => Outcome::Committed,
            OpType::Fail => Outcome::Aborted,
            OpType::Invoke | OpType::Info => Outcome::Unknown,
        };
        self.draft.set_outcome(txn, outcome);
        self.clients[client].after_info = outcome == Outcome::Unknown;
        let end = match outcome {
            // Its effects may come at any later time, so it never ends.
            Outcome::Unknown => Mark { event: NO_EVENT, time: NO_TIME },
            _ => self.absolute(mark),
        };
        if let Some(invoke) = invoke {
            self.draft.set_events(txn, invoke.event, end.event);
        }
        if let Some(index) = record.done_index.filter(|_| invoke.is_some()) {
            let name = self.draft.values.nat(index);
            self.draft.name_completion(txn, name);
        }
        // No other transaction may have begun before its end.
        let maps = if invoke.is_some() { 2 } else { 1 };
        if record.init && kind == OpType::Ok && self.absolute(mark).event + 1 == maps {
            self.init = Some(txn);
        }
        let start = invoke.map_or(NO_TIME, |invoke| invoke.time);
        if start != NO_TIME || end.time != NO_TIME {
            self.draft.set_times(txn, start, end.time);
        }
    }

    /// Handles an invocation without a completion.
    fn never_ended(&mut self, open: Open) {
        if open.skipped {
            self.problems.warn(Warning::SkippedOperation, Some(open.position));
            self.draft.drop_txn(open.txn);
            return;
        }
        self.draft.set_events(open.txn, open.invoke.event, NO_EVENT);
        if open.invoke.time != NO_TIME {
            self.draft.set_times(open.txn, open.invoke.time, NO_TIME);
        }
        self.late.extend(open.ops.into_iter().map(|late| (open.txn, late)));
    }

    /// Finishes reading at the end of the text.
    pub(super) fn finish(mut self) {
        if let Some(rest) = self.rest.take() {
            self.finish_rest(rest);
        }
        // After another error, the closing bracket may have been skipped.
        if let Some((due, position)) = self.wrap.filter(|_| !self.problems.failed()) {
            let message = "the input ends inside the vector that begins here";
            self.problems.error(Some(position), message, format!("a closing `{}`", char::from(due)));
        }
        if self.problems.failed() {
            return;
        }
        let clients = std::mem::take(&mut self.clients);
        let mut open: Vec<Open> = clients.into_iter().filter_map(|client| client.open).collect();
        open.sort_unstable_by_key(|open| open.txn);
        for open in open {
            if !open.skipped {
                self.problems.warn(Warning::Incomplete, Some(open.position));
            }
            self.never_ended(open);
        }
        self.hand_over();
    }

    /// Reads a form that the end of the text cut off. This is an error, unless it is a comment. If only a
    /// bracket is missing, also reads the operations that may be on later lines.
    fn finish_rest(&mut self, mut rest: Rest) {
        rest.bytes.push(b'\n');
        let mut from = 0;
        while from < rest.bytes.len() && !self.problems.hopeless() {
            let scan = scan::<S>(&rest.bytes[from..], rest.position + from as u64);
            let tail = scan.tail;
            self.accept(scan);
            let Some(tail) = tail else { break };
            from += tail;
            let position = Some(rest.position + from as u64);
            let message = "the input ends inside the form that begins here";
            self.problems.error(position, message, "a closing bracket or quote");
            from = next_operation::<S>(&rest.bytes, from);
        }
    }

    /// Passes all operations to the draft, now that it is known which keys are lists.
    fn hand_over(&mut self) {
        self.settle_init();
        let bounds = self.bounds();
        if bounds.is_none() {
            self.expand_ranges();
        }
        let kinds = Kinds {
            lists: self.lists,
            registers: self.registers,
            list_keys: self.list_keys(),
            empty: self.draft.values.list(&[]),
        };
        for held in std::mem::take(&mut self.held) {
            if let Some(bounds) = bounds {
                self.push_rows(&held, bounds, &kinds);
                continue;
            }
            let raw = |op: MicroOp| {
                let (kind, value) = kinds.of(op);
                RawOp::new(kind, op.key, value, op.at)
            };
            let ops = held.ops.into_iter().map(raw).collect();
            self.draft.absorb(held.base, ops, held.runs.into_iter());
        }
        for &(txn, late) in &self.late {
            let (kind, value) = kinds.of(late.op);
            self.draft.push(txn, kind, late.op.key, value, Some(late.position));
        }
    }

    /// The keys that are lists, if some keys are lists and some are not.
    fn list_keys(&self) -> FxHashSet<Value> {
        if !(self.lists && self.registers) {
            return FxHashSet::default();
        }
        let held = self.held.iter().flat_map(|held| &held.ops);
        let all = held.chain(self.late.iter().map(|(_, late)| &late.op));
        let begins = |op: &MicroOp| {
            op.kind == Kind::Init && matches!(self.draft.values.datum(op.value), Datum::List(_))
        };
        let lists = all.filter(|op| matches!(op.kind, Kind::Append | Kind::ReadList) || begins(op));
        lists.map(|op| op.key).collect()
    }
}

/// Decides the kind of operations, once it is known which keys are lists.
pub(super) struct Kinds {
    lists: bool,
    registers: bool,
    list_keys: FxHashSet<Value>,
    empty: Value,
}

impl Kinds {
    pub(super) fn of(&self, op: MicroOp) -> (OpKind, Value) {
        let is_list = || match (self.lists, self.registers) {
            (true, true) => self.list_keys.contains(&op.key),
            (lists, _) => lists,
        };
        match op.kind {
            Kind::Append => (OpKind::Append, op.value),
            Kind::Write => (OpKind::Write, op.value),
            Kind::ReadList => (OpKind::ReadList, op.value),
            Kind::ReadNil if is_list() => (OpKind::ReadList, self.empty),
            Kind::ReadUnknown if is_list() => (OpKind::ReadList, op.value),
            Kind::Read | Kind::ReadNil | Kind::ReadUnknown => (OpKind::Read, op.value),
            Kind::Insert | Kind::Init => (OpKind::Insert, op.value),
            Kind::Delete => (OpKind::Delete, op.value),
            Kind::Range => (OpKind::RangeRead, op.value),
        }
    }
}

/// The brackets that are open at the end of an incomplete form. A bracket that closes before does not end the
/// form: only `scan` can decide that.
fn brackets<S: Syntax>(bytes: &[u8]) -> Skip {
    let mut skip = Skip::new();
    let mut at = 0;
    while matches!(skip.advance::<S>(bytes, &mut at), Ok(true)) {
        skip = Skip::new();
    }
    skip
}

/// The operations of a record in a piece, to be used if no completion replaces them.
fn late(scan: &Scan, record: &Record) -> Vec<Late> {
    let ops = &scan.pending[record.pending.start as usize..record.pending.end as usize];
    ops.iter().map(|&op| Late { position: scan.base + u64::from(op.at), op }).collect()
}

impl MicroOp {
    fn remap(&mut self, remap: &Remap) {
        self.key = remap.apply(self.key);
        self.value = remap.apply(self.value);
    }
}
