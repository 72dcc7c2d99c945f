//! A candidate: its campaign, its surroundings, and notes for the checks.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use incumbent_core::campaign::Term;
use incumbent_core::candidacy::Candidacy;
use incumbent_core::record::Nonce;

use crate::clock::Tick;
use crate::state::hasher;
use crate::store::{InputOf, Store};

/// A candidate, or an empty slot for one, with the state of its process on this store.
#[derive(Clone, Debug)]
pub(crate) struct Node<S: Store> {
    /// The candidate's campaign; `None` if its process has ended or has not begun.
    pub(crate) campaign: Option<Candidacy<S::Rule>>,
    /// When its next timer fires.
    pub(crate) wakes: Tick,
    /// The latest time until which the process is stopped, if it is.
    pub(crate) paused: Option<Tick>,
    /// The candidate's requests, in the order in which they were sent.
    pub(crate) requests: VecDeque<S::Request>,
    /// The inputs that the stopped process has not yet received.
    pub(crate) inbox: VecDeque<InputOf<S>>,
    /// The term whose win the candidate has reported, and whose loss it has not yet reported.
    pub(crate) term: Option<Term>,
    /// Whether the work of the candidate's term continues, even if the term ends or has ended.
    pub(crate) working: bool,
    own: S::Process,
    /// The digest of all fields above, as of their last change.
    digest: u64,
}

impl<S: Store> Deref for Node<S> {
    type Target = S::Process;

    fn deref(&self) -> &S::Process {
        &self.own
    }
}

impl<S: Store> DerefMut for Node<S> {
    fn deref_mut(&mut self) -> &mut S::Process {
        &mut self.own
    }
}

impl<S: Store> Node<S> {
    pub(crate) fn absent() -> Self {
        let mut node = Self {
            campaign: None,
            wakes: Tick::MAX,
            paused: None,
            requests: VecDeque::new(),
            inbox: VecDeque::new(),
            term: None,
            working: false,
            own: S::Process::default(),
            digest: 0,
        };
        node.seal();
        node
    }

    /// Ends the process.
    pub(crate) fn end(&mut self) {
        (self.campaign, self.wakes, self.paused) = (None, Tick::MAX, None);
        (self.term, self.working) = (None, false);
        self.requests.clear();
        self.inbox.clear();
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Computes the digest again after a change.
    pub(crate) fn seal(&mut self) {
        let mut hasher = hasher();
        if let Some(campaign) = &self.campaign {
            campaign.fingerprint(&mut hasher);
        }
        (self.campaign.is_some(), self.wakes, self.paused, self.term, self.working).hash(&mut hasher);
        self.own.hash(&mut hasher);
        if !self.requests.is_empty() || !self.inbox.is_empty() {
            format!("{:?}{:?}", self.requests, self.inbox).hash(&mut hasher);
        }
        self.digest = hasher.finish();
    }
}

/// The name of the candidate with this index.
pub(crate) fn name(place: usize) -> &'static str {
    ["a", "b", "c"].get(place).copied().unwrap_or("go")
}

/// The nonce of a process at this index. No two processes share one.
pub(crate) fn nonce(place: usize, process: u8) -> Nonce {
    Nonce(100 * (place as u128 + 1) + u128::from(process))
}
