//! The stream below hyper, above TLS. It notes what happens on it, gives refusals of hyper's own the
//! envelope of all refusals, and lets a client finish sending before the connection is closed.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::refusal;
use super::socket::Socket;
use super::state::ConnectionState;

/// The way to the client.
pub enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

pub struct Stream {
    transport: Transport,
    state: Arc<ConnectionState>,
    /// What is sent in place of hyper's own refusal, and not yet taken by the kernel.
    refusal: Vec<u8>,
    is_shut: bool,
}

impl Stream {
    pub fn new(transport: Transport, state: Arc<ConnectionState>) -> Self {
        Self { transport, state, refusal: Vec::new(), is_shut: false }
    }

    /// Refuses a request in plain HTTP where TLS is spoken, and ends the connection.
    pub fn refuse_plain_http(&mut self) {
        self.state.refused();
        self.refusal = refusal::of_plain_http();
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = ready!(Pin::new(&mut self.transport).poll_write(cx, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.drain(..written);
        }
        Pin::new(&mut self.transport).poll_flush(cx)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.transport).poll_read(cx, buffer))?;
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
        Pin::new(&mut self.transport).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.refusal.is_empty() {
            return self.poll_refusal(cx);
        }
        ready!(Pin::new(&mut self.transport).poll_flush(cx))?;
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    /// Closing a socket that holds unread bytes resets the connection, and the client loses an
    /// answer it has not read. So our side is shut, and what the client still sends is thrown away
    /// until it has heard and closes its side.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        if !self.is_shut {
            ready!(Pin::new(&mut self.transport).poll_shutdown(cx))?;
            self.is_shut = true;
            self.state.linger();
        }
        let mut discarded = [MaybeUninit::uninit(); 8192];
        loop {
            let mut buffer = ReadBuf::uninit(&mut discarded);
            let read = ready!(Pin::new(&mut self.transport).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, buffers),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
