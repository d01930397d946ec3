//! Which parts of a history can be left out without making a level forbid more.
//!
//! A small part of a history shows why a level forbids the history only if every history with this part is forbidden. Then any
//! witness of the whole history, restricted to the part, would be a witness of the part. This is sure for the following formulas.
//!
//! **Transactions.** What is left is a substructure: it keeps everything that two transactions have to do with each other. A
//! formula stays true in it if its quantifiers are universal: `forall` and the quantifiers in `in`, `acyclic`, `irreflexive`,
//! `empty` and `total` stand in positive positions, `exists` and the ones in `;` and `+` in negative ones.
//!
//! **Reads and writes.** In addition, `reads`, `wr`, `rw` and `po` stand only in negative positions if reads are left out, and
//! `writes`, `ww` and `rw` if writes are.

use isoscope_levels::language::{Atom, Axiom, Formula, Quantifier, Relation};

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removable {
    pub(crate) txns: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Removable {
    /// What can be left out for all of some axioms.
    pub(crate) fn of<'a>(axioms: impl IntoIterator<Item = &'a Axiom>) -> Removable {
        let mut found = Removable { txns: true, reads: true, writes: true };
        for axiom in axioms {
            found.formula(&axiom.formula, true);
        }
        // An operation that is left out may take its key along.
        found.reads &= found.txns;
        found.writes &= found.txns;
        found
    }

    /// There is a universal quantifier, or an existential one in a negative position.
    fn universal(&mut self, positive: bool) {
        self.txns &= positive;
    }

    fn existential(&mut self, positive: bool) {
        self.txns &= !positive;
    }

    fn formula(&mut self, formula: &Formula, positive: bool) {
        match formula {
            Formula::Constant(_) => {}
            Formula::Not(inner) => self.formula(inner, !positive),
            Formula::All(parts) | Formula::Any(parts) => {
                for part in parts {
                    self.formula(part, positive);
                }
            }
            Formula::Iff(a, b) => {
                for positive in [true, false] {
                    self.formula(a, positive);
                    self.formula(b, positive);
                }
            }
            Formula::Quantified(quantifier, _, body) => {
                match quantifier {
                    Quantifier::Forall => self.universal(positive),
                    Quantifier::Exists => self.existential(positive),
                }
                self.formula(body, positive);
            }
            Formula::Atom(atom) => self.atom(atom, positive),
            Formula::In(a, b) => {
                self.universal(positive);
                self.relation(a, !positive);
                self.relation(b, positive);
            }
            Formula::Acyclic(relation) | Formula::Irreflexive(relation) | Formula::Empty(relation) => {
                self.universal(positive);
                self.relation(relation, !positive);
            }
            Formula::Total(relation) => {
                self.universal(positive);
                self.relation(relation, positive);
            }
        }
    }

    fn atom(&mut self, atom: &Atom, positive: bool) {
        match atom {
            Atom::Same(..) => {}
            Atom::Related(relation, ..) => self.relation(relation, positive),
            Atom::Writes(..) => self.writes &= !positive,
            Atom::Reads(..) | Atom::ReadsBefore(..) => self.reads &= !positive,
        }
    }

    fn relation(&mut self, relation: &Relation, positive: bool) {
        match relation {
            Relation::So | Relation::Rt | Relation::Order | Relation::Vis | Relation::Identity => {}
            Relation::Wr(_) => self.reads &= !positive,
            Relation::Ww(_) => self.writes &= !positive,
            Relation::Rw(_) => {
                self.reads &= !positive;
                self.writes &= !positive;
            }
            Relation::Union(parts) | Relation::Intersection(parts) => {
                for part in parts {
                    self.relation(part, positive);
                }
            }
            Relation::Minus(a, b) => {
                self.relation(a, positive);
                self.relation(b, !positive);
            }
            Relation::Compose(a, b) => {
                self.existential(positive);
                self.relation(a, positive);
                self.relation(b, positive);
            }
            Relation::Plus(inner) => {
                self.existential(positive);
                self.relation(inner, positive);
            }
            Relation::Inverse(inner) => self.relation(inner, positive),
            Relation::Where(_, _, body) => self.formula(body, positive),
        }
    }
}
