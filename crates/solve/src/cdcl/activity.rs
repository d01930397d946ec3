//! How often variables took part in conflicts, recent ones counting more (Moskewicz and others 2001).

use std::cmp::Ordering;

pub(super) struct Activity {
    scores: Vec<f64>,
    /// What a conflict counts: it grows, which is as good as letting all scores decay.
    step: f64,
}

const GROWTH: f64 = 1.0 / 0.95;
const LIMIT: f64 = 1e100;

impl Default for Activity {
    fn default() -> Activity {
        Activity { scores: Vec::new(), step: 1.0 }
    }
}

impl Activity {
    pub(super) fn add_variable(&mut self) {
        self.scores.push(0.0);
    }

    pub(super) fn bump(&mut self, variable: u32) {
        self.scores[variable as usize] += self.step;
        if self.scores[variable as usize] > LIMIT {
            self.scores.iter_mut().for_each(|score| *score /= LIMIT);
            self.step /= LIMIT;
        }
    }

    pub(super) fn decay(&mut self) {
        self.step *= GROWTH;
    }

    /// The more active variable is the greater; of equals, the one made first.
    pub(super) fn compare(&self, a: u32, b: u32) -> Ordering {
        self.scores[a as usize].total_cmp(&self.scores[b as usize])
    }
}
