//! An operator's actions on an election: a request to its candidates, or the removal of its record.

pub(crate) mod accept_reset;
pub(crate) mod evict;
pub(crate) mod hand_over;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use incumbent::store::{StoreAdmin, StoreSettings};
use incumbent::{Error, ErrorKind, Leader, Store};
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::stderr::{is_json, no_thread};
use crate::store::{Answered, ConnectionReports, Limit, OnceArgs, StoreArgs, is_kafka, is_queue};

/// The longest wait for a second connection to a store that answers on the first (10 s).
const LOOKING: Duration = Duration::from_secs(10);

/// The number of attempts to evict a leader that renews its lease between the read of its record and the deletion. A
/// leader renews three times per lease.
const TRIES: usize = 5;

/// The store, for reads and for an operator's writes.
pub(crate) struct Bench {
    pub(crate) store: Store,
    /// True if the store's elections are queues, which other software may share.
    pub(crate) is_queue: bool,
    /// True if the store's elections are consumer groups, which choose the leader themselves.
    is_group: bool,
    /// True if the store did not answer when the operator gave the command.
    late: bool,
    operator: Box<dyn StoreAdmin>,
}

impl Bench {
    /// Opens the store within that limit, and within the time for which every command waits for a store.
    async fn open(args: &OnceArgs, settings: StoreSettings, limit: Limit) -> Result<Self, Failure> {
        let Answered { store, late } = args.open(settings.clone(), limit).await?;
        Self::of(settings, store, late, limit).await
    }

    /// Opens the store so that connection messages can be kept off the screen.
    pub(crate) async fn open_reporting(
        args: &StoreArgs,
        reports: &ConnectionReports,
    ) -> Result<Self, Failure> {
        let settings = args.settings_to_look()?;
        check_company(&settings)?;
        let store = args.open_reporting(Store::builder(), settings.clone(), reports).await?;
        Self::of(settings, store, false, Limit::NONE).await
    }

    async fn of(settings: StoreSettings, store: Store, late: bool, limit: Limit) -> Result<Self, Failure> {
        let limit = limit.or(Limit::of(LOOKING));
        let operator = tokio::select! {
            operator = settings.operate(store.clock()) => operator?,
            () = limit.over() => return Err(limit.unanswered("a second connection could not be made")),
        };
        let (is_queue, is_group) = (is_queue(&settings), is_kafka(&settings));
        Ok(Self { store, is_queue, is_group, late, operator })
    }

    /// Evicts that leader, and no other.
    ///
    /// # Errors
    /// Another candidate leads now, or none does.
    pub(crate) async fn evict(&self, key: &str, leader: &Leader) -> Result<(), Failure> {
        if self.is_group {
            return Err(no_orders());
        }
        self.remove(key, leader).await?
    }

    /// Deletes the record of that leader. The inner error reports who leads instead.
    async fn remove(&self, key: &str, leader: &Leader) -> Result<Result<(), Failure>, Failure> {
        for _ in 0..TRIES {
            let entry = self.store.entry(key).await?;
            let Some(record) = entry.live().filter(|record| is_same(&Leader::of(record), leader)) else {
                return Ok(Err(gone(key, entry.live().map(Leader::of), leader)));
            };
            // Each renewal has another revision.
            if self.operator.delete_at(key, record.revision).await?.is_some() {
                return Ok(Ok(()));
            }
        }
        let name = &leader.name;
        let why = format!(
            "{name} renewed its lease during each of {TRIES} tries, and still leads {key}: try again"
        );
        Ok(Err(Failure::failed(why)))
    }

    /// The leader; `None` during a vacancy.
    async fn leader(&self, key: &str) -> Result<Option<Leader>, Failure> {
        Ok(self.store.leader(key).await?)
    }

    /// The rest of that leader's lease; `None` if it is unknown, or if another candidate leads.
    async fn lease_left(&self, key: &str, leader: &Leader) -> Result<Option<Duration>, Failure> {
        let left = match self.is_queue {
            true => self.operator.lease_left(key).await?,
            false => None,
        };
        let written = self.store.written(key).await?;
        // The entry is read last, so the candidate that holds the lease now also held it during the earlier reads.
        let entry = self.store.entry(key).await?;
        let Some(record) = entry.live().filter(|record| is_same(&Leader::of(record), leader)) else {
            return Ok(None);
        };
        let lease = record.lease.or(self.store.store_info().await?.max_age);
        Ok(left.or_else(|| Some(lease?.saturating_sub(written?.ago))))
    }

    /// Checks that the leader that was named in the question to the operator still leads.
    async fn still(&self, key: &str, asked: &Leader) -> Result<(), Failure> {
        match self.leader(key).await? {
            Some(leader) if is_same(&leader, asked) => Ok(()),
            leader => Err(gone(key, leader, asked)),
        }
    }

    /// Asks the person at the terminal, unless `yes` is set. A `yes` refers to what the operator saw when giving the
    /// command. If the store did not answer then, the operator saw nothing, so `yes` is refused.
    ///
    /// # Errors
    /// There is neither a terminal nor `--yes`, the answer is no, or `yes` came too early.
    async fn confirm(&self, question: String, yes: bool) -> Result<(), Failure> {
        if self.late && yes {
            let why = format!(
                "{question} The store did not answer when this was confirmed with --yes, so nothing was done: run the \
                 command again, now that it answers"
            );
            return Err(Error::new(ErrorKind::StoreUnavailable, why).into());
        }
        confirm(question, yes).await
    }

