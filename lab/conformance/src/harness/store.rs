//! A store made for one scenario, and the faults made in it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_nats::jetstream;
use incumbent::Clock;
use incumbent::store::etcd::{self, EtcdSettings};
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent::store::{Sqlite, SqliteSettings, StoreAdmin, StoreSettings};
use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::proxy::Proxy;
use tempfile::TempDir;

use super::server::Server;
use super::{Prepared, StoreKind};

/// A store made for one scenario.
pub(super) struct ScenarioStore {
    store: Store,
    lease: Duration,
}

enum Store {
    /// The runner's own memory; the harness has no access to it.
    Memory {
        name: String,
    },
    Sqlite {
        folder: TempDir,
    },
    Nats {
        bucket: String,
        lines: BTreeMap<String, Line>,
    },
    Etcd {
        prefix: String,
        lines: BTreeMap<String, Line>,
    },
    Kafka {
        prefix: String,
        lines: BTreeMap<String, Line>,
    },
}

/// The proxy of a connection.
struct Line {
    proxy: Proxy,
    is_dead: bool,
}

impl ScenarioStore {
    /// Makes a store. `number` makes its name unique; `server` must be present if the store needs a server.
    pub(super) async fn prepare(
        kind: StoreKind,
        lease: Duration,
        connections: &BTreeSet<String>,
        number: u64,
        server: Option<&Server>,
    ) -> Result<Self, String> {
        let store = match (kind, server) {
            (StoreKind::Memory, _) => {
                Store::Memory { name: format!("scenario-{number}-of-{}", std::process::id()) }
            }
            (StoreKind::Sqlite, _) => {
                let folder =
                    tempfile::Builder::new().prefix("incumbent-scenario-").tempdir().map_err(text)?;
                let settings = SqliteSettings::new(folder.path().join("scenario.db"));
                Sqlite::init(&settings, &Clock::system(), true).await.map_err(text)?;
                Store::Sqlite { folder }
            }
            (StoreKind::Nats | StoreKind::Etcd | StoreKind::Kafka, None) => {
                return Err("there is no server".into());
            }
            (StoreKind::Nats, Some(server)) => {
                let bucket = format!("scenario-{number}");
                let settings = NatsSettings::new(&server.address(), &bucket).map_err(text)?.fail_fast(true);
                init(&settings, &InitOptions::new().lease(lease).never_used(true)).await.map_err(text)?;
                Store::Nats { bucket, lines: lines(server, connections) }
            }
            (StoreKind::Etcd, Some(server)) => {
                let prefix = format!("scenario-{number}");
                let settings = EtcdSettings::new(&server.address()).map_err(text)?.prefix(&prefix);
                etcd::init(&settings, true).await.map_err(text)?;
                Store::Etcd { prefix, lines: lines(server, connections) }
            }
            (StoreKind::Kafka, Some(server)) => {
                // Candidates create their topics themselves. The prefix names this process, because other harnesses may
                // use the same broker.
                let prefix = format!("scenario-{number}-of-{}", std::process::id());
                Store::Kafka { prefix, lines: lines(server, connections) }
            }
        };
        Ok(Self { store, lease })
    }

    /// The store's description for the runner.
    pub(super) fn describe(&self, connections: &BTreeSet<String>, server: Option<&Server>) -> Prepared {
        let url = self.url(server);
        let of_connection = |name: &String| {
            let proxied = match &self.store {
                Store::Nats { bucket, lines } => {
                    lines.get(name).map(|line| format!("{}/{bucket}", line.proxy.url()))
                }
                Store::Etcd { prefix, lines } => {
                    lines.get(name).map(|line| format!("etcd://{}/{prefix}", line.proxy.address()))
                }
                Store::Kafka { prefix, lines } => {
                    lines.get(name).map(|line| format!("kafka://{}/{prefix}", line.proxy.address()))
                }
                Store::Memory { .. } | Store::Sqlite { .. } => None,
            };
            (name.clone(), proxied.unwrap_or_else(|| url.clone()))
        };
        let offers = match self.store {
            Store::Memory { .. } => StoreKind::Memory,
            Store::Sqlite { .. } => StoreKind::Sqlite,
            Store::Nats { .. } => StoreKind::Nats,
            Store::Etcd { .. } => StoreKind::Etcd,
            Store::Kafka { .. } => StoreKind::Kafka,
        }
        .offers();
        Prepared { offers, connections: connections.iter().map(of_connection).collect(), url }
    }

    pub(super) async fn delete(&self, key: &str, server: Option<&Server>) -> Result<(), String> {
        if let (Store::Etcd { prefix, .. }, Some(Server::Etcd(server))) = (&self.store, server) {
            return first_place(server, prefix, key)?
                .map_or(Ok(()), |place| server.try_ctl(&["del", &place]).map(drop));
        }
        self.operator(server).await?.delete(key).await.map_err(text)?;
        Ok(())
    }

