//! How many predictions are in which class. None is lost and none counts twice.

use std::fmt;

use crate::validate::Class;

/// The classes of some predictions, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Happened as predicted.
    pub validated: usize,
    /// Something else happened, which violates the target.
    pub still_violating: usize,
    /// Something else happened, and the target holds.
    pub harmless: usize,
    /// There is no answer.
    pub failed: usize,
}

impl Counts {
    /// How many there are.
    pub fn sum(&self) -> usize {
        self.validated + self.still_violating + self.harmless + self.failed
    }
}

/// Counts the classes of a known number of predictions.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The class of each prediction, as far as it is known.
    classes: Vec<Option<Class>>,
    twice: Option<usize>,
}

/// The classes do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A prediction has no class.
    Without(usize),
    /// A prediction has two classes, or does not exist.
    Twice(usize),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Without(place) => write!(f, "internal error: prediction {} has no class", place + 1),
            Lost::Twice(place) => {
                write!(f, "internal error: prediction {} does not exist or has two classes", place + 1)
            }
        }
    }
}

impl std::error::Error for Lost {}

impl Tally {
    /// A tally of this many predictions.
    pub fn new(predictions: usize) -> Tally {
        Tally { classes: vec![None; predictions], twice: None }
    }

    /// Notes the class of a prediction, by its place.
    pub fn note(&mut self, place: usize, class: &Class) {
        match self.classes.get_mut(place) {
            Some(known @ None) => *known = Some(class.clone()),
            Some(Some(_)) | None => self.twice = self.twice.or(Some(place)),
        }
    }

    /// The counts, if every prediction has exactly one class.
    pub fn counts(&self) -> Result<Counts, Lost> {
        if let Some(place) = self.twice {
            return Err(Lost::Twice(place));
        }
        let mut counts = Counts::default();
        for (place, class) in self.classes.iter().enumerate() {
            match class {
                None => return Err(Lost::Without(place)),
                Some(Class::Validated) => counts.validated += 1,
                Some(Class::StillViolating) => counts.still_violating += 1,
                Some(Class::Harmless) => counts.harmless += 1,
                Some(Class::Failed(_)) => counts.failed += 1,
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use isoscope_certificate::Limit;

    #[test]
    fn the_classes_add_up_or_there_are_no_counts() {
        let classes = [
            Class::Validated,
            Class::Harmless,
            Class::Failed(Failure::Limit(Limit::Time)),
            Class::StillViolating,
        ];
        let mut tally = Tally::new(5);
        for (place, class) in classes.iter().enumerate() {
            tally.note(place, class);
            assert_eq!(tally.counts(), Err(Lost::Without(place + 1)));
        }
        let mut twice = tally.clone();
        tally.note(4, &Class::Validated);
        let counts = Counts { validated: 2, still_violating: 1, harmless: 1, failed: 1 };
        assert_eq!((tally.counts(), counts.sum()), (Ok(counts), 5));
        twice.note(0, &Class::Validated);
        twice.note(4, &Class::Validated);
        assert_eq!(twice.counts(), Err(Lost::Twice(0)));
        tally.note(5, &Class::Validated);
        assert_eq!(tally.counts(), Err(Lost::Twice(5)));
        assert_eq!(Tally::new(0).counts(), Ok(Counts::default()));
    }
}
