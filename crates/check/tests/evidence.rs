//! Evidence is as simple as it can be, and every component of a violation shows some.
//!
//! Random histories whose version order is known, as lists or as chains of read-modify-writes, are drawn as tables of edges, and a
//! breadth-first search of the plainest kind says for every component of a level the simplest cycle that the level forbids: with
//! the fewest anti-dependencies, then without real time, and without sessions, then with the fewest steps.
//!
//! Up to five keys are drawn, so that cycles of several anti-dependencies occur without simpler ones. A key is a list or a register;
//! the first write of a register may be blind; and the last append to a list may be one that no list holds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use isoscope_check::{Case, Checker, Edge, Evidence, Finding, Node, Options, Proof, Through, Verdict, Why};
use isoscope_history::{History, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::verify;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// What a transaction does to a key: it reads a version and perhaps makes another.
#[derive(Clone, Copy)]
struct Access {
    key: usize,
    /// Which version it reads: the number of versions before it.
    read: Option<usize>,
    writes: bool,
}

struct Drawn {
    txns: Vec<Vec<Access>>,
    /// By transaction.
    session: Vec<usize>,
    interval: Vec<(usize, usize)>,
    /// By key, its writers in the order of versions.
    versions: Vec<Vec<usize>>,
    /// By key.
    lists: Vec<bool>,
}

fn draw(dice: &mut Dice) -> Drawn {
    let key_count = 2 + dice.below(4);
    let mixed = dice.below(3) == 0;
    let all_lists = dice.below(2) == 0;
    let lists: Vec<bool> =
        (0..key_count).map(|_| if mixed { dice.below(2) == 0 } else { all_lists }).collect();
    let count = 3 + dice.below(5);
    let mut txns: Vec<Vec<Access>> = Vec::new();
    let mut versions: Vec<Vec<usize>> = vec![Vec::new(); key_count];
    for txn in 0..count {
        // About one or two keys a transaction, however many there are.
        let keys = (0..key_count).filter(|_| dice.below(key_count + 1) < 2);
        let accesses = keys.collect::<Vec<_>>().into_iter().map(|key| {
            let writes = dice.below(2) == 0;
            if writes {
                let place =
                    if lists[key] { dice.below(versions[key].len() + 1) } else { versions[key].len() };
                versions[key].insert(place, txn);
            }
            Access { key, read: None, writes }
        });
        txns.push(accesses.collect());
    }
    for (txn, accesses) in txns.iter_mut().enumerate() {
        for access in accesses {
            let versions = &versions[access.key];
            let own = versions.iter().position(|&writer| writer == txn);
            access.read = match own {
                // A register is known to be overwritten only by who read it. That the initial version is overwritten is known.
                Some(0) if !lists[access.key] && dice.below(2) == 0 => None,
                Some(own) if !lists[access.key] => Some(own),
                Some(_) if dice.below(2) == 0 => None,
                Some(own) => Some(own - dice.below(own + 1).min(dice.below(own + 1))),
                None => {
                    Some(versions.len() - dice.below(versions.len() + 1).min(dice.below(versions.len() + 1)))
                }
            };
        }
    }
    // Someone reads all versions of every list, or all but the last.
    if lists.contains(&true) {
        let all = (0..key_count).filter(|&key| lists[key]);
        let all = all.collect::<Vec<_>>().into_iter().map(|key| {
            let read = versions[key].len().saturating_sub(usize::from(dice.below(4) == 0));
            Access { key, read: Some(read), writes: false }
        });
        txns.push(all.collect());
    }
    let interval = (0..txns.len()).map(|i| (2 * i + dice.below(5), 2 * i + 5 + dice.below(6))).collect();
    let session = (0..txns.len()).map(|i| if dice.below(2) == 0 { dice.below(3) } else { 3 + i }).collect();
    Drawn { txns, session, interval, versions, lists }
}

impl Drawn {
    fn text(&self) -> String {
        let sessions: BTreeSet<usize> = self.session.iter().copied().collect();
        let of = |session: usize| (0..self.txns.len()).filter(move |&txn| self.session[txn] == session);
        let session = |session: usize| of(session).map(|txn| self.txn(txn)).collect::<Vec<_>>().join(" ; ");
        sessions.into_iter().map(session).collect::<Vec<_>>().join("\n")
    }

    fn txn(&self, txn: usize) -> String {
        let (start, end) = self.interval[txn];
        let mut text = format!("T{txn}@{start}-{end}:");
        for &Access { key, read, writes } in &self.txns[txn] {
            let writers = &self.versions[key];
            if let Some(read) = read {
                let list: Vec<String> =
                    writers[..read].iter().map(|writer| (writer + 1).to_string()).collect();
                let last = list.last().cloned().unwrap_or_else(|| "0".to_owned());
                text += &if self.lists[key] {
                    format!(" r(k{key},[{}])", list.join(" "))
                } else {
                    format!(" r(k{key},{last})")
                };
            }
            if writes {
                text += &format!(" {}(k{key},{})", if self.lists[key] { "a" } else { "w" }, txn + 1);
            }
        }
        text
    }

    /// All dependencies.
    fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (from, to) in (0..self.txns.len()).flat_map(|from| (0..self.txns.len()).map(move |to| (from, to)))
        {
            if from == to {
                continue;
            }
            if self.session[from] == self.session[to] && from < to {
                links.push(Link { from, to, kind: Kind::So });
            }
            if self.interval[from].1 < self.interval[to].0 {
                links.push(Link { from, to, kind: Kind::Rt });
            }
        }
        for (txn, access) in self.txns.iter().enumerate().flat_map(|(t, a)| a.iter().map(move |a| (t, a))) {
            let Some(read) = access.read else { continue };
            let versions = &self.versions[access.key];
            if let Some(last) = read.checked_sub(1).map(|last| versions[last]).filter(|&last| last != txn) {
                links.push(Link { from: last, to: txn, kind: Kind::Wr });
            }
            let later = versions[read..].iter().filter(|&&writer| writer != txn);
            links.extend(later.map(|&to| Link { from: txn, to, kind: Kind::Rw }));
        }
        for (versions, _) in self.versions.iter().zip(&self.lists).filter(|(_, is_list)| **is_list) {
            for (i, &from) in versions.iter().enumerate() {
                links.extend(versions[i + 1..].iter().map(|&to| Link { from, to, kind: Kind::Ww }));
            }
        }
        links
    }

    /// Reads of a version that was overwritten by one that had returned before.
    fn stale_reads(&self) -> u64 {
        let stale = |txn: usize, access: &Access| {
            let later = access.read.map_or(&[][..], |read| &self.versions[access.key][read..]);
            later.iter().any(|&by| by != txn && self.interval[by].1 < self.interval[txn].0)
        };
        let reads = self.txns.iter().enumerate().flat_map(|(t, a)| a.iter().map(move |a| (t, a)));
        reads.filter(|&(txn, access)| stale(txn, access)).count() as u64
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Wr,
    Ww,
    Rw,
    So,
    Rt,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    from: usize,
    to: usize,
    kind: Kind,
}

/// How simple a cycle is.
type Rank = (usize, Through, usize);

/// What a level makes of dependencies.
#[derive(Clone, Copy)]
struct Rules {
    through: Through,
    /// Begins and commits are two events; and whether of two writers one commits before the other begins.
    split: Option<bool>,
    /// At most this many anti-dependencies; 2 is any number.
    most: usize,
}

const LEVELS: [(Level, Rules); 7] = [
    (Level::AdyaPl299, Rules { through: Through::Dependencies, split: None, most: 2 }),
    (Level::ParallelSnapshot, Rules { through: Through::Sessions, split: None, most: 1 }),
    (Level::Prefix, Rules { through: Through::Sessions, split: Some(false), most: 2 }),
    (Level::Snapshot, Rules { through: Through::Sessions, split: Some(true), most: 2 }),
    (Level::Serializable, Rules { through: Through::Sessions, split: None, most: 2 }),
    (Level::StrictSnapshot, Rules { through: Through::RealTime, split: Some(true), most: 2 }),
    (Level::StrictSerializable, Rules { through: Through::RealTime, split: None, most: 2 }),
];

impl Rules {
    /// The event that a dependency leads to, of a begin (0) and a commit (1).
    fn enters(self, kind: Kind) -> usize {
        match (self.split, kind) {
            (None, _) | (_, Kind::Wr | Kind::So | Kind::Rt) | (Some(true), Kind::Ww) => 0,
            _ => 1,
        }
    }

    /// The event that it leads from; after a begin comes its commit.
    fn leaves(self, kind: Kind) -> usize {
        usize::from(self.split.is_some() && kind != Kind::Rw)
    }
}

fn through(kind: Kind) -> Through {
    match kind {
        Kind::So => Through::Sessions,
        Kind::Rt => Through::RealTime,
        _ => Through::Dependencies,
    }
}

/// The shortest cycle through a transaction in a class, by its first link.
fn shortest(links: &[Link], rules: Rules, missed: usize, first: Link) -> Option<usize> {
    let counts = |rw: usize, link: &Link| rw + usize::from(link.kind == Kind::Rw);
    if counts(0, &first) > missed {
        return None;
    }
    let start = (first.to, rules.enters(first.kind), counts(0, &first));
    let mut queue = VecDeque::from([(start, 1)]);
    let mut met = BTreeSet::from([start]);
    while let Some(((txn, event, rw), steps)) = queue.pop_front() {
        if txn == first.from && event <= rules.leaves(first.kind) && rw == missed {
            return Some(steps);
        }
        for link in links.iter().filter(|link| link.from == txn && event <= rules.leaves(link.kind)) {
            let next = (link.to, rules.enters(link.kind), counts(rw, link));
            if counts(rw, link) <= missed && met.insert(next) {
                queue.push_back((next, steps + 1));
            }
        }
    }
    None
}

/// By component, as one of its events, the simplest cycle that a level forbids; and the component of every event.
fn components(links: &[Link], rules: Rules, txns: usize) -> (BTreeMap<usize, Rank>, Vec<usize>) {
    let known: Vec<Link> = links.iter().copied().filter(|link| through(link.kind) <= rules.through).collect();
    let mut reach = vec![vec![false; 2 * txns]; 2 * txns];
    for txn in 0..txns {
        reach[2 * txn][2 * txn + 1] = true;
    }
    for link in &known {
        let last = usize::from(rules.split.is_some());
        let from = if rules.split.is_some() {
            2 * link.from + rules.leaves(link.kind)
        } else {
            2 * link.from + last
        };
        reach[from][2 * link.to + rules.enters(link.kind)] = true;
    }
    if rules.split.is_none() {
        (0..txns).for_each(|txn| reach[2 * txn + 1][2 * txn] = true);
    }
    for link in known.iter().filter(|_| rules.split.is_none()) {
        reach[2 * link.from][2 * link.to] = true;
    }
    for middle in 0..2 * txns {
        for from in 0..2 * txns {
            for to in 0..2 * txns {
                reach[from][to] |= reach[from][middle] && reach[middle][to];
            }
        }
    }
    let mutual = |a: usize, b: usize| a == b || reach[a][b] && reach[b][a];
    let of: Vec<usize> =
        (0..2 * txns).map(|event| (0..=event).find(|&other| mutual(other, event)).unwrap()).collect();
    let mut best: BTreeMap<usize, Rank> = BTreeMap::new();
    for missed in 0..=if rules.most == 2 { txns } else { rules.most } {
        // Fewer anti-dependencies are simpler.
        let simpler: BTreeSet<usize> = best.keys().copied().collect();
        for limit in [Through::Dependencies, Through::Sessions, Through::RealTime] {
            let used: Vec<Link> = known.iter().copied().filter(|link| through(link.kind) <= limit).collect();
            let component = |link: &Link| of[2 * link.from + rules.leaves(link.kind)];
            for &first in used.iter().filter(|link| !simpler.contains(&component(link))) {
                if let Some(steps) = shortest(&used, rules, missed, first) {
                    let rank = (missed, limit, steps);
                    let entry = best.entry(component(&first)).or_insert(rank);
                    *entry = rank.min(*entry);
                }
            }
        }
    }
    (best, of)
}

/// How simple the evidence of an instance is; where the edges of its cycles begin, and whether they are anti-dependencies; and
/// whether it is one cycle.
fn rank(evidence: &Evidence) -> (Rank, Vec<Vec<(usize, bool)>>, bool) {
    let cycles: Vec<&[Edge]> = match evidence {
        Evidence::Cycle(edges) => vec![edges],
        Evidence::Cases(proof) => {
            let cycles = proof.cases.iter().filter_map(|case| match case {
                Case::Cycle(edges) => Some(&edges[..]),
                Case::Split { .. } => None,
            });
            cycles.collect()
        }
        other => panic!("{other:?}"),
    };
    let missed = |edges: &&[Edge]| edges.iter().filter(|edge| matches!(edge.why, Why::Misses { .. })).count();
    let of_edge = |edge: &Edge| match edge.why {
        Why::RealTime => Through::RealTime,
        Why::Session => Through::Sessions,
        _ => Through::Dependencies,
    };
    let through = cycles.iter().flat_map(|edges| edges.iter()).map(of_edge).max().unwrap();
    let main = cycles.last().unwrap();
    let begin = |edge: &Edge| match edge.from {
        Node::Txn(txn) => (txn.index(), matches!(edge.why, Why::Misses { .. })),
        Node::Initial => panic!("{evidence:?}"),
    };
    let rank = (cycles.iter().map(missed).max().unwrap(), through, main.len());
    (rank, cycles.iter().map(|edges| edges.iter().map(begin).collect()).collect(), cycles.len() == 1)
}

/// The number of a transaction as it was drawn.
fn number(history: &History, txn: usize) -> usize {
    let name = history.txn_name(isoscope_history::Txn(txn as u32));
    notation::ValueText(history, name).to_string().trim_start_matches('T').parse().unwrap()
}

#[test]
fn the_simplest_cycle_of_every_component_is_shown() {
    let options = Options { max_anomalies: usize::MAX, ..Options::default() };
    let mut met: BTreeMap<(Level, usize, Through), usize> = BTreeMap::new();
    for seed in 0..4_000 {
        let drawn = draw(&mut Dice(seed));
        let (text, links) = (drawn.text(), drawn.links());
        let history = notation::parse(&text).unwrap();
        for (level, rules) in LEVELS {
            let mut checker = Checker::new(&history, options);
            let judgement = checker.check(level);
            assert!(verify(&history, &judgement).is_ok(), "{seed} {level}: {judgement:?}\n{text}");
            let weak = [Level::Causal, Level::AdyaPl2, Level::CutIsolation];
            let weak = weak.into_iter().filter(|&weak| level.implies(weak));
            if weak.into_iter().any(|weak| !matches!(checker.check(weak).verdict, Verdict::Holds(_))) {
                continue;
            }
            let (expected, of) = components(&links, rules, drawn.txns.len());
            let findings: Vec<Finding> = match judgement.verdict {
                Verdict::Violated(findings) => findings,
                Verdict::Holds(_) => Vec::new(),
                Verdict::Unknown(unknown) => panic!("{unknown:?}"),
            };
            let mut shown: BTreeMap<usize, Rank> = BTreeMap::new();
            let mut numbers = BTreeSet::new();
            for instance in findings.iter().flat_map(|finding| &finding.instances) {
                let (rank, begins, plain) = rank(&instance.evidence);
                let event = |&(txn, missed): &(usize, bool)| {
                    of[2 * number(&history, txn) + usize::from(rules.split.is_some() && !missed)]
                };
                // Of two orders of lost updates, one is the right one: its cycle lies in one component.
                let whole = |cycle: &Vec<(usize, bool)>| {
                    let components: BTreeSet<usize> = cycle.iter().map(event).collect();
                    components.first().copied().filter(|_| components.len() == 1)
                };
                let known =
                    begins.iter().filter_map(whole).find(|component| expected.contains_key(component));
                let component = known.unwrap_or_else(|| panic!("{seed} {level}: {expected:?}\n{text}"));
                let simplest = expected.get(&component);
                assert!(
                    !plain || simplest.is_some_and(|simplest| rank >= *simplest),
                    "{seed} {level}: {rank:?} {expected:?}\n{text}"
                );
                let entry = shown.entry(component).or_insert(rank);
                *entry = rank.min(*entry);
                numbers.insert(instance.component);
            }
            assert_eq!(shown.len(), expected.len(), "{seed} {level}: {findings:?}\n{text}");
            assert_eq!(numbers.len(), expected.len(), "{seed} {level}: {findings:?}\n{text}");
            for (component, rank) in &shown {
                assert!(*rank <= expected[component], "{seed} {level}: {rank:?}, not {expected:?}\n{text}");
                *met.entry((level, rank.0, rank.1)).or_default() += 1;
            }
            assert!(findings.iter().all(|finding| !finding.at_least), "{seed} {level}\n{text}");
            let stale = findings.iter().filter(|finding| finding.anomaly == Anomaly::StaleRead);
            let all = if rules.through == Through::RealTime { drawn.stale_reads() } else { 0 };
            assert_eq!(stale.map(|finding| finding.count).sum::<u64>(), all, "{seed} {level}\n{text}");
        }
    }
    // Classes that only histories with causal violations show are not among them.
    assert!(met.len() > 15 && met.keys().any(|&(_, missed, _)| missed > 2), "{met:?}");
}

/// An anomaly is never reported when a level that forbids it holds.
#[test]
fn no_name_claims_too_much() {
    let names = |text: &str, level: Level| -> Vec<(Anomaly, Through)> {
        let history = notation::parse(text).unwrap();
        let judgement = Checker::new(&history, Options::default()).check(level);
        assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
        let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
        findings.iter().map(|finding| (finding.anomaly, finding.through)).collect()
    };
    let by_cases = "T0: a(y,1) r(x,[])  T1: a(y,2) r(x,[])  T2: a(x,1)  T3: r(x,[1]) r(y,[])";
    assert_eq!(names(by_cases, Level::Snapshot), [(Anomaly::SnapshotSkew, Through::Dependencies)]);
    let in_session = "T1: r(x,0) w(x,1) ; T4: r(x,2) ; T5: r(x,3)  T2: w(x,2)  T3: r(x,1) w(x,3)";
    assert_eq!(names(in_session, Level::ParallelSnapshot), [(Anomaly::ReadSkew, Through::Sessions)]);
    let in_time = "T1@0-1: w(x,1)  T2@2-3: w(x,2)  T3@2-9: r(x,1) w(x,3)  T4@4-5: r(x,2)  T5@6-7: r(x,3)";
    assert_eq!(names(in_time, Level::StrictSnapshot), [(Anomaly::StaleRead, Through::RealTime)]);
    let lost = "init=nil  T0: a(x,1) a(y,1)  T1: a(x,2) a(y,2)  T2: r(x,[2]) r(y,[1 2])";
    assert_eq!(names(lost, Level::AdyaPl2), [(Anomaly::LostAppend, Through::Dependencies)]);
    let judge = |level: Level| Checker::new(&notation::parse(lost).unwrap(), Options::default()).check(level);
    assert!(matches!(judge(Level::AdyaPl1).verdict, Verdict::Holds(_)));
    let in_session = "init=nil  T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2])";
    assert_eq!(names(in_session, Level::StrongSessionPl2), [(Anomaly::LostAppend, Through::Sessions)]);
    // Both 2s are the reader's, and it appends one of them later: z=[2 1] says nothing about what T3 missed.
    let later = "init=nil  T1: a(z,1)  T2: a(y,3) a(y,1)  T3: a(y,2) r(z,[2 1])  T4: a(z,3)
        T5: a(z,2) r(z,[2 1 3 2]) r(y,[3 1]) a(z,2)";
    assert_eq!(names(later, Level::AdyaPl3), [(Anomaly::FutureRead, Through::Dependencies)]);
    // T3 missed the 2 of T5, although its list holds a 2: that of T1.
    let skew = "init=nil  T1: a(z,2) a(z,1)  T2: a(y,3) a(y,1)  T3: a(y,2) r(z,[2 1])  T4: a(z,3)
        T5: a(z,2) r(z,[2 1 3 2]) r(y,[3 1])";
    assert_eq!(names(skew, Level::AdyaPl3), [(Anomaly::WriteSkew, Through::Dependencies)]);
    let circle = "T1: r(x,1) ; T2: w(x,1)";
    assert_eq!(names(circle, Level::ReadCommitted), [(Anomaly::CyclicCausality, Through::Sessions)]);
    // T3 reads from T4, which it misses; or from T1: then three miss each other in a circle, which consistent view allows.
    let by_source = "T1: w(x,2)  T2: r(x,0) w(y,1)  T3: r(x,2) r(y,0)  T4: w(x,2) w(y,2)";
    assert_eq!(names(by_source, Level::AdyaPl299), [(Anomaly::WriteSkew, Through::Dependencies)]);
    // One anti-dependency, after a read: parallel snapshot isolation forbids it, and so does prefix.
    let single = "T1: w(y,1) w(x,1) ; T4: r(y,2)  T2: r(y,2) r(x,0)  T3: w(y,2)";
    for level in [Level::Prefix, Level::ParallelSnapshot] {
        assert_eq!(names(single, level), [(Anomaly::ReadSkew, Through::Sessions)], "{level}");
    }
    let aborted = "T1: a(x,1) a(x,3)  T2: a(x,2)  T4: r(x,[1 2 3])  T3!: a(x,9)  T5: r(x,[1 2 3 9])";
    assert_eq!(names(aborted, Level::AdyaPl1), [(Anomaly::DirtyWrite, Through::Dependencies)]);
}

/// A list shows the order of all its writers, and of cycles with several anti-dependencies one with the fewest is shown.
#[test]
fn a_cycle_takes_no_detour() {
    for (text, steps, missed) in [
        ("T1: a(3,8) a(1,7)  T2: a(3,10)  T3: r(1,[]) a(3,13)  T4: r(3,[8 10 13]) r(1,[7])", 2, 1),
        ("T1: a(3,8) a(1,7)  T2: a(3,10)  T3: r(1,[]) a(3,13)  T4: r(3,[8 10]) r(1,[7])", 2, 1),
        (
            "T12: r(0,0) w(9,10)  T13: r(0,0) w(0,14) r(5,0)  T22: r(9,0) r(5,0) w(5,18)
             T17: r(9,10) r(4,0)  T48: w(4,42) r(9,0)",
            3,
            2,
        ),
    ] {
        let history = notation::parse(text).unwrap();
        let judgement = Checker::new(&history, Options::default()).check(Level::AdyaPl299);
        assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
        let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
        let ranks = findings.iter().flat_map(|finding| &finding.instances);
        let ranks: Vec<Rank> = ranks.map(|instance| rank(&instance.evidence).0).collect();
        assert_eq!(ranks, [(missed, Through::Dependencies, steps)], "{text}: {findings:?}");
    }
    // The same to levels that follow certain dependencies alone: T1 overwrote T3, by way of T2, and read from it.
    let history =
        notation::parse("T1: r(y,3) a(x,1)  T2: a(x,2)  T3: a(x,3) w(y,3)  T4: r(x,[1 2 3])").unwrap();
    for level in [Level::AdyaPl2, Level::ReadCommitted, Level::Causal] {
        let judgement = Checker::new(&history, Options::default()).check(level);
        assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
        let Verdict::Violated(findings) = judgement.verdict else { panic!("{level}") };
        assert_eq!(rank(&findings[0].instances[0].evidence).0.2, 2, "{level}: {findings:?}");
    }
}

/// A proof makes no choice below an alternative of the same choice.
#[test]
fn no_choice_is_made_twice() {
    for text in [
        "T0: a(y,1) r(x,[])  T1: a(y,2) r(x,[])  T2: a(x,1)  T3: r(x,[1]) r(y,[])",
        "T1: r(x,0) w(x,1) ; T4: r(x,2) ; T5: r(x,3)  T2: w(x,2)  T3: r(x,1) w(x,3)",
    ] {
        let history = notation::parse(text).unwrap();
        let judgement = Checker::new(&history, Options::default()).check(Level::Snapshot);
        assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
        let Verdict::Violated(findings) = &judgement.verdict else { panic!("{text}") };
        let Evidence::Cases(Proof { cases }) = &findings[0].instances[0].evidence else {
            panic!("{findings:?}")
        };
        let choices: Vec<_> = cases
            .iter()
            .filter_map(|case| match case {
                Case::Split { choice, .. } => Some(choice),
                Case::Cycle(_) => None,
            })
            .collect();
        let again = |i: usize| choices[..i].contains(&choices[i]);
        assert!(!(0..choices.len()).any(again), "{choices:?}");
    }
}

/// The same over random histories of all kinds: blind writes, repeated values, unknown outcomes, sessions and time.
#[test]
fn no_name_of_a_random_history_claims_too_much() {
    let mut dice = Dice(11);
    let mut met = BTreeSet::new();
    for _ in 0..4_000 {
        let (keys, mut text) = (1 + dice.below(2), String::new());
        let timed = dice.below(2) == 0;
        for i in 1..=3 + dice.below(3) {
            let session = if i > 1 && dice.below(3) == 0 { ";" } else { "\n" };
            let outcome = ["", "", "", "", "?"][dice.below(5)];
            let start = 2 * i + dice.below(5);
            let time = if timed { format!("@{start}-{}", start + 1 + dice.below(4)) } else { String::new() };
            text += &format!("{session} T{i}{outcome}{time}:");
            for _ in 0..=dice.below(3) {
                let (kind, key) = (["r", "w"][dice.below(2)], ["x", "y"][dice.below(keys)]);
                text += &format!(" {kind}({key},{})", dice.below(4));
            }
        }
        let history = notation::parse(&text).unwrap();
        let mut checker = Checker::new(&history, Options::default());
        let judgements: Vec<_> = Level::ALL.into_iter().rev().map(|level| checker.check(level)).collect();
        let holds = |level: Level| {
            let of_level = |j: &&isoscope_check::Judgement| j.level == level;
            matches!(judgements.iter().find(of_level).unwrap().verdict, Verdict::Holds(_))
        };
        for judgement in &judgements {
            let Verdict::Violated(findings) = &judgement.verdict else { continue };
            assert!(verify(&history, judgement).is_ok(), "{judgement:?}\n{text}");
            for Finding { anomaly, through, instances, .. } in findings {
                met.insert((*anomaly, *through));
                for evidence in instances.iter().map(|instance| &instance.evidence) {
                    let knows = |level: Level| match evidence.orders() {
                        Through::Dependencies => true,
                        Through::Sessions => level.has_sessions(),
                        Through::RealTime => level.has_real_time(),
                    };
                    for level in
                        Level::ALL.into_iter().filter(|&level| level.forbids_all(*anomaly) && knows(level))
                    {
                        assert!(
                            !holds(level),
                            "{}: {anomaly} {through:?}, and {level} holds\n{text}",
                            judgement.level
                        );
                    }
                }
            }
        }
    }
    assert!(met.len() > 12, "{met:?}");
}

/// A transaction of unknown outcome that cannot have committed also wrote what a read returned. The evidence says why the read is
/// not from it.
#[test]
fn a_read_is_not_from_a_transaction_that_cannot_have_committed() {
    for (text, splits) in [
        ("T1?: w(x,2) r(x,3)  T2: w(x,2)  T3: r(x,2) r(x,0)", 2),
        ("T1?: w(x,2) r(z,3)  T2: w(x,2)  T3: r(x,2) r(x,0)", 2),
        ("T1!: w(z,3)  T2?: w(x,2) r(z,3)  T3: w(x,2)  T4: r(x,2) r(x,0)", 2),
        // T3 may not have committed either: its read is looked at where it is assumed that it did.
        ("T1?: w(x,2) r(x,9)  T2: w(x,2)  T3?: r(x,2) w(y,1)  T4: r(x,2) w(y,1)  T5: r(y,1) r(x,0)", 5),
    ] {
        let history = notation::parse(text).unwrap();
        let judgement = Checker::new(&history, Options::default()).check(Level::MonotonicView);
        assert!(verify(&history, &judgement).is_ok(), "{text}: {judgement:?}");
        let Verdict::Violated(findings) = &judgement.verdict else { panic!("{text}") };
        let Evidence::Cases(proof) = &findings[0].instances[0].evidence else {
            panic!("{text}: {findings:?}")
        };
        let found = proof.cases.iter().filter(|case| matches!(case, Case::Split { .. })).count();
        assert_eq!(found, splits, "{text}: {proof:?}");
    }
}

/// The steps of a proof by cases are direct where real time or a session is, and the proof is named after its simplest cycle.
#[test]
fn a_proof_by_cases_takes_no_detour() {
    let way = "T1@0-1: w(x,1) ; T2@2-3: w(x,1) ; T4@6-7: w(y,1)\n\
               T3@4-5: w(x,2) ; T5@8-9: w(y,2) ; T6@10-11: r(x,1)";
    let overlapping = "T1@0-1: w(x,1)\nT2@2-3: w(x,2)\nT3@2-9: r(x,1) w(x,3)\nT5@6-7: r(x,3)";
    for text in [way, overlapping] {
        let history = notation::parse(text).unwrap();
        let judgement = Checker::new(&history, Options::default()).check(Level::StrictSnapshot);
        assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
        let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.anomaly, Anomaly::StaleRead, "{text}");
        let Evidence::Cases(proof) = &finding.instances[0].evidence else { panic!("{findings:?}") };
        assert!(proof.cycles().all(|(_, cycle)| cycle.len() == 2), "{proof:?}");
    }
}