    pub(super) async fn put(&self, key: &str, value: &str, server: Option<&Server>) -> Result<(), String> {
        if let (Store::Etcd { prefix, .. }, Some(Server::Etcd(server))) = (&self.store, server) {
            let place = first_place(server, prefix, key)?.ok_or("no candidate has a place to overwrite")?;
            return server.try_ctl(&["put", &place, value]).map(drop);
        }
        self.operator(server).await?.put(key, value.as_bytes()).await.map_err(text)?;
        Ok(())
    }

    /// Deletes the store and creates it again, this time without declaring it as unused.
    pub(super) async fn reset(&self, server: Option<&mut Server>) -> Result<(), String> {
        match (&self.store, server) {
            (Store::Nats { bucket, .. }, Some(server)) => {
                let client = async_nats::connect(server.address()).await.map_err(text)?;
                jetstream::new(client).delete_key_value(bucket).await.map_err(text)?;
                let settings = NatsSettings::new(&server.address(), bucket).map_err(text)?.fail_fast(true);
                init(&settings, &InitOptions::new().lease(self.lease)).await.map(drop).map_err(text)
            }
            (Store::Etcd { .. }, Some(Server::Etcd(server))) => {
                server.wipe();
                server.restart();
                Ok(())
            }
            _ => Err(self.offers_no("a store that can be deleted and made again")),
        }
    }

    pub(super) fn cut(&mut self, connection: &str) -> Result<(), String> {
        self.line(connection)?.proxy.cut();
        Ok(())
    }

    pub(super) fn heal(&mut self, connection: &str) -> Result<(), String> {
        let line = self.line(connection)?;
        if line.is_dead {
            return Err(format!("the connection {connection:?} was killed, and cannot be healed"));
        }
        line.proxy.heal();
        Ok(())
    }

    /// Discards all data in transit, and lets no more through.
    pub(super) fn kill(&mut self, connection: &str) -> Result<(), String> {
        let line = self.line(connection)?;
        line.is_dead = true;
        line.proxy.cut();
        line.proxy.close_all();
        Ok(())
    }

    /// Fails if the store has no server.
    pub(super) fn has_server(&self) -> Result<(), String> {
        match self.store {
            Store::Nats { .. } | Store::Etcd { .. } => Ok(()),
            Store::Memory { .. } | Store::Sqlite { .. } | Store::Kafka { .. } => {
                Err(self.offers_no("a server that is stopped"))
            }
        }
    }

    fn line(&mut self, connection: &str) -> Result<&mut Line, String> {
        let refused = self.offers_no("a network");
        let (Store::Nats { lines, .. } | Store::Etcd { lines, .. } | Store::Kafka { lines, .. }) =
            &mut self.store
        else {
            return Err(refused);
        };
        lines.get_mut(connection).ok_or_else(|| format!("there is no connection {connection:?}"))
    }

    async fn operator(&self, server: Option<&Server>) -> Result<Box<dyn StoreAdmin>, String> {
        match self.store {
            Store::Memory { .. } => return Err(self.offers_no("a way into the runner's memory")),
            Store::Kafka { .. } => return Err(self.offers_no("a key that an operator could write")),
            Store::Sqlite { .. } | Store::Nats { .. } | Store::Etcd { .. } => {}
        }
        let settings: StoreSettings = self.url(server).parse().map_err(text)?;
        settings.operate(&Clock::system()).await.map_err(text)
    }

    fn url(&self, server: Option<&Server>) -> String {
        match &self.store {
            Store::Memory { name } => format!("memory:{name}"),
            Store::Sqlite { folder } => format!("sqlite:{}", folder.path().join("scenario.db").display()),
            Store::Nats { bucket, .. } => {
                format!("nats://{}/{bucket}", server.map(Server::address).unwrap_or_default())
            }
            Store::Etcd { prefix, .. } => {
                format!("etcd://{}/{prefix}", server.map(Server::address).unwrap_or_default())
            }
            Store::Kafka { prefix, .. } => {
                format!("kafka://{}/{prefix}", server.map(Server::address).unwrap_or_default())
            }
        }
    }

    fn offers_no(&self, what: &str) -> String {
        format!("the store {} lacks {what}", self.url(None))
    }
}

/// A proxy for each connection.
fn lines(server: &Server, connections: &BTreeSet<String>) -> BTreeMap<String, Line> {
    let line = |name: &String| (name.clone(), Line { proxy: server.proxy(), is_dead: false });
    connections.iter().map(line).collect()
}

/// Returns the key of the election's first place, or `None` if the election has no places.
fn first_place(server: &EtcdServer, prefix: &str, election: &str) -> Result<Option<String>, String> {
    let range = format!("{prefix}/{election}/");
    let order = ["--sort-by", "CREATE", "--order", "ASCEND", "--limit", "1", "--keys-only"];
    let keys = server.try_ctl(&[&["get", "--prefix", &range], &order[..]].concat())?;
    Ok(keys.lines().next().filter(|key| !key.is_empty()).map(str::to_owned))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
