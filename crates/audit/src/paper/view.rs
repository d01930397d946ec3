//! A view in which a row may have several images, one of which is chosen when the row is looked at.
//!
//! A statement is run once for each combination of choices. The first run takes the first choice everywhere and writes down where it
//! chose; each further run repeats the choices of the run before, except the last one that has another choice. This
//! is depth-first search over the decisions of a deterministic program, without a stack.
//!
//! Images that a scan does not want are one choice: the row is not there. A later scan with other conditions splits it.

use std::cell::RefCell;
use std::rc::Rc;

use isoscope_sql::{Catalog, RowId, Sarg, TableId, Value, View, Visit};
use rustc_hash::FxHashMap;

use crate::paper::rows::{Place, Rows, Summary};

/// What a reader can see of a row.
pub(crate) type Reader<'a> = dyn Fn(Place) -> Summary + 'a;

/// Images of a row, as positions in its summary.
pub(crate) type Group = Rc<[u32]>;

/// A decision: which images a row has.
struct Decision {
    /// The look at a row where it was taken.
    look: usize,
    groups: Vec<Group>,
    taken: usize,
}

/// The decisions of a run.
#[derive(Default)]
struct Script {
    decisions: Vec<Decision>,
    /// The result of each look at a row, as far as the next run repeats them.
    looks: Vec<Group>,
    /// How many rows the current run has looked at.
    looked: usize,
    /// What is still possible for each row that was looked at.
    possible: FxHashMap<Place, Group>,
    summaries: FxHashMap<Place, Summary>,
    wanted: Vec<(TableId, usize)>,
}

/// The view; see the module.
pub(crate) struct Choices<'a> {
    catalog: &'a Catalog,
    rows: &'a Rows,
    reader: &'a Reader<'a>,
    script: RefCell<Script>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(catalog: &'a Catalog, rows: &'a Rows, reader: &'a Reader<'a>) -> Choices<'a> {
        Choices { catalog, rows, reader, script: RefCell::default() }
    }

    /// Begins a run with the decisions that [`Choices::advance`] left.
    pub(crate) fn restart(&self) {
        let mut script = self.script.borrow_mut();
        script.looked = 0;
        script.possible.clear();
    }

    /// Moves on to the next combination; `false` if there is none.
    pub(crate) fn advance(&self) -> bool {
        let mut script = self.script.borrow_mut();
        while let Some(last) = script.decisions.last_mut() {
            last.taken += 1;
            if let Some(group) = last.groups.get(last.taken) {
                let (look, group) = (last.look, group.clone());
                script.looks.truncate(look);
                script.looks.push(group);
                return true;
            }
            script.decisions.pop();
        }
        false
    }

    /// The images that the run chose, for each row for which it did not admit all.
    pub(crate) fn premises(&self) -> Vec<(Place, Summary, Group)> {
        let script = self.script.borrow();
        let mut found: Vec<(Place, Summary, Group)> = script
            .possible
            .iter()
            .filter_map(|(place, possible)| {
                let summary = script.summaries.get(place)?;
                (possible.len() < summary.len()).then(|| (*place, summary.clone(), possible.clone()))
            })
            .collect();
        found.sort_by_key(|premise| premise.0);
        found
    }

    /// The indexes that would have helped.
    pub(crate) fn wanted(&self) -> Vec<(TableId, usize)> {
        std::mem::take(&mut self.script.borrow_mut().wanted)
    }

    /// The image of a row in this run, if a scan with this condition on images wants it.
    fn image(
        &self,
        place: Place,
        wants: &dyn Fn(&[Value]) -> bool,
        is_exact: bool,
    ) -> Option<isoscope_sql::Row> {
        let mut script = self.script.borrow_mut();
        let script = &mut *script;
        let summary = script.summaries.entry(place).or_insert_with(|| (self.reader)(place)).clone();
        let group = if let Some(group) = script.looks.get(script.looked) {
            group.clone()
        } else {
            let possible = script.possible.get(&place).cloned();
            let possible = possible.unwrap_or_else(|| (0..summary.len() as u32).collect());
            let groups = groups(&summary, &possible, wants, is_exact);
            let first = groups.first()?.clone();
            script.looks.push(first.clone());
            if groups.len() > 1 {
                script.decisions.push(Decision { look: script.looked, groups, taken: 0 });
            }
            first
        };
        script.looked += 1;
        let image = summary.get(*group.first()? as usize)?.image.clone();
        script.possible.insert(place, group);
        image.filter(|values| wants(values))
    }
}

/// Splits the possible images of a row: each that is wanted is a group, and the others are one.
fn groups(
    summary: &Summary,
    possible: &[u32],
    wants: &dyn Fn(&[Value]) -> bool,
    is_exact: bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut others = Vec::new();
    for &number in possible {
        match &summary[number as usize].image {
            Some(values) if wants(values) => groups.push(Rc::new([number])),
            Some(_) if is_exact => groups.push(Rc::new([number])),
            _ => others.push(number),
        }
    }
    if !others.is_empty() {
        groups.push(others.into());
    }
    groups
}

impl View for Choices<'_> {
    fn catalog(&self) -> &Catalog {
        self.catalog
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        let (rows, wanted) = self.rows.candidates(table, sarg);
        if let Some(column) = wanted {
            self.script.borrow_mut().wanted.push((table, column));
        }
        for row in rows {
            let image = self.image((table, row), &|values| sarg.admits(values), false);
            if let Some(values) = image
                && !visit(RowId(u64::from(row)), &values)
            {
                return;
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        let row = u32::try_from(row.0).ok()?;
        self.image((table, row), &|_| true, true).map(|values| values.to_vec())
    }
}
