//! The conformance suite: the required behaviour of every driver.
//!
//! A [`Driver`] holds what differs between databases: SQL dialect, error codes, URL parameters.
//! [`Driver::conform`] runs every test of the suite on it. Tests of behaviour that only one database has are
//! in the file of that database.

use std::thread;
use std::time::Duration;

use isoscope_record::{Answer, Class, Options, Scalar, Statement, Vendor, isolations};

use crate::support::{
    Conn, connect, control, deadlock, elsewhere, fails, impatient, meanwhile, one, open, open_with, patient,
    read, refusal, rows, run, try_run, two_rows, until_waiting, write,
};

/// A database, and what the suite needs to know about it.
pub(crate) struct Driver<'a> {
    pub(crate) url: &'a str,
    pub(crate) vendor: Vendor,
    /// How its version begins.
    pub(crate) version: &'static str,
    pub(crate) values: Values,
    pub(crate) default_isolation: &'static str,
    /// Reads the isolation level in force, spelled as [`isoscope_record::Isolation::name`] is. `None` if the database
    /// has only one.
    pub(crate) isolation: Option<fn(&mut Conn) -> String>,
    /// The code of a duplicate key.
    pub(crate) duplicate_key: &'static str,
    /// The code of a lock timeout.
    pub(crate) lock_timeout: &'static str,
    /// `None` if the database has no server process.
    pub(crate) server: Option<Remote<'a>>,
}

/// Values of all types of a database.
pub(crate) struct Values {
    /// Statements that create a table `v` with a column `a` and others.
    pub(crate) create: &'static [&'static str],
    /// One value per column.
    pub(crate) given: Vec<Scalar>,
    /// The columns that read back differently from what was written.
    pub(crate) changed: Vec<(usize, Scalar)>,
}

/// A database with a server.
pub(crate) struct Remote<'a> {
    /// The scheme of its URLs.
    pub(crate) scheme: &'static str,
    /// The user of the URL. It needs a password.
    pub(crate) user: &'static str,
    /// Statements that create a user `guest` with password `g`, which may connect but not read tables.
    pub(crate) create_guest: &'static [&'static str],
    pub(crate) deadlock: &'static str,
    pub(crate) wrong_password: &'static str,
    pub(crate) unknown_database: &'static str,
    /// Counts the connections with an id, which follows.
    pub(crate) count_connections: &'static str,
    /// A statement that sleeps for 20 s.
    pub(crate) sleep: &'static str,
    /// A statement that the statement timeout stops, and its error code.
    pub(crate) slow: (&'static str, &'static str),
    pub(crate) encryption: Encryption<'a>,
}

/// URL parameters for encryption, by their effect. The server's certificate is valid for `localhost` only.
pub(crate) struct Encryption<'a> {
    /// Whether a connection is encrypted.
    pub(crate) is_encrypted: fn(&mut Conn) -> bool,
    pub(crate) plain: &'a [&'a str],
    pub(crate) encrypted: &'a [&'a str],
    /// Encrypted if the URL names the host `localhost`, refused if it has the address.
    pub(crate) verify_name: &'a str,
    pub(crate) refused: &'a [&'a str],
}

