//! Growth: the same load on few users and on many, on databases of their own, in turns.

use crate::database::Size;
use crate::load::Users;
use crate::options::Plan;
use crate::process::Server;
use crate::report;
use crate::rounds::{self, Round};
use crate::stage::Stage;
use crate::stats::median;
use crate::subject::Subject;

pub const CONNECTIONS: usize = 64;

/// What growing did to one subject.
pub struct Growth {
    pub subject: Subject,
    pub few: Vec<Round>,
    pub many: Vec<Round>,
}

impl Growth {
    /// How many times as long a validation takes with many users.
    pub fn factor(&self) -> f64 {
        median(self.few.iter().zip(&self.many).map(|(few, many)| few.rate / many.rate))
    }
}

pub async fn run(stage: &Stage, plan: &Plan) -> anyhow::Result<Vec<Growth>> {
    let Some(many) = plan.many_users else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for subject in [Subject::Sqlite, Subject::Postgres] {
        if !plan.subjects.contains(&subject) {
            continue;
        }
        report::say(format_args!("growth: making {many} users for {}", subject.name()));
        let few_server = start(stage, subject, "few", plan.users).await?;
        let many_server = start(stage, subject, "many", many).await?;
        let mut growth = Growth { subject, few: Vec::new(), many: Vec::new() };
        for _ in 0..plan.rounds {
            let few = measure(stage, plan, &few_server, plan.users).await?;
            let many = measure(stage, plan, &many_server, many).await?;
            report::say(format_args!("growth: {:.0}/s and {:.0}/s", few.rate, many.rate));
            growth.few.push(few);
            growth.many.push(many);
        }
        all.push(growth);
    }
    Ok(all)
}

async fn start(
    stage: &Stage,
    subject: Subject,
    name: &str,
    users: u64,
) -> anyhow::Result<Vec<Server>> {
    let size = Size { users, newcomers: 0 };
    let url = if subject.needs_postgres() {
        stage.postgres(name, size).await?
    } else {
        stage.sqlite(&format!("{name}.db"), size).await?
    };
    Ok(vec![stage.licd(&url)?])
}

async fn measure(
    stage: &Stage,
    plan: &Plan,
    servers: &[Server],
    users: u64,
) -> anyhow::Result<Round> {
    rounds::load(stage, servers, plan, CONNECTIONS, Users::Any(users)).await
}
