//! Pushing conditions to the scans that they restrict.
//!
//! A condition `column op value` restricts the scan of the column's table if the value is known when the scan begins, and
//! every row that is wanted meets the condition: parts of an AND in WHERE, or in the ON of a join whose right side the
//! scan is. The condition stays where it was; the scan only skips rows that cannot meet it.

use crate::ir::{Cast, CastMode, Comparator, Comparison, Expr, From, JoinKind, Rules, Slot};
use crate::value::{Collation, Type};

/// Pushes a condition on a whole FROM clause.
pub(crate) fn push(from: &mut From, condition: Option<&Expr>) {
    let mut all = Vec::new();
    own_slots(from, &mut all);
    let parts = condition.map_or(Vec::new(), conjuncts);
    push_parts(from, &parts, &mut Vec::new(), &all);
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

fn own_slots(from: &From, found: &mut Vec<Slot>) {
    match from {
        From::Nothing => {}
        From::Scan(scan) => found.push(scan.slot),
        From::Derived(slot, ..) => found.push(*slot),
        From::Join(join) => {
            own_slots(&join.left, found);
            own_slots(&join.right, found);
        }
    }
}

/// `known` are the slots with a current row; `all` are those of the whole clause.
fn push_parts(from: &mut From, parts: &[&Expr], known: &mut Vec<Slot>, all: &[Slot]) {
    match from {
        From::Nothing => {}
        From::Derived(slot, ..) => known.push(*slot),
        From::Scan(scan) => {
            for part in parts {
                if let Some((column, comparator, value)) = restriction(part, scan.slot) {
                    let is_ready = slots_of(&value).is_some_and(|slots| {
                        slots.iter().all(|slot| known.contains(slot) || !all.contains(slot))
                    });
                    if is_ready {
                        scan.sargs.push((column, comparator, value));
                    }
                }
            }
            known.push(scan.slot);
        }
        From::Join(join) => {
            let join = &mut **join;
            let on: Vec<&Expr> = join.on.as_ref().map_or(Vec::new(), conjuncts);
            let both: Vec<&Expr> = parts.iter().chain(&on).copied().collect();
            let (left, right): (&[&Expr], &[&Expr]) = match join.kind {
                JoinKind::Inner => (&both, &both),
                JoinKind::Left => (parts, &on),
                // The pass over unmatched right rows must number them as the first pass does.
                JoinKind::Full => (&[], &[]),
            };
            push_parts(&mut join.left, left, known, all);
            push_parts(&mut join.right, right, known, all);
        }
    }
}

/// A condition on a column of a slot: the column, the comparator, the other side as it is compared.
fn restriction(part: &Expr, slot: Slot) -> Option<(u16, Comparator, Expr)> {
    match part {
        Expr::Compare(comparator, how, sides) => {
            let [left, right] = &**sides;
            for (column, value, comparator, is_left) in
                [(left, right, *comparator, true), (right, left, comparator.flipped(), false)]
            {
                let Expr::Column(of, at) = column else { continue };
                if *of == slot && comparator != Comparator::Unequal {
                    return comparable(value, *how, is_left).map(|value| (*at, comparator, value));
                }
            }
            None
        }
        // A list of one value is an equality.
        Expr::In(left, list) => match (&**left, &list[..]) {
            (Expr::Column(of, at), [(value, how)]) if *of == slot => {
                comparable(value, *how, true).map(|value| (*at, Comparator::Equal, value))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The value to which a column is compared, if the comparison is that of the view.
fn comparable(value: &Expr, how: Comparison, column_is_left: bool) -> Option<Expr> {
    if how.collation != Collation::Binary {
        return None;
    }
    match how.rules {
        Rules::Same => Some(value.clone()),
        Rules::Sqlite(left, right) => {
            let (on_column, on_value) = if column_is_left { (left, right) } else { (right, left) };
            if on_column.is_some() {
                return None;
            }
            Some(match on_value {
                Some(affinity) => {
                    let cast = Cast { to: Type::Any(affinity), mode: CastMode::Implicit };
                    Expr::Cast(Box::new(value.clone()), cast)
                }
                None => value.clone(),
            })
        }
        Rules::MySql => None,
    }
}

/// The slots that an expression reads; `None` if it has a subquery or makes values.
fn slots_of(expr: &Expr) -> Option<Vec<Slot>> {
    let mut found = Vec::new();
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::Const(_) | Expr::Param(_) | Expr::Variable(_) | Expr::Proposed(_) => {}
            Expr::Column(slot, _) => found.push(*slot),
            Expr::Cast(inner, _) | Expr::Negate(_, inner) => open.push(inner),
            Expr::Arith(_, _, sides) => open.extend(sides.iter()),
            _ => return None,
        }
    }
    Some(found)
}
