//! Compares the engine, the verifier and the reference on one history.

use std::sync::Arc;

use isoscope_certificate::{Conditions, Evidence, Through};
use isoscope_check::{Checker, Judgement, Node, Options, Unknown, Verdict, Witness};
use isoscope_history::{History, Intervals, Op, OpView, Txn, Value, notation};
use isoscope_levels::Level;
use isoscope_verify::Verifier;

use crate::axioms::{self, Explanation, LEVELS};
use crate::plan::{Initials, Plan, build_from, build_unexpanded, judged_under, shrink};

/// Panics if the verdicts on a plan differ, with the smallest history that still shows it.
pub(crate) fn agree(plan: Vec<Plan>, what: impl std::fmt::Display) {
    agree_under(Conditions::default(), &[], plan, what);
}

/// The same under some conditions of a check, for keys that need not be 0 initially.
pub(crate) fn agree_under(
    conditions: Conditions,
    initials: &Initials,
    plan: Vec<Plan>,
    what: impl std::fmt::Display,
) {
    let complain = |plan: &[Plan]| complain(conditions, initials, plan);
    if let Some(complaint) = complain(&plan) {
        panic!("{what}: {}", shrink(plan, complaint, complain));
    }
}

fn complain(conditions: Conditions, initials: &Initials, plan: &[Plan]) -> Option<String> {
    let history = build_unexpanded(initials, plan);
    let judged = conditions.apply(&history).expect("few operations");
    let reference = build_from(initials, &judged_under(conditions, plan));
    // The notation has no times and no timestamps.
    let clock = |name, clock: Option<&Intervals<i64>>| {
        clock.map_or(String::new(), |clock| format!("\n    {name}: {clock:?}"))
    };
    let print = |complaint| {
        let clocks = clock("times", history.times()) + &clock("timestamps", history.timestamps());
        format!("{complaint}\n    {}{clocks}\n    {conditions:?}", notation::print(&history))
    };
    compare_with(&judged, &reference, conditions.trust_timestamps).err().map(print)
}

/// Compares the verdicts of all levels, and verifies every certificate.
pub(crate) fn compare(history: &History) -> Result<(), String> {
    compare_with(history, history, false)
}

/// Compares the engine's verdicts on a history with those of the reference on another, of the same transactions and
/// operations, in which the reference finds the same sessions and times.
fn compare_with(history: &History, reference: &History, trust_timestamps: bool) -> Result<(), String> {
    let expected = axioms::judge(reference, &LEVELS);
    let checker = || Checker::new(history, Options { trust_timestamps, ..Options::default() });
    let mut all = checker();
    let holding: Vec<Level> = LEVELS
        .into_iter()
        .zip(&expected)
        .filter(|(_, expected)| expected.is_some())
        .map(|(level, _)| level)
        .collect();
    let verifier = Verifier::new(history);
    let verifier = if trust_timestamps { verifier.trusting_timestamps() } else { verifier };
    let mut asked: Vec<(&Level, &Option<Explanation>)> = LEVELS.iter().zip(&expected).collect();
    // The cached answer for one level may decide another, so the order of the questions matters.
    if history.op_count().is_multiple_of(2) {
        asked.reverse();
    }
    for (&level, expected) in asked {
        // Asked alone, a level has no cached answer to use.
        for judgement in [all.check(level), checker().check(level)] {
            verifier
                .verify(&judgement)
                .map_err(|refutation| format!("{level}: {refutation} in {judgement:?}"))?;
            compare_verdicts(history, &judgement, expected.as_ref())?;
            check_names(history, &judgement, &holding)?;
        }
        verify_explanation(&verifier, level, expected.as_ref())?;
    }
    Ok(())
}

fn compare_verdicts(
    history: &History,
    judgement: &Judgement,
    expected: Option<&Explanation>,
) -> Result<(), String> {
    let Judgement { level, verdict, .. } = judgement;
    match (verdict, expected) {
        (Verdict::Holds(_), None) => {
            Err(format!("{level} holds, says the engine, but the reference says violated"))
        }
        (Verdict::Violated(findings), Some(explanation)) => Err(format!(
            "{level} is violated, says the engine, but the reference says that it holds: {explanation:?}; {findings:?}"
        )),
        (Verdict::Unknown(Unknown::NothingToCheck), _) if says_nothing(history) => Ok(()),
        _ if says_nothing(history) => Err(format!("{level}: there is nothing to judge, and yet {verdict:?}")),
        (Verdict::Unknown(unknown), _) => Err(format!("{level} is said to be {unknown:?}")),
        _ => Ok(()),
    }
}

