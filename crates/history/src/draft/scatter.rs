//! Fills one array from several threads, each writing to disjoint places.
//!
//! Grouping operations by transaction is a permutation known in advance: every source element has one place
//! and no two share one. Safe Rust cannot express "disjoint by arithmetic", nor that an array need not be
//! cleared if every place of it is written. This file contains the unsafe code that does.

/// An array that several threads fill.
pub(crate) struct Scatter<T> {
    array: Vec<T>,
    first: *mut T,
    len: usize,
}

// SAFETY: `set` is the only access from several threads, and its contract forbids two calls with the same
// place. Writes to distinct places do not race. `T: Copy` means that nothing is dropped.
unsafe impl<T: Copy + Send> Sync for Scatter<T> {}

impl<T: Copy> Scatter<T> {
    /// An array of `len` elements, all unwritten.
    pub(crate) fn new(len: usize) -> Self {
        let mut array = Vec::with_capacity(len);
        let first = array.as_mut_ptr();
        Scatter { array, first, len }
    }

    /// Writes one element.
    ///
    /// # Safety
    /// No two calls, on any threads, may use the same place.
    #[inline]
    pub(crate) unsafe fn set(&self, place: usize, value: T) {
        assert!(place < self.len);
        // SAFETY: inside the capacity by the line above, and exclusive by this function's contract.
        unsafe { self.first.add(place).write(value) }
    }

    /// Returns the array.
    ///
    /// # Safety
    /// Every place must have been written.
    pub(crate) unsafe fn finish(mut self) -> Vec<T> {
        // SAFETY: the capacity is at least `len`, and every element is written by this function's contract.
        unsafe { self.array.set_len(self.len) };
        self.array
    }
}
