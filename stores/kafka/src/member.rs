//! A candidate's member in its group: a client that a separate thread polls, whatever else happens.
//!
//! No handler runs on that thread, so nothing delays a poll. The client fetches nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use incumbent_core::Revision;
use incumbent_core::induction::{Answer, ClientSettings, Failure, Loss, Operation, polled};
use incumbent_core::record::Attempt;
use incumbent_core::store::{Fault, FaultKind};

use super::cluster::{COMMITS, Cluster, LIMIT};
use super::faults::{is_missing, of_client};
use super::native::{ClientError, Consumer, DroppedApart, Event, Partitions};
use super::producer::{can_start_client, no_client};
use super::report::{Answers, Report};
use incumbent_store::{Error, threads};

/// The longest wait for an event.
const POLL: Duration = Duration::from_millis(500);
/// The pause before an unusable topic is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// The interval at which a member checks why its group has not accepted it.
const LOOKING: Duration = Duration::from_secs(5);
/// The time after which a client that has not closed is abandoned.
const CLOSE_LIMIT: Duration = Duration::from_secs(120);

/// A member of a group.
pub(crate) struct Member {
    /// Owned by its thread.
    consumer: Weak<DroppedApart<Consumer>>,
    commands: Sender<Command>,
    topic: String,
    /// Set when another member has replaced this one, whose end then does not matter.
    replaced: Arc<AtomicBool>,
}

enum Command {
    Yield,
    Leave,
}

impl Member {
    /// Joins the group of an election once its topic exists.
    ///
    /// # Errors
    /// A client or a thread cannot be created.
    pub(crate) fn join(
        cluster: &Arc<Cluster>,
        election: &str,
        name: &str,
        client: ClientSettings,
        answers: Answers,
    ) -> Result<Self, Fault> {
        let config = cluster.settings.member(election, name, client);
        can_start_client("a member").map_err(|error| broken(&error))?;
        let made = Consumer::new(&config);
        let consumer = made.map(DroppedApart::new).map_err(|error| broken(&no_client("a member", &error)))?;
        let consumer = Arc::new(consumer);
        let (commands, received) = mpsc::channel();
        let topic = cluster.settings.topic_of(election);
        let replaced = Arc::new(AtomicBool::new(false));
        let polled = Arc::downgrade(&consumer);
        let polling = Polling {
            cluster: Arc::clone(cluster),
            consumer,
            topic: topic.clone(),
            commands: received,
            answers,
            replaced: Arc::clone(&replaced),
            pending: None,
        };
        let thread = std::thread::Builder::new().name("incumbent-member".into());
        let started = thread.spawn(move || polling.run());
        started.map_err(|error| broken(&threads::refused("a member", Some(error))))?;
        Ok(Self { consumer: polled, commands, topic, replaced })
    }

    /// Commits an offset. Returns at once; the answer comes later.
    pub(crate) fn commit(&self, attempt: Attempt, offset: Revision, metadata: &str, answers: &Answers) {
        let committed = match self.consumer.upgrade() {
            Some(consumer) => {
                consumer.commit(&self.topic, offset, metadata, attempt).map_err(|error| failure(&error))
            }
            // The member has left.
            None => Err(Failure::Unknown),
        };
        if let Err(failure) = committed {
            let result = Err(failure);
            // If the campaign is over, the answer has no receiver.
            let _ = answers.send(Report::Answer(Answer::Committed { attempt, result }));
        }
    }

    /// Asks for the metadata of the committed offset, on a separate thread so that polls do not wait for it.
    pub(crate) fn ask_committed(&self, number: u64, answers: &Answers) {
        let (consumer, topic, answers) = (Weak::clone(&self.consumer), self.topic.clone(), answers.clone());
        tokio::task::spawn_blocking(move || {
            let result = match consumer.upgrade() {
                Some(consumer) => consumer.committed_metadata(&topic, LIMIT).map_err(|error| failure(&error)),
                // The member has left.
                None => Err(Failure::Unknown),
            };
            // If the campaign is over, the answer has no receiver.
            let _ = answers.send(Report::Answer(Answer::CommittedToken { number, result }));
        });
    }

    /// Answers the revocation that is pending.
    pub(crate) fn yield_partition(&self) {
        self.send(Command::Yield);
    }

    /// Leaves the group. The thread runs until the client is closed.
    pub(crate) fn leave(&self) {
        self.send(Command::Leave);
    }

    /// Leaves the group because another member replaces this one. The departure is not reported.
    pub(crate) fn replace(self) {
        self.replaced.store(true, Ordering::Release);
        self.leave();
    }

    fn send(&self, command: Command) {
        // If the thread has ended, the member has left.
        let _ = self.commands.send(command);
        if let Some(consumer) = self.consumer.upgrade() {
            consumer.wake();
        }
    }
}

/// The polling of a member.
struct Polling {
    cluster: Arc<Cluster>,
    consumer: Arc<DroppedApart<Consumer>>,
    topic: String,
    commands: Receiver<Command>,
    answers: Answers,
    replaced: Arc<AtomicBool>,
    /// The partitions of an unanswered revocation.
    pending: Option<Partitions>,
}

