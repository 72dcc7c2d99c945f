//! The servers behind a connection, as they were found last.
//!
//! Their versions are not fixed: members are upgraded one by one, or started again with an older version. The rule depends
//! on the version of the member that leads the cluster, which no member takes up without a new raft term. So an answer
//! of another raft term than that of the last look is held back until the servers were looked at again; and so they are on
//! each new connection, which may be to a member that the old one did not reach.
//!
//! A member that does not answer in time is not taken for an older one at once: it is asked again, and until it has
//! answered no campaign wins. Only where it stays silent is its version not known, and it is asked still.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent_core::queue::Server;
use incumbent_core::store::Fault;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::inspection::{self, Looked};
use super::settings::EtcdSettings;
use super::wire::connection::Connection;

/// The time limit of another look, which a read waits for; shorter than that of any read (`pace::attempt_limit`).
const LIMIT: Duration = Duration::from_millis(200);
/// The time limit of the later ones, which nothing waits for; doubled from [`LIMIT`].
const LONGEST_LIMIT: Duration = Duration::from_secs(2);
/// The pause before a member that did not answer is asked again; doubled up to [`AGAIN`] once [`TOLERANCE`] is over.
const PAUSE: Duration = Duration::from_millis(100);
/// The time for which a member that does not answer keeps the version that it had, while no campaign wins. A cluster
/// that has just elected a leader answers within an election timeout (1 s by default).
const TOLERANCE: Duration = Duration::from_secs(2);
/// The interval of looks while the servers cannot be trusted: the last of them may have been upgraded.
const AGAIN: Duration = Duration::from_secs(60);

/// A version: major, minor, patch.
pub(super) type Version = (u32, u32, u32);

/// What a look at the servers found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) looked: Looked,
    /// The shortest lease; `None` where no lease was granted.
    pub(super) shortest: Option<Duration>,
}

/// The servers, and the last look at them.
pub(super) struct Servers {
    settings: EtcdSettings,
    connection: Arc<Connection>,
    seen: Mutex<Seen>,
    /// Held during a look, so that one serves all that wait for it.
    looking: tokio::sync::Mutex<()>,
    /// Asks on while there is an uncertainty.
    asking: Mutex<Option<AbortOnDropHandle<()>>>,
}

struct Seen {
    /// As campaigns are given it.
    server: Server,
    /// The raft term of the last look in which all was known.
    raft_term: u64,
    /// The versions of the voting members, by their numbers. That of a member which is down is its last one.
    versions: HashMap<u64, Version>,
    at: Instant,
    uncertain: Option<Uncertain>,
}

/// A look in which the version of a member was not known.
#[derive(Clone, Copy, Debug)]
struct Uncertain {
    since: Instant,
    /// The raft term of the answers that campaigns were given meanwhile, where it is not that of the last look.
    given: Option<u64>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The versions are those of before, and no campaign wins.
    Asking,
    /// The version is not known. Campaigns have to be given that before another, as they owe a lease for it.
    NotKnown { given: bool },
}

impl Servers {
    pub(super) fn new(settings: &EtcdSettings, connection: &Arc<Connection>, found: Found) -> Arc<Self> {
        let Found { looked, shortest } = found;
        let unknown =
            Uncertain { since: Instant::now(), given: None, stage: Stage::NotKnown { given: true } };
        let seen = Seen {
            server: Server { version: looked.lowest, asked: false, shortest },
            raft_term: looked.raft_term,
            versions: looked.known,
            at: Instant::now(),
            uncertain: (!looked.settled).then_some(unknown),
        };
        let servers = Arc::new(Self {
            settings: settings.clone(),
            connection: Arc::clone(connection),
            seen: Mutex::new(seen),
            looking: tokio::sync::Mutex::default(),
            asking: Mutex::default(),
        });
        if !looked.settled {
            servers.ask_on();
        }
        servers
    }

    /// The servers, as they were found last.
    pub(super) fn server(&self) -> Server {
        self.seen().server
    }

    /// Returns once the servers of this raft term were looked at, or did not all answer.
    pub(super) async fn confirm(self: &Arc<Self>, raft_term: u64) {
        if !self.seen().is_due(raft_term) {
            return;
        }
        let _one = self.looking.lock().await;
        let is_due = self.seen().is_due(raft_term);
        if is_due {
            self.look(Some(raft_term)).await;
        }
    }

    /// Looks at the servers, over a new connection.
    pub(super) async fn look_again(self: &Arc<Self>) {
        let _one = self.looking.lock().await;
        self.look(None).await;
    }

