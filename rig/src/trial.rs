//! Candidates in one election under scheduled faults: it starts them, makes and repairs the faults, reads their records,
//! and lets them leave.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use incumbent::store::StoreAdmin;
use incumbent::{Clock, Instant, Token};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::candidate::{CampaignSetup, Failed, Order, ReportKind, Setup};
use crate::fleet::{Fleet, Line, Member};
use crate::history::{History, Overlap, Proven};
use crate::record;
use crate::schedule::{Fault, Injection, Schedule, Situation, Step};

/// The pause between two checks of processes and records.
const TICK: Duration = Duration::from_millis(100);
/// The longest time that an operator's write may take.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest time that candidates may take to leave cleanly; the library itself takes 2 s at most.
const CLOSING: Duration = Duration::from_secs(4);
/// The longest time until killed candidates are gone, even if a slow disk delays the kernel.
const DYING: Duration = Duration::from_secs(60);

/// Everything decided before the first candidate starts.
pub struct Plan {
    /// The candidates' names.
    pub names: Vec<String>,
    /// The candidates' election.
    pub campaign: CampaignSetup,
    /// The folder for their records.
    pub folder: PathBuf,
    /// Makes the command of a candidate's process; if none, each candidate is a task of this process.
    pub command: Option<Box<dyn Fn() -> io::Result<Command> + Send>>,
    /// Makes writes that no candidate would make.
    pub operator: Arc<dyn StoreAdmin>,
    /// The faults to make.
    pub faults: Vec<Fault>,
    /// The seed that decides which faults are made and when.
    pub seed: u64,
    /// When faults stop; if none, only when it is [closed](Trial::close).
    pub duration: Option<Duration>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The store's URL may hold credentials.
        f.debug_struct("Plan")
            .field("names", &self.names)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

/// An event to show. Candidates appear by name.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum Event {
    /// A candidate leads: after a vacancy in which no candidate could work, except in the first term; `expected` is the
    /// successor that a hand-over named.
    Won { candidate: String, token: Token, vacancy: Option<Duration>, expected: Option<String> },
    /// A candidate no longer leads; `is_news` if no fault or end explains it.
    Lost { candidate: String, token: Token, reason: String, is_news: bool },
    /// A fault was made.
    Fault { fault: Fault, victim: String, successor: Option<String> },
    /// A fault was repaired.
    Repaired { fault: Fault, victim: String, after: Duration },
    /// The newest fault could not be injected, because its victim no longer led.
    Missed { fault: Fault, message: String },
    /// No candidate took over.
    Vacant { fault: Fault, after: Duration },
    /// A candidate reports that something is wrong.
    Warning { candidate: String, message: String },
    /// A candidate's process has ended without an order.
    Gone { candidate: String },
    /// Two leaders at once.
    Overlap(Box<Overlap>),
}

/// Candidates under faults. Dropping it kills the candidates that are processes.
#[derive(Debug)]
pub struct Trial {
    plan: Plan,
    fleet: Fleet,
    /// The fault that each candidate is under: made, but not repaired yet.
    faults: Vec<Option<Fault>>,
    schedule: Schedule,
    ticks: Interval,
    clock: Clock,
    began: Instant,
    closing: Option<Closing>,
    /// The last fault made.
    injection: Option<Injection>,
    /// Why operator's faults failed.
    failures: (mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<String>),
    /// The records of ended runs.
    past: Vec<Proven>,
    history: History,
    /// The number of overlaps that were emitted.
    overlaps: usize,
    events: VecDeque<Event>,
}

/// The candidates leave: the leader last, so that leadership does not pass from one to the next.
#[derive(Clone, Copy, Debug)]
enum Closing {
    ButLeader { leader: Option<usize>, until: Instant },
    All { until: Instant },
    Killed { until: Instant },
}

