//! Random schemas and statements of a bounded grammar, with many NULLs and boundary values.
//!
//! What it never produces: parameters beyond integers and texts, values that the database makes, texts that are not ASCII,
//! more than three tables in a FROM clause. Fixtures cover those.

use isoscope_sql::Dialect;

/// A stream of random numbers (`SplitMix64`).
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in one of n cases.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Decimal,
    Float,
    Text,
    Bool,
    Date,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub kind: Kind,
    pub definition: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// The columns of keys, by position.
    pub keys: Vec<Vec<usize>>,
    pub is_view: bool,
}

pub(crate) struct Generator {
    pub dice: Dice,
    pub dialect: Dialect,
    pub tables: Vec<Table>,
    /// Whether operands have one type, without division, NULLIF, CASE, NULL in arithmetic and subqueries that are values.
    pub is_plain: bool,
}

/// A column that is visible, with its qualifier.
type Visible = (String, Kind);

impl Generator {
    pub(crate) fn new(seed: u64, dialect: Dialect, is_plain: bool) -> Generator {
        Generator { dice: Dice(seed), dialect, tables: Vec::new(), is_plain }
    }

    fn is(&self, dialect: Dialect) -> bool {
        self.dialect == dialect
    }

    // Schema

    /// The statements that create tables, keys and a view.
    pub(crate) fn schema(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        self.tables.clear();
        for n in 0..2 {
            let (table, text) = self.table(n);
            self.tables.push(table);
            statements.push(text);
        }
        if self.dice.one_in(2) {
            let base = self.tables[0].clone();
            let kept: Vec<Column> = base.columns.iter().filter(|_| !self.dice.one_in(3)).cloned().collect();
            if !kept.is_empty() {
                let names: Vec<&str> = kept.iter().map(|column| column.name.as_str()).collect();
                let visible = visible(&base, None);
                let condition = self.condition(&visible, 1);
                statements
                    .push(format!("CREATE VIEW v0 AS SELECT {} FROM t0 WHERE {condition}", names.join(", ")));
                self.tables.push(Table {
                    name: "v0".to_owned(),
                    columns: kept,
                    keys: Vec::new(),
                    is_view: true,
                });
            }
        }
        statements
    }

    fn table(&mut self, n: usize) -> (Table, String) {
        let name = format!("t{n}");
        let mut columns =
            vec![Column { name: "id".to_owned(), kind: Kind::Int, definition: "INT".to_owned() }];
        let names = ["a", "b", "c", "e", "f"];
        for name in names.iter().take(2 + self.dice.below(4)) {
            let (kind, definition) = self.column_type();
            columns.push(Column { name: (*name).to_owned(), kind, definition });
        }
        let mut keys = Vec::new();
        let mut parts = Vec::new();
        let has_key = !self.dice.one_in(5);
        for (at, column) in columns.iter().enumerate() {
            let mut text = format!("{} {}", column.name, column.definition);
            if at == 0 && has_key {
                text.push_str(" PRIMARY KEY");
                keys.push(vec![0]);
            } else {
                if self.dice.one_in(8) {
                    text.push_str(" NOT NULL");
                }
                if self.dice.one_in(8) && column.kind != Kind::Float {
                    text.push_str(" UNIQUE");
                    keys.push(vec![at]);
                }
                if self.dice.one_in(8) {
                    let value = self.value(column.kind);
                    text.push_str(&format!(" DEFAULT {value}"));
                }
            }
            parts.push(text);
        }
        if self.dice.one_in(4) {
            let table =
                Table { name: name.clone(), columns: columns.clone(), keys: Vec::new(), is_view: false };
            let condition = self.comparison(&visible(&table, None), 0);
            parts.push(format!("CHECK ({condition})"));
        }
        if n == 1
            && self.dice.one_in(3)
            && self.tables[0].keys.first() == Some(&vec![0])
            && let Some(column) = columns.iter().skip(1).find(|column| column.definition == "INT")
        {
            let actions = ["", " ON DELETE CASCADE", " ON UPDATE CASCADE", " ON DELETE SET NULL"];
            let action = *self.dice.of(&actions[..if self.is_plain { 3 } else { 4 }]);
            parts.push(format!("FOREIGN KEY ({}) REFERENCES t0 (id){action}", column.name));
        }
        let text = format!("CREATE TABLE {name} ({})", parts.join(", "));
        (Table { name, columns, keys, is_view: false }, text)
    }

