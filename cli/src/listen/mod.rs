//! The `--listen` server: who leads, whether this candidate is healthy, and metrics for Prometheus.
//!
//! ```text
//! let mut listener = Listener::of(args.listen).await?;   // early: an address that cannot be is an error
//! let store = … listener.meter(Store::builder()) …;      // counts what is written
//! listener.serve(&store, &candidate, alone);             // until it is dropped
//! ```

mod answer;
mod metrics;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use incumbent::{Candidate, Store, StoreBuilder};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::stderr::report;
use answer::Subject;
pub(crate) use metrics::Metrics;

/// The most connections that are served at a time. Another connection ends the oldest, which a slow client has most
/// likely left idle.
const AT_ONCE: usize = 64;
/// The longest time that a client may take for the request and the answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest head of a request, in bytes: the smallest limit that hyper supports.
const LONGEST: usize = 8 * 1024;
/// The pause after a failed accept.
const BREATH: Duration = Duration::from_millis(20);

/// A listening socket and the data that it serves.
pub(crate) struct Listener {
    socket: Option<TcpListener>,
    pub(crate) metrics: Metrics,
    tasks: JoinSet<()>,
}

impl Listener {
    /// Binds the address, if there is one, and writes it to the standard error.
    ///
    /// # Errors
    /// The address is taken, or is not this machine's.
    pub(crate) async fn of(address: Option<SocketAddr>) -> Result<Self, Failure> {
        let socket = match address {
            None => None,
            Some(address) => Some(TcpListener::bind(address).await.map_err(|error| {
                Failure::usage(format!("--listen {address} cannot be used: {error}; name another address"))
            })?),
        };
        if let Some(address) = socket.as_ref().and_then(|socket| socket.local_addr().ok()) {
            let event = json!({ "event": "listening", "address": address.to_string() });
            report(event, format_args!("incumbent: listening on {address}"));
        }
        Ok(Self { socket, metrics: Metrics::new(), tasks: JoinSet::new() })
    }

    /// Has the store's writes counted.
    pub(crate) fn meter(&self, builder: StoreBuilder) -> StoreBuilder {
        if self.socket.is_none() {
            return builder;
        }
        let metrics = self.metrics.clone();
        builder.on_write(move |wrote| metrics.wrote(wrote))
    }

    /// Answers requests about that candidate until the listener is dropped. A candidate that is `alone` does not report
    /// that it leads while it drains, because nothing else asks its work to end.
    pub(crate) fn serve(&mut self, store: &Store, candidate: &Candidate, alone: bool) {
        let Some(socket) = self.socket.take() else { return };
        let (store, candidate, metrics) = (store.clone(), candidate.clone(), self.metrics.clone());
        let subject = Arc::new(Subject { store, candidate, metrics, alone });
        self.tasks.spawn(async move {
            let (mut served, mut by_age) = (JoinSet::new(), VecDeque::<AbortHandle>::new());
            loop {
                while served.try_join_next().is_some() {}
                let Ok((stream, _)) = socket.accept().await else {
                    // An accept fails if a connection breaks before it is accepted, which concerns only the client of
                    // that connection. With too many open files, another attempt at once would fail as well.
                    tokio::time::sleep(BREATH).await;
                    continue;
                };
                by_age.retain(|one| !one.is_finished());
                if by_age.len() >= AT_ONCE
                    && let Some(oldest) = by_age.pop_front()
                {
                    oldest.abort();
                }
                by_age.push_back(served.spawn(serve(stream, Arc::clone(&subject))));
            }
        });
    }
}

/// Answers one request. A client that sends nothing, or too much, loses only its own connection.
async fn serve(stream: TcpStream, subject: Arc<Subject>) {
    let answer = service_fn(|request| {
        let subject = Arc::clone(&subject);
        async move { Ok::<_, Infallible>(subject.answer(&request).await) }
    });
    let mut server = http1::Builder::new();
    // A client that sends its request and then closes its half of the connection still gets the answer.
    server.keep_alive(false).half_close(true).title_case_headers(true).max_buf_size(LONGEST);
    // A client that disconnects or is too slow misses its answer.
    let _ = timeout(LIMIT, server.serve_connection(TokioIo::new(stream), answer)).await;
}