impl Trial {
    /// Starts all candidates. Must be called on a runtime.
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(plan: Plan) -> Result<Self, Failed> {
        let clock = Clock::system();
        let began = clock.now();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trial = Self {
            fleet: Fleet::new(&plan.names),
            faults: vec![None; plan.names.len()],
            schedule: Schedule::new(plan.faults.clone(), plan.campaign.lease, plan.seed, began),
            plan,
            ticks,
            clock,
            began,
            closing: None,
            injection: None,
            failures: mpsc::unbounded_channel(),
            past: Vec::new(),
            history: History::default(),
            overlaps: 0,
            events: VecDeque::new(),
        };
        (0..trial.fleet.members.len()).try_for_each(|index| trial.run(index))?;
        Ok(trial)
    }

    /// Continues until the next event; none if only time has passed. Cancel-safe.
    ///
    /// # Errors
    /// A candidate cannot take part, or a record cannot be read.
    pub async fn next(&mut self) -> Result<Option<Event>, Failed> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            tokio::select! {
                (index, line) = self.fleet.next_line() => self.take(index, line)?,
                Some(failure) = self.failures.1.recv() => self.missed(failure),
                _ = self.ticks.tick() => {
                    self.tick()?;
                    return Ok(self.events.pop_front());
                }
            }
        }
    }

    /// Asks the candidates to leave; the second call kills them.
    ///
    /// # Errors
    /// The operating system's.
    pub fn close(&mut self) -> io::Result<()> {
        let until = self.clock.now() + CLOSING;
        if self.closing.is_some() {
            return self.kill_all();
        }
        for member in &mut self.fleet.members {
            if member.is_stopped {
                member.resume()?;
            }
        }
        let leader = self.leader();
        self.closing = Some(Closing::ButLeader { leader, until });
        for (index, member) in self.fleet.members.iter().enumerate() {
            if Some(index) != leader {
                member.order(Order::Close);
            }
        }
        Ok(())
    }

    fn kill_all(&mut self) -> io::Result<()> {
        self.closing = Some(Closing::Killed { until: self.clock.now() + DYING });
        self.fleet.members.iter().filter(|member| member.is_present()).try_for_each(Member::kill)
    }

    /// Returns true if the candidates were asked to leave.
    pub fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Returns true if all candidates have left and were reaped.
    pub fn is_over(&self) -> bool {
        let has_given_up =
            matches!(self.closing, Some(Closing::Killed { until }) if self.clock.now() >= until);
        self.is_closing() && (self.is_empty_but(None) || has_given_up) && self.events.is_empty()
    }

    /// The candidates, by their numbers.
    pub fn members(&self) -> &[Member] {
        &self.fleet.members
    }

    /// The number of the leader, if known.
    pub fn leader(&self) -> Option<usize> {
        self.fleet.leader(&self.plan.campaign.key).map(|(leader, _)| leader)
    }

    /// The fault that a candidate is under, and since when.
    pub fn fault(&self, member: usize) -> Option<(Fault, Duration)> {
        let fault = self.faults[member]?;
        let since = self.injection.map_or(self.began, |injection| injection.at);
        Some((fault, self.clock.now().since(since)))
    }

    /// The remaining lease of a leader.
    pub fn lease_left(&self, member: usize) -> Option<Duration> {
        let member = &self.fleet.members[member];
        let deadline = self.history.deadline(&member.name, member.token(&self.plan.campaign.key)?)?;
        Some(deadline.since(self.clock.now()))
    }

    /// The terms that the candidates have proved, as of the last check.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The time since the start.
    pub fn lasted(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Reads all records as they are now.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn read_history(&mut self) -> io::Result<()> {
        let mut terms = self.past.clone();
        for index in 0..self.fleet.members.len() {
            terms.extend(self.record(index)?);
        }
        self.history = History::new(terms);
        Ok(())
    }

    /// The record of a candidate's present or last run.
    fn record(&self, index: usize) -> io::Result<Vec<Proven>> {
        let Member { name, run, .. } = &self.fleet.members[index];
        let lines = record::read(&self.record_path(name, *run))?.into_iter();
        Ok(lines.map(|evidence| Proven { candidate: name.clone(), evidence }).collect())
    }

    fn record_path(&self, name: &str, run: u32) -> PathBuf {
        self.plan.folder.join(format!("{name}.{run}"))
    }

    /// Starts the next run of a candidate.
    fn run(&mut self, index: usize) -> Result<(), Failed> {
        self.past.extend(self.record(index)?);
        self.faults[index] = None;
        let Member { name, run, .. } = &self.fleet.members[index];
        let record = self.record_path(name, run + 1);
        let setup = Setup { name: name.clone(), record, campaigns: vec![self.plan.campaign.clone()] };
        let Some(command) = &self.plan.command else {
            self.fleet.start_task(index, setup);
            return Ok(());
        };
        let name = name.clone();
        let started = command().and_then(|command| self.fleet.start_process(index, command, setup));
        started.map_err(|error| Failed {
            message: format!("the candidate {name} cannot be started: {error}"),
            ..error.into()
        })
    }

    fn take(&mut self, index: usize, line: Line) -> Result<(), Failed> {
        let candidate = self.name(index);
        let what = match line {
            Line::Report(report) => report.what,
            Line::Stderr(text) => ReportKind::Warning { text },
        };
        let event = match what {
            ReportKind::Won { token, started } => {
                return Ok(self.won(candidate, token, Instant::from_nanos(started))?);
            }
            ReportKind::Lost { token, reason } => {
                let caused =
                    |injection: Injection| injection.victim == index && injection.fault != Fault::Stop;
                let is_news = !self.is_closing() && !self.injection.is_some_and(caused);
                Event::Lost { candidate, token, reason, is_news }
            }
            ReportKind::Refused { text } => {
                self.missed(text);
                return Ok(());
            }
            // A candidate that was ordered to leave may leave without an answer from the store.
            ReportKind::Failed(failed) if self.is_closing() || self.faults[index] == Some(Fault::Restart) => {
                Event::Warning { candidate, message: failed.message }
            }
            ReportKind::Failed(failed) => return Err(failed),
            ReportKind::Warning { text: message } => Event::Warning { candidate, message },
            ReportKind::Draining { .. }
            | ReportKind::Leader { .. }
            | ReportKind::State { .. }
            | ReportKind::Left => return Ok(()),
        };
        self.events.push_back(event);
        Ok(())
    }

    fn won(&mut self, candidate: String, token: Token, started: Instant) -> io::Result<()> {
        self.read_history()?;
        let vacancy = self.history.vacancy_before(token, started);
        let injection = self.schedule.won(self.clock.now());
        if let Some(injection) = injection {
            self.recovered(injection);
        }
        let expected = injection.and_then(|injection| injection.successor).map(|index| self.name(index));
        self.events.push_back(Event::Won { candidate, token, vacancy, expected });
        Ok(())
    }

    /// Marks faults that leave their victim in the election as repaired.
    fn recovered(&mut self, injection: Injection) {
        if matches!(injection.fault, Fault::HandOver | Fault::Delete | Fault::Overwrite) {
            self.faults[injection.victim] = None;
        }
    }

    /// Notices ended processes and overlapping terms, and continues with the schedule or with the end.
    fn tick(&mut self) -> Result<(), Failed> {
        for index in 0..self.fleet.members.len() {
            if self.fleet.members[index].reap() && self.faults[index].is_none() && !self.is_closing() {
                self.events.push_back(Event::Gone { candidate: self.name(index) });
                self.run(index)?;
            }
        }
        self.read_history()?;
        let overlaps = self.history.overlaps();
        let new = overlaps.into_iter().skip(self.overlaps).map(|overlap| Event::Overlap(Box::new(overlap)));
        self.events.extend(new);
        self.overlaps = self.overlaps.max(self.history.overlaps().len());
        match self.closing {
            Some(closing) => Ok(self.close_further(closing)?),
            None => match self.schedule.step(&self.situation()) {
                Some(step) => self.carry_out(step),
                None => Ok(()),
            },
        }
    }

    fn situation(&self) -> Situation {
        let members = &self.fleet.members;
        let takes_part = |(member, fault): (&Member, &Option<Fault>)| {
            member.takes_part(&self.plan.campaign.key) && fault.is_none()
        };
        Situation {
            now: self.clock.now(),
            end: self.plan.duration.map(|duration| self.began + duration),
            leader: self.leader(),
            well: members.iter().zip(&self.faults).map(takes_part).collect(),
            present: members.iter().map(Member::is_present).collect(),
        }
    }

    fn carry_out(&mut self, step: Step) -> Result<(), Failed> {
        match step {
            Step::Inject(injection) => Ok(self.inject(injection)?),
            Step::Repair(injection @ Injection { fault, victim, at, .. }) => {
                let event =
                    Event::Repaired { fault, victim: self.name(victim), after: self.clock.now().since(at) };
                self.events.push_back(event);
                if injection.fault == Fault::Stop {
                    self.faults[victim] = None;
                    return Ok(self.fleet.members[victim].resume()?);
                }
                self.run(victim)
            }
            Step::ReportVacancy(injection) => {
                self.recovered(injection);
                let after = self.clock.now().since(injection.at);
                self.events.push_back(Event::Vacant { fault: injection.fault, after });
                Ok(())
            }
        }
    }

    fn inject(&mut self, injection: Injection) -> io::Result<()> {
        let Injection { fault, victim: index, successor, .. } = injection;
        let successor = successor.map(|index| self.name(index));
        let to = successor.clone().unwrap_or_default();
        self.injection = Some(injection);
        self.faults[index] = Some(fault);
        self.events.push_back(Event::Fault { fault, victim: self.name(index), successor });
        let victim = &mut self.fleet.members[index];
        match fault {
            Fault::Kill => victim.kill(),
            Fault::Stop => victim.stop(),
            Fault::Restart => {
                victim.order(Order::Close);
                Ok(())
            }
            Fault::HandOver => {
                victim.order(Order::HandOver { key: self.plan.campaign.key.clone(), to });
                Ok(())
            }
            Fault::Delete | Fault::Overwrite => {
                self.operate(fault);
                Ok(())
            }
        }
    }

    /// Writes as an operator would. An error is handled once it is known.
    fn operate(&self, fault: Fault) {
        let (operator, key) = (Arc::clone(&self.plan.operator), self.plan.campaign.key.clone());
        let answer = self.failures.0.clone();
        tokio::spawn(async move {
            let write = async {
                match fault {
                    Fault::Overwrite => operator.put(&key, b"other-software").await,
                    _ => operator.delete(&key).await,
                }
            };
            let failure = match timeout(OPERATOR_TIMEOUT, write).await {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer for {} s", OPERATOR_TIMEOUT.as_secs()),
            };
            // Sending fails only when the trial is over.
            let _ = answer.send(failure);
        });
    }

    /// Reports that the newest fault could not be injected.
    fn missed(&mut self, message: String) {
        self.schedule.missed(self.clock.now());
        if let Some(Injection { fault, victim, .. }) = self.injection.take() {
            self.faults[victim] = None;
            self.events.push_back(Event::Missed { fault, message });
        }
    }

    /// Continues closing once the candidates that were asked to leave have left, or have taken too long.
    fn close_further(&mut self, closing: Closing) -> io::Result<()> {
        let now = self.clock.now();
        match closing {
            Closing::ButLeader { leader: Some(leader), until }
                if self.is_empty_but(Some(leader)) && now < until =>
            {
                self.fleet.members[leader].order(Order::Close);
                self.closing = Some(Closing::All { until: now + CLOSING });
                Ok(())
            }
            Closing::ButLeader { until, .. } | Closing::All { until } if now >= until => self.kill_all(),
            _ => Ok(()),
        }
    }

    fn is_empty_but(&self, index: Option<usize>) -> bool {
        let members = self.fleet.members.iter().enumerate();
        !members.filter(|(at, _)| Some(*at) != index).any(|(_, member)| member.is_present())
    }

    fn name(&self, index: usize) -> String {
        self.fleet.members[index].name.clone()
    }
}
