//! JSON that both databases return as it was written, with the order of members and the digits of
//! numbers. PostgreSQL's `jsonb`, which the driver assumes for JSON, changes both.

use serde::{Deserialize, Serialize};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::types::Json;
use sqlx::{Decode, Encode, Postgres, Sqlite, Type};

/// PostgreSQL's type id of `json`, which it stores as text.
const JSON: Oid = Oid(114);

/// The value of a `json` column.
#[derive(Clone)]
pub struct AsWritten<T>(pub T);

impl<T> Type<Postgres> for AsWritten<T> {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(JSON)
    }

    fn compatible(column: &PgTypeInfo) -> bool {
        <Json<T> as Type<Postgres>>::compatible(column)
    }
}

impl<T: Serialize> Encode<'_, Postgres> for AsWritten<T> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        serde_json::to_writer(&mut **buffer, &self.0)?;
        Ok(IsNull::No)
    }
}

impl<'r, T: Deserialize<'r> + 'r> Decode<'r, Postgres> for AsWritten<T> {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Decode::<Postgres>::decode(value).map(|Json(value)| Self(value))
    }
}

impl<T> Type<Sqlite> for AsWritten<T> {
    fn type_info() -> SqliteTypeInfo {
        <Json<T> as Type<Sqlite>>::type_info()
    }

    fn compatible(column: &SqliteTypeInfo) -> bool {
        <Json<T> as Type<Sqlite>>::compatible(column)
    }
}

impl<T: Serialize> Encode<'_, Sqlite> for AsWritten<T> {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode_by_ref(&Json(&self.0), buffer)
    }
}

impl<'r, T: Deserialize<'r> + 'r> Decode<'r, Sqlite> for AsWritten<T> {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Decode::<Sqlite>::decode(value).map(|Json(value)| Self(value))
    }
}
