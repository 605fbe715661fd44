//! The end of the licd process: killed under load, or stopped while it answers. Answered requests
//! survive a kill, and a stop finishes requests in flight.

mod kill;
pub mod shutdown;
