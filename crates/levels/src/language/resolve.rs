//! Finds what names mean, checks sorts and arities, and returns definitions.
//!
//! Named definitions are inserted where they are used, with variables of their own. A definition may use only those above it, so
//! that none is recursive.

use std::ops::Range;

use super::ast::{self, Binder, Expr, Infix, Item, Kind, Postfix, Prefix, Sort};
use super::definition::{Atom, Axiom, Definition, Formula, Quantifier, Relation, Variable};
use super::error::Error;
use super::print;
use super::values::{self, Values};
use crate::Framework;

/// The most formulas and relations of a level after all definitions are inserted.
const LARGEST: u32 = 100_000;
/// How deeply formulas may be nested after all definitions are inserted.
const DEEPEST: u32 = 500;
/// The most variables of an axiom.
const MOST_VARIABLES: u32 = 250;

/// The meaning of a level; `base` is what it extends.
pub(super) fn level(level: &ast::Level, base: Option<&Definition>) -> Result<Definition, Error> {
    let framework = framework(&level.framework)?;
    let mut axioms = base.map(|base| base.axioms.clone()).unwrap_or_default();
    let mut resolver = Resolver::new(Some(framework));
    let mut names: Vec<&str> = Vec::new();
    for item in &level.items {
        match item {
            Item::Let { name, params, body } => resolver.define(name, params, body)?,
            Item::Axiom { name, body } => {
                let formula = resolver.axiom(body)?;
                if let Some(name) = name {
                    if names.contains(&name.text.as_str()) {
                        let message = format!("there is another axiom `{}`", name.text);
                        return Err(Error::new(name.span.clone(), message));
                    }
                    names.push(&name.text);
                }
                let name = name.as_ref().map(|name| name.text.clone()).unwrap_or_default();
                axioms.push(Axiom { name, level: level.name.text.clone(), formula, text: print::expr(body) });
            }
        }
    }
    if axioms.is_empty() {
        let message = "the level has no condition";
        return Err(
            Error::new(level.name.span.clone(), message).help("`true` is a condition that always holds")
        );
    }
    Ok(Definition {
        name: level.name.text.clone(),
        framework,
        extends: level.extends.as_ref().map(|name| name.text.clone()),
        about: level.about.clone(),
        axioms,
        text: print::level(level),
    })
}

/// The meaning of a formula about a history alone.
pub(super) fn condition(expr: &Expr) -> Result<Formula, Error> {
    Resolver::new(None).axiom(expr)
}

/// The framework of a name.
pub(super) fn framework(name: &ast::Name) -> Result<Framework, Error> {
    let found = Framework::LANGUAGE.into_iter().find(|framework| framework.keyword() == name.text);
    found.ok_or_else(|| {
        let keywords = Framework::LANGUAGE.map(Framework::keyword).join(", ");
        Error::new(name.span.clone(), format!("there is no framework `{}`", name.text))
            .help(format!("the frameworks are {keywords}"))
    })
}

struct Resolver<'a> {
    /// None: the formula is about a history, without a witness.
    framework: Option<Framework>,
    lets: Vec<Let<'a>>,
    /// The variables in scope, the innermost last.
    scope: Vec<(String, Variable)>,
    next: u32,
    /// The number of the quantifier that is being read, and of the one that binds each variable.
    block: u32,
    blocks: Vec<u32>,
    values: Values,
    size: u32,
    depth: u32,
    /// The use of a named definition that is being inserted, the outermost one.
    inserting: Option<Range<usize>>,
}

#[derive(Clone)]
struct Let<'a> {
    name: &'a str,
    params: &'a [Binder],
    body: &'a Expr,
}

/// What an expression is.
enum Meaning {
    Formula(Formula),
    Relation(Relation),
}

impl Meaning {
    fn what(&self) -> &'static str {
        match self {
            Meaning::Formula(_) => "a formula",
            Meaning::Relation(_) => "a relation",
        }
    }
}

