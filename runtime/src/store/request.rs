//! What an operator asks of candidates: a record beside the election's key.
//!
//! The key itself is the candidates' alone. Every candidate watches all keys of its store anyway, so a request beside
//! the key reaches all of them. The record goes by itself, when a record of the store does.
//!
//! - `_incumbent.hand-over.KEY`: the leader that it names drains, and releases the seat to the successor.
//! - `_incumbent.accept-reset.KEY`: the candidates that stay out because the store went back, having seen no larger
//!   token than it names, let tokens start again.

use incumbent_core::record::Nonce;
use incumbent_core::store::Fault;
use incumbent_core::{Incarnation, Revision, Token};

use super::StoreAdmin;
use crate::{Error, ErrorKind, Result};

/// What the keys begin with that no election can have.
const RESERVED: &str = "_incumbent.";
/// What the key of a request to hand over begins with; the election's key follows.
const HAND_OVER: &str = "_incumbent.hand-over.";
/// What the key of an acceptance of a reset begins with.
const ACCEPT_RESET: &str = "_incumbent.accept-reset.";

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
    /// Those of [`StoreAdmin::put`].
    pub async fn ask(&self, store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        let text = format!("{:032x} {}", self.leader.0, self.to);
        store.put(&Self::key(election), text.as_bytes()).await
    }

    /// Takes the request back, for a leader that has not heard of it.
    ///
    /// # Errors
    /// Those of [`StoreAdmin::delete`].
    pub async fn withdraw(store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        store.delete(&Self::key(election)).await
    }

    /// The key under which the request lies: what an operator must be permitted to write.
    pub fn key(election: &str) -> String {
        format!("{HAND_OVER}{election}")
    }

    fn read(text: &str) -> Option<Self> {
        let (nonce, to) = text.split_once(' ')?;
        let is_nonce = nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        let leader = u128::from_str_radix(nonce, 16).ok().filter(|_| is_nonce).map(Nonce)?;
        Some(Self { leader, to: to.to_owned() })
    }
}

/// An operator's statement that the tokens of an election may start again, after its store was restored or lost writes
/// that it had acknowledged.
///
/// A candidate that stays out ([`StoreReset`](crate::Warning::StoreReset), barred) honours it once, and only where
/// it has seen no larger token than is named and the store is of the incarnation that is named. So a request that
/// comes late, or again, is about no other reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptReset {
    /// The largest token that may be forgotten, as the candidates report it.
    pub seen: Token,
    /// The incarnation of the store as it is now.
    pub incarnation: Incarnation,
}

impl AcceptReset {
    /// Asks the candidates of that election. They honour the request as soon as their watch shows it.
    ///
    /// # Errors
    /// Those of [`StoreAdmin::put`].
    pub async fn ask(&self, store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        let text = format!("{} {:016x}", self.seen, self.incarnation.0);
        store.put(&Self::key(election), text.as_bytes()).await
    }

    /// The key under which the request lies: what an operator must be permitted to write.
    pub fn key(election: &str) -> String {
        format!("{ACCEPT_RESET}{election}")
    }

    fn read(text: &str) -> Option<Self> {
        let (seen, incarnation) = text.split_once(' ')?;
        let is_plain = incarnation.len() == 16 && incarnation.bytes().all(|byte| byte.is_ascii_hexdigit());
        let incarnation = u64::from_str_radix(incarnation, 16).ok().filter(|_| is_plain)?;
        Some(Self { seen: seen.parse().ok()?, incarnation: Incarnation(incarnation) })
    }
}

/// What an operator asks of the candidates of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    HandOver(HandOver),
    AcceptReset(AcceptReset),
}

/// The election that the record under a key is about, and what it asks; `None` where it asks nothing.
pub(crate) fn read<'key>(key: &'key str, text: &str) -> Option<(&'key str, Request)> {
    let under = |prefix| key.strip_prefix(prefix).filter(|election| !election.is_empty());
    if let Some(election) = under(HAND_OVER) {
        return Some((election, Request::HandOver(HandOver::read(text)?)));
    }
    let election = under(ACCEPT_RESET)?;
    Some((election, Request::AcceptReset(AcceptReset::read(text)?)))
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
        let text = &entry.live().unwrap().candidate;
        assert_eq!(read("_incumbent.hand-over.jobs", text), Some(("jobs", Request::HandOver(request))));
        HandOver::withdraw(&store, "jobs").await.unwrap();
        assert!(store.read("_incumbent.hand-over.jobs").await.unwrap().live().is_none());
    }

    #[test]
    fn what_is_no_request_asks_for_nothing() {
        for text in ["", "worker-8", "feed worker-8", "+000000000000000000000000000000a worker-8"] {
            assert_eq!(HandOver::read(text), None, "{text:?}");
        }
        let text = "0000000000000000000000000000feed worker-8";
        assert!(read("_incumbent.hand-over.jobs", text).is_some());
        for key in ["jobs", "_incumbent.hand-over.", "_incumbent.accept-reset.jobs"] {
            assert_eq!(read(key, text), None, "{key:?}");
        }
    }

    #[tokio::test]
    async fn an_acceptance_reads_back_from_beside_the_key() {
        let store = Memory::open(&MemorySettings::private(), &Clock::system()).unwrap();
        let seen = Token { incarnation: Incarnation(7), sequence: Revision(42) };
        let request = AcceptReset { seen, incarnation: Incarnation(6) };
        request.ask(&store, "jobs").await.unwrap();
        let key = "_incumbent.accept-reset.jobs";
        let entry = store.read(key).await.unwrap();
        let text = &entry.live().unwrap().candidate;
        assert_eq!(text, "0000000000000007-000000000000002a 0000000000000006");
        assert_eq!(read(key, text), Some(("jobs", Request::AcceptReset(request))));
        for text in
            ["", "0000000000000007-000000000000002a", "0000000000000007-000000000000002a +000000000000006"]
        {
            assert_eq!(read(key, text), None, "{text:?}");
        }
    }

    #[test]
    fn no_election_has_the_key_of_a_request() {
        assert_eq!(check_election("_incumbent.hand-over.jobs").unwrap_err().kind(), ErrorKind::InvalidName);
        check_election("jobs").unwrap();
    }
}
