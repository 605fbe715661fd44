//! The flag of commands that take seats away, of which leases may hold some.

use clap::Args;
use common::OnLease;

#[derive(Args)]
pub struct LeaseFlags {
    /// Free seats at once that leases hold: drop. Until such a lease ends, one user more than there
    /// are seats may use the license
    #[arg(long, value_name = "drop")]
    leases: Option<OnLease>,
}

impl LeaseFlags {
    pub fn get(&self) -> Option<OnLease> {
        self.leases
    }
}
