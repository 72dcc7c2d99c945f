//! One participant of an election.

use std::sync::{Arc, Mutex, PoisonError};

use incumbent::{LeaveRequest, State};

use crate::engine::Engine;
use crate::event::Holding;
use crate::health::Questions;
use crate::here::Here;
use crate::{Code, Error, Event, Feed, Hold, Leader, Operation, Question, Result, Term};

/// One participant of an election, in the race until it is closed or dropped.
#[derive(Clone, Debug)]
pub struct Candidate {
    inner: Arc<Here<incumbent::Candidate>>,
    questions: Arc<Here<Mutex<Option<Questions>>>>,
}

impl Candidate {
    pub(crate) fn new(candidate: incumbent::Candidate) -> Result<Self> {
        let inner = Arc::new(Here::new(candidate));
        Engine::get()?.open().add_candidate(&inner);
        Ok(Self { inner, questions: Arc::new(Here::new(Mutex::new(None))) })
    }

    /// The same, with questions about its health.
    pub(crate) fn asked(candidate: incumbent::Candidate, questions: Option<Questions>) -> Result<Self> {
        let new = Self::new(candidate)?;
        Ok(Self { questions: Arc::new(Here::new(Mutex::new(questions))), ..new })
    }

    /// Whether this candidate leads now, by the clock; a few dozen nanoseconds, and never true in a forked child.
    pub fn is_leader(&self) -> bool {
        self.inner.peek().is_some_and(incumbent::Candidate::is_leader)
    }

    /// The key of the election.
    pub fn election(&self) -> &str {
        self.inner.peek().map_or("", incumbent::Candidate::election)
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        self.inner.peek().map_or("", incumbent::Candidate::name)
    }

    /// Where the campaign stands; `Closed` in a forked child.
    pub fn state(&self) -> State {
        self.inner.peek().map_or(State::Closed, incumbent::Candidate::state)
    }

    /// Who holds the seat, as far as this candidate has seen.
    pub fn leader(&self) -> Option<Leader> {
        self.inner.get("candidate").ok()?.leader().map(Leader::from)
    }

    /// The present term; `None` while this candidate does not lead.
    pub fn term(&self) -> Option<Term> {
        let term = self.inner.get("candidate").ok()?.term()?;
        Some(Term { view: term.view() })
    }

    /// What happens from now on, beginning with what holds now.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn events(&self) -> Result<Feed<Event>> {
        Feed::new(self.inner.get("candidate")?.events())
    }

    /// The same, but that a term is held from the moment it is won: its `Won` comes with a hold, for whoever finishes
    /// the work when it drains.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn holding_events(&self) -> Result<Feed<(Event, Option<Hold>)>> {
        Feed::new(Holding(self.inner.get("candidate")?.holding_events()))
    }

    /// The questions about its health, where it was to be [asked](crate::settings::Campaign::ask_health); once. They
    /// have to be answered from then on, or it counts as unwell.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn questions(&self) -> Result<Option<Feed<Question>>> {
        let place = self.questions.get("candidate")?;
        let questions = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        questions.map(Feed::new).transpose()
    }

    /// Answers with the present or the next term, held; after a term that is given, with the next one.
    /// `None` once the campaign is over.
    pub fn next_term(&self, after: Option<Term>) -> Operation<Option<Hold>> {
        let candidate = match self.inner.get("candidate") {
            Ok(candidate) => candidate.clone(),
            Err(error) => return Operation::ready(Err(error)),
        };
        Operation::start(async move {
            if let Some(term) = after {
                term.view.ended().await;
            }
            match candidate.next_term().await {
                Ok(term) => Ok(Some(Hold::of(term))),
                Err(error) if error.kind() == incumbent::ErrorKind::Closed => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Leaves the seat, if this candidate holds it, and stays in the race behind the others. Answers once the
    /// seat is given back; or, asked from `inside` of the work a drain waits for, once the drain has begun.
    pub fn resign(&self, inside: bool) -> Operation<()> {
        self.leave(inside, incumbent::Candidate::request_resign)
    }

    /// Leaves the seat to the candidate named `to`; answers as [`resign`](Self::resign) does.
    pub fn hand_over(&self, to: &str, inside: bool) -> Operation<()> {
        self.leave(inside, |candidate| candidate.request_hand_over(to))
    }

    /// Leaves the seat and the race for good; answers as [`resign`](Self::resign) does. Closing twice is no
    /// error.
    pub fn close(&self, inside: bool) -> Operation<()> {
        self.leave(inside, incumbent::Candidate::request_close)
    }

    /// Answers when the campaign is over, whoever ended it. It does not keep the candidate.
    pub fn closed(&self) -> Operation<()> {
        match self.inner.get("candidate") {
            Ok(candidate) => {
                let closed = candidate.closed();
                Operation::start(async move {
                    closed.await;
                    Ok(())
                })
            }
            Err(error) => Operation::ready(Err(error)),
        }
    }

    /// Says whether this candidate is well; it is at first.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn set_healthy(&self, is_well: bool) -> Result<()> {
        self.inner.get("candidate")?.set_healthy(is_well);
        Ok(())
    }

    /// Accepts that tokens may start again after the store was reset.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn accept_reset(&self) -> Result<()> {
        self.inner.get("candidate")?.accept_reset();
        Ok(())
    }

    fn leave(&self, inside: bool, ask: impl FnOnce(&incumbent::Candidate) -> LeaveRequest) -> Operation<()> {
        match self.inner.get("candidate") {
            // Sent now, on the caller's thread: what the language does next comes after it.
            Ok(candidate) => leaving(ask(candidate), inside),
            Err(error) => Operation::ready(Err(error)),
        }
    }
}

/// A leave that was asked for, as an operation.
pub(crate) fn leaving(leaving: LeaveRequest, inside: bool) -> Operation<()> {
    let leaving = if inside { leaving.inside() } else { leaving };
    Operation::start(async move {
        leaving.await.map_err(|error| match Code::from(error.kind()) {
            Code::Closed => Error::closed("candidate"),
            _ => error.into(),
        })
    })
}
