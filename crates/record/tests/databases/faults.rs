//! Private servers: pausing, crashing, restarting and stopping them.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use isoscope_record::{Class, Options, Scalar, Server, ServerError, ServerKind, Target};

use crate::conformance::failed_transactions_do_not_commit;
use crate::support::{Conn, connect, control, fails, meanwhile, open, read, refusal, start, two_rows, write};

#[test]
fn postgres_server() {
    let mut server = start(ServerKind::Postgres, &["track_commit_timestamp=off", "max_connections=50"]);
    failed_transactions_do_not_commit(&server.url(), "SELECT 1/0", Class::Other);
    faults(&mut server);
    ends(server);
}

#[test]
fn mariadb_server() {
    let mut server = start(ServerKind::MariaDb, &["max_connections=50"]);
    faults(&mut server);
    ends(server);
}

#[test]
fn invalid_settings_are_refused() {
    let failure = Server::start(ServerKind::Postgres, &["work_mem"]).expect_err("no value");
    assert!(matches!(&failure, ServerError::Setting(_)), "{failure}");
    for (kind, log) in [(ServerKind::Postgres, "no_such_thing"), (ServerKind::MariaDb, "no_such_thing")] {
        let failure = Server::start(kind, &["no_such_thing=1"]).expect_err("unknown");
        assert!(failure.to_string().contains(log), "{failure}");
        assert!(failure.to_string().contains("ended right after"), "{failure}");
    }
}

#[test]
fn missing_programs_are_named_with_their_packages() {
    for (kind, program, package) in [
        (ServerKind::Postgres, "initdb", "`postgresql`"),
        (ServerKind::MariaDb, "mariadbd", "`mariadb-server-core`"),
    ] {
        let message = ServerError::Missing { kind, program }.to_string();
        assert!(message.contains(program) && message.contains(package), "{message}");
    }
}

fn faults(server: &mut Server) {
    let url = server.url();
    let database = open(&url, None);
    let mut c = connect(&*database);
    two_rows(&mut c);

    // A paused server answers a statement after it resumes.
    server.pause().expect("paused");
    let pause = Duration::from_millis(400);
    let start = Instant::now();
    let (result, ()) = meanwhile(
        &mut c,
        |c| write(c, 1, 1),
        || {
            thread::sleep(pause);
            server.resume().expect("resumed");
        },
    );
    result.expect("answered late");
    assert!(start.elapsed() >= pause);

    // Connections with shorter limits time out, for statements and for connecting.
    let options = Options {
        connect_limit: Duration::from_millis(1500),
        statement_limit: Duration::from_millis(500),
        ..Options::default()
    };
    let mut hasty = hastily_begun(&url, &options);
    // The paused server never answers, so only the limits end what follows.
    server.pause().expect("paused");
    assert_eq!(refusal(&url, &options).class, Class::Connection);
    fails(hasty.commit(), Class::Connection);
    fails(hasty.begin(), Class::Connection);
    server.resume().expect("resumed");

    // A crash during a commit keeps what was committed before and nothing else.
    let mut open_one = connect(&*database);
    open_one.begin().expect("begin");
    write(&mut open_one, 2, 9).expect("write");
    c.begin().expect("begin");
    write(&mut c, 1, 2).expect("write");
    let mut control = control(&*database);
    let before = server.pid();
    server.pause().expect("paused");
    let (result, ()) = meanwhile(
        &mut c,
        |c| c.commit(),
        || {
            thread::sleep(Duration::from_millis(100));
            server.restart().expect("started again");
        },
    );
    fails(result, Class::Connection);
    fails(open_one.commit(), Class::Connection);
    fails(control.is_waiting(open_one.id().expect("an id")), Class::Connection);
    assert_ne!(server.pid(), before);
    assert_eq!(server.url(), url, "the same address");
    let mut c = connect(&*database);
    assert_eq!((read(&mut c, 1), read(&mut c, 2)), (Scalar::Int(1), Scalar::Int(0)));
}

/// A connection with short limits that has begun a transaction. On a busy machine that may take several attempts.
fn hastily_begun(url: &str, options: &Options) -> Conn {
    let target = Target::parse(url).expect("a URL");
    let begun = || {
        let mut c = target.open(None, options).ok()?.connect().ok()?;
        c.begin().ok()?;
        Some(c)
    };
    std::iter::repeat_with(begun).flatten().next().expect("endless")
}

fn ends(mut server: Server) {
    let directory = server.directory().to_owned();
    let pid = server.pid().expect("a process");
    let url = server.url();
    let mut c = connect(&*open(&url, None));
    server.pause().expect("paused");
    server.stop().expect("stopped, although it was paused");
    assert_eq!(server.pid(), None);
    fails(c.begin(), Class::Connection);
    assert_eq!(refusal(&url, &Options::default()).class, Class::Connection);
    server.stop().expect("stopping twice is not an error");
    drop(server);
    assert!(!fs::exists(directory).expect("an answer"));
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
