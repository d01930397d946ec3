//! Cycles of the strong levels: those with anti-dependencies or real time.
//!
//! Which levels forbid a cycle is a matter of its shape; each is accepted at those and refused at all others.

use isoscope_check::{Against, Evidence, Finding, Judgement, Through, Verdict};
use isoscope_history::{History, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::verify;

use super::{E, Y, accept, edges, finding, read, refuse, violated};

/// A history, the name of a cycle, what it needs besides reads and writes, its edges, and the levels that
/// forbid it.
type StrongCycle = (&'static str, Anomaly, Through, Vec<E>, &'static [Level]);

/// Cycles with anti-dependencies or real time.
fn strong_cycles() -> Vec<StrongCycle> {
    use Level::{
        AdyaPl299, AdyaPlSi, Causal, ConsistentView, CursorStability, MonotonicAtomicView, MonotonicView,
        Prefix, ReadAtomic, StrictSnapshot, UpdateAtomic, UpdateSerializable,
    };
    use Through::{Dependencies, RealTime, Sessions};
    use Y::{Rt, Rw, So, Versions, Wr};
    let skew = "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)";
    let fork = "T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)";
    let skewed = "T1: a(x,1) a(z,1)  T2: a(z,2) a(y,2)  T3: r(x,[]) r(y,[2])  T4: r(z,[1 2])";
    let fractured = "T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)";
    let backwards = "T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)";
    let lost = "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)";
    let lost_append = "T1: r(x,[]) a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])";
    let late = "T1@0-1: w(x,1)  T2@2-3: r(x,0)";
    let causal = "T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)";
    // By the weakest levels that forbid the cycle under the name.
    let all: &[Level] = &[UpdateSerializable, AdyaPl299];
    let non_adjacent: &[Level] = &[Prefix, AdyaPlSi, AdyaPl299];
    // Prefix forbids it where the read does not follow a version.
    let single: &[Level] = &[ConsistentView, Prefix, AdyaPl299];
    let from_causal: &[Level] = &[Causal, ConsistentView, AdyaPl299];
    let from_atomic: &[Level] = &[ReadAtomic, ConsistentView, AdyaPl299];
    let half = || vec![E(1, 2, Wr((2, 1))), E(2, 1, Rw((2, 0)))];
    let chain = || vec![E(1, 2, Wr((2, 0))), E(2, 3, Wr((3, 0))), E(3, 1, Rw((3, 1)))];
    vec![
        (skew, Anomaly::WriteSkew, Dependencies, vec![E(1, 2, Rw((1, 0))), E(2, 1, Rw((2, 0)))], all),
        (
            fork,
            Anomaly::LongFork,
            Dependencies,
            vec![E(1, 3, Wr((3, 0))), E(3, 2, Rw((3, 1))), E(2, 4, Wr((4, 1))), E(4, 1, Rw((4, 0)))],
            non_adjacent,
        ),
        (
            skewed,
            Anomaly::ReadSkew,
            Dependencies,
            vec![E(1, 2, Versions((4, 0), 1)), E(2, 3, Wr((3, 1))), E(3, 1, Rw((3, 0)))],
            single,
        ),
        (fractured, Anomaly::FracturedRead, Dependencies, half(), from_atomic),
        (fractured, Anomaly::CausalityViolation, Dependencies, half(), from_causal),
        (
            fractured,
            Anomaly::ReadSkew,
            Dependencies,
            half(),
            &[ConsistentView, UpdateAtomic, Prefix, AdyaPl299],
        ),
        (
            backwards,
            Anomaly::NonMonotonicRead,
            Dependencies,
            vec![E(2, 1, Rw((2, 1))), E(1, 2, Wr((2, 0)))],
            &[MonotonicAtomicView, AdyaPl299],
        ),
        (causal, Anomaly::CausalityViolation, Dependencies, chain(), from_causal),
        (
            "T1: w(x,1) ; T2: r(x,0)",
            Anomaly::StaleSessionRead,
            Sessions,
            vec![E(1, 2, So), E(2, 1, Rw((2, 0)))],
            &[ReadAtomic],
        ),
        (lost, Anomaly::LostUpdate, Dependencies, vec![E(1, 2, Rw((1, 0))), E(2, 1, Rw((2, 0)))], all),
        (
            lost_append,
            Anomaly::LostUpdate,
            Dependencies,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Rw((2, 0)))],
            &[CursorStability],
        ),
        (
            "T1: a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])",
            Anomaly::LostUpdate,
            Dependencies,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Rw((2, 0)))],
            &[CursorStability],
        ),
        (
            "T1: a(x,1) a(y,1)  T2: r(x,[]) a(y,2)  T3: r(y,[1 2])",
            Anomaly::ReadSkew,
            Dependencies,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Rw((2, 0)))],
            &[UpdateAtomic, ConsistentView, AdyaPl299],
        ),
        (
            "T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[])  T3: r(y,[1 2])",
            Anomaly::ReadSkew,
            Dependencies,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Rw((2, 1)))],
            &[UpdateAtomic, MonotonicView, AdyaPl299],
        ),
        (late, Anomaly::ReadSkew, RealTime, vec![E(1, 2, Rt), E(2, 1, Rw((2, 0)))], &[StrictSnapshot]),
    ]
}

