//! HTTP byte by byte, for requests that no client library sends.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// A connection to licd.
pub struct Raw(BufReader<TcpStream>);

/// An answer with a Content-Length.
#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    head: String,
    pub body: Value,
}

impl RawAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| text)
    }

    pub fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }
}

impl Raw {
    /// `base` as in `http://127.0.0.1:8080`.
    pub async fn connect(base: &str) -> Self {
        let stream = TcpStream::connect(base.strip_prefix("http://").unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Connects with a small receive buffer.
    pub async fn connect_narrow(base: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let address = base.strip_prefix("http://").unwrap().parse().unwrap();
        Self(BufReader::new(socket.connect(address).await.unwrap()))
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.unwrap();
    }

    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.write_all(bytes.as_ref()).await
    }

    pub async fn answer(&mut self) -> RawAnswer {
        self.try_answer().await.unwrap()
    }

    pub async fn try_answer(&mut self) -> io::Result<RawAnswer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = RawAnswer { status, head, body: Value::Null };
        let length = answer.header("content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        answer.body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(answer)
    }

    /// Reads the first line of an answer, and leaves the rest to be sent.
    pub async fn status(&mut self) -> u16 {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Reads this many bytes of an answer, and leaves the rest to be sent.
    pub async fn read(&mut self, bytes: usize) {
        self.0.read_exact(&mut vec![0; bytes]).await.unwrap();
    }

    /// Reads until licd closes the connection; a reset is an error.
    pub async fn end(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).await?;
        Ok(rest)
    }
}

/// The head of a request with these further header lines.
pub fn head(method: &str, path: &str, headers: &[String]) -> String {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: licd\r\n{headers}\r\n")
}

/// The header lines of a JSON body of this length, sent with this key.
pub fn json_headers(key: Option<&str>, length: usize) -> Vec<String> {
    let key = key.map(|key| format!("authorization: Bearer {key}"));
    let body = ["content-type: application/json".to_owned(), format!("content-length: {length}")];
    key.into_iter().chain(body).collect()
}
