//! licd as a process that ends: killed in the middle of a storm, told to stop while it answers.
//! What was answered is there afterwards, and what was begun is answered.

mod kill;
pub mod shutdown;
