//! Clauses from serial orders: *some included read is not explained by this order*.
//!
//! A serial order of all forms, full and boundary, explains a read if its writer is the last included writer of the key before it.
//! An order that explains every read of a candidate shows that the candidate is serializable, and so is every other candidate whose reads
//! it explains. So a violating candidate has a read that the order does not explain, for each order that was found. This mentions no level.
//!
//! Why a read `r` at its place in an order is not explained:
//!
//! - its writer is behind it: ge(r, i + 1), where the first `i` writers of the key are before it in observed order;
//! - or an included writer is between its writer and it: *late*, which follows a chain of forms before the read. late of a chain implies
//!   late of the chain without its last form, or that this form writes the key and the writer of `r` is before it.
//!
//! A *reader*, a boundary form that writes nothing, affects no other transaction, so an order leaves its place open: it is unexplained only if it is
//! at each of several slots. The slots are those that explained it in some candidate before, so what is learnt about one reader serves all
//! combinations with others. Without that, a run with many readers and versions needs an order for each combination.
//!
//! Chains are shared between orders. The reads of a transaction whose chains are those of the observed order are one literal, so a
//! clause has a literal for each transaction, and more only for what the order moves.

use isoscope_solve::Lit;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::encode::Encoder;
use crate::oracle::Order;
use crate::problem::{INITIAL, Problem};

/// The most slots of a reader.
const MOST_SLOTS: usize = 64;

/// A form in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Full(u32),
    Boundary(u32),
    /// Whichever form of a transaction is included.
    Either(u32),
}

/// Where the writer of a read is before.
#[derive(Clone, Copy)]
enum Before {
    /// The full forms of the chain are the first writers of the key in observed order, this many.
    Observed(u32),
    /// This literal implies that the writer is one of the chain.
    Lit(Lit),
}

/// A chain: a shorter one and a form.
struct Chain {
    late: Lit,
    before: Before,
}

/// The literal of a reader, and the ranks at which it says that the reader is not explained.
type Reader = (Lit, FxHashSet<u32>);

/// What was learnt, and the chains.
pub(crate) struct Learnt {
    chains: Vec<Chain>,
    longer: FxHashMap<(u32, Form), u32>,
    /// For each read: the chain of no form.
    roots: Vec<u32>,
    /// For each transaction: some read of its boundary form, at its place in the observed order, is not explained.
    deviates: Vec<Option<Lit>>,
    /// For each reader: the ranks that explained it.
    slots: FxHashMap<u32, Vec<u32>>,
    /// For each reader, and the moved forms that write its keys: some read of it is unexplained at each of these ranks.
    readers: FxHashMap<(u32, Vec<(u32, u32)>), Reader>,
    /// The number of orders.
    pub(crate) orders: u64,
    known: FxHashSet<Vec<Lit>>,
}

impl Learnt {
    pub(crate) fn new(encoder: &mut Encoder<'_>) -> Learnt {
        let mut learnt = Learnt {
            chains: Vec::new(),
            longer: FxHashMap::default(),
            roots: Vec::new(),
            deviates: vec![None; encoder.window.end as usize],
            slots: FxHashMap::default(),
            readers: FxHashMap::default(),
            orders: 0,
            known: FxHashSet::default(),
        };
        for read in 0..encoder.reads.len() {
            learnt.roots.push(read as u32);
            learnt.chains.push(Chain { late: encoder.no(), before: Before::Observed(0) });
        }
        learnt
    }

    /// Learns an order; false if its clause was known.
    pub(crate) fn add(&mut self, encoder: &mut Encoder<'_>, order: &Order) -> bool {
        let places = Places::new(encoder.problem, order);
        let mut clause = Vec::new();
        for number in encoder.window.start..encoder.window.end {
            if encoder.bound(number).is_none() {
                continue;
            }
            if order.ranks.is_none() && encoder.problem.txn(number).writes.is_empty() {
                clause.push(self.reader(encoder, number, order));
            } else if places.is_observed(encoder.problem, number) {
                clause.push(self.deviates(encoder, number));
            } else {
                for read in encoder.reads_of(number) {
                    self.unexplained(encoder, read, &places, &mut clause);
                }
            }
        }
        full_readers(encoder, &places, &mut clause);
        clause.sort_unstable();
        clause.dedup();
        clause.retain(|&lit| lit != encoder.no());
        if !self.known.insert(clause.clone()) {
            return false;
        }
        encoder.solver.add_clause(&clause);
        self.orders += 1;
        true
    }

