//! The context of a run: the streams, the settings from flags, environment and profile, and the
//! client, which is created on first use.

mod confirm;
mod globals;

use std::cell::{self, RefCell};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use common::{ApiKey, Mode, Timestamp, setting};
use tokio::sync::OnceCell;
use url::Url;

use crate::client::{CaCert, Client, KeySource, Patience, ServerKnowledge, Target, Trace};
use crate::error::{Destination, Error, Exit, Result};
use crate::escape::clean;
use crate::output::{Messages, OutputOptions, PlannedRequest, WaitDisplay};
use crate::profile::{
    self, Config, DEFAULT_SERVER, Folder, Profile, address, is_loopback, parse_server,
};
use crate::terminal::{Env, Interruption, Io, Prompts, env, unreadable};

pub use confirm::MAX_UNCONFIRMED;
pub use globals::{Globals, shows_colors};

/// One run of licctl.
pub struct Context {
    pub io: Rc<Io>,
    pub messages: Rc<Messages>,
    pub env: Env,
    pub globals: Globals,
    pub output: OutputOptions,
    /// Read once, so that all of an output is consistent.
    pub now: Timestamp,
    pub prompts: Prompts,
    pub interruption: Rc<Interruption>,
    pub wait_display: Rc<WaitDisplay>,
    client: OnceCell<Client>,
    endpoint: cell::OnceCell<Endpoint>,
}

/// The profile and server of a command, before any key is looked up.
pub struct Endpoint {
    pub profile: Option<(String, Profile)>,
    pub server: Url,
    pub known: ServerKnowledge,
}

impl Endpoint {
    /// The profile and server from flags, environment and configuration, in this order.
    pub fn locate(
        env: &Env,
        profile_flag: Option<&str>,
        server_flag: Option<&str>,
    ) -> Result<Self> {
        let config = match Folder::locate(env) {
            Ok(folder) => Config::load(&folder)?,
            Err(_) => Config::default(),
        };
        let name = profile_flag.or(env.get(env::PROFILE)).or(config.current.as_deref());
        let profile = match name {
            Some(name) => Some((name.to_owned(), config.get(name)?.clone())),
            None => None,
        };
        let own = profile.as_ref().map(|(_, profile)| profile.server.clone());
        let variable = env.get(env::SERVER).map(|text| parse_server(text, env::SERVER));
        let server = match (server_flag, own.clone(), variable.transpose()?) {
            (Some(flag), _, _) => parse_server(flag, "--server")?,
            (None, Some(own), _) if profile_flag.is_some() => own,
            (None, _, Some(variable)) => variable,
            (None, Some(own), None) => own,
            (None, None, None) => parse_server(DEFAULT_SERVER, "the default")?,
        };
        let has_key = profile.as_ref().is_some_and(|(_, profile)| profile.key.is_some());
        let is_its_own = own.is_some_and(|own| profile::origin(&own) == profile::origin(&server));
        let is_named = server_flag.is_some() || env.get(env::SERVER).is_some() || profile.is_some();
        let known = match (has_key && is_its_own, is_named) {
            (true, _) => ServerKnowledge::Stored,
            (false, true) => ServerKnowledge::Named,
            (false, false) => ServerKnowledge::Unknown,
        };
        Ok(Self { profile, server, known })
    }
}

impl Context {
    pub fn new(
        io: Io,
        env: Env,
        globals: Globals,
        output: OutputOptions,
        words: Vec<String>,
    ) -> Self {
        let io = Rc::new(io);
        let messages = Rc::new(Messages::new(io.clone(), output.format.is_json()));
        let wait_display = WaitDisplay::new(io.clone(), messages.clone());
        let refusal = if !(io.terminals.stdin && io.terminals.stderr) {
            Some("Prompts require a terminal.")
        } else if globals.no_input {
            Some("--no-input turns prompts off.")
        } else {
            env.is_ci().then_some("The variable CI turns prompts off.")
        };
        Self {
            prompts: Prompts::new(io.clone(), refusal, output.color, words),
            messages,
            io,
            env,
            globals,
            output,
            now: Timestamp::now(),
            interruption: Rc::default(),
            wait_display: Rc::new(wait_display),
            client: OnceCell::new(),
            endpoint: cell::OnceCell::new(),
        }
    }

    /// Rejects `--dry-run` for commands that send no requests.
    pub fn refuse_dry_run(&self) -> Result<()> {
        if !self.globals.dry_run {
            return Ok(());
        }
        let flag = if self.globals.print_curl { "--print-curl" } else { "--dry-run" };
        let what = format!("{flag} prints requests, and this command sends none.");
        Err(Error::usage(what).fix(format!("run it without {flag}; nothing was changed")))
    }

