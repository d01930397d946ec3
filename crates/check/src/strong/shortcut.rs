//! Steps of a proof that session order or real-time order gives directly.
//!
//! Paths run along the ticks of the clock, where a way over another transaction of a session may have fewer events than the
//! direct one. For a reader, that a transaction had returned before another was invoked is one step. So a stretch of a cycle whose
//! steps are all of session order, of real-time order or of reads with a known writer becomes one step of an order that it
//! uses anyway.
//!
//! The shorter cycle follows from the same assumptions: it has the same anti-dependencies and overwrites, and the direct step
//! leads from the same commit to the same begin.

use isoscope_history::Txn;

use super::events::{Rules, is_certain};
use super::problem::Problem;
use crate::certificate::{Edge, Node, Through, Why};

/// The same cycle with direct steps.
pub(super) fn shortened(problem: &Problem<'_>, rules: Rules, cycle: Vec<Edge>) -> Vec<Edge> {
    let ordered = |edge: &Edge| matches!(edge.why, Why::Session | Why::RealTime);
    if cycle.len() < 3 || !cycle.iter().any(ordered) {
        return cycle;
    }
    let steps_over = |edge: &Edge| match edge.why {
        Why::Session | Why::RealTime => true,
        Why::ReadFrom { read } => problem.resolved.links[read.index()].is_read(),
        _ => false,
    };
    // No stretch goes round the end if the cycle begins after a step that is in none.
    let begin = cycle.iter().rposition(|edge| !steps_over(edge)).map_or(0, |last| last + 1);
    let turned = [&cycle[begin..], &cycle[..begin]].concat();
    let mut short: Vec<Edge> = Vec::with_capacity(cycle.len());
    let mut rest = turned.as_slice();
    while let Some(first) = rest.first() {
        let stretch = rest.iter().take_while(|edge| steps_over(edge)).count();
        let direct = (2..=stretch).rev().find_map(|steps| {
            let (from, to) = (first.from, rest[steps - 1].to);
            let why = order(problem, rules, from, to, Through::of(&rest[..steps]))?;
            Some((steps, Edge { from, to, why }))
        });
        let (steps, edge) = direct.unwrap_or_else(|| (1, first.clone()));
        short.push(edge);
        rest = &rest[steps..];
    }
    if short.len() == cycle.len() {
        return cycle;
    }
    let begin = short.iter().position(|edge| edge.from == cycle[0].from).unwrap_or(0);
    short.rotate_left(begin);
    short
}

/// The order, of those that count and up to some, by which one transaction is before another.
fn order(problem: &Problem<'_>, rules: Rules, from: Node, to: Node, most: Through) -> Option<Why> {
    let (history, resolved) = (problem.history, problem.resolved);
    let (from, to) = (from.txn()?, to.txn()?);
    let follows = |from: Txn, to: Txn| from < to && history.session_of(from) == history.session_of(to);
    if most >= Through::Sessions && rules.sessions && follows(from, to) {
        return Some(Why::Session);
    }
    let clock = rules.clock(history);
    let had_returned = || clock.end(from).zip(clock.start(to)).is_some_and(|(end, start)| end < start);
    let certain = is_certain(history, resolved, from) && resolved.present[to.index()];
    (most >= Through::RealTime && rules.real_time && certain && had_returned()).then_some(Why::RealTime)
}