    /// The literal that some read of a boundary form at its own place is not explained.
    fn deviates(&mut self, encoder: &mut Encoder<'_>, number: u32) -> Lit {
        if let Some(lit) = self.deviates[number as usize] {
            return lit;
        }
        let order = Order { ranks: None, moved: Vec::new() };
        let observed = Places::new(encoder.problem, &order);
        let lit = encoder.solver.variable(false);
        let mut clause = vec![!lit];
        for read in encoder.reads_of(number) {
            self.unexplained(encoder, read, &observed, &mut clause);
        }
        clause.retain(|&lit| lit != encoder.no());
        encoder.solver.add_clause(&clause);
        self.deviates[number as usize] = Some(lit);
        lit
    }

    /// The literal that a reader is not explained wherever it is among the others, of which some are moved.
    fn reader(&mut self, encoder: &mut Encoder<'_>, number: u32, order: &Order) -> Lit {
        let problem = encoder.problem;
        let keys = &problem.txn(number).reads;
        let disturbs = |&(moved, _): &(u32, u32)| {
            moved == number || keys.iter().any(|read| problem.txn(moved).writes_key(read.key))
        };
        let context: Vec<(u32, u32)> = order.moved.iter().copied().filter(disturbs).collect();
        let own = context.iter().find(|&&(moved, _)| moved == number).map(|&(_, rank)| rank);
        let others: Vec<(u32, u32)> = context.iter().copied().filter(|&(moved, _)| moved != number).collect();
        let known = self.slots.entry(number).or_default();
        if let Some(rank) = own
            && known.len() < MOST_SLOTS
            && !known.contains(&rank)
        {
            known.push(rank);
        }
        let known = known.clone();
        let (lit, mut done) = match self.readers.remove(&(number, others.clone())) {
            Some(reader) => reader,
            None => (encoder.solver.variable(false), FxHashSet::default()),
        };
        let mut moved: Vec<Vec<(u32, u32)>> = Vec::new();
        if done.insert(u32::MAX) {
            moved.push(others.clone());
        }
        // At a known slot it follows the forms of the same rank.
        let follows = |rank: u32| others.iter().copied().chain([(number, rank)]).collect();
        moved.extend(known.into_iter().filter(|&rank| done.insert(rank)).map(follows));
        // In this order it may precede them.
        if own.is_some_and(|rank| !others.is_empty() || !done.contains(&rank)) {
            moved.push(context);
        }
        for moved in moved {
            let order = Order { ranks: None, moved };
            let places = Places::new(problem, &order);
            let mut clause = vec![!lit];
            for read in encoder.reads_of(number) {
                self.unexplained(encoder, read, &places, &mut clause);
            }
            clause.retain(|&lit| lit != encoder.no());
            encoder.solver.add_clause(&clause);
        }
        self.readers.insert((number, others), (lit, done));
        lit
    }

    /// The literals that a read of a boundary form is not explained.
    fn unexplained(
        &mut self,
        encoder: &mut Encoder<'_>,
        read: usize,
        places: &Places<'_>,
        clause: &mut Vec<Lit>,
    ) {
        let (number, key) = (encoder.reads[read].txn, encoder.reads[read].key);
        let forms = places.before(encoder, number, key);
        let mut chain = self.roots[read];
        for form in forms {
            chain = self.longer(encoder, read, chain, form);
        }
        clause.push(self.chains[chain as usize].late);
        match self.chains[chain as usize].before {
            Before::Observed(count) => clause.push(encoder.at_or_after(read, count + 1)),
            Before::Lit(_) => {
                let at = places.of_boundary(number);
                let choices = encoder.reads[read].choices.iter();
                let behind =
                    choices.filter(|choice| choice.writer != INITIAL && places.of_full(choice.writer) >= at);
                clause.extend(behind.map(|choice| choice.lit));
            }
        }
    }

