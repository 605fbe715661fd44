//! A session of WebDriver: a chromedriver of its own, and the headless Chromium that it starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::harness::client;

/// Number of Chromiums that run at the same time. More would only wait for a core.
static TURNS: Semaphore = Semaphore::const_new(2);

const MISSING: &str = "Tests of pages need a browser with its driver. Install Chromium: \
    apt-get install chromium chromium-driver, or let tests/run do it.";

pub struct Session {
    client: Client,
    /// `127.0.0.1:PORT`, where chromedriver listens.
    address: String,
    id: String,
    driver: Child,
    /// Kept open for what chromedriver may still say.
    _output: BufReader<ChildStdout>,
    /// All that Chromium writes: its profile too.
    _folder: TempDir,
    _turn: SemaphorePermit<'static>,
}

/// Error of chromedriver: its code, and its sentence.
#[derive(Debug)]
pub struct Refused {
    pub code: String,
    pub message: String,
}

impl Session {
    pub async fn start() -> Self {
        let turn = TURNS.acquire().await.unwrap();
        let folder = TempDir::new().unwrap();
        // The port that chromedriver chooses may be taken before it listens there.
        let started = (0..5).find_map(|_| start_driver(folder.path()));
        let (driver, output, port) = started.unwrap_or_else(|| panic!("{MISSING}"));
        let address = format!("127.0.0.1:{port}");
        let client = client().build().unwrap();
        let id = String::new();
        let mut session =
            Self { client, address, id, driver, _output: output, _folder: folder, _turn: turn };
        let mut begun = session.send(Method::POST, "session", capabilities()).await;
        if begun.is_err() {
            // Chromium can exit while it starts on a busy machine, so it is started once more.
            begun = session.send(Method::POST, "session", capabilities()).await;
        }
        let begun = begun.unwrap_or_else(|refused| panic!("{MISSING}\n{}", refused.message));
        session.id = begun["sessionId"].as_str().unwrap().to_owned();
        session
    }

    /// Returns the response to a command of the session.
    pub async fn get(&self, command: &str) -> Result<Value, Refused> {
        self.send(Method::GET, &self.path(command), Value::Null).await
    }

    pub async fn post(&self, command: &str, body: Value) -> Result<Value, Refused> {
        self.send(Method::POST, &self.path(command), body).await
    }

    pub async fn delete(&self, command: &str) -> Result<Value, Refused> {
        self.send(Method::DELETE, &self.path(command), Value::Null).await
    }

    /// A command of Chromium's own protocol, for what WebDriver has no command.
    pub async fn devtools(&self, command: &str, params: Value) -> Value {
        let told = self.post("goog/cdp/execute", json!({ "cmd": command, "params": params })).await;
        told.unwrap_or_else(|refused| panic!("{command}: {}", refused.message))
    }

    fn path(&self, command: &str) -> String {
        format!("session/{}/{command}", self.id)
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> Result<Value, Refused> {
        let mut request = self.client.request(method, format!("http://{}/{path}", self.address));
        if !body.is_null() {
            request = request.json(&body);
        }
        let told: Value = request.send().await.unwrap().json().await.unwrap();
        match &told["value"]["error"] {
            Value::String(code) => {
                let message = told["value"]["message"].as_str().unwrap_or_default();
                Err(Refused { code: code.clone(), message: message.to_owned() })
            }
            _ => Ok(told["value"].clone()),
        }
    }
}

/// Starts chromedriver, and returns it with its output and its port. `None` if it ends immediately.
fn start_driver(folder: &Path) -> Option<(Child, BufReader<ChildStdout>, String)> {
    // The kernel kills chromedriver when the thread of this test ends, however it ends. Chromium
    // ends by itself when the other side of its pipe is closed.
    let mut driver = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "chromedriver", "--port=0"])
        .env("TMPDIR", folder)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("setpriv of util-linux is missing: {error}"));
    let mut output = BufReader::new(driver.stdout.take().unwrap());
    let port = output.by_ref().lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        Some(port.trim_end_matches('.').to_owned())
    });
    match port {
        Some(port) => Some((driver, output, port)),
        None => {
            driver.wait().unwrap();
            None
        }
    }
}

fn capabilities() -> Value {
    let options = json!({
        "args": [
            "--headless=new",
            "--remote-debugging-pipe",
            // Root has no sandbox, nor have most containers. The pages are our own.
            "--no-sandbox",
            // In containers /dev/shm is too small.
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--force-color-profile=srgb",
            "--lang=en-US",
            // Whatever asks another host fails, and says so in the console.
            "--host-resolver-rules=MAP elsewhere.example 127.0.0.1, \
                MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ],
    });
    let always = json!({
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL" },
    });
    json!({ "capabilities": { "alwaysMatch": always } })
}

impl Drop for Session {
    /// Chromium has ended when chromedriver answers, and has written its last into the folder.
    fn drop(&mut self) {
        if let Ok(mut driver) = TcpStream::connect(&self.address) {
            let line = format!("DELETE /session/{} HTTP/1.1\r\n", self.id);
            let head = line + &format!("Host: {}\r\n\r\n", self.address);
            drop(driver.write_all(head.as_bytes()));
            drop(driver.read(&mut [0]));
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
