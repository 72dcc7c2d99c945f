//! A participant of an election.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use incumbent::{CampaignOptions, ErrorKind, Leader, LeaveRequest, State};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, ProcessBound};
use crate::feed::{Holding, Source};
use crate::{Error, Event, Feed, Hold, Operation, Result, Term};

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

    /// Whether this candidate leads now, by the clock. Takes a few dozen nanoseconds; always false in a forked child.
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

    /// Returns the events from now on, beginning with the current state.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn events(&self) -> Result<Feed<Event>> {
        Feed::new(self.inner.get("candidate")?.events())
    }

    /// Returns the same events, and holds each term from the moment it is won: `Won` comes with a hold, for the code
    /// that finishes the work when the term drains.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn holding_events(&self) -> Result<Feed<(Event, Option<Hold>)>> {
        Feed::new(Holding(self.inner.get("candidate")?.holding_events()))
    }

    /// Returns the health questions of a candidate that is to be [asked](crate::settings::Campaign::ask_health); the
    /// first call only. From then on each question needs an answer, or the candidate counts as unwell.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn questions(&self) -> Result<Option<Feed<Question>>> {
        let questions = self.questions.get("candidate")?;
        let questions = questions.lock().unwrap_or_else(PoisonError::into_inner).take();
        questions.map(Feed::new).transpose()
    }

    /// Answers with the current or the next term, held; with the one after `after` where that is given. `None` once the
    /// campaign is over.
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

    /// Gives up leadership, if this candidate leads, and campaigns on behind the other candidates. Answers once the key
    /// is released. With `inside`, from code that the drain waits for, answers once the drain has begun.
    pub fn resign(&self, inside: bool) -> Operation<()> {
        self.leave(inside, incumbent::Candidate::request_resign)
    }

    /// Hands leadership over to the candidate named `to`; answers as [`resign`](Self::resign) does.
    pub fn hand_over(&self, to: &str, inside: bool) -> Operation<()> {
        self.leave(inside, |candidate| candidate.request_hand_over(to))
    }

    /// Gives up leadership and ends the campaign; answers as [`resign`](Self::resign) does. Closing twice is no error.
    pub fn close(&self, inside: bool) -> Operation<()> {
        self.leave(inside, incumbent::Candidate::request_close)
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

    fn leave(&self, inside: bool, ask: impl FnOnce(&incumbent::Candidate) -> LeaveRequest) -> Operation<()> {
        match self.inner.get("candidate") {
            // Sent now, on the caller's thread, before anything that the language does next.
            Ok(candidate) => leaving(ask(candidate), inside),
            Err(error) => Operation::answered(Err(error)),
        }
    }
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

/// The question "Are you healthy?", asked at each interval. Dropping it counts as a no, and so does an answer after the
/// next one is due.
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
    // One slot: a question that is not taken counts as unanswered.
    let (ask, asked) = mpsc::channel(1);
    let options = options.health_check(interval, move || {
        let (reply, answer) = oneshot::channel();
        let is_asked = ask.try_send(Question { reply }).is_ok();
        async move { is_asked && answer.await.unwrap_or(false) }
    });
    (options, Questions { asked })
}

impl Source<Question> for Questions {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Question>> {
        loop {
            match self.asked.poll_recv(cx) {
                // The candidate waits no more for its answer.
                Poll::Ready(Some(question)) if question.reply.is_closed() => {}
                other => return other,
            }
        }
    }

    fn missed(&self) -> u64 {
        0
    }
}
