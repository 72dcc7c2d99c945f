//! A candidate, and all of its events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use incumbent::incumbent_core::campaign::{Event, Term};
use incumbent::{Instant, Token};
use tokio::task::JoinHandle;

use super::implementation::{Call, Player, Refused, Reported};
use crate::scenario;

/// A candidate of a scenario. Its log continues from one campaign to the next.
pub(super) struct Actor {
    pub(super) id: String,
    pub(super) of: scenario::Candidate,
    pub(super) candidate: Option<Arc<dyn Player>>,
    pub(super) book: Arc<Book>,
    /// Calls that have not been seen to return, oldest first, each with its verb.
    pub(super) leaving: VecDeque<(&'static str, JoinHandle<Result<(), Refused>>)>,
    reader: Option<JoinHandle<()>>,
}

impl Actor {
    pub(super) fn new(id: &str, of: &scenario::Candidate, begun: Instant) -> Self {
        Self {
            id: id.into(),
            of: of.clone(),
            candidate: None,
            book: Arc::new(Book { id: id.into(), works: of.works, begun, pages: Mutex::default() }),
            leaving: VecDeque::new(),
            reader: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.of.name.as_deref().unwrap_or(&self.id)
    }

    /// Begins a campaign, and reads its events.
    pub(super) fn begin(&mut self, candidate: Arc<dyn Player>, clock: incumbent::Clock) {
        let (reported, book) = (Arc::clone(&candidate), Arc::clone(&self.book));
        self.book.pages().current = None;
        self.candidate = Some(candidate);
        self.reader = Some(tokio::spawn(async move {
            while let Some(next) = reported.next().await {
                book.take(next, clock.now());
            }
        }));
    }

    /// Drops the candidate; its events are no longer read.
    pub(super) fn die(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.abort();
        }
        self.leaving.clear();
        self.candidate = None;
        let mut pages = self.book.pages();
        pages.at_work = false;
        // Events that came just before its death count as consumed.
        pages.read = pages.terms.len();
    }

    pub(super) fn leave(&mut self, verb: &'static str, leaving: Call) {
        self.leaving.push_back((verb, tokio::spawn(leaving)));
    }
}

/// All events of a candidate.
pub(super) struct Book {
    id: String,
    works: bool,
    begun: Instant,
    pages: Mutex<Pages>,
}

#[derive(Default)]
pub(super) struct Pages {
    /// The events of its terms.
    pub(super) terms: Vec<OfTerm>,
    /// The number of those that a step has consumed.
    pub(super) read: usize,
    pub(super) warnings: Vec<&'static str>,
    /// For the report of a failure: time and text.
    pub(super) history: Vec<(Instant, String)>,
    /// The first rule that was broken.
    pub(super) broken: Option<String>,
    /// Whether it received a term and works in it.
    pub(super) at_work: bool,
    current: Option<Current>,
}

struct Current {
    token: Token,
    drained: bool,
}

/// An event about a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OfTerm {
    Won { token: Token, at: Instant },
    Draining { reason: &'static str },
    Lost { reason: &'static str, drained: bool, at: Instant },
}

impl std::fmt::Display for OfTerm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Won { token, .. } => write!(f, "Won with token {token}"),
            Self::Draining { reason } => write!(f, "Draining for {reason}"),
            Self::Lost { reason, drained: true, .. } => write!(f, "Lost for {reason}, after a drain"),
            Self::Lost { reason, drained: false, .. } => write!(f, "Lost for {reason}, without a drain"),
        }
    }
}

impl Book {
    pub(super) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, Reported { event, is_current }: Reported, at: Instant) {
        let mut pages = self.pages();
        let reported = match event {
            Event::Won(Term { token, started }) => {
                if let Some(current) = &pages.current {
                    let before = current.token;
                    pages.breaks(format!("{} got Won with {token} during its term {before}", self.id));
                }
                pages.current = Some(Current { token, drained: false });
                pages.terms.push(OfTerm::Won { token, at: started });
                pages.at_work = self.works;
                format!("Won with token {token}")
            }
            Event::Draining { term: Term { token, .. }, until, reason } => {
                match &mut pages.current {
                    Some(current) if current.token == token && !current.drained => current.drained = true,
                    _ => pages.breaks(format!("{} got Draining of {token}, not its term", self.id)),
                }
                pages.terms.push(OfTerm::Draining { reason: reason.code() });
                format!("Draining for {reason:?}, until {} ms", until.since(self.begun).as_millis())
            }
            Event::Lost { term: Term { token, .. }, reason } => {
                if is_current {
                    pages.breaks(format!("{} got Lost, and its term {token} is current", self.id));
                }
                let drained = match pages.current.take() {
                    Some(current) if current.token == token => current.drained,
                    _ => {
                        pages.breaks(format!("{} got Lost of {token}, not its term", self.id));
                        false
                    }
                };
                pages.terms.push(OfTerm::Lost { reason: reason.code(), drained, at });
                pages.at_work = false;
                format!("Lost for {reason:?}, token {token}")
            }
            Event::LeaderChanged(leader) => match leader {
                Some(leader) => format!("sees {:?} as the leader", leader.name),
                None => "sees a vacancy".into(),
            },
            Event::StateChanged(state) => format!("is {}", state.code()),
            Event::Warning(warning) => {
                let code = warning.code();
                pages.warnings.push(code);
                format!("warning {code}: {warning}")
            }
        };
        pages.history.push((at, format!("{} {reported}", self.id)));
    }
}

impl Pages {
    /// The events of its terms that no step has consumed.
    pub(super) fn unread(&self) -> &[OfTerm] {
        self.terms.get(self.read..).unwrap_or_default()
    }

    fn breaks(&mut self, rule: String) {
        self.broken.get_or_insert(rule);
    }
}
