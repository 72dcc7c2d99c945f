//! A participant of an election.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use incumbent::{CampaignOptions, ErrorKind, Event, Leader, LeaveRequest, State};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, ProcessBound};
use crate::feed::Source;
use crate::{Error, Feed, Hold, Operation, Result, Term};

/// A participant of an election; it campaigns until it is closed or dropped.
#[derive(Clone, Debug)]
pub struct Candidate {
    inner: Arc<ProcessBound<incumbent::Candidate>>,
    questions: Arc<ProcessBound<Mutex<Option<Questions>>>>,
}

impl Candidate {
    pub(crate) fn new(candidate: incumbent::Candidate) -> Result<Self> {
        let inner = Arc::new(ProcessBound::new(candidate));
        Engine::get()?.open().add_candidate(&inner);
        Ok(Self { inner, questions: Arc::new(ProcessBound::new(Mutex::new(None))) })
    }

    /// Creates a candidate that has a health check.
    pub(crate) fn asked(candidate: incumbent::Candidate, questions: Option<Questions>) -> Result<Self> {
        let new = Self::new(candidate)?;
        Ok(Self { questions: Arc::new(ProcessBound::new(Mutex::new(questions))), ..new })
    }

    /// Returns true if this candidate leads now, by the clock. Takes a few dozen nanoseconds; always false in a
    /// forked child.
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

    /// The state of the campaign; `Closed` in a forked child.
    pub fn state(&self) -> State {
        self.inner.peek().map_or(State::Closed, incumbent::Candidate::state)
    }

    /// The leader of the election, as far as this candidate has seen.
    pub fn leader(&self) -> Option<Leader> {
        self.inner.get("candidate").ok()?.leader()
    }

    /// The current term; `None` while this candidate does not lead.
    pub fn term(&self) -> Option<Term> {
        self.inner.get("candidate").ok()?.term().map(Term::from)
    }

    /// Returns the events from now on, beginning with the current state, each converted by `convert`. An event's term
    /// that is converted to a [`Term`] is not held.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn events<T: 'static>(&self, convert: impl FnMut(Event) -> T + Send + 'static) -> Result<Feed<T>> {
        Feed::new(self.inner.get("candidate")?.events(), convert)
    }

    /// Returns the same events, and holds each term from the moment it is won, for code that finishes the work when the
    /// term drains: `convert` may turn the term of `Won` into a [`Hold`].
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn holding_events<T: 'static>(
        &self,
        convert: impl FnMut(Event) -> T + Send + 'static,
    ) -> Result<Feed<T>> {
        Feed::new(self.inner.get("candidate")?.holding_events(), convert)
    }

    /// Returns the health questions of a candidate that is [asked](crate::settings::Campaign::ask_health); only the
    /// first call returns them. From then on each question needs an answer, or the candidate counts as unwell.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn questions<T: 'static>(
        &self,
        convert: impl FnMut(Question) -> T + Send + 'static,
    ) -> Result<Option<Feed<T>>> {
        let questions = self.questions.get("candidate")?;
        let questions = questions.lock().unwrap_or_else(PoisonError::into_inner).take();
        questions.map(|questions| Feed::new(questions, convert)).transpose()
    }

    /// Answers with the current or the next term, held; if `after` is given, with the next term after it. `None` once
    /// the campaign is over.
    pub fn next_term(&self, after: Option<Term>) -> Operation<Option<Hold>> {
        let candidate = match self.inner.get("candidate") {
            Ok(candidate) => candidate.clone(),
            Err(error) => return Operation::answered(Err(error)),
        };
        Operation::start(async move {
            if let Some(term) = after {
                term.view().ended().await;
            }
            match candidate.next_term().await {
                Ok(term) => Ok(Some(Hold::from(term))),
                Err(error) if error.kind() == ErrorKind::Closed => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Leaves as `how` says. Sends the request now, on the caller's thread, before the language does anything else.
    /// Answers once the key is released; with `inside`, for code that the drain waits for, once the drain has begun.
    pub fn leave(&self, how: Leave<'_>, inside: bool) -> Operation<()> {
        let candidate = match self.inner.get("candidate") {
            Ok(candidate) => candidate,
            Err(error) => return Operation::answered(Err(error)),
        };
        let request = match how {
            Leave::Resign => candidate.request_resign(),
            Leave::HandOver(to) => candidate.request_hand_over(to),
            Leave::Close => candidate.request_close(),
        };
        leaving(request, inside)
    }

    /// Answers when the campaign is over, for any cause. Does not keep the candidate alive.
    pub fn closed(&self) -> Operation<()> {
        match self.inner.get("candidate") {
            Ok(candidate) => {
                let closed = candidate.closed();
                Operation::start(async move {
                    closed.await;
                    Ok(())
                })
            }
            Err(error) => Operation::answered(Err(error)),
        }
    }

    /// Sets whether this candidate is healthy; it is at first.
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
}

/// A way to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave<'a> {
    /// To give up leadership, if this candidate leads, and keep campaigning, behind the other candidates.
    Resign,
    /// To hand leadership over to the candidate of this name.
    HandOver(&'a str),
    /// To give up leadership and end the campaign. Closing twice is no error.
    Close,
}

/// Turns a request to leave into an operation.
pub(crate) fn leaving(leaving: LeaveRequest, inside: bool) -> Operation<()> {
    let leaving = if inside { leaving.inside() } else { leaving };
    Operation::start(async move {
        leaving.await.map_err(|error| match error.kind() {
            ErrorKind::Closed => Error::closed("candidate"),
            _ => error.into(),
        })
    })
}

/// The question "Are you healthy?", asked at each interval. Dropping it counts as a no, and so does an answer that
/// comes after the next question is due.
#[derive(Debug)]
pub struct Question {
    reply: oneshot::Sender<bool>,
}

impl Question {
    /// Answers the question.
    pub fn answer(self, is_well: bool) {
        // A late answer is of no use.
        let _ = self.reply.send(is_well);
    }
}

/// The questions to one candidate, in order.
#[derive(Debug)]
pub(crate) struct Questions {
    asked: mpsc::Receiver<Question>,
}

/// Asks the candidate at each `interval` whether it is healthy.
pub(crate) fn asked(options: CampaignOptions, interval: Duration) -> (CampaignOptions, Questions) {
    // The channel has one slot. A question that does not fit counts as unanswered.
    let (ask, asked) = mpsc::channel(1);
    let options = options.health_check(interval, move || {
        let (reply, answer) = oneshot::channel();
        let is_asked = ask.try_send(Question { reply }).is_ok();
        async move { is_asked && answer.await.unwrap_or(false) }
    });
    (options, Questions { asked })
}

impl Stream for Questions {
    type Item = Question;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Question>> {
        loop {
            match self.asked.poll_recv(cx) {
                // The candidate no longer waits for its answer.
                Poll::Ready(Some(question)) if question.reply.is_closed() => {}
                other => return other,
            }
        }
    }
}

impl Source for Questions {}
