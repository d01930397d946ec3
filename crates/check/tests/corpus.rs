//! Labelled histories get the verdicts that their labels say, and every certificate is verified: those of `corpus/` always, those
//! of the shared corpus where it lies beside the repository.
//!
//! One label is not followed: `jepsen/rw-register.*` is called valid by Elle's authors, but it reads x=3, which
//! that no transaction wrote: a thin-air read, at odds with every level from PL-2 up.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::path::{Path, PathBuf};

use isoscope_check::{Checker, Options, Unknown, Verdict};
use isoscope_formats::{Input, ReadOptions, read};
use isoscope_levels::Level::{
    self, AdyaPl1, AdyaPl2, AdyaPl299, Causal, CutIsolation, ParallelSnapshot, Prefix, ReadAtomic,
    ReadCommitted, Serializable, Snapshot, StrictSerializable, StrictSnapshot,
};
use isoscope_verify::Verifier;

/// The shared corpus; says so where there is none.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !path.is_dir() {
        eprintln!("skipped: the shared corpus is not here");
    }
    path.is_dir().then_some(path)
}

/// What is known of a history: levels that hold, and so do all weaker ones, and levels that do not, and so do no
/// stronger ones.
#[derive(Clone, Copy)]
struct Known<'a> {
    holds: &'a [Level],
    violated: &'a [Level],
}

impl Known<'_> {
    fn verdict(&self, level: Level) -> Option<bool> {
        let holds = self.holds.iter().any(|stronger| stronger.implies(level));
        let violated = self.violated.iter().any(|&weaker| level.implies(weaker));
        assert!(!(holds && violated), "what is known contradicts itself");
        (holds || violated).then_some(holds)
    }
}

/// Asks for every level of which something is known, the strongest first, and verifies every certificate.
fn expect(path: &Path, known: Known<'_>) {
    let reading = read(&Input::Path(path.to_owned()), &ReadOptions::default())
        .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
    let mut checker = Checker::new(&reading.history, Options::default());
    let verifier = Verifier::new(&reading.history);
    for level in Level::ALL.into_iter().rev() {
        let Some(expected) = known.verdict(level) else { continue };
        let judgement = checker.check(level);
        let verified = verifier.verify(&judgement);
        assert!(verified.is_ok(), "{} at {level}: {verified:?}", path.display());
        let found = match judgement.verdict {
            Verdict::Holds(_) => Some(true),
            Verdict::Violated(_) => Some(false),
            Verdict::Unknown(unknown) => {
                // Cut isolation says nothing certain where values repeat and outcomes are unknown.
                let tolerated = matches!(unknown, Unknown::Ambiguous { .. }) && level == Level::CutIsolation;
                assert!(tolerated, "{} at {level}: {unknown:?}", path.display());
                None
            }
        };
        let agrees = found.is_none_or(|found| found == expected);
        assert!(agrees, "{} at {level}: {found:?}, and {expected} is known", path.display());
    }
}

/// Expects one level to hold, with all below it, or not to hold, with all above it.
fn expect_at(path: &Path, level: Level, holds: bool) {
    let (level, none) = (&[level][..], &[][..]);
    let (holds, violated) = if holds { (level, none) } else { (none, level) };
    expect(path, Known { holds, violated });
}

/// The rows of a table of expectations, with its columns' names.
fn table(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    (rows.next().unwrap(), rows.collect())
}

/// Whether a table's word says that a level holds. What needs a solver was found to hold with one.
fn says_holds(word: &str) -> bool {
    match word {
        "holds" | "needs-solver" => true,
        "violated" => false,
        _ => panic!("{word} is no verdict"),
    }
}

#[test]
fn our_own_corpus_gets_its_verdicts() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let (_, rows) = table(&corpus.join("expected.tsv"));
    assert!(rows.len() >= 43, "{}", rows.len());
    for row in rows {
        let levels = |cell: &str| -> Vec<Level> {
            cell.split(',').filter(|name| !name.is_empty()).map(|name| Level::parse(name).unwrap()).collect()
        };
        expect(&corpus.join(&row[0]), Known { holds: &levels(&row[1]), violated: &levels(&row[2]) });
    }
}

#[test]
fn published_checkers_disagree_on_the_traps_and_we_follow_the_axioms() {
    let Some(corpus) = corpus() else { return };
    let traps = corpus.join("traps");
    let (columns, rows) = table(&traps.join("expected.tsv"));
    assert!(rows.len() >= 23);
    for row in rows {
        for (column, word) in columns.iter().zip(&row).skip(1) {
            expect_at(&traps.join(&row[0]), Level::parse(column).unwrap(), says_holds(word));
        }
    }
}

