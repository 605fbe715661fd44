//! The load: connections that ask, wait for the answer, and ask again.
//!
//! It runs on the machine that it measures, so it takes as little of the CPU as it can: the request
//! is one buffer in which only the user changes, and of the answer no more is read than its status,
//! its length and whether it says that the user is licensed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use crate::seed;
use crate::stats::{Latencies, micros};

/// How much longer than planned a round may take before it counts as failed.
const GRACE: Duration = Duration::from_secs(15);

/// Whom the load asks for.
#[derive(Clone)]
pub enum Users {
    /// Any of the first so many, again and again.
    Any(u64),
    /// Each once, in turn: from the counter's number up to this one.
    Next(Arc<AtomicU64>, u64),
}

/// One round of load.
pub struct Load<'a> {
    /// Connections are spread over these evenly.
    pub addresses: &'a [SocketAddr],
    pub key: &'a str,
    pub connections: usize,
    pub users: Users,
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What came of a round.
pub struct Outcome {
    pub latencies: Latencies,
    /// From the end of the warm-up to the end, or to when the users ran out.
    pub elapsed: Duration,
}

impl Load<'_> {
    /// Runs the load; `mark` is called when the measured part begins and when it ends. Any answer
    /// other than "licensed" is an error: what is measured is only that.
    pub async fn run(&self, mut mark: impl FnMut()) -> anyhow::Result<Outcome> {
        let mut streams = Vec::with_capacity(self.connections);
        for at in 0..self.connections {
            let address = self.addresses[at % self.addresses.len()];
            let stream = TcpStream::connect(address).await.context("cannot connect")?;
            stream.set_nodelay(true)?;
            streams.push((stream, address));
        }
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.measured;
        let mut tasks = JoinSet::new();
        for (at, (stream, address)) in streams.into_iter().enumerate() {
            let connection =
                Connection::new(stream, address, self.key, self.users.clone(), at as u64);
            tasks.spawn(connection.ask_until(begin, end));
        }
        sleep_until(begin.into()).await;
        mark();
        let finished = async {
            let (mut all, mut last) = (Vec::new(), begin);
            while let Some(done) = tasks.join_next().await {
                let (latencies, ended) = done??;
                all.extend(latencies);
                last = last.max(ended);
            }
            anyhow::Ok((all, last))
        };
        let (all, last) = timeout(self.measured + GRACE, finished).await.context("no answer")??;
        mark();
        Ok(Outcome { latencies: Latencies::new(all), elapsed: last - begin })
    }
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// Where in the request the user's name ends, which is as long for every user.
    user_ends: usize,
    answer: Vec<u8>,
    users: Users,
    random: u64,
}

impl Connection {
    fn new(stream: TcpStream, host: SocketAddr, key: &str, users: Users, seed: u64) -> Self {
        let body = format!(r#"{{"userId":"{}"}}"#, seed::external_id(0));
        let length = body.len();
        let request = format!(
            "POST /api/v1/validate HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let user_ends = request.len() - r#""}"#.len();
        let random = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { stream, request: request.into(), user_ends, answer: vec![0; 8192], users, random }
    }

    /// The latencies of what was asked and answered from `begin` to `end`, and when the last was.
    async fn ask_until(
        mut self,
        begin: Instant,
        end: Instant,
    ) -> anyhow::Result<(Vec<u32>, Instant)> {
        let mut latencies = Vec::with_capacity(4096);
        let (mut asked, mut answered) = (Instant::now(), begin);
        while asked < end {
            let Some(user) = self.next_user() else { break };
            let name = seed::external_id(user);
            self.request[self.user_ends - name.len()..self.user_ends]
                .copy_from_slice(name.as_bytes());
            self.ask().await?;
            let now = Instant::now();
            if asked >= begin && now <= end {
                latencies.push(micros(now - asked));
                answered = now;
            }
            asked = now;
        }
        Ok((latencies, answered))
    }

    fn next_user(&mut self) -> Option<u64> {
        match &self.users {
            Users::Any(count) => {
                // xorshift64: plenty for spreading users, and as good as free.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                Some(self.random % count)
            }
            Users::Next(next, end) => {
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|user| user < end)
            }
        }
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        let mut sent = 0;
        while sent < self.request.len() {
            match self.stream.try_write(&self.request[sent..]) {
                Ok(more) => sent += more,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut read = 0;
        loop {
            self.stream.readable().await?;
            match self.stream.try_read(&mut self.answer[read..]) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            }
            if is_whole(&self.answer[..read])? {
                return check(&self.answer[..read]);
            }
        }
    }
}

/// Whether all of an answer is there, by its `Content-Length`.
fn is_whole(answer: &[u8]) -> anyhow::Result<bool> {
    let Some(head) = position(answer, b"\r\n\r\n") else { return Ok(false) };
    let length = answer[..head]
        .split(|&byte| byte == b'\n')
        .find_map(|line| {
            let (name, value) = line.split_at_checked(b"content-length:".len())?;
            name.eq_ignore_ascii_case(b"content-length:").then_some(value)
        })
        .and_then(|value| std::str::from_utf8(value).ok()?.trim().parse::<usize>().ok());
    Ok(answer.len() >= head + 4 + length.context("an answer without a length")?)
}

fn check(answer: &[u8]) -> anyhow::Result<()> {
    let licensed = answer.starts_with(b"HTTP/1.1 200") && position(answer, LICENSED).is_some();
    ensure!(licensed, "unexpected answer: {}", String::from_utf8_lossy(answer));
    Ok(())
}

const LICENSED: &[u8] = br#""valid":true"#;

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
