//! No text panics: damaged statements of the fixtures and sequences of random words, parsed and run on a small database.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p isoscope-sql --test fuzz` runs more. The ordinary run is deterministic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::path::Path;
use std::sync::LazyLock;

use isoscope_log::Scalar;
use isoscope_sql::{Database, Dialect, RowId, Settings, Statement, Value, recheck, targets};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

/// Words of statements. Phrases keep random sequences close to what the parser accepts.
const WORDS: &str = "SELECT|INSERT INTO|UPDATE|DELETE FROM|VALUES|FROM|WHERE|SET|AND|OR|NOT|IS NULL|IS NOT TRUE|IN|EXISTS|\
    BETWEEN|LIKE|ESCAPE|CASE|WHEN|THEN|ELSE|END|JOIN|LEFT JOIN|ON|USING|GROUP BY|HAVING|ORDER BY|LIMIT|OFFSET|UNION|\
    EXCEPT ALL|INTERSECT|DISTINCT|AS|WITH|RECURSIVE|RETURNING|ON CONFLICT|DO NOTHING|DO UPDATE SET|ON DUPLICATE KEY UPDATE|\
    FOR UPDATE|CREATE TABLE|PRIMARY KEY|UNIQUE|CHECK|REFERENCES|DEFAULT|ALTER TABLE|DROP TABLE|CREATE VIEW|\
    CREATE UNIQUE INDEX i|TRUNCATE|INTERVAL|DATE|CAST|SUBSTRING|LPAD|ROUND|POWER|COUNT|SUM|AVG|MIN|MAX|STRING_AGG|\
    GROUP_CONCAT|COALESCE|NULLIF|EXTRACT|YEAR|INTERVAL '1 day'|t|u|v|t.id|t.a|u.b|u.d|excluded.a|id|a|b|c|d|*|t.*|+|-|/|%|\
    ||,|,|,|(|(|)|)|=|<|>|<=|<>|<=>|&|<<|~|::|::int|::date|::numeric(5, 2)|AS SIGNED|AS CHAR|?|;|.|NULL|TRUE|0|1|-1|2|0.5|\
    1e308|2147483647|9223372036854775807|-9223372036854775808|18446744073709551615|99999999999999999999|'a'|''|'%'|'ä𝄞'|\
    '2024-02-29'|'9999-12-31 23:59:59'|'NaN'|'infinity'|'-1e400'|x'00ff'|INT|TEXT|NUMERIC(1000, 1000)|CHAR(3)|BIGINT UNSIGNED|\
    CREATE PROCEDURE p ()|CREATE FUNCTION f () RETURNS INT|BEGIN|DECLARE x INT|IF|END IF|WHILE|DO|END WHILE|RETURN|CALL p ()|\
    LANGUAGE plpgsql|$$|`|\"|'|--|/*|*/|\\|\u{0}|ß";

/// The statements of the fixtures.
static STATEMENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        statements.extend(text.lines().filter_map(|line| line.split_once("> ")).map(|it| it.1.to_owned()));
    }
    // The order of a directory is not fixed.
    statements.sort();
    statements.dedup();
    statements
});

/// A database with two tables and a view.
fn database(dialect: Dialect) -> Database {
    let mut database = Database::new(Settings::new(dialect));
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, a INT UNIQUE, b TEXT, c NUMERIC(8, 2), d DATE)",
        "CREATE TABLE u (id INT PRIMARY KEY, a INT REFERENCES t (id), b VARCHAR(4), c DOUBLE PRECISION)",
        "CREATE VIEW v AS SELECT id, a, b FROM t WHERE a > 1",
        "INSERT INTO t VALUES (1, 1, 'a', 1.5, '2024-02-29'), (2, 2, NULL, NULL, NULL), (3, NULL, '', 0, NULL)",
        "INSERT INTO u VALUES (1, 1, 'ab', 1e10), (2, NULL, '1', -0.5)",
    ] {
        database.run(sql, &[]).unwrap();
    }
    database
}

static DATABASES: LazyLock<[Database; 3]> = LazyLock::new(|| DIALECTS.map(database));

