//! The verifier by itself: certificates written by hand that it must accept, broken ones that it must refuse,
//! and ones made for another history, of which it may accept only those that prove a violation.
//!
//! *Violated*: `reads.rs`, `cycles.rs`, `strong.rs`, `cases.rs`, `worlds.rs`, each a kind of evidence; `prover.rs` and `borrowed.rs`:
//! proofs that no engine made. *Holds*: `holds.rs`, by hand, and `claims.rs`, all there are. `unknown.rs`: *unknown*. Here: how
//! certificates are written in short.

mod borrowed;
mod cases;
mod claims;
mod cycles;
mod holds;
mod prover;
mod reads;
mod strong;
mod unknown;
mod worlds;

use isoscope_check::{
    Edge, Evidence, Finding, Instance, Judgement, Node, Seen, Through, Verdict, Why, Witness,
};
use isoscope_history::{History, Op, Txn};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::verify;
use std::sync::Arc;

/// The transaction called `Tn`; 0 is the initial state.
fn node(history: &History, n: u32) -> Node {
    match n {
        0 => Node::Initial,
        n => Node::Txn(txn(history, n)),
    }
}

fn txn(history: &History, n: u32) -> Txn {
    history.txns().find(|&txn| history.txn_name(txn).as_small() == Some(n)).expect("the history has it")
}

/// A place in the notation: the operation `.1` of `Tn`, counted from 0.
type Place = (u32, usize);

fn op(history: &History, (n, index): Place) -> Op {
    Op::at(history.op_range(txn(history, n)).start + index)
}

/// An edge in short: from, to, and the reason.
#[derive(Clone)]
struct E(u32, u32, Y);

/// A reason in short.
#[derive(Clone)]
enum Y {
    So,
    Rt,
    Wr(Place),
    /// The key of an operation.
    Ww(Place),
    Rw(Place),
    Versions(Place, u32),
    Missing(Place, Place),
    SeenByRead(Place, Place),
    SeenInSession(Place),
    SeenCausally(Place, Vec<E>),
}

fn edges(history: &History, short: &[E]) -> Vec<Edge> {
    let edge = |E(from, to, why): &E| {
        let why = match why {
            Y::So => Why::Session,
            Y::Rt => Why::RealTime,
            Y::Ww(place) => Why::Overwritten { key: history.key_of(op(history, *place)) },
            Y::Rw(read) => Why::Misses { read: op(history, *read) },
            Y::Wr(read) => Why::ReadFrom { read: op(history, *read) },
            Y::Versions(read, index) => Why::Versions { read: op(history, *read), index: *index },
            Y::Missing(read, append) => {
                Why::Missing { read: op(history, *read), append: op(history, *append) }
            }
            Y::SeenByRead(read, seen) => forced(history, *read, Seen::Read(op(history, *seen))),
            Y::SeenInSession(read) => forced(history, *read, Seen::Session),
            Y::SeenCausally(read, path) => forced(history, *read, Seen::Causal(edges(history, path))),
        };
        Edge { from: node(history, *from), to: node(history, *to), why }
    };
    short.iter().map(edge).collect()
}

fn forced(history: &History, read: Place, seen: Seen) -> Why {
    Why::Forced { read: op(history, read), seen }
}

fn finding(anomaly: Anomaly, evidence: Evidence) -> Finding {
    let instances = vec![Instance { evidence, component: None }];
    Finding {
        anomaly,
        against: None,
        through: Through::default(),
        count: 1,
        at_least: false,
        components: 0,
        instances,
    }
}

fn violated(level: Level, findings: Vec<Finding>) -> Judgement {
    Judgement { level, verdict: Verdict::Violated(findings), implied_by: None }
}

fn read(history: &History, read: Place, write: Option<Place>) -> Evidence {
    Evidence::Read { read: op(history, read), write: write.map(|write| op(history, write)) }
}

fn pair(history: &History, first: Place, second: Place) -> Evidence {
    Evidence::Pair { first: op(history, first), second: op(history, second) }
}

fn holds(level: Level, order: &[Txn]) -> Judgement {
    Judgement { level, verdict: Verdict::Holds(Witness::order(Arc::from(order))), implied_by: None }
}

/// A certificate of one cycle.
fn cycle(history: &History, level: Level, anomaly: Anomaly, short: &[E]) -> Judgement {
    violated(level, vec![finding(anomaly, Evidence::Cycle(edges(history, short)))])
}

#[track_caller]
fn accept(history: &History, judgement: &Judgement) {
    if let Err(refutation) = verify(history, judgement) {
        panic!("{refutation}\n{judgement:?}\n{history:?}");
    }
}

/// The certificate must be refused, for the reason given.
#[track_caller]
fn refuse(history: &History, judgement: &Judgement, because: &str) {
    match verify(history, judgement) {
        Ok(()) => panic!("accepted: {judgement:?}\n{history:?}"),
        Err(refutation) => {
            assert!(refutation.message.contains(because), "{refutation}, not {because}\n{judgement:?}");
        }
    }
}
