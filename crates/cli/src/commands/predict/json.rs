//! Predictions as JSON; docs/predict.md describes the fields.

use std::path::Path;

use isoscope_certificate::{Edge, Evidence, Judgement, Limit, Node, Verdict};
use isoscope_explain::Teller;
use isoscope_history::{Txn, notation};
use isoscope_predict::{Boundary, Change, Fix, Prediction, Refusal, Statement};
use isoscope_report::Value as Shown;
use isoscope_validate::{Class, Counts};
use serde_json::{Value, json};

use super::Result;
use super::text::{observed_value, places, story};
use crate::args::PredictArgs;

pub(crate) fn render(result: &Result<'_>) -> Value {
    let figures = &result.predictions.figures;
    let seconds = |time: std::time::Duration| time.as_secs_f64();
    json!({
        "file": result.file.display().to_string(),
        "level": result.settings.level.name(),
        "violates": result.settings.target.name(),
        "boundary": boundary(result.settings.boundary),
        "approximate": result.settings.approximate,
        "status": result.status(),
        "limit": result.predictions.limit.map(|limit| match limit {
            Limit::Time => "time",
            Limit::Interrupt => "interrupt",
            Limit::Memory => "memory",
            Limit::Proof => "proof",
        }),
        "may_be_more": result.predictions.more || result.predictions.limit.is_some(),
        "seconds": result.seconds,
        "transactions": figures.transactions,
        "windows": figures.windows,
        "predictions": result.found().iter().enumerate().map(|(i, one)| prediction(i, one, result)).collect::<Vec<_>>(),
        "engine": result.settings.engine.map(isoscope_predict::Engine::name),
        "application": result.executed.as_ref().map(|executed| executed.application),
        "classes": result.executed.as_ref().map(|executed| {
            let Counts { validated, still_violating, harmless, failed } = executed.counts;
            json!({
                "validated": validated,
                "diverged, still violating": still_violating,
                "diverged, harmless": harmless,
                "failed": failed,
            })
        }),
        "incomplete": result.executed.as_ref().map(|executed| executed.incomplete),
        "baseline": result.executed.as_ref().and_then(|executed| executed.baseline.as_ref()).map(|baseline| json!({
            "runs": baseline.runs,
            "violating": baseline.violating,
            "satisfying": baseline.satisfying,
            "failed": baseline.failures.len(),
            "breaking_rules": baseline.breaking,
            "rules": baseline.rules.iter().map(|(rule, runs)| json!({ "rule": rule, "runs": runs })).collect::<Vec<_>>(),
        })),
        "figures": {
            "reads": figures.reads,
            "variables": figures.variables,
            "clauses": figures.clauses,
            "conflicts": figures.conflicts,
            "lazy": figures.lazy,
            "candidates": figures.candidates,
            "orders": figures.orders,
            "excluded": figures.excluded,
            "infeasible": figures.infeasible,
            "seconds": {
                "encoding": seconds(figures.encoding),
                "solver": seconds(figures.solving),
                "order_check": seconds(figures.checking),
                "oracle": seconds(figures.oracle),
                "interleavings": seconds(figures.interleaving),
                "learning": seconds(figures.learning),
                "minimising": seconds(figures.minimising),
                "programs": seconds(result.parts.programs),
                "validation": seconds(result.parts.validation),
                "fixes": seconds(result.parts.fixes),
                "random_executions": seconds(result.parts.baseline),
                "database": seconds(result.parts.database),
            },
        },
    })
}

/// The name of a boundary.
pub(super) fn boundary(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Strict => "strict",
        Boundary::Relaxed => "relaxed",
        Boundary::ValueAware => "value-aware",
    }
}

