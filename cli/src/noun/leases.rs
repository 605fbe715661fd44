//! The flag of commands that free seats, which leases may hold.

use clap::Args;
use common::OnLease;

#[derive(Args)]
pub struct LeaseFlags {
    /// Free seats immediately although leases hold them: drop. Until such a lease ends, one more
    /// user than there are seats may use the license
    #[arg(long, value_name = "drop")]
    leases: Option<OnLease>,
}

impl LeaseFlags {
    pub fn get(&self) -> Option<OnLease> {
        self.leases
    }
}
