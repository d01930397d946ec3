//! Parsing of database URLs.

use std::path::PathBuf;

use isoscope_record::{Address, File, Host, Options, Target, Vendor, isolation};

fn address(text: &str) -> Address {
    match Target::parse(text) {
        Ok(Target::Postgres(address) | Target::MySql(address)) => address,
        other => panic!("{text}: {other:?}"),
    }
}

fn file(text: &str) -> File {
    match Target::parse(text) {
        Ok(Target::Sqlite(file)) => file,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn urls_of_servers() {
    let full =
        address("postgres://al%40ice:p%3Aw@db.example:6543/my%20db?sslmode=require&application_name=x");
    assert_eq!(full.host, Host::Name("db.example".into()));
    assert_eq!(full.port, 6543);
    assert_eq!(full.user.as_deref(), Some("al@ice"));
    assert_eq!(full.password.as_deref(), Some("p:w"));
    assert_eq!(full.database.as_deref(), Some("my db"));
    assert_eq!(full.params.get("sslmode"), Some("require"));

    let short = address("postgresql://");
    assert_eq!((short.host, short.port), (Host::Name("localhost".into()), 5432));
    assert_eq!((short.user, short.password, short.database), (None, None, None));
    assert_eq!(address("mysql://h").port, 3306);
    assert_eq!(address("MariaDB://h/d").database.as_deref(), Some("d"));
    assert_eq!(address("postgres://[::1]:99/d").host, Host::Name("::1".into()));
    assert_eq!(address("postgres://[::1]:99/d").port, 99);
    assert_eq!(address("postgres://u:a@b@h/d").password.as_deref(), Some("a@b"), "the last @ counts");
    assert_eq!(address("postgres://%2Frun%2Fpg/d").host, Host::Socket("/run/pg".into()));
    assert_eq!(address("postgres:///d?host=/run/pg").host, Host::Socket("/run/pg".into()));
    assert_eq!(address("mysql:///d?socket=/run/my.sock").host, Host::Socket("/run/my.sock".into()));
}

#[test]
fn keywords_of_postgresql() {
    let address = address(r"host=/run/pg port=99 dbname='my \'db' user = bob password=x\ y sslmode=disable");
    assert_eq!((address.host, address.port), (Host::Socket("/run/pg".into()), 99));
    assert_eq!(address.database.as_deref(), Some("my 'db"));
    assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("bob"), Some("x y")));
}

#[test]
fn files_and_memory() {
    assert_eq!(file("sqlite:").path, None);
    assert_eq!(file("sqlite:a/b.db").path, Some(PathBuf::from("a/b.db")));
    assert_eq!(file("sqlite:///tmp/b").path, Some(PathBuf::from("/tmp/b")));
    assert_eq!(file("sqlite:a?journal=delete&transactions=immediate").params.get("journal"), Some("delete"));
    assert_eq!(file("some/where.sqlite").path, Some(PathBuf::from("some/where.sqlite")));
    match Target::parse("memory:snapshot-isolation?bug=lost-update&bug=dirty-read") {
        Ok(Target::Memory(memory)) => {
            assert_eq!(memory.level.as_deref(), Some("snapshot-isolation"));
            assert_eq!(memory.params.0.len(), 2);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn invalid_urls_are_refused() {
    for (text, expected) in [
        ("", "cannot tell the kind of database"),
        ("oracle://h/d", "unknown kind of database `oracle:`"),
        ("localhost/db", "cannot tell the kind of database"),
        ("postgres:h/d", "expected `//`"),
        ("postgres://h:0/d", "invalid port `0`"),
        ("postgres://h:70000/d", "invalid port `70000`"),
        ("postgres://h:x/d", "invalid port `x`"),
        ("postgres://h/a/b", "contains a slash"),
        ("postgres://h/%zz", "two hexadecimal digits"),
        ("postgres://h/%ff", "not valid UTF-8"),
        ("postgres://h/d?sslmod=require", "unknown parameter `sslmod`"),
        ("postgres://h/d?sslmode=maybe", "one of `disable`"),
        ("mysql://h/d?ssl-mode=maybe", "one of `disabled`"),
        ("mysql://h/d?sslmode=require", "unknown parameter `sslmode`"),
        ("sqlite::memory:", "write `sqlite:` for a temporary file"),
        ("sqlite:x?journal=off", "one of `wal`"),
        ("host=h dbname='x", "missing closing quote"),
        ("host=h nonsense=1", "unknown parameter `nonsense`"),
    ] {
        let error = Target::parse(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn passwords_are_not_shown() {
    let target = Target::parse("postgres://bob:secret@h/d").expect("a good URL");
    assert_eq!(target.to_string(), "PostgreSQL at h:5432, database \"d\", as user \"bob\"");
    assert!(!format!("{target:?}").contains("secret"));
}

#[test]
fn isolation_levels_by_their_names() {
    for name in ["repeatable read", "REPEATABLE-READ", "Repeatable_Read", "rr", " RR "] {
        for vendor in [Vendor::Postgres, Vendor::MySql, Vendor::MariaDb] {
            let row = isolation(vendor, name).expect(name);
            assert_eq!((row.name, row.setting), ("repeatable-read", None));
        }
    }
    let error = isolation(Vendor::MariaDb, "snapshot").expect_err("unknown").to_string();
    assert_eq!(
        error,
        "MariaDB has no isolation level `snapshot`; it has `read-uncommitted`, `read-committed`, `repeatable-read` \
         and `serializable`"
    );
    let target = Target::parse("sqlite:").expect("a good URL");
    let Err(error) = target.open(Some("read-committed"), &Options::default()) else { panic!("this opens") };
    assert_eq!(
        error.to_string(),
        "SQLite has no isolation level `read-committed`; it has only `serializable`"
    );
}