#[test]
fn weak_histories_are_at_the_level_of_their_folder_and_not_above() {
    let Some(corpus) = corpus() else { return };
    for (folder, known) in [
        ("none", Known { holds: &[], violated: &[ReadCommitted] }),
        ("read-committed", Known { holds: &[ReadCommitted], violated: &[ReadAtomic] }),
        ("read-atomic", Known { holds: &[ReadAtomic], violated: &[Causal] }),
        ("causal", Known { holds: &[Causal], violated: &[] }),
    ] {
        let folder = corpus.join("weak/awdit").join(folder);
        let generated = folder.join("generated");
        let files =
            [folder, generated].into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        for file in files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            expect(&file, known);
        }
    }
}

/// The rows of the violations whose file's name begins with one of some words.
fn expect_violations(beginnings: &[&str]) {
    let Some(corpus) = corpus() else { return };
    let violations = corpus.join("violations");
    let (_, rows) = table(&violations.join("expected.tsv"));
    let mut found = 0;
    for row in rows.iter().filter(|row| beginnings.iter().any(|beginning| row[0].starts_with(beginning))) {
        expect_at(&violations.join(&row[0]), Level::parse(&row[1]).unwrap(), says_holds(&row[2]));
        found += 1;
    }
    assert!(found > 0, "no rows of {beginnings:?}");
}

#[test]
fn violations_of_cockroach_are_found() {
    expect_violations(&["cock"]);
}

#[test]
fn violations_of_others_are_found() {
    expect_violations(&["galera", "yuga", "dgraph", "pg_"]);
}

#[test]
fn every_row_of_the_violations_is_asked_about() {
    let Some(corpus) = corpus() else { return };
    let (_, rows) = table(&corpus.join("violations/expected.tsv"));
    let asked = ["cock", "galera", "yuga", "dgraph", "pg_"];
    assert!(rows.iter().all(|row| asked.iter().any(|beginning| row[0].starts_with(beginning))));
}

/// What Elle's authors say, and for the small ones what the reference says.
#[test]
fn samples_of_jepsen_are_what_they_are_known_to_be() {
    let Some(corpus) = corpus() else { return };
    for (file, known) in [
        // Snapshot isolation by itself; stale by the clock.
        ("si-without-g-single.edn", Known { holds: &[Snapshot], violated: &[AdyaPl299, StrictSnapshot] }),
        ("list-append-gh-30.edn", Known { holds: &[StrictSnapshot], violated: &[AdyaPl299] }),
        (
            "paper-example.edn",
            Known { holds: &[ReadCommitted, CutIsolation], violated: &[ReadAtomic, AdyaPl299] },
        ),
        (
            "paper-example.json",
            Known { holds: &[ReadCommitted, CutIsolation], violated: &[ReadAtomic, AdyaPl299] },
        ),
        ("rw-register.edn", Known { holds: &[CutIsolation, AdyaPl1], violated: &[AdyaPl2] }),
        ("rw-register.json", Known { holds: &[CutIsolation, AdyaPl1], violated: &[AdyaPl2] }),
        ("huge-scc.edn", Known { holds: &[], violated: &[StrictSnapshot] }),
    ] {
        expect(&corpus.join("jepsen").join(file), known);
    }
}

/// Histories that were once judged wrongly, and such from real clusters.
#[test]
fn histories_found_in_the_field_get_their_verdicts() {
    let Some(corpus) = corpus() else { return };
    for (file, holds, violated) in [
        ("found/own-append-incompatible.edn", &[CutIsolation, AdyaPl1][..], &[AdyaPl2][..]),
        ("found/own-append-pl1.edn", &[CutIsolation], &[AdyaPl1]),
        ("found/nat2.jsonl", &[StrictSerializable], &[]),
        ("found/m1.jsonl", &[CutIsolation, AdyaPl1], &[AdyaPl2]),
        ("found/m2.jsonl", &[AdyaPl299], &[ReadCommitted]),
        ("found/d24.jsonl", &[Prefix], &[AdyaPl299, ParallelSnapshot]),
        ("found/d100.jsonl", &[Serializable], &[StrictSnapshot]),
        ("found/hard1.jsonl", &[Causal], &[AdyaPl299, Prefix, ParallelSnapshot]),
        ("found/stale-read-chain.notation", &[Serializable], &[StrictSnapshot]),
        ("found/misnamed-G0.edn", &[Prefix, ParallelSnapshot], &[AdyaPl299, Snapshot]),
        ("found/false-read-committed.edn", &[AdyaPl299], &[ReadCommitted]),
        ("found/false-serializable.edn", &[AdyaPl299, Prefix, ParallelSnapshot], &[Snapshot]),
        ("found/info-session.edn", &[ReadCommitted], &[ReadAtomic]),
        ("field/galera-rmw-stay.json.gz", &[Prefix], &[AdyaPl299, ParallelSnapshot]),
        ("field/galera-rmw-hop.json.gz", &[CutIsolation, ReadCommitted], &[ReadAtomic, AdyaPl299]),
        ("field/galera-append-hop.json.gz", &[CutIsolation, ReadCommitted], &[ReadAtomic]),
        ("field/galera-part-rmw-si-dirty-hop.json.gz", &[CutIsolation, ReadCommitted], &[ReadAtomic]),
        ("field/galera-killall-flush0.json.gz", &[CutIsolation, AdyaPl1], &[AdyaPl2]),
        ("field/galera-append-pause-si-sync.fixed.json.gz", &[StrictSnapshot], &[AdyaPl299]),
        ("field/galera-min-psi-g0.notation", &[Prefix, AdyaPl299], &[ParallelSnapshot]),
        ("field/pg-fork-remote_apply-rr.json.gz", &[ParallelSnapshot], &[Prefix]),
        ("field/pg-min-strict-label.notation", &[Serializable], &[StrictSnapshot]),
        ("field/min-turso-busy-applied.json", &[AdyaPl1], &[AdyaPl2]),
        ("field/min-surreal-lost-update.json", &[Prefix], &[ParallelSnapshot]),
        ("field/min-lost-append.json", &[CutIsolation, AdyaPl1], &[AdyaPl2]),
    ] {
        expect(&corpus.join(file), Known { holds, violated });
    }
}

