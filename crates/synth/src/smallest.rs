//! The smallest histories: fewest transactions, then fewest keys, then fewest operations.

use std::time::Instant;

use crate::history::SmallHistory;
use crate::search::{Answer, Figures, Problem, Search};
use crate::space::Scope;

/// The most histories of which all images under renaming are excluded at once.
const MOST_IMAGES: usize = 5_040;

/// Watches a search over several scopes.
pub trait Watch {
    /// Whether to stop.
    fn stops(&mut self) -> bool {
        false
    }

    /// A scope was searched.
    fn searched(&mut self, _scope: Scope, _figures: Figures) {}
}

/// Watches nothing.
pub struct Unwatched;

impl Watch for Unwatched {}

/// The smallest histories of a problem.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// The histories, of which no two are the same up to renaming. Empty if there are none.
    pub histories: Vec<SmallHistory>,
    /// Why the search did not end. If there are histories, they may then not be the smallest, or not all.
    pub stopped: Option<Stopped>,
}

/// Why a search did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The watch stopped it.
    ByWatch,
    /// It needs too much memory.
    Large,
}

/// Looks for the smallest histories of a problem within a scope: at most `most` of them.
pub fn smallest(problem: &Problem<'_>, scope: Scope, most: usize, watch: &mut dyn Watch) -> Smallest {
    for txns in 1..=scope.txns {
        for keys in 1..=scope.keys {
            let start = Instant::now();
            let mut search = Search::new(problem, Scope { txns, keys, ..scope }, &mut || watch.stops());
            let found = fewest_operations(&mut search, watch);
            watch.searched(
                Scope { txns, keys, ..scope },
                Figures { time: start.elapsed(), ..search.figures() },
            );
            match found {
                Fewest::Nothing => {}
                Fewest::Stopped(found, why) => {
                    return Smallest { histories: found.into_iter().collect(), stopped: Some(why) };
                }
                Fewest::Found(history) if most <= 1 => {
                    return Smallest {
                        histories: images(&history).into_iter().take(1).collect(),
                        stopped: None,
                    };
                }
                Fewest::Found(history) => {
                    return all_of(problem, Scope { txns, keys, ..scope }, history.ops(), most, watch);
                }
            }
        }
    }
    Smallest { histories: Vec::new(), stopped: None }
}

enum Fewest {
    Found(SmallHistory),
    Nothing,
    /// The search was stopped; the smallest history so far.
    Stopped(Option<SmallHistory>, Stopped),
}

/// The history of a scope with the fewest operations.
fn fewest_operations(search: &mut Search, watch: &mut dyn Watch) -> Fewest {
    let mut smallest: Option<SmallHistory> = None;
    loop {
        match search.next(&mut || watch.stops()) {
            Answer::Stopped => return Fewest::Stopped(smallest, Stopped::ByWatch),
            Answer::Large => return Fewest::Stopped(smallest, Stopped::Large),
            Answer::Nothing => return smallest.map_or(Fewest::Nothing, Fewest::Found),
            Answer::Found(history) => {
                search.at_most_operations(history.ops() - 1);
                smallest = Some(history);
            }
        }
    }
}

/// All histories of a scope with this number of operations, up to renaming.
fn all_of(problem: &Problem<'_>, scope: Scope, ops: usize, most: usize, watch: &mut dyn Watch) -> Smallest {
    let mut search = Search::new(problem, scope, &mut || watch.stops());
    search.at_most_operations(ops);
    let mut histories: Vec<SmallHistory> = Vec::new();
    let mut stopped = None;
    while histories.len() < most {
        match search.next(&mut || watch.stops()) {
            Answer::Nothing => break,
            Answer::Stopped => {
                stopped = Some(Stopped::ByWatch);
                break;
            }
            Answer::Large => {
                stopped = Some(Stopped::Large);
                break;
            }
            Answer::Found(history) => {
                let images = images(&history);
                for image in &images {
                    search.exclude(image);
                }
                // The first one stands for all of them.
                histories.extend(images.into_iter().take(1));
            }
        }
    }
    histories.sort();
    Smallest { histories, stopped }
}

/// What a history becomes when its transactions and keys are renamed in all ways, in ascending order; only itself, if these are
/// very many.
fn images(history: &SmallHistory) -> Vec<SmallHistory> {
    let count = |n: usize| (1..=n).product::<usize>();
    if history.txns() > 7 || history.keys() > 7 || count(history.txns()) * count(history.keys()) > MOST_IMAGES
    {
        return vec![history.clone()];
    }
    let txns: Vec<Vec<usize>> = permutations(history.txns());
    let keys = permutations(history.keys());
    let mut images: Vec<SmallHistory> = Vec::new();
    for txns in &txns {
        // The initial transaction stays.
        let txns: Vec<usize> = std::iter::once(0).chain(txns.iter().map(|txn| txn + 1)).collect();
        images.extend(keys.iter().map(|keys| history.renamed(&txns, keys)));
    }
    images.sort();
    images.dedup();
    images
}

/// All orders of the numbers below n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    (0..n).fold(vec![Vec::new()], |shorter, next| {
        let inserted = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..=order.len()).map(|place| [&order[..place], &[next], &order[place..]].concat()).collect()
        };
        shorter.iter().flat_map(inserted).collect()
    })
}