    /// Asks the person, for a command with a limit. The time that the person takes does not count towards the limit.
    async fn confirm_within(&self, limit: Limit, question: String, yes: bool) -> Result<Limit, Failure> {
        let asked = Instant::now();
        self.confirm(question, yes).await?;
        Ok(limit.later(asked.elapsed()))
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self.operator);
        Ok(self.store.close().await?)
    }
}

/// The settings of the store, for a request to that election's leader.
///
/// # Errors
/// The key or the store allows no such request. This is reported without waiting for the store.
fn settings_for_order(args: &OnceArgs, key: &str) -> Result<StoreSettings, Failure> {
    let settings = args.store.settings_of(key)?;
    check_company(&settings)?;
    if is_kafka(&settings) { Err(no_orders()) } else { Ok(settings) }
}

/// Refuses a store that other processes cannot share.
fn check_company(settings: &StoreSettings) -> Result<(), Failure> {
    match settings {
        StoreSettings::Memory(_) => Err(Failure::usage(
            "a store in memory belongs to one process, so no other process can lead there",
        )),
        _ => Ok(()),
    }
}

/// Kafka's leaders take no orders.
fn no_orders() -> Failure {
    let why = "in Kafka the group chooses the owner of its partition: an election cannot be handed over to a named \
        member, and a leader cannot be evicted; stop the leader, or remove its member with kafka-consumer-groups.sh";
    Error::new(ErrorKind::Unsupported, why).into()
}

/// The failure if `asked`, the leader about which the operator was asked, no longer leads.
fn gone(key: &str, leader: Option<Leader>, asked: &Leader) -> Failure {
    let was = &asked.name;
    Failure::failed(match leader {
        Some(Leader { name, .. }) => {
            format!("{key} is now held by {name}, not by {was}: nothing was done")
        }
        None => format!("{key} has become vacant, so nothing was done: {was} is gone"),
    })
}

/// Returns true if both are the same campaign.
pub(crate) fn is_same(one: &Leader, other: &Leader) -> bool {
    one.name == other.name && one.nonce == other.nonce
}

async fn confirm(question: String, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let why = match is_json() {
        true => "--json does not ask",
        false if !io::stdin().is_terminal() => "The standard input is not a terminal",
        false => "",
    };
    if !why.is_empty() {
        return Err(Failure::usage(format!("{question} {why}: confirm with --yes")));
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let (typed, answered) = oneshot::channel();
    let read = || {
        let mut answer = String::new();
        // The caller may no longer wait for the answer.
        let _ = typed.send(io::stdin().lock().read_line(&mut answer).map(|_| answer));
    };
    std::thread::Builder::new().name("answer".into()).spawn(read).map_err(no_thread)?;
    let answer = answered.await.map_err(io::Error::other)??;
    if is_yes(&answer) { Ok(()) } else { Err(Failure::ended(Exit::Failure, "nothing was done")) }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use incumbent::Clock;
    use incumbent::incumbent_core::Revision;
    use incumbent::incumbent_core::store::Fault;
    use incumbent::store::{Memory, MemorySettings};

    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(["y\n", "Y", "yes\r\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n", "no", "yess", "ja"].into_iter().any(is_yes));
    }

    /// An operator's connection on which the election changes just before each deletion.
    struct Changing {
        inner: Memory,
        /// The names that hold the election at each deletion.
        holders: Mutex<Vec<&'static str>>,
    }

    #[async_trait]
    impl StoreAdmin for Changing {
        async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
            self.inner.put(key, value).await
        }

        async fn delete(&self, key: &str) -> Result<Revision, Fault> {
            self.inner.delete(key).await
        }

        async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
            let holder = self.holders.lock().unwrap().pop();
            if let Some(holder) = holder {
                self.inner.put(key, holder.as_bytes()).await?;
            }
            self.inner.delete_at(key, revision).await
        }
    }

    /// Evicts ada from `jobs` while these names hold it one after the other. Returns the failure's message and the
    /// leader after it.
    async fn evicting_ada(holders: Vec<&'static str>) -> (Option<String>, Option<String>) {
        let inner = Memory::open(&MemorySettings::private(), &Clock::system()).unwrap();
        let store = Store::from_adapter(Box::new(inner.clone()), Clock::system()).unwrap();
        inner.put("jobs", b"ada").await.unwrap();
        let operator = Box::new(Changing { inner, holders: Mutex::new(holders) });
        let bench = Bench { store, is_queue: false, is_group: false, late: false, operator };
        let ada = bench.leader("jobs").await.unwrap().unwrap();
        let failed = bench.evict("jobs", &ada).await.err().map(|failure| failure.to_string());
        let leader = bench.leader("jobs").await.unwrap().map(|leader| leader.name);
        bench.close().await.unwrap();
        (failed, leader)
    }

    #[tokio::test]
    async fn an_eviction_that_another_leader_forestalls_does_nothing() {
        let (failed, leader) = evicting_ada(vec!["ben"]).await;
        let says = "jobs is now held by ben, not by ada: nothing was done";
        assert_eq!((failed.as_deref(), leader.as_deref()), (Some(says), Some("ben")));
    }

    #[tokio::test]
    async fn a_leader_that_renews_its_lease_meanwhile_is_evicted_all_the_same() {
        assert_eq!(evicting_ada(vec!["ada"; 4]).await, (None, None));
    }

    #[tokio::test]
    async fn a_leader_that_is_never_met_is_left() {
        let (failed, leader) = evicting_ada(vec!["ada"; 5]).await;
        let says = "ada renewed its lease during each of 5 tries, and still leads jobs: try again";
        assert_eq!((failed.as_deref(), leader.as_deref()), (Some(says), Some("ada")));
    }
}