    /// Returns the time of a record's last change as a person saw it. `None` for a script, which
    /// decides on nothing that it saw.
    pub fn seen(&self, updated_at: Timestamp) -> Option<Timestamp> {
        self.prompts.can_ask().then_some(updated_at)
    }

    /// Prints a note for the person, apart from the data.
    pub fn note(&self, text: &str) {
        self.messages.note(text);
    }

    /// The destination of requests, once it is known.
    pub fn destination(&self) -> Option<Destination> {
        let endpoint = self.endpoint.get()?;
        let profile = endpoint.profile.as_ref().map(|(name, _)| name.clone());
        Some(Destination { profile, server: address(&endpoint.server).to_owned() })
    }

    /// The requests of a dry run.
    pub fn planned(&self) -> Vec<PlannedRequest> {
        self.client.get().map(Client::take_planned).unwrap_or_default()
    }

    /// The profile and server of this run.
    pub fn endpoint(&self) -> Result<&Endpoint> {
        if let Some(known) = self.endpoint.get() {
            return Ok(known);
        }
        let (profile, server) = (self.globals.profile.as_deref(), self.globals.server.as_deref());
        let found = Endpoint::locate(&self.env, profile, server)?;
        Ok(self.endpoint.get_or_init(|| found))
    }

    /// The client of this run.
    pub async fn client(&self) -> Result<&Client> {
        self.client
            .get_or_try_init(|| async {
                let endpoint = self.endpoint()?;
                self.refuse_open_http(&endpoint.server)?;
                self.note_ignored_server(&endpoint.server);
                let (key, key_source) = self.key(endpoint).await?;
                self.connect(endpoint, key, key_source)
            })
            .await
    }

    /// Notes that the variable is ignored because the profile of `-P` has its own server.
    fn note_ignored_server(&self, used: &Url) {
        let other = self.env.get(env::SERVER).map(|text| parse_server(text, env::SERVER));
        let is_other = matches!(other, Some(Ok(other)) if other != *used);
        if is_other && self.globals.profile.is_some() && self.globals.server.is_none() {
            self.note("using the profile's server; LICCTL_SERVER is ignored");
        }
    }

    /// A client with a given key, for `login`.
    pub fn connect(
        &self,
        endpoint: &Endpoint,
        key: ApiKey,
        key_source: KeySource,
    ) -> Result<Client> {
        let (server, ca_cert) = (endpoint.server.clone(), self.ca_cert(endpoint)?);
        let (timeout, dry_run) = (self.globals.timeout, self.globals.dry_run);
        // In a pipe, the message would be read too late.
        let is_said = self.io.terminals.stderr && key.mode() == Mode::Live;
        let place = format!("live · {} · {key_source}", profile::origin(&server));
        let place = RefCell::new(is_said.then(|| clean(&place).into_owned()));
        let target = Target { server, key, key_source, timeout, ca_cert, dry_run, place };
        let trace = Trace::new(self.io.clone(), self.globals.verbose);
        let limit = self.globals.patience(&self.env)?;
        let (display, interruption) = (self.wait_display.clone(), self.interruption.clone());
        let patience = Patience::new(limit, endpoint.known, display, interruption);
        Client::new(target, trace, patience)
    }

    /// The certificates to trust in addition to the system's.
    pub fn ca_cert(&self, endpoint: &Endpoint) -> Result<Option<CaCert>> {
        let Some((path, from)) = self.ca_cert_path(endpoint) else { return Ok(None) };
        let read = CaCert::read(&path);
        read.map(Some).map_err(|error| error.fix(format!("check the path given by {from}")))
    }

    /// The file with these certificates, and its source. A profile's is for its own server only.
    pub fn ca_cert_path(&self, endpoint: &Endpoint) -> Option<(PathBuf, String)> {
        if let Some(path) = &self.globals.ca_cert {
            return Some((path.clone(), "--ca-cert".to_owned()));
        }
        if let Some(path) = self.env.get(env::CA_CERT) {
            return Some((path.into(), env::CA_CERT.to_owned()));
        }
        let (name, profile) = endpoint.profile.as_ref()?;
        let same = profile::origin(&profile.server) == profile::origin(&endpoint.server);
        let path = profile.ca_cert.as_ref().filter(|_| same)?;
        Some((path.into(), format!("profile {name}")))
    }