    /// A chain and one more form.
    fn longer(&mut self, encoder: &mut Encoder<'_>, read: usize, chain: u32, form: Form) -> u32 {
        if let Some(&longer) = self.longer.get(&(chain, form)) {
            return longer;
        }
        let Chain { late, before } = self.chains[chain as usize];
        let key = encoder.reads[read].key;
        let is_before = match before {
            Before::Observed(count) => !encoder.at_or_after(read, count + 1),
            Before::Lit(lit) => lit,
        };
        let included = encoder.reads[read].included;
        let first = match before {
            Before::Observed(count) => {
                encoder.reads[read].choices.first().is_none_or(|choice| choice.index > count)
            }
            Before::Lit(lit) => lit == encoder.no(),
        };
        let mut then = late;
        if !first {
            let writes: Vec<Lit> = match form {
                Form::Full(writer) => vec![encoder.full(writer)],
                Form::Boundary(writer) => vec![encoder.writes(writer, key)],
                Form::Either(writer) => vec![encoder.full(writer), encoder.writes(writer, key)],
            };
            then = encoder.solver.variable(false);
            let clause: Vec<Lit> = [!then, late].into_iter().chain(writes).collect();
            encoder.solver.add_clause(&clause);
            encoder.solver.add_clause(&[!then, late, is_before]);
            encoder.solver.add_clause(&[!then, included]);
        }
        let before = self.before_longer(encoder, read, before, form);
        self.chains.push(Chain { late: then, before });
        let longer = self.chains.len() as u32 - 1;
        self.longer.insert((chain, form), longer);
        longer
    }

    /// Whether the writer of a read is in a chain with one more form.
    #[allow(clippy::unused_self, reason = "it is a part of `longer`")]
    fn before_longer(&self, encoder: &mut Encoder<'_>, read: usize, before: Before, form: Form) -> Before {
        let (Form::Full(writer) | Form::Either(writer)) = form else { return before };
        let key = encoder.reads[read].key as usize;
        if let Before::Observed(count) = before
            && encoder.problem.writers[key].get(count as usize) == Some(&writer)
        {
            return Before::Observed(count + 1);
        }
        let shorter = match before {
            Before::Observed(count) => {
                let later = encoder.at_or_after(read, count + 1);
                let included = encoder.reads[read].included;
                encoder.both(included, !later)
            }
            Before::Lit(lit) => lit,
        };
        let Some(choice) = encoder.reads[read].choice(writer) else { return Before::Lit(shorter) };
        let lit = encoder.solver.variable(false);
        encoder.solver.add_clause(&[!lit, shorter, choice]);
        Before::Lit(lit)
    }
}

