//! `licd demo`: the service with sample data, shown off.

#[derive(clap::Args)]
pub struct Demo {}

impl Demo {
    pub async fn run(self) -> anyhow::Result<()> {
        Ok(())
    }
}
