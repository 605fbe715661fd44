//! New seats: every request is the first of its user, on a license that has exactly as many seats
//! as users. They come in the order of their licenses, so all connections want the same few
//! licenses at the same moment: the hardest case there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::database::Size;
use crate::load::Users;
use crate::options::Plan;
use crate::report;
use crate::rounds::{self, Round};
use crate::stage::Stage;
use crate::subject::Subject;

pub const CONNECTIONS: usize = 64;

/// How fast one subject gave seats away, and whether the counts are right afterwards.
pub struct Seats {
    pub subject: Subject,
    pub rounds: Vec<Round>,
    /// Seats given, in all.
    pub given: i64,
    /// Licenses that gave more seats than they have, or whose counter is wrong.
    pub wrong: i64,
}

pub async fn run(stage: &Stage, plan: &Plan) -> anyhow::Result<Vec<Seats>> {
    let mut all = Vec::new();
    if plan.many_users.is_none() {
        return Ok(all);
    }
    for subject in [Subject::Sqlite, Subject::Postgres, Subject::PostgresTwo] {
        if plan.subjects.contains(&subject) {
            all.push(measure(stage, plan, subject).await?);
        }
    }
    Ok(all)
}

async fn measure(stage: &Stage, plan: &Plan, subject: Subject) -> anyhow::Result<Seats> {
    report::say(format_args!("new seats: {}", subject.name()));
    let size = Size { users: plan.users, newcomers: plan.newcomers };
    let url = match subject {
        Subject::PostgresTwo => stage.postgres("seats_2", size).await?,
        Subject::Postgres => stage.postgres("seats", size).await?,
        _ => stage.sqlite("seats.db", size).await?,
    };
    let nodes = if subject == Subject::PostgresTwo { 2 } else { 1 };
    let servers = (0..nodes).map(|_| stage.licd(&url)).collect::<anyhow::Result<Vec<_>>>()?;
    let next = Arc::new(AtomicU64::new(plan.users));
    let end = plan.users + plan.newcomers;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let users = Users::Next(next.clone(), end);
        let round = rounds::load(stage, &servers, plan, CONNECTIONS, users).await?;
        // The end of a round in which the newcomers ran out is no full load; it counts only when
        // there is no other.
        let ran_out = next.load(Ordering::Relaxed) >= end;
        if !ran_out || rounds.is_empty() {
            rounds.push(round);
        }
        if ran_out {
            break;
        }
    }
    drop(servers);
    let (given, wrong) = count(&url).await?;
    Ok(Seats { subject, rounds, given: given - plan.users as i64, wrong })
}

const GIVEN: &str = "select count(*) from activations";
const WRONG: &str = "select count(*) from licenses l
    left join (
        select license_id, count(*) as held from activations group by license_id
    ) a on a.license_id = l.id
    where l.seats_used <> coalesce(a.held, 0) or coalesce(a.held, 0) > l.max_seats";

async fn count(url: &str) -> anyhow::Result<(i64, i64)> {
    if url.starts_with("sqlite") {
        let mut connection = SqliteConnection::connect(url).await?;
        let given = sqlx::query_scalar(GIVEN).fetch_one(&mut connection).await?;
        Ok((given, sqlx::query_scalar(WRONG).fetch_one(&mut connection).await?))
    } else {
        let mut connection = PgConnection::connect(url).await?;
        let given = sqlx::query_scalar(GIVEN).fetch_one(&mut connection).await?;
        Ok((given, sqlx::query_scalar(WRONG).fetch_one(&mut connection).await?))
    }
}