/// The literals that a moved boundary form is between a full reader and its source, or that the order of full forms is.
fn full_readers(encoder: &mut Encoder<'_>, places: &Places<'_>, clause: &mut Vec<Lit>) {
    let (problem, end) = (encoder.problem, encoder.window.end);
    let of_run = |number: &u32| !problem.txn(*number).is_variant;
    for number in (0..end).filter(of_run) {
        for read in &problem.txn(number).reads {
            let source = (read.source != INITIAL).then(|| places.of_full(read.source));
            let until = places.of_full(number);
            let is_between = |at: (u32, u32)| source.is_none_or(|source| at > source) && at < until;
            for &(moved, _) in places.moved.iter().filter(|&&(moved, _)| moved != number && moved < end) {
                if problem.txn(moved).writes_key(read.key)
                    && is_between(places.of_boundary(moved))
                    && moved != read.source
                {
                    let (writes, full) = (encoder.writes(moved, read.key), encoder.full(number));
                    clause.push(encoder.both(full, writes));
                }
            }
            // In the observed order, only variants are between a reader and its source.
            if places.ranks.is_none() && !problem.has_variants {
                continue;
            }
            if source.is_some_and(|source| source > until) {
                clause.push(encoder.full(number));
            }
            for &writer in &problem.writers[read.key as usize] {
                if writer >= end || writer == number || writer == read.source {
                    continue;
                }
                if places.ranks.is_none() && of_run(&writer) {
                    continue;
                }
                if of_run(&writer) && is_between(places.of_full(writer)) {
                    let (one, other) = (encoder.full(number), encoder.full(writer));
                    clause.push(encoder.both(one.min(other), one.max(other)));
                }
                if !places.is_moved(writer) && is_between(places.of_boundary(writer)) {
                    let (writes, full) = (encoder.writes(writer, read.key), encoder.full(number));
                    clause.push(encoder.both(full, writes));
                }
            }
        }
    }
}

/// The places of all forms in an order: a rank and, inside it, an order. A moved boundary form is before the full form of its rank; one
/// that is not moved is right before the full form of its transaction.
struct Places<'o> {
    ranks: Option<&'o [u32]>,
    moved: &'o [(u32, u32)],
    /// The keys that moved forms write.
    disturbed: FxHashSet<u32>,
}

/// The place of a full form among those of its rank, behind all moved boundary forms.
const FULL: u32 = u32::MAX;

impl<'o> Places<'o> {
    fn new(problem: &Problem<'_>, order: &'o Order) -> Places<'o> {
        let writes = order.moved.iter().flat_map(|&(number, _)| &problem.txn(number).writes);
        Places {
            ranks: order.ranks.as_deref(),
            moved: &order.moved,
            disturbed: writes.map(|write| write.key).collect(),
        }
    }

    fn is_moved(&self, number: u32) -> bool {
        self.moved.iter().any(|&(moved, _)| moved == number)
    }

    fn of_full(&self, number: u32) -> (u32, u32) {
        (self.ranks.map_or(number, |ranks| ranks[number as usize]), FULL)
    }

    fn of_boundary(&self, number: u32) -> (u32, u32) {
        let moved = self.moved.iter().zip(0..).find(|((moved, _), _)| *moved == number);
        moved.map_or((self.of_full(number).0, FULL - 1), |(&(_, rank), place)| (rank, place))
    }

    /// Whether the reads of a boundary form have the chains of the observed order.
    fn is_observed(&self, problem: &Problem<'_>, number: u32) -> bool {
        let reads = &problem.txn(number).reads;
        self.ranks.is_none()
            && !self.is_moved(number)
            && !reads.iter().any(|read| self.disturbed.contains(&read.key))
    }

    /// The forms that write a key and are before a boundary form, in order, without those of its own transaction.
    fn before(&self, encoder: &Encoder<'_>, number: u32, key: u32) -> Vec<Form> {
        let until = self.of_boundary(number);
        let writers = &encoder.problem.writers[key as usize];
        let mut forms: Vec<((u32, u32), Form)> = Vec::new();
        for &writer in writers.iter().take_while(|&&writer| writer < encoder.window.end) {
            let (full, boundary) = (self.of_full(writer), self.of_boundary(writer));
            let has_boundary = writer != number && encoder.bound(writer).is_some();
            if writer == number {
                // The full form of the reader is never included with it, but it keeps the place of the key's writers.
                if full < until {
                    forms.push((full, Form::Full(writer)));
                }
            } else if has_boundary && !self.is_moved(writer) {
                if full < until {
                    forms.push((full, Form::Either(writer)));
                }
            } else {
                if full < until {
                    forms.push((full, Form::Full(writer)));
                }
                if has_boundary && boundary < until {
                    forms.push((boundary, Form::Boundary(writer)));
                }
            }
        }
        forms.sort_unstable_by_key(|&(place, _)| place);
        forms.into_iter().map(|(_, form)| form).collect()
    }
}
