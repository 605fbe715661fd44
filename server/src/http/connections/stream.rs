//! The stream that hyper reads and writes. It ends a connection whose client takes too long, gives
//! refusals of hyper's own the envelope of all refusals, and lets a client finish sending before
//! the connection is closed.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::idle::TrackedConnection;
use super::{ConnectionLimits, log_end, refusal};

/// Bytes that a client must read in each `write_timeout`.
const MIN_TAKEN: usize = 64 * 1024;
/// Time for which a client may continue to send after its connection was shut, so that it receives
/// the answer.
/// Such connections are the first that make room for others.
const LINGER: Duration = Duration::from_secs(20);

/// The way to the client: in plain, or over TLS.
pub type Transport = Either<TcpStream, Box<TlsStream<TcpStream>>>;

pub struct Stream {
    transport: Transport,
    connection: Arc<TrackedConnection>,
    limits: ConnectionLimits,
    /// One timer for all time-outs. It is moved only when it would fire too late, or has fired.
    timer: Pin<Box<Sleep>>,
    /// Until when the client may be silent while no request is handled, and what is logged then.
    silent_until: (Instant, Option<&'static str>),
    head: Head,
    /// The client does not take what it is sent.
    stall: Option<WriteStall>,
    /// Bytes that are sent instead of hyper's own refusal, and that the client has not read yet.
    refusal: Vec<u8>,
    is_ending: bool,
    is_shut: bool,
}

/// The head of the next request.
#[derive(PartialEq, Eq)]
enum Head {
    Awaited,
    /// The first bytes have arrived.
    Begun,
    /// The rest was not there, and has a time-out.
    Timed,
}

impl Stream {
    pub fn new(
        transport: Transport,
        connection: Arc<TrackedConnection>,
        limits: ConnectionLimits,
    ) -> Self {
        let until = connection.opened + limits.head_timeout;
        Self {
            transport,
            connection,
            limits,
            timer: Box::pin(sleep_until(until)),
            silent_until: (until, Some("slow_head")),
            head: Head::Awaited,
            stall: None,
            refusal: Vec::new(),
            is_ending: false,
            is_shut: false,
        }
    }

    /// Sends this instead of an answer, as no request can be read.
    pub fn refuse(&mut self, refusal: &[u8]) {
        log_end("malformed_head", self.connection.peer);
        self.refusal.extend_from_slice(refusal);
    }

    /// Waits for progress. Returns an error after the client has taken too long.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            let (until, reason) = match &self.stall {
                Some(stall) => (stall.until, Some("slow_reader")),
                None if self.is_ending || self.connection.is_idle() => self.silent_until,
                None => return Poll::Pending,
            };
            if until < self.timer.deadline() || self.timer.is_elapsed() {
                self.timer.as_mut().reset(until);
            }
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let has_time = match &mut self.stall {
                Some(stall) => stall.has_time(now, self.limits.write_timeout),
                None => now < until,
            };
            if !has_time {
                if let Some(reason) = reason {
                    log_end(reason, self.connection.peer);
                }
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
        }
    }

    /// Waits after a write of which the kernel accepted nothing.
    fn wait_for_reader<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let timeout = self.limits.write_timeout;
        self.stall.get_or_insert_with(|| WriteStall::new(Instant::now(), timeout));
        self.connection.stall();
        self.wait(cx)
    }

    fn end_stall(&mut self) {
        if self.stall.take().is_some() {
            self.connection.resume();
        }
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            match Pin::new(&mut self.transport).poll_write(cx, &self.refusal) {
                Poll::Pending => return self.wait_for_reader(cx),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(written) => {
                    self.connection.resume();
                    drop(self.refusal.drain(..written?));
                }
            }
        }
        match Pin::new(&mut self.transport).poll_flush(cx) {
            Poll::Pending => self.wait_for_reader(cx),
            flushed => flushed,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.transport).poll_read(cx, buffer);
        if read.is_ready() {
            if self.head == Head::Awaited && buffer.filled().len() > before {
                self.head = Head::Begun;
            }
            return read;
        }
        // Most heads arrive whole, and never get here.
        if self.head == Head::Begun && self.connection.is_idle() {
            self.head = Head::Timed;
            self.silent_until = (Instant::now() + self.limits.head_timeout, Some("slow_head"));
            self.connection.talk();
        }
        self.wait(cx)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buffer)])
    }

    /// Replaces hyper's own refusals: the bytes that it writes while no request is handled.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.connection.is_idle() {
            let head: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.iter().copied()).collect();
            self.refuse(&refusal::with_envelope(&head));
            return Poll::Ready(Ok(head.len()));
        }
        let written = Pin::new(&mut self.transport).poll_write_vectored(cx, buffers);
        if written.is_pending() {
            return self.wait_for_reader(cx);
        }
        if let (Some(stall), Poll::Ready(Ok(bytes))) = (&mut self.stall, &written) {
            stall.taken += bytes;
            self.connection.resume();
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        self.end_stall();
        if self.connection.is_answered() {
            self.connection.keep();
            self.head = Head::Awaited;
            self.silent_until = (Instant::now() + self.limits.idle_timeout, None);
            // hyper may wait for the next request already, without another look at this stream.
            if let Poll::Ready(Err(error)) = self.wait::<()>(cx) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Closing a socket that holds unread bytes resets the connection, and the client loses an
    /// answer it has not read. So our side is shut, and what the client still sends is thrown away
    /// until it has heard and closes its side.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        if !self.is_ending {
            self.is_ending = true;
            self.end_stall();
            self.silent_until = (Instant::now() + LINGER, None);
            self.connection.talk();
        }
        if !self.is_shut {
            match Pin::new(&mut self.transport).poll_shutdown(cx) {
                Poll::Pending => return self.wait(cx),
                shut => ready!(shut)?,
            }
            self.is_shut = true;
        }
        let mut discarded = [MaybeUninit::uninit(); 8192];
        loop {
            let mut buffer = ReadBuf::uninit(&mut discarded);
            match Pin::new(&mut self.transport).poll_read(cx, &mut buffer) {
                Poll::Pending => return self.wait(cx),
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.stall.is_none() {
            return;
        }
        let tcp = match &self.transport {
            Either::Left(tcp) => tcp,
            Either::Right(tls) => tls.get_ref().0,
        };
        // The kernel would keep what the client does not take for minutes. A reset frees it.
        // Fails only after the client has closed the connection.
        drop(tcp.set_zero_linger());
    }
}

/// A client that does not take what it is sent.
struct WriteStall {
    until: Instant,
    /// Number of bytes that the client read in this period.
    taken: usize,
}

impl WriteStall {
    fn new(now: Instant, timeout: Duration) -> Self {
        Self { until: now + timeout, taken: 0 }
    }

    /// Whether the client may take longer. One that took enough is given as long again.
    fn has_time(&mut self, now: Instant, timeout: Duration) -> bool {
        if now >= self.until && self.taken >= MIN_TAKEN {
            *self = Self::new(now, timeout);
        }
        now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_must_take_a_little_in_each_period() {
        let (begin, timeout) = (Instant::now(), Duration::from_secs(20));
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut stall = WriteStall::new(begin, timeout);
        assert!(stall.has_time(after(19), timeout));
        stall.taken += MIN_TAKEN;
        assert!(stall.has_time(after(21), timeout), "it took enough");
        stall.taken += 1000;
        assert!(stall.has_time(after(40), timeout), "a new period has begun");
        assert!(!stall.has_time(after(42), timeout));
    }
}
