//! The candidates and observers of a scenario, and the events that they have reported.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent::incumbent_core::campaign::{Event, Leader, Term};
use incumbent::{Clock, Instant, Observer, Token};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::implementation::{Call, CandidateHandle, Refused, Reported};
use crate::scenario;

/// A candidate of a scenario. Its log continues from one campaign to the next.
pub(super) struct Participant {
    pub(super) id: String,
    pub(super) of: scenario::Candidate,
    pub(super) candidate: Option<Arc<dyn CandidateHandle>>,
    pub(super) log: Arc<EventLog>,
    /// Calls for which no step has awaited the return, oldest first, each with its verb.
    pub(super) leaving: VecDeque<(&'static str, JoinHandle<Result<(), Refused>>)>,
    reader: Option<JoinHandle<()>>,
}

impl Participant {
    pub(super) fn new(id: &str, of: &scenario::Candidate, begun: Instant) -> Self {
        Self {
            id: id.into(),
            of: of.clone(),
            candidate: None,
            log: Arc::new(EventLog { id: id.into(), works: of.works, begun, entries: Mutex::default() }),
            leaving: VecDeque::new(),
            reader: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.of.name.as_deref().unwrap_or(&self.id)
    }

    /// Begins to read the events of a candidate that has begun a campaign.
    pub(super) fn begin(&mut self, candidate: Arc<dyn CandidateHandle>, clock: Clock) {
        let (reported, log) = (Arc::clone(&candidate), Arc::clone(&self.log));
        self.log.entries().current = None;
        self.candidate = Some(candidate);
        self.reader = Some(tokio::spawn(async move {
            while let Some(next) = reported.next().await {
                log.take(next, clock.now());
            }
        }));
    }

    /// Reads the events that have arrived, because the reader may be late on a busy machine. Then stops reading.
    pub(super) async fn catch_up(&mut self, clock: &Clock) {
        let (Some(reader), Some(candidate)) = (self.reader.take(), &self.candidate) else { return };
        reader.abort();
        // The reader can be stopped only while it waits for an event, so no event is lost.
        let _ = reader.await;
        while let Ok(Some(next)) = timeout(Duration::ZERO, candidate.next()).await {
            self.log.take(next, clock.now());
        }
    }

    /// Drops the candidate, and stops reading its events.
    pub(super) fn die(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.abort();
        }
        self.leaving.clear();
        self.candidate = None;
        let mut entries = self.log.entries();
        entries.at_work = false;
        // Events that arrived just before the candidate's death count as consumed.
        entries.read = entries.terms.len();
    }

    pub(super) fn leave(&mut self, verb: &'static str, leaving: Call) {
        self.leaving.push_back((verb, tokio::spawn(leaving)));
    }
}

/// All events of a candidate.
pub(super) struct EventLog {
    id: String,
    works: bool,
    begun: Instant,
    entries: Mutex<Entries>,
}

#[derive(Default)]
pub(super) struct Entries {
    /// The events of its terms.
    pub(super) terms: Vec<TermEvent>,
    /// The number of events that a step has consumed.
    pub(super) read: usize,
    pub(super) warnings: Vec<&'static str>,
    /// The time and the text of each event, for the report of a failure.
    pub(super) history: Vec<(Instant, String)>,
    /// The first rule that the candidate broke.
    pub(super) broken: Option<String>,
    /// True if the candidate has received a term and works in it.
    pub(super) at_work: bool,
    current: Option<Current>,
}

struct Current {
    token: Token,
    drained: bool,
}

/// An event about a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TermEvent {
    Won { token: Token, at: Instant },
    Draining { reason: &'static str },
    Lost { reason: &'static str, drained: bool, at: Instant },
}

impl std::fmt::Display for TermEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Won { token, .. } => write!(f, "Won with token {token}"),
            Self::Draining { reason } => write!(f, "Draining for {reason}"),
            Self::Lost { reason, drained: true, .. } => write!(f, "Lost for {reason}, after a drain"),
            Self::Lost { reason, drained: false, .. } => write!(f, "Lost for {reason}, without a drain"),
        }
    }
}

