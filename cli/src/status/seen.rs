//! The observation of one election.

use std::time::Duration;

use incumbent::Store;
use incumbent::incumbent_core::Token;
use incumbent::incumbent_core::campaign::default_margin;
use incumbent::incumbent_core::queue;
use incumbent::incumbent_core::record::{Entry, Record};
use incumbent::store::CandidateInfo;

use crate::failure::Failure;

/// The number of attempts to read the entry and then its age without a renewal in between.
const TRIES: usize = 3;

/// One election, as the store reports it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) entry: Entry,
    /// Whether the election is a queue, in which a candidate writes nothing when it wins or keeps its lease alive.
    pub(super) is_queue: bool,
    /// Whether the election is a consumer group, which knows its members only by name.
    pub(super) is_group: bool,
    /// The age of a live record, if the store reports it.
    pub(super) ago: Option<Duration>,
    /// The candidates that answered, longest-standing first; `None` if the store has no way to ask.
    pub(super) candidates: Option<Vec<CandidateInfo>>,
}

/// The time for which the holder has led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Led {
    For(Duration),
    /// A lower bound, from the holder's last report. The store does not return the age of that report.
    AtLeast(Duration),
    /// The age of the holder's win, if the store reports it. The holder has not renewed since.
    SinceItsWin(Option<Duration>),
    /// The holder has the key, but waits until no other candidate can still believe that it leads itself.
    NotYet,
}

impl Seen {
    /// Reads the key's record and the record's age.
    pub(super) async fn now(
        store: &Store,
        key: &str,
        entry: Option<Entry>,
        is_queue: bool,
    ) -> Result<Self, Failure> {
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
        Ok(Self { key: key.to_owned(), entry, is_queue, is_group: false, ago, candidates: None })
    }

    /// The fencing token of the term, as its holder reports it.
    pub(super) fn token(&self) -> Option<Token> {
        Some(self.entry.live()?.term_info?.token)
    }

    /// The time for which the holder has led; `None` in a queue, and for other software, which does not report it.
    pub(super) fn led(&self) -> Option<Led> {
        let record = self.entry.live().filter(|_| !self.is_queue)?;
        let term_info = record.term_info?;
        Some(match (term_info.led_for, self.ago) {
            (None, ago) if term_info.token.sequence == record.revision => Led::SinceItsWin(ago),
            (None, _) => Led::NotYet,
            (Some(led_for), Some(ago)) => Led::For(led_for + ago),
            (Some(led_for), None) => Led::AtLeast(led_for),
        })
    }

    /// The remaining time of the holder's lease, by the store's clock.
    pub(super) fn left(&self) -> Option<Duration> {
        let lease = self.lease()?;
        Some(lease.saturating_sub(self.ago?))
    }

    pub(super) fn lease(&self) -> Option<Duration> {
        self.entry.live()?.lease
    }

    /// The default margin: how much earlier than the end of its lease the leader stops.
    pub(super) fn margin(&self) -> Option<Duration> {
        self.lease().map(if self.is_queue { queue::default_margin } else { default_margin })
    }

    /// Returns true if this candidate holds the key.
    pub(super) fn holds(&self, candidate: &CandidateInfo) -> bool {
        let by_name = |record: &Record| self.is_group && record.candidate == candidate.name;
        self.entry.live().is_some_and(|record| by_name(record) || is_of(record, candidate))
    }
}

/// Returns true if that candidate wrote the record.
pub(crate) fn is_of(record: &Record, candidate: &CandidateInfo) -> bool {
    record.candidate == candidate.name && record.write_id.map(|write_id| write_id.nonce) == candidate.nonce
}
