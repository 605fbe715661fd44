//! The context of a run: the streams, the settings from flags, environment and profile, and the
//! client, which is created on first use.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use common::{ApiKey, Mode, Timestamp};
use tokio::sync::OnceCell;
use url::Url;

use crate::client::{
    Acquaintance, CaCert, Client, KeySource, Patience, PlannedRequest, Target, Trace,
};
use crate::config::{Config, Folder, Profile, address};
use crate::env::{self, Env};
use crate::error::{Destination, Error, Exit, Result};
use crate::escape::{clean, quote};
use crate::globals::Globals;
use crate::interruption::Interruption;
use crate::io::Io;
use crate::keystore;
use crate::messages::Messages;
use crate::output::OutputOptions;
use crate::server_address::{DEFAULT_SERVER, is_loopback, parse_server};
use crate::wait_display::WaitDisplay;

/// One run of licctl.
pub struct Context {
    pub io: Rc<Io>,
    pub messages: Messages,
    pub env: Env,
    pub globals: Globals,
    pub output: OutputOptions,
    /// Read once, so that one output agrees with itself.
    pub now: Timestamp,
    /// Writes that a dry run would have sent.
    pub planned: Rc<RefCell<Vec<PlannedRequest>>>,
    /// The command line as typed, with the answers to prompts appended.
    words: RefCell<Vec<String>>,
    pub interruption: Rc<Interruption>,
    pub wait_display: Rc<WaitDisplay>,
    asked: Cell<bool>,
    client: OnceCell<Client>,
    destination: RefCell<Option<Destination>>,
}