    fn column_type(&mut self) -> (Kind, String) {
        let options: &[(Kind, &str)] = match self.dialect {
            Dialect::Postgres => &[
                (Kind::Int, "INT"),
                (Kind::Int, "BIGINT"),
                (Kind::Int, "SMALLINT"),
                (Kind::Decimal, "NUMERIC(8, 2)"),
                (Kind::Decimal, "NUMERIC"),
                (Kind::Float, "DOUBLE PRECISION"),
                (Kind::Float, "REAL"),
                (Kind::Text, "TEXT"),
                (Kind::Text, "VARCHAR(4)"),
                (Kind::Text, "CHAR(3)"),
                (Kind::Bool, "BOOLEAN"),
                (Kind::Date, "DATE"),
            ],
            Dialect::MySql => &[
                (Kind::Int, "INT"),
                (Kind::Int, "BIGINT"),
                (Kind::Int, "TINYINT"),
                (Kind::Int, "INT UNSIGNED"),
                (Kind::Int, "BIGINT UNSIGNED"),
                (Kind::Decimal, "DECIMAL(8, 2)"),
                (Kind::Decimal, "DECIMAL(20, 5)"),
                (Kind::Float, "DOUBLE"),
                (Kind::Text, "VARCHAR(4)"),
                (Kind::Text, "VARCHAR(20)"),
                (Kind::Text, "CHAR(3)"),
                (Kind::Date, "DATE"),
            ],
            Dialect::Sqlite => &[
                (Kind::Int, "INT"),
                (Kind::Int, "INTEGER"),
                (Kind::Decimal, "NUMERIC"),
                (Kind::Float, "REAL"),
                (Kind::Text, "TEXT"),
                (Kind::Text, "TEXT COLLATE NOCASE"),
                (Kind::Text, "BLOB"),
            ],
        };
        let (kind, name) = *self.dice.of(options);
        (kind, name.to_owned())
    }

    // Values

    /// A literal of a kind.
    pub(crate) fn value(&mut self, kind: Kind) -> String {
        let kind = if self.is(Dialect::Sqlite) && self.dice.one_in(6) {
            *self.dice.of(&[Kind::Int, Kind::Float, Kind::Text])
        } else {
            kind
        };
        let options: &[&str] = match kind {
            Kind::Int => &[
                "0",
                "1",
                "2",
                "3",
                "-1",
                "5",
                "7",
                "10",
                "100",
                "127",
                "-128",
                "32767",
                "2147483647",
                "9223372036854775807",
            ],
            Kind::Decimal => {
                &["0", "0.5", "1.25", "-1.5", "2.50", "10", "0.01", "99.99", "-0.005", "1000.125"]
            }
            Kind::Float if self.is_plain => &["0.5e0", "1.5e0", "-2.25e0", "1e2", "3e0"],
            Kind::Float if self.is(Dialect::MySql) => {
                &["0", "0.5e0", "1.5e0", "-2.25e0", "1e2", "3e0", "1e10", "-0e0"]
            }
            Kind::Float => &["0", "0.5", "1.5", "-2.25", "1e2", "3", "1e10", "2.5"],
            Kind::Text => {
                &["''", "'a'", "'A'", "'b'", "'ab'", "'a '", "'1'", "'10'", "'2'", "'0.5'", "'%'", "'a_b'"]
            }
            Kind::Bool if self.is(Dialect::Postgres) => &["TRUE", "FALSE"],
            Kind::Bool => &["1", "0"],
            Kind::Date if self.is(Dialect::Postgres) => {
                &["DATE '2024-02-29'", "DATE '2023-12-31'", "DATE '2024-01-01'"]
            }
            Kind::Date => &["'2024-02-29'", "'2023-12-31'", "'2024-01-01'"],
        };
        let n = if kind == Kind::Int && !self.dice.one_in(5) { 8 } else { options.len() };
        options[self.dice.below(n.min(options.len()))].to_owned()
    }

