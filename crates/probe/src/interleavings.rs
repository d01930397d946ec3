//! Interleavings: in which order the sessions of a program take their steps.
//!
//! An interleaving is a list of sessions: each time a session is named, it takes its next step. A database decides which
//! interleavings exist. A session that waits for a lock takes no step, and a transaction that failed has no further steps. So
//! the interleavings are not listed beforehand. [`Explorer`] is a depth-first search in the tree of choices, and every run on
//! the database goes from the root to a leaf: it repeats the choices of the last run up to the last one that has an
//! alternative left, and takes that. Thus no two runs make the same choices, and every list of choices that the database
//! permits is made once. Without waits and failures these are all interleavings; their number is the multinomial coefficient
//! ([`count`]).
//!
//! **Symmetry.** If a renaming of sessions and keys does not change the program, it maps interleavings to interleavings that
//! differ in names only. Only the lexicographically least of them is run. A prefix of a least interleaving is never greater than
//! its images, so every choice that makes it greater is left out.
//!
//! **A database need not repeat itself**: of two deadlocked transactions it may choose the other one as the victim. If a
//! choice cannot be repeated, the run is lost to the search: it goes on with any choices, which are not noted. The search then
//! tries the same choices again, and gives up the last of them after some attempts. So it ends whatever the database does.

/// The number of interleavings of sessions with these numbers of steps, without regard to symmetry: the multinomial coefficient.
/// Saturates.
pub fn count(steps: &[usize]) -> u128 {
    let mut total = 0;
    let mut count: u128 = 1;
    for &of_session in steps {
        for step in 1..=of_session {
            total += 1;
            // The product of j consecutive numbers is divisible by j!, so this division leaves no rest.
            count = count.saturating_mul(total) / step as u128;
        }
    }
    count
}

/// The search for all interleavings of a program.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// Permutations of the sessions that do not change the program.
    symmetries: Vec<Vec<usize>>,
    /// The choices of the current run, and the alternatives that no run has taken.
    path: Vec<Choice>,
    /// The number of choices that the current run has made.
    depth: usize,
    /// Whether the current run could not repeat the choices of the last one.
    is_lost: bool,
    /// How often this path was lost.
    losses: u32,
}

/// How often a path is tried.
const ATTEMPTS: u32 = 4;

#[derive(Clone, Debug)]
struct Choice {
    taken: usize,
    /// In descending order.
    untried: Vec<usize>,
}

impl Explorer {
    /// Before the first run.
    pub fn new(symmetries: Vec<Vec<usize>>) -> Explorer {
        Explorer { symmetries, path: Vec::new(), depth: 0, is_lost: false, losses: 0 }
    }

    /// The session that takes the next step, out of those that can. They must be in ascending order, and there must be one.
    pub fn choose(&mut self, enabled: &[usize]) -> usize {
        debug_assert!(enabled.is_sorted() && !enabled.is_empty(), "a choice needs alternatives");
        if self.is_lost {
            return enabled[0];
        }
        if let Some(choice) = self.path.get(self.depth) {
            if !enabled.contains(&choice.taken) {
                self.is_lost = true;
                return enabled[0];
            }
            self.depth += 1;
            return choice.taken;
        }
        let mut least: Vec<usize> = enabled.iter().copied().filter(|&next| self.is_least(next)).collect();
        if least.is_empty() {
            least.push(enabled[0]);
        }
        let taken = least.remove(0);
        least.reverse();
        self.path.push(Choice { taken, untried: least });
        self.depth += 1;
        taken
    }

    /// Whether no renaming of the choices up to this one is smaller.
    fn is_least(&self, next: usize) -> bool {
        let choices = || self.path.iter().map(|choice| choice.taken).chain([next]);
        self.symmetries.iter().all(|sigma| choices().map(|session| sigma[session]).ge(choices()))
    }

    /// The run has ended: goes on to the next one. False if there is none.
    pub fn advance(&mut self) -> bool {
        self.losses += u32::from(self.is_lost());
        let again = self.is_lost() && self.losses < ATTEMPTS;
        (self.depth, self.is_lost) = (0, false);
        if again {
            return true;
        }
        self.losses = 0;
        while let Some(mut choice) = self.path.pop() {
            if let Some(next) = choice.untried.pop() {
                choice.taken = next;
                self.path.push(choice);
                return true;
            }
        }
        false
    }

    /// Whether the run that has ended could not repeat the choices of the last one.
    pub fn is_lost(&self) -> bool {
        self.is_lost || self.depth < self.path.len()
    }
}

/// All interleavings of sessions with these numbers of steps that no renaming makes smaller.
pub fn all(steps: &[usize], symmetries: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut explorer = Explorer::new(symmetries);
    let mut all = Vec::new();
    loop {
        let mut left = steps.to_vec();
        let mut interleaving = Vec::new();
        loop {
            let enabled: Vec<usize> = (0..left.len()).filter(|&session| left[session] > 0).collect();
            if enabled.is_empty() {
                break;
            }
            let next = explorer.choose(&enabled);
            left[next] -= 1;
            interleaving.push(next);
        }
        all.push(interleaving);
        if !explorer.advance() {
            return all;
        }
    }
}
