//! The errors of a request. `http::error` maps them to HTTP.

mod line_limit;

use common::{ErrorCode, LicenseId, Timestamp};

use crate::secrets::SecretError;

pub use line_limit::LineLimit;

/// A database that is away fails every request, in the same words.
static LINES: LineLimit = LineLimit::new();

/// Each error with its code, the field that caused it, and its sentence for people.
macro_rules! errors {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $(($type:ty))? $({ $($member:ident: $member_type:ty),* })?
            => $code:ident $(($field:literal))?, $($sentence:expr),+;
    )*) => {
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        pub enum Error {
            $(
                $(#[doc = $doc])*
                #[error($($sentence),+)]
                $name $(($type))? $({ $($member: $member_type),* })?,
            )*
        }

        impl Error {
            /// Returns the kind of the error, for programs.
            pub fn code(&self) -> ErrorCode {
                match self {
                    $(Self::$name { .. } => ErrorCode::$code,)*
                }
            }

            /// Returns the member, parameter or header that caused the error, if any.
            pub fn field(&self) -> Option<&str> {
                match self {
                    Self::Invalid { field, .. } => field.as_deref(),
                    $($(Self::$name { .. } => Some($field),)?)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    /// The key is missing or not valid. The caller does not learn which.
    Unauthorized => Unauthorized, "Unauthorized";
    /// The key has used up its rate. Whole seconds to wait.
    RateLimited(u64) => RateLimited, "{}", RATE_LIMITED;
    /// Validations of the key have created too many users. Whole seconds to wait.
    TooManyNewUsers(u64) => RateLimited("userId"),
        "{} Validations of this key create too many users; known users are not affected", RATE_LIMITED;
    /// The key has caused too many events of leases and releases. Whole seconds to wait.
    TooManySeatEvents(u64) => RateLimited,
        "{} Too many new leases and releases of this key were recorded; validations are \
         not affected", RATE_LIMITED;
    /// Too many texts that are no license keys. Whole seconds to wait.
    TooManyWrongKeys(u64) => RateLimited("key"),
        "{} Too many wrong license keys were tried", RATE_LIMITED;
    LicenseKeyMistyped => LicenseKeyMistyped("key"), "The license key contains a typing error";
    LicenseKeyNotFound => LicenseKeyNotFound("key"), "There is no such license key";
    LicenseKeyRevoked => LicenseKeyRevoked("key"), "The license key was revoked or replaced";
    LicenseKeyExpired => LicenseKeyExpired("key"), "The license key has expired";
    LicenseKeyUsedUp => LicenseKeyUsedUp("key"), "The license key has reached its limit of users";
    LicenseKeyOfAnotherProduct => LicenseKeyOfAnotherProduct("key"),
        "The license key is for another product";
    /// The text is already the key of this license.
    KeyOfLicense(LicenseId) => Conflict("key"),
        "License {0} has this key already. A key belongs to one license";
    /// The key may not do this.
    Forbidden => Forbidden, "Access denied";
    /// The request breaks a rule. Names the field that caused the error, if there is one.
    Invalid { field: Option<String>, message: String } => InvalidRequest, "{message}";
    /// Several fields of a form are invalid, each with its own error.
    Several(Vec<Error>) => InvalidRequest, "Several fields are invalid";
    /// The record does not exist in the world of this key.
    NotFound(&'static str) => NotFound, "There is no such {0}";
    RouteNotFound => NotFound, "This address does not exist";
    /// The path has a slash at the end, which no route has.
    SlashAtEnd => NotFound, "This address does not exist. Remove the slash at its end";
    MethodNotAllowed => MethodNotAllowed, "This address does not support this method";
    /// The body is not declared as JSON in UTF-8. A sentence for the caller.
    UnsupportedMediaType(&'static str) => UnsupportedMediaType, "{0}";
    UnsupportedEncoding => UnsupportedMediaType,
        "The body must not be compressed, because no Content-Encoding is supported";
    /// The body is larger than the limit. A sentence that names the limit.
    TooLarge(&'static str) => PayloadTooLarge, "{0}";
    RequestTimeout => RequestTimeout, "The body took too long to arrive";
    /// The request conflicts with the current state.
    Conflict(&'static str) => Conflict, "{0}";
    /// The license has a key, with this name, with which a user could still claim it.
    ClaimableKey(String) => Conflict,
        "A user could still claim the license with its key {0}. Revoke the key first, or delete the \
         license with ?keys=revoke";
    /// A lease holds the seat that was to be taken away, until then.
    LeaseRunning(Timestamp) => LeaseRunning,
        "A lease holds the seat until {0}. To free the seat earlier, send leases=drop; the user may \
         then stay licensed offline until that time";
    /// The record, named by its kind, is not as the caller saw it.
    Changed(&'static str) => Changed,
        "The {0} has changed since it was read. Read it again, then repeat the change";
    /// The record was changed while a form was open. The text says what was changed, and by which
    /// user.
    EditConflict(String) => Changed, "The record was changed in the meantime{0}.";
    IdempotencyKeyInUse => IdempotencyKeyInUse,
        "A request with this Idempotency-Key is still in progress";
    IdempotencyKeyReused => IdempotencyKeyReused,
        "A different request has used this Idempotency-Key";
    /// A request with the same idempotency key created the record with this id, and showed its
    /// secret.
    ShownOnce(String) => Conflict,
        "This request already succeeded. Its response contained a secret and is not shown again";
    /// This node has no secret key, without which nothing can be signed.
    SecretKeyMissing => SecretKeyMissing,
        "The service has no secret key to sign with. Its operator names a file in \
         LICD_SECRET_KEY_FILE";
    /// A secret cannot be opened with this node's secret keys. Says which one is needed.
    SecretUnreadable(String) => Unavailable,
        "The secret cannot be opened: {0}. The operator of the service can help";
    WebhooksOff => WebhooksOff, "This server sends no webhooks: LICD_WEBHOOKS is off";
    /// No event has this sequence yet. The last event's sequence.
    SequenceAhead(i64) => SequenceAhead,
        "The last event has the sequence {0}: the database was restored from a backup, or this is \
         another server. Begin again after {0}";
    /// Too many requests wait already.
    Overloaded => Overloaded, "The service is overloaded. Please try again shortly.";
    /// The database does not respond.
    Unavailable => Unavailable, "The service is unavailable. Please try again shortly.";
    /// A fault of licd.
    Internal => Internal, "The service failed. Its log has the cause under the request id.";
}

const RATE_LIMITED: &str = "Rate limit exceeded. Please try again later.";

impl Error {
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid { field: Some(field.to_owned()), message: message.into() }
    }

    /// A field of the body names something that does not exist.
    pub fn unknown(field: &str, what: &str) -> Self {
        Self::invalid(field, format!("{field} must be the id of an existing {what}"))
    }
}

impl From<SecretError> for Error {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Missing => Self::SecretKeyMissing,
            error => {
                tracing::error!(%error, "a secret cannot be sealed or opened");
                match error {
                    SecretError::Unknown { .. } | SecretError::Damaged => {
                        Self::SecretUnreadable(error.to_string())
                    }
                    _ => Self::Internal,
                }
            }
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) || is_collision(&error) {
            LINES.write(|left_out| tracing::warn!(%error, left_out, "the database is unavailable"));
            Self::Unavailable
        } else if is_unusable(&error) {
            LINES
                .write(|left_out| tracing::error!(%error, left_out, "the database cannot be used"));
            Self::Unavailable
        } else {
            tracing::error!(%error, "the database refused a statement");
            Self::Internal
        }
    }
}

/// Two transactions collided and this one was rolled back; it may be run again.
pub fn is_collision(error: &sqlx::Error) -> bool {
    has_code(error, |code| matches!(code, "40001" | "40P01"))
}

fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // Busy, locked, out of memory, read-only, interrupted, input/output, full, cannot open.
        _ if is_of_sqlite(error) => has_primary_code(error, &[5, 6, 7, 8, 9, 10, 13, 14]),
        // Connection lost, out of resources, operator's intervention, a disk that fails, a
        // standby's read-only state, a lock or a statement that took too long.
        _ => has_code(error, |code| {
            matches!(&code[..2.min(code.len())], "08" | "53" | "57" | "58")
                || matches!(code, "25006" | "55P03")
        }),
    }
}

/// Whether the database will fail until an operator acts: a password or a right was removed, a
/// schema is missing, or a file is damaged.
fn is_unusable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Configuration(_) => true,
        // Corrupt, a broken locking protocol, not a database.
        _ if is_of_sqlite(error) => has_primary_code(error, &[11, 15, 26]),
        // Refused authorization, no such database, no such schema, a fault of the server; no
        // connections allowed, no right, no such table.
        _ => has_code(error, |code| {
            matches!(&code[..2.min(code.len())], "28" | "3D" | "3F" | "XX")
                || matches!(code, "55000" | "42501" | "42P01")
        }),
    }
}

fn is_of_sqlite(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.is_some_and(|error| error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some())
}

/// For a statement that refers to a record that is gone, or deletes one that others refer to.
pub fn on_broken_reference(broken: Error) -> impl FnOnce(sqlx::Error) -> Error {
    |error| match error.as_database_error() {
        Some(refusal) if refusal.is_foreign_key_violation() => broken,
        _ => error.into(),
    }
}

/// Whether SQLite's code, without what it says more exactly, is one of these.
pub fn has_primary_code(error: &sqlx::Error, codes: &[i32]) -> bool {
    has_code(error, |code| code.parse::<i32>().is_ok_and(|code| codes.contains(&(code & 0xff))))
}

/// Whether the database answered with such a code.
pub fn has_code(error: &sqlx::Error, test: impl Fn(&str) -> bool) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| test(&code))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fmt;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    /// Error code of PostgreSQL.
    #[derive(Debug)]
    struct Refusal(&'static str);

    impl fmt::Display for Refusal {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Refusal {}

    impl DatabaseError for Refusal {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    #[test]
    fn a_postgresql_that_an_operator_must_mend_is_unavailable() {
        for code in
            ["28P01", "28000", "3D000", "3F000", "55000", "42501", "42P01", "XX000", "57P03"]
        {
            let error = sqlx::Error::Database(Box::new(Refusal(code)));
            assert_eq!(Error::from(error), Error::Unavailable, "{code}");
        }
        for code in ["23505", "42601", "22P02", "42703", ""] {
            let error = sqlx::Error::Database(Box::new(Refusal(code)));
            assert_eq!(Error::from(error), Error::Internal, "{code}");
        }
    }
}
