//! The candidates of the crate `incumbent`, driven through its public API.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent::incumbent_core::campaign::{self, Backoff, Leader, Lease, Settings, State};
use incumbent::store::Adapter;
use incumbent::{CampaignOptions, Candidate, Clock, Event, Events, LeaveRequest, Store, Term};

use super::implementation::{Call, CandidateHandle, Implementation, OpenStore, Pending, Refused, Reported};

/// The candidates of the crate `incumbent`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

impl Implementation for Library {
    fn open<'a>(&'a self, url: &'a str, lease: Duration) -> Pending<'a, Result<Arc<dyn OpenStore>, String>> {
        Box::pin(async move {
            let store = Store::builder().expected_lease(lease).open(url).await;
            store.map(open_store).map_err(|error| error.to_string())
        })
    }

    fn wrap(&self, adapter: Box<dyn Adapter>, clock: Clock) -> Result<Arc<dyn OpenStore>, String> {
        Store::from_adapter(adapter, clock).map(open_store).map_err(|error| error.to_string())
    }
}

fn open_store(store: Store) -> Arc<dyn OpenStore> {
    Arc::new(store)
}

impl OpenStore for Store {
    fn campaign<'a>(
        &'a self,
        election: &'a str,
        settings: Settings,
        works: bool,
    ) -> Pending<'a, Result<Arc<dyn CandidateHandle>, Refused>> {
        Box::pin(async move {
            let candidate = self.campaign(election, options(settings)).await.map_err(refused)?;
            let events = tokio::sync::Mutex::new(candidate.events());
            Ok(Arc::new(Handle { candidate, events, works, held: Mutex::default() })
                as Arc<dyn CandidateHandle>)
        })
    }

    fn close(&self) -> Call {
        call(self.request_close())
    }
}

/// One candidate.
struct Handle {
    candidate: Candidate,
    events: tokio::sync::Mutex<Events>,
    works: bool,
    /// The term in which the candidate has work. The term's drain waits until this value is dropped.
    held: Mutex<Option<Term>>,
}

impl Handle {
    fn held(&self) -> MutexGuard<'_, Option<Term>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reported(&self, event: Event) -> Reported {
        let mut is_current = false;
        let plain = |term: &Term| campaign::Term { token: term.token(), started: term.started() };
        let event = match event {
            Event::Won(term) => {
                let won = campaign::Event::Won(plain(&term));
                *self.held() = self.works.then_some(term);
                won
            }
            Event::Draining { term, until, reason } => {
                campaign::Event::Draining { term: plain(&term), until, reason }
            }
            Event::Lost { term, reason } => {
                is_current = term.is_current();
                *self.held() = None;
                campaign::Event::Lost { term: plain(&term), reason }
            }
            Event::LeaderChanged(leader) => campaign::Event::LeaderChanged(leader),
            Event::StateChanged(state) => campaign::Event::StateChanged(state),
            Event::Warning(warning) => campaign::Event::Warning(warning),
        };
        Reported { event, is_current }
    }
}

impl CandidateHandle for Handle {
    fn next(&self) -> Pending<'_, Option<Reported>> {
        Box::pin(async move { self.events.lock().await.next().await.map(|event| self.reported(event)) })
    }

    fn is_leader(&self) -> bool {
        self.candidate.is_leader()
    }

    fn lease(&self) -> Option<Lease> {
        self.candidate.term().map(|term| Lease { token: term.token(), deadline: term.deadline() })
    }

    fn state(&self) -> State {
        self.candidate.state()
    }

    fn leader(&self) -> Option<Leader> {
        self.candidate.leader()
    }

    fn resign(&self) -> Call {
        call(self.candidate.request_resign())
    }

    fn hand_over(&self, to: &str) -> Call {
        call(self.candidate.request_hand_over(to))
    }

    fn close(&self) -> Call {
        call(self.candidate.request_close())
    }

    fn set_healthy(&self, is_well: bool) {
        self.candidate.set_healthy(is_well);
    }

    fn drained(&self) {
        *self.held() = None;
    }

    fn fail(&self) {
        if let Some(term) = self.candidate.term() {
            term.fail();
        }
    }
}

fn call(leaving: LeaveRequest) -> Call {
    Box::pin(async { leaving.await.map_err(refused) })
}

fn refused(error: incumbent::Error) -> Refused {
    Refused { code: error.kind().code(), message: error.message().into() }
}

fn options(settings: Settings) -> CampaignOptions {
    let mut options = CampaignOptions::new()
        .name(settings.name)
        .preset(settings.preset)
        .drift_ppm(settings.drift_ppm)
        .win_delay(settings.win_delay)
        .drain(settings.drain);
    if let Some(lease) = settings.lease {
        options = options.lease(lease);
    }
    if let Some(skew) = settings.skew {
        options = options.skew(skew);
    }
    if let Some(slack) = settings.slack {
        options = options.slack(slack);
    }
    if let Some(splay) = settings.splay {
        options = options.splay(splay);
    }
    if let Some(interval) = settings.interval {
        options = options.interval(interval);
    }
    options = match settings.backoff {
        Backoff::Standard => options,
        Backoff::Fixed(wait) => options.fixed_backoff(wait),
        Backoff::Custom(rule) => options.backoff(move |failures| rule(failures)),
    };
    settings.metadata.iter().fold(options, |options, (key, text)| options.metadata(key, text))
}
