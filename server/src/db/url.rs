//! The address of a database: `sqlite://PATH` or `postgres://USER@HOST/DATABASE`.
//!
//! The URL may contain a password, so errors never repeat it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::files::{self, PermissionProblem};
use super::hosts::{Hosts, OPTIONS, POOLER};

/// Options of PostgreSQL's own programs that ask for what licd does anyway, with the values that do.
/// Hosted services print them.
const IMPLIED: [(&str, &[&str]); 4] = [
    ("target_session_attrs", &["any", "read-write", "primary"]),
    ("channel_binding", &["disable", "prefer"]),
    ("gssencmode", &["disable", "prefer"]),
    ("sslnegotiation", &["postgres"]),
];
const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// Location of the database.
#[derive(Clone)]
pub enum DatabaseUrl {
    /// The path of the file itself, with links resolved.
    Sqlite(PathBuf),
    Postgres(Hosts),
}

impl DatabaseUrl {
    /// An SQLite database in the file at `path`.
    pub fn file(path: PathBuf) -> Self {
        Self::Sqlite(files::resolve(path))
    }

    /// Returns the permissions with which other users of this machine can read or change the files
    /// of an SQLite database.
    pub fn permission_problems(&self) -> Vec<PermissionProblem> {
        match self {
            Self::Sqlite(path) => files::permission_problems(path),
            Self::Postgres(_) => Vec::new(),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    /// For messages: without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(hosts) => hosts.fmt(f),
        }
    }
}

/// Fault of a URL. No message contains any part of the URL.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    #[error("must be sqlite://PATH or postgres://USER@HOST/DATABASE")]
    Unknown,
    #[error(
        "a database in memory is not persistent; must be sqlite://PATH with the path of a file"
    )]
    InMemory,
    #[error("must name a file after sqlite://, not a folder")]
    Folder,
    #[error("sqlite:// takes no options; write the path without `?`")]
    SqliteOptions,
    #[error(
        "`/`, `?`, `#` and `@` in a user or password must be percent-encoded, such as %2F, %3F, %23 \
         and %40"
    )]
    Unencoded,
    #[error("the port must be a number from 1 to 65535")]
    Port,
    #[error("sslmode must be one of {}", SSL_MODES.join(", "))]
    SslMode,
    #[error("pooler must be transaction or absent")]
    Pooler,
    #[error("channel_binding=require is not supported: leave it out, and use sslmode=verify-full")]
    ChannelBinding,
    #[error(
        "the option {0} after `?` is unknown, or its value is; licd knows sslmode, sslrootcert, \
         sslcert, sslkey, host, port, user, password, dbname, application_name, options and pooler"
    )]
    Option(String),
}

impl InvalidUrl {
    /// Names an option, unless that could be a part of a password.
    fn option(name: &str) -> Self {
        let is_name =
            name.len() <= 40 && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        Self::Option(if is_name { name.to_owned() } else { String::new() })
    }
}

/// Without the quotes that some readers of environment files leave around a value.
fn unquoted(url: &str) -> &str {
    let quoted =
        ['"', '\''].iter().find_map(|quote| url.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(url)
}

impl FromStr for DatabaseUrl {
    type Err = InvalidUrl;

    fn from_str(url: &str) -> Result<Self, InvalidUrl> {
        let (scheme, rest) = unquoted(url).split_once("://").ok_or(InvalidUrl::Unknown)?;
        match &*scheme.to_ascii_lowercase() {
            "sqlite" => sqlite(rest).map(Self::file),
            "postgres" | "postgresql" => postgres(rest).map(Self::Postgres),
            _ => Err(InvalidUrl::Unknown),
        }
    }
}

fn sqlite(path: &str) -> Result<PathBuf, InvalidUrl> {
    match path {
        "" => Err(InvalidUrl::Unknown),
        _ if path.contains('?') => Err(InvalidUrl::SqliteOptions),
        _ if path.ends_with('/') => Err(InvalidUrl::Folder),
        // SQLite would not interpret these as file names.
        _ if path == ":memory:" || path.starts_with("file:") => Err(InvalidUrl::InMemory),
        _ => Ok(path.into()),
    }
}

/// Detects what the driver would misinterpret or reject with a vague message.
fn postgres(rest: &str) -> Result<Hosts, InvalidUrl> {
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A part of the password would be interpreted as a part of the host name.
    if tail.contains(['@', '#']) {
        return Err(InvalidUrl::Unencoded);
    }
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    if !hosts.split(',').all(has_port) {
        return Err(InvalidUrl::Port);
    }
    let query = tail.split_once('?').map_or("", |(_, query)| query);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "sslmode" | "ssl-mode" if !SSL_MODES.contains(&&*value.to_ascii_lowercase()) => {
                return Err(InvalidUrl::SslMode);
            }
            "port" if !is_port(&value) => return Err(InvalidUrl::Port),
            "pooler" if format!("pooler={value}") != POOLER => return Err(InvalidUrl::Pooler),
            name if OPTIONS.contains(&name) || name.starts_with("options[") => {}
            "channel_binding" if value == "require" => return Err(InvalidUrl::ChannelBinding),
            // licd has a shorter one of its own.
            "connect_timeout" if value.parse::<u32>().is_ok() => {}
            name if IMPLIED
                .iter()
                .any(|(implied, values)| *implied == name && values.contains(&&*value)) => {}
            name => return Err(InvalidUrl::option(name)),
        }
    }
    format!("postgres://{rest}").parse().map_err(|_| InvalidUrl::Unknown)
}

