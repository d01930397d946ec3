//! UPDATE, DELETE and SELECT FOR UPDATE of PostgreSQL at *read committed*: rows are found at the snapshot of the statement
//! and tested again on their newest version; all other rows are those of the snapshot.
//!
//! Answers are those of PostgreSQL 15.18 with two sessions, of which the first commits while the second waits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_sql::{
    Change, Database, Dialect, Effect, ErrorClass, Reply, RowId, Sarg, Settings, Statement, TableId, Value,
    View, recheck, targets,
};

/// A snapshot, and what other sessions have committed since.
struct Scene {
    snapshot: Database,
    newest: Database,
}

/// The rows of a table, in order of their first column.
fn rows(database: &Database, table: &str) -> Vec<(RowId, Vec<Value>)> {
    let id = database.catalog().table(table).unwrap().id;
    let mut rows = Vec::new();
    database.scan(id, &Sarg::default(), &mut |id, row| {
        rows.push((id, row.to_vec()));
        true
    });
    rows.sort_by(|(_, a), (_, b)| a[0].cmp(&b[0]));
    rows
}

fn ints(rows: &[Vec<Value>]) -> Vec<Vec<i64>> {
    let int = |value: &Value| match value {
        Value::Int(n) => *n,
        other => panic!("{other} is not an integer"),
    };
    rows.iter().map(|row| row.iter().map(int).collect()).collect()
}

impl Scene {
    /// Tables `t (id, a)` with (1, 10), (2, 20), (3, 30) and `u (id, x)` with (1, 1), (2, 2).
    fn new(since: &[&str]) -> Scene {
        Scene::of(Dialect::Postgres, since)
    }

    fn of(dialect: Dialect, since: &[&str]) -> Scene {
        let mut snapshot = Database::new(Settings::new(dialect));
        for sql in [
            "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
            "CREATE TABLE u (id INT PRIMARY KEY, x INT)",
            "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
            "INSERT INTO u VALUES (1, 1), (2, 2)",
        ] {
            snapshot.run(sql, &[]).unwrap();
        }
        let mut newest = snapshot.clone();
        for sql in since {
            newest.run(sql, &[]).unwrap();
        }
        Scene { snapshot, newest }
    }

    fn parse(&self, sql: &str) -> Statement {
        Statement::parse(self.snapshot.catalog().settings().dialect, sql).unwrap()
    }

    /// The first columns of the rows that a statement finds at the snapshot.
    fn found(&self, sql: &str) -> Vec<i64> {
        let (table, found) = targets(&self.parse(sql), &[], &self.snapshot).unwrap();
        let row = |id| self.snapshot.row(table, id).unwrap();
        let mut ids: Vec<i64> = found.into_iter().map(|id| ints(&[row(id)])[0][0]).collect();
        ids.sort_unstable();
        ids
    }

    /// What a statement does to one row, which is given by its first column at the snapshot.
    fn one(&self, sql: &str, key: i64) -> Effect {
        let (id, _) =
            rows(&self.snapshot, "t").into_iter().find(|(_, row)| row[0] == Value::Int(key)).unwrap();
        let table = self.table();
        let newest = self.newest.row(table, id).unwrap();
        recheck(&self.parse(sql), &[], &self.snapshot, id, &newest, 0).unwrap()
    }

    fn table(&self) -> TableId {
        self.snapshot.catalog().table("t").unwrap().id
    }

    /// Runs a statement as PostgreSQL does. Returns the rows of `t` afterwards, and how many rows count.
    fn run(mut self, sql: &str) -> (Vec<Vec<i64>>, u64) {
        let statement = self.parse(sql);
        let (table, found) = targets(&statement, &[], &self.snapshot).unwrap();
        let mut total = 0;
        for id in found {
            // A row that is deleted meanwhile is skipped.
            let Some(newest) = self.newest.row(table, id) else { continue };
            let effect = recheck(&statement, &[], &self.snapshot, id, &newest, 0).unwrap();
            assert!(effect.doubts.is_empty());
            let Reply::Count(count) = effect.reply else { panic!("{sql} answers rows") };
            assert_eq!(count, effect.changes.len() as u64);
            total += count;
            self.newest.apply(&effect.changes);
        }
        let rows: Vec<Vec<Value>> = rows(&self.newest, "t").into_iter().map(|(_, row)| row).collect();
        (ints(&rows), total)
    }
}

