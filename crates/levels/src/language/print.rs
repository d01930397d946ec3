//! Prints a syntax tree as text that reads back as the same tree.

use super::ast::{Binder, Expr, Infix, Item, Kind, Level, NOT_STRENGTH, Prefix, WORD_STRENGTH};

/// The strength of an operand that needs no parentheses anywhere.
const CLOSED: u8 = u8::MAX;

/// A level.
pub(super) fn level(level: &Level) -> String {
    let extends = level.extends.as_ref().map(|base| format!(" extends {}", base.text)).unwrap_or_default();
    let mut text = format!("level {} in {}{extends} {{\n", level.name.text, level.framework.text);
    for item in &level.items {
        match item {
            Item::Let { name, params, body } => {
                let params = if params.is_empty() { String::new() } else { format!("({})", binders(params)) };
                text.push_str(&format!("  let {}{params} = {}\n", name.text, expr(body)));
            }
            Item::Axiom { name: Some(name), body } => {
                text.push_str(&format!("  axiom {}: {}\n", name.text, expr(body)));
            }
            Item::Axiom { name: None, body } => text.push_str(&format!("  axiom {}\n", expr(body))),
        }
    }
    text.push('}');
    text
}

/// An expression on one line.
pub(super) fn expr(expr: &Expr) -> String {
    let mut text = String::new();
    write(expr, &mut text);
    text
}

fn strength(expr: &Expr) -> u8 {
    match &expr.kind {
        // It ends with a quantifier, which would reach further.
        Kind::Infix(_, _, right) if matches!(right.kind, Kind::Quantified { .. }) => 0,
        Kind::Infix(infix, ..) => infix.strength(),
        Kind::Prefix(Prefix::Inverse, _) => 9,
        Kind::Quantified { .. } => 0,
        Kind::Prefix(..) => NOT_STRENGTH,
        _ => CLOSED,
    }
}

/// In parentheses, if it binds less tightly than this.
fn operand(expr: &Expr, least: u8, text: &mut String) {
    let is_weaker = strength(expr) < least;
    text.push_str(if is_weaker { "(" } else { "" });
    write(expr, text);
    text.push_str(if is_weaker { ")" } else { "" });
}

fn write(expr: &Expr, text: &mut String) {
    match &expr.kind {
        Kind::True => text.push_str("true"),
        Kind::False => text.push_str("false"),
        Kind::Name(name) => text.push_str(name),
        Kind::Index(relation, index) => {
            operand(relation, CLOSED, text);
            text.push('[');
            write(index, text);
            text.push(']');
        }
        Kind::Apply(function, args) => {
            operand(function, CLOSED, text);
            text.push('(');
            for (i, arg) in args.iter().enumerate() {
                text.push_str(if i == 0 { "" } else { ", " });
                write(arg, text);
            }
            text.push(')');
        }
        Kind::Prefix(Prefix::Not, inner) => {
            text.push('!');
            operand(inner, NOT_STRENGTH, text);
        }
        Kind::Prefix(Prefix::Inverse, inner) => {
            text.push('~');
            operand(inner, CLOSED, text);
        }
        Kind::Prefix(word, inner) => {
            text.push_str(word.text());
            text.push(' ');
            operand(inner, WORD_STRENGTH, text);
        }
        Kind::Postfix(postfix, inner) => {
            operand(inner, CLOSED, text);
            text.push_str(postfix.text());
        }
        Kind::Infix(infix, left, right) => {
            let own = infix.strength();
            let groups_right = *infix == Infix::Implies;
            operand(left, own + u8::from(groups_right), text);
            text.push_str(&format!(" {} ", infix.text()));
            match right.kind {
                Kind::Quantified { .. } => write(right, text),
                _ => operand(right, own + u8::from(!groups_right), text),
            }
        }
        Kind::Quantified { exists, binders: bound, body } => {
            text.push_str(if *exists { "exists " } else { "forall " });
            text.push_str(&binders(bound));
            text.push_str(". ");
            write(body, text);
        }
    }
}

/// `x: Key, s, t: Txn`
fn binders(binders: &[Binder]) -> String {
    let groups = binders.chunk_by(|a, b| a.sort == b.sort).map(|group| {
        let names: Vec<&str> = group.iter().map(|binder| binder.name.text.as_str()).collect();
        format!("{}: {}", names.join(", "), group[0].sort)
    });
    groups.collect::<Vec<_>>().join(", ")
}
