//! The demo's loop: it takes candidates' reports, carries out the director's moves, and shows the state.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use incumbent::{Clock, Instant, Token};
use incumbent_rig::history::History;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::actor::{Told, What};
use super::args::Args;
use super::audience::Audience;
use super::director::{Blow, Director, Move, Scene};
use super::fault::Fault;
use super::fleet::Fleet;
use super::plan::Plan;
use super::protocol::{Order, Report};
use super::story::Happening;
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
const OPERATOR_PATIENCE: Duration = Duration::from_secs(3);
/// The longest time that candidates may take to leave in good order; the library itself takes 2 s at most.
const FAREWELL: Duration = Duration::from_secs(4);

/// `incumbent demo`.
pub(crate) async fn run(args: Args, as_json: bool) -> Result<Exit, Failure> {
    let has_terminal = std::io::stdout().is_terminal() && screen::can_draw() && !as_json;
    let plan = Plan::new(args, has_terminal).await?;
    let mut show = Show::new(plan, Audience::new(has_terminal, as_json)?);
    let played = show.play().await;
    show.audience.dismiss();
    played?;
    show.end()
}

struct Show {
    plan: Plan,
    fleet: Fleet,
    director: Director,
    clock: Clock,
    began: Instant,
    history: History,
    summary: Summary,
    audience: Audience,
    /// Operator's faults that failed, and why.
    mishaps: (mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<String>),
    /// The last fault made.
    blow: Option<Blow>,
    /// All candidates have been ordered to leave.
    is_closing: bool,
}

