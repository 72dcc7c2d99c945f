//! The demo's loop: it takes candidates' reports, carries out the schedule's steps, and shows the state.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use incumbent::{Clock, Instant, Token};
use incumbent_rig::history::History;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::args::Args;
use super::event::DemoEvent;
use super::fault::Fault;
use super::fleet::Fleet;
use super::member::{Content, Message};
use super::plan::Plan;
use super::protocol::{Order, Report};
use super::renderer::Renderer;
use super::schedule::{Injection, Schedule, Situation, Step};
use super::summary::{Summary, percentile};
use super::table::{Row, View};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::span;
use crate::screen;
use crate::signals::Signals;

/// The pause between two updates.
const TICK: Duration = Duration::from_millis(100);
/// The longest time that an operator's write may take.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest time that candidates may take to leave in good order; the library itself takes 2 s at most.
const CLOSING: Duration = Duration::from_secs(4);

/// `incumbent demo`.
pub(crate) async fn run(args: Args, as_json: bool) -> Result<Exit, Failure> {
    let has_terminal = std::io::stdout().is_terminal() && screen::can_draw() && !as_json;
    let plan = Plan::new(args, has_terminal).await?;
    let mut demo = Demo::new(plan, Renderer::new(has_terminal, as_json)?);
    let played = demo.play().await;
    demo.renderer.close();
    played?;
    demo.end()
}

struct Demo {
    plan: Plan,
    fleet: Fleet,
    schedule: Schedule,
    clock: Clock,
    began: Instant,
    history: History,
    summary: Summary,
    renderer: Renderer,
    /// Operator's faults that failed, and why.
    failures: (mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<String>),
    /// The last fault made.
    injection: Option<Injection>,
    /// All candidates have been ordered to leave.
    is_closing: bool,
}

impl Demo {
    fn new(plan: Plan, renderer: Renderer) -> Self {
        let clock = Clock::system();
        let began = clock.now();
        let summary = Summary {
            store: plan.store.clone(),
            key: plan.key.clone(),
            seed: plan.seed,
            lasted: Duration::ZERO,
            terms: 0,
            overlaps: 0,
            token_regressions: 0,
            faults: BTreeMap::new(),
            vacancies: Vec::new(),
        };
        Self {
            fleet: Fleet::new(&plan.names),
            schedule: Schedule::new(plan.faults.clone(), plan.lease, plan.seed, began),
            plan,
            clock,
            began,
            history: History::default(),
            summary,
            renderer,
            failures: mpsc::unbounded_channel(),
            injection: None,
            is_closing: false,
        }
    }