/// A name claims no more than is so: no level that forbids an anomaly in all its forms holds where the anomaly is found. Levels
/// without sessions or real time allow what needs these, and levels that let ranges change what needs ranges. A proof by worlds is
/// named after its main world.
fn check_names(history: &History, judgement: &Judgement, holding: &[Level]) -> Result<(), String> {
    let Verdict::Violated(findings) = &judgement.verdict else { return Ok(()) };
    for finding in findings {
        let all = finding.instances.iter().map(|instance| &instance.evidence);
        for evidence in all.filter(|evidence| !matches!(evidence, Evidence::Worlds(_))) {
            let knows = |level: &Level| match evidence.orders() {
                Through::Dependencies => true,
                Through::Sessions => level.has_sessions(),
                Through::RealTime => level.has_real_time(),
            };
            let on_ranges = evidence.misses(&|read| history.op(read).in_range);
            let claims = |level: &&Level| {
                level.forbids_all(finding.anomaly)
                    && knows(level)
                    && !(on_ranges && level.lets_ranges_change())
            };
            if let Some(level) = holding.iter().find(claims) {
                let Judgement { level: judged, .. } = judgement;
                return Err(format!(
                    "{judged} is violated by a {}, which {level} forbids and holds: {evidence:?}",
                    finding.anomaly
                ));
            }
        }
    }
    Ok(())
}

/// The reference's own explanation must pass the verifier.
fn verify_explanation(
    verifier: &Verifier<'_>,
    level: Level,
    expected: Option<&Explanation>,
) -> Result<(), String> {
    match expected {
        Some(explanation) => verifier.verify(&judgement_of(level, explanation)).map_err(|refutation| {
            format!("{level}: the reference's {explanation:?} is refused: {refutation}")
        }),
        None => Ok(()),
    }
}

/// Whether the transactions that took effect have no read, or no write and only reads of initial values.
fn says_nothing(history: &History) -> bool {
    let present = axioms::present(history);
    let ops: Vec<OpView> = present.iter().flat_map(|&txn| history.ops_of(txn)).collect();
    let learned = |op: &&OpView| !op.kind.is_write() && op.value != Value::UNKNOWN;
    let reads: Vec<&OpView> = ops.iter().filter(learned).collect();
    let writes = ops.iter().filter(|op| op.kind.is_write()).count();
    let initial = |op: &&OpView| op.kind.is_read() && history.reads_initial(op);
    reads.is_empty() || writes == 0 && reads.iter().all(initial)
}

/// The verdict that a level holds, for the reason that the reference gives.
pub(crate) fn judgement_of(level: Level, explanation: &Explanation) -> Judgement {
    let Explanation { order, snapshots, sources } = explanation;
    let node = |&(op, from): &(Op, Option<Txn>)| (op, from.map_or(Node::Initial, Node::Txn));
    let witness = Witness {
        order: (level != Level::CutIsolation).then(|| Arc::from(&order[..])),
        snapshots: snapshots.as_deref().map(Arc::from),
        sources: sources.iter().map(node).collect(),
    };
    Judgement { level, verdict: Verdict::Holds(witness), implied_by: None }
}

/// Runs a test on one thread: small histories gain nothing from more.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread starts");
    pool.install(test);
}