    /// Asks for the shortest lease where it is not known. Returns the reason where it stays so.
    pub(super) async fn learn_shortest(&self) -> Option<Fault> {
        if self.server().shortest.is_some() {
            return None;
        }
        match inspection::shortest(&self.connection).await {
            Ok(shortest) => {
                self.seen().server.shortest = Some(shortest);
                None
            }
            Err(fault) => Some(fault),
        }
    }

    /// Looks, for an answer of that raft term where one waits.
    async fn look(self: &Arc<Self>, waiting: Option<u64>) {
        if !self.ask(waiting, LIMIT).await {
            self.ask_on();
        }
    }

    /// Asks on until every member has answered, or no other answer can be had.
    fn ask_on(self: &Arc<Self>) {
        let servers = Arc::downgrade(self);
        let task = async move {
            let (mut pause, mut limit) = (PAUSE, LIMIT);
            loop {
                sleep(pause).await;
                let Some(servers) = servers.upgrade() else { return };
                let _one = servers.looking.lock().await;
                let Some(Uncertain { stage, .. }) = servers.seen().uncertain else { return };
                limit = (limit * 2).min(LONGEST_LIMIT);
                if servers.ask(None, limit).await {
                    return;
                }
                if stage != Stage::Asking {
                    pause = (pause * 2).min(AGAIN);
                }
            }
        };
        let task = AbortOnDropHandle::new(tokio::spawn(task));
        *self.asking.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Asks every member for its version. Returns false where the answers leave an uncertainty.
    async fn ask(&self, waiting: Option<u64>, limit: Duration) -> bool {
        let known = self.seen().versions.clone();
        let asked = inspection::versions_now(&self.connection, &self.settings, &known, limit / 2);
        let looked = timeout(limit, asked).await.ok().flatten();
        let mut seen = self.seen();
        let before = seen.server;
        let is_settled = seen.take(looked, waiting, Instant::now());
        let now = seen.server;
        if now.version != before.version {
            tracing::info!(
                "the lowest version of etcd's members is {:?}, and was {:?}",
                now.version,
                before.version
            );
        }
        is_settled
    }

    /// Never held across an await.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// Whether an answer of this raft term waits for a look. It does not while members are asked anyway; campaigns are
    /// given what is known with it.
    fn is_due(&mut self, raft_term: u64) -> bool {
        let (known, is_old) = (self.raft_term, !self.server.keeps_leases() && self.at.elapsed() >= AGAIN);
        let Some(uncertain) = &mut self.uncertain else { return known != raft_term || is_old };
        uncertain.give(raft_term, known);
        let uncertain = *uncertain;
        self.show(uncertain);
        false
    }

    /// Takes in a look, for which an answer of a raft term may wait. Returns false where an uncertainty is left.
    fn take(&mut self, looked: Option<Looked>, waiting: Option<u64>, now: Instant) -> bool {
        let looked = match looked {
            Some(looked) if looked.settled => {
                if self.uncertain.is_none_or(|uncertain| uncertain.ends_with(looked.raft_term)) {
                    self.server = Server { version: looked.lowest, asked: false, ..self.server };
                    (self.raft_term, self.versions) = (looked.raft_term, looked.known);
                    (self.at, self.uncertain) = (now, None);
                    return true;
                }
                // The members that led in between were never seen.
                self.uncertain = self.uncertain.map(Uncertain::not_known);
                None
            }
            looked => looked,
        };
        self.versions.extend(looked.map(|looked| looked.known).unwrap_or_default());
        let stage = match self.server.keeps_leases() {
            true => Stage::Asking,
            false => Stage::NotKnown { given: true },
        };
        let known = self.raft_term;
        let uncertain = self.uncertain.get_or_insert(Uncertain { since: now, given: None, stage });
        if let Some(raft_term) = waiting {
            uncertain.give(raft_term, known);
        }
        if uncertain.stage == Stage::Asking && now - uncertain.since >= TOLERANCE {
            *uncertain = uncertain.not_known();
        }
        let uncertain = *uncertain;
        self.show(uncertain);
        false
    }

    /// Gives campaigns the servers as an uncertainty leaves them.
    fn show(&mut self, uncertain: Uncertain) {
        self.server.asked = uncertain.stage == Stage::Asking;
        if !self.server.asked {
            self.server.version = None;
        }
    }
}

impl Uncertain {
    /// Campaigns are given an answer of this raft term with what is known; the servers of `known` were looked at.
    fn give(&mut self, raft_term: u64, known: u64) {
        if let Stage::NotKnown { given } = &mut self.stage {
            *given = true;
        }
        if raft_term != known && self.given.replace(raft_term).is_some_and(|before| before != raft_term) {
            *self = self.not_known();
        }
    }