impl Show {
    fn new(plan: Plan, audience: Audience) -> Self {
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
            director: Director::new(plan.faults.clone(), plan.lease, plan.seed, began),
            plan,
            clock,
            began,
            history: History::default(),
            summary,
            audience,
            mishaps: mpsc::unbounded_channel(),
            blow: None,
            is_closing: false,
        }
    }

    /// From the first candidate's start to the last one's end.
    async fn play(&mut self) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        self.audience.introduce(&self.plan)?;
        for note in std::mem::take(&mut self.plan.notes) {
            self.tell(Happening::Note(note))?;
        }
        for actor in 0..self.fleet.actors.len() {
            self.fleet.start(actor, &self.plan)?;
        }
        self.perform(&mut signals).await?;
        self.is_closing = true;
        self.farewell(&mut signals).await?;
        self.summary.lasted = self.lasted();
        Ok(())
    }

    /// Runs until the demo has lasted as long as it should, or a signal ends it.
    async fn perform(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.audience.has_left() && self.plan.duration.is_none_or(|duration| self.lasted() < duration)
        {
            tokio::select! {
                told = self.fleet.told() => if let Some(told) = told {
                    self.take(told)?;
                },
                Some(mishap) = self.mishaps.1.recv() => self.missed(mishap)?,
                _ = ticks.tick() => {
                    self.look()?;
                    if let Some(next) = self.director.step(&self.scene()) {
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
    async fn farewell(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let leader = self.fleet.leader();
        for actor in 0..self.fleet.actors.len() {
            if self.fleet.actors[actor].is_stopped {
                self.fleet.actors[actor].resume()?;
            }
            if Some(actor) != leader {
                self.fleet.actors[actor].order(Order::Close);
            }
        }
        let others = self.wait_until_gone(signals, leader).await?;
        if let Some(leader) = leader.filter(|_| others) {
            self.fleet.actors[leader].order(Order::Close);
            self.wait_until_gone(signals, None).await?;
        }
        self.fleet.actors.iter().filter(|actor| actor.is_present()).try_for_each(|actor| actor.kill())?;
        Ok(())
    }

    /// Returns false where a signal came first or the time ran out.
    async fn wait_until_gone(&mut self, signals: &mut Signals, but: Option<usize>) -> Result<bool, Failure> {
        let until = self.clock.now() + FAREWELL;
        let mut ticks = interval(TICK / 4);
        while self.clock.now() < until {
            tokio::select! {
                told = self.fleet.told() => if let Some(told) = told {
                    self.take(told)?;
                },
                _ = ticks.tick() => {
                    self.look()?;
                    self.draw()?;
                    let mut others = self.fleet.actors.iter().enumerate().filter(|(index, _)| Some(*index) != but);
                    if !others.any(|(_, actor)| actor.is_present()) {
                        return Ok(true);
                    }
                }
                () = signals.next() => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Takes in a candidate's message.
    fn take(&mut self, told: Told) -> Result<(), Failure> {
        let Told { actor: index, life, what } = told;
        let actor = &mut self.fleet.actors[index];
        if life != actor.life {
            return Ok(());
        }
        let candidate = actor.name.clone();
        match what {
            What::Silence => {
                actor.is_silent = true;
                Ok(())
            }
            What::Said(message) => self.tell(Happening::Warning { candidate, message }),
            What::Report(Report::State { state }) => {
                actor.state = state;
                Ok(())
            }
            What::Report(Report::Won { token, at }) => {
                let token = parsed(&token)?;
                actor.token = Some(token);
                actor.terms += 1;
                self.won(candidate, token, Instant::from_nanos(at))
            }
            What::Report(Report::Lost { token, reason }) => {
                if actor.token.is_some_and(|held| held.to_string() == token) {
                    actor.token = None;
                }
                let caused = |blow: Blow| blow.victim == index && blow.fault != Fault::Stop;
                let is_news = !self.is_closing && !self.blow.is_some_and(caused);
                self.tell(Happening::Lost { candidate, token, reason, is_news })
            }
            What::Report(Report::Warning { message }) => self.tell(Happening::Warning { candidate, message }),
            What::Report(Report::Refused { message }) => self.missed(message),
            What::Report(Report::Failed { failure }) if self.is_closing => {
                self.tell(Happening::Warning { candidate, message: failure.to_string() })
            }
            What::Report(Report::Failed { failure }) => Err(failure),
        }
    }

    fn won(&mut self, candidate: String, token: Token, at: Instant) -> Result<(), Failure> {
        self.summary.terms += 1;
        self.history = self.fleet.history()?;
        let vacancy = self.history.vacancy_before(token, at);
        let blow = self.director.won(self.clock.now());
        if let Some(blow) = blow {
            self.recovered(blow);
        }
        let expected = blow.and_then(|blow| blow.successor).map(|index| self.name(index));
        self.tell(Happening::Won { candidate, token, vacancy, expected })
    }

    /// Marks faults that leave their victim in the election as repaired.
    fn recovered(&mut self, blow: Blow) {
        if matches!(blow.fault, Fault::HandOver | Fault::Delete | Fault::Overwrite) {
            self.fleet.actors[blow.victim].suffers = None;
        }
    }

    /// Notices processes that have ended, and reads the probes' records.
    fn look(&mut self) -> Result<(), Failure> {
        for index in 0..self.fleet.actors.len() {
            if !self.fleet.actors[index].reap() {
                continue;
            }
            self.fleet.actors[index].token = None;
            if self.fleet.actors[index].suffers.is_none() && !self.is_closing {
                self.tell(Happening::Gone { candidate: self.name(index) })?;
                self.fleet.start(index, &self.plan)?;
            }
        }
        self.history = self.fleet.history()?;
        let overlaps = self.history.overlaps();
        for overlap in overlaps.into_iter().skip(self.summary.overlaps) {
            self.summary.overlaps += 1;
            self.tell(Happening::Overlap(Box::new(overlap)))?;
        }
        Ok(())
    }

    fn scene(&self) -> Scene {
        let actors = &self.fleet.actors;
        Scene {
            now: self.clock.now(),
            end: self.plan.duration.map(|duration| self.began + duration),
            leader: self.fleet.leader(),
            well: actors.iter().map(|actor| actor.is_well()).collect(),
            present: actors.iter().map(|actor| actor.is_present()).collect(),
        }
    }

    fn carry_out(&mut self, next: Move) -> Result<(), Failure> {
        match next {
            Move::Strike(blow) => self.strike(blow),
            Move::Mend(blow) => self.mend(blow),
            Move::Wonder(blow) => {
                self.recovered(blow);
                let after = self.clock.now().since(blow.at);
                self.tell(Happening::Vacant { fault: blow.fault, after })
            }
        }
    }

    fn strike(&mut self, blow: Blow) -> Result<(), Failure> {
        self.blow = Some(blow);
        *self.summary.faults.entry(blow.fault).or_default() += 1;
        self.tell(Happening::of(&blow, |index| self.name(index)))?;
        let to = blow.successor.map(|index| self.name(index)).unwrap_or_default();
        let victim = &mut self.fleet.actors[blow.victim];
        victim.suffers = Some(
            match blow.fault {
                Fault::Kill => "killed",
                Fault::Stop => "stopped",
                Fault::Restart => "leaves",
                Fault::HandOver => "hands over",
                Fault::Delete => "deleted",
                Fault::Overwrite => "overwritten",
            }
            .into(),
        );
        match blow.fault {
            Fault::Kill => victim.kill()?,
            Fault::Stop => victim.stop()?,
            Fault::Restart => victim.order(Order::Close),
            Fault::HandOver => victim.order(Order::HandOver { to }),
            Fault::Delete | Fault::Overwrite => self.operate(blow.fault),
        }
        Ok(())
    }

    /// Writes as an operator would; an error is handled when it is known.
    fn operate(&self, fault: Fault) {
        let (operator, key, answer) =
            (Arc::clone(&self.plan.operator), self.plan.key.clone(), self.mishaps.0.clone());
        tokio::spawn(async move {
            let write = async {
                match fault {
                    Fault::Overwrite => operator.put(&key, b"other-software").await,
                    _ => operator.delete(&key).await,
                }
            };
            let mishap = match timeout(OPERATOR_PATIENCE, write).await {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer for {}", span(OPERATOR_PATIENCE)),
            };
            // Sending fails only when the demo is over.
            let _ = answer.send(mishap);
        });
    }

    fn mend(&mut self, blow: Blow) -> Result<(), Failure> {
        let after = self.clock.now().since(blow.at);
        let victim = self.name(blow.victim);
        if blow.fault == Fault::Stop {
            self.fleet.actors[blow.victim].suffers = None;
            self.tell(Happening::Mended { fault: blow.fault, victim, after })?;
            return Ok(self.fleet.actors[blow.victim].resume()?);
        }
        self.fleet.start(blow.victim, &self.plan)?;
        self.tell(Happening::Mended { fault: blow.fault, victim, after })
    }

    /// The last fault could not be made.
    fn missed(&mut self, message: String) -> Result<(), Failure> {
        self.director.missed(self.clock.now());
        let Some(blow) = self.blow.take() else { return Ok(()) };
        self.fleet.actors[blow.victim].suffers = None;
        if let Some(made) = self.summary.faults.remove(&blow.fault).filter(|made| *made > 1) {
            self.summary.faults.insert(blow.fault, made - 1);
        }
        self.tell(Happening::Missed { fault: blow.fault, message })
    }

    fn tell(&mut self, happening: Happening) -> Result<(), Failure> {
        let at = self.lasted();
        self.audience.tell(at, &happening)
    }

    fn draw(&mut self) -> Result<(), Failure> {
        self.audience.show(self.view())
    }

    fn view(&self) -> View {
        let mut vacancies = self.history.vacancies();
        vacancies.sort();
        View {
            store: self.plan.store.clone(),
            key: self.plan.key.clone(),
            lease: self.plan.lease,
            lasted: self.lasted(),
            rows: (0..self.fleet.actors.len()).map(|index| self.row(index)).collect(),
            terms: self.summary.terms,
            overlaps: self.summary.overlaps,
            vacancy: percentile(&vacancies, 0.5).zip(percentile(&vacancies, 1.0)),
            log: Vec::new(),
            is_closing: self.is_closing,
        }
    }

    fn row(&self, index: usize) -> Row {
        let actor = &self.fleet.actors[index];
        let now = self.clock.now();
        let deadline = actor.token.and_then(|token| self.history.deadline(&actor.name, token));
        let suffers = match &self.blow {
            Some(blow) if blow.victim == index && actor.is_stopped => {
                Some(format!("for {}", span(now.since(blow.at))))
            }
            _ => actor.suffers.clone(),
        };
        Row {
            name: actor.name.clone(),
            pid: actor.pid(),
            state: actor.state.clone(),
            is_present: actor.is_present(),
            is_stopped: actor.is_stopped,
            token: actor.token.map(|token| token.sequence.0),
            left: deadline.map(|deadline| deadline.since(now)),
            terms: actor.terms,
            suffers,
        }
    }

    fn name(&self, index: usize) -> String {
        self.fleet.actors[index].name.clone()
    }

    fn lasted(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Returns the verdict once all candidates have left.
    fn end(mut self) -> Result<Exit, Failure> {
        self.summary.judge(&self.fleet.history()?);
        self.audience.conclude(&self.summary)?;
        Ok(self.summary.exit())
    }
}

fn parsed(token: &str) -> Result<Token, Failure> {
    token.parse().map_err(|error| Failure::failed(format!("a candidate reports what is no token: {error}")))
}
