//! The applications on plain tables, one transaction after the other, and the accesses that `MonkeyDB` would have.
//!
//! `MonkeyDB`, on which the experiments with `IsoPredict` ran, has no index: a statement reads the existence and the columns of
//! its WHERE of every row that was ever inserted, and then the columns that it selects. An UPDATE or DELETE of a row that was
//! read adds no reads: some of ours, one for each line of an order, are one statement in the specification. Its counts can be compared with the
//! paper's table 3; the accesses of our own histories are far fewer. The tables here are lists of rows, without keys of a
//! history: a reference for what the operations mean.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::BTreeMap;

use isoscope_application::{
    Application, Bank, BankSpec, Books, Call, Direction, Field, Hotspot, Operations, Row, Select, SmallBank,
    SmallBankSpec, Stopped, Table, Tables, Tpcc, TpccSpec, Voter, VoterSpec, Wikipedia, WikipediaSpec,
};

/// A row, and whether it exists.
type Stored = (Vec<Field>, bool);

#[derive(Clone, Default)]
struct Plain {
    tables: BTreeMap<&'static str, Vec<Stored>>,
    reads: u64,
    writes: u64,
    brought: i64,
    failure: Option<String>,
    /// The rows that the transaction has updated.
    updated: Vec<(&'static str, Vec<Field>)>,
}

impl Plain {
    fn load(application: &dyn Application) -> Plain {
        let mut plain = Plain::default();
        for contents in application.tables() {
            for row in &contents.rows {
                assert_eq!(row.len(), contents.columns.len(), "{row:?}");
                assert!(row.iter().zip(contents.columns).all(|(field, it)| it.accepts(field)), "{row:?}");
            }
            let rows = contents.rows.iter().map(|row| (row.clone(), true)).collect();
            plain.tables.insert(contents.name, rows);
        }
        plain
    }

    /// Reads every row that was ever inserted. Returns the positions of those that match.
    fn scan(&mut self, select: &Select) -> Vec<usize> {
        let table = select.table;
        let rows = &self.tables[table.name];
        let wheres = (select.equal.len() + usize::from(select.between.is_some())) as u64;
        self.reads += rows.len() as u64 * (1 + wheres);
        let is_equal =
            |row: &[Field]| select.equal.iter().all(|(column, wanted)| row[table.place(column)] == *wanted);
        let is_between = |row: &[Field]| {
            let is_in = |(column, low, high): &(&str, Field, Field)| {
                (low..=high).contains(&&row[table.place(column)])
            };
            select.between.iter().all(is_in)
        };
        let found =
            rows.iter().enumerate().filter(|(_, (row, exists))| *exists && is_equal(row) && is_between(row));
        found.map(|(place, _)| place).collect()
    }

    /// Finds a row that the transaction has read, without reading it again.
    fn one(&mut self, table: &'static Table, key: &[Field]) -> Option<usize> {
        let is_it = |(row, exists): &Stored| *exists && table.key_of(row) == key;
        self.tables[table.name].iter().position(is_it)
    }
}

impl Operations for Plain {
    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Stopped> {
        let (table, places) = (select.table, self.scan(select));
        let mut rows: Vec<&Vec<Field>> =
            places.iter().map(|&place| &self.tables[table.name][place].0).collect();
        if let Some(direction) = select.order {
            let columns = select.ordered_by();
            rows.sort_by_key(|row| {
                columns.iter().map(|column| row[table.place(column)].clone()).collect::<Vec<_>>()
            });
            if direction == Direction::Descending {
                rows.reverse();
            }
        }
        rows.truncate(select.limit.map_or(usize::MAX, |limit| limit as usize));
        for row in rows.iter().filter(|_| select.changing().next().is_some()) {
            let row = (table.name, table.key_of(row));
            assert!(!self.updated.contains(&row), "{row:?} is read after it was updated");
        }
        let is_read = |column: &&&str| !select.equal.iter().any(|(equal, _)| equal == *column);
        self.reads += (rows.len() * select.columns.iter().filter(is_read).count()) as u64;
        let columns =
            |row: &Vec<Field>| select.columns.iter().map(|column| row[table.place(column)].clone()).collect();
        Ok(rows.into_iter().map(|row| Row(columns(row))).collect())
    }

    fn update(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<bool, Stopped> {
        let Some(place) = self.one(table, key) else { return Ok(false) };
        self.writes += set.len() as u64;
        self.updated.push((table.name, key.to_vec()));
        for (column, field) in set {
            assert!(table.column(column).accepts(field), "{column} {field:?}");
            self.tables.get_mut(table.name).unwrap()[place].0[table.place(column)] = field.clone();
        }
        Ok(true)
    }

    fn insert(&mut self, table: &'static Table, row: &[Field]) -> Result<(), Stopped> {
        assert!(row.iter().zip(table.columns).all(|(field, column)| column.accepts(field)), "{row:?}");
        self.writes += 1 + row.len() as u64;
        let rows = self.tables.get_mut(table.name).unwrap();
        let is_same = |(other, exists): &Stored| *exists && table.key_of(other) == table.key_of(row);
        assert!(!rows.iter().any(is_same), "{row:?} exists already");
        rows.push((row.to_vec(), true));
        Ok(())
    }

    fn delete(&mut self, table: &'static Table, key: &[Field]) -> Result<bool, Stopped> {
        let Some(place) = self.one(table, key) else { return Ok(false) };
        self.writes += 1;
        self.tables.get_mut(table.name).unwrap()[place].1 = false;
        Ok(true)
    }

    fn brings(&mut self, amount: i64) {
        self.brought += amount;
    }

    fn fail(&mut self, message: String) -> Stopped {
        self.failure = Some(message);
        Stopped
    }
}

impl Tables for Plain {
    fn rows(&mut self, table: &'static Table, columns: &[&'static str]) -> Result<Vec<Row>, Stopped> {
        let mut rows: Vec<&Vec<Field>> =
            self.tables[table.name].iter().filter(|(_, exists)| *exists).map(|(row, _)| row).collect();
        rows.sort_by_key(|row| table.key_of(row));
        let fields =
            |row: &Vec<Field>| columns.iter().map(|column| row[table.place(column)].clone()).collect();
        Ok(rows.into_iter().map(|row| Row(fields(row))).collect())
    }
}

/// Reads, writes, committed and read-only transactions.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    writes: u64,
    committed: u64,
    read_only: u64,
}