    fn not_known(self) -> Self {
        match self.stage {
            Stage::Asking => Self { stage: Stage::NotKnown { given: false }, ..self },
            Stage::NotKnown { .. } => self,
        }
    }

    /// Whether a look in this raft term, in which every version was known, leaves nothing unknown.
    fn ends_with(self, raft_term: u64) -> bool {
        match self.stage {
            Stage::Asking => self.given.is_none_or(|given| given == raft_term),
            Stage::NotKnown { given } => given,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Version = (3, 7, 3);

    fn seen() -> Seen {
        let server = Server { version: Some(NEW), asked: false, shortest: None };
        Seen {
            server,
            raft_term: 2,
            versions: HashMap::from([(1, NEW)]),
            at: Instant::now(),
            uncertain: None,
        }
    }

    fn whole(raft_term: u64) -> Option<Looked> {
        Some(Looked { lowest: Some(NEW), known: HashMap::from([(1, NEW)]), settled: true, raft_term })
    }

    fn shown(seen: &Seen) -> (Option<Version>, bool) {
        (seen.server.version, seen.server.asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_leaves_the_version_as_it_was_and_is_taken_when_it_comes() {
        let mut seen = seen();
        assert!(seen.is_due(3));
        assert!(!seen.take(None, Some(3), Instant::now()));
        assert_eq!(shown(&seen), (Some(NEW), true));
        assert!(!seen.is_due(3), "it is asked anyway");
        sleep(TOLERANCE / 2).await;
        assert!(seen.take(whole(3), None, Instant::now()));
        assert_eq!((shown(&seen), seen.is_due(3)), ((Some(NEW), false), false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_an_unknown_version_until_it_comes() {
        let mut seen = seen();
        seen.take(None, Some(3), Instant::now());
        sleep(TOLERANCE).await;
        assert!(!seen.take(None, Some(3), Instant::now()));
        assert_eq!(shown(&seen), (None, false));
        // Not before a campaign was given that it is not known.
        assert!(!seen.take(whole(3), None, Instant::now()));
        assert_eq!(shown(&seen), (None, false));
        assert!(!seen.is_due(3));
        assert!(seen.take(whole(3), None, Instant::now()));
        assert_eq!(shown(&seen), (Some(NEW), false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_a_later_raft_term_than_that_of_what_campaigns_were_given_leaves_that_one_unknown() {
        let mut seen = seen();
        seen.take(None, Some(3), Instant::now());
        assert!(!seen.take(whole(4), None, Instant::now()));
        assert_eq!(shown(&seen), (None, false));
    }

    #[tokio::test(start_paused = true)]
    async fn on_a_new_connection_the_raft_term_may_be_another_where_campaigns_were_given_nothing_of_it() {
        let mut seen = seen();
        assert!(!seen.take(None, None, Instant::now()));
        assert_eq!(shown(&seen), (Some(NEW), true));
        assert!(!seen.is_due(2), "of the raft term that is known");
        assert!(seen.take(whole(4), None, Instant::now()));
        assert_eq!(shown(&seen), (Some(NEW), false));
    }

    #[tokio::test(start_paused = true)]
    async fn answers_of_two_raft_terms_whose_servers_are_not_known_leave_the_first_unknown() {
        let mut seen = seen();
        seen.take(None, Some(3), Instant::now());
        assert!(!seen.is_due(4));
        assert_eq!(shown(&seen), (None, false));
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_answer_one_after_the_other_are_known_together() {
        let mut seen = seen();
        let part = Looked { lowest: None, known: HashMap::from([(2, NEW)]), settled: false, raft_term: 3 };
        assert!(!seen.take(Some(part), Some(3), Instant::now()));
        assert_eq!(seen.versions, HashMap::from([(1, NEW), (2, NEW)]));
    }

    #[tokio::test(start_paused = true)]
    async fn servers_that_may_revoke_live_leases_are_looked_at_again_after_a_while() {
        let mut seen = seen();
        seen.server.version = Some((3, 4, 23));
        assert!(!seen.is_due(2));
        sleep(AGAIN).await;
        assert!(seen.is_due(2));
    }
}