/// Whether a host has no port, or a valid one.
fn has_port(host: &str) -> bool {
    let after_address = host.rsplit_once(']').map_or(host, |(_, after)| after);
    after_address.rsplit_once(':').is_none_or(|(_, port)| is_port(port))
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn good_addresses_are_shown_without_user_and_password() {
        for (url, shown) in [
            ("sqlite://licd.db", "sqlite://licd.db"),
            ("SQLite:///var/licd.db", "sqlite:///var/licd.db"),
            ("Postgres://u:TOPSECRET@db/licd", "postgres://db:5432/licd"),
            ("postgresql://u:TOP%23SECRET@db:6/licd?sslmode=require", "postgres://db:6/licd"),
            (
                "postgres://u:TOP@SECRET@[::1]:7,b/licd?pooler=transaction",
                "postgres://[::1]:7,b:5432/licd",
            ),
            ("postgres://u:TOP:SECRET,x@db/licd?options[a]=b", "postgres://db:5432/licd"),
            ("\"postgres://u:TOPSECRET@db/licd\"", "postgres://db:5432/licd"),
            ("postgres://u:TOPSECRET@/licd?host=db&port=6", "postgres://db:6/licd"),
            ("postgres:///licd?host=db&user=u", "postgres://db:5432/licd"),
            (
                "postgres://u@db/licd?target_session_attrs=read-write&connect_timeout=10",
                "postgres://db:5432/licd",
            ),
        ] {
            assert_eq!(url.parse::<DatabaseUrl>().unwrap().to_string(), shown, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_address() {
        for (url, wrong) in [
            ("postgres://u:TOP/SECRET@db/licd", InvalidUrl::Unencoded),
            ("postgres://u:TOP?SECRET@db/licd", InvalidUrl::Unencoded),
            ("postgres://u:TOP#SECRET@db/licd", InvalidUrl::Unencoded),
            // The driver would look for the host `u` and its port 12.
            ("postgres://u:12/SECRET@db/licd", InvalidUrl::Unencoded),
            ("postgres://u:12?SECRET@db/licd", InvalidUrl::Unencoded),
            ("postgres://u:TOP@SEC/RET@db/licd", InvalidUrl::Unencoded),
            ("postgres://u:SECRET@db:54x2/licd", InvalidUrl::Port),
            ("postgres://u:SECRET@db:0/licd", InvalidUrl::Port),
            ("postgres://u:SECRET@db:70000/licd", InvalidUrl::Port),
            ("postgres://u:SECRET@db,b:/licd", InvalidUrl::Port),
            ("postgres://u:SECRET@db/licd?sslmode=maybe", InvalidUrl::SslMode),
            ("postgres://u:SECRET@db/licd?sslmod=require", InvalidUrl::option("sslmod")),
            (
                "postgres://u:SECRET@db/licd?target_session_attrs=standby",
                InvalidUrl::option("target_session_attrs"),
            ),
            ("postgres://u:SECRET@db/licd?channel_binding=require", InvalidUrl::ChannelBinding),
            (
                "postgres://u:SECRET@db/licd?connect_timeout=x",
                InvalidUrl::option("connect_timeout"),
            ),
            ("postgres://u:SECRET@db/licd?pooler=session", InvalidUrl::Pooler),
            ("postgres:/u:SECRET@db/licd", InvalidUrl::Unknown),
            ("mysql://u:SECRET@db/licd", InvalidUrl::Unknown),
            ("u:SECRET@db/licd", InvalidUrl::Unknown),
            ("", InvalidUrl::Unknown),
            ("sqlite://", InvalidUrl::Unknown),
            ("sqlite://:memory:", InvalidUrl::InMemory),
            ("sqlite://file:licd.db", InvalidUrl::InMemory),
            ("sqlite:///var/lib/", InvalidUrl::Folder),
            ("sqlite://licd.db?mode=memory", InvalidUrl::SqliteOptions),
        ] {
            assert_eq!(url.parse::<DatabaseUrl>().err(), Some(wrong), "{url}");
        }
    }

    proptest! {
        /// No error shows the password, whatever else is wrong with the URL.
        #[test]
        fn a_password_is_never_shown(
            scheme in "postgres(ql)?|sqlite|Postgres|[a-z]{0,4}",
            before in "[a-z:@/?#,%\\[\\]]{0,4}",
            after in "[a-z0-9:@/?#,%&=\\[\\].]{0,24}",
        ) {
            let url = format!("{scheme}://user:{before}TOPSECRET{after}@db/licd");
            match url.parse::<DatabaseUrl>() {
                // A file path is not secret.
                Ok(DatabaseUrl::Sqlite(_)) => {}
                Ok(url) => prop_assert!(!url.to_string().contains("TOPSECRET"), "{}", url),
                Err(error) => prop_assert!(!error.to_string().contains("TOPSECRET")),
            }
        }

        #[test]
        fn any_text_is_an_address_or_an_error(
            text in "\\PC*|(sqlite|postgres)://[a-z0-9:@/?#,%&=\\[\\].]{0,40}",
        ) {
            if let Ok(url @ DatabaseUrl::Sqlite(_)) = text.parse::<DatabaseUrl>() {
                prop_assert!(url.to_string().parse::<DatabaseUrl>().is_ok());
            }
        }
    }
}
