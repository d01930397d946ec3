//! Probes of real servers at every isolation level, beside what their documentation promises.

mod support;

use isoscope_levels::Level;
use isoscope_probe::{Findings, Program};
use isoscope_record::{Database, Options, Server, ServerKind, Target, isolations, script};
use support::{assert_script_repeats, probed, programs, weakest};

fn open(url: &str, isolation: &str) -> Box<dyn Database> {
    let target = Target::parse(url).expect("a URL");
    let options = Options { timestamps: false, ..script::connection_limits(target.vendor()) };
    target.open(Some(isolation), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// What a probe must find: the strongest levels that were kept, and the weakest that were violated.
struct Expected {
    isolation: &'static str,
    kept: &'static [Level],
    violated: &'static [Level],
}

fn assert_found(server: &Server, programs: &[Program], expected: &[Expected]) {
    for Expected { isolation, kept, violated } in expected {
        let database = open(&server.url(), isolation);
        let findings = probed(database.as_ref(), programs);
        let place = format!("{} at {isolation}", database.version());
        assert_eq!(
            (findings.strongest_kept(), weakest(&findings)),
            (kept.to_vec(), violated.to_vec()),
            "{place}"
        );
        assert_promise_kept(database.as_ref(), &findings);
        for tally in findings.weakest_violated() {
            assert_script_repeats(database.as_ref(), tally);
        }
        // Two deadlocked transactions may swap their parts, but that is rare.
        assert!(findings.lost * 20 <= findings.interleavings, "{place}: {} lost", findings.lost);
    }
}

fn assert_promise_kept(database: &dyn Database, findings: &Findings) {
    let promise = database.isolation().expect("a row of the table").registers;
    for level in findings.violated() {
        assert!(!promise.implies(level), "{} promises {promise} and violates {level}", database.version());
    }
}

#[test]
fn postgres_at_every_level() {
    let server =
        Server::start(ServerKind::Postgres, &[] as &[&str]).unwrap_or_else(|error| panic!("{error}"));
    let committed =
        |isolation| Expected { isolation, kept: &[Level::ReadCommitted], violated: &[Level::CutIsolation] };
    let expected = [
        committed("read-uncommitted"),
        committed("read-committed"),
        Expected {
            isolation: "repeatable-read",
            kept: &[Level::StrictSnapshot],
            violated: &[Level::AdyaPl299],
        },
        Expected { isolation: "serializable", kept: &[Level::StrictSerializable], violated: &[] },
    ];
    assert_eq!(expected.len(), isolations(isoscope_record::Vendor::Postgres).len());
    assert_found(&server, &programs(), &expected);
}

#[test]
fn mariadb_at_every_level() {
    let server = Server::start(ServerKind::MariaDb, &[] as &[&str]).unwrap_or_else(|error| panic!("{error}"));
    let expected = [
        Expected {
            isolation: "read-uncommitted",
            kept: &[Level::AdyaPl1],
            violated: &[Level::CutIsolation, Level::AdyaPl2],
        },
        Expected {
            isolation: "read-committed",
            kept: &[Level::ReadCommitted],
            violated: &[Level::CutIsolation],
        },
        Expected {
            isolation: "repeatable-read",
            kept: &[Level::Prefix],
            violated: &[Level::AdyaPl299, Level::ParallelSnapshot],
        },
        Expected { isolation: "serializable", kept: &[Level::StrictSerializable], violated: &[] },
    ];
    assert_found(&server, &programs(), &expected);
}

#[test]
fn mariadb_with_snapshot_isolation() {
    let server = Server::start(ServerKind::MariaDb, &["innodb_snapshot_isolation=ON"])
        .unwrap_or_else(|error| panic!("{error}"));
    let expected = [Expected {
        isolation: "repeatable-read",
        kept: &[Level::StrictSnapshot],
        violated: &[Level::AdyaPl299],
    }];
    assert_found(&server, &programs(), &expected);
}