    fn nullable(&mut self, kind: Kind) -> String {
        if self.dice.one_in(5) { "NULL".to_owned() } else { self.value(kind) }
    }

    // Expressions

    fn any_kind(&mut self) -> Kind {
        let kinds =
            [Kind::Int, Kind::Int, Kind::Int, Kind::Decimal, Kind::Float, Kind::Text, Kind::Text, Kind::Bool];
        *self.dice.of(&kinds)
    }

    fn column(&mut self, columns: &[Visible], kind: Kind) -> Option<String> {
        let fits: Vec<&Visible> = columns.iter().filter(|(_, of)| *of == kind).collect();
        if fits.is_empty() { None } else { Some(self.dice.of(&fits).0.clone()) }
    }

    /// An expression of a kind.
    pub(crate) fn expr(&mut self, columns: &[Visible], kind: Kind, depth: usize) -> String {
        // MySQL and SQLite convert everything.
        let converts = !self.is(Dialect::Postgres) && !self.is_plain;
        let kind = if converts && self.dice.one_in(12) { self.any_kind() } else { kind };
        if depth == 0 || self.dice.one_in(3) {
            if !self.dice.one_in(3)
                && let Some(column) = self.column(columns, kind)
            {
                return column;
            }
            return if !self.is_plain && self.dice.one_in(10) { "NULL".to_owned() } else { self.value(kind) };
        }
        match self.dice.below(8) {
            _ if self.is_plain => {}
            0 => {
                let condition = self.condition(columns, depth - 1);
                let (a, b) = (self.expr(columns, kind, depth - 1), self.expr(columns, kind, depth - 1));
                return format!("CASE WHEN {condition} THEN {a} ELSE {b} END");
            }
            1 => {
                let (a, b) = (self.expr(columns, kind, depth - 1), self.expr(columns, kind, depth - 1));
                return format!("COALESCE({a}, {b})");
            }
            2 if self.dice.one_in(2) => {
                let (a, b) = (self.expr(columns, kind, depth - 1), self.expr(columns, kind, depth - 1));
                return format!("NULLIF({a}, {b})");
            }
            3 if self.dice.one_in(3) && !self.tables.is_empty() => {
                return self.scalar(columns, kind, depth - 1);
            }
            _ => {}
        }
        match kind {
            Kind::Int => self.integer(columns, depth - 1),
            Kind::Decimal | Kind::Float => self.number(columns, kind, depth - 1),
            Kind::Text => self.text(columns, depth - 1),
            Kind::Bool => format!("({})", self.condition(columns, depth - 1)),
            Kind::Date => self.value(kind),
        }
    }

    fn integer(&mut self, columns: &[Visible], depth: usize) -> String {
        let a = self.expr(columns, Kind::Int, depth);
        let b = self.expr(columns, Kind::Int, depth);
        match self.dice.below(14) {
            0..3 => format!("({a} + {b})"),
            3..5 => format!("({a} - {b})"),
            5 => format!("({a} * {b})"),
            6 if self.is(Dialect::MySql) => format!("({a} DIV {b})"),
            6 => format!("({a} / {b})"),
            7 => format!("({a} % {b})"),
            8 => format!("(- {a})"),
            9 => format!("ABS({a})"),
            10 => {
                let text = self.expr(columns, Kind::Text, depth);
                format!("LENGTH({text})")
            }
            11 => match self.dialect {
                Dialect::Sqlite => format!("MAX({a}, {b})"),
                _ => format!("GREATEST({a}, {b})"),
            },
            12 => {
                let number = self.expr(columns, Kind::Decimal, depth);
                match self.dialect {
                    Dialect::MySql => format!("CAST({number} AS SIGNED)"),
                    Dialect::Sqlite => format!("CAST({number} AS INTEGER)"),
                    Dialect::Postgres => format!("CAST({number} AS INT)"),
                }
            }
            _ => format!("({a} & {b})"),
        }
    }