/// The relations of the language that lead from transactions to transactions, with what they need.
const RELATIONS: [(&str, &[Framework]); 11] = [
    ("so", &[]),
    ("rt", &[]),
    ("wr", &[]),
    ("id", &[]),
    ("co", &[Framework::CommitOrder]),
    ("ar", &[Framework::Visibility]),
    ("vis", &[Framework::Visibility]),
    ("ex", &[Framework::States]),
    ("ww", &[Framework::Dependencies]),
    ("rw", &[Framework::Dependencies]),
    ("po", &[]),
];
const PREDICATES: [&str; 2] = ["writes", "reads"];

impl<'a> Resolver<'a> {
    fn new(framework: Option<Framework>) -> Self {
        Resolver {
            framework,
            lets: Vec::new(),
            scope: Vec::new(),
            next: 0,
            block: 0,
            blocks: Vec::new(),
            values: Values::default(),
            size: 0,
            depth: 0,
            inserting: None,
        }
    }

    /// Where to point for something that is wrong only because definitions are inserted.
    fn place(&self, span: &Range<usize>) -> Range<usize> {
        self.inserting.clone().unwrap_or_else(|| span.clone())
    }

    fn grow(&mut self, span: &Range<usize>) -> Result<(), Error> {
        self.size += 1;
        if self.size <= LARGEST {
            return Ok(());
        }
        let message =
            format!("the definition has more than {LARGEST} parts after its definitions are inserted");
        Err(Error::new(self.place(span), message))
    }

    fn fresh(&mut self, sort: Sort) -> Variable {
        self.next += 1;
        self.blocks.push(self.block);
        Variable { id: self.next - 1, sort }
    }

    fn define(&mut self, name: &'a ast::Name, params: &'a [Binder], body: &'a Expr) -> Result<(), Error> {
        let is_known =
            RELATIONS.iter().map(|(known, _)| *known).chain(PREDICATES).any(|known| known == name.text);
        if is_known {
            let message = format!("`{}` is a relation of the language", name.text);
            return Err(Error::new(name.span.clone(), message).help("choose another name"));
        }
        if self.lets.iter().any(|one| one.name == name.text) {
            return Err(Error::new(name.span.clone(), format!("`{}` is already defined", name.text)));
        }
        // It is checked where it is defined, even if it is never used.
        self.scope.clear();
        distinct(params)?;
        for param in params {
            let variable = self.fresh(param.sort);
            self.scope.push((param.name.text.clone(), variable));
        }
        let meaning = self.meaning(body).map_err(|error| explain_recursion(error, &name.text))?;
        self.scope.clear();
        // The keys of values are known where it is used.
        self.values = Values::default();
        if let (Meaning::Relation(_), false) = (&meaning, params.is_empty()) {
            let message = "a definition with parameters is a formula, this is a relation";
            return Err(Error::new(body.span.clone(), message));
        }
        self.lets.push(Let { name: &name.text, params, body });
        Ok(())
    }

    /// A formula with not too many variables, in which every value has a key.
    fn axiom(&mut self, expr: &Expr) -> Result<Formula, Error> {
        let first = self.next;
        let formula = self.formula(expr)?;
        self.few_variables(first, expr)?;
        let values = std::mem::take(&mut self.values);
        if values.bound.is_empty() {
            return Ok(formula);
        }
        let keys = values.keys(&self.blocks)?;
        let formula = values::limited(formula, &keys, &mut |sort| self.fresh(sort));
        self.few_variables(first, expr)?;
        Ok(formula)
    }

    fn few_variables(&self, first: u32, expr: &Expr) -> Result<(), Error> {
        if self.next - first <= MOST_VARIABLES {
            return Ok(());
        }
        let message = format!(
            "the formula has more than {MOST_VARIABLES} variables after its definitions are inserted"
        );
        Err(Error::new(expr.span.clone(), message))
    }

    fn formula(&mut self, expr: &Expr) -> Result<Formula, Error> {
        match self.meaning(expr)? {
            Meaning::Formula(formula) => Ok(formula),
            meaning @ Meaning::Relation(_) => {
                Err(Error::new(expr.span.clone(), format!("expected a formula, found {}", meaning.what()))
                    .help(
                        "`acyclic`, `irreflexive`, `empty`, `in` and arguments make a formula of a relation",
                    ))
            }
        }
    }

