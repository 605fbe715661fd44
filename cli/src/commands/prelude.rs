//! Imports of nearly every command, as in cargo's own commands.

pub use clap::{Args, Subcommand};

pub use crate::client::{ApiRecord, Query};
pub use crate::context::Context;
pub use crate::error::{Error, Exit, Result};
pub use crate::escape::quote;
pub(crate) use crate::noun;
pub use crate::noun::{Cells, NameIndex, Named, Purpose, Shown};
pub use crate::output::{Column, Format, Table, TextCell, Tone, View};