/// Runs the sessions in turns. The rules hold at the end.
fn serial(application: &dyn Application, sessions: u32, txns: u64, seed: u64) -> Counts {
    let mut plain = Plain::load(application);
    assert_eq!(application.rules(&mut plain.clone(), Books::default()), Ok(Vec::new()), "the initial rows");
    let mut counts = Counts::default();
    for number in 0..txns {
        for session in 0..sessions {
            let (before, call) = (plain.clone(), Call { session, number });
            plain.updated.clear();
            let ended = application.run(call, seed, &mut plain);
            let ended = ended.unwrap_or_else(|Stopped| panic!("{call:?}: {:?}", plain.failure));
            if ended {
                counts.committed += 1;
                counts.read_only += u64::from(plain.writes == before.writes);
                counts.reads += plain.reads - before.reads;
                counts.writes += plain.writes - before.writes;
            } else {
                plain = before;
            }
        }
    }
    let books = Books { least: plain.brought, most: plain.brought };
    let broken = application.rules(&mut plain, books);
    assert_eq!(broken, Ok(Vec::new()), "{} seed {seed}", application.name());
    counts
}

/// The averages over ten seeds, as a line.
fn averages(application: &dyn Application, txns: u64) -> (String, [f64; 4]) {
    let all: Vec<Counts> = (1..=10).map(|seed| serial(application, 3, txns, seed)).collect();
    let mean = |count: fn(&Counts) -> u64| all.iter().map(count).sum::<u64>() as f64 / 10.0;
    let means = [mean(|it| it.reads), mean(|it| it.writes), mean(|it| it.committed), mean(|it| it.read_only)];
    let [reads, writes, committed, read_only] = means;
    (
        format!("{} 3x{txns}: {reads:.1}/{writes:.1}/{committed:.1} ({read_only:.1})", application.name()),
        means,
    )
}

#[test]
fn the_paper_sizes_have_the_accesses_of_the_paper() {
    let voter = Voter::new(VoterSpec::paper()).unwrap();
    let tpcc = Tpcc::new(TpccSpec::paper()).unwrap();
    let wikipedia = Wikipedia::new(WikipediaSpec::paper()).unwrap();
    // Reads, writes, committed and read-only of table 3.
    let mix = [15, 15, 15, 15, 15, 25];
    let spec = SmallBankSpec { customers: 10, mix, hotspot: Hotspot::NONE, ..SmallBankSpec::default() };
    let small_bank = SmallBank::new(spec).unwrap();
    let rows: [(&dyn Application, u64, [f64; 4]); 8] = [
        (&small_bank, 4, [669.7, 14.7, 11.0, 3.5]),
        (&small_bank, 8, [1271.3, 30.5, 20.3, 6.6]),
        (&voter, 4, [763.0, 6.0, 12.0, 11.0]),
        (&voter, 8, [919.0, 6.0, 24.0, 23.0]),
        (&tpcc, 4, [3297.3, 763.0, 11.9, 0.9]),
        (&tpcc, 8, [7025.6, 1502.4, 23.8, 1.7]),
        (&wikipedia, 4, [1067.7, 55.1, 9.9, 8.8]),
        (&wikipedia, 8, [2677.1, 111.1, 22.8, 20.6]),
    ];
    for (application, txns, paper) in rows {
        let (line, means) = averages(application, txns);
        println!("{line}; the paper has {paper:?}");
        // The same order of magnitude: tables have fewer columns here.
        for (mean, paper) in means.into_iter().zip(paper).take(2) {
            assert!(mean > paper / 4.0 && mean < paper * 2.0, "{line}; the paper has {paper:?}");
        }
        assert!((means[2] - paper[2]).abs() < 3.0, "{line}; the paper has {paper:?}");
    }
    let (_, means) = averages(&voter, 4);
    assert_eq!(means[1..], [6.0, 12.0, 11.0]);
}

#[test]
fn serial_runs_break_no_rule() {
    let tpcc =
        TpccSpec { warehouses: 2, districts: 3, customers: 7, items: 9, sessions: 4, ..TpccSpec::default() };
    let wikipedia = WikipediaSpec { mix: [3, 3, 5, 2, 1], ..WikipediaSpec::default() };
    let applications: [Box<dyn Application>; 6] = [
        Box::new(Bank::new(BankSpec::default()).unwrap()),
        Box::new(SmallBank::new(SmallBankSpec::default()).unwrap()),
        Box::new(Voter::new(VoterSpec::default()).unwrap()),
        Box::new(Tpcc::new(tpcc).unwrap()),
        Box::new(Tpcc::new(TpccSpec::default()).unwrap()),
        Box::new(Wikipedia::new(wikipedia).unwrap()),
    ];
    for application in applications {
        for seed in 0..5 {
            assert!(serial(&*application, 4, 40, seed).committed > 60);
        }
    }
}