/// A stale read names the transaction that overwrote the version first, however long the chain of versions after it.
#[test]
fn a_stale_read_is_two_steps() {
    let chain = (0..40).map(|i| format!("T{i}@{}-{}: r(x,{i}) w(x,{})", 2 * i, 2 * i + 1, i + 1));
    let text = chain.chain(["T99@90-91: r(x,1)".to_owned()]).collect::<Vec<_>>().join("\n");
    let blind = "T0@0-1: w(x,1)  T1@2-3: w(x,2)  T2@4-5: w(x,3)  T99@6-7: r(x,1)";
    for text in [text.as_str(), blind] {
        let history = notation::parse(text).unwrap();
        for level in [Level::StrictSnapshot, Level::StrictSerializable] {
            let judgement = Checker::new(&history, Options::default()).check(level);
            assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
            let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
            let [finding] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!((finding.anomaly, finding.count, finding.at_least), (Anomaly::StaleRead, 1, false));
            let Evidence::Cycle(edges) = &finding.instances[0].evidence else { panic!("{findings:?}") };
            assert_eq!(edges.len(), 2);
            assert_eq!((edges[0].from, &edges[0].why), (Node::Txn(isoscope_history::Txn(1)), &Why::RealTime));
        }
        assert!(matches!(
            Checker::new(&history, Options::default()).check(Level::Serializable).verdict,
            Verdict::Holds(_)
        ));
    }
}

/// Stale reads are listed at strict levels although a weaker level fails, too.
#[test]
fn stale_reads_are_listed_beside_what_weaker_levels_find() {
    let text = "T1@0-1: w(x,1) w(y,1)  T2@0-9: r(x,1) r(y,0)  T3@2-3: r(x,0)";
    let history = notation::parse(text).unwrap();
    let judgement = Checker::new(&history, Options::default()).check(Level::StrictSerializable);
    assert!(verify(&history, &judgement).is_ok(), "{judgement:?}");
    let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
    let names: Vec<Anomaly> = findings.iter().map(|finding| finding.anomaly).collect();
    assert_eq!(names, [Anomaly::NonMonotonicRead, Anomaly::StaleRead]);
}