/// The profile and server of a command, before any key is looked up.
pub struct Endpoint {
    pub profile: Option<(String, Profile)>,
    pub server: Url,
    pub acquaintance: Acquaintance,
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
        let wait_display = WaitDisplay::new(io.clone(), output.format.is_json());
        Self {
            messages: Messages::new(io.clone(), output.format.is_json()),
            io,
            env,
            globals,
            output,
            now: Timestamp::now(),
            planned: Rc::default(),
            words: RefCell::new(words),
            interruption: Rc::default(),
            wait_display: Rc::new(wait_display),
            asked: Cell::new(false),
            client: OnceCell::new(),
            destination: RefCell::new(None),
        }
    }

    /// Whether licctl may prompt.
    pub fn may_ask(&self) -> bool {
        let terminals = self.io.terminals;
        let wanted = !self.globals.no_input && !self.env.is_ci();
        terminals.stdin && terminals.stderr && wanted
    }

    /// Refuses `--dry-run` for commands that send no request.
    pub fn refuse_dry_run(&self) -> Result<()> {
        if !self.globals.dry_run {
            return Ok(());
        }
        let flag = if self.globals.print_curl { "--print-curl" } else { "--dry-run" };
        let what = format!("{flag} shows requests to the service; this command sends none.");
        Err(Error::usage(what).fix(format!("run it without {flag}; nothing was changed")))
    }

    /// Why licctl does not prompt, when it may not.
    pub fn why_not_ask(&self) -> &'static str {
        let terminals = self.io.terminals;
        if !(terminals.stdin && terminals.stderr) {
            "There is no terminal to ask on."
        } else if self.globals.no_input {
            "--no-input turns prompts off."
        } else {
            "The variable CI turns prompts off."
        }
    }

    /// Remarks for the person, kept apart from data.
    pub fn note(&self, text: &str) {
        self.messages.note(text);
    }

    /// Records the answer to a prompt, to show the command that needs none.
    pub fn answered(&self, flag: Option<&str>, value: &str) {
        self.asked.set(true);
        let mut words = self.words.borrow_mut();
        words.extend(flag.map(str::to_owned));
        words.push(quote(value).into_owned());
    }

    /// Replaces a part of an id by the whole one, as the command without prompts needs it.
    pub fn meant(&self, part: &str, id: &str) {
        for word in self.words.borrow_mut().iter_mut().filter(|word| **word == part) {
            id.clone_into(word);
        }
    }

    /// Replaces a word by the one that a prompt offered for it.
    pub fn corrected(&self, word: &str, chosen: &str) {
        self.asked.set(true);
        self.meant(word, chosen);
    }

    /// Replaces a key, of which this is the prefix, by its id.
    pub fn meant_by_prefix(&self, prefix: &str, id: &str) {
        for word in self.words.borrow_mut().iter_mut().filter(|word| word.starts_with(prefix)) {
            id.clone_into(word);
        }
    }

    /// The command that needs no prompts; none when there were none.
    pub fn without_prompts(&self) -> Option<String> {
        self.asked.get().then(|| self.words.borrow().join(" "))
    }

    /// The words of the command for another one that is shown instead of that without prompts.
    pub fn take_command(&self) -> Vec<String> {
        self.asked.set(false);
        self.words.take()
    }

    /// The destination of requests, once it is known.
    pub fn destination(&self) -> std::cell::Ref<'_, Option<Destination>> {
        self.destination.borrow()
    }

    /// The profile and server that flags, environment and configuration name, in this order.
    pub fn endpoint(&self) -> Result<Endpoint> {
        let config = match Folder::locate(&self.env) {
            Ok(folder) => Config::load(&folder)?,
            Err(_) => Config::default(),
        };
        let typed = self.globals.profile.as_deref();
        let asked_for = typed.or(self.env.get(env::PROFILE));
        let name = asked_for.or(config.current.as_deref());
        let profile = match name {
            Some(name) => Some((name.to_owned(), config.get(name)?.clone())),
            None => None,
        };
        let own = profile.as_ref().map(|(_, profile)| profile.server.clone());
        let from_env = self.env.get(env::SERVER).map(|text| parse_server(text, env::SERVER));
        let server = match (&self.globals.server, own, from_env.transpose()?) {
            (Some(flag), _, _) => parse_server(flag, "--server")?,
            (None, Some(own), _) if typed.is_some() => own,
            (None, _, Some(variable)) => variable,
            (None, Some(own), None) => own,
            (None, None, None) => parse_server(DEFAULT_SERVER, "the default")?,
        };
        let acquaintance = self.acquaintance(profile.as_ref(), &server);
        let name = profile.as_ref().map(|(name, _)| name.clone());
        let shown = address(&server).to_owned();
        self.destination.replace(Some(Destination { profile: name, server: shown }));
        Ok(Endpoint { profile, server, acquaintance })
    }

    fn acquaintance(&self, profile: Option<&(String, Profile)>, server: &Url) -> Acquaintance {
        let is_stored = profile.is_some_and(|(_, known)| {
            known.key.is_some() && keystore::origin(&known.server) == keystore::origin(server)
        });
        let is_named = self.globals.server.is_some() || self.env.get(env::SERVER).is_some();
        match (is_stored, is_named || profile.is_some()) {
            (true, _) => Acquaintance::Stored,
            (false, true) => Acquaintance::Named,
            (false, false) => Acquaintance::Unknown,
        }
    }

    /// The client of this run.
    pub async fn client(&self) -> Result<&Client> {
        self.client
            .get_or_try_init(|| async {
                let endpoint = self.endpoint()?;
                self.refuse_open_http(&endpoint.server)?;
                self.note_ignored_server(&endpoint.server);
                let (key, key_source) = self.key(&endpoint).await?;
                self.connect(&endpoint, key, key_source)
            })
            .await
    }

    /// Says that the variable is not used, as the profile of `-P` has a server of its own.
    fn note_ignored_server(&self, used: &Url) {
        let other = self.env.get(env::SERVER).map(|text| parse_server(text, env::SERVER));
        let is_other = matches!(other, Some(Ok(other)) if other != *used);
        if is_other && self.globals.profile.is_some() && self.globals.server.is_none() {
            self.note("licctl uses the profile's server and ignores LICCTL_SERVER");
        }
    }

    /// A client for a key that is given, as `login` needs one.
    pub fn connect(
        &self,
        endpoint: &Endpoint,
        key: ApiKey,
        key_source: KeySource,
    ) -> Result<Client> {
        let (server, ca_cert) = (endpoint.server.clone(), self.ca_cert(endpoint)?);
        let (timeout, dry_run) = (self.globals.timeout, self.globals.dry_run);
        // Elsewhere nobody would read it in time.
        let is_said = self.io.terminals.stderr && key.mode() == Mode::Live;
        let place = format!("live · {} · {key_source}", keystore::origin(&server));
        let place = RefCell::new(is_said.then(|| clean(&place).into_owned()));
        let target = Target { server, key, key_source, timeout, ca_cert, dry_run, place };
        let trace = Trace::new(self.io.clone(), self.globals.verbose);
        let limit = self.globals.patience(&self.env)?;
        let (display, interruption) = (self.wait_display.clone(), self.interruption.clone());
        let patience = Patience::new(limit, endpoint.acquaintance, display, interruption);
        Client::new(target, self.planned.clone(), trace, patience)
    }

    /// The certificates to trust beside the system's.
    pub fn ca_cert(&self, endpoint: &Endpoint) -> Result<Option<CaCert>> {
        let Some((path, from)) = self.ca_cert_path(endpoint) else { return Ok(None) };
        let read = CaCert::read(&path);
        read.map(Some).map_err(|error| error.fix(format!("check the path, which is from {from}")))
    }

    /// The file of these certificates and where it is given. A profile's is for its server alone.
    pub fn ca_cert_path(&self, endpoint: &Endpoint) -> Option<(PathBuf, String)> {
        if let Some(path) = &self.globals.ca_cert {
            return Some((path.clone(), "--ca-cert".to_owned()));
        }
        if let Some(path) = self.env.get(env::CA_CERT) {
            return Some((path.into(), env::CA_CERT.to_owned()));
        }
        let (name, profile) = endpoint.profile.as_ref()?;
        let same = keystore::origin(&profile.server) == keystore::origin(&endpoint.server);
        let path = profile.ca_cert.as_ref().filter(|_| same)?;
        Some((path.into(), format!("profile {name}")))
    }

    /// Refuses to send a key unencrypted to another machine.
    pub fn refuse_open_http(&self, server: &Url) -> Result<()> {
        if server.scheme() == "https" || is_loopback(server) || self.globals.allow_http {
            return Ok(());
        }
        let origin = keystore::origin(server);
        Err(Error::usage(format!("Refusing to send the key to {origin} without TLS."))
            .fix("use https, or add --allow-http in a network that you trust"))
    }

    /// The key that was given for this run alone, by file or variable, and where it came from.
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
            self.note("licctl uses the profile's key and ignores LICCTL_API_KEY");
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
        let key = keystore::load(&folder, *place, name, &endpoint.server).await?;
        Ok(key.map(|key| (key, KeySource::Profile(name.clone()))))
    }

    /// The clients of the other stored profiles whose keys can be read.
    pub async fn other_clients(&self, current: &str) -> Vec<(String, Client)> {
        let Ok(folder) = Folder::locate(&self.env) else { return Vec::new() };
        let profiles = Config::load(&folder).map(|config| config.profiles).unwrap_or_default();
        let mut clients = Vec::new();
        for (name, profile) in profiles.into_iter().filter(|(name, _)| name != current) {
            let server = profile.server.clone();
            if self.refuse_open_http(&server).is_err() {
                continue;
            }
            let profile = Some((name.clone(), profile));
            // Nobody waits for a server that is only asked by the way.
            let endpoint = Endpoint { profile, server, acquaintance: Acquaintance::Unknown };
            if let Ok(Some((key, source))) = self.kept_key(&endpoint).await
                && let Ok(client) = self.connect(&endpoint, key, source)
            {
                clients.push((name, client));
            }
        }
        clients
    }

    async fn read_key_file(&self, path: &Path) -> Result<String> {
        if path == Path::new("-") {
            return self.io.read_stdin().await;
        }
        if fs::metadata(path).is_ok_and(|file| keystore::others_can_read(&file)) {
            self.note(&format!("others can read {}; chmod 600 it", path.display()));
        }
        fs::read_to_string(path).map_err(|error| {
            Error::usage(format!("{} cannot be read.", path.display()))
                .because(error.to_string())
                .fix("check the path that --api-key-file gives, and its permissions")
        })
    }
}

