//! The stage's loop: a request, a reply.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::scene::Scene;
use super::server::Server;
use super::{Hello, PROTOCOL, Reply, Request, Set, StoreKind};

/// Serves requests until there are no more; then every server it started is gone.
///
/// # Errors
/// Where the lines cannot be read or written.
pub fn serve(requests: impl BufRead, mut replies: impl Write) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut stage = Stage {
        runtime,
        scene: None,
        kind: StoreKind::Memory,
        servers: BTreeMap::new(),
        is_stopped: false,
        scenes: 0,
    };
    let hello = Hello { stage: "incumbent".into(), protocol: PROTOCOL, stores: StoreKind::ALL.to_vec() };
    say(&mut replies, &hello)?;
    for line in requests.lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        // The test kit panics where it cannot go on; the runner gets that as an error reply.
        let done = catch_unwind(AssertUnwindSafe(|| stage.answer(&line)));
        let reply = done.unwrap_or_else(|panic| Err(format!("the stage failed: {}", message(&*panic))));
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

struct Stage {
    runtime: Runtime,
    // The proxies of a scene are dropped before the server behind them.
    scene: Option<Scene>,
    /// The kind of the scene's store.
    kind: StoreKind,
    /// Started at their first use, and kept for the next scenes.
    servers: BTreeMap<StoreKind, Server>,
    /// True if the scene has stopped its server.
    is_stopped: bool,
    scenes: u64,
}

impl Stage {
    fn answer(&mut self, line: &str) -> Result<Option<Set>, String> {
        let request =
            serde_json::from_str(line).map_err(|error| format!("not a request: {error}: {line}"))?;
        match request {
            Request::Set { store, lease_ms, connections } => {
                self.scene = None;
                self.scenes += 1;
                self.serve_store(store);
                let lease = Duration::from_millis(lease_ms);
                let server = self.servers.get(&store);
                let set = Scene::set(store, lease, &connections, self.scenes, server);
                let scene = self.runtime.block_on(set)?;
                let description = scene.describe(&connections, server);
                self.scene = Some(scene);
                return Ok(Some(description));
            }
            Request::Strike {} => {
                self.scene()?;
                self.scene = None;
            }
            Request::DeleteKey { key } => {
                let deleting = self.scene()?.delete(&key, self.servers.get(&self.kind));
                self.runtime.block_on(deleting)?;
            }
            Request::PutKey { key, value } => {
                let putting = self.scene()?.put(&key, &value, self.servers.get(&self.kind));
                self.runtime.block_on(putting)?;
            }
            Request::ResetStore {} => {
                let scene = self.scene.as_ref().ok_or(NO_SCENE)?;
                let resetting = scene.reset(self.servers.get_mut(&self.kind));
                self.runtime.block_on(resetting)?;
            }
            Request::Cut { connection } => self.scene_mut()?.cut(&connection)?,
            Request::Heal { connection } => self.scene_mut()?.heal(&connection)?,
            Request::Kill { connection } => self.scene_mut()?.kill(&connection)?,
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

    /// Ensures that the server of that kind of store runs, where it has one, also where the scene before has left its own
    /// stopped.
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

    fn scene(&self) -> Result<&Scene, String> {
        self.scene.as_ref().ok_or_else(|| NO_SCENE.into())
    }

    fn scene_mut(&mut self) -> Result<&mut Scene, String> {
        self.scene.as_mut().ok_or_else(|| NO_SCENE.into())
    }

    fn served(&mut self) -> Result<&mut Server, String> {
        self.scene()?.has_server()?;
        self.servers.get_mut(&self.kind).ok_or_else(|| "there is no server".into())
    }
}

const NO_SCENE: &str = "no scene is set; ask for `set` first";
