//! A fake server with canned answers, which records the requests.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request as the server received it.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub key: Option<String>,
    pub idempotency_key: Option<String>,
    pub if_match: Option<String>,
    pub body: Value,
}

impl Request {
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A response of the server.
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With one text of the body in place of another.
    pub fn saying(mut self, text: &str, other: &str) -> Self {
        self.body = self.body.replace(text, other);
        self
    }

    pub fn data(status: u16, data: &Value) -> Self {
        Self::new(status, json!({ "success": true, "data": data }).to_string())
    }

    /// A whole list in one page.
    pub fn list(records: &[Value]) -> Self {
        let body = json!({ "success": true, "data": records, "nextCursor": null });
        Self::new(200, body.to_string())
    }

    pub fn refusal(status: u16, code: &str, error: &str) -> Self {
        let body = json!({ "success": false, "error": error, "code": code, "requestId": "req-1" });
        Self::new(status, body.to_string())
    }
}

impl Reply {
    pub fn send(&self, mut stream: impl Write) {
        // A client that closed the connection is no error of the server.
        let _ = write!(stream, "{self}");
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.body.len();
        write!(
            f,
            "HTTP/1.1 {} -\r\nconnection: close\r\ncontent-length: {length}\r\n",
            self.status
        )?;
        for (name, value) in &self.headers {
            write!(f, "{name}: {value}\r\n")?;
        }
        write!(f, "\r\n{}", self.body)
    }
}

/// A fake server: `answer` makes the reply to each request, and all requests are recorded.
pub struct FakeServer {
    pub address: String,
    received: Arc<Mutex<Vec<Request>>>,
}

impl FakeServer {
    pub fn answering(answer: impl Fn(&Request) -> Reply + Send + 'static) -> Self {
        Self::serving(move |request, stream| answer(request).send(stream))
    }

    /// For answers that are not valid HTTP.
    pub fn serving(serve: impl Fn(&Request, TcpStream) + Send + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), serve)
    }

    /// Serves the connections of this listener.
    pub fn on(listener: TcpListener, serve: impl Fn(&Request, TcpStream) + Send + 'static) -> Self {
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                log.lock().unwrap().push(request.clone());
                serve(&request, stream);
            }
        });
        Self { address, received }
    }

    pub fn received(&self) -> Vec<Request> {
        self.received.lock().unwrap().clone()
    }

    /// The requests' first lines, in order.
    pub fn lines(&self) -> Vec<String> {
        self.received().iter().map(Request::line).collect()
    }
}

/// Reads one request.
pub fn read(stream: impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut key, mut idempotency_key, mut if_match, mut length) = (None, None, None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "authorization" => key = value.strip_prefix("Bearer ").map(str::to_owned),
            "if-match" => if_match = Some(value.to_owned()),
            "idempotency-key" => idempotency_key = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { method, path, key, idempotency_key, if_match, body })
}