/// Runs a text in each dialect. Returns how many of them the parser accepts.
fn run(text: &str) -> usize {
    let mut parsed = 0;
    for (dialect, database) in DIALECTS.into_iter().zip(DATABASES.iter()) {
        let Ok(statement) = Statement::parse(dialect, text) else { continue };
        parsed += 1;
        let params: Vec<Scalar> = (0..statement.parameters())
            .map(|n| match n % 3 {
                0 => Scalar::Int(1),
                1 => Scalar::Text("2".to_owned()),
                _ => Scalar::Null,
            })
            .collect();
        let _ = targets(&statement, &params, database);
        let newest = [Value::Int(1), Value::Null, Value::text("z"), Value::Int(7), Value::Null];
        let _ = recheck(&statement, &params, database, RowId(0), &newest, 0);
        let mut database = database.clone();
        let _ = database.execute(&statement, &params);
        // What the text may have defined is used.
        for sql in ["SELECT * FROM t", "SELECT * FROM v", "DELETE FROM t", "CALL p()", "SELECT f()"] {
            let _ = database.run(sql, &[]);
        }
    }
    parsed
}

/// Damage to a list of words.
#[derive(Clone, Debug)]
enum Damage {
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Replace(prop::sample::Index, &'static str),
    Insert(prop::sample::Index, &'static str),
}

fn words() -> impl Strategy<Value = &'static str> {
    select(WORDS.split('|').filter(|word| !word.is_empty()).chain(["|", "||"]).collect::<Vec<_>>())
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        place().prop_map(Damage::Remove),
        place().prop_map(Damage::Repeat),
        (place(), place()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (place(), words()).prop_map(|(at, word)| Damage::Replace(at, word)),
        (place(), words()).prop_map(|(at, word)| Damage::Insert(at, word)),
    ]
}

/// Words and the marks between them.
fn split(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || matches!(c, '_' | '.' | '\'');
        match parts.last_mut() {
            Some(last) if is_word && was_word => last.push(c),
            _ => parts.push(c.to_string()),
        }
        was_word = is_word;
    }
    parts
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut parts = split(text);
    for damage in damages {
        if parts.is_empty() {
            break;
        }
        match damage {
            Damage::Remove(at) => {
                parts.remove(at.index(parts.len()));
            }
            Damage::Repeat(at) => {
                let at = at.index(parts.len());
                parts.insert(at, parts[at].clone());
            }
            Damage::Swap(a, b) => {
                let (a, b) = (a.index(parts.len()), b.index(parts.len()));
                parts.swap(a, b);
            }
            Damage::Replace(at, word) => {
                let at = at.index(parts.len());
                parts[at] = format!(" {word} ");
            }
            Damage::Insert(at, word) => parts.insert(at.index(parts.len()), format!(" {word} ")),
        }
    }
    parts.concat()
}

fn config() -> Config {
    Config {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3000),
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_statements_do_not_panic(
        n in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 0..6),
    ) {
        let text: &String = n.get(STATEMENTS.as_slice());
        run(&damaged(text, &damages));
    }

    #[test]
    fn random_words_do_not_panic(
        start in select(vec!["", "SELECT", "SELECT * FROM t", "INSERT INTO t", "UPDATE t SET", "DELETE FROM t WHERE", "CREATE"]),
        rest in prop::collection::vec(words(), 0..24),
    ) {
        run(&format!("{start} {}", rest.join(" ")));
    }

    #[test]
    fn random_expressions_do_not_panic(text in expression()) {
        run(&format!("SELECT {text} FROM t"));
        run(&format!("UPDATE t SET c = {text} WHERE {text} IS NOT NULL"));
    }
}

