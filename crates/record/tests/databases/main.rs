//! Real databases: that they are asked, answered and told apart as the rest of isoscope believes.
//!
//! Every class of failure is provoked, not imitated. A test starts a server of its own, through the code that users
//! start servers with, and asks it everything it has to ask; starting is the slow part.

mod certificates;
mod document;
mod faults;
mod mariadb;
mod postgres;
mod sqlite;
mod support;
mod targets;