impl Driver<'_> {
    pub(crate) fn conform(&self) {
        self.identity();
        self.values();
        self.counts();
        self.first_statements();
        self.isolation_levels();
        self.constraints();
        self.lock_timeouts();
        if let Some(server) = &self.server {
            self.waiting();
            self.deadlocks(server);
            self.statement_limit(server);
            self.refusals(server);
            self.killed(server);
            self.encryption(&server.encryption);
        }
    }

    fn connect(&self) -> Conn {
        connect(&*open(self.url, None))
    }

    /// Two connections with a fresh table `t`.
    fn pair(&self, options: &Options) -> (Conn, Conn) {
        let database = open_with(self.url, None, options);
        let (mut a, b) = (connect(&*database), connect(&*database));
        two_rows(&mut a);
        (a, b)
    }

    /// A statement that is sent together with the begin belongs to the transaction.
    fn first_statements(&self) {
        let (mut a, mut b) = self.pair(&Options::default());
        let sum = Statement::plain("SELECT v FROM t WHERE k = 1");
        let change = Statement::plain("UPDATE t SET v = 7 WHERE k = 1");
        let value = |value: i64| Ok(Answer::Rows(vec![vec![Scalar::Int(value)]]));
        assert_eq!(a.begin_with(change), Ok(Answer::Count(1)));
        assert_eq!(read(&mut a, 1), Scalar::Int(7));
        a.rollback().expect("rollback");
        assert_eq!(b.begin_with(sum), value(0));
        b.commit().expect("commit");
        assert_eq!(a.begin_with(change), Ok(Answer::Count(1)));
        a.commit().expect("commit");
        assert_eq!(b.begin_with(sum), value(7));
        b.commit().expect("commit");
        fails(a.begin_with(Statement::plain("UPDATE nothing SET v = 8")), Class::Other);
        a.rollback().expect("rollback");
        assert_eq!(a.begin_with(sum), value(7));
        a.commit().expect("commit");
    }

    fn identity(&self) {
        let database = open(self.url, None);
        assert_eq!(database.vendor(), self.vendor);
        assert!(database.version().starts_with(self.version), "{}", database.version());
        assert_eq!(database.control().expect("an answer").is_some(), self.server.is_some());
        assert_eq!(connect(&*database).id().is_some(), self.server.is_some());
    }

    fn values(&self) {
        let mut c = self.connect();
        let Values { create, given, changed } = &self.values;
        for sql in *create {
            run(&mut c, sql, &[]);
        }
        let marks = vec!["?"; given.len()].join(", ");
        let insert = format!("INSERT INTO v VALUES ({marks})");
        assert_eq!(run(&mut c, &insert, given), 1);
        let mut expected = given.clone();
        for (column, value) in changed {
            expected[*column] = value.clone();
        }
        assert_eq!(rows(&mut c, "SELECT * FROM v", &[]), [expected]);
        let nulls = vec![Scalar::Null; given.len()];
        run(&mut c, &insert, &nulls);
        assert_eq!(rows(&mut c, "SELECT * FROM v WHERE a IS NULL", &[]), [nulls]);
        assert_eq!(rows(&mut c, "SELECT 1 FROM v WHERE 1 = 0", &[]).len(), 0);
        fails(try_run(&mut c, "SELEKT", &[]), Class::Other);
        fails(try_run(&mut c, "SELECT ?", &[]), Class::Other);
        fails(try_run(&mut c, "INSERT INTO nothing VALUES (1)", &[]), Class::Other);
    }

    fn counts(&self) {
        let mut c = self.connect();
        two_rows(&mut c);
        assert_eq!(run(&mut c, "UPDATE t SET v = 0", &[]), 2, "rows found, changed or not");
        assert_eq!(run(&mut c, "CREATE TABLE u (k INT)", &[]), 0, "not the count of the previous statement");
        assert_eq!(run(&mut c, "UPDATE t SET v = 1 WHERE k = ?", &[Scalar::Int(3)]), 0);
        assert_eq!(run(&mut c, "DELETE FROM t WHERE k = 2", &[]), 1);
    }

    fn isolation_levels(&self) {
        for row in isolations(self.vendor).iter().filter(|row| row.setting.is_none()) {
            for name in [row.name, row.sql] {
                let database = open(self.url, Some(name));
                assert_eq!(database.isolation(), Some(row));
                let Some(isolation) = self.isolation else { continue };
                let mut c = connect(&*database);
                assert_eq!(isolation(&mut c), row.name, "outside a transaction");
                c.begin().expect("begin");
                assert_eq!(isolation(&mut c), row.name);
                c.rollback().expect("rollback");
            }
        }
        let default = open(self.url, None).isolation().map(|row| row.name);
        assert_eq!(default, Some(self.default_isolation));
    }

    fn constraints(&self) {
        let mut c = self.connect();
        two_rows(&mut c);
        let failure = fails(try_run(&mut c, "INSERT INTO t VALUES (1, 1)", &[]), Class::Constraint);
        assert_eq!(failure.code.as_deref(), Some(self.duplicate_key));
        fails(try_run(&mut c, "INSERT INTO t VALUES (3, NULL)", &[]), Class::Constraint);
        run(&mut c, "CREATE TABLE small (k INT, CHECK (k < 9))", &[]);
        fails(try_run(&mut c, "INSERT INTO small VALUES (11)", &[]), Class::Constraint);
    }

    fn lock_timeouts(&self) {
        let (mut a, mut b) = self.pair(&impatient());
        a.begin().expect("begin");
        write(&mut a, 1, 1).expect("write");
        b.begin().expect("begin");
        let failure = fails(write(&mut b, 1, 2), Class::LockTimeout);
        assert_eq!(failure.code.as_deref(), Some(self.lock_timeout));
        b.rollback().expect("rollback");
        a.commit().expect("commit");
        assert_eq!(read(&mut b, 1), Scalar::Int(1));
    }

    /// A connection is waiting while, and only while, another one holds the lock it needs.
    fn waiting(&self) {
        let database = open_with(self.url, None, &patient());
        let (mut a, mut b) = (connect(&*database), connect(&*database));
        let mut control = control(&*database);
        two_rows(&mut a);
        let (first, second) = (a.id().expect("an id"), b.id().expect("an id"));
        a.begin().expect("begin");
        write(&mut a, 1, 1).expect("write");
        for id in [first, second] {
            assert!(!control.is_waiting(id).expect("an answer"));
        }
        let (result, ()) = meanwhile(
            &mut b,
            |b| write(b, 1, 2),
            || {
                until_waiting(&mut control, second, true);
                assert!(
                    !control.is_waiting(first).expect("an answer"),
                    "the holder of the lock does not wait"
                );
                a.commit().expect("commit");
                until_waiting(&mut control, second, false);
            },
        );
        result.expect("it got the lock");
    }

    fn deadlocks(&self, server: &Remote<'_>) {
        let (mut a, mut b) = self.pair(&patient());
        let (victim, failure) = deadlock(&mut a, &mut b);
        assert_eq!((failure.class, failure.code.as_deref()), (Class::Deadlock, Some(server.deadlock)));
        let (mut victim, mut other, expected) = if victim == 0 { (a, b, (21, 20)) } else { (b, a, (10, 11)) };
        // Some servers have ended the transaction by now, and would commit another statement on its own.
        fails(write(&mut victim, 1, 99), Class::RolledBack);
        fails(victim.commit(), Class::RolledBack);
        victim.rollback().expect("rollback");
        other.commit().expect("commit");
        let values = (read(&mut other, 1), read(&mut other, 2));
        assert_eq!(values, (Scalar::Int(expected.0), Scalar::Int(expected.1)));
    }

    fn statement_limit(&self, server: &Remote<'_>) {
        let options = Options { statement_limit: Duration::from_millis(500), ..Options::default() };
        let mut c = connect(&*open_with(self.url, None, &options));
        let (sql, code) = server.slow;
        assert_eq!(fails(try_run(&mut c, sql, &[]), Class::Other).code.as_deref(), Some(code));
        assert_eq!(one(&mut c, "SELECT 1"), Scalar::Int(1));
    }

    fn refusals(&self, server: &Remote<'_>) {
        let Remote { scheme, user, .. } = server;
        let place = self.url.rsplit_once('@').expect("a place").1;
        let options = Options::default();
        let failure = refusal(&format!("{scheme}://{user}:secret@{place}"), &options);
        assert_eq!((failure.class, failure.code.as_deref()), (Class::Denied, Some(server.wrong_password)));
        assert!(!failure.message.contains("secret"), "{failure}");
        assert!(failure.message.contains(&format!("\"{user}\"")), "{failure}");
        for user in [&format!("{user}@"), "root@", "", ":x@", "nobody:x@"] {
            assert_eq!(
                refusal(&format!("{scheme}://{user}{place}"), &options).class,
                Class::Denied,
                "{user}"
            );
        }
        let failure = refusal(&elsewhere(self.url), &options);
        assert_eq!((failure.class, failure.code.as_deref()), (Class::Other, Some(server.unknown_database)));
        assert!(failure.message.contains("nowhere") && failure.message.contains("127.0.0.1"), "{failure}");
        // No service listens on port 1 today.
        let failure = refusal(&format!("{scheme}://{user}@127.0.0.1:1/x"), &options);
        assert_eq!(failure.class, Class::Connection);
        assert!(failure.message.contains("127.0.0.1:1") && failure.message.contains("refused"), "{failure}");
        let failure = refusal(&format!("{scheme}://{user}@no-such-host.invalid/x"), &options);
        assert_eq!(failure.class, Class::Connection);

        let mut c = self.connect();
        two_rows(&mut c);
        for sql in server.create_guest {
            run(&mut c, sql, &[]);
        }
        let mut guest = connect(&*open(&format!("{scheme}://guest:g@{place}"), None));
        fails(try_run(&mut guest, "SELECT * FROM t", &[]), Class::Denied);
    }

    fn killed(&self, server: &Remote<'_>) {
        let database = open_with(self.url, None, &patient());
        let mut control = control(&*database);
        let soon = Duration::from_millis(200);

        // During a statement.
        let mut c = connect(&*database);
        let id = c.id().expect("an id");
        c.begin().expect("begin");
        let (result, ()) = meanwhile(
            &mut c,
            |c| try_run(c, server.sleep, &[]),
            || {
                thread::sleep(soon);
                control.kill(id).expect("killed");
            },
        );
        fails(result, Class::Connection);
        fails(c.rollback(), Class::Connection);
        fails(c.begin(), Class::Connection);

        // While it waits for a lock.
        let (mut a, mut b) = (connect(&*database), connect(&*database));
        two_rows(&mut a);
        a.begin().expect("begin");
        write(&mut a, 1, 1).expect("write");
        let id = b.id().expect("an id");
        let (result, ()) = meanwhile(
            &mut b,
            |b| write(b, 1, 2),
            || {
                until_waiting(&mut control, id, true);
                control.kill(id).expect("killed");
            },
        );
        fails(result, Class::Connection);
        a.rollback().expect("rollback");

        // Between statements: the next statement fails, even if it is a commit.
        let mut c = connect(&*database);
        c.begin().expect("begin");
        write(&mut c, 1, 77).expect("write");
        let id = c.id().expect("an id");
        control.kill(id).expect("killed");
        // The server ends the connection later than it confirms the kill.
        while one(&mut a, &format!("{} {}", server.count_connections, id.0)) != Scalar::Int(0) {
            thread::sleep(Duration::from_millis(3));
        }
        fails(c.commit(), Class::Connection);
        control.kill(id).expect("killing a closed connection is not an error");
        assert_eq!(read(&mut a, 1), Scalar::Int(0));
    }

    fn encryption(&self, encryption: &Encryption<'_>) {
        let is_encrypted = |url: &str, params: &str| {
            (encryption.is_encrypted)(&mut connect(&*open(&format!("{url}?{params}"), None)))
        };
        for params in encryption.plain {
            assert!(!is_encrypted(self.url, params), "{params}");
        }
        for params in encryption.encrypted {
            assert!(is_encrypted(self.url, params), "{params}");
        }
        let named = self.url.replace("127.0.0.1", "localhost");
        assert!(is_encrypted(&named, encryption.verify_name));
        for params in encryption.refused.iter().chain([&encryption.verify_name]) {
            let failure = refusal(&format!("{}?{params}", self.url), &Options::default());
            assert_eq!(failure.class, Class::Connection, "{params}: {failure}");
            assert!(failure.message.contains("certificate"), "{params}: {failure}");
        }
    }
}