/// An unknown transaction that may take effect late is not ordered by its session.
#[test]
fn late_unknown_transactions_are_not_ordered_by_their_session() {
    let history = isoscope_history::notation::parse("T1?: a(x,1) ; T2: r(x,[])  T3: r(x,[1])").unwrap();
    let holds = |history: &isoscope_history::History| {
        let verdict = Checker::new(history, Options::default()).check(Serializable).verdict;
        matches!(verdict, Verdict::Holds(_))
    };
    assert!(!holds(&history) && holds(&history.with_late_unknown().unwrap()));
}

/// Its order after earlier transactions of its session is lost as well, except where real time has it (docs/levels.md).
#[test]
fn late_unknown_transactions_keep_their_order_in_real_time() {
    let holds = |text: &str, level| {
        let late = isoscope_history::notation::parse(text).unwrap().with_late_unknown().unwrap();
        matches!(Checker::new(&late, Options::default()).check(level).verdict, Verdict::Holds(_))
    };
    assert!(holds("T1: w(x,1) ; T2?: r(x,0) w(y,1) ; T3: r(x,1)  T4: r(y,1)", StrictSerializable));
    let clocked = "T1@0-1: w(x,1) ; T2?@2-: r(x,0) w(y,1) ; T3@4-5: r(x,1)  T4@6-7: r(y,1)";
    assert!(holds(clocked, Serializable) && !holds(clocked, StrictSnapshot));
}

#[test]
fn small_serializable_histories_are_serializable() {
    let Some(corpus) = corpus() else { return };
    for folder in ["small", "general"] {
        for entry in std::fs::read_dir(corpus.join("strong").join(folder)).unwrap() {
            expect_at(&history_below(&entry.unwrap().path()), Serializable, true);
        }
    }
    expect_at(&corpus.join("strong/blindw-rw-1000"), Serializable, true);
}

/// Weak levels of large histories take no time.
#[test]
fn large_serializable_histories_violate_no_weak_level() {
    let Some(corpus) = corpus() else { return };
    for folder in LARGE {
        expect(
            &history_below(&corpus.join("strong").join(folder)),
            Known { holds: &[Causal], violated: &[] },
        );
    }
}

const LARGE: [&str; 10] = [
    "blindw-rw-4000",
    "blindw-rw-10000",
    "blindw-rw-12000",
    "tpcc-10k",
    "twitter-10k",
    "rubis-10k",
    "BL-10k",
    "HD-10k",
    "RH-10k",
    "WH-10k",
];

/// One of [`LARGE`] at the strong levels.
fn expect_serializable(folder: &str) {
    assert!(LARGE.contains(&folder));
    let Some(corpus) = corpus() else { return };
    expect_at(&history_below(&corpus.join("strong").join(folder)), Serializable, true);
}

macro_rules! large {
    ($($name:ident: $folder:expr;)+) => {
        $(#[test]
        #[ignore = "may take a minute without optimisation"]
        fn $name() {
            expect_serializable($folder);
        })+
    };
}

large! {
    large_blindw_4000_is_serializable: "blindw-rw-4000";
    large_blindw_10000_is_serializable: "blindw-rw-10000";
    large_blindw_12000_is_serializable: "blindw-rw-12000";
    large_tpcc_is_serializable: "tpcc-10k";
    large_twitter_is_serializable: "twitter-10k";
    large_rubis_is_serializable: "rubis-10k";
    large_bl_is_serializable: "BL-10k";
    large_hd_is_serializable: "HD-10k";
    large_rh_is_serializable: "RH-10k";
    large_wh_is_serializable: "WH-10k";
}

/// The history in a folder, or in the only folder in it.
fn history_below(folder: &Path) -> PathBuf {
    let mut inside: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    inside.sort();
    match inside.iter().find(|path| path.is_dir()) {
        Some(only) => history_below(only),
        None => folder.to_owned(),
    }
}
