//! Statements that list the columns of a table, built from a list that is written once.
//!
//! [`insert!`] and [`update!`] make a statement of columns and their values. [`table!`] also makes
//! the functions for records that are stored under their id. Each placeholder `$1` is the world.

/// `insert into …` with `world` and these columns.
pub fn insert_sql(table: &str, columns: &[&str], rest: &str) -> String {
    let places: Vec<String> = (2..columns.len() + 2).map(|place| format!(", ${place}")).collect();
    let (columns, places) = (columns.join(", "), places.concat());
    format!("insert into {table} (world, {columns}) values ($1{places}) {rest}")
}

/// `update …` of these columns, in the row with the id `$2`.
pub fn update_sql(table: &str, columns: &[&str], rest: &str) -> String {
    let sets: Vec<String> =
        columns.iter().zip(3..).map(|(column, place)| format!("{column} = ${place}")).collect();
    format!("update {table} set {} {rest} where id = $2 and world = $1", sets.join(", "))
}

/// A query that inserts a row into the world. A clause such as `on conflict` may follow.
macro_rules! insert {
    ($conn:expr, $scope:expr, $table:ident { $($column:ident: $value:expr),* $(,)? } $($rest:expr)?) => {{
        static SQL: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
            let columns = [$(stringify!($column)),*];
            $crate::store::table::insert_sql(stringify!($table), &columns, concat!("", $($rest)?))
        });
        $conn.query(SQL.as_str()).bind_scope($scope)$(.bind($value))*
    }};
}

/// A query that writes columns of the row with an id. Further assignments may follow.
macro_rules! update {
    ($conn:expr, $scope:expr, $table:ident $id:expr => { $($column:ident: $value:expr),* $(,)? } $($rest:literal)?) => {{
        static SQL: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
            let columns = [$(stringify!($column)),*];
            $crate::store::table::update_sql(stringify!($table), &columns, concat!("", $($rest)?))
        });
        $conn.query(SQL.as_str()).bind_scope($scope).bind($id)$(.bind($value))*
    }};
}

/// The macro `columns!`, for the columns of a table with its computed one or another; the macro
/// `select!`; and functions with these names: `insert`, `find`, `lock`, `update`, `delete`, `page`,
/// `names`. Only `changing` columns are updated. A column is stored as the member of its name, or as
/// the given value.
macro_rules! table {
    (
        $table:ident of $it:ident: $record:ident by $id:ident;
        $(computed $computed:literal;)?
        fixed $fixed:tt
        changing $changing:tt
        $($function:ident)*
    ) => {
        macro_rules! columns {
            () => {
                $crate::store::table::table!(@columns $fixed $changing $($computed)?)
            };
            ($other:literal) => {
                $crate::store::table::table!(@columns $fixed $changing $other)
            };
        }
        macro_rules! select {
            ($rest:expr) => {
                concat!("select ", columns!(), " from ", stringify!($table), " where ", $rest)
            };
        }
        $($crate::store::table::table!(@$function $table $it $record $id $fixed $changing);)*
    };
    (@columns
        { $($fixed:ident $(: $fixed_value:expr)?),* $(,)? }
        { $($column:ident $(: $value:expr)?),* $(,)? }
        $($computed:literal)?
    ) => {
        concat!("id" $(, ", ", stringify!($fixed))* $(, ", ", stringify!($column))* $(, ", ", $computed)?)
    };
    (@value $it:ident $column:ident) => { &$it.$column };
    (@value $it:ident $column:ident $value:expr) => { $value };
    (@insert $table:ident $it:ident $record:ident $id:ident
        { $($fixed:ident $(: $fixed_value:expr)?),* $(,)? }
        { $($column:ident $(: $value:expr)?),* $(,)? }
    ) => {
        pub async fn insert(conn: &mut Conn, scope: Scope, $it: &$record) -> Result<()> {
            let query = $crate::store::table::insert!(conn, scope, $table {
                id: $it.id,
                $($fixed: $crate::store::table::table!(@value $it $fixed $($fixed_value)?),)*
                $($column: $crate::store::table::table!(@value $it $column $($value)?),)*
            });
            query.run().await
        }
    };
    (@find $table:ident $it:ident $record:ident $id:ident $fixed:tt $changing:tt) => {
        pub async fn find(conn: &mut Conn, scope: Scope, id: $id) -> Result<Option<$record>> {
            let query = conn.query(select!("id = $2 and world = $1"));
            query.bind_scope(scope).bind(id).fetch_optional().await
        }
    };
    (@lock $table:ident $it:ident $record:ident $id:ident $fixed:tt $changing:tt) => {
        /// Finds a record, and locks it until the end of the transaction.
        pub async fn lock(conn: &mut Conn, scope: Scope, id: $id) -> Result<Option<$record>> {
            let query = conn.query($crate::db::locking!(select!("id = $2 and world = $1")));
            query.bind_scope(scope).bind(id).fetch_optional().await
        }
    };
    (@update $table:ident $it:ident $record:ident $id:ident $fixed:tt
        { $($column:ident $(: $value:expr)?),* $(,)? }
    ) => {
        pub async fn update(conn: &mut Conn, scope: Scope, $it: &$record) -> Result<()> {
            let query = $crate::store::table::update!(conn, scope, $table $it.id => {
                $($column: $crate::store::table::table!(@value $it $column $($value)?),)*
            });
            query.run().await
        }
    };
    (@delete $table:ident $it:ident $record:ident $id:ident $fixed:tt $changing:tt) => {
        /// Deletes a record. The database refuses if another record refers to it.
        pub async fn delete(conn: &mut Conn, scope: Scope, id: $id) -> Result<()> {
            let sql = concat!("delete from ", stringify!($table), " where id = $2 and world = $1");
            conn.query(sql).bind_scope(scope).bind(id).run().await
        }
    };
    (@names $table:ident $it:ident $record:ident $id:ident $fixed:tt $changing:tt) => {
        /// The names of those records that exist.
        pub async fn names(
            conn: &mut Conn,
            scope: Scope,
            ids: impl IntoIterator<Item = $id>,
        ) -> Result<std::collections::HashMap<$id, common::Name>> {
            const NAMES: $crate::db::Sql = $crate::store::batch_rows::over_rows!(concat!(
                "select t.id, t.name from item join ", stringify!($table),
                " t on t.id = item.id and t.world = item.world"
            ));
            let row = |id: $id| $crate::store::batch_rows::BatchRow::record(scope, id.uuid());
            let rows: Vec<_> = ids.into_iter().map(row).collect();
            let names: Vec<($id, common::Name)> =
                $crate::store::batch_rows::query(conn, NAMES, &rows)?.fetch_all().await?;
            Ok(names.into_iter().collect())
        }
    };
    (@page $table:ident $it:ident $record:ident $id:ident $fixed:tt $changing:tt) => {
        pub async fn page(conn: &mut Conn, scope: Scope, page: Page<$id>) -> Result<Vec<$record>> {
            let query = conn.query($crate::store::page::paged!(page, select!("world = $1 and world > 0"), "id"));
            query.bind_page(scope, page).fetch_all().await
        }
    };
}

pub(crate) use {insert, table, update};
