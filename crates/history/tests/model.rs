//! Properties of the model: a history contains exactly what was added, grouped and indexed.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::format_collect, reason = "the texts are short")]

use isoscope_history::{
    Builder, Datum, Draft, DraftTxn, History, Key, OpKind, Outcome, RawOp, Value, notation,
};
use proptest::prelude::*;
use rayon::prelude::*;

/// One operation in input order.
type Event = (usize, usize, OpKind, u64, u64);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let kind = prop::sample::select(vec![OpKind::Read, OpKind::Write, OpKind::Append, OpKind::Delete]);
    // Keys on both sides of every boundary of the numbering: bitmap, hash map, table.
    let key =
        prop::sample::select(vec![0, 1, 63, 64, (1 << 16) - 1, 1 << 16, (1 << 31) - 1, 1 << 31, u64::MAX]);
    prop::collection::vec((0..4usize, 0..3usize, kind, key, 0..5u64), 0..60)
}

/// Builds a history through a draft from events whose transactions interleave.
fn build(events: &[Event], chunked: bool) -> History {
    let mut draft = Draft::new();
    let mut known: Vec<((usize, usize), DraftTxn)> = Vec::new();
    for (i, &(session, txn, kind, key, value)) in events.iter().enumerate() {
        let id = known.iter().find(|(name, _)| *name == (session, txn)).map(|&(_, id)| id);
        let id = id.unwrap_or_else(|| {
            let name = draft.values.nat(session as u64);
            let s = draft.session(name);
            let name = draft.values.nat(txn as u64);
            let id = draft.txn(s, name, Outcome::Committed, Some(i as u64 * 10));
            known.push(((session, txn), id));
            id
        });
        let (key, value) = (draft.values.nat(key), draft.values.nat(value));
        if chunked {
            let op = RawOp::new(kind, key, value, 0);
            draft.absorb(i as u64 * 10, vec![op], std::iter::once((id, 1)));
        } else {
            draft.push(id, kind, key, value, Some(i as u64 * 10));
        }
    }
    draft.finish().unwrap()
}

proptest! {
    #[test]
    fn operations_are_grouped_in_order(events in events(), chunked in any::<bool>()) {
        let history = build(&events, chunked);
        prop_assert_eq!(history.op_count(), events.len());
        for txn in history.txns() {
            let session = history.session_name(history.session_of(txn)).as_small().unwrap() as usize;
            let name = history.txn_name(txn).as_small().unwrap() as usize;
            let mine = events.iter().enumerate().filter(|(_, e)| (e.0, e.1) == (session, name));
            let mut ops = history.ops_of(txn);
            for (i, &(_, _, kind, key, value)) in mine {
                let op = ops.next().unwrap();
                let name = match history.datum(history.key_name(op.key)) {
                    Datum::Int(n) => u64::try_from(n).unwrap(),
                    Datum::Nat(n) => n,
                    other => panic!("{other:?}"),
                };
                prop_assert_eq!((op.kind, name, u64::from(op.value.as_small().unwrap())), (kind, key, value));
                prop_assert_eq!(history.op_position(op.id).unwrap().0, i as u64 * 10);
                prop_assert_eq!(history.txn_of(op.id), txn);
            }
            prop_assert!(ops.next().is_none());
        }
    }

    #[test]
    fn sessions_are_ordered_by_first_appearance(events in events()) {
        let history = build(&events, false);
        let first = |txn| {
            let session = history.session_name(history.session_of(txn)).as_small().unwrap() as usize;
            let name = history.txn_name(txn).as_small().unwrap() as usize;
            events.iter().position(|e| (e.0, e.1) == (session, name)).unwrap()
        };
        for session in history.sessions() {
            let order: Vec<usize> = history.txns_of(session).map(first).collect();
            prop_assert!(order.is_sorted());
        }
    }

    #[test]
    fn the_index_agrees_with_its_definitions(events in events()) {
        let history = build(&events, false);
        for key in history.keys() {
            let writes = |txn: &isoscope_history::Txn| {
                history.ops_of(*txn).any(|op| op.key == key && op.kind.is_write())
            };
            let writers: Vec<_> = history.txns().filter(writes).collect();
            prop_assert_eq!(history.writers(key), writers.as_slice());
            for session in history.sessions() {
                let mine: Vec<_> = history.txns_of(session).filter(writes).collect();
                prop_assert_eq!(history.writers_in(key, session), mine.as_slice());
            }
        }
        for txn in history.txns() {
            let ops: Vec<_> = history.ops_of(txn).collect();
            for (i, op) in ops.iter().enumerate() {
                let writes_key = |other: &&isoscope_history::OpView| other.key == op.key && other.kind.is_write();
                let external = op.kind.is_read() && !ops[..i].iter().any(|o| writes_key(&o));
                let last = op.kind.is_write() && !ops[i + 1..].iter().any(|o| writes_key(&o));
                prop_assert_eq!((op.external, op.last_write), (external, last));
            }
        }
    }

    #[test]
    fn the_notation_round_trips(events in events()) {
        let text = notation::print(&build(&events, false));
        let again = notation::parse(&text).unwrap();
        prop_assert_eq!(notation::print(&again), text);
    }

    #[test]
    fn any_text_parses_or_fails_at_a_position_in_it(text in "\\PC{0,80}") {
        if let Err(error) = notation::parse(&text) {
            prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
        }
    }

    #[test]
    fn notation_like_text_never_panics(text in "[T12:;!?@rwadi(),\\[\\]{}=xyz0-9 \"#/\n-]{0,60}") {
        let _ = notation::parse(&text);
    }
}