    /// From the first candidate's start to the last one's end.
    async fn play(&mut self) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        self.renderer.introduce(&self.plan)?;
        for note in std::mem::take(&mut self.plan.notes) {
            self.report(DemoEvent::Note(note))?;
        }
        for member in 0..self.fleet.members.len() {
            self.fleet.start(member, &self.plan)?;
        }
        self.run_until_end(&mut signals).await?;
        self.is_closing = true;
        self.close_all(&mut signals).await?;
        self.summary.lasted = self.lasted();
        Ok(())
    }

    /// Runs until the demo has lasted as long as it should, or a signal ends it.
    async fn run_until_end(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.renderer.is_gone() && self.plan.duration.is_none_or(|duration| self.lasted() < duration) {
            tokio::select! {
                message = self.fleet.next_message() => if let Some(message) = message {
                    self.take(message)?;
                },
                Some(failure) = self.failures.1.recv() => self.missed(failure)?,
                _ = ticks.tick() => {
                    self.look()?;
                    if let Some(next) = self.schedule.step(&self.situation()) {
                        self.carry_out(next)?;
                    }
                    self.draw()?;
                }
                () = signals.next() => break,
            }
        }
        Ok(())
    }

    /// Orders all candidates to leave: the leader last, so that leadership does not pass from one to the next.
    async fn close_all(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let leader = self.fleet.leader();
        for member in 0..self.fleet.members.len() {
            if self.fleet.members[member].is_stopped {
                self.fleet.members[member].resume()?;
            }
            if Some(member) != leader {
                self.fleet.members[member].order(Order::Close);
            }
        }
        let others = self.wait_until_gone(signals, leader).await?;
        if let Some(leader) = leader.filter(|_| others) {
            self.fleet.members[leader].order(Order::Close);
            self.wait_until_gone(signals, None).await?;
        }
        self.fleet
            .members
            .iter()
            .filter(|member| member.is_present())
            .try_for_each(|member| member.kill())?;
        // A killed process is gone only when it was waited for.
        self.wait_until_gone(signals, None).await?;
        Ok(())
    }

    /// Returns false where a signal came first or the time ran out.
    async fn wait_until_gone(&mut self, signals: &mut Signals, but: Option<usize>) -> Result<bool, Failure> {
        let until = self.clock.now() + CLOSING;
        let mut ticks = interval(TICK / 4);
        while self.clock.now() < until {
            tokio::select! {
                message = self.fleet.next_message() => if let Some(message) = message {
                    self.take(message)?;
                },
                _ = ticks.tick() => {
                    self.look()?;
                    self.draw()?;
                    let mut others = self.fleet.members.iter().enumerate().filter(|(index, _)| Some(*index) != but);
                    if !others.any(|(_, member)| member.is_present()) {
                        return Ok(true);
                    }
                }
                () = signals.next() => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Takes in a candidate's message.
    fn take(&mut self, message: Message) -> Result<(), Failure> {
        let Message { member: index, run, content } = message;
        let member = &mut self.fleet.members[index];
        if run != member.run {
            return Ok(());
        }
        let candidate = member.name.clone();
        match content {
            Content::End => {
                member.output_ended = true;
                Ok(())
            }
            Content::Said(message) => self.report(DemoEvent::Warning { candidate, message }),
            Content::Report(Report::State { state }) => {
                member.state = state;
                Ok(())
            }
            Content::Report(Report::Won { token, at }) => {
                let token = parsed(&token)?;
                member.token = Some(token);
                member.terms += 1;
                self.won(candidate, token, Instant::from_nanos(at))
            }
            Content::Report(Report::Lost { token, reason }) => {
                if member.token.is_some_and(|held| held.to_string() == token) {
                    member.token = None;
                }
                let caused =
                    |injection: Injection| injection.victim == index && injection.fault != Fault::Stop;
                let is_news = !self.is_closing && !self.injection.is_some_and(caused);
                self.report(DemoEvent::Lost { candidate, token, reason, is_news })
            }
            Content::Report(Report::Warning { message }) => {
                self.report(DemoEvent::Warning { candidate, message })
            }
            Content::Report(Report::Refused { message }) => self.missed(message),
            Content::Report(Report::Failed { failure }) if self.is_closing => {
                self.report(DemoEvent::Warning { candidate, message: failure.to_string() })
            }
            Content::Report(Report::Failed { failure }) => Err(failure),
        }
    }

    fn won(&mut self, candidate: String, token: Token, at: Instant) -> Result<(), Failure> {
        self.summary.terms += 1;
        self.history = self.fleet.history()?;
        let vacancy = self.history.vacancy_before(token, at);
        let injection = self.schedule.won(self.clock.now());
        if let Some(injection) = injection {
            self.recovered(injection);
        }
        let expected = injection.and_then(|injection| injection.successor).map(|index| self.name(index));
        self.report(DemoEvent::Won { candidate, token, vacancy, expected })
    }

    /// Marks faults that leave their victim in the election as repaired.
    fn recovered(&mut self, injection: Injection) {
        if matches!(injection.fault, Fault::HandOver | Fault::Delete | Fault::Overwrite) {
            self.fleet.members[injection.victim].fault = None;
        }
    }

    /// Notices processes that have ended, and reads the probes' records.
    fn look(&mut self) -> Result<(), Failure> {
        for index in 0..self.fleet.members.len() {
            if !self.fleet.members[index].reap() {
                continue;
            }
            self.fleet.members[index].token = None;
            if self.fleet.members[index].fault.is_none() && !self.is_closing {
                self.report(DemoEvent::Gone { candidate: self.name(index) })?;
                self.fleet.start(index, &self.plan)?;
            }
        }
        self.history = self.fleet.history()?;
        let overlaps = self.history.overlaps();
        for overlap in overlaps.into_iter().skip(self.summary.overlaps) {
            self.summary.overlaps += 1;
            self.report(DemoEvent::Overlap(Box::new(overlap)))?;
        }
        Ok(())
    }

    fn situation(&self) -> Situation {
        let members = &self.fleet.members;
        Situation {
            now: self.clock.now(),
            end: self.plan.duration.map(|duration| self.began + duration),
            leader: self.fleet.leader(),
            well: members.iter().map(|member| member.is_well()).collect(),
            present: members.iter().map(|member| member.is_present()).collect(),
        }
    }

    fn carry_out(&mut self, next: Step) -> Result<(), Failure> {
        match next {
            Step::Inject(injection) => self.inject(injection),
            Step::Repair(injection) => self.repair(injection),
            Step::ReportVacancy(injection) => {
                self.recovered(injection);
                let after = self.clock.now().since(injection.at);
                self.report(DemoEvent::Vacant { fault: injection.fault, after })
            }
        }
    }

    fn inject(&mut self, injection: Injection) -> Result<(), Failure> {
        self.injection = Some(injection);
        *self.summary.faults.entry(injection.fault).or_default() += 1;
        self.report(DemoEvent::of(&injection, |index| self.name(index)))?;
        let to = injection.successor.map(|index| self.name(index)).unwrap_or_default();
        let victim = &mut self.fleet.members[injection.victim];
        victim.fault = Some(
            match injection.fault {
                Fault::Kill => "killed",
                Fault::Stop => "stopped",
                Fault::Restart => "leaves",
                Fault::HandOver => "hands over",
                Fault::Delete => "deleted",
                Fault::Overwrite => "overwritten",
            }
            .into(),
        );
        match injection.fault {
            Fault::Kill => victim.kill()?,
            Fault::Stop => victim.stop()?,
            Fault::Restart => victim.order(Order::Close),
            Fault::HandOver => victim.order(Order::HandOver { to }),
            Fault::Delete | Fault::Overwrite => self.operate(injection.fault),
        }
        Ok(())
    }

    /// Writes as an operator would; an error is handled when it is known.
    fn operate(&self, fault: Fault) {
        let (operator, key, answer) =
            (Arc::clone(&self.plan.operator), self.plan.key.clone(), self.failures.0.clone());
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
                Err(_) => format!("no answer for {}", span(OPERATOR_TIMEOUT)),
            };
            // Sending fails only when the demo is over.
            let _ = answer.send(failure);
        });
    }

    fn repair(&mut self, injection: Injection) -> Result<(), Failure> {
        let after = self.clock.now().since(injection.at);
        let victim = self.name(injection.victim);
        if injection.fault == Fault::Stop {
            self.fleet.members[injection.victim].fault = None;
            self.report(DemoEvent::Repaired { fault: injection.fault, victim, after })?;
            return Ok(self.fleet.members[injection.victim].resume()?);
        }
        self.fleet.start(injection.victim, &self.plan)?;
        self.report(DemoEvent::Repaired { fault: injection.fault, victim, after })
    }

    /// The last fault could not be made.
    fn missed(&mut self, message: String) -> Result<(), Failure> {
        self.schedule.missed(self.clock.now());
        let Some(injection) = self.injection.take() else { return Ok(()) };
        self.fleet.members[injection.victim].fault = None;
        if let Some(made) = self.summary.faults.remove(&injection.fault).filter(|made| *made > 1) {
            self.summary.faults.insert(injection.fault, made - 1);
        }
        self.report(DemoEvent::Missed { fault: injection.fault, message })
    }

    fn report(&mut self, event: DemoEvent) -> Result<(), Failure> {
        let at = self.lasted();
        self.renderer.report(at, &event)
    }

    fn draw(&mut self) -> Result<(), Failure> {
        self.renderer.show(self.view())
    }

    fn view(&self) -> View {
        let mut vacancies = self.history.vacancies();
        vacancies.sort();
        View {
            store: self.plan.store.clone(),
            key: self.plan.key.clone(),
            lease: self.plan.lease,
            lasted: self.lasted(),
            rows: (0..self.fleet.members.len()).map(|index| self.row(index)).collect(),
            terms: self.summary.terms,
            overlaps: self.summary.overlaps,
            vacancy: percentile(&vacancies, 0.5).zip(percentile(&vacancies, 1.0)),
            log: Vec::new(),
            is_closing: self.is_closing,
        }
    }

    fn row(&self, index: usize) -> Row {
        let member = &self.fleet.members[index];
        let now = self.clock.now();
        let deadline = member.token.and_then(|token| self.history.deadline(&member.name, token));
        let fault = match &self.injection {
            Some(injection) if injection.victim == index && member.is_stopped => {
                Some(format!("for {}", span(now.since(injection.at))))
            }
            _ => member.fault.clone(),
        };
        Row {
            name: member.name.clone(),
            pid: member.pid(),
            state: member.state.clone(),
            is_present: member.is_present(),
            is_stopped: member.is_stopped,
            token: member.token.map(|token| token.sequence.0),
            left: deadline.map(|deadline| deadline.since(now)),
            terms: member.terms,
            fault,
        }
    }

    fn name(&self, index: usize) -> String {
        self.fleet.members[index].name.clone()
    }

    fn lasted(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Returns the exit code once all candidates have left.
    fn end(mut self) -> Result<Exit, Failure> {
        self.summary.judge(&self.fleet.history()?);
        self.renderer.show_summary(&self.summary)?;
        Ok(self.summary.exit())
    }
}

fn parsed(token: &str) -> Result<Token, Failure> {
    token.parse().map_err(|error| Failure::failed(format!("a candidate reports what is no token: {error}")))
}
