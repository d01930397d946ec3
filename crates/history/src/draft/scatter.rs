//! Writing one array from several threads, each to places of its own.
//!
//! Grouping operations by transaction is a permutation known in advance: every source element has one
//! place and no two share one. Safe Rust cannot express "disjoint by arithmetic", so this file holds the
//! one unsafe block that says it.

use std::marker::PhantomData;

/// A column that several threads fill.
pub(crate) struct Scatter<'a, T> {
    first: *mut T,
    len: usize,
    column: PhantomData<&'a mut [T]>,
}

// SAFETY: the only access is `set`, whose contract forbids two calls with the same place; writes to
// distinct places of a slice do not race. `T: Copy` means nothing is dropped.
unsafe impl<T: Copy + Send> Sync for Scatter<'_, T> {}
// SAFETY: as above; the pointer comes from an exclusive borrow that outlives `self`.
unsafe impl<T: Copy + Send> Send for Scatter<'_, T> {}

impl<'a, T: Copy> Scatter<'a, T> {
    pub(crate) fn new(column: &'a mut [T]) -> Self {
        Scatter { first: column.as_mut_ptr(), len: column.len(), column: PhantomData }
    }

    /// Writes one element.
    ///
    /// # Safety
    /// No two calls, on any threads, may name the same place.
    #[inline]
    pub(crate) unsafe fn set(&self, place: usize, value: T) {
        assert!(place < self.len);
        // SAFETY: in bounds by the line above, and exclusive by this function's contract.
        unsafe { self.first.add(place).write(value) }
    }
}
