//! An operator's requests to candidates: records next to the election's key.
//!
//! Only candidates write the key itself. Every candidate watches the requests about its election along with the key, so
//! a request reaches all of them. The record expires like any record of the store.
//!
//! - `_incumbent.hand-over.KEY`: the named leader drains, and releases the lease to the successor.
//! - `_incumbent.accept-reset.KEY`: lets tokens start again. It applies to candidates that stay out because the store
//!   went back, and that have seen no larger token than it names.

use incumbent_core::record::Nonce;
use incumbent_core::store::Fault;
use incumbent_core::{Incarnation, Revision, Token};

use crate::adapter::StoreAdmin;
use crate::error::{Error, ErrorKind, Result};
use crate::selectors;

/// The prefix of keys that are reserved, so no election can have them.
pub const RESERVED: &str = "_incumbent.";
/// The key prefix of a hand-over request; the election's key follows.
const HAND_OVER: &str = "_incumbent.hand-over.";
/// The key prefix of an operator's acceptance of a reset.
const ACCEPT_RESET: &str = "_incumbent.accept-reset.";

/// The NATS subject of all requests about an election, within its bucket.
pub fn subject(election: &str) -> String {
    format!("{RESERVED}*.{election}")
}

/// A request that the leader hands over the leadership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The campaign that should hand over, by the nonce in its record. If another campaign leads when the request
    /// arrives, that one ignores it.
    pub leader: Nonce,
    /// The name of the successor.
    pub to: String,
}

impl HandOver {
    /// Sends the request to the leader of that election. The leader honours it as soon as its watch shows it.
    ///
    /// # Errors
    /// Those of [`StoreAdmin::put`].
    pub async fn ask(&self, store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        let text = format!("{:032x} {}", self.leader.0, self.to);
        store.put(&Self::key(election), text.as_bytes()).await
    }

    /// Withdraws the request, for a leader that has not seen it yet.
    ///
    /// # Errors
    /// Those of [`StoreAdmin::delete`].
    pub async fn withdraw(store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        store.delete(&Self::key(election)).await
    }

    /// The key of the request, which an operator needs permission to write.
    pub fn key(election: &str) -> String {
        format!("{HAND_OVER}{election}")
    }

    /// Reads the text of a request; `None` for any other text.
    pub fn read(text: &str) -> Option<Self> {
        let (nonce, to) = text.split_once(' ')?;
        let is_nonce = nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        let leader = u128::from_str_radix(nonce, 16).ok().filter(|_| is_nonce).map(Nonce)?;
        Some(Self { leader, to: to.to_owned() })
    }
}

/// An operator's statement that the tokens of an election may start again, after its store was restored or lost writes
/// that it had acknowledged.
///
/// A candidate that stays out ([`StoreReset`](incumbent_core::campaign::Warning::StoreReset), barred) honours the
/// statement once, and only if it has seen no larger token than `seen` and the store has this `incarnation`. So a late
/// or repeated request cannot apply to another reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptReset {
    /// The largest token that may be forgotten, as the candidates report it.
    pub seen: Token,
    /// The present incarnation of the store.
    pub incarnation: Incarnation,
}

impl AcceptReset {
    /// Sends the request to the candidates of that election. They honour it as soon as their watch shows it.
    ///
    /// # Errors
    /// Those of [`StoreAdmin::put`].
    pub async fn ask(&self, store: &dyn StoreAdmin, election: &str) -> std::result::Result<Revision, Fault> {
        let text = format!("{} {:016x}", self.seen, self.incarnation.0);
        store.put(&Self::key(election), text.as_bytes()).await
    }

    /// The key of the request, which an operator needs permission to write.
    pub fn key(election: &str) -> String {
        format!("{ACCEPT_RESET}{election}")
    }

    /// Reads the text of a request; `None` for any other text.
    pub fn read(text: &str) -> Option<Self> {
        let (seen, incarnation) = text.split_once(' ')?;
        let is_plain = incarnation.len() == 16 && incarnation.bytes().all(|byte| byte.is_ascii_hexdigit());
        let incarnation = u64::from_str_radix(incarnation, 16).ok().filter(|_| is_plain)?;
        Some(Self { seen: seen.parse().ok()?, incarnation: Incarnation(incarnation) })
    }
}

/// An operator's request to the candidates of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The leader hands over.
    HandOver(HandOver),
    /// Asks the candidates to accept that tokens start again.
    AcceptReset(AcceptReset),
}

/// The election and the request that the record under a key states; `None` for any other record.
pub fn read<'key>(key: &'key str, text: &str) -> Option<(&'key str, Request)> {
    let under = |prefix| key.strip_prefix(prefix).filter(|election| !election.is_empty());
    if let Some(election) = under(HAND_OVER) {
        return Some((election, Request::HandOver(HandOver::read(text)?)));
    }
    let election = under(ACCEPT_RESET)?;
    Some((election, Request::AcceptReset(AcceptReset::read(text)?)))
}

/// Returns true if the key is reserved, so that no election can have it.
pub fn is_reserved(key: &str) -> bool {
    key.starts_with(RESERVED)
}

/// Refuses a key that is impossible for an election in any store.
pub fn check_election(key: &str) -> Result<()> {
    if is_reserved(key) {
        let message =
            format!("no election can have the key {key:?}: keys that begin with {RESERVED} are reserved");
        return Err(Error::new(ErrorKind::InvalidName, message));
    }
    selectors::check(ErrorKind::InvalidName, selectors::named("key", key))
}
