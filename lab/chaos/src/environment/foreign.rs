//! A candidate on etcd's own Go client in one of the elections. It leads when its turn comes, and behaves as etcd's
//! users expect: it checks no deadline, so the checker only requires that an election that it leads is not vacant.

use std::sync::Arc;
use std::time::Duration;

use incumbent::Clock;
use incumbent_testkit::etcd::elect::GoClient;

use crate::log::{Log, Note};

/// The foreign candidate's name, in the log and in the election.
pub(super) const NAME: &str = "go";

/// The candidate, across its lives.
#[derive(Debug)]
pub(super) struct Foreign {
    endpoints: String,
    /// The prefix of its keys.
    queue: String,
    key: &'static str,
    lease: Duration,
    /// None while it is killed.
    client: Option<GoClient>,
    is_stopped: bool,
    notes: Arc<Log>,
    clock: Clock,
}

impl Foreign {
    /// Starts it.
    pub(super) fn start(
        endpoints: String,
        queue: String,
        key: &'static str,
        lease: Duration,
        notes: &Arc<Log>,
    ) -> Self {
        let mut foreign = Self {
            endpoints,
            queue,
            key,
            lease,
            client: None,
            is_stopped: false,
            notes: Arc::clone(notes),
            clock: Clock::system(),
        };
        foreign.begin();
        foreign
    }

    /// Begins another life of the candidate, if it is dead.
    pub(super) fn begin(&mut self) {
        let begin = || GoClient::campaign(&self.endpoints, &self.queue, NAME, self.lease);
        self.client.get_or_insert_with(begin);
    }

    /// Begins another life of the candidate, if the last life ended by itself because its session was lost or the store
    /// was unreachable.
    pub(super) fn catch_up(&mut self) {
        if self.client.as_mut().is_some_and(|client| client.child().try_wait().is_some()) {
            self.end();
            self.begin();
        }
    }

    /// Returns true if the candidate leads, by its own report, and is able to lead.
    pub(super) fn leads(&self) -> bool {
        !self.is_stopped && self.client.as_ref().is_some_and(GoClient::leads)
    }

    /// Makes the candidate resign and enter again.
    pub(super) fn resign(&mut self) {
        if let Some(client) = &mut self.client {
            client.order("resign");
            client.order("campaign");
        }
    }

    /// Stops it (SIGSTOP).
    pub(super) fn stop(&mut self) {
        if let Some(client) = &mut self.client {
            client.child().pause();
            self.is_stopped = true;
        }
    }

    /// Resumes it.
    pub(super) fn resume(&mut self) {
        if let Some(client) = &mut self.client {
            client.child().resume();
            self.is_stopped = false;
        }
    }

    /// Kills the candidate, and logs its terms.
    pub(super) fn end(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        client.child().kill();
        let gone = self.clock.now().as_nanos();
        for (from, until, _) in client.terms(gone) {
            self.notes.write(&Note::ForeignTerm { name: NAME.into(), key: self.key.into(), from, until });
        }
        self.is_stopped = false;
    }
}
