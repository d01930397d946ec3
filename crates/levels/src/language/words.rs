//! Definitions in plain English.
//!
//! Sentences are made from the text of a definition, so that variables and named definitions keep their names. Parts that could be
//! read in two ways are in parentheses.

use super::ast::{Binder, Expr, Infix, Item, Kind, Level, Postfix, Prefix, Sort};
use super::definition::Definition;
use super::parser;
use crate::Framework;

impl Definition {
    /// The definition in sentences: what a witness is, the named definitions, and each axiom. What the level extends is only named.
    pub fn words(&self) -> Vec<String> {
        let levels = parser::levels(&self.text).expect("a printed definition is a definition");
        levels.first().map(|level| sentences(level, self.framework)).unwrap_or_default()
    }
}

/// What a witness is.
fn witness(framework: Framework) -> &'static str {
    match framework {
        Framework::CommitOrder => {
            "A history is allowed if its transactions have a commit order that agrees with sessions and reads, such that the following \
             holds."
        }
        Framework::Visibility => {
            "A history is allowed if its transactions have an arbitration order, and each transaction sees some of those before it, \
             such that the following holds."
        }
        Framework::Dependencies => {
            "A history is allowed if the writers of each key have an order, the version order, such that the following holds. A \
             transaction misses another one if it reads a version of a key and the other one writes a later version."
        }
        Framework::States | Framework::Transaction => {
            "A history is allowed if its transactions have an order of execution such that the following holds. After each transaction \
             there is a state, in which each key has the value that was written last."
        }
    }
}