    fn relation(&mut self, expr: &Expr) -> Result<Relation, Error> {
        match self.meaning(expr)? {
            Meaning::Relation(relation) => Ok(relation),
            meaning @ Meaning::Formula(_) => {
                Err(Error::new(expr.span.clone(), format!("expected a relation, found {}", meaning.what())))
            }
        }
    }

    fn meaning(&mut self, expr: &Expr) -> Result<Meaning, Error> {
        self.grow(&expr.span)?;
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!(
                "the definition is nested more than {DEEPEST} deep after its definitions are inserted"
            );
            return Err(Error::new(self.place(&expr.span), message));
        }
        let meaning = self.meaning_of(expr)?;
        self.depth -= 1;
        Ok(meaning)
    }

    fn meaning_of(&mut self, expr: &Expr) -> Result<Meaning, Error> {
        Ok(match &expr.kind {
            Kind::True => Meaning::Formula(Formula::Constant(true)),
            Kind::False => Meaning::Formula(Formula::Constant(false)),
            Kind::Name(name) => self.name(name, None, &expr.span)?,
            Kind::Index(relation, index) => {
                let key = self.variable(index, Sort::Key)?;
                match &relation.kind {
                    Kind::Name(name) => self.name(name, Some(key), &expr.span)?,
                    _ => return Err(not_of_one_key(&relation.span)),
                }
            }
            Kind::Apply(function, args) => Meaning::Formula(self.apply(function, args, &expr.span)?),
            Kind::Prefix(prefix, operand) => self.prefix(*prefix, operand)?,
            Kind::Postfix(postfix, operand) => {
                Meaning::Relation(postfixed(*postfix, self.relation(operand)?))
            }
            Kind::Infix(infix, left, right) => self.infix(*infix, left, right)?,
            Kind::Quantified { exists, binders, body } => {
                let quantifier = if *exists { Quantifier::Exists } else { Quantifier::Forall };
                let outside = self.scope.len();
                distinct(binders)?;
                self.block += 1;
                for binder in binders {
                    let variable = self.fresh(binder.sort);
                    if binder.sort == Sort::Value {
                        self.values.bound.push((variable, self.place(&binder.name.span)));
                    }
                    self.scope.push((binder.name.text.clone(), variable));
                }
                let body = self.formula(body)?;
                let mut bound = self.scope.split_off(outside);
                // Quantifiers of one kind can be swapped: the key of a value is bound outside of it.
                bound.sort_by_key(|(_, variable)| variable.sort == Sort::Value);
                let quantified = bound.into_iter().rev().fold(body, |body, (_, variable)| {
                    Formula::Quantified(quantifier, variable, Box::new(body))
                });
                Meaning::Formula(quantified)
            }
        })
    }

    /// A variable of a sort.
    fn variable(&mut self, expr: &Expr, sort: Sort) -> Result<Variable, Error> {
        let Kind::Name(name) = &expr.kind else {
            return Err(Error::new(expr.span.clone(), format!("expected a variable of sort {sort}")));
        };
        let variable = self.bound(name).ok_or_else(|| unbound(name, &expr.span))?;
        if variable.sort == sort {
            return Ok(variable);
        }
        let message = format!("`{name}` is a {}, this place takes a {sort}", variable.sort);
        Err(Error::new(expr.span.clone(), message))
    }

    fn bound(&self, name: &str) -> Option<Variable> {
        self.scope.iter().rev().find(|(bound, _)| bound == name).map(|(_, variable)| *variable)
    }

    /// A relation, or a named definition without arguments.
    fn name(&mut self, name: &str, key: Option<Variable>, span: &Range<usize>) -> Result<Meaning, Error> {
        if let Some(place) = self.lets.iter().position(|one| one.name == name) {
            if key.is_some() {
                return Err(not_of_one_key(span));
            }
            return self.insert(place, span);
        }
        if self.bound(name).is_some() {
            return Err(Error::new(
                span.clone(),
                format!("`{name}` is a variable, not a formula or a relation"),
            ));
        }
        let relation = match (name, key) {
            ("wr", key) => Relation::Wr(key),
            ("ww", key) => Relation::Ww(key),
            ("rw", key) => Relation::Rw(key),
            ("so", None) => Relation::So,
            ("rt", None) => Relation::Rt,
            ("id", None) => Relation::Identity,
            ("vis", None) => Relation::Vis,
            ("co" | "ar" | "ex", None) => Relation::Order,
            ("so" | "rt" | "id" | "vis" | "co" | "ar" | "ex", Some(_)) => return Err(not_of_one_key(span)),
            ("po" | "reads" | "writes", _) => {
                return Err(
                    Error::new(span.clone(), format!("`{name}` needs arguments")).help(arguments_of(name))
                );
            }
            _ => return Err(self.unknown(name, span)),
        };
        self.allow(name, span)?;
        Ok(Meaning::Relation(relation))
    }

    /// Whether the framework has a relation.
    fn allow(&self, name: &str, span: &Range<usize>) -> Result<(), Error> {
        let needs = RELATIONS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, needs)| needs);
        let Some(first) = needs.first() else { return Ok(()) };
        match self.framework {
            None => {
                let message = format!("a condition on histories has no relation `{name}`");
                Err(Error::new(span.clone(), message).help("it has so, rt, wr, id, reads, writes and po"))
            }
            Some(framework) if needs.contains(&framework) => Ok(()),
            Some(framework) => {
                let message = format!("a level in {} has no relation `{name}`", framework.keyword());
                Err(Error::new(span.clone(), message).help(format!("levels in {} have it", first.keyword())))
            }
        }
    }

    fn unknown(&self, name: &str, span: &Range<usize>) -> Error {
        let error = Error::new(span.clone(), format!("unknown relation `{name}`"));
        if name.contains('-') {
            return error.help("the operator `-` has spaces around it");
        }
        let usable = |(known, needs): &(&'static str, &[Framework])| {
            let allowed =
                needs.is_empty() || self.framework.is_some_and(|framework| needs.contains(&framework));
            allowed.then_some(*known)
        };
        let mut known: Vec<&str> = RELATIONS.iter().filter_map(usable).chain(PREDICATES).collect();
        known.extend(self.lets.iter().map(|one| one.name));
        error.help(format!("known here: {}", known.join(", ")))
    }

    /// The body of a named definition, with its parameters as a relation if it has two transactions.
    fn insert(&mut self, place: usize, span: &Range<usize>) -> Result<Meaning, Error> {
        let Let { name, params, .. } = self.lets[place].clone();
        match params {
            [] => self.insert_with(place, &[], span),
            [first, second] if first.sort == Sort::Txn && second.sort == Sort::Txn => {
                let variables = [self.fresh(Sort::Txn), self.fresh(Sort::Txn)];
                let Meaning::Formula(body) = self.insert_with(place, &variables, span)? else {
                    unreachable!("a definition with parameters is a formula")
                };
                Ok(Meaning::Relation(Relation::Where(variables[0], variables[1], Box::new(body))))
            }
            _ => {
                let sorts: Vec<&str> = params.iter().map(|param| param.sort.name()).collect();
                let message = format!("`{name}` needs arguments: {name}({})", sorts.join(", "));
                Err(Error::new(span.clone(), message))
            }
        }
    }

    /// The body of a named definition with values for its parameters. It may use the definitions above it.
    fn insert_with(
        &mut self,
        place: usize,
        args: &[Variable],
        span: &Range<usize>,
    ) -> Result<Meaning, Error> {
        let Let { params, body, .. } = self.lets[place].clone();
        let scope = std::mem::take(&mut self.scope);
        let later = self.lets.split_off(place);
        self.scope = params.iter().zip(args).map(|(param, &arg)| (param.name.text.clone(), arg)).collect();
        let outermost = self.inserting.clone();
        self.inserting.get_or_insert(span.clone());
        let meaning = self.meaning(body);
        self.inserting = outermost;
        self.lets.extend(later);
        self.scope = scope;
        meaning
    }

    fn apply(&mut self, function: &Expr, args: &[Expr], span: &Range<usize>) -> Result<Formula, Error> {
        if let Kind::Name(name) = &function.kind {
            if let Some(place) = self.lets.iter().position(|one| one.name == name)
                && !self.lets[place].params.is_empty()
            {
                let params = self.lets[place].params;
                if params.len() != args.len() {
                    return Err(arity(name, params.len(), args.len(), span));
                }
                let values: Result<Vec<Variable>, Error> =
                    params.iter().zip(args).map(|(param, arg)| self.variable(arg, param.sort)).collect();
                return match self.insert_with(place, &values?, span)? {
                    Meaning::Formula(formula) => Ok(formula),
                    Meaning::Relation(_) => unreachable!("a definition with parameters is a formula"),
                };
            }
            if PREDICATES.contains(&name.as_str()) {
                return self.access(name, args, span);
            }
        }
        if let Kind::Index(po, txn) = &function.kind
            && matches!(&po.kind, Kind::Name(name) if name == "po")
        {
            let txn = self.variable(txn, Sort::Txn)?;
            let [first, second] = args else { return Err(arity("po[t]", 2, args.len(), span)) };
            let (first, second) = (self.variable(first, Sort::Key)?, self.variable(second, Sort::Key)?);
            return Ok(Formula::Atom(Atom::ReadsBefore(txn, first, second)));
        }
        let relation = self.relation(function)?;
        let [from, to] = args else {
            return Err(Error::new(
                span.clone(),
                format!("a relation takes 2 arguments, found {}", args.len()),
            ));
        };
        let (from, to) = (self.variable(from, Sort::Txn)?, self.variable(to, Sort::Txn)?);
        Ok(Formula::Atom(Atom::Related(relation, from, to)))
    }

    /// `reads` and `writes` of a transaction, and perhaps a key and a value.
    fn access(&mut self, name: &str, args: &[Expr], span: &Range<usize>) -> Result<Formula, Error> {
        if args.len() > 3 {
            let message = format!("`{name}` takes 1 to 3 arguments, found {}", args.len());
            return Err(Error::new(span.clone(), message).help(arguments_of(name)));
        }
        let txn = self.variable(&args[0], Sort::Txn)?;
        let key = args.get(1).map(|key| self.variable(key, Sort::Key)).transpose()?;
        let value = args.get(2).map(|value| self.variable(value, Sort::Value)).transpose()?;
        if let (Some(key), Some(value)) = (key, value) {
            self.values.used.push((value, key, self.place(&args[2].span)));
        }
        let atom = if name == "reads" { Atom::Reads(txn, key, value) } else { Atom::Writes(txn, key, value) };
        Ok(Formula::Atom(atom))
    }

    fn prefix(&mut self, prefix: Prefix, operand: &Expr) -> Result<Meaning, Error> {
        Ok(match prefix {
            Prefix::Not => Meaning::Formula(not(self.formula(operand)?)),
            Prefix::Inverse => Meaning::Relation(Relation::Inverse(Box::new(self.relation(operand)?))),
            Prefix::Acyclic => Meaning::Formula(Formula::Acyclic(self.relation(operand)?)),
            Prefix::Irreflexive => Meaning::Formula(Formula::Irreflexive(self.relation(operand)?)),
            Prefix::Total => Meaning::Formula(Formula::Total(self.relation(operand)?)),
            Prefix::Empty => Meaning::Formula(Formula::Empty(self.relation(operand)?)),
            Prefix::Transitive => {
                let relation = self.relation(operand)?;
                let twice = Relation::Compose(Box::new(relation.clone()), Box::new(relation.clone()));
                Meaning::Formula(Formula::In(twice, relation))
            }
        })
    }

    fn infix(&mut self, infix: Infix, left: &Expr, right: &Expr) -> Result<Meaning, Error> {
        if matches!(infix, Infix::Equal | Infix::Differ) {
            let formula = self.equality(left, right)?;
            return Ok(Meaning::Formula(if infix == Infix::Equal { formula } else { not(formula) }));
        }
        let relational = matches!(infix, Infix::In | Infix::Minus | Infix::Compose);
        let logical = matches!(infix, Infix::Iff | Infix::Implies);
        let left_meaning = match (relational, logical) {
            (true, _) => Meaning::Relation(self.relation(left)?),
            (_, true) => Meaning::Formula(self.formula(left)?),
            _ => self.meaning(left)?,
        };
        Ok(match left_meaning {
            Meaning::Formula(left) => {
                let right = self.formula(right)?;
                Meaning::Formula(match infix {
                    Infix::Iff => Formula::Iff(Box::new(left), Box::new(right)),
                    Infix::Implies => any(not(left), right),
                    Infix::Or => any(left, right),
                    _ => all(left, right),
                })
            }
            Meaning::Relation(left) => {
                let right = self.relation(right)?;
                match infix {
                    Infix::In => Meaning::Formula(Formula::In(left, right)),
                    Infix::Minus => Meaning::Relation(Relation::Minus(Box::new(left), Box::new(right))),
                    Infix::Compose => Meaning::Relation(Relation::Compose(Box::new(left), Box::new(right))),
                    Infix::Or => Meaning::Relation(Relation::Union(vec![left, right])),
                    _ => Meaning::Relation(Relation::Intersection(vec![left, right])),
                }
            }
        })
    }

    /// Two variables of one sort, or two relations.
    fn equality(&mut self, left: &Expr, right: &Expr) -> Result<Formula, Error> {
        if let Kind::Name(name) = &left.kind
            && let Some(variable) = self.bound(name)
        {
            let other = self.variable(right, variable.sort)?;
            if variable.sort == Sort::Value {
                self.values.compared.push((variable, other, self.place(&right.span)));
            }
            return Ok(Formula::Atom(Atom::Same(variable, other)));
        }
        let (left, right) = (self.relation(left)?, self.relation(right)?);
        Ok(all(Formula::In(left.clone(), right.clone()), Formula::In(right, left)))
    }
}

