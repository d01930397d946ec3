//! The cost of recording: the rate of a workload with and without it, measured alternately in one run.
//!
//! ```text
//! cargo bench -p isoscope-record
//! ```
//!
//! With the in-memory store nothing else takes time, so the rate is that of the recorder itself. With
//! PostgreSQL, in a private server, the same transactions of the same seed run alternately with all that
//! recording does (clocks, lines, the file) and without it.
#![allow(clippy::print_stdout, reason = "a benchmark is a program")]

use std::thread;
use std::time::{Duration, Instant};

use isoscope_levels::Level;
use isoscope_record::{
    Client, Database, KeyValueClient, Limits, MemoryStore, Monitor, Options, Output, Plan, PlanSpec, Record,
    Server, ServerKind, Sink, Tables, Target, run,
};

const TURNS: u64 = 10;

fn main() {
    memory();
    postgres();
}

fn plan(sessions: u32, keys: u32) -> Plan {
    Plan::new(PlanSpec { sessions, ops: 8, keys, seed: 1, ..PlanSpec::default() }).expect("a plan")
}

fn file() -> Output {
    Box::new(tempfile::tempfile().expect("a temporary file"))
}

fn memory() {
    println!("{:<14} {:>8} {:>14} {:>22}", "in memory", "sessions", "operations/s", "operations/s a session");
    for sessions in [1, 2, 4, 8] {
        let plan = plan(sessions, 10_000);
        let store = MemoryStore::new(Level::Serializable, Vec::new(), &plan);
        let client = |session| -> Box<dyn Client + '_> {
            Box::new(KeyValueClient::new(&plan, session, Box::new(store.session(session))))
        };
        let clients = (0..sessions).map(client).collect();
        let (sink, monitor) = (Sink::new(Some(file()), None), Monitor::new(sessions as usize));
        let limits = Limits { txns: Some(400_000 / u64::from(sessions)), ..Limits::default() };
        let began = Instant::now();
        run(clients, &limits, &sink, &monitor).expect("the run ends well");
        sink.finish().expect("the file takes everything");
        let rate = monitor.figures().operations as f64 / began.elapsed().as_secs_f64();
        println!("{:<14} {sessions:>8} {rate:>14.0} {:>22.0}", "", rate / f64::from(sessions));
    }
}

fn postgres() {
    let Ok(server) = Server::start::<&str>(ServerKind::Postgres, &[]) else {
        println!("\nPostgreSQL is not installed here");
        return;
    };
    let target = Target::parse(&server.url()).expect("a server has a proper URL");
    let database = target.open(Some("repeatable-read"), &Options::default()).expect("the server runs");
    println!(
        "\n{:<14} {:>8} {:>14} {:>14} {:>9}",
        "PostgreSQL", "sessions", "recorded/s", "not recorded/s", "ratio"
    );
    for sessions in [1, 2, 4, 8] {
        let plan = plan(sessions, 1_000);
        Tables::create(database.as_ref(), &plan, &mut Record::new(false)).expect("the table is made");
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            with.push(recorded(database.as_ref(), &plan));
            without.push(unrecorded(database.as_ref(), &plan));
        }
        let (with, without) = (median(with), median(without));
        println!("{:<14} {sessions:>8} {with:>14.0} {without:>14.0} {:>9.3}", "", with / without);
    }
}

/// Long enough for a stable rate, short enough to alternate.
const TIME: Duration = Duration::from_millis(700);

fn clients<'a>(database: &'a dyn Database, plan: &'a Plan) -> Vec<Box<dyn Client + 'a>> {
    let client = |session| -> Box<dyn Client + 'a> {
        let tables = Tables::connect(database).expect("a connection");
        Box::new(KeyValueClient::new(plan, session, Box::new(tables)))
    };
    (0..plan.spec.sessions).map(client).collect()
}

/// Transactions per second with everything recorded.
fn recorded(database: &dyn Database, plan: &Plan) -> f64 {
    let (sink, monitor) = (Sink::new(Some(file()), None), Monitor::new(plan.spec.sessions as usize));
    let limits = Limits { txns: None, duration: Some(TIME), ..Limits::default() };
    let clients = clients(database, plan);
    let began = Instant::now();
    run(clients, &limits, &sink, &monitor).expect("the run ends well");
    sink.finish().expect("the file takes everything");
    monitor.figures().transactions() as f64 / began.elapsed().as_secs_f64()
}

/// Transactions per second with nothing recorded.
fn unrecorded(database: &dyn Database, plan: &Plan) -> f64 {
    let clients = clients(database, plan);
    let began = Instant::now();
    let done: u64 = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                scope.spawn(move || {
                    let (mut record, mut done) = (Record::new(false), 0);
                    while began.elapsed() < TIME {
                        record.clear();
                        let ended = match client.execute(done, 0, &mut record) {
                            Ok(_) => client.commit().map(drop),
                            Err(failure) => Err(failure),
                        };
                        if ended.is_err() {
                            let _ = client.rollback();
                        }
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no client panics")).sum()
    });
    done as f64 / began.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
