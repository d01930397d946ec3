//! An application that panics or gives up.

use isoscope_application::{Application, Books, Call, Column, Contents, Operations, Stopped, Table, Tables};
use isoscope_levels::Level;
use isoscope_replay::{End, Latest, Store, Trouble};
use isoscope_workload::Dice;

static TABLE: Table = Table {
    name: "isoscope_table",
    columns: &[
        Column::constant("id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::changing("v", "BIGINT NOT NULL"),
    ],
    key: &["id"],
    indexes: &[],
    is_fixed: true,
};

struct Fragile;

impl Application for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn about(&self) -> &'static str {
        "panics, gives up, or writes"
    }

    fn tables(&self) -> Vec<Contents> {
        vec![Contents { table: &TABLE, rows: vec![vec![0i64.into(), 0i64.into()]] }]
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn programs(&self) -> &'static [&'static str] {
        &["Panic", "GiveUp", "Write"]
    }

    fn draw(&self, call: Call, _dice: &mut Dice) -> usize {
        (call.number % 3) as usize
    }

    fn transact(
        &self,
        program: usize,
        _call: Call,
        _dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        ops.change(&TABLE, &[0i64.into()], &[("v", 1i64.into())])?;
        match program {
            0 => panic!("a bug"),
            1 => Err(ops.fail("no".to_owned())),
            _ => Ok(true),
        }
    }

    fn rules(&self, _tables: &mut dyn Tables, _books: Books) -> Result<Vec<String>, Stopped> {
        Ok(Vec::new())
    }
}

#[test]
fn a_crash_is_a_failure_and_leaves_nothing_behind() {
    let mut store = Store::new(&Fragile, Level::Causal, 1).unwrap();
    let call = |number| Call { session: 0, number };
    let message = "a bug".to_owned();
    assert_eq!(store.run(call(0), &mut Latest).err(), Some(Trouble::Crashed { call: call(0), message }));
    assert_eq!((store.ran().len(), store.writers("table/0").len()), (0, 1));
    assert_eq!(store.run(call(1), &mut Latest).unwrap().end, End::Failed("no".to_owned()));
    assert_eq!(store.history().err(), Some(Trouble::Empty));
    assert_eq!(store.run(call(2), &mut Latest).unwrap().end, End::Committed);
    assert_eq!(store.writers("table/0").len(), 2);
    assert!(store.history().is_ok());
}