/// Parses a key. The error does not repeat the text, which may be another secret.
pub fn parse_key(text: &str, from: &str) -> Result<ApiKey> {
    let error = |message| Error::new(Exit::NotAuthenticated, "malformed_key", message);
    if text.trim().is_empty() {
        return Err(error(format!("{from} is empty.")).fix("store the key there"));
    }
    text.trim().parse().map_err(|_: common::MalformedKey| {
        error(format!("{from} does not contain an API key."))
            .because("Expected sk_live_ or sk_test_ and 38 letters and digits.")
            .fix("copy the whole key again")
    })
}

fn no_key(endpoint: &Endpoint) -> Error {
    let origin = keystore::origin(&endpoint.server);
    let error = |message| Error::new(Exit::NotAuthenticated, "no_key", message);
    match &endpoint.profile {
        Some((name, profile)) if keystore::origin(&profile.server) != origin => {
            let kept = keystore::origin(&profile.server);
            error(format!(
                "The key of profile {name} belongs to {kept}; licctl does not send it to {origin}."
            ))
            .fix(format!("licctl login --profile NAME --server {origin}"))
        }
        Some((name, _)) => error(format!("Profile {name} has no key."))
            .fix(format!("licctl login --profile {name}, or set LICCTL_API_KEY")),
        None => error("There is no API key.".to_owned()).fix("licctl login, or set LICCTL_API_KEY"),
    }
}