    /// Refuses to send a key unencrypted to another machine.
    pub fn refuse_open_http(&self, server: &Url) -> Result<()> {
        if server.scheme() == "https" || is_loopback(server) || self.globals.allow_http {
            return Ok(());
        }
        let origin = profile::origin(server);
        Err(Error::usage(format!("Refusing to send the API key to {origin} without TLS."))
            .fix("use https, or add --allow-http if you trust the network"))
    }

    /// The key given for this run only, by file or variable, and its source.
    pub async fn given_key(&self) -> Result<Option<(ApiKey, KeySource)>> {
        if let Some(path) = &self.globals.api_key_file {
            let source = format!("--api-key-file {}", path.display());
            let text = self.read_key_file(path).await?;
            return Ok(Some((parse_key(&text, &source)?, KeySource::Given(source))));
        }
        let Some(text) = self.env.get(env::API_KEY) else { return Ok(None) };
        let source = KeySource::Given(env::API_KEY.to_owned());
        Ok(Some((parse_key(text, env::API_KEY)?, source)))
    }

    async fn key(&self, endpoint: &Endpoint) -> Result<(ApiKey, KeySource)> {
        let typed = self.globals.profile.is_some() && self.globals.api_key_file.is_none();
        if typed
            && self.env.get(env::API_KEY).is_some()
            && let Some(kept) = self.kept_key(endpoint).await?
        {
            self.note("using the profile's key; LICCTL_API_KEY is ignored");
            return Ok(kept);
        }
        if let Some(given) = self.given_key().await? {
            return Ok(given);
        }
        self.kept_key(endpoint).await?.ok_or_else(|| no_key(endpoint))
    }

    async fn kept_key(&self, endpoint: &Endpoint) -> Result<Option<(ApiKey, KeySource)>> {
        let Some((name, Profile { key: Some(place), .. })) = &endpoint.profile else {
            return Ok(None);
        };
        let folder = Folder::locate(&self.env)?;
        let key = profile::load(&folder, *place, name, &endpoint.server).await?;
        Ok(key.map(|key| (key, KeySource::Profile(name.clone()))))
    }

    /// A secret from a prompt, or the only line of stdin: never from the command line, which others
    /// see.
    pub async fn read_secret(&self, question: &str) -> Result<String> {
        match self.prompts.can_ask() {
            true => self.prompts.secret(question),
            false => self.io.read_line().await,
        }
    }

    async fn read_key_file(&self, path: &Path) -> Result<String> {
        if path == Path::new("-") {
            return self.io.read_stdin().await;
        }
        if fs::metadata(path).is_ok_and(|file| profile::others_can_read(&file)) {
            self.note(&format!("other users can read {}; run chmod 600 on it", path.display()));
        }
        fs::read_to_string(path).map_err(|error| {
            unreadable(&path.display().to_string(), &error).fix(match error.kind() {
                ErrorKind::InvalidData => "save the file as UTF-8",
                _ => "check the path and permissions of the --api-key-file",
            })
        })
    }
}

/// Parses a key. The error does not repeat the text, which may be another secret.
pub fn parse_key(text: &str, from: &str) -> Result<ApiKey> {
    let error = |message| Error::new(Exit::NotAuthenticated, "malformed_key", message);
    let text = setting(text).map_err(|it| error(format!("{from}: {it}.")))?;
    if text.is_empty() {
        return Err(error(format!("{from} is empty.")).fix("put the API key there"));
    }
    text.parse().map_err(|_: common::MalformedKey| {
        error(format!("{from} is not an API key."))
            .because("Expected sk_live_ or sk_test_, followed by 38 letters and digits.")
            .fix("copy the whole key again")
    })
}

fn no_key(endpoint: &Endpoint) -> Error {
    let origin = profile::origin(&endpoint.server);
    let error = |message| Error::new(Exit::NotAuthenticated, "no_key", message);
    match &endpoint.profile {
        Some((name, profile)) if profile::origin(&profile.server) != origin => {
            let kept = profile::origin(&profile.server);
            error(format!(
                "The key of profile {name} belongs to {kept} and is not sent to {origin}."
            ))
            .fix(format!("licctl login --profile NAME --server {origin}"))
        }
        Some((name, _)) => error(format!("Profile {name} has no key."))
            .fix(format!("licctl login --profile {name}, or set LICCTL_API_KEY")),
        None => error("No API key found.".to_owned()).fix("licctl login, or set LICCTL_API_KEY"),
    }
}
