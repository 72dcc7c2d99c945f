//! Starts a driver: its thread, its store, and the events of the store's connection.

#[cfg(feature = "nats")]
use std::collections::HashMap;
use std::pin::pin;
#[cfg(feature = "nats")]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "nats")]
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
#[cfg(feature = "nats")]
use std::time::Instant;

use incumbent_core::store::Capabilities;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

#[cfg(feature = "kafka")]
use super::groups::GroupLink;
use super::in_flight::within;
use super::link::{Link, WriteReports};
#[cfg(feature = "etcd")]
use super::queues::QueueLink;
use super::records::RecordLink;
use super::request::{DriverHandle, Request};
use super::{Driver, FLUSH_LIMIT};
use crate::clock::Clock;
use crate::notifier::{Notifier, WriteListener};
#[cfg(feature = "nats")]
use crate::store::nats::ConnectionEvent;
use crate::store::{Adapter, Opened, StoreSettings};
use crate::{Error, ErrorKind, Result, Warning};

/// A store to open.
pub(crate) struct Opening {
    pub(crate) settings: StoreSettings,
    pub(crate) clock: Clock,
    pub(crate) fail_fast: bool,
    pub(crate) write_listener: WriteListener,
}

/// Opens a store on a thread of its own, and runs a driver for it there.
pub(crate) async fn open(opening: Opening) -> Result<(DriverHandle, Capabilities)> {
    let (mut ready, opened) = oneshot::channel();
    let notifier = Notifier::new();
    on_own_thread(notifier.clone(), async move {
        let (handle, requests) = DriverHandle::new();
        let Opening { settings, clock, fail_fast, write_listener } = opening;
        let warnings = settings.warnings();
        // Programs that only look have no candidate to report them.
        warnings.iter().for_each(|warning| tracing::warn!(target: "incumbent::driver::opening", "{warning}"));
        let settings = with_connection_events(settings, &handle, &notifier);
        let opened = tokio::select! {
            opened = reporting(settings.connect(&clock)) => opened,
            // The caller has stopped waiting.
            () = ready.closed() => return,
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // The caller may end the program with this error, so flush the log lines that belong to it.
                within(clock, FLUSH_LIMIT, notifier.flush()).await;
                return drop(ready.send(Err(error)));
            }
        };
        let writes = WriteReports { clock, listener: write_listener, notifier };
        // If the caller has stopped waiting meanwhile, the only handle of the driver is dropped with the answer.
        let ready = |capabilities| drop(ready.send(Ok((handle, capabilities))));
        match opened {
            Opened::Record(adapter) => {
                let link = RecordLink::new(adapter, writes.clone());
                run(link, &writes, fail_fast, requests, warnings, ready).await;
            }
            #[cfg(feature = "etcd")]
            Opened::Queue(adapter) => {
                let link = QueueLink::new(adapter, writes.clone());
                run(link, &writes, fail_fast, requests, warnings, ready).await;
            }
            #[cfg(feature = "kafka")]
            Opened::Group(cluster, reader) => {
                let link = GroupLink::new(cluster, reader, writes.clone());
                run(link, &writes, fail_fast, requests, warnings, ready).await;
            }
        }
    })?;
    opened.await.map_err(|_| {
        Error::new(ErrorKind::Broken, "the store's thread ended while it was opening the store")
    })?
}

/// The time after which an opening that waits for the store is reported.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// The result of `opening`; reports that it waits, because no candidate is there yet that could.
async fn reporting<T>(opening: impl Future<Output = T>) -> T {
    let mut opening = pin!(opening);
    if let Ok(opened) = timeout(REPORT_AFTER, &mut opening).await {
        return opened;
    }
    tracing::warn!(
        "the store does not answer, and is waited for until it does; with the setting fail_fast that is an error, and a \
         timeout of the call limits the wait"
    );
    let opened = opening.await;
    tracing::info!("the wait for the store is over");
    opened
}