impl Polling {
    fn run(mut self) {
        if self.prepare() {
            let mut look = Some(Instant::now() + LOOKING);
            while !self.obeys() {
                if let Some(event) = self.consumer.poll(POLL) {
                    self.handle(event);
                }
                if look.is_some_and(|at| at <= Instant::now()) {
                    look = self.has_no_group().then(|| Instant::now() + LOOKING);
                }
            }
        }
        self.close();
    }

    /// Returns true until the group accepts this member. Reports it if no group can ever exist, because the client
    /// itself keeps asking for a coordinator without a report.
    fn has_no_group(&self) -> bool {
        if self.consumer.membership().generation >= 0 {
            return false;
        }
        // Brokers create the topic at the first request for a group, which this member sent long ago.
        if self.cluster.describe_topic(COMMITS).is_err_and(|fault| is_missing(&fault)) {
            let detail = format!(
                "COORDINATOR_NOT_AVAILABLE: no group can have a coordinator, because the brokers do not create \
                 {COMMITS}: there may be fewer brokers than offsets.topic.replication.factor requires; start more, \
                 or lower it; `incumbent doctor` compares them"
            );
            self.report(Answer::Denied(Fault { kind: FaultKind::Broken, detail }));
        }
        true
    }

    /// Waits for the topic, and subscribes to it. Returns `false` if the member should leave first.
    fn prepare(&mut self) -> bool {
        loop {
            let prepared = self.cluster.prepare(&self.topic);
            let prepared = prepared
                .and_then(|_| self.consumer.subscribe(&self.topic).map_err(|error| of_client(&error)));
            match prepared {
                Ok(()) => return true,
                Err(fault) => self.report(Answer::Denied(fault)),
            }
            match self.commands.recv_timeout(PAUSE) {
                Ok(Command::Leave) | Err(mpsc::RecvTimeoutError::Disconnected) => return false,
                Ok(Command::Yield) | Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Carries out the received commands; returns true if the member should leave.
    fn obeys(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Yield) => self.yield_pending(),
                Ok(Command::Leave) | Err(mpsc::TryRecvError::Disconnected) => return true,
                Err(mpsc::TryRecvError::Empty) => return false,
            }
        }
    }

    fn yield_pending(&mut self) {
        if let Some(partitions) = self.pending.take() {
            self.consumer.give_up(&partitions);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Assign { zero, partitions } => {
                self.consumer.accept(&partitions);
                if zero {
                    let member = self.consumer.membership().member;
                    tracing::debug!(topic = self.topic, member, "partition zero is assigned");
                    self.report(Answer::Assigned { member });
                }
            }
            Event::Revoke { zero: true, lost: false, partitions } => {
                tracing::debug!(topic = self.topic, "partition zero is revoked");
                self.pending = Some(partitions);
                self.report(Answer::Revoked);
            }
            Event::Revoke { zero, lost, partitions } => {
                tracing::debug!(topic = self.topic, zero, lost, "partitions are gone");
                self.pending = None;
                self.consumer.give_up(&partitions);
                if zero {
                    self.report(Answer::GroupLost(Loss::Rejoins));
                }
            }
            Event::Committed { attempt, result } => {
                // The membership is queried after the answer, because the client repeats commits on its own and may
                // have left and rejoined.
                let result = result.map(|()| self.consumer.membership()).map_err(|error| failure(&error));
                self.report(Answer::Committed { attempt, result });
            }
            Event::Error { error, fatal, .. } => {
                tracing::debug!(topic = self.topic, fatal, "a member: {}: {}", error.name, error.text);
                if let Some(answer) = polled(&error.name, fatal, &error.text) {
                    self.report(answer);
                }
            }
            // A member fetches nothing; what arrives between an assignment and its pause is for the reader.
            Event::Record { .. } | Event::End { .. } | Event::Nothing => {}
        }
    }

    fn close(mut self) {
        self.yield_pending();
        self.consumer.begin_close();
        let until = Instant::now() + CLOSE_LIMIT;
        while !self.consumer.is_closed() {
            if Instant::now() >= until {
                tracing::warn!(topic = self.topic, "a client does not close; abandoning it");
                // Destroying the client would wait without a limit.
                std::mem::forget(Arc::clone(&self.consumer));
                break;
            }
            match self.consumer.poll(Duration::from_millis(100)) {
                // A client whose revocation is unanswered never closes (measured).
                Some(Event::Revoke { partitions, .. }) => self.consumer.give_up(&partitions),
                Some(Event::Assign { partitions, .. }) => self.consumer.accept(&partitions),
                Some(Event::Committed { attempt, result: Err(error) }) => {
                    self.report(Answer::Committed { attempt, result: Err(failure(&error)) });
                }
                _ => {}
            }
        }
        self.report(Answer::Left);
    }

    fn report(&self, answer: Answer) {
        if !self.replaced.load(Ordering::Acquire) {
            // If the campaign is over, the answer has no receiver.
            let _ = self.answers.send(Report::Answer(answer));
        }
    }
}

fn failure(error: &ClientError) -> Failure {
    Failure::of(Operation::Commit, &error.name, &error.text)
}

/// The fault of a member that could not be created.
fn broken(error: &Error) -> Fault {
    Fault { kind: FaultKind::Broken, detail: error.to_string() }
}
