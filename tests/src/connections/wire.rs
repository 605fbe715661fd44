//! A client that sends and reads bytes.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than anything here takes on the busiest machine.
const IO_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Wire<S = TcpStream> {
    stream: S,
    unread: Vec<u8>,
}

/// An answer as it came over the wire.
pub struct RawAnswer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl Wire {
    /// `base` as in `http://127.0.0.1:8080`.
    pub async fn connect(base: &str) -> Self {
        let address = base.strip_prefix("http://").unwrap();
        let stream = timeout(IO_TIMEOUT, TcpStream::connect(address)).await.unwrap().unwrap();
        Self::over(stream)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub fn over(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.unwrap();
    }

    /// Fails when licd has ended the connection.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        let sent = timeout(IO_TIMEOUT, self.stream.write_all(bytes.as_ref())).await;
        sent.expect("licd neither reads nor ends the connection")
    }

    /// Sends this again and again, until licd ends the connection.
    pub async fn send_until_ended(&mut self, bytes: impl AsRef<[u8]>) {
        let sending = async { while self.try_send(&bytes).await.is_ok() {} };
        timeout(IO_TIMEOUT, sending).await.expect("licd does not end the connection");
    }

    /// Sends a GET.
    pub async fn get(&mut self, path: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: licd\r\n\r\n")).await;
    }

    /// Reads the next answer.
    pub async fn answer(&mut self) -> RawAnswer {
        let end = loop {
            let end = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => self.read_more().await,
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while self.unread.len() < length {
            self.read_more().await;
        }
        let body = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        RawAnswer { status, head, body }
    }

    async fn read_more(&mut self) {
        let read = timeout(IO_TIMEOUT, self.stream.read_buf(&mut self.unread)).await;
        let read = read.expect("licd does not answer").unwrap();
        assert!(read > 0, "no answer but the end after {}", String::from_utf8_lossy(&self.unread));
    }

    /// Waits until licd closes the connection, and returns what it sent before.
    pub async fn read_to_end(&mut self) -> String {
        let mut read = std::mem::take(&mut self.unread);
        // A reset is an end as well.
        drop(timeout(IO_TIMEOUT, self.stream.read_to_end(&mut read)).await.expect("it never ends"));
        String::from_utf8_lossy(&read).into_owned()
    }
}

impl RawAnswer {
    /// A refusal's status, code and field, in one line, after a look at what all refusals have.
    #[track_caller]
    pub fn refusal(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {}{}", self.head, self.body);
        });
        assert_eq!(body["success"], false);
        assert!(body["error"].as_str().is_some_and(|sentence| !sentence.is_empty()));
        let id = format!("x-request-id: {}\r\n", body["requestId"].as_str().unwrap());
        assert!(self.head.contains(&id), "{}", self.head);
        assert!(self.head.contains("content-type: application/json\r\n"), "{}", self.head);
        let code = body["code"].as_str().unwrap();
        match body["field"].as_str() {
            Some(field) => format!("{} {code} {field}", self.status),
            None => format!("{} {code}", self.status),
        }
    }
}
