//! Drivers against real databases.
//!
//! Every class of failure is provoked in a real database; none is simulated. Starting a server is the slow part, so each
//! test starts one private server, with the code that users start servers with, and runs everything on it.

mod certificates;
mod conformance;
mod document;
mod faults;
mod mariadb;
mod postgres;
mod sqlite;
mod support;
mod targets;