/// The certificate of one cycle, with what it needs.
fn strong(history: &History, level: Level, anomaly: Anomaly, through: Through, short: &[E]) -> Judgement {
    let evidence = Evidence::Cycle(edges(history, short));
    violated(level, vec![Finding { through, ..finding(anomaly, evidence) }])
}

#[test]
fn cycles_with_anti_dependencies_are_forbidden_by_their_shape() {
    for (text, anomaly, through, short, levels) in strong_cycles() {
        let history = notation::parse(text).unwrap();
        for level in Level::ALL {
            let judgement = strong(&history, level, anomaly, through, &short);
            if levels.iter().any(|&weakest| level.implies(weakest)) {
                accept(&history, &judgement);
            } else {
                assert!(verify(&history, &judgement).is_err(), "{level} {judgement:?}");
            }
            for other in [Through::Dependencies, Through::Sessions, Through::RealTime] {
                let otherwise = strong(&history, level, anomaly, other, &short);
                assert!(other == through || verify(&history, &otherwise).is_err(), "{otherwise:?}");
            }
        }
        for i in 0..short.len() {
            let mut turned = short.clone();
            (turned[i].0, turned[i].1) = (short[i].1, short[i].0);
            let judgement = strong(&history, Level::StrictSerializable, anomaly, through, &turned);
            assert!(verify(&history, &judgement).is_err(), "{judgement:?}");
        }
    }
}

#[test]
fn strong_cycles_are_what_they_are_called() {
    use Anomaly::{
        CausalityViolation, FracturedRead, LongFork, LostUpdate, NonMonotonicRead, ReadSkew, SnapshotSkew,
        StaleRead, WriteSkew,
    };
    for (text, anomaly, through, short, _) in strong_cycles() {
        let history = notation::parse(text).unwrap();
        for other in Anomaly::ALL.into_iter().filter(|&other| other != anomaly) {
            let also = match other {
                ReadSkew => short.iter().filter(|edge| matches!(edge.2, Y::Rw(_))).count() == 1,
                WriteSkew => anomaly == LostUpdate,
                StaleRead => short.iter().any(|edge| matches!(edge.2, Y::Rt)),
                SnapshotSkew => anomaly == LongFork,
                FracturedRead | NonMonotonicRead | CausalityViolation => short.len() < 4,
                _ => false,
            };
            let judgement = strong(&history, Level::StrictSerializable, other, through, &short);
            assert!(also || verify(&history, &judgement).is_err(), "{anomaly} passes as {other}: {text}");
        }
    }
    let refused = |text: &str, anomaly, short: &[E]| {
        let history = notation::parse(text).unwrap();
        let judgement = strong(&history, Level::Serializable, anomaly, Through::Dependencies, short);
        refuse(&history, &judgement, "another shape");
    };
    // Other keys: no lost update.
    let rw = |from, to, place| E(from, to, Y::Rw(place));
    let both = [rw(1, 2, (1, 0)), rw(2, 1, (2, 0))];
    refused("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,2)", LostUpdate, &both);
    refused(
        "T1: r(y,0) a(x,1) w(y,1)  T2: r(y,0) a(x,2)  T3: r(x,[1 2])",
        LostUpdate,
        &[E(1, 2, Y::Versions((3, 0), 1)), rw(2, 1, (2, 0))],
    );
    let history = notation::parse("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)").unwrap();
    let short = [E(1, 2, Y::Wr((2, 1))), E(2, 1, Y::Rw((2, 0)))];
    let mut judgement = strong(&history, Level::ReadAtomic, FracturedRead, Through::Dependencies, &short);
    let Verdict::Violated(findings) = &mut judgement.verdict else { unreachable!() };
    findings[0].against = Some(Against::Commit);
    refuse(&history, &judgement, "the other one");
    let wrong = finding(Anomaly::ThinAirRead, read(&history, (2, 0), None));
    let judgement = violated(Level::Causal, vec![Finding { through: Through::Sessions, ..wrong }]);
    refuse(&history, &judgement, "neither sessions nor real time");
}