fn sentences(level: &Level, framework: Framework) -> Vec<String> {
    let mut out = vec![witness(framework).to_owned()];
    if let Some(base) = &level.extends {
        out.push(format!("All conditions of {}@{} hold.", base.text, framework.keyword()));
    }
    let mut writer = Writer { relations: Vec::new(), names: Vec::new() };
    for item in &level.items {
        match item {
            Item::Let { name, params, body } if params.is_empty() && writer.is_relation(body) => {
                out.push(format!("`{}` is {}.", name.text, writer.noun(body)));
                writer.relations.push(name.text.clone());
            }
            Item::Let { name, params, body } => {
                let names: Vec<&str> = params.iter().map(|param| param.name.text.as_str()).collect();
                let arguments =
                    if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
                writer.names = names.iter().map(|&name| name.to_owned()).collect();
                out.push(format!("`{}{arguments}` means: {}.", name.text, writer.clause(body)));
            }
            Item::Axiom { name, body } => {
                writer.names.clear();
                let name = name.as_ref().map(|name| format!("{}: ", name.text)).unwrap_or_default();
                out.push(format!("{name}{}.", capital(&writer.clause(body))));
            }
        }
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

struct Writer {
    /// The named definitions without parameters that are relations.
    relations: Vec<String>,
    /// The variables in scope.
    names: Vec<String>,
}

impl Writer {
    fn is_relation(&self, expr: &Expr) -> bool {
        match &expr.kind {
            // A named formula with two transactions may be used as a relation; there, it is one.
            Kind::Name(name) => {
                self.relations.contains(name) || BASIC.iter().any(|(basic, ..)| basic == name)
            }
            Kind::Index(..)
            | Kind::Postfix(..)
            | Kind::Prefix(Prefix::Inverse, _)
            | Kind::Infix(Infix::Minus | Infix::Compose, ..) => true,
            Kind::Infix(Infix::Or | Infix::And, left, right) => {
                self.is_relation(left) || self.is_relation(right)
            }
            _ => false,
        }
    }

    /// A formula as a clause without its end.
    fn clause(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            Kind::True => "this always holds".to_owned(),
            Kind::False => "this never holds".to_owned(),
            Kind::Name(name) => format!("`{name}`"),
            Kind::Apply(function, args) => self.apply(function, args, true),
            Kind::Prefix(prefix, operand) => self.prefix(*prefix, operand),
            Kind::Infix(infix, left, right) => self.infix(*infix, expr, left, right),
            Kind::Quantified { exists, binders, body } => self.quantified(*exists, binders, body),
            Kind::Index(..) | Kind::Postfix(..) => self.noun(expr),
        }
    }

    /// A clause that is part of a larger one.
    fn part(&mut self, expr: &Expr) -> String {
        let text = self.clause(expr);
        let is_simple = matches!(
            expr.kind,
            Kind::Apply(..) | Kind::Name(_) | Kind::Infix(Infix::Equal | Infix::Differ, ..)
        ) || matches!(&expr.kind, Kind::Prefix(Prefix::Not, inner) if matches!(inner.kind, Kind::Apply(..)))
            && !text.starts_with("it is not");
        let is_one = is_simple && !text.contains(" or ") && !text.contains(" and ")
            || text.ends_with(" are different")
            || text.ends_with(" are the same");
        if is_one { text } else { format!("({text})") }
    }

    fn infix(&mut self, infix: Infix, expr: &Expr, left: &Expr, right: &Expr) -> String {
        match infix {
            Infix::Implies => {
                let condition = match &left.kind {
                    Kind::Infix(Infix::And, ..) => self.junction(left, Infix::And),
                    _ => self.clause(left),
                };
                format!("if {condition}, then {}", self.clause(right))
            }
            Infix::Iff => format!("{} if and only if {}", self.part(left), self.part(right)),
            Infix::And | Infix::Or => self.junction(expr, infix),
            Infix::In => self.inside(left, right),
            Infix::Equal | Infix::Differ => {
                let word = if infix == Infix::Equal { "the same" } else { "different" };
                if let (Kind::Name(a), Kind::Name(b)) = (&left.kind, &right.kind)
                    && self.names.contains(a)
                {
                    return format!("{a} and {b} are {word}");
                }
                format!("{} and {} are {word}", self.noun(left), self.noun(right))
            }
            Infix::Minus | Infix::Compose => self.noun(expr),
        }
    }

    /// The parts of a conjunction or a disjunction.
    fn junction(&mut self, expr: &Expr, infix: Infix) -> String {
        let mut flat = Vec::new();
        flatten(expr, infix, &mut flat);
        let parts: Vec<String> = flat.into_iter().map(|part| self.part(part)).collect();
        listed(&parts, if infix == Infix::And { "and" } else { "or" })
    }

    fn inside(&mut self, left: &Expr, right: &Expr) -> String {
        let (s, t) = (self.fresh("s"), self.fresh("t"));
        self.names.extend([s.clone(), t.clone()]);
        let text = format!(
            "for all transactions {s} and {t}: if {}, then {}",
            self.pair(left, &s, &t),
            self.pair(right, &s, &t)
        );
        self.names.truncate(self.names.len() - 2);
        text
    }

    fn quantified(&mut self, exists: bool, binders: &[Binder], body: &Expr) -> String {
        let outside = self.names.len();
        self.names.extend(binders.iter().map(|binder| binder.name.text.clone()));
        let text = self.clause(body);
        self.names.truncate(outside);
        let bound = bound(binders);
        if exists {
            let is = if binders.len() == 1 { format!("is a {bound}") } else { format!("are {bound}") };
            format!("there {is} such that {text}")
        } else if binders.len() == 1 {
            format!("for every {bound}: {text}")
        } else {
            format!("for all {bound}: {text}")
        }
    }

    fn prefix(&mut self, prefix: Prefix, operand: &Expr) -> String {
        match prefix {
            Prefix::Not => match &operand.kind {
                Kind::Apply(function, args) => self.apply(function, args, false),
                Kind::Quantified { exists: true, binders, body } => {
                    let text = self.quantified(true, binders, body);
                    let text = text.replacen("there is a ", "there is no ", 1);
                    text.replacen("there are ", "there are no ", 1)
                }
                _ => format!("it is not the case that {}", self.part(operand)),
            },
            Prefix::Inverse => self.noun(operand),
            Prefix::Acyclic => format!("there is no cycle of {}", self.noun(operand)),
            Prefix::Irreflexive => format!("no transaction leads to itself by {}", self.noun(operand)),
            Prefix::Transitive => {
                let noun = self.noun(operand);
                format!("{noun} is transitive: if it leads from s to t and from t to u, it leads from s to u")
            }
            Prefix::Total => {
                format!("of any two transactions, one leads to the other by {}", self.noun(operand))
            }
            Prefix::Empty => format!("no transaction leads to another by {}", self.noun(operand)),
        }
    }

    /// A statement about variables, or its negation.
    fn apply(&mut self, function: &Expr, args: &[Expr], positive: bool) -> String {
        let names: Vec<&str> = args.iter().map(name_of).collect();
        if let Kind::Name(name) = &function.kind {
            let verb = match (name.as_str(), positive) {
                ("writes", true) => "writes",
                ("writes", false) => "does not write",
                ("reads", true) => "reads",
                ("reads", false) => "does not read",
                _ => "",
            };
            match (verb, names.as_slice()) {
                ("", _) => {}
                (verb, [t]) => {
                    return format!("{t} {verb} {}", if positive { "something" } else { "anything" });
                }
                (verb, [t, x]) => return format!("{t} {verb} {x}"),
                (verb, [t, x, v]) => return format!("{t} {verb} the version {v} of {x}"),
                _ => {}
            }
            let is_basic = BASIC.iter().any(|(basic, ..)| basic == name);
            if !is_basic && !self.relations.contains(name) {
                let text = format!("`{name}({})`", names.join(", "));
                return if positive { text } else { format!("not {text}") };
            }
        }
        if let Kind::Index(po, txn) = &function.kind
            && name_of(po) == "po"
            && let [x, y] = names.as_slice()
        {
            let t = name_of(txn);
            return if positive {
                format!("{t} reads {x} before {y}")
            } else {
                format!("{t} does not read {x} before {y}")
            };
        }
        let [s, t] = names.as_slice() else { return String::new() };
        if positive { self.pair(function, s, t) } else { self.not_pair(function, s, t) }
    }

    /// That a relation leads from one transaction to another.
    fn pair(&mut self, relation: &Expr, s: &str, t: &str) -> String {
        if let Some((clause, _)) = basic(relation, s, t) {
            return clause;
        }
        match &relation.kind {
            Kind::Infix(infix @ (Infix::Or | Infix::And), ..) => {
                let mut flat = Vec::new();
                flatten(relation, *infix, &mut flat);
                let parts: Vec<String> = flat.into_iter().map(|part| self.pair_part(part, s, t)).collect();
                listed(&parts, if *infix == Infix::And { "and" } else { "or" })
            }
            Kind::Infix(Infix::Minus, left, right) => {
                format!(
                    "{} and it is not the case that {}",
                    self.pair_part(left, s, t),
                    self.pair_part(right, s, t)
                )
            }
            Kind::Infix(Infix::Compose, left, right) => {
                let middle = self.fresh("u");
                self.names.push(middle.clone());
                let text = format!(
                    "for some transaction {middle}, {} and {}",
                    self.pair_part(left, s, &middle),
                    self.pair_part(right, &middle, t)
                );
                self.names.pop();
                text
            }
            Kind::Postfix(Postfix::Optional, inner) => {
                format!("{s} and {t} are the same or {}", self.pair_part(inner, s, t))
            }
            Kind::Postfix(..) => format!("{} lead from {s} to {t}", self.noun(relation)),
            Kind::Prefix(Prefix::Inverse, inner) => self.pair(inner, t, s),
            Kind::Name(name) if self.relations.contains(name) => format!("`{name}` leads from {s} to {t}"),
            Kind::Name(name) => format!("`{name}({s}, {t})`"),
            _ => format!("{} leads from {s} to {t}", self.noun(relation)),
        }
    }

    fn pair_part(&mut self, relation: &Expr, s: &str, t: &str) -> String {
        let text = self.pair(relation, s, t);
        let is_one = basic(relation, s, t).is_some() || matches!(relation.kind, Kind::Name(_));
        if is_one { text } else { format!("({text})") }
    }

    fn not_pair(&mut self, relation: &Expr, s: &str, t: &str) -> String {
        match basic(relation, s, t) {
            Some((_, negation)) => negation,
            None => format!("it is not the case that {}", self.pair_part(relation, s, t)),
        }
    }

    /// A relation as a noun.
    fn noun(&mut self, relation: &Expr) -> String {
        match &relation.kind {
            Kind::Name(name) => {
                let basic = BASIC.iter().find(|(basic, ..)| basic == name);
                basic.map_or_else(|| format!("`{name}`"), |(.., noun)| (*noun).to_owned())
            }
            Kind::Index(inner, key) => format!("{} of {}", self.noun(inner), name_of(key)),
            Kind::Infix(infix @ (Infix::Or | Infix::And), ..) => {
                let mut flat = Vec::new();
                flatten(relation, *infix, &mut flat);
                let parts: Vec<String> = flat.into_iter().map(|part| self.noun_part(part)).collect();
                listed(&parts, if *infix == Infix::And { "and at once" } else { "or" })
            }
            Kind::Infix(Infix::Minus, left, right) => {
                format!("{} except {}", self.noun_part(left), self.noun_part(right))
            }
            Kind::Infix(Infix::Compose, left, right) => {
                format!("{} followed by {}", self.noun_part(left), self.noun_part(right))
            }
            Kind::Postfix(Postfix::Optional, inner) => {
                format!("at most one step of {}", self.noun_part(inner))
            }
            Kind::Postfix(Postfix::Plus, inner) => format!("one or more steps of {}", self.noun_part(inner)),
            Kind::Postfix(Postfix::Star, inner) => {
                format!("any number of steps of {}", self.noun_part(inner))
            }
            Kind::Prefix(Prefix::Inverse, inner) => format!("{} backwards", self.noun_part(inner)),
            _ => self.clause(relation),
        }
    }

    fn noun_part(&mut self, relation: &Expr) -> String {
        let text = self.noun(relation);
        if matches!(relation.kind, Kind::Name(_) | Kind::Index(..)) { text } else { format!("({text})") }
    }

    /// A name that no variable in scope has.
    fn fresh(&self, name: &str) -> String {
        let numbered =
            (1..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}{number}") });
        numbered.into_iter().find(|name| !self.names.contains(name)).unwrap_or_default()
    }
}

/// The relations of the language: that they lead from s to t, that they do not, and as nouns. `{s}`, `{t}` and `{x}` are replaced.
const BASIC: [(&str, &str, &str, &str); 10] = [
    ("so", "{s} is before {t} in a session", "{s} is not before {t} in a session", "session order"),
    (
        "rt",
        "{s} returned before {t} was invoked",
        "{s} did not return before {t} was invoked",
        "real-time order",
    ),
    ("wr", "{t} reads {x} from {s}", "{t} does not read {x} from {s}", "reads from a writer"),
    ("co", "{s} commits before {t}", "{s} does not commit before {t}", "the commit order"),
    (
        "ar",
        "{s} is before {t} in the arbitration order",
        "{s} is not before {t} in the arbitration order",
        "the arbitration order",
    ),
    ("vis", "{t} sees {s}", "{t} does not see {s}", "visibility"),
    ("ex", "{s} is executed before {t}", "{s} is not executed before {t}", "the order of execution"),
    (
        "ww",
        "{t} writes a later version of {x} than {s}",
        "{t} does not write a later version of {x} than {s}",
        "the version order",
    ),
    ("rw", "{s} misses the write of {x} by {t}", "{s} does not miss a write of {x} by {t}", "missed writes"),
    ("id", "{s} and {t} are the same", "{s} and {t} are different", "nothing"),
];

/// A relation of the language between two transactions, and that it does not hold.
fn basic(relation: &Expr, s: &str, t: &str) -> Option<(String, String)> {
    let (name, key) = match &relation.kind {
        Kind::Name(name) => (name.as_str(), "some key"),
        Kind::Index(inner, key) => (name_of(inner), name_of(key)),
        _ => return None,
    };
    let (_, clause, negation, _) = BASIC.iter().find(|(basic, ..)| *basic == name)?;
    let fill = |text: &str, key: &str| text.replace("{s}", s).replace("{t}", t).replace("{x}", key);
    Some((fill(clause, key), fill(negation, if key == "some key" { "any key" } else { key })))
}

fn name_of(expr: &Expr) -> &str {
    if let Kind::Name(name) = &expr.kind { name } else { "" }
}

fn flatten<'e>(expr: &'e Expr, infix: Infix, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        Kind::Infix(other, left, right) if *other == infix => {
            flatten(left, infix, parts);
            flatten(right, infix, parts);
        }
        _ => parts.push(expr),
    }
}

/// `a, b and c`
fn listed(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        // A comma shows where the last part begins.
        [first @ .., last] if parts.iter().any(|part| part.contains(" and ") && !part.ends_with(')')) => {
            format!("{}, {word} {last}", first.join(", "))
        }
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// `keys x and y and transactions s and t`
fn bound(binders: &[Binder]) -> String {
    let groups: Vec<String> = binders
        .chunk_by(|a, b| a.sort == b.sort)
        .map(|group| {
            let names: Vec<String> = group.iter().map(|binder| binder.name.text.clone()).collect();
            let noun = match group[0].sort {
                Sort::Txn => "transaction",
                Sort::Key => "key",
                Sort::Value => "version",
            };
            format!(
                "{noun}{} {}",
                if names.len() == 1 && binders.len() == 1 { "" } else { "s" },
                listed(&names, "and")
            )
        })
        .collect();
    listed(&groups, "and")
}