/// Histories that were once judged wrongly, or with a name that claimed too much, each the smallest that showed it.
#[test]
#[allow(clippy::too_many_lines, reason = "a table of histories")]
fn histories_once_judged_wrongly() {
    let mut complaints = Vec::new();
    for text in [
        // A list without an earlier append of a transaction whose later one it holds.
        "T1: a(x,1) a(x,2)  T2: r(x,[2])",
        "T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[3 2])",
        "T1: a(x,1) a(x,2)  T2: r(x,[2 1])",
        // The same, and an edge that leans on the wrong read.
        "T1: r(x,[2]) ; T2: a(x,1) a(x,2)",
        // A list that holds an element twice says nothing about the order of versions.
        "T1: a(x,1)  T2: a(x,2)  T3: r(x,[2 1 2])",
        "T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1 2])",
        "T1: a(x,1) r(y,1)  T2: a(x,2) w(y,1)  T3: r(x,[1 1])",
        // A list read twice, once in the middle of a transaction's appends.
        "T1: a(x,1) a(x,2)  T2: r(x,[]) r(x,[1])",
        "T1: a(x,1)  T2: r(x,[]) r(x,[1 1])",
        // Ambiguous lists that no choice of writers makes repeatable, and that some choice does.
        "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1]) r(x,[])",
        "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1]) r(x,[1 1])",
        // An ambiguous read and one of an overwritten value may be of one transaction.
        "T1: w(x,2) w(x,1)  T2: w(x,1)  T3: r(x,1) r(x,2)",
        "T1: w(x,2) w(x,1)  T2: w(x,1)  T3: r(x,1) w(x,3) r(x,2)",
        // A read of one's own last write, of a value that a wrong read of another transaction returned too.
        "T1: w(z,1) r(z,nil) r(z,1)  T2: w(z,1)  T3: d(z) r(z,1)",
        // One of two transactions of unknown outcome was there, and each reads y twice.
        "T1: w(y,1)  T2: r(x,5)  U1?: w(x,5) r(y,0) r(y,1)  U2?: w(x,5) r(y,0) r(y,1)",
        "T1: a(l,1)  T2: a(l,1)  T3: w(x,1)  U?: r(x,0) r(x,1) a(l,2)  T4: r(l,[1 2])",
        // One of two writers cannot have committed, and the other is later in the session: a cycle of what is certain.
        "T1?: w(x,1) r(y,9)  T2: r(x,1) ; T3: w(x,1)",
        "T1: w(x,1) i(z,2) ; T3?: r(y,1) w(x,1)  T2: r(z,0) r(x,1)",
        // A session's order holds across those of its transactions that are absent.
        "T1?: d(z) w(z,1) ; T2?: d(z) d(z) i(z,1) ; T3: r(z,1) ; T4: r(z,0)",
        // The clock says nothing of those that are absent, and of those that may be there only if they are.
        "T1@7-8: w(x,1)  T2?@12-13: ; T3: r(x,0)",
        "T1!@16-18: ; T2@11-14: i(y,3)",
        "T1@10-12: w(x,3)  T2: r(x,3) w(y,3)  T3: r(y,3) r(x,0)  T4?@14-17: w(y,3)",
        // A transaction of unknown outcome must have committed, because the other writer is excluded.
        "T1?: r(z,0) w(z,1) ; T2: r(z,1) ; T3: w(z,1)  T4: r(z,0) w(z,2)",
        "T1: d(y)  T2?: r(y,nil) w(y,2)  T3: w(y,2)  T4: r(y,2) w(x,2)  T5: r(x,2) r(y,0)",
        // Who appended an element that several appended.
        "T1: a(z,1) ; T2: a(z,1) a(z,3) r(z,[1 3])",
        "T1: a(z,2) a(z,2)  T2: a(z,2) a(z,3) ; T3: r(z,[2 2 2])",
        "T1: r(z,[2]) ; T2: a(z,2) a(z,1) ; T3: a(z,2) a(z,2)",
        "T1: a(z,2)  T2: a(z,3) a(z,3) ; T3: r(z,[2 2 2 3]) r(z,[2 2 2])",
        "T1: a(z,2)  T2: a(z,2) a(z,2) a(z,2)  T3: a(z,3)  T4: r(z,[2 2 2 2]) r(z,[2]) r(z,[2 2 2 2 3])",
        "T1: a(z,2) a(z,3)  T2@7-13: a(z,2)  T3@14-14: a(z,2) a(z,2) r(z,[2 3 2 2])",
        "T1: a(z,3) a(z,3) ; T2: a(z,3) a(z,2)  T3@11-13: a(z,1) a(z,3)  T4@14-: r(z,[3 3 3 2])",
        // And who took effect.
        "T1?: w(x,3) a(z,2) ; T3: w(x,3)  T2: r(x,3)",
        "T1?: a(z,1)  T2: r(z,[1])  T3: a(z,2) a(z,1)",
        "T1: a(z,2)  T2?: a(z,3) r(z,[2 3])  T3: a(z,3)  T4: r(z,[3])",
        "T1?: a(z,3) ; T2: r(z,[3 3])  T3: a(z,3) a(z,3) a(z,2)",
        // A read that was not learned says nothing, in every world.
        "T1?: a(x,1) rl(x,?)  T2: a(x,1)  T3: r(x,[1 1])",
        "T1: a(x,1)  T2: a(x,1)  T3: a(x,1) a(x,1) r(x,[1 1 1 1])",
        // A wrong read counts to cut isolation only if its writer took effect.
        "init=nil  T1?: i(x,2) ; T2: i(x,1)  T3: d(x) r(x,1)  T4: r(x,1) i(x,1) r(x,2)",
        // An element of an unknown transaction shows that it committed, in a wrong list too.
        "T1?: a(y,3)  T2: a(y,4) r(y,[3])",
        "T1?: a(z,1)  T2: a(z,2)  T3: a(z,7) r(z,[1 2])",
        "T1: w(y,1) r(y,0) r(y,2) ; T3?: i(y,2)  T2?: i(y,2)",
        "T1?: i(y,1) a(z,2) i(y,2)  T2: r(z,[2]) a(z,2) r(y,1) r(y,0)",
        "T1: w(x,2) r(x,3) r(x,0)  T2: w(x,0)  T3?: w(x,3) w(x,3) ; T4: w(x,0) w(x,1) w(x,0)  T5?: w(x,1) w(x,2) r(x,3)",
        // One that alone appended an element is present, however often it did.
        "T1?: a(y,2) a(z,1) ; T3: r(y,[2]) a(y,2) ; T4: a(z,3)  T2: r(z,[3])",
        "T1: r(z,[2])  T2?: a(z,1) a(y,1) a(y,1) ; T3?: r(y,[1 1 3]) a(z,2)",
        "T1?: a(y,1) a(z,1) ; T2: a(z,2)  T3: a(y,1) r(z,[2])  T4?: r(y,[1 1]) a(u,1)  T5: r(u,[1])",
        // What a transaction of unknown outcome read in a range counts if it took effect.
        "T1?: range(x,z,{y=0 z=0}) d(y)  T2: range(y,z,{z=0}) ; T3: d(x) i(z,2) d(y)",
        // A transaction that took effect in some world only may have ambiguous reads of registers.
        "T1: i(y,3) r(x,0)  T2?: a(z,1) r(z,[1]) r(y,3)  T3: w(y,3) w(x,1) ; T5: a(z,1) r(z,[1 2 2 1 1]) w(x,1)  T4: a(z,2) a(z,2) i(x,2) a(z,1)",
        // Two versions that follow each other are no lost update.
        "T1: a(z,1) a(z,1)  T2?: r(z,[1 1]) a(z,2) a(z,3)  T3?: r(z,[1 1]) a(z,3) ; T4: a(z,1) r(z,[1 1 2 3 3 1])",
        // An order for PL-2.99 does not say whom range reads are from.
        "init=nil  T1: i(3,1)  T3: d(3)  T4: range(1,9,{}) r(3,1)",
        // A list that holds another's append between those of the transaction that it ends with does not miss that one.
        "T1: a(z,1) a(z,2) a(z,3)  T2: a(z,4) r(y,[])  T3: r(z,[1 4 2 3]) a(y,1)  T4: a(z,2)",
        // To PL-1, what a list lacks may be lost: no order of writes follows from it.
        "init=nil  T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[2]) r(y,[1 2])",
        "T1: a(x,1) a(x,3)  T2: a(x,2)  T3: r(x,[1 2])",
        "T1: a(x,1) a(x,3) a(x,4)  T2: a(x,2)  T3: r(x,[3 2 4])",
        // Which of two writers a range read at PL-2.99 is from, beside a phantom: neither can be before it, and one can.
        "init=nil  init(x)=0  T1: r(x,0) range(1,9,{3=5})  T2: w(x,1) i(3,5)  T3: w(x,2) i(3,5)  T4: range(21,29,{}) i(23,1)  T5: range(21,29,{}) i(25,1)",
        "init=nil  init(x)=0  T1: r(x,0) range(1,9,{3=5})  T2: w(x,1) i(3,5)  T3: i(3,5)  T4: range(21,29,{}) i(23,1)  T5: range(21,29,{}) i(25,1)",
        // And where one of the two may not have committed.
        "init=nil  init(x)=0  T1: r(x,0) range(1,9,{3=5})  T2: w(x,1) i(3,5)  T3?: w(x,2) i(3,5)  T4: range(21,29,{}) i(23,1)  T5: range(21,29,{}) i(25,1)",
        "init=nil  init(x)=0  T1: r(x,0) r(y,7)  T2: w(x,1) w(y,7)  T3?: range(1,9,{3=5}) w(y,7)  T4: r(y,7) i(3,5)  T5: range(21,29,{}) i(23,1)  T6: range(21,29,{}) i(25,1)",
        // Two proofs of one finding of a weaker level that have different names at a stronger one.
        "T1: r(x,0) w(z,51) ; T5: r(y,2) i(y,3) r(y,3) range(y,z,{y=3 z=51})  T2: r(z,0) w(x,51)  T3: i(y,1) w(y,2) ; T4: r(z,51) w(z,1) r(y,2)",
        // Lists that end with own appends are versions.
        "T1: a(x,1)  T2: r(x,[1])  T3: a(x,2) r(x,[2])",
        "T1: a(x,1) ; T3: a(x,2) r(x,[2])",
        "T1: a(x,1) a(x,3)  T2: a(x,2) r(x,[1 2 3])",
        "T1: a(x,1) a(x,2) r(x,[2 3 1])  T2: a(x,3)",
        // One of two transactions of unknown outcome took effect; an append that no list holds has no place in the order of PL-1.
        "T1?: w(x,5) a(y,1) ; T2: a(y,2)  T3?: w(x,5) a(z,1) ; T4: a(z,2)  T5: r(x,5) r(y,[2]) r(z,[2])",
        // A proof says why a range read is not from a transaction that cannot have committed.
        "T1?: i(y,1) range(y,y,{y=99})  T3: range(y,y,{y=1}) w(y,1)  T2: w(z,1) w(y,1)  T4: r(y,1) r(z,0)",
        // An order for PL-2.99 does not say whom range reads are from, in a world of open lists either.
        "T4?: a(z,3) i(y,1)  T2: a(z,3)  T3: r(z,[3]) range(y,y,{y=0})",
        // An initial element is no append, also if a transaction appends the same value.
        "init(z)=[2]  T1: a(z,2) ; T2: r(z,[2])",
        "init(z)=[1]  T1: r(y,3) r(z,[1])  T2: w(y,3) a(z,1)",
        "init(z)=[1]  T1: a(z,3) w(y,3)  T2: r(y,3) r(z,[1])  T3: w(y,3) a(z,1)",
        "init(y)=[2 3]  T1: r(y,[2 3 3 3]) ; T3: r(y,[2 3])  T2: a(y,3)  T4: a(y,3)",
        "init(x)=[1 1 3]  T1: a(x,1)  T2: r(x,[1 1 3 1]) a(z,1)  T3: r(z,[1]) r(x,[1 1 3])",
        // A list that lacks initial elements counts to cut isolation by the append that it ends with.
        "init(z)=[72]  T1: a(z,1)  T2: r(z,[72]) r(z,[1])",
        "init(z)=[3]  T1: a(z,4)  T2: r(z,[]) r(z,[3 4])",
        "init(z)=[3]  T1: a(z,4)  T2: r(z,[]) r(z,[3])",
        "init(z)=[3 3 1]  T1: r(z,[3 3 1]) r(z,[3])  T2: a(z,3)",
        "init(z)=[3 3]  T1: a(z,2)  T2: r(z,[3 2 3 2 2]) r(z,[3 3 2 2])  T3: a(z,2)",
        "init(z)=[2 3]  T1: r(z,[3 2 3]) r(z,[2 3])  T2?: a(z,3)",
        "init(z)=[2 3 3]  T1?: r(z,[2 3 3]) r(z,[2 3]) a(z,3) ; T3: r(z,[2 3 3 3 3])  T2?: a(z,3)",
        // Range reads of lists.
        "T1: r(z,[2]) range(z,z,{})  T2: a(z,2)",
        "T1: a(z,2)  T2: range(z,z,{z=[2]})  T3: a(z,2)",
        "T1: a(z,2) a(z,2)  T3: r(z,[]) range(z,z,{z=[2 2]})",
        "T1: a(z,1)  T2: a(z,2)  T3: range(z,z,{z=[1 2]}) range(z,z,{z=[1]})",
        // In a world, two reads of one list, of which only one is a range read, are from two others.
        "T1: a(x,1)  T2: a(x,0) a(x,1)  T3: range(x,x,{x=[1]}) r(x,[1 0 1])",
        "T1: a(x,1)  T2: a(x,0) a(x,1)  T3: r(x,[1 0 1]) range(x,x,{x=[1]})",
        "T1: r(x,[]) a(x,1) range(x,x,{x=[1]})  T2: a(x,0) a(x,1) ; T3: range(x,x,{x=[1]}) a(x,2) r(x,[1 0 1 2])",
        "T1@0-3: a(x,1) a(x,2) ; T2@4-5: r(x,[]) ; T3@6-7: a(x,1) ; T4@8-12: range(x,x,{x=[1 2]}) a(x,2) r(x,[1 2 1 2])",
        // A key that only range reads mention is a list if it holds one.
        "init=nil  init(z)=[71]  T1: range(y,z,{y=5 z=[71]})  T2: i(y,5)",
        "init=nil  T1: range(y,z,{z=[9]})  T2: i(y,5)",
        // An order for PL-2.99 with a transaction of unknown outcome does not say whom range reads are from either.
        "init=nil  T1?: a(z,2) rl(z,?) range(z,z,{z=[2]})  T2: range(z,z,{z=[2]}) a(z,2) w(y,1)  T3: r(z,[2]) a(z,2)  T4: rl(z,?) range(y,z,{z=[2]})",
        "init(x)=nil  init(y)=2  init(z)=[72 73 71]  T1?: range(x,z,{y=2 z=[72 73 71]}) a(z,1)  T2: r(z,[72 73 71]) r(y,2) w(x,2) ; T3: a(z,3) a(z,3) a(z,1) ; T4: w(x,3) i(y,1) r(z,[72 73 71 1])",
        // A proof by cases, one of which is forbidden by more levels than another.
        "T1: w(x,2)  T2: r(x,0) w(y,1)  T3: r(x,2) r(y,0)  T4: w(x,2) w(y,2)",
        "T1: w(y,1) w(x,1) ; T4: r(y,2)  T2: r(y,2) r(x,0)  T3: w(y,2)",
        // The same where the cases are worlds.
        "T1?: a(z,1) a(z,3)  T2: a(z,2)  T3: a(z,3)  T4: r(z,[2 3]) r(z,[2])",
        "T1: a(y,2) a(y,3) a(y,3)  T2: r(y,[2]) r(y,[2 3 3]) r(y,[]) ; T3: a(y,2)",
        // To PL-1, elements that nobody appended do not matter, and a list that holds one too often says nothing of the others.
        "T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[1 2 3])  T3!: a(x,9)  T5: r(x,[1 2 3 9])",
        "T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[1 2 3])  T5: r(x,[7 1 8 2])",
        "T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[1 2 3])  T5: r(x,[1 1])",
        "T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[1 7 2 8 3])",
        "T1: a(x,1) a(x,3)  T2: a(x,2) a(x,1)  T4: r(x,[1 7 2 1 8 3])  T5: r(x,[9 1 2])",
        "init(x)=[6]  T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[6 1 2 3])  T5: r(x,[1 3])",
        // The reads of one range read happen at once.
        "init=nil  T1: i(0,3) i(2,2)  T2: range(0,2,{0=3})",
        "init=nil  T1: i(0,3) i(2,2)  T2: range(0,2,{2=2})",
        "init=nil  T1: i(0,3) i(2,2)  T2: range(0,1,{0=3}) range(1,2,{})",
        // What saturation excluded is excluded in every case of a proof.
        "T1: w(z,1) ; T3: r(z,0)  T2: w(z,2) w(z,0) ; T5: w(z,0) r(y,0)  T4: w(z,1) w(y,1) w(z,2) ; T6: r(z,0)",
    ] {
        let history = notation::parse(text).unwrap();
        let history = history.expand_ranges().unwrap().unwrap_or(history);
        complaints.extend(compare(&history).err().map(|complaint| format!("{text}\n    {complaint}\n")));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.concat());
}
