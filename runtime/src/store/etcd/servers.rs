//! The servers behind a connection, as they were found last.
//!
//! Their versions are not fixed: members are upgraded one by one, or started again with an older version. The rule depends
//! on the version of the member that leads the cluster, which no member takes up without a new raft term. So an answer
//! of another raft term than that of the last look is held back until the servers were looked at again; and so they are on
//! each new connection, which may be to a member that the old one did not reach.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent_core::queue::Server;
use tokio::time::{Instant, timeout};

use super::inspection::{self, Versions};
use super::settings::EtcdSettings;
use super::wire::connection::Connection;

/// The time limit of another look, which a read waits for; shorter than that of any read (`pace::attempt_limit`).
const LIMIT: Duration = Duration::from_millis(200);
/// The interval of looks while the servers cannot be trusted: the last of them may have been upgraded.
const AGAIN: Duration = Duration::from_secs(60);

/// A version: major, minor, patch.
pub(super) type Version = (u32, u32, u32);

/// What a look at the servers found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) server: Server,
    /// The raft term in which a member answered, before any other was asked.
    pub(super) raft_term: u64,
    /// The versions of the voting members, by their numbers. That of a member which is down is its last one.
    pub(super) versions: HashMap<u64, Version>,
}

/// The servers, and the last look at them.
pub(super) struct Servers {
    settings: EtcdSettings,
    connection: Arc<Connection>,
    seen: Mutex<Seen>,
    /// Held during a look, so that one serves all that wait for it.
    looking: tokio::sync::Mutex<()>,
}

struct Seen {
    found: Found,
    at: Instant,
}

impl Servers {
    pub(super) fn new(settings: &EtcdSettings, connection: &Arc<Connection>, found: Found) -> Self {
        Self {
            settings: settings.clone(),
            connection: Arc::clone(connection),
            seen: Mutex::new(Seen { found, at: Instant::now() }),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// The servers, as they were found last.
    pub(super) fn server(&self) -> Server {
        self.seen().found.server
    }

    /// Returns once the servers of this raft term were looked at, or could not be: then their version is not known.
    pub(super) async fn confirm(&self, raft_term: u64) {
        if !self.is_due(raft_term) {
            return;
        }
        let _one = self.looking.lock().await;
        if self.is_due(raft_term) {
            self.look().await;
        }
    }

    /// Looks at the servers, over a new connection.
    pub(super) async fn look_again(&self) {
        let _one = self.looking.lock().await;
        self.look().await;
    }

    fn is_due(&self, raft_term: u64) -> bool {
        let seen = self.seen();
        let is_old = !seen.found.server.keeps_leases() && seen.at.elapsed() >= AGAIN;
        seen.found.raft_term != raft_term || is_old
    }

    async fn look(&self) {
        let (known, shortest) = {
            let seen = self.seen();
            (seen.found.versions.clone(), seen.found.server.shortest)
        };
        let looked =
            timeout(LIMIT, inspection::versions_now(&self.connection, &self.settings, &known, LIMIT / 2));
        let looked = looked.await.ok().flatten();
        let mut seen = self.seen();
        let before = seen.found.server.version;
        match looked {
            Some((Versions { lowest, known }, raft_term)) => {
                let server = Server { version: lowest, shortest };
                *seen = Seen { found: Found { server, raft_term, versions: known }, at: Instant::now() };
            }
            // The next answer asks again.
            None => seen.found.server.version = None,
        }
        let now = seen.found.server.version;
        if now != before {
            tracing::info!("the lowest version of etcd's members is {now:?}, and was {before:?}");
        }
    }

    /// Never held across an await.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
