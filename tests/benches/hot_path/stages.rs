//! The stages of a run. Each starts what it measures, and stops it again.

pub mod neighbours;
pub mod pages;
pub mod pairs;
pub mod seats;
pub mod throughput;
pub mod users;
pub mod webhooks;

use crate::bench::Bench;
use crate::options::Stage;
use crate::report;
use neighbours::Neighbours;
use pages::Pages;
use pairs::Pair;
use seats::Seats;
use throughput::Throughput;
use webhooks::Webhooks;

/// The number of connections in every stage but throughput, and the one that goals are about.
pub const CONNECTIONS: usize = 64;

/// Measurements of the stages of a run. Empty for a stage that was left out or failed.
#[derive(Default)]
pub struct Results {
    pub throughput: Throughput,
    pub unanalyzed: Vec<Pair>,
    pub keys: Vec<Pair>,
    pub logging: Vec<Pair>,
    pub growth: Vec<Pair>,
    pub refused: Vec<Pair>,
    pub seats: Vec<Seats>,
    pub users: Vec<Pair>,
    pub neighbours: Neighbours,
    pub pages: Pages,
    pub webhooks: Webhooks,
}

impl Results {
    /// Runs one stage, prints its table and keeps what it measured.
    pub async fn run(&mut self, bench: &Bench, stage: Stage) -> anyhow::Result<()> {
        match stage {
            Stage::Throughput => {
                self.throughput = throughput::run(bench).await?;
                report::throughput(&self.throughput, &bench.plan)
            }
            Stage::Unanalyzed => {
                self.unanalyzed = pairs::unanalyzed(bench).await?;
                report::pairs("never analyzed", ["analyzed", "never"], &self.unanalyzed)
            }
            Stage::Keys => {
                self.keys = pairs::keys(bench).await?;
                report::pairs("keys in use", ["one", "a thousand"], &self.keys)
            }
            Stage::Logging => {
                self.logging = pairs::logging(bench).await?;
                report::pairs("log to a file", ["warnings", "default"], &self.logging)
            }
            Stage::Growth => {
                self.growth = pairs::growth(bench).await?;
                let sizes = [bench.plan.users, bench.plan.many_users];
                let [few, many] = sizes.map(|users| format!("{users} users"));
                report::pairs("growth", [&few, &many], &self.growth)
            }
            Stage::Refused => {
                self.refused = pairs::refused(bench).await?;
                report::pairs("refusals", ["named seats", "floating"], &self.refused)
            }
            Stage::Seats => {
                self.seats = seats::run(bench).await?;
                report::seats(&self.seats)
            }
            Stage::Users => {
                self.users = users::run(bench).await?;
                report::pairs("new users", ["short ids", "addresses"], &self.users)
            }
            Stage::Neighbours => {
                self.neighbours = neighbours::run(bench).await?;
                let sides = ["without", "with a flood"];
                report::neighbours("another tenant", sides, &self.neighbours.tenants)?;
                report::neighbours("another key", sides, &self.neighbours.keys)
            }
            Stage::Pages => {
                self.pages = pages::run(bench).await?;
                report::pages(&self.pages.times)?;
                let sides = ["without", "with a visitor"];
                report::pairs("dashboard in use", sides, &self.pages.visited)
            }
            Stage::Webhooks => {
                self.webhooks = webhooks::run(bench).await?;
                report::webhooks(&self.webhooks)
            }
        }
    }
}
