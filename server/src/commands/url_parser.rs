//! Parses a database URL from the command line or the environment. It may contain a password, which
//! clap's own message about a malformed value would repeat.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use licd::db::DatabaseUrl;

#[derive(Clone)]
pub struct UrlParser;

impl TypedValueParser for UrlParser {
    type Value = DatabaseUrl;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<DatabaseUrl, Error> {
        let reason = match value.to_str().map(str::parse) {
            Some(Ok(url)) => return Ok(url),
            Some(Err(error)) => error.to_string(),
            None => "must be UTF-8".to_owned(),
        };
        let name = arg.map(Arg::to_string).unwrap_or_default();
        let variable = arg.and_then(Arg::get_env).unwrap_or_default().display();
        let message = format!("invalid {name} or {variable}: {reason}\n");
        Err(Error::raw(ErrorKind::ValueValidation, message).with_cmd(command))
    }
}