fn prediction(place: usize, one: &Prediction, result: &Result<'_>) -> Value {
    let validation = result.executed.as_ref().map(|executed| &executed.validations[place]);
    let played = result.executed.as_ref().and_then(|executed| executed.played.get(place));
    let teller = result.teller();
    let told = result.teller_of(one);
    let story = story(&told, one);
    let name = |call| result.name_of(call, Some(one));
    let witness = match &one.holds.verdict {
        Verdict::Holds(witness) => witness.order.as_deref().unwrap_or_default(),
        _ => &[],
    };
    let cycle: &[Edge] = match story.as_ref().map(|(_, instance)| instance.evidence.main()) {
        Some(Evidence::Cycle(edges)) => edges,
        Some(Evidence::Cases(proof)) => proof.main_cycle(),
        _ => &[],
    };
    let node = |node: Node| match node {
        Node::Initial => Value::Null,
        Node::Txn(txn) => json!(told.full_txn(txn)),
    };
    json!({
        "anomaly": one.anomaly.name(),
        "transactions": one.txns.iter().map(|&txn| teller.full_txn(txn)).collect::<Vec<_>>(),
        "boundary": one.boundary.iter().map(|&txn| teller.full_txn(txn)).collect::<Vec<_>>(),
        "changes": one.changes.iter().map(|change| self::change(change, one, result, &teller)).collect::<Vec<_>>(),
        "commits": one.commits.iter().map(|&txn| teller.full_txn(txn)).collect::<Vec<_>>(),
        "headline": story.as_ref().map(|(story, _)| story.headline.clone()),
        "clauses": story.iter().flat_map(|(story, _)| &story.clauses).map(|clause| clause.text.clone()).collect::<Vec<_>>(),
        "cycle": cycle.iter().map(|edge| json!({ "from": node(edge.from), "to": node(edge.to), "kind": kind(edge) })).collect::<Vec<_>>(),
        "order": witness.iter().map(|&txn| told.full_txn(txn)).collect::<Vec<_>>(),
        "history": notation::print(&one.history),
        "statements": one.statements.iter().map(statement).collect::<Vec<_>>(),
        "fix": result.fixes[place].as_ref().ok().map(|fix| match fix {
            Fix::Promote(promoted) => json!({ "promote": statement(promoted) }),
            Fix::Level(level) => json!({ "level": level.name() }),
        }),
        "no_fix": result.fixes[place].as_ref().err(),
        "class": validation.map(|validation| validation.class.name()),
        "reason": validation.and_then(|validation| match &validation.class {
            Class::Failed(failure) => Some(failure.describe(&name)),
            _ => None,
        }),
        "differences": validation.map(|validation| {
            validation.differences.iter().map(|difference| difference.describe(&name)).collect::<Vec<_>>()
        }),
        "script": played.and_then(|played| played.script.as_ref().ok()).map(|script| script.text.clone()),
        "no_script": played.and_then(|played| played.script.as_ref().err().cloned()),
        "outcome": played.and_then(|played| played.outcome.as_ref()).map(isoscope_reproduce::Outcome::name),
        "outcome_text": played.and_then(|played| played.outcome.as_ref()).map(ToString::to_string),
        "database": played.and_then(|played| played.version.clone()),
        "broken_rules": validation.map(|validation| validation.broken_rules.clone()),
    })
}

/// A statement; that an attempt commits has no keys.
fn statement(statement: &Statement) -> Value {
    let is_read = !statement.is_commit;
    json!({
        "program": statement.program,
        "keys": is_read.then_some(&statement.keys),
        "place": is_read.then_some(statement.place),
    })
}

fn change(change: &Change, one: &Prediction, result: &Result<'_>, teller: &Teller<'_>) -> Value {
    let history = &result.reading.history;
    let form = history.txn_of(change.read);
    let txn = result.original(form);
    let writer = |writer: Option<Txn>| writer.map(|txn| teller.full_txn(txn));
    let place = places(result.reading, std::iter::once(change.read)).pop().flatten();
    let predicted = one.ops.iter().position(|&op| op == change.read);
    let value =
        predicted.map(|op| Shown::of(&one.history, one.history.op(isoscope_history::Op::at(op)).value));
    json!({
        "transaction": teller.full_txn(form),
        "session": Shown::of(history, history.session_name(history.session_of(txn))),
        "key": Shown::of(history, history.key_name(history.key_of(change.read))),
        "from": writer(change.from),
        "to": writer(change.to),
        "observed_value": Shown::of(history, observed_value(history, change)),
        "predicted_value": value,
        "file": place.as_ref().map(|place| place.file.clone()),
        "line": place.as_ref().map(|place| place.line),
        "column": place.as_ref().map(|place| place.column),
    })
}

fn kind(edge: &Edge) -> &'static str {
    use isoscope_certificate::Dependency;
    match edge.dependency() {
        Dependency::Seen => "seen",
        Dependency::Overwritten => "overwritten",
        Dependency::Missed => "missed",
    }
}

/// The run itself has the anomaly.
pub(crate) fn not_serializable(
    args: &PredictArgs,
    file: &Path,
    judgement: &Judgement,
    violates: Option<bool>,
) -> Value {
    let Verdict::Violated(findings) = &judgement.verdict else { return Value::Null };
    json!({
        "file": file.display().to_string(),
        "level": super::settings(args, false).level.name(),
        "violates": args.violates.name(),
        "status": if violates == Some(true) { "observed" } else { "unknown" },
        "reason": super::text::no_serializable_run(args.violates, violates),
        "anomalies": findings.iter().map(|finding| finding.anomaly.name()).collect::<Vec<_>>(),
        "predictions": [],
    })
}

/// Nothing can be predicted.
pub(crate) fn nothing(args: &PredictArgs, file: &Path, refusal: &Refusal) -> Value {
    json!({
        "file": file.display().to_string(),
        "level": super::settings(args, false).level.name(),
        "violates": args.violates.name(),
        "status": "unknown",
        "reason": refusal.to_string(),
        "predictions": [],
    })
}
