//! The lease campaign over a key-value store.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election. It takes [`Input`]s and returns [`Output`]s;
//! in between it does nothing.
//!
//! ```text
//!              campaign            splay over           acquire sent
//!      Idle ────────────▶ Splaying ──────────▶ Waiting ─────────────▶ Acquiring
//!        ▲                                      ▲  ▲ ▲                    │
//!        │ unhealthy                            │  │ └────────────────────┤ refused, no answer
//!        │                                      │  │                      │ applied
//!        │            released, or not ours     │  │ lost: usurped,       ▼
//!        └───────────── Releasing ──────────────┘  │ deleted, expired   Holding
//!                       │      ▲                   │                      │ the win delay is over:
//!                closed │      │ Lost is reported  ├──────────────────────┤ Won is reported
//!                       ▼      │                   │                      ▼
//!                    Closed    └──── Draining ◀────┴────────────────── Leading
//!                                       resign, hand over, unhealthy, close
//! ```
//!
//! # What makes it safe
//!
//! The store keeps a record for the lease `T` from when it is *applied*. The holder counts `T` from when the record was
//! *sent*, which is earlier, and stops a margin `M` before that. So a holder that is cut off knows, without any
//! message, that its lease is over before another candidate can acquire (C. Gray and D. Cheriton, "Leases", SOSP 1989).
//! [`Campaign::lease`] is that deadline; only comparing it with the clock tells who leads.
//!
//! A record can vanish early: an operator deletes the key, purges the stream or replaces the store, or a server's clock
//! jumps. Then a new holder acquires, keeps the lease by renewals, and waits until every holder that it observed before
//! must have stopped. This wait is the win delay.
//!
//! A lease is released only once the work of its term is known to have ended ([`Input::Drained`]). If the drain's time
//! runs out first, the term is lost all the same and renewals stop. The campaign is then Releasing: it sends the
//! release when the work ends, or lets the lease run out.
//!
//! # Reading order
//!
//! 1. `io`, `event`, `settings`: what goes in and what comes out.
//! 2. [`candidacy`](crate::candidacy): how a candidate handles an input, the same for every rule. `hooks`: what this
//!    rule adds. This file: what a candidate knows.
//! 3. The parts, each a type with rules of its own: `store_view` (incarnation, marks, tokens, connection), `key` (the
//!    observed entry and the win delay that follows), `sights` (what was shown before the campaign began), `attempts`
//!    (the writes in flight), `timers`.
//! 4. The states: `candidate` decides when to acquire, `holder` keeps the lease and reports the win, `releasing` leaves.
//! 5. The requests: `turns` holds them back until their session has a place for them.
//! 6. The answers: `writes` sends and classifies, `reading` observes the key, `inspecting` the store; `retrying`,
//!    `yielding` and `barred` hold the rules for failures, for failures that last, and for tokens that would not grow.

mod attempts;
pub(crate) mod backoff;
mod barred;
mod candidate;
mod draw;
mod event;
mod forecast;
mod holder;
mod hooks;
mod inspecting;
mod io;
mod key;
pub(crate) mod pace;
mod reading;
mod releasing;
mod reporting;
mod retrying;
mod settings;
mod sights;
mod store_view;
mod timers;
mod turns;
mod writes;
mod yielding;

pub use backoff::Backoff;
pub use draw::{Identity, draw};
pub use event::{Event, Leader, Lease, Reason, State, Term, Warning};
pub use forecast::Forecast;
pub use io::{Answer, Input, Misuse, Output, ReadId, Request};
pub use settings::{InvalidSettings, Preset, Settings, WinDelay, check_name, default_margin};
pub(crate) use settings::{Margin, check_candidate, check_margin, refuse_bucket_settings};
pub use sights::EarlySights;
pub use timers::{Timer, Wake};