/// Expressions of the grammar over values at the limits.
fn expression() -> impl Strategy<Value = String> {
    let leaf = select(
        "id|a|b|c|d|NULL|TRUE|0|1|-1|0.5|1e308|-1e-320|2147483647|9223372036854775807|-9223372036854775808|\
         18446744073709551615|99999999999999999999|0.00000000000000000001|'a'|''|'%'|'ä𝄞'|'2024-02-29'|'0000-00-00'|'NaN'|\
         '-1e400'|x'00ff'|DATE '9999-12-31'|INTERVAL '1 day'|?"
            .split('|')
            .collect::<Vec<_>>(),
    )
    .prop_map(str::to_owned);
    let binary = "+|-|*|/|%|&|<<|>>|#|^|=|<|<=>|LIKE|AND|OR|DIV|IS DISTINCT FROM";
    let unary = "-_|+_|~_|NOT _|_ IS NULL|_ IS TRUE|CAST(_ AS INT)|CAST(_ AS SIGNED)|CAST(_ AS UNSIGNED)|CAST(_ AS DATE)|\
        CAST(_ AS DECIMAL(5, 2))|CAST(_ AS NUMERIC)|CAST(_ AS CHAR(2))|CAST(_ AS TEXT)|CAST(_ AS DOUBLE PRECISION)|_::smallint|\
        ABS(_)|ROUND(_)|CEIL(_)|FLOOR(_)|SQRT(_)|EXP(_)|LN(_)|LENGTH(_)|UPPER(_)|HEX(_)|REVERSE(_)|MAX(_)|SUM(_)|AVG(_)|COUNT(_)|\
        STDDEV(_)|YEAR(_)|EXTRACT(MONTH FROM _)|(SELECT _)|(SELECT SUM(_) FROM u)|EXISTS (SELECT _ FROM u)|_ IN (1, NULL)|\
        _ IN (SELECT id FROM u)|CASE _ WHEN 1 THEN 2 ELSE 'x' END";
    let calls = "SUBSTR(_, _, 2)|SUBSTR(_, 1, _)|ROUND(_, _)|TRUNCATE(_, _)|POWER(_, _)|MOD(_, _)|LPAD(_, 3, _)|LEFT(_, _)|REPEAT(_, 3)|\
        REPLACE(_, _, 'b')|GREATEST(_, _)|MAX(_, _)|NULLIF(_, _)|COALESCE(_, _)|CONCAT(_, _)|(_ || _)|_ BETWEEN _ AND 5|\
        CASE WHEN _ THEN _ END|DATEDIFF(_, _)|DATE_ADD(_, INTERVAL _ DAY)|DATE_TRUNC(_, _)|SPLIT_PART(_, _, 1)|INSTR(_, _)|\
        STRPOS(_, _)|_ LIKE _ ESCAPE 'a'|IF(_, _, 3)|PRINTF(_, _)";
    let parts =
        |text: &'static str| select(text.split('|').filter(|it| it.contains('_')).collect::<Vec<_>>());
    leaf.prop_recursive(4, 24, 2, move |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (select(binary.split('|').collect::<Vec<_>>()), two.clone())
                .prop_map(|(operator, (a, b))| format!("({a} {operator} {b})")),
            (parts(unary), inner).prop_map(|(call, a)| call.replace('_', &a)),
            (parts(calls), two).prop_map(|(call, (a, b))| call.replacen('_', &a, 1).replace('_', &b)),
        ]
    })
}

#[test]
fn deep_nesting_does_not_panic() {
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("CASE WHEN 1 THEN ", " END"),
        ("(SELECT ", ")"),
        ("COALESCE(1, ", ")"),
    ] {
        for depth in [20, 50, 70, 1_000, 20_000] {
            run(&format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth)));
            run(&format!("SELECT 1 WHERE {}1 = 1{}", open.repeat(depth), close.repeat(depth)));
        }
    }
    // A chain of operators is a tree as deep as the chain is long.
    for operator in ["+", "OR", "AND", "||", "=", "IS NULL =", "::int +", "COLLATE \"C\" ||", "BETWEEN 0 AND"]
    {
        for length in [100, 250, 500, 20_000] {
            let chain = vec!["1"; length].join(&format!(" {operator} "));
            run(&format!("SELECT {chain}"));
            run(&format!("SELECT 1 FROM t WHERE ({chain}) = 1 OR id = 1"));
        }
    }
    for operator in ["UNION", "UNION ALL SELECT 2 EXCEPT"] {
        for length in [100, 500, 20_000] {
            run(&vec!["SELECT 1"; length].join(&format!(" {operator} ")));
        }
    }
    for length in [10, 500, 20_000] {
        run(&format!("SELECT 1 FROM t{}", " LEFT JOIN u USING (id)".repeat(length)));
        run(&format!("SELECT 1{}", "::text".repeat(length)));
    }
    for nested in ["BEGIN ", "IF TRUE THEN ", "WHILE TRUE DO ", "LOOP "] {
        run(&format!("CREATE PROCEDURE p () {}", nested.repeat(20_000)));
    }
}

/// Operands that are evaluated several times are not copied exponentially often.
#[test]
fn nested_copies_do_not_explode() {
    run(&format!("SELECT {}1{}", "(".repeat(40), " BETWEEN 0 AND 1)".repeat(40)));
    run(&format!("SELECT {}1{}", "CASE ".repeat(40), " WHEN 1 THEN 1 WHEN 2 THEN 2 END".repeat(40)));
}

/// The tests are worth something only if the parser accepts a good part of the texts.
#[test]
fn fixtures_are_accepted() {
    let accepted = STATEMENTS.iter().filter(|text| run(text) > 0).count();
    assert!(accepted * 10 > STATEMENTS.len() * 9, "{accepted} of {}", STATEMENTS.len());
}