    fn number(&mut self, columns: &[Visible], kind: Kind, depth: usize) -> String {
        let other = if !self.is_plain && self.dice.one_in(3) { Kind::Int } else { kind };
        let a = self.expr(columns, kind, depth);
        let b = self.expr(columns, other, depth);
        match self.dice.below(if self.is_plain { 4 } else { 9 }) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("({a} * {b})"),
            4 | 5 => format!("({a} / {b})"),
            6 if kind == Kind::Decimal => {
                let places = self.dice.below(3);
                format!("ROUND({a}, {places})")
            }
            6 => format!("ROUND({a})"),
            7 if !self.is(Dialect::Sqlite) => {
                (*self.dice.of(&["CEIL", "FLOOR"])).to_owned() + &format!("({a})")
            }
            _ => match (kind, self.dialect) {
                (Kind::Decimal, Dialect::Sqlite) => format!("CAST({b} AS NUMERIC)"),
                (Kind::Decimal, _) => format!("CAST({b} AS DECIMAL(10, 3))"),
                (_, Dialect::Sqlite) => format!("CAST({b} AS REAL)"),
                (_, Dialect::MySql) => format!("CAST({b} AS DOUBLE)"),
                (_, Dialect::Postgres) => format!("CAST({b} AS DOUBLE PRECISION)"),
            },
        }
    }

    fn text(&mut self, columns: &[Visible], depth: usize) -> String {
        let a = self.expr(columns, Kind::Text, depth);
        let b = self.expr(columns, Kind::Text, depth);
        match self.dice.below(8) {
            0 => format!("UPPER({a})"),
            1 => format!("LOWER({a})"),
            2 => format!("TRIM({a})"),
            3 => {
                let (from, length) = (self.dice.below(4), self.dice.below(3));
                format!("SUBSTR({a}, {from}, {length})")
            }
            4 => format!("REPLACE({a}, 'a', {b})"),
            5 => {
                let number = self.expr(columns, Kind::Int, depth);
                if self.is(Dialect::MySql) {
                    format!("CAST({number} AS CHAR)")
                } else {
                    format!("CAST({number} AS TEXT)")
                }
            }
            _ if self.is(Dialect::MySql) => format!("CONCAT({a}, {b})"),
            _ => format!("({a} || {b})"),
        }
    }

    fn scalar(&mut self, columns: &[Visible], kind: Kind, depth: usize) -> String {
        let table = self.a_table();
        let mut inner = visible(&table, Some("q"));
        let numeric = matches!(kind, Kind::Int | Kind::Decimal | Kind::Float);
        let output = if numeric && self.dice.one_in(2) {
            let argument = self.expr(&inner, kind, 0);
            match self.dice.below(3) {
                0 if kind == Kind::Int => "COUNT(*)".to_owned(),
                1 => format!("MAX({argument})"),
                _ => format!("MIN({argument})"),
            }
        } else {
            let argument = self.expr(&inner, kind, 0);
            if kind == Kind::Bool { argument } else { format!("MAX({argument})") }
        };
        inner.extend(columns.iter().cloned());
        let condition = self.condition(&inner, depth.min(1));
        format!("(SELECT {output} FROM {} q WHERE {condition})", table.name)
    }

    // Conditions

    pub(crate) fn condition(&mut self, columns: &[Visible], depth: usize) -> String {
        if depth == 0 {
            return self.comparison(columns, 0);
        }
        match self.dice.below(14) {
            0 | 1 => {
                format!("({} AND {})", self.condition(columns, depth - 1), self.condition(columns, depth - 1))
            }
            2 | 3 => {
                format!("({} OR {})", self.condition(columns, depth - 1), self.condition(columns, depth - 1))
            }
            4 => format!("NOT ({})", self.condition(columns, depth - 1)),
            5 => {
                let kind = self.any_kind();
                let not = if self.dice.one_in(2) { " NOT" } else { "" };
                format!("{} IS{not} NULL", self.expr(columns, kind, depth - 1))
            }
            6 => {
                let kind = self.ordered_kind();
                let not = if self.dice.one_in(3) { " NOT" } else { "" };
                let list: Vec<String> = (0..=self.dice.below(3)).map(|_| self.nullable(kind)).collect();
                format!("{}{not} IN ({})", self.expr(columns, kind, depth - 1), list.join(", "))
            }
            7 => {
                let kind = self.ordered_kind();
                let (low, high) = (self.expr(columns, kind, 0), self.expr(columns, kind, 0));
                let not = if self.dice.one_in(3) { " NOT" } else { "" };
                format!("{}{not} BETWEEN {low} AND {high}", self.expr(columns, kind, depth - 1))
            }
            8 => {
                let pattern = *self.dice.of(&["'a%'", "'%b'", "'_'", "'%'", "'A_'", "''", "'1%'"]);
                let not = if self.dice.one_in(3) { " NOT" } else { "" };
                format!("{}{not} LIKE {pattern}", self.expr(columns, Kind::Text, depth - 1))
            }
            9 => {
                let table = self.a_table();
                let mut inner = visible(&table, Some("x"));
                inner.extend(columns.iter().cloned());
                let not = if self.dice.one_in(2) { "NOT " } else { "" };
                format!("{not}EXISTS (SELECT 1 FROM {} x WHERE {})", table.name, self.comparison(&inner, 0))
            }
            10 | 11 if self.is_plain => self.comparison(columns, depth - 1),
            10 => {
                let table = self.a_table();
                let column = self.dice.of(&table.columns).clone();
                let not = if self.dice.one_in(2) { " NOT" } else { "" };
                let left = self.expr(columns, column.kind, depth - 1);
                format!("{left}{not} IN (SELECT y.{} FROM {} y)", column.name, table.name)
            }
            11 if !self.is(Dialect::Postgres) => {
                // Any value is a condition.
                let kind = self.any_kind();
                self.expr(columns, kind, depth - 1)
            }
            11 => {
                let test = *self.dice.of(&["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"]);
                format!("({}) {test}", self.condition(columns, depth - 1))
            }
            12 => {
                let kind = self.ordered_kind();
                let (a, b) = (self.expr(columns, kind, depth - 1), self.expr(columns, kind, depth - 1));
                match self.dialect {
                    Dialect::Postgres => format!("{a} IS NOT DISTINCT FROM {b}"),
                    Dialect::MySql => format!("{a} <=> {b}"),
                    Dialect::Sqlite => format!("{a} IS {b}"),
                }
            }
            _ => self.comparison(columns, depth - 1),
        }
    }

    fn ordered_kind(&mut self) -> Kind {
        *self.dice.of(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Float, Kind::Text])
    }

    fn comparison(&mut self, columns: &[Visible], depth: usize) -> String {
        let kind =
            if self.dice.one_in(10) && self.is(Dialect::Postgres) { Kind::Date } else { self.ordered_kind() };
        let other = match (kind, self.dialect) {
            (kind, _) if self.is_plain => kind,
            (Kind::Int, _) if self.dice.one_in(4) => Kind::Decimal,
            (Kind::Decimal, _) if self.dice.one_in(4) => Kind::Float,
            (kind, Dialect::Postgres) => kind,
            _ if self.dice.one_in(5) => self.any_kind(),
            (kind, _) => kind,
        };
        let op = *self.dice.of(&["=", "=", "<>", "<", "<=", ">", ">="]);
        format!("{} {op} {}", self.expr(columns, kind, depth), self.expr(columns, other, depth))
    }

    // Statements

    fn a_table(&mut self) -> Table {
        self.dice.of(&self.tables.clone()).clone()
    }

    fn base(&mut self) -> Table {
        let tables: Vec<Table> = self.tables.iter().filter(|table| !table.is_view).cloned().collect();
        self.dice.of(&tables).clone()
    }

    pub(crate) fn statement(&mut self) -> String {
        match self.dice.below(20) {
            0..4 => self.insert(),
            4..7 => self.update(),
            7 => self.delete(),
            8 | 9 => self.grouped(),
            10 => self.union(),
            11 | 12 => self.joined(),
            _ => self.select(),
        }
    }

    pub(crate) fn insert(&mut self) -> String {
        let table = self.base();
        let mut columns: Vec<&Column> = table.columns.iter().filter(|_| !self.dice.one_in(10)).collect();
        if columns.is_empty() {
            columns = table.columns.iter().collect();
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let source = if self.dice.one_in(6) {
            let from = self.a_table();
            let inner = visible(&from, None);
            let outputs: Vec<String> =
                columns.iter().map(|column| self.expr(&inner, column.kind, 1)).collect();
            format!("SELECT {} FROM {} WHERE 1 = 1", outputs.join(", "), from.name)
        } else {
            let rows: Vec<String> = (0..=self.dice.below(3))
                .map(|_| {
                    let values: Vec<String> = columns
                        .iter()
                        .enumerate()
                        .map(|(at, column)| {
                            if at == 0 && column.name == "id" {
                                self.dice.below(12).to_string()
                            } else if self.dice.one_in(6) {
                                self.expr(&[], column.kind, 2)
                            } else {
                                self.nullable(column.kind)
                            }
                        })
                        .collect();
                    format!("({})", values.join(", "))
                })
                .collect();
            format!("VALUES {}", rows.join(", "))
        };
        let (verb, end) = self.conflict(&table);
        format!("{verb} INTO {} ({}) {source}{end}", table.name, names.join(", "))
    }

    fn conflict(&mut self, table: &Table) -> (&'static str, String) {
        let none = ("INSERT", String::new());
        if !self.dice.one_in(3) {
            return none;
        }
        let column = self.dice.of(&table.columns[1..]).clone();
        let columns = visible(table, None);
        match self.dialect {
            Dialect::MySql => {
                if self.is_plain || self.dice.below(2) == 0 {
                    ("REPLACE", String::new())
                } else {
                    let value = self.expr(&columns, column.kind, 1);
                    ("INSERT", format!(" ON DUPLICATE KEY UPDATE {} = {value}", column.name))
                }
            }
            dialect => {
                if dialect == Dialect::Sqlite && self.dice.one_in(2) {
                    return (
                        if self.dice.one_in(2) { "INSERT OR REPLACE" } else { "INSERT OR IGNORE" },
                        String::new(),
                    );
                }
                let Some(key) = table.keys.first() else { return none };
                let key = &table.columns[key[0]].name;
                if self.dice.one_in(2) {
                    return ("INSERT", format!(" ON CONFLICT ({key}) DO NOTHING"));
                }
                let qualified = visible(table, Some(&table.name));
                let value = if self.dice.one_in(2) {
                    format!("excluded.{}", column.name)
                } else {
                    self.expr(&qualified, column.kind, 1)
                };
                ("INSERT", format!(" ON CONFLICT ({key}) DO UPDATE SET {} = {value}", column.name))
            }
        }
    }

    fn update(&mut self) -> String {
        let table = self.base();
        let columns = visible(&table, None);
        let mut sets = Vec::new();
        let mut used = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let column = self.dice.of(&table.columns).clone();
            if !used.contains(&column.name) && (column.name != "id" || self.dice.one_in(4)) {
                let value = self.expr(&columns, column.kind, 2);
                sets.push(format!("{} = {value}", column.name));
                used.push(column.name);
            }
        }
        if sets.is_empty() {
            sets.push(format!("{} = {}", table.columns[1].name, self.nullable(table.columns[1].kind)));
        }
        let condition = self.condition(&columns, 2);
        format!("UPDATE {} SET {} WHERE {condition}", table.name, sets.join(", "))
    }

    fn delete(&mut self) -> String {
        let table = self.base();
        let columns = visible(&table, None);
        format!("DELETE FROM {} WHERE {}", table.name, self.condition(&columns, 2))
    }

    fn select(&mut self) -> String {
        let table = self.a_table();
        let columns = visible(&table, None);
        let count = 1 + self.dice.below(3);
        let outputs: Vec<String> = (0..count)
            .map(|_| {
                let kind = self.any_kind();
                self.expr(&columns, kind, 2)
            })
            .collect();
        let distinct = if self.dice.one_in(6) { "DISTINCT " } else { "" };
        let condition = if self.dice.one_in(4) {
            String::new()
        } else {
            format!(" WHERE {}", self.condition(&columns, 2))
        };
        let order = if distinct.is_empty() { self.order(count) } else { String::new() };
        format!("SELECT {distinct}{} FROM {}{condition}{order}", outputs.join(", "), table.name)
    }

    fn order(&mut self, count: usize) -> String {
        if self.dice.one_in(2) {
            return String::new();
        }
        let keys: Vec<String> = (1..=count)
            .map(|n| {
                let direction = *self.dice.of(&["", " DESC", " ASC"]);
                format!("{n}{direction}")
            })
            .collect();
        let limit = match self.dice.below(4) {
            0 => format!(" LIMIT {}", self.dice.below(4)),
            1 => format!(" LIMIT {} OFFSET {}", self.dice.below(4), self.dice.below(3)),
            _ => String::new(),
        };
        format!(" ORDER BY {}{limit}", keys.join(", "))
    }

    fn aggregate(&mut self, columns: &[Visible]) -> String {
        let kind = *self.dice.of(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Float]);
        let argument = self.expr(columns, kind, 1);
        let distinct = if self.dice.one_in(5) { "DISTINCT " } else { "" };
        match self.dice.below(7) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("COUNT({distinct}{argument})"),
            2 => format!("SUM({distinct}{argument})"),
            3 => format!("AVG({argument})"),
            4 => format!("MIN({argument})"),
            5 => {
                let text = self.expr(columns, Kind::Text, 1);
                format!("MAX({text})")
            }
            _ => format!("MAX({argument})"),
        }
    }

    fn grouped(&mut self) -> String {
        let table = self.a_table();
        let columns = visible(&table, None);
        let condition = if self.dice.one_in(2) {
            String::new()
        } else {
            format!(" WHERE {}", self.condition(&columns, 1))
        };
        let aggregates: Vec<String> = (0..=self.dice.below(2)).map(|_| self.aggregate(&columns)).collect();
        if self.dice.one_in(3) {
            return format!("SELECT {} FROM {}{condition}", aggregates.join(", "), table.name);
        }
        let key = self.dice.of(&table.columns).name.clone();
        let having = if self.dice.one_in(3) {
            format!(" HAVING {} > 1", self.aggregate(&columns))
        } else {
            String::new()
        };
        format!(
            "SELECT {key}, {} FROM {}{condition} GROUP BY {key}{having}",
            aggregates.join(", "),
            table.name
        )
    }

    fn union(&mut self) -> String {
        let kind = self.ordered_kind();
        let side = |this: &mut Generator| {
            let table = this.a_table();
            let columns = visible(&table, None);
            let output = this.expr(&columns, kind, 1);
            format!("SELECT {output} FROM {} WHERE {}", table.name, this.condition(&columns, 1))
        };
        let (left, right) = (side(self), side(self));
        let operator = *self.dice.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
        format!("{left} {operator} {right}")
    }

    fn joined(&mut self) -> String {
        let (left, right) = (self.a_table(), self.a_table());
        let mut columns = visible(&left, Some("l"));
        columns.extend(visible(&right, Some("r")));
        let join = *self.dice.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN"]);
        let on = if join == "CROSS JOIN" {
            String::new()
        } else if self.dice.one_in(2) {
            " ON l.id = r.id".to_owned()
        } else {
            format!(" ON {}", self.condition(&columns, 1))
        };
        let count = 1 + self.dice.below(3);
        let outputs: Vec<String> = (0..count)
            .map(|_| {
                let kind = self.any_kind();
                self.expr(&columns, kind, 1)
            })
            .collect();
        let condition = if self.dice.one_in(2) {
            String::new()
        } else {
            format!(" WHERE {}", self.condition(&columns, 1))
        };
        let order = self.order(count);
        format!(
            "SELECT {} FROM {} l {join} {} r{on}{condition}{order}",
            outputs.join(", "),
            left.name,
            right.name
        )
    }
}

fn visible(table: &Table, qualifier: Option<&str>) -> Vec<Visible> {
    let name = |column: &Column| match qualifier {
        Some(qualifier) => format!("{qualifier}.{}", column.name),
        None => column.name.clone(),
    };
    table.columns.iter().map(|column| (name(column), column.kind)).collect()
}
