//! The harness's loop: it reads a request, and writes a reply.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::server::Server;
use super::store::ScenarioStore;
use super::{Hello, PROTOCOL, Prepared, Reply, Request, StoreKind};

/// Serves requests until there are no more, and then ends every server that it started.
///
/// # Errors
/// The lines cannot be read or written.
pub fn serve(requests: impl BufRead, mut replies: impl Write) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut harness = Harness {
        runtime,
        store: None,
        kind: StoreKind::Memory,
        servers: BTreeMap::new(),
        is_stopped: false,
        prepared: 0,
    };
    let hello = Hello { harness: "incumbent".into(), protocol: PROTOCOL, stores: StoreKind::ALL.to_vec() };
    say(&mut replies, &hello)?;
    for line in requests.lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        // The test kit panics if it cannot continue. The runner gets the panic as an error reply.
        let done = catch_unwind(AssertUnwindSafe(|| harness.answer(&line)));
        let reply = done.unwrap_or_else(|panic| Err(format!("the harness failed: {}", message(&*panic))));
        say(&mut replies, &Reply::from(reply))?;
    }
    Ok(())
}

fn say(replies: &mut impl Write, what: &impl serde::Serialize) -> io::Result<()> {
    let line = serde_json::to_string(what)?;
    writeln!(replies, "{line}")?;
    replies.flush()
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

struct Harness {
    runtime: Runtime,
    // Declared before the servers, so that a store's proxies are dropped before the server behind them.
    store: Option<ScenarioStore>,
    /// The kind of the store.
    kind: StoreKind,
    /// Servers, started at their first use and kept for later scenarios.
    servers: BTreeMap<StoreKind, Server>,
    /// True if the scenario has stopped its server.
    is_stopped: bool,
    /// The number of stores made so far.
    prepared: u64,
}

impl Harness {
    fn answer(&mut self, line: &str) -> Result<Option<Prepared>, String> {
        let request =
            serde_json::from_str(line).map_err(|error| format!("not a request: {error}: {line}"))?;
        match request {
            Request::Prepare { store, lease_ms, connections } => {
                self.store = None;
                self.prepared += 1;
                self.serve_store(store);
                let lease = Duration::from_millis(lease_ms);
                let server = self.servers.get(&store);
                let preparing = ScenarioStore::prepare(store, lease, &connections, self.prepared, server);
                let store = self.runtime.block_on(preparing)?;
                let description = store.describe(&connections, server);
                self.store = Some(store);
                return Ok(Some(description));
            }
            Request::CleanUp {} => {
                self.store()?;
                self.store = None;
            }
            Request::DeleteKey { key } => {
                let deleting = self.store()?.delete(&key, self.servers.get(&self.kind));
                self.runtime.block_on(deleting)?;
            }
            Request::PutKey { key, value } => {
                let putting = self.store()?.put(&key, &value, self.servers.get(&self.kind));
                self.runtime.block_on(putting)?;
            }
            Request::ResetStore {} => {
                let store = self.store.as_ref().ok_or(NO_STORE)?;
                let resetting = store.reset(self.servers.get_mut(&self.kind));
                self.runtime.block_on(resetting)?;
            }
            Request::Cut { connection } => self.store_mut()?.cut(&connection)?,
            Request::Heal { connection } => self.store_mut()?.heal(&connection)?,
            Request::Kill { connection } => self.store_mut()?.kill(&connection)?,
            Request::StopServer {} => {
                self.served()?.kill();
                self.is_stopped = true;
            }
            Request::StartServer {} => {
                self.served()?.restart();
                self.is_stopped = false;
            }
        }
        Ok(None)
    }

    /// Starts the server of that kind of store, if it has one and the server is not running yet. Restarts a server that
    /// the previous scenario left stopped.
    fn serve_store(&mut self, kind: StoreKind) {
        if std::mem::take(&mut self.is_stopped)
            && let Some(server) = self.servers.get_mut(&self.kind)
        {
            server.restart();
        }
        self.kind = kind;
        if !self.servers.contains_key(&kind)
            && let Some(server) = Server::start(kind)
        {
            self.servers.insert(kind, server);
        }
    }

    fn store(&self) -> Result<&ScenarioStore, String> {
        self.store.as_ref().ok_or_else(|| NO_STORE.into())
    }

    fn store_mut(&mut self) -> Result<&mut ScenarioStore, String> {
        self.store.as_mut().ok_or_else(|| NO_STORE.into())
    }

    fn served(&mut self) -> Result<&mut Server, String> {
        self.store()?.has_server()?;
        self.servers.get_mut(&self.kind).ok_or_else(|| "there is no server".into())
    }
}

const NO_STORE: &str = "no store is prepared; ask for `prepare` first";