#[test]
fn a_row_that_still_matches_is_changed_from_its_newest_values() {
    let since = ["UPDATE t SET a = 15 WHERE id = 1"];
    let (rows, count) = Scene::new(&since).run("UPDATE t SET a = a + 100 WHERE a < 20");
    assert_eq!((rows, count), (vec![vec![1, 115], vec![2, 20], vec![3, 30]], 1));
    let (rows, count) = Scene::new(&since).run("DELETE FROM t WHERE a < 20");
    assert_eq!((rows, count), (vec![vec![2, 20], vec![3, 30]], 1));
}

#[test]
fn a_row_that_no_longer_matches_is_left_alone() {
    let since = ["UPDATE t SET a = 50 WHERE id = 1"];
    for sql in ["UPDATE t SET a = 0 WHERE a < 25", "DELETE FROM t WHERE a < 25"] {
        let scene = Scene::new(&since);
        assert_eq!(scene.found(sql), [1, 2]);
        let effect = scene.one(sql, 1);
        assert_eq!((effect.reply, effect.changes), (Reply::Count(0), vec![]));
    }
    let (rows, count) = Scene::new(&since).run("UPDATE t SET a = 0 WHERE a < 25");
    assert_eq!((rows, count), (vec![vec![1, 50], vec![2, 0], vec![3, 30]], 1));
    let (rows, count) = Scene::new(&since).run("DELETE FROM t WHERE a < 25");
    assert_eq!((rows, count), (vec![vec![1, 50], vec![3, 30]], 1));
}

/// The example of PostgreSQL's manual, section 13.2.1: one row no longer matches, the other matches only now.
#[test]
fn a_row_that_matches_only_now_is_missed() {
    let since = ["UPDATE t SET a = a + 10"];
    let scene = Scene::new(&since);
    assert_eq!(scene.found("DELETE FROM t WHERE a = 20"), [2]);
    let (rows, count) = scene.run("DELETE FROM t WHERE a = 20");
    assert_eq!((rows, count), (vec![vec![1, 20], vec![2, 30], vec![3, 40]], 0));
    let (rows, count) = Scene::new(&since).run("UPDATE t SET a = 0 WHERE a = 40");
    assert_eq!((rows, count), (vec![vec![1, 20], vec![2, 30], vec![3, 40]], 0));
    let (rows, count) = Scene::new(&["INSERT INTO t VALUES (4, 20)"]).run("DELETE FROM t WHERE a = 20");
    assert_eq!((rows, count), (vec![vec![1, 10], vec![3, 30], vec![4, 20]], 1));
}

#[test]
fn a_row_that_is_deleted_meanwhile_is_skipped() {
    let since = ["DELETE FROM t WHERE id = 2"];
    let (rows, count) = Scene::new(&since).run("UPDATE t SET a = 0 WHERE a > 10");
    assert_eq!((rows, count), (vec![vec![1, 10], vec![3, 0]], 1));
}

/// The condition is on the key, by which the snapshot finds rows without a scan.
#[test]
fn a_row_whose_key_changed_is_tested_with_its_new_key() {
    let since = ["UPDATE t SET id = 7 WHERE id = 1"];
    for sql in ["UPDATE t SET a = 0 WHERE id = 1", "DELETE FROM t WHERE id = 1"] {
        let scene = Scene::new(&since);
        assert_eq!(scene.found(sql), [1]);
        assert_eq!(scene.one(sql, 1).changes, []);
    }
    let scene = Scene::new(&since);
    let sql = "UPDATE t SET a = 0 WHERE id IN (1, 7)";
    let effect = scene.one(sql, 1);
    let Change::Update(_, _, row) = &effect.changes[0] else { panic!("{effect:?}") };
    assert_eq!(ints(&[row.to_vec()]), [[7, 0]]);
}