use crate::candidacy::{Candidacy, Stage};
use crate::record::{Nonce, Record, WriteId};
use crate::store::{Capabilities, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;
use attempts::{Attempts, Sent};
use candidate::Setbacks;
use holder::Holder;
use key::KeyView;
use reporting::Reported;
use store_view::StoreView;
use turns::Turns;

/// One candidate's running attempt to win and keep an election.
pub type Campaign = Candidacy<KeyLease>;

/// What a candidate for a lease over a key knows.
#[derive(Clone, Debug)]
pub struct KeyLease {
    setbacks: Setbacks,
    store: StoreView,
    key: KeyView,
    attempts: Attempts,
    reported: Reported,
    /// The candidate's connection has many campaigns, so renewals are spread over time.
    is_one_of_many: bool,
    turns: Turns,
}

/// The two roles of a candidate in the race.
#[derive(Clone, Debug, Hash)]
pub enum Race {
    /// Waits until the key is free.
    Candidate,
    /// As far as this candidate knows, the key holds its newest record.
    Holder(Holder),
}

impl Candidacy<KeyLease> {
    /// Creates a campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `info` is the result of an inspection of the store. `nonce` must not be used for another campaign. `seed`
    /// decides every random choice: the same seed and inputs give the same outputs. [`draw`] makes both from the
    /// operating system's random numbers. `now` is a reading of the clock that all later inputs use. Pass what a watch
    /// showed before to [`recall`](Self::recall).
    ///
    /// # Errors
    ///
    /// Returns the setting that is inconsistent, or that the store cannot keep.
    pub fn new(
        settings: Settings,
        store: Capabilities,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let rules = settings::rules(settings, store, info)?;
        let lease = rules.lease;
        let longest = info.max_age.map_or(lease, |age| age.max(lease));
        let own = KeyLease {
            setbacks: Setbacks::default(),
            store: StoreView::new(info, longest, rules.margin.skew(lease), now),
            key: KeyView::default(),
            attempts: Attempts::default(),
            reported: Reported::nothing(),
            is_one_of_many: false,
            turns: Turns::default(),
        };
        Ok(Self::idle(rules, nonce, seed, now, own))
    }

    /// Does whatever the stage calls for now: after a renewal's timer, a failure, or a new connection.
    fn act(&mut self) {
        match &self.stage {
            Stage::Racing(Race::Holder(holder)) if holder.must_read => self.read(),
            Stage::Racing(Race::Holder(_)) => self.renew(),
            Stage::Releasing(_) => self.release(),
            Stage::Racing(Race::Candidate) => self.plan(),
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    fn holder(&self) -> Option<&Holder> {
        match &self.stage {
            Stage::Racing(Race::Holder(holder)) => Some(holder),
            _ => None,
        }
    }

    fn holder_mut(&mut self) -> Option<&mut Holder> {
        match &mut self.stage {
            Stage::Racing(Race::Holder(holder)) => Some(holder),
            _ => None,
        }
    }

    /// Whether this campaign wrote `record`, as far as it knows.
    ///
    /// The nonce alone does not prove that: if random numbers repeat, another process may have the same nonce. So the
    /// name must be ours, and the attempt must be one that we sent and that the store's answers do not contradict.
    fn is_ours(&self, record: &Record) -> bool {
        let Some(write_id) = record.write_id.filter(|write_id| write_id.nonce == self.nonce) else {
            return false;
        };
        let present = self.own.store.incarnation();
        record.candidate == self.rules.name
            && self.own.attempts.may_have_written(write_id.attempt, record, present)
    }

    /// The attempt that wrote a record of ours.
    ///
    /// `None` if the attempt is forgotten, or was meant for another incarnation. In another incarnation its expected
    /// revision may have matched by chance and replaced any record, so nothing known when it was sent counts.
    fn sent_as(&self, record: &Record) -> Option<Sent> {
        let sent = self.own.attempts.find(record.write_id.filter(|_| self.is_ours(record))?.attempt)?;
        (sent.incarnation == self.own.store.incarnation()).then_some(sent)
    }

    /// The observed record, if it is ours.
    fn own_record_observed(&self) -> Option<&Record> {
        self.own.key.record().filter(|record| self.is_ours(record))
    }

    /// The record that our attempt leaves at `revision`, to be observed in place of the present record. It reuses the
    /// present record's texts if they are equal.
    fn own_record(&mut self, sent: &Sent, revision: Revision) -> Record {
        let (name, metadata) = (&self.rules.name, &self.rules.metadata);
        let before = self.own.key.take_texts().filter(|before| (&before.0, &before.1) == (name, metadata));
        let (candidate, metadata) = before.unwrap_or_else(|| (name.clone(), metadata.clone()));
        Record {
            revision,
            candidate,
            write_id: Some(WriteId { nonce: self.nonce, attempt: sent.attempt }),
            lease: Some(sent.stated_lease),
            term_info: None,
            metadata,
            oversize: None,
        }
    }
}