#[test]
fn a_dropped_transaction_leaves_only_its_keys() {
    let mut draft = Draft::new();
    let name = draft.values.nat(0);
    let session = draft.session(name);
    let dropped = draft.txn(session, name, Outcome::Committed, None);
    let zero = Value::small(0).unwrap();
    draft.push(dropped, OpKind::Write, zero, zero, None);
    draft.annotate(dropped, name, name);
    draft.drop_txn(dropped);
    let history = draft.finish().unwrap();
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (0, 0, 0));
    assert_eq!((history.key_count(), history.annotations().len()), (1, 0));
}

/// An empty list is the initial value of a list, also if the initial value of registers is 0.
#[test]
fn an_empty_list_is_initial() {
    let initial = |text| {
        let history = notation::parse(text).unwrap();
        let op = history.op(isoscope_history::Op(0));
        history.is_initial(op.key, op.value)
    };
    assert!(initial("T1: r(x,[])") && initial("init=nil  T1: r(x,[])") && initial("T1: r(x,0)"));
    assert!(!initial("init(x)=[1]  T1: r(x,[])") && !initial("T1: r(x,[1])") && !initial("T1: r(x,nil)"));
}

/// Readers report these as errors; the builder has no other way to refuse them.
#[test]
fn the_builder_refuses_impossible_ranges() {
    let is_refused = |low: i64, high: i64, rows: &[(i64, i64)]| {
        let rows = rows.to_vec();
        let build = move || {
            let mut builder = Builder::new();
            builder.session(0).txn().range(low, high, rows);
        };
        std::panic::catch_unwind(build).is_err()
    };
    assert!(!is_refused(2, 9, &[(2, 1), (9, 1)]));
    assert!(is_refused(9, 2, &[]));
    assert!(is_refused(2, 9, &[(10, 1)]));
    assert!(is_refused(2, 9, &[(3, 1), (3, 2)]));
}

/// Two threads must never write to one place, even if a reader passes wrong counts.
#[test]
#[should_panic(expected = "absorb")]
fn wrong_counts_are_rejected() {
    let mut draft = Draft::new();
    let zero = Value::small(0).unwrap();
    let session = draft.session(zero);
    let txn = draft.txn(session, zero, Outcome::Committed, None);
    let ops = vec![RawOp::new(OpKind::Write, zero, zero, 0); 3];
    draft.absorb(0, ops, [(txn, 1), (txn, 1)].into_iter());
}

/// The sizes in the documentation are the real ones: 13 bytes per operation, 29 per transaction, and 4 per
/// written key once writers are requested.
#[test]
fn an_operation_takes_thirteen_bytes() {
    let size = |reads: u64, writes: u64| {
        let mut draft = Draft::new();
        let name = draft.values.nat(0);
        let session = draft.session(name);
        let txn = draft.txn(session, name, Outcome::Committed, None);
        for i in 0..reads + writes {
            let kind = if i < reads { OpKind::Read } else { OpKind::Write };
            draft.push(txn, kind, Value::small(i % 10).unwrap(), name, None);
        }
        let history = draft.finish().unwrap();
        assert!(history.keys().all(|key| history.writers(key).len() < 2));
        history.bytes().0
    };
    assert_eq!(size(2000, 0) - size(1000, 0), 13_000);
    assert_eq!(size(1000, 10) - size(1000, 0), 10 * (13 + 4));
    let columns = |text| notation::parse(text).unwrap().bytes().0;
    assert_eq!(columns("T1: ; T2: ; T3:") - columns("T1: ; T2:"), 29);
}

/// The writers of a key may be requested first from inside parallel work, by many threads at once, or in
/// advance.
#[test]
fn writers_may_be_requested_by_many_threads_at_once() {
    let text: String = (0..20_000).map(|i| format!("T{i}: w({},1) w({},2)  ", i % 7, i % 5)).collect();
    let history = notation::parse(&text).unwrap();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    for _ in 0..20 {
        let (history, listed) = (history.clone(), history.clone());
        let key = |i: usize| Key::at(i % history.key_count());
        let ask =
            || (0..256).into_par_iter().with_max_len(1).map(|i| history.writers(key(i)).len()).collect();
        let asked: Vec<usize> = threads.install(ask);
        assert!(asked.iter().enumerate().all(|(i, &len)| len == history.writer_range(key(i)).len()));
        threads.install(|| listed.list_writers());
        assert!(history.keys().all(|key| listed.writers(key) == history.writers(key)));
    }
}
