//! When to restart: run lengths in the sequence of Luby, Sinclair and Zuckerman (1993), which is within a constant
//! factor of the best sequence when nothing is known about the search.

/// The sequence 1, 1, 2, 1, 1, 2, 4, ..., counted from 1.
pub(super) fn luby(mut index: u64) -> u64 {
    loop {
        let power = (index + 1).next_power_of_two();
        if power == index + 1 {
            return power / 2;
        }
        index -= power / 2 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::luby;

    #[test]
    fn runs_are_those_of_luby() {
        let runs: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(runs, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