#[test]
fn every_strong_reason_is_looked_up() {
    use Y::{Rt, Rw, So, Wr, Ww};
    let history = notation::parse(
        "T1@0-1: w(x,1) r(y,0)  T2@1-2: r(x,1) w(x,2) r(x,2)  T3?@3-4: w(x,3)  T4@5-6: r(x,3)  T5!@7-8: w(x,5)
         T6@9-9: a(l,1)  T7: r(l,[1]) a(l,2)",
    )
    .unwrap();
    let refuse_edge = |level, edge: E, because| {
        let judgement = strong(&history, level, Anomaly::WriteSkew, Through::Dependencies, &[edge]);
        refuse(&history, &judgement, because);
    };
    let strict = |edge, because| refuse_edge(Level::StrictSerializable, edge, because);
    refuse_edge(Level::Serializable, E(1, 4, Rt), "knows no real time");
    refuse_edge(Level::AdyaPl299, E(1, 4, So), "knows no sessions");
    strict(E(1, 2, Rt), "had not returned");
    strict(E(4, 1, Rt), "had not returned");
    strict(E(0, 1, Rt), "had not returned");
    strict(E(3, 4, Rt), "had not returned");
    strict(E(7, 6, Rt), "had not returned");
    strict(E(1, 5, Rt), "T5 is absent");
    strict(E(1, 2, Ww((1, 0))), "is not assumed here");
    strict(E(0, 2, Ww((1, 0))), "is not assumed here");
    strict(E(2, 1, Rw((1, 1))), "is another's read");
    strict(E(1, 0, Rw((1, 1))), "overwrites nothing");
    strict(E(2, 2, Rw((2, 0))), "does not overwrite");
    strict(E(1, 2, Rw((1, 1))), "does not overwrite");
    strict(E(2, 4, Rw((2, 0))), "does not overwrite");
    refuse_edge(Level::Serializable, E(2, 3, Rw((2, 0))), "is not known to miss a write of T3");
    // T1 had returned before T3 was invoked, so T3 overwrote what T2 had read.
    strict(E(2, 3, Rw((2, 0))), "not closed");
    strict(E(2, 1, Rw((2, 0))), "is not known to miss a write of T1");
    strict(E(2, 1, Rw((2, 2))), "is not known to miss");
    strict(E(2, 1, Rw((2, 1))), "is no read");
    strict(E(7, 6, Rw((7, 0))), "is not known to miss");
    strict(E(2, 3, Wr((2, 0))), "is not from there");
    strict(E(1, 4, Rt), "not closed");
    let skew = notation::parse("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)").unwrap();
    let short = [E(1, 2, Rw((1, 0))), E(2, 1, Rw((2, 0)))];
    let at = |level| strong(&skew, level, Anomaly::WriteSkew, Through::Dependencies, &short);
    accept(&skew, &at(Level::Serializable));
    refuse(&skew, &at(Level::Snapshot), "does not forbid it");
    let fork = notation::parse("T1: r(x,0) a(z,1)  T2: a(z,2) w(x,1)  T3: r(z,[2 1])").unwrap();
    let short = [E(1, 2, Rw((1, 0))), E(2, 1, Y::Versions((3, 0), 1))];
    let at = |level| strong(&fork, level, Anomaly::CausalityViolation, Through::Dependencies, &short);
    for level in [Level::Causal, Level::Prefix] {
        refuse(&fork, &at(level), "does not forbid such a cycle");
    }
}
