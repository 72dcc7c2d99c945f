//! The `--listen` server: who leads, whether this candidate is well, and metrics for Prometheus.
//!
//! ```text
//! let mut listener = Listener::of(args.listen, as_json).await?;   // early: an address that cannot be is an error
//! let store = … listener.meter(Store::builder()) …;      // counts what is written
//! listener.serve(&candidate, alone);                     // until it is dropped
//! ```

mod answer;
mod http;
mod metrics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use incumbent::{Candidate, Event, StoreBuilder};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::stderr::report;
use answer::answer;
use metrics::Metrics;

/// The most connections served at a time; more wait.
const AT_ONCE: usize = 64;
/// The pause after a failed accept.
const BREATH: Duration = Duration::from_millis(20);

/// A listening socket and the data that it serves.
pub(crate) struct Listener {
    socket: Option<TcpListener>,
    metrics: Arc<Metrics>,
    tasks: JoinSet<()>,
}

impl Listener {
    /// Binds the address, where there is one, and writes it to the standard error.
    ///
    /// # Errors
    /// An address that is taken, or not this machine's.
    pub(crate) async fn of(address: Option<SocketAddr>, as_json: bool) -> Result<Self, Failure> {
        let socket = match address {
            None => None,
            Some(address) => Some(TcpListener::bind(address).await.map_err(|error| {
                Failure::usage(format!("--listen {address} cannot be had: {error}; name another address"))
            })?),
        };
        if let Some(address) = socket.as_ref().and_then(|socket| socket.local_addr().ok()) {
            if as_json {
                report(json!({ "event": "listening", "address": address.to_string() }));
            } else {
                report(format_args!("incumbent: listening on {address}"));
            }
        }
        Ok(Self { socket, metrics: Arc::default(), tasks: JoinSet::new() })
    }

    /// Has the store's writes counted.
    pub(crate) fn meter(&self, builder: StoreBuilder) -> StoreBuilder {
        if self.socket.is_none() {
            return builder;
        }
        let metrics = Arc::clone(&self.metrics);
        builder.on_write(move |wrote| metrics.wrote(wrote))
    }

    /// Answers for that candidate, until the listener is dropped. A candidate `alone` does not say that it leads while it
    /// drains: nothing else asks its work to end.
    pub(crate) fn serve(&mut self, candidate: &Candidate, alone: bool) {
        let Some(socket) = self.socket.take() else { return };
        let metrics = Arc::clone(&self.metrics);
        let (candidate, mut events) = (candidate.clone(), candidate.events());
        self.tasks.spawn(async move {
            while let Some(event) = events.next().await {
                match event {
                    Event::Won(_) => metrics.won(),
                    Event::Lost { reason, .. } => metrics.lost(reason),
                    Event::Warning(_) => metrics.warning(),
                    Event::Draining { .. } | Event::LeaderChanged(_) | Event::StateChanged(_) => {}
                }
            }
        });
        let metrics = Arc::clone(&self.metrics);
        self.tasks.spawn(async move {
            let mut served = JoinSet::new();
            loop {
                while served.len() >= AT_ONCE {
                    served.join_next().await;
                }
                while served.try_join_next().is_some() {}
                let Ok((stream, _)) = socket.accept().await else {
                    // A connection that breaks before it is accepted concerns its client alone; with too many open
                    // files, another attempt at once would fail as well.
                    tokio::time::sleep(BREATH).await;
                    continue;
                };
                let (candidate, metrics) = (candidate.clone(), Arc::clone(&metrics));
                served.spawn(async move {
                    http::serve(stream, |path| answer(path, &candidate, &metrics, alone)).await;
                });
            }
        });
    }
}
