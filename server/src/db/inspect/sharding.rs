//! The places of the tables of a sharded PostgreSQL, as the extension Citus reports them.

use sqlx::{AssertSqlSafe, Executor, PgConnection, Row};

use crate::db::connect::PLANS;
use crate::db::sharding::{EVERYWHERE, FIRST, is_sharded, tables_of_worlds};
use crate::db::{Result, within_statement_timeout};

/// The state of a distributed database.
#[derive(Default)]
pub struct ShardingFacts {
    pub version: String,
    pub servers: usize,
    /// Tables of licd that are not where `licd distribute` puts them.
    pub misplaced: String,
    /// Servers that are switched off, or do not respond to the one that was asked.
    pub lost: Vec<String>,
    /// Servers that plan statements without licd's settings.
    pub unset: Vec<String>,
    /// The lowest `max_connections` of a server.
    pub max_connections: i32,
    /// Number of objects that moves of shards have left behind.
    pub leftovers: i64,
}

const SERVERS: &str = "
    select concat_ws(':', nodename, nodeport) as name, n.isactive and coalesce(r.success, false),
        case when r.success then split_part(r.result, ' ', 1) else '' end,
        case when r.success then cast(split_part(r.result, ' ', 2) as int) end
    from pg_dist_node n left join run_command_on_all_nodes(STATE) r on r.nodeid = n.nodeid
    where n.noderole = 'primary' order by name";

/// `None` if the database is not distributed.
pub async fn sharding_facts(conn: &mut PgConnection) -> Result<Option<ShardingFacts>> {
    if !is_sharded(conn).await? {
        return Ok(None);
    }
    let tables = misplaced();
    let row = within_statement_timeout(conn.fetch_one(AssertSqlSafe(tables))).await?;
    let mut facts = ShardingFacts {
        version: row.try_get(0)?,
        misplaced: row.try_get(1)?,
        leftovers: row.try_get(2)?,
        max_connections: i32::MAX,
        ..ShardingFacts::default()
    };
    let servers = SERVERS.replace("STATE", &state());
    for row in within_statement_timeout(conn.fetch_all(AssertSqlSafe(servers))).await? {
        let (name, responds): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
        facts.servers += 1;
        match (responds, row.try_get::<&str, _>(2)?) {
            (false, _) => facts.lost.push(name),
            (true, "false") => facts.unset.push(name),
            _ => {}
        }
        let most = row.try_get::<Option<i32>, _>(3)?;
        facts.max_connections = most.unwrap_or(i32::MAX).min(facts.max_connections);
    }
    Ok(Some(facts))
}

/// Selects the version, the misplaced tables, and the number of leftovers.
fn misplaced() -> String {
    let everywhere = EVERYWHERE.iter().map(|table| format!("('{table}', 'n')"));
    let of_worlds = tables_of_worlds().map(|table| format!("('{table}', 'h')"));
    let tables: Vec<String> = everywhere.chain(of_worlds).collect();
    format!(
        "select split_part(citus_version(), ' ', 2),
            (select coalesce(string_agg(name, ', '), '')
             from (values {}) as t(name, method)
             where not exists (
                 select 1 from pg_dist_partition p
                 where p.logicalrelid = to_regclass(t.name) and p.partmethod = t.method
                     and (t.method = 'n' or p.colocationid = (
                         select colocationid from pg_dist_partition
                         where logicalrelid = to_regclass('{FIRST}'))))),
            (select count(*) from pg_dist_cleanup)",
        tables.join(", ")
    )
}

/// A statement, quoted, by which a server reports whether it has the settings, and its connections.
fn state() -> String {
    // Those of how plans are kept are only for the server that licd connects to.
    let settings = PLANS.iter().filter(|(name, _)| *name != "plan_cache_mode");
    let are_set: Vec<String> =
        settings.map(|(name, value)| format!("current_setting('{name}') = '{value}'")).collect();
    format!(
        "$$select concat_ws(' ', case when {} then 'true' else 'false' end,
            current_setting('max_connections'))$$",
        are_set.join(" and ")
    )
}
