//! A participant of an election.

use std::sync::{Arc, Mutex, PoisonError};

use incumbent_ffi::{Event, Feed, Leave};

use crate::pending::{PendingEnd, PendingTerm, next};
use crate::term::{Hold, Term};
use crate::value::{Failure, Happening, Leader, State};

/// A participant of an election; it campaigns until it is closed or freed.
#[derive(uniffi::Object)]
pub struct Candidate(incumbent_ffi::Candidate);

impl Candidate {
    pub(crate) fn of(candidate: incumbent_ffi::Candidate) -> Arc<Self> {
        Arc::new(Self(candidate))
    }
}

#[uniffi::export]
impl Candidate {
    /// True if this candidate leads now, by the clock.
    pub fn is_leader(&self) -> bool {
        self.0.is_leader()
    }

    /// The key of the election.
    pub fn election(&self) -> String {
        self.0.election().to_owned()
    }

    /// The candidate's name.
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }

    /// The state of the campaign.
    pub fn state(&self) -> State {
        self.0.state().into()
    }

    /// The leader of the election, as far as this candidate has seen.
    pub fn leader(&self) -> Option<Leader> {
        self.0.leader().map(Leader::from)
    }

    /// The current term; nothing while this candidate does not lead.
    pub fn term(&self) -> Option<Arc<Term>> {
        self.0.term().map(Term::of)
    }

    /// The events from now on, beginning with the current state.
    pub fn events(&self) -> Result<Arc<Events>, Failure> {
        Ok(Arc::new(Events(self.0.events(Happening::from)?)))
    }

    /// The events from now on, beginning with the current state; each term is held from the moment it is won, and `Won`
    /// comes with the hold.
    pub fn holding_events(&self) -> Result<Arc<HoldingEvents>, Failure> {
        let held = |event: Event| {
            let hold = match &event {
                Event::Won(term) => Some(Hold::of(incumbent_ffi::Hold::from(term.clone()))),
                _ => None,
            };
            HeldHappening { happening: event.into(), hold }
        };
        Ok(Arc::new(HoldingEvents(self.0.holding_events(held)?)))
    }

    /// The health questions of a candidate that has a health interval; only the first call returns them.
    pub fn questions(&self) -> Result<Option<Arc<Questions>>, Failure> {
        let questions = self.0.questions(Question::of)?;
        Ok(questions.map(|feed| Arc::new(Questions(feed))))
    }

    /// Waits for the current or the next term, or for the one after `after`.
    pub fn next_term(&self, after: Option<Arc<Term>>) -> Arc<PendingTerm> {
        let waiting = self.0.next_term(after.map(|term| term.inner()));
        Arc::new(waiting.map(|hold| hold.map(Hold::of)).into())
    }

    /// Gives up leadership, if this candidate leads, and keeps campaigning, behind the other candidates. With `inside`,
    /// for code that the drain waits for, answers once the drain has begun.
    pub fn resign(&self, inside: bool) -> Arc<PendingEnd> {
        Arc::new(self.0.leave(Leave::Resign, inside).into())
    }

    /// Hands leadership over to the candidate named `to`.
    pub fn hand_over(&self, to: &str, inside: bool) -> Arc<PendingEnd> {
        Arc::new(self.0.leave(Leave::HandOver(to), inside).into())
    }

    /// Gives up leadership and ends the campaign. Closing twice is no error.
    pub fn close(&self, inside: bool) -> Arc<PendingEnd> {
        Arc::new(self.0.leave(Leave::Close, inside).into())
    }

    /// Waits until the campaign is over, for any cause.
    pub fn closed(&self) -> Arc<PendingEnd> {
        Arc::new(self.0.closed().into())
    }

    /// Sets whether this candidate is healthy; it is at first.
    pub fn set_healthy(&self, healthy: bool) -> Result<(), Failure> {
        Ok(self.0.set_healthy(healthy)?)
    }

    /// Accepts that tokens may start again after the store was reset.
    pub fn accept_reset(&self) -> Result<(), Failure> {
        Ok(self.0.accept_reset()?)
    }
}

/// The events of a candidate, in order.
#[derive(uniffi::Object)]
pub struct Events(Feed<Happening>);

#[uniffi::export]
impl Events {
    /// The next event; nothing once the campaign is over or this was stopped.
    pub async fn next(&self) -> Result<Option<Happening>, Failure> {
        next(&self.0).await
    }

    /// The number of events that were dropped because they were not read in time.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }

    /// Stops reading: a waiting caller gets nothing.
    pub fn stop(&self) {
        self.0.close();
    }
}

/// An event, and the hold on the term that was won.
#[derive(uniffi::Record)]
pub struct HeldHappening {
    /// The event.
    pub happening: Happening,
    /// The hold, for `Won`.
    pub hold: Option<Arc<Hold>>,
}

/// Events whose terms are held.
#[derive(uniffi::Object)]
pub struct HoldingEvents(Feed<HeldHappening>);

#[uniffi::export]
impl HoldingEvents {
    /// The next event; nothing once the campaign is over or this was stopped.
    pub async fn next(&self) -> Result<Option<HeldHappening>, Failure> {
        next(&self.0).await
    }

    /// Stops reading: a waiting caller gets nothing.
    pub fn stop(&self) {
        self.0.close();
    }
}

/// The questions "Are you healthy?" to one candidate.
#[derive(uniffi::Object)]
pub struct Questions(Feed<Arc<Question>>);

#[uniffi::export]
impl Questions {
    /// The next question; nothing once the campaign is over or this was stopped.
    pub async fn next(&self) -> Result<Option<Arc<Question>>, Failure> {
        next(&self.0).await
    }

    /// Stops reading: from now on every question counts as answered with no.
    pub fn stop(&self) {
        self.0.close();
    }
}

/// A question, which needs an answer before the next one is due. Freeing it counts as a no.
#[derive(uniffi::Object)]
pub struct Question(Mutex<Option<incumbent_ffi::Question>>);

impl Question {
    fn of(question: incumbent_ffi::Question) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(question))))
    }
}

#[uniffi::export]
impl Question {
    /// Answers it; a second answer does nothing.
    pub fn answer(&self, healthy: bool) {
        if let Some(question) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            question.answer(healthy);
        }
    }
}
