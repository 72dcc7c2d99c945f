//! What was seen of one election.

use std::time::Duration;

use incumbent::Store;
use incumbent::incumbent_core::Token;
use incumbent::incumbent_core::campaign::default_margin;
use incumbent::incumbent_core::record::{Entry, Record};
use incumbent::store::CandidateInfo;

use crate::failure::Failure;

/// How often an entry is read that is renewed while we ask for its age.
const TRIES: usize = 3;

/// One election, as the store has it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) entry: Entry,
    /// How long ago a live record was written, where the store says so.
    pub(super) ago: Option<Duration>,
    /// Who said to stand in it, the longest first; none where the store has no way to ask.
    pub(super) candidates: Option<Vec<CandidateInfo>>,
}

/// How long somebody has led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Led {
    For(Duration),
    /// The store does not say when the leader said so.
    AtLeast(Duration),
    /// It took the seat so long ago, where the store says so, and has not renewed since.
    SinceItsWin(Option<Duration>),
    /// It holds the seat, and waits until nobody else can believe that it leads.
    NotYet,
}

impl Seen {
    /// What the key holds, and how old that is.
    pub(super) async fn now(store: &Store, key: &str, entry: Option<Entry>) -> Result<Self, Failure> {
        let mut entry = match entry {
            Some(entry) => entry,
            None => store.entry(key).await?,
        };
        let mut ago = None;
        for _ in 0..TRIES {
            let Some(record) = entry.live() else { break };
            let Some(written) = store.written(key).await? else { break };
            if written.revision == record.revision {
                ago = Some(written.ago);
                break;
            }
            entry = store.entry(key).await?;
        }
        Ok(Self { key: key.to_owned(), entry, ago, candidates: None })
    }

    /// The fencing token of the term, by its holder's account.
    pub(super) fn token(&self) -> Option<Token> {
        Some(self.entry.live()?.claim?.token)
    }

    /// How long the holder has led; none where it is other software and does not say.
    pub(super) fn led(&self) -> Option<Led> {
        let record = self.entry.live()?;
        let claim = record.claim?;
        Some(match (claim.led_for, self.ago) {
            (None, ago) if claim.token.sequence == record.revision => Led::SinceItsWin(ago),
            (None, _) => Led::NotYet,
            (Some(led_for), Some(ago)) => Led::For(led_for + ago),
            (Some(led_for), None) => Led::AtLeast(led_for),
        })
    }

    /// What is left of the holder's lease, by the store's clock.
    pub(super) fn left(&self) -> Option<Duration> {
        let lease = self.lease()?;
        Some(lease.saturating_sub(self.ago?))
    }

    pub(super) fn lease(&self) -> Option<Duration> {
        self.entry.live()?.lease
    }

    /// How long before the end of its lease the leader stops, unless it was set otherwise.
    pub(super) fn margin(&self) -> Option<Duration> {
        self.lease().map(default_margin)
    }

    /// Whether this candidate is the one that holds the seat.
    pub(super) fn holds(&self, candidate: &CandidateInfo) -> bool {
        self.entry.live().is_some_and(|record| is_of(record, candidate))
    }
}

/// Whether the record is that candidate's.
pub(crate) fn is_of(record: &Record, candidate: &CandidateInfo) -> bool {
    record.candidate == candidate.name && record.stamp.map(|stamp| stamp.nonce) == candidate.nonce
}