/// Variables that are bound together have different names.
fn distinct(binders: &[Binder]) -> Result<(), Error> {
    for (place, binder) in binders.iter().enumerate() {
        if binders[..place].iter().any(|other| other.name.text == binder.name.text) {
            let message = format!("`{}` is bound twice", binder.name.text);
            return Err(Error::new(binder.name.span.clone(), message));
        }
    }
    Ok(())
}

fn not(formula: Formula) -> Formula {
    match formula {
        Formula::Not(inner) => *inner,
        Formula::Constant(value) => Formula::Constant(!value),
        formula => Formula::Not(Box::new(formula)),
    }
}

fn all(left: Formula, right: Formula) -> Formula {
    let mut parts = Vec::new();
    for formula in [left, right] {
        match formula {
            Formula::All(more) => parts.extend(more),
            formula => parts.push(formula),
        }
    }
    Formula::All(parts)
}

fn any(left: Formula, right: Formula) -> Formula {
    let mut parts = Vec::new();
    for formula in [left, right] {
        match formula {
            Formula::Any(more) => parts.extend(more),
            formula => parts.push(formula),
        }
    }
    Formula::Any(parts)
}

fn postfixed(postfix: Postfix, relation: Relation) -> Relation {
    let steps = match postfix {
        Postfix::Optional => return Relation::Union(vec![relation, Relation::Identity]),
        Postfix::Plus | Postfix::Star => Relation::Plus(Box::new(relation)),
    };
    match postfix {
        Postfix::Star => Relation::Union(vec![steps, Relation::Identity]),
        _ => steps,
    }
}

fn not_of_one_key(span: &Range<usize>) -> Error {
    Error::new(span.clone(), "only wr, ww and rw can be restricted to one key")
}

fn unbound(name: &str, span: &Range<usize>) -> Error {
    let help = "a variable is bound by a quantifier: forall t: Txn. ..";
    Error::new(span.clone(), format!("unbound variable `{name}`")).help(help)
}

fn arity(name: &str, takes: usize, found: usize, span: &Range<usize>) -> Error {
    let plural = if takes == 1 { "" } else { "s" };
    Error::new(span.clone(), format!("`{name}` takes {takes} argument{plural}, found {found}"))
}

fn arguments_of(name: &str) -> String {
    match name {
        "po" => "po[t](x, y): transaction t reads key x before key y".to_owned(),
        name => format!("{name}(t), {name}(t, x) or {name}(t, x, v): a transaction, a key, a value"),
    }
}

/// A definition that uses itself.
fn explain_recursion(error: Error, name: &str) -> Error {
    if error.message == format!("unknown relation `{name}`") {
        let message = format!("the definition of `{name}` uses itself");
        return Error { message, help: "use `+` or `*` for paths of any length".to_owned(), ..error };
    }
    error
}
