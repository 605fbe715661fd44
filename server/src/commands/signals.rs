//! The signals that stop a command: the first asks it to finish, the second ends it immediately.

use anyhow::bail;
use licd::http::Tls;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// Runs a command, and completes the future passed to it at the first SIGTERM, SIGHUP or Ctrl-C, so
/// that the command finishes. The second signal drops the command. With a TLS certificate, SIGHUP
/// reloads it instead.
pub async fn until_stopped<T>(
    tls: Option<Tls>,
    command: impl AsyncFnOnce(Stop) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut signals = Signals::listen(tls)?;
    let (stop, stopped) = oneshot::channel();
    let twice = async {
        let first = signals.next().await;
        tracing::info!(signal = first, "stopping");
        // Fails if the command no longer waits for a signal, since it is about to end.
        stop.send(()).ok();
        signals.next().await
    };
    tokio::select! {
        outcome = command(Stop(stopped)) => outcome,
        second = twice => bail!("a second signal, {second}: the requests in progress were aborted"),
    }
}

/// Completes when the command should finish.
pub struct Stop(oneshot::Receiver<()>);

impl Stop {
    pub async fn requested(self) {
        // The sender lives as long as the command.
        drop(self.0.await);
    }
}

const HANGUP: &str = "SIGHUP";

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
    tls: Option<Tls>,
}

impl Signals {
    fn listen(tls: Option<Tls>) -> std::io::Result<Self> {
        // `nohup` makes its programs ignore SIGHUP, so that they survive the end of the session.
        let stays_ignored = tls.is_none() && ignores_hangup();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if stays_ignored { None } else { Some(signal(SignalKind::hangup())?) },
            tls,
        })
    }

    /// Waits for a signal to stop, and returns its name.
    async fn next(&mut self) -> &'static str {
        loop {
            let signal = self.any().await;
            match &self.tls {
                Some(tls) if signal == HANGUP => tls.reload(),
                _ => return signal,
            }
        }
    }

    async fn any(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hangup => HANGUP,
        }
    }
}

/// Whether SIGHUP, the first of the signals, was ignored when licd started. False if the kernel
/// does not show it.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}