impl EventLog {
    pub(super) fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, Reported { event, is_current }: Reported, at: Instant) {
        let mut entries = self.entries();
        let reported = match event {
            Event::Won(Term { token, started }) => {
                if let Some(current) = &entries.current {
                    let before = current.token;
                    entries.breaks(format!("{} got Won with {token} during its term {before}", self.id));
                }
                entries.current = Some(Current { token, drained: false });
                entries.terms.push(TermEvent::Won { token, at: started });
                entries.at_work = self.works;
                format!("Won with token {token}")
            }
            Event::Draining { term: Term { token, .. }, until, reason } => {
                match &mut entries.current {
                    Some(current) if current.token == token && !current.drained => current.drained = true,
                    _ => entries.breaks(format!("{} got Draining of {token}, not its term", self.id)),
                }
                entries.terms.push(TermEvent::Draining { reason: reason.code() });
                format!("Draining for {reason:?}, until {} ms", until.since(self.begun).as_millis())
            }
            Event::Lost { term: Term { token, .. }, reason } => {
                if is_current {
                    entries.breaks(format!("{} got Lost, and its term {token} is current", self.id));
                }
                let drained = match entries.current.take() {
                    Some(current) if current.token == token => current.drained,
                    _ => {
                        entries.breaks(format!("{} got Lost of {token}, not its term", self.id));
                        false
                    }
                };
                entries.terms.push(TermEvent::Lost { reason: reason.code(), drained, at });
                entries.at_work = false;
                format!("Lost for {reason:?}, token {token}")
            }
            Event::LeaderChanged(leader) => match leader {
                Some(leader) => format!("sees {:?} as the leader", leader.name),
                None => "sees a vacancy".into(),
            },
            Event::StateChanged(state) => format!("is {}", state.code()),
            Event::Warning(warning) => {
                let code = warning.code();
                entries.warnings.push(code);
                format!("warning {code}: {warning}")
            }
        };
        entries.history.push((at, format!("{} {reported}", self.id)));
    }
}

impl Entries {
    /// The events of the candidate's terms that no step has consumed.
    pub(super) fn unread(&self) -> &[TermEvent] {
        self.terms.get(self.read..).unwrap_or_default()
    }

    fn breaks(&mut self, rule: String) {
        self.broken.get_or_insert(rule);
    }
}

/// An observer of a scenario.
pub(super) struct Watcher {
    sights: Arc<Mutex<Sights>>,
}

#[derive(Default)]
pub(super) struct Sights {
    pub(super) all: Vec<(Instant, Option<Leader>)>,
    /// The number of events that a step has consumed or skipped.
    pub(super) read: usize,
}

impl Watcher {
    pub(super) fn new(mut observer: Observer) -> Self {
        let sights = Arc::<Mutex<Sights>>::default();
        let seen = Arc::clone(&sights);
        tokio::spawn(async move {
            let clock = Clock::system();
            while let Some(observation) = observer.next().await {
                let mut sights = seen.lock().unwrap_or_else(PoisonError::into_inner);
                sights.all.push((clock.now(), observation.leader));
            }
        });
        Self { sights }
    }

    pub(super) fn sights(&self) -> MutexGuard<'_, Sights> {
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a candidate of that name leads and publishes at least that metadata. Without a name, returns true if
/// the election is vacant.
pub(super) fn fits<'a>(
    leader: Option<&Leader>,
    name: Option<&str>,
    metadata: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> bool {
    let publishes = |key: &String, text: &String| {
        leader.is_some_and(|leader| leader.metadata.iter().any(|(k, t)| (k, t) == (key, text)))
    };
    leader.map(|leader| &*leader.name) == name && metadata.into_iter().all(|(key, text)| publishes(key, text))
}

/// The leader as a report shows it.
pub(super) fn shown(leader: Option<&Leader>) -> String {
    match leader {
        Some(leader) => format!("{:?} {:?}", leader.name, leader.metadata),
        None => "no leader".into(),
    }
}