/// Runs a driver for a store that is open already, on a thread of its own.
pub(crate) fn start(
    adapter: Box<dyn Adapter>,
    clock: Clock,
    fail_fast: bool,
    write_listener: WriteListener,
) -> Result<DriverHandle> {
    let (handle, requests) = DriverHandle::new();
    let notifier = Notifier::new();
    on_own_thread(notifier.clone(), async move {
        let writes = WriteReports { clock, listener: write_listener, notifier };
        let link = RecordLink::new(adapter, writes.clone());
        run(link, &writes, fail_fast, requests, Vec::new(), drop).await;
    })?;
    Ok(handle)
}

/// Runs a driver until its store is closed. `ready` is called before with the store's capabilities; every candidate reports
/// `warnings`.
async fn run<L: Link>(
    link: L,
    WriteReports { clock, notifier, .. }: &WriteReports,
    fail_fast: bool,
    requests: mpsc::UnboundedReceiver<Request>,
    warnings: Vec<Warning>,
    ready: impl FnOnce(Capabilities),
) {
    ready(link.capabilities());
    let mut driver = Driver::new(link, clock.clone(), fail_fast, notifier.clone(), requests);
    warnings.into_iter().for_each(|warning| driver.session.note(warning));
    driver.run().await;
}

fn on_own_thread(notifier: Notifier, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let refused = |error| {
        let message = "the operating system refuses a thread for the store; raise the limit of threads";
        Error::new(ErrorKind::Broken, message).caused_by(error)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(refused)?;
    let thread = std::thread::Builder::new().name("incumbent".into());
    let run = move || {
        let _relay = notifier.relay_logs();
        drop(notifier);
        runtime.block_on(work);
        // Work that an adapter still has on a blocking thread is not waited for.
        runtime.shutdown_background();
    };
    thread.spawn(run).map_err(refused).map(drop)
}

/// Adds the driver's listener for the events of the connection, where the store has any.
fn with_connection_events(
    settings: StoreSettings,
    driver: &DriverHandle,
    notifier: &Notifier,
) -> StoreSettings {
    match settings {
        #[cfg(feature = "nats")]
        StoreSettings::Nats(settings) => {
            StoreSettings::Nats(Box::new(settings.notified_by(notifier.clone(), listener(driver))))
        }
        settings => {
            let _ = (driver, notifier);
            settings
        }
    }
}

/// The time after which a fault that only a person can remove is logged again (10 min).
#[cfg(feature = "nats")]
const RARELY: Duration = Duration::from_secs(600);

/// Reports every connection to the driver, and logs the other events. Does not keep the driver alive.
#[cfg(feature = "nats")]
fn listener(driver: &DriverHandle) -> impl Fn(ConnectionEvent) + Send + Sync + use<> {
    let driver = driver.sender.as_ref().map(|sender| sender.downgrade());
    let failing = AtomicBool::new(false);
    // Found again at each attempt, so reported rarely.
    let reported: Mutex<HashMap<String, Instant>> = Mutex::default();
    let report = move |message: String| {
        let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.get(&message).is_some_and(|at| at.elapsed() < RARELY) {
            tracing::debug!("still: {message}");
        } else {
            tracing::error!("{message}");
            reported.insert(message, Instant::now());
        }
    };
    move |event| match event {
        ConnectionEvent::Connected { .. } => {
            failing.store(false, Ordering::Relaxed);
            if let Some(driver) = driver.as_ref().and_then(|driver| driver.upgrade()) {
                // A driver that has ended needs no connection.
                let _ = driver.send(Request::Connected);
            }
        }
        ConnectionEvent::Disconnected => tracing::debug!("the connection to the store is gone"),
        ConnectionEvent::ServerLeaving => tracing::debug!("the store's server will shut down soon"),
        // One line for each outage, not for each attempt.
        ConnectionEvent::Failed { detail } if !failing.swap(true, Ordering::Relaxed) => {
            tracing::warn!("the store cannot be reached, and is tried again: {detail}");
        }
        ConnectionEvent::Failed { detail } => tracing::debug!("the store cannot be reached: {detail}"),
        ConnectionEvent::NotAuthorized { detail } => {
            report(format!("the store does not accept these credentials: {detail}"));
        }
        ConnectionEvent::NotPermitted { action, subject } => {
            report(format!("a permission is missing: allow {action:?} on {subject:?}"));
        }
    }
}
