//! The engines on histories made to reach their corners.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
#![allow(clippy::format_collect, reason = "short texts, made for reading")]

use isoscope_check::{Checker, Judgement, Options, Unknown, Verdict};
use isoscope_history::{History, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::verify;
use isoscope_workload::{Spec, run};

fn judge(history: &History, level: Level) -> Judgement {
    let judgement = Checker::new(history, Options::default()).check(level);
    let verified = verify(history, &judgement);
    assert!(verified.is_ok(), "{verified:?}");
    judgement
}

/// Reader i forces Bi before Ai and, by what Bi+1 reads from Ai, all that come later to be asked about again: the
/// forced edges become known one by one.
fn cascade(length: usize) -> String {
    let mut text = String::new();
    for i in 1..=length {
        if i > 1 {
            text += &format!("B{i}: r(a{0},1) w(k{i},2) w(y{i},2)  ", i - 1);
        }
        text += &format!("A{i}: w(k{i},1) w(a{i},1)  ");
    }
    text += "B1: w(k1,2) w(y1,2)  ";
    for i in 1..=length {
        text += &format!("R{i}: r(y{i},2) r(k{i},1)  ");
    }
    text
}

#[test]
fn long_cascades_of_forced_edges_end() {
    for length in 1..40 {
        let history = notation::parse(&cascade(length)).unwrap();
        let judgement = judge(&history, Level::Causal);
        assert!(matches!(judgement.verdict, Verdict::Holds(_)), "{length}: {judgement:?}");
        let broken = notation::parse(&(cascade(length) + "Z: r(q,77)")).unwrap();
        let Verdict::Violated(findings) = judge(&broken, Level::Causal).verdict else { panic!("{length}") };
        assert_eq!(findings.len(), 1, "{length}: {findings:?}");
    }
}

/// A cycle whose closing edge is found last.
#[test]
fn long_cascades_that_close_are_violations() {
    for length in 2..30 {
        let text = cascade(length) + &format!("C: r(a{length},1) w(y1,3) w(k1,2)");
        let history =
            notation::parse(&text.replace("B1: w(k1,2) w(y1,2)", "B1: r(c,1) w(k1,2) w(y1,2)")).unwrap();
        let history = notation::parse(&format!("{} w(c,1)", notation::print(&history).trim_end())).unwrap();
        let judgement = judge(&history, Level::ReadCommitted);
        assert!(matches!(judgement.verdict, Verdict::Violated(_)), "{length}: {judgement:?}");
    }
}

#[test]
fn what_was_not_learned_may_be_anything() {
    for text in [
        "T1: w(x,?)  T2: r(x,7)",
        "T1: w(x,?) r(x,7)",
        "T1: a(l,?)  T2: r(l,[1])",
        "T1: a(l,1)  T2: r(l,[1 ?])",
    ] {
        let history = notation::parse(text).unwrap();
        for level in [Level::AdyaPl2, Level::ReadCommitted, Level::Causal] {
            let judgement = judge(&history, level);
            let unsupported = matches!(judgement.verdict, Verdict::Unknown(Unknown::Unsupported { .. }));
            assert!(unsupported, "{text}: {judgement:?}");
        }
    }
}

/// The verifier confirms it, too.
#[test]
fn a_register_that_holds_a_list_is_not_supported() {
    let history = notation::parse("T1: rr(z,[99])").unwrap();
    for level in Level::ALL {
        let judgement = judge(&history, level);
        let unsupported = matches!(judgement.verdict, Verdict::Unknown(Unknown::Unsupported { .. }));
        assert!(unsupported, "{level}: {judgement:?}");
    }
}

/// What is found, and how it is shown, does not depend on the number of threads.
#[test]
fn reports_do_not_depend_on_threads() {
    let text = "T4: w(k0,6) ; T7: r(k0,1) w(k0,7)  T1: w(k0,1) ; T6:  ; T9: w(k0,10) ; T15: w(k0,16)  T10: r(k0,10) ; \
                T17: r(k0,6)";
    let history = notation::parse(text).unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| judge(&history, Level::Causal))
    };
    for threads in 2..5 {
        assert_eq!(with(1), with(threads));
    }
}

/// Transactions that also read seventy keys that no transaction writes take other paths through the engines, and get the same
/// verdicts.
#[test]
fn long_transactions_get_the_verdicts_of_short_ones() {
    let padding: String = (0..70).map(|i| format!("r(p{i},0) ")).collect();
    let levels = [Level::ReadCommitted, Level::ReadAtomic, Level::Causal, Level::Serializable];
    let mut violated = 0;
    for (seed, level) in (0..60).flat_map(|seed| levels.map(|level| (seed, level))) {
        let spec = Spec {
            sessions: 4,
            txns_per_session: 6,
            ops_per_txn: 5,
            keys: 3,
            level,
            seed,
            ..Spec::default()
        };
        let text = notation::print(&run(&spec, &mut |_, _| {}).unwrap());
        let twice = text.replace(") ; ", ") r(0,0) ; ");
        for text in [text, twice] {
            let short = notation::parse(&text).unwrap();
            let long = notation::parse(&text.replace(": ", &format!(": {padding}"))).unwrap();
            for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
                let word = |history| matches!(judge(history, level).verdict, Verdict::Violated(_));
                assert_eq!(word(&short), word(&long), "{level} of {text}");
                violated += usize::from(word(&short));
            }
        }
    }
    assert!(violated > 100, "{violated}");
}

