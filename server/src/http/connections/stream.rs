//! The stream below hyper. It notes what happens on it, gives refusals of hyper's own the envelope
//! of all refusals, and lets a client finish sending before the connection is closed.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::refusal;
use super::state::ConnectionState;

pub struct Stream {
    tcp: TcpStream,
    state: Arc<ConnectionState>,
    /// What is sent in place of hyper's own refusal, and not yet taken by the kernel.
    refusal: Vec<u8>,
    is_shut: bool,
}

impl Stream {
    pub fn new(tcp: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self { tcp, state, refusal: Vec::new(), is_shut: false }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => self.state.wrote(bytes),
            Poll::Pending => self.state.blocked(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = ready!(Pin::new(&mut self.tcp).poll_write(cx, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.state.received();
        }
        Poll::Ready(Ok(()))
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

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.state.is_between_requests() {
            let head: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.iter().copied()).collect();
            self.state.refused();
            self.refusal.extend(refusal::with_envelope(&head));
            return Poll::Ready(Ok(head.len()));
        }
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, buffers);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.refusal.is_empty() {
            return self.poll_refusal(cx);
        }
        // A socket has no buffer of its own in this process.
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    /// Closing a socket that holds unread bytes resets the connection, and the client loses an
    /// answer it has not read. So our side is shut, and what the client still sends is thrown away
    /// until it has heard and closes its side.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        if !self.is_shut {
            ready!(Pin::new(&mut self.tcp).poll_shutdown(cx))?;
            self.is_shut = true;
            self.state.linger();
        }
        let mut discarded = [MaybeUninit::uninit(); 8192];
        loop {
            let mut buffer = ReadBuf::uninit(&mut discarded);
            let read = ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.state.is_blocked() {
            // The kernel would keep what the client does not take for minutes. A reset frees it.
            // Fails only after the client has closed the connection.
            drop(self.tcp.set_zero_linger());
        }
    }
}
