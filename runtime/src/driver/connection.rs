//! Starts a driver: its thread, its store, and the events of the store's connection.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::store::Capabilities;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::FLUSH_LIMIT;
use super::opened::{Opened as _, Running};
use super::request::{DriverHandle, Request};
use crate::store::url::StoreSettings;
use incumbent_store::clock::Clock;
use incumbent_store::link::{Reports, within};
use incumbent_store::notifier::{Notifier, WriteListener};
use incumbent_store::threads;
use incumbent_store::{Adapter, Error, ErrorKind, RecordLink, Result};

/// A store to open.
pub(crate) struct Opening {
    pub(crate) settings: StoreSettings,
    pub(crate) clock: Clock,
    pub(crate) fail_fast: bool,
    pub(crate) write_listener: WriteListener,
}

/// Opens a store on a separate thread, and runs a driver for it there.
pub(crate) async fn open(opening: Opening) -> Result<(DriverHandle, Capabilities)> {
    let (mut ready, opened) = oneshot::channel();
    let notifier = Notifier::new();
    on_own_thread(notifier.clone(), async move {
        let (handle, requests) = DriverHandle::new();
        let Opening { settings, clock, fail_fast, write_listener } = opening;
        let warnings = settings.warnings();
        // The warnings are logged here, because programs that only read have no candidate to report them.
        warnings.iter().for_each(|warning| tracing::warn!(target: "incumbent::driver::opening", "{warning}"));
        let reports = reports(&handle, &clock, write_listener, &notifier);
        let opened = tokio::select! {
            opened = reporting(settings.connect(reports)) => opened,
            // The caller has stopped waiting.
            () = ready.closed() => return,
        };
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                // The log lines of this error are flushed, because the caller may end the program because of the error.
                within(clock, FLUSH_LIMIT, notifier.flush()).await;
                return drop(ready.send(Err(error)));
            }
        };
        // If the caller has stopped waiting, the driver's only handle is dropped with the answer.
        let _ = ready.send(Ok((handle, store.capabilities())));
        store.run(Running { clock, notifier, fail_fast, requests, warnings }).await;
    })?;
    opened.await.map_err(|_| {
        Error::new(ErrorKind::Broken, "the store's thread ended while it was opening the store")
    })?
}

/// Carries the store's reports to its user, and to its driver without keeping the driver alive.
fn reports(driver: &DriverHandle, clock: &Clock, listener: WriteListener, notifier: &Notifier) -> Reports {
    let driver = driver.sender.as_ref().map(|sender| sender.downgrade());
    let connected = move || {
        if let Some(driver) = driver.as_ref().and_then(|driver| driver.upgrade()) {
            // A driver that has ended needs no new connection.
            let _ = driver.send(Request::Connected);
        }
    };
    Reports { clock: clock.clone(), listener, notifier: notifier.clone(), connected: Arc::new(connected) }
}

/// The time after which a store that is still being opened is reported.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// Waits for `opening`, and logs if that takes long, because there is no candidate yet that could report it.
async fn reporting<T>(opening: impl Future<Output = T>) -> T {
    let mut opening = pin!(opening);
    if let Ok(opened) = timeout(REPORT_AFTER, &mut opening).await {
        return opened;
    }
    tracing::warn!(
        "waiting for the store, which does not answer yet; the setting fail_fast makes that an error, and a timeout \
         of the call limits the wait"
    );
    let opened = opening.await;
    tracing::info!("the store answers");
    opened
}

/// Runs a driver for a store that is already open, on a separate thread.
pub(crate) fn start(
    adapter: Box<dyn Adapter>,
    clock: Clock,
    fail_fast: bool,
    write_listener: WriteListener,
) -> Result<DriverHandle> {
    let (handle, requests) = DriverHandle::new();
    let notifier = Notifier::new();
    let reports = reports(&handle, &clock, write_listener, &notifier);
    on_own_thread(notifier.clone(), async move {
        let store = RecordLink::new(adapter, reports);
        let running = Running { clock, notifier, fail_fast, requests, warnings: Vec::new() };
        Box::new(store).run(running).await;
    })?;
    Ok(handle)
}

fn on_own_thread(notifier: Notifier, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let refused = |error| threads::refused("the store", Some(error));
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_keep_alive(threads::KEPT).build().map_err(refused)?;
    let runtime = Abandoned(Some(runtime));
    let thread = std::thread::Builder::new().name("incumbent".into());
    let run = move || {
        let _relay = notifier.relay_logs();
        drop(notifier);
        if let Some(runtime) = &runtime.0 {
            runtime.block_on(work);
        }
    };
    thread.spawn(run).map_err(refused).map(drop)
}

/// A runtime that is dropped without waiting for work that an adapter still has on a blocking thread. It is dropped on
/// a separate thread, because a drop on the caller's thread could block.
struct Abandoned(Option<tokio::runtime::Runtime>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
