//! Interface of the process: streams, environment, signals, and prompts on a terminal.

pub mod env;
mod interruption;
mod io;
mod labels;
pub mod pager;
mod prompt;

pub use env::Env;
pub use interruption::Interruption;
pub use io::{Io, Streams, Terminals, read_file, unreadable, unwritten};
pub use prompt::Prompts;
