//! Workloads and the store that runs them.
