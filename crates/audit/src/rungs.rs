//! Which rows would give the answer of a query that no model explains.
//!
//! **Definition.** In an execution that explains all other answers up to a query of one table, a *choice* takes one version of each
//! row that the query may visit, or none if the row was inserted meanwhile. If a choice of committed versions gives the logged answer,
//! the rung is *any committed*; if one of written versions does, *any written*. There is a limit on the number of choices, and
//! another execution could have other versions: that no choice was found says nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use isoscope_sql::{Catalog, RowId, Sarg, TableId, Value, View, Visit};

use crate::problem::{Reply, StatementId};
use crate::replay::Replay;
use crate::store::{INITIAL, Row};
use crate::text::Kind;
use crate::verdict::Rung;

/// The values that a row may have; `None` if it does not exist.
type Values = Vec<Option<Arc<[Value]>>>;

/// The first rung that explains the answer of a statement. All points before it are executed.
pub(crate) fn find(replay: &Replay<'_, '_>, id: StatementId, cap: u32) -> Option<Rung> {
    let line = replay.problem.statement(id);
    if line.kind != Kind::Read || line.reply != Reply::Success {
        return None;
    }
    let seen = replay.seen(id).noting();
    let _ = replay.plans.evaluate(line.text, replay.problem.entry(id), true, &seen, &seen);
    let touched = seen.touched();
    let &(table, _) = touched.first()?;
    if touched.iter().any(|other| other.0 != table) || replay.store.table(table).havoc.is_some() {
        return None;
    }
    let gives = |is_committed: bool| {
        let mut rows: BTreeMap<u32, Values> = BTreeMap::new();
        for (_, sarg) in &touched {
            replay.store.table(table).candidates(sarg, &mut |number, row| {
                rows.entry(number).or_insert_with(|| versions(replay, id, row, is_committed));
                true
            });
        }
        let rows: Vec<(u32, Values)> = rows.into_iter().collect();
        any_choice(replay, id, table, &rows, cap)
    };
    if gives(true) {
        return Some(Rung::AnyCommitted);
    }
    gives(false).then_some(Rung::AnyWritten)
}

/// The values of a row: those that were committed, and those that the reader wrote itself; or all.
fn versions(replay: &Replay<'_, '_>, id: StatementId, row: &Row, is_committed: bool) -> Values {
    let reader = replay.problem.txn_of(id);
    let mut values: Values = Vec::new();
    if row.versions.first().is_none_or(|version| version.writer != INITIAL) {
        values.push(None);
    }
    for (place, version) in row.versions.iter().enumerate() {
        // Of several versions of one transaction, others see the last.
        let is_last = row.versions[place + 1..].iter().all(|next| next.writer != version.writer);
        let is_seen = version.writer == reader || (version.is_committed() && is_last);
        if (is_seen || !is_committed) && !values.contains(&version.values) {
            values.push(version.values.clone());
        }
    }
    values
}

/// Whether some choice gives the answer of a query.
fn any_choice(
    replay: &Replay<'_, '_>,
    id: StatementId,
    table: TableId,
    rows: &[(u32, Values)],
    cap: u32,
) -> bool {
    let count = rows.iter().try_fold(1u32, |count, (_, values)| {
        count.checked_mul(u32::try_from(values.len()).ok()?).filter(|&count| count <= cap)
    });
    let line = replay.problem.statement(id);
    let entry = replay.problem.entry(id);
    let Ok(logged) = &entry.answer else { return false };
    (0..count.unwrap_or(0)).any(|choice| {
        let mut rest = choice as usize;
        let mut chosen = BTreeMap::new();
        for (number, values) in rows {
            if let Some(Some(values)) = values.get(rest % values.len().max(1)) {
                chosen.insert(RowId(u64::from(*number)), values.clone());
            }
            rest /= values.len().max(1);
        }
        let view = Chosen { catalog: replay.store.newest_catalog(), table, rows: chosen };
        let effect = replay.plans.execute(line.text, entry, true, &view);
        effect.reply.as_ref().is_ok_and(|reply| replay.plans.difference(&effect, reply, logged).is_none())
    })
}

/// One table with the chosen rows.
struct Chosen<'a> {
    catalog: &'a Catalog,
    table: TableId,
    rows: BTreeMap<RowId, Arc<[Value]>>,
}

impl View for Chosen<'_> {
    fn catalog(&self) -> &Catalog {
        self.catalog
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        if table != self.table {
            return;
        }
        for (id, row) in &self.rows {
            if sarg.admits(row) && !visit(*id, row) {
                return;
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        self.rows.get(&row).filter(|_| table == self.table).map(|row| row.to_vec())
    }
}
