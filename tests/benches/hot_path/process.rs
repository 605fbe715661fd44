//! Servers as separate processes, so that their CPU time and memory can be measured.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Linux counts CPU time in hundredths of a second, whatever the kernel's own tick is.
const TICKS_PER_SECOND: f64 = 100.0;
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A server that listens on the loopback interface. It is killed when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts `command`, which listens on `address`, and waits until it takes connections.
    pub fn start(mut command: Command, address: SocketAddr) -> anyhow::Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut server = Self { child, address };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("{command:?} ended with {status}");
            }
            if Instant::now() > deadline {
                bail!("{command:?} does not listen on {address}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn usage(&self) -> Usage {
        Usage::of(self.pid())
    }

    /// Waits until the server has ended by itself.
    pub fn wait(&mut self) {
        drop(self.child.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An address on which nothing listens at the moment.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Resources that a process has used so far.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub cpu_seconds: f64,
    /// CPU time of children that have ended.
    pub ended_seconds: f64,
    pub resident_bytes: f64,
    /// Bytes that were written to files, in whole pages.
    pub written_bytes: f64,
}

impl Usage {
    /// All zero for a process that has ended.
    pub fn of(pid: u32) -> Self {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name stands in parentheses and may contain anything, spaces included.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse().ok()).unwrap_or(0.0);
        Self {
            cpu_seconds: (ticks(11) + ticks(12)) / TICKS_PER_SECOND,
            ended_seconds: (ticks(13) + ticks(14)) / TICKS_PER_SECOND,
            resident_bytes: resident(pid),
            written_bytes: number_of(&format!("/proc/{pid}/io"), "write_bytes:"),
        }
    }
}

fn resident(pid: u32) -> f64 {
    number_of(&format!("/proc/{pid}/status"), "VmRSS:") * 1024.0
}

/// The number behind `label` in a file of lines; zero if there is none.
fn number_of(file: &str, label: &str) -> f64 {
    let lines = fs::read_to_string(file).unwrap_or_default();
    let number = lines.lines().find_map(|line| line.strip_prefix(label));
    number.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// CPU seconds of a process and all its children, those that have ended included, and the bytes that
/// it and the living ones have written.
pub fn family_usage(pid: u32) -> (f64, f64) {
    let own = Usage::of(pid);
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let living = children.split_whitespace().filter_map(|child| child.parse().ok());
    let living: Vec<Usage> = living.map(Usage::of).collect();
    let cpu: f64 = living.iter().map(|child| child.cpu_seconds).sum();
    let written: f64 = living.iter().map(|child| child.written_bytes).sum();
    (own.cpu_seconds + own.ended_seconds + cpu, own.written_bytes + written)
}
