//! An operator's actions on an election: a request to its candidates, or the removal of its record.

pub(crate) mod accept_reset;
pub(crate) mod evict;
pub(crate) mod hand_over;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use incumbent::store::{StoreAdmin, StoreSettings};
use incumbent::{Error, ErrorKind, Leader, Store};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::store::{ConnectionReports, StoreArgs};

/// The store, for reads and for an operator's writes.
pub(crate) struct Bench {
    pub(crate) store: Store,
    /// Its elections are queues, in which other software stands too.
    pub(crate) is_queue: bool,
    /// Its elections are consumer groups, which choose by themselves.
    is_group: bool,
    operator: Box<dyn StoreAdmin>,
}

impl Bench {
    async fn open(args: &StoreArgs) -> Result<Self, Failure> {
        Self::open_reporting(args, &ConnectionReports::default()).await
    }

    /// Opens the store so that connection messages can be kept off the screen.
    pub(crate) async fn open_reporting(
        args: &StoreArgs,
        reports: &ConnectionReports,
    ) -> Result<Self, Failure> {
        let settings = args.settings_to_look()?;
        if matches!(settings, StoreSettings::Memory(_)) {
            return Err(Failure::usage("a store in memory has no other process that could lead there"));
        }
        let store = args.open_reporting(Store::builder(), settings.clone(), reports).await?;
        let operator = settings.operate(store.clock()).await?;
        let (is_queue, is_group) = (crate::store::is_queue(&settings), crate::store::is_kafka(&settings));
        Ok(Self { store, is_queue, is_group, operator })
    }

    /// Refuses what no operator can do in this store, before any question is asked.
    fn check_orders(&self) -> Result<(), Failure> {
        if !self.is_group {
            return Ok(());
        }
        let why = "in Kafka the group chooses the owner of its partition: nothing hands an election over to a member that \
                   is named, and nothing evicts a leader; stop the leader, or remove its member with \
                   kafka-consumer-groups.sh";
        Err(Error::new(ErrorKind::Unsupported, why).into())
    }

    /// Evicts that leader, where it still leads.
    pub(crate) async fn evict(&self, key: &str, leader: &Leader) -> Result<(), Failure> {
        self.check_orders()?;
        self.still(key, leader).await?;
        self.operator.delete(key).await?;
        Ok(())
    }

    /// The leader; none where there is a vacancy.
    async fn leader(&self, key: &str) -> Result<Option<Leader>, Failure> {
        Ok(self.store.leader(key).await?)
    }

    /// Checks that the leader is still the one that the operator was asked about.
    async fn still(&self, key: &str, asked: &Leader) -> Result<(), Failure> {
        match self.leader(key).await? {
            Some(leader) if is_same(&leader, asked) => Ok(()),
            Some(leader) => Err(Failure::failed(format!(
                "{key} is held by {} now, and no longer by {}: nothing was done",
                leader.name, asked.name
            ))),
            None => Err(Failure::failed(format!(
                "{key} has fallen vacant, and nothing was done: {} is gone",
                asked.name
            ))),
        }
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self.operator);
        Ok(self.store.close().await?)
    }
}

/// Returns true if both are the same campaign.
pub(crate) fn is_same(one: &Leader, other: &Leader) -> bool {
    one.name == other.name && one.nonce == other.nonce
}

/// Asks the person at the terminal, unless `yes` is set.
///
/// # Errors
/// A command line without a terminal and without `--yes`; the answer no.
pub(super) async fn confirm(question: String, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "{question} The standard input is no terminal to answer at: confirm with --yes"
        )));
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.await.map_err(io::Error::other)??;
    if is_yes(&answer) { Ok(()) } else { Err(Failure::ended(Exit::Failure, "nothing was done")) }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(["y\n", "Y", "yes\r\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n", "no", "yess", "ja"].into_iter().any(is_yes));
    }
}
