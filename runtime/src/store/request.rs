//! What an operator asks of a leader: a record beside the election's key.
//!
//! The key itself is the candidates' alone. A request to hand over lies under
//! `_incumbent.hand-over.KEY`; every candidate watches all keys of its store anyway, and the one that
//! holds the seat honours it: it drains, and releases the seat to the successor. The record goes by itself,
//! when a record of the store does.

use incumbent_core::Revision;
use incumbent_core::record::Nonce;
use incumbent_core::store::Fault;

use super::Operate;
use crate::{Error, ErrorKind, Result};

/// What the keys begin with that no election can have.
const RESERVED: &str = "_incumbent.";
/// What the key of a request to hand over begins with; the election's key follows.
const HAND_OVER: &str = "_incumbent.hand-over.";

/// A request that the leader hands the seat over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The campaign that is asked, by the nonce in its record. Another one that leads by then is not meant.
    pub leader: Nonce,
    /// The name of the candidate that is to follow.
    pub to: String,
}

impl HandOver {
    /// Asks the leader of that election. It honours the request as soon as its watch tells it.
    ///
    /// # Errors
    /// Those of [`Operate::put`].
    pub async fn ask(&self, store: &dyn Operate, election: &str) -> std::result::Result<Revision, Fault> {
        let text = format!("{:032x} {}", self.leader.0, self.to);
        store.put(&Self::key(election), text.as_bytes()).await
    }

    /// Takes the request back, for a leader that has not heard of it.
    ///
    /// # Errors
    /// Those of [`Operate::delete`].
    pub async fn withdraw(store: &dyn Operate, election: &str) -> std::result::Result<Revision, Fault> {
        store.delete(&Self::key(election)).await
    }

    /// The key under which the request lies: what an operator must be permitted to write.
    pub fn key(election: &str) -> String {
        format!("{HAND_OVER}{election}")
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let (nonce, to) = text.split_once(' ')?;
        let is_nonce = nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        let leader = u128::from_str_radix(nonce, 16).ok().filter(|_| is_nonce).map(Nonce)?;
        Some(Self { leader, to: to.to_owned() })
    }
}

/// The election that a request under this key is about.
pub(crate) fn election_of(key: &str) -> Option<&str> {
    key.strip_prefix(HAND_OVER).filter(|election| !election.is_empty())
}

/// Whether nothing under this key is an election's.
pub(crate) fn is_reserved(key: &str) -> bool {
    key.starts_with(RESERVED)
}

pub(crate) fn check_election(key: &str) -> Result<()> {
    if is_reserved(key) {
        let message =
            format!("no election can have the key {key:?}: those that begin with {RESERVED} are reserved");
        return Err(Error::new(ErrorKind::InvalidName, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::store::{Adapter, Memory, MemorySettings};

    #[tokio::test]
    async fn a_request_reads_back_from_beside_the_key() {
        let store = Memory::open(&MemorySettings::private(), &Clock::system()).unwrap();
        let request = HandOver { leader: Nonce(0xfeed), to: "worker 8".into() };
        request.ask(&store, "jobs").await.unwrap();
        assert_eq!(store.read("jobs").await.unwrap().revision(), None);
        let entry = store.read("_incumbent.hand-over.jobs").await.unwrap();
        assert_eq!(HandOver::read(&entry.live().unwrap().candidate), Some(request));
        assert_eq!(election_of("_incumbent.hand-over.jobs"), Some("jobs"));
        HandOver::withdraw(&store, "jobs").await.unwrap();
        assert!(store.read("_incumbent.hand-over.jobs").await.unwrap().live().is_none());
    }

    #[test]
    fn what_is_no_request_asks_for_nothing() {
        for text in ["", "worker-8", "feed worker-8", "+000000000000000000000000000000a worker-8"] {
            assert_eq!(HandOver::read(text), None, "{text:?}");
        }
        assert_eq!(election_of("jobs"), None);
        assert_eq!(election_of("_incumbent.hand-over."), None);
    }

    #[test]
    fn no_election_has_the_key_of_a_request() {
        assert_eq!(check_election("_incumbent.hand-over.jobs").unwrap_err().kind(), ErrorKind::InvalidName);
        check_election("jobs").unwrap();
    }
}