/// One transaction that reads every version of a key in another order: half a million forced pairs.
#[test]
fn a_transaction_that_reads_all_versions_is_judged() {
    let writes: String = (1..=1000).map(|i| format!("T{i}: w(x,{i})  ")).collect();
    let reads: String = (1..=100).map(|i| format!("r(x,{}) ", i * 7 % 1009 % 1001)).collect();
    let history = notation::parse(&format!("{writes} R: {reads}")).unwrap();
    assert!(matches!(judge(&history, Level::ReadCommitted).verdict, Verdict::Holds(_)));
    assert!(matches!(judge(&history, Level::Causal).verdict, Verdict::Violated(_)));
}

/// Of three that overwrote one version two lost their update in every order, and the anomaly is called that; also where the
/// contradictions that follow are shorter to tell, and where a weaker level is violated as well.
#[test]
fn lost_updates_go_by_their_name() {
    let lost = |text: &str, level: Level| {
        let history = notation::parse(text).unwrap();
        let Verdict::Violated(findings) = judge(&history, level).verdict else { panic!("{text} at {level}") };
        let lost = findings.iter().filter(|finding| finding.anomaly == Anomaly::LostUpdate);
        lost.map(|finding| finding.count).sum::<u64>()
    };
    let three = "T1: w(x,1)  T2: r(x,1) w(x,2)  T3: r(x,1) w(x,3)  T4: r(x,1) w(x,4) ; T5: r(x,3)";
    let beside = format!("{three}  T6: r(x,2) r(x,1)");
    for level in [Level::ParallelSnapshot, Level::Snapshot, Level::Serializable, Level::AdyaPl299] {
        assert_eq!(lost(three, level), 2, "{level}");
        assert_eq!(lost(&beside, level), 2, "{level}");
    }
    // Who reads a version twice loses nothing to itself.
    assert_eq!(lost("T1: r(z,[]) r(x,0) a(z,1) r(z,[1]) w(x,1)  T2: r(x,0) w(x,2)", Level::Serializable), 1);
}

/// Who may be absent is tried for T1 and T2. Without both T3 cannot have read x=1, which it also writes: this search once ran forever.
#[test]
fn a_read_without_a_writer_is_not_explained_by_its_reader() {
    let text = "T1?: w(x,1) w(z,7)  T2?: w(x,1) w(z,8)  T3?: r(x,1) w(x,1) w(y,2)
        T4: r(y,2) w(z,5) r(z,7) w(z,6) r(z,8)";
    let history = notation::parse(text).unwrap();
    assert!(matches!(judge(&history, Level::CutIsolation).verdict, Verdict::Holds(_)));
}

fn holds(text: &str, level: Level) -> bool {
    let history = notation::parse(text).unwrap();
    let history = history.expand_ranges().unwrap().unwrap_or(history);
    matches!(judge(&history, level).verdict, Verdict::Holds(_))
}

/// One more list hides nothing from PL-1, unless it contradicts the others.
#[test]
fn wrong_lists_do_not_make_others_worthless() {
    let dirty = "T1: a(x,1) a(x,3)  T2: a(x,2)  T3: r(x,[1 2 3])";
    for more in
        ["", "T4!: a(x,9)  T5: r(x,[1 2 3 9])", "T5: r(x,[1 8 2])", "T5: r(x,[1 1 2])", "T5!: r(x,[3])"]
    {
        assert!(!holds(&format!("{dirty}  {more}"), Level::AdyaPl1), "{more}");
    }
    assert!(holds(&format!("{dirty}  T5: r(x,[2])"), Level::AdyaPl1));
    assert!(!holds("T1: a(x,1) a(x,3)  T2: a(x,2)  T3: r(x,[1 7 2 3])", Level::AdyaPl1));
    assert!(holds("T1: a(x,1) a(x,3)  T2: a(x,2)  T3: r(x,[1 7 3 2])", Level::AdyaPl1));
    assert!(holds("T1: a(x,1) a(x,3)  T2: a(x,2)  T3: r(x,[1 2 3 3])", Level::AdyaPl1));
}

/// None of the reads of one range read is before another, whatever the order of their keys.
#[test]
fn a_range_read_happens_at_once() {
    let levels = [Level::ReadCommitted, Level::MonotonicAtomicView, Level::MonotonicView];
    for found in ["0=3", "2=2"] {
        let text = format!("init=nil  T1: i(0,3) i(2,2)  T2: range(0,2,{{{found}}})");
        assert!(levels.iter().all(|&level| holds(&text, level)), "{text}");
        assert!(!holds(&text, Level::ReadAtomic), "{text}");
    }
    // Two range reads are two operations.
    let back = "init=nil  T1: i(0,3) i(2,2)  T2: range(0,1,{0=3}) range(1,2,{})";
    assert!(levels.iter().all(|&level| !holds(back, level)));
    let forth = "init=nil  T1: i(0,3) i(2,2)  T2: range(1,2,{}) range(0,1,{0=3})";
    assert!(levels.iter().all(|&level| holds(forth, level)));
    // Monotonic view also follows what it read: T3 depends on T1.
    let beyond = "init=nil  T1: i(1,1) i(2,2)  T2: r(2,2) i(3,3)  T3: range(1,3,{3=3})";
    assert!(holds(beyond, Level::MonotonicView));
    let later = "init=nil  T1: i(1,1) i(2,2)  T2: r(2,2) i(3,3)  T3: r(3,3) range(1,2,{2=2})";
    assert!(!holds(later, Level::MonotonicView) && holds(later, Level::ReadCommitted));
}

/// A read after own appends is from the transaction that appended what is before these.
#[test]
fn a_read_after_own_appends_is_a_read_of_another() {
    let text = "T1: a(x,1) a(y,1)  T2: a(x,2) r(x,[1 2]) r(y,[])";
    assert!(holds(text, Level::AdyaPl2) && !holds(text, Level::ReadCommitted));
}