#[test]
fn other_tables_are_seen_at_the_snapshot() {
    let since = ["UPDATE t SET a = 11 WHERE id = 1", "UPDATE u SET x = 1000", "DELETE FROM u WHERE id = 2"];
    let (rows, _) = Scene::new(&since).run("UPDATE t SET a = a + (SELECT SUM(x) FROM u) WHERE a < 15");
    assert_eq!(rows[0], [1, 14]);
    let (rows, _) = Scene::new(&since).run("UPDATE t SET a = a + u.x FROM u WHERE u.id = t.id");
    assert_eq!(rows, [[1, 12], [2, 22], [3, 30]]);
    let (rows, _) = Scene::new(&since).run("DELETE FROM t USING u WHERE u.id = t.id AND u.x < t.a");
    assert_eq!(rows, [[3, 30]]);
}

/// Only the row of the target is the newest: a subquery over the same table sees the snapshot.
#[test]
fn a_subquery_over_the_target_sees_the_snapshot() {
    let since = ["UPDATE t SET a = 500 WHERE id = 3"];
    let (rows, count) =
        Scene::new(&since).run("UPDATE t SET a = a + (SELECT MAX(x.a) FROM t x) WHERE id = 3");
    assert_eq!((rows, count), (vec![vec![1, 10], vec![2, 20], vec![3, 530]], 1));
}

#[test]
fn returning_shows_the_newest_values() {
    let scene = Scene::new(&["UPDATE t SET a = 15 WHERE id = 1"]);
    for (sql, expected) in [
        ("UPDATE t SET a = a + 1 WHERE a < 20 RETURNING id, a", vec![vec![1, 16]]),
        ("DELETE FROM t WHERE a < 20 RETURNING id, a", vec![vec![1, 15]]),
        ("DELETE FROM t WHERE a < 12 RETURNING id, a", vec![]),
    ] {
        let Reply::Rows(rows) = scene.one(sql, 1).reply else { panic!("{sql} answers a count") };
        assert_eq!(ints(rows.chosen()), expected, "{sql}");
    }
}

#[test]
fn select_for_update_returns_the_newest_values() {
    let scene = Scene::new(&["UPDATE t SET a = 15 WHERE id = 1", "UPDATE t SET a = 99 WHERE id = 2"]);
    let sql = "SELECT id, a FROM t WHERE a < 25 FOR UPDATE";
    assert_eq!(scene.found(sql), [1, 2]);
    for (key, expected) in [(1, vec![vec![1, 15]]), (2, vec![])] {
        let effect = scene.one(sql, key);
        let Reply::Rows(rows) = effect.reply else { panic!("{sql} answers a count") };
        assert_eq!(ints(rows.chosen()), expected);
        assert_eq!(effect.changes, []);
    }
}

#[test]
fn every_dialect_finds_the_same_rows() {
    for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
        let scene = Scene::of(dialect, &["UPDATE t SET a = a + 5"]);
        assert_eq!(scene.found("UPDATE t SET a = 0 WHERE a BETWEEN 15 AND 30"), [2, 3]);
        let (rows, count) = scene.run("UPDATE t SET a = 0 WHERE a BETWEEN 15 AND 30");
        assert_eq!((rows, count), (vec![vec![1, 15], vec![2, 0], vec![3, 35]], 1), "{dialect:?}");
    }
}

#[test]
fn statements_without_a_target_are_refused() {
    let scene = Scene::new(&[]);
    for sql in ["SELECT * FROM t", "INSERT INTO t VALUES (9, 9)", "CREATE TABLE w (a INT)"] {
        let error = targets(&scene.parse(sql), &[], &scene.snapshot).unwrap_err();
        assert_eq!(error.class, ErrorClass::Unsupported, "{sql}");
    }
}