/// At an isolation level with snapshots, a transaction cannot overwrite a row that another one has changed since its
/// snapshot.
pub(crate) fn stale_snapshots_cannot_write(url: &str, isolation: &str, code: &str) {
    let database = open(url, Some(isolation));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    assert_eq!(read(&mut a, 1), read(&mut b, 1));
    write(&mut a, 1, 1).expect("write");
    a.commit().expect("commit");
    assert_eq!(fails(write(&mut b, 1, 2), Class::Serialization).code.as_deref(), Some(code));
    b.rollback().expect("rollback");
    assert_eq!(read(&mut b, 1), Scalar::Int(1));
}

/// After a statement that makes the database give up the transaction, nothing of it is committed, and the connection
/// remains usable.
pub(crate) fn failed_transactions_do_not_commit(url: &str, failing: &str, class: Class) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    c.begin().expect("begin");
    write(&mut c, 1, 1).expect("write");
    fails(try_run(&mut c, failing, &[]), class);
    fails(try_run(&mut c, "SELECT 1", &[]), Class::RolledBack);
    fails(write(&mut c, 2, 2), Class::RolledBack);
    fails(c.commit(), Class::RolledBack);
    assert_eq!((read(&mut c, 1), read(&mut c, 2)), (Scalar::Int(0), Scalar::Int(0)));
    c.rollback().expect("a rollback after the end is not an error");
    c.begin().expect("begin");
    write(&mut c, 1, 2).expect("write");
    c.commit().expect("commit");
    assert_eq!(read(&mut c, 1), Scalar::Int(2));
}
