//! Carries out the steps of a scenario, one after another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use incumbent::incumbent_core::campaign::Settings;
use incumbent::{Preset, State, WinDelay};

use super::fixture::Fixture;
use super::implementation::{CandidateHandle, Implementation, deadline};
use super::leader_check::LeaderCheck;
use super::participant::{Participant, Watcher};
use super::rules;
use super::suite::{Failure, Missed};
use super::time::Time;
use crate::harness::StoreKind;
use crate::scenario::{self, Scenario, Step};

/// The settings of a runner, apart from the scenario.
#[derive(Clone)]
pub struct Setup {
    /// The candidates under test.
    pub implementation: Arc<dyn Implementation>,
    /// The program `incumbent-harness`.
    pub harness: PathBuf,
    /// The address of a Kafka broker for the harness. If there is none, the harness starts a broker of its own.
    pub broker: Option<String>,
    /// The time limit of an expectation.
    pub timeout: Duration,
}

/// Plays a scenario on a store.
///
/// # Errors
/// The first step whose expectation is not met, or the rule that is broken, with all events of all candidates.
pub async fn play(scenario: &Scenario, kind: StoreKind, setup: &Setup) -> Result<(), Failure> {
    let fail = |step: Option<usize>, verb: String, missed: Missed, history| Failure {
        scenario: scenario.name.clone(),
        store: kind,
        step,
        steps: scenario.steps.len(),
        verb,
        expected: missed.expected,
        seen: missed.seen,
        history,
    };
    let lacks = |what: &str, error: String| {
        fail(None, "before the first step".into(), Missed::new(what, error), Vec::new())
    };
    let fixture = Fixture::new(setup, kind, scenario).await.map_err(|error| lacks("a store", error))?;
    let check = LeaderCheck::start().map_err(|error| lacks("a thread", error.to_string()))?;
    let mut play = Play::new(scenario, kind, fixture, check, setup.timeout);
    let mut result = Ok(());
    for (at, step) in scenario.steps.iter().enumerate() {
        if let Err(missed) = play.step(step).await {
            // Waits for events of the same moment, which belong in the report.
            tokio::time::sleep(Duration::from_millis(50)).await;
            result = Err(fail(Some(at + 1), step.to_string(), missed, play.history()));
            break;
        }
    }
    if result.is_ok()
        && let Err(missed) = play.finish().await
    {
        result = Err(fail(None, "after the last step".into(), missed, play.history()));
    }
    let history = play.history();
    let ended = play.end().await;
    result.and(ended.map_err(|error| {
        fail(None, "at its end".into(), Missed::new("every store to close", error), history)
    }))
}

/// A scenario that is being played.
pub(super) struct Play {
    pub(super) time: Time,
    pub(super) fixture: Fixture,
    pub(super) participants: Vec<Participant>,
    pub(super) leader_check: LeaderCheck,
    pub(super) watchers: BTreeMap<String, Watcher>,
    pub(super) timeout: Duration,
    /// Candidates that won under another name.
    pub(super) aliases: BTreeMap<String, usize>,
}

impl Play {
    fn new(
        scenario: &Scenario,
        kind: StoreKind,
        fixture: Fixture,
        leader_check: LeaderCheck,
        timeout: Duration,
    ) -> Self {
        let time = Time::new(scenario.lease(kind));
        let participants: Vec<_> =
            scenario.candidates.iter().map(|(id, of)| Participant::new(id, of, time.begun)).collect();
        let aliases =
            participants.iter().enumerate().map(|(at, participant)| (participant.id.clone(), at)).collect();
        Self { time, fixture, participants, leader_check, watchers: BTreeMap::new(), timeout, aliases }
    }

    async fn step(&mut self, step: &Step) -> Result<(), Missed> {
        match step {
            Step::Campaign { candidate, error, names } => {
                self.campaign(candidate, error.as_deref(), names.as_deref()).await?;
            }
            Step::Resign { candidate } => {
                let leaving = self.candidate(candidate)?.resign();
                self.participant_mut(candidate)?.leave("resign", leaving);
            }
            Step::HandOver { candidate, to } => {
                let leaving = self.candidate(candidate)?.hand_over(to);
                self.participant_mut(candidate)?.leave("hand_over", leaving);
            }
            Step::Close { candidate } => {
                let leaving = self.candidate(candidate)?.close();
                self.participant_mut(candidate)?.leave("close", leaving);
            }
            Step::CloseStore { candidate } => {
                let connection = self.connection(candidate)?;
                let leaving = self.fixture.open(&connection).await.map_err(on_harness)?.close();
                self.participant_mut(candidate)?.leave("close_store", leaving);
            }
            Step::SetHealthy { candidate, healthy } => self.candidate(candidate)?.set_healthy(*healthy),
            Step::FinishWork { candidate } => {
                if !std::mem::take(&mut self.participant(candidate)?.log.entries().at_work) {
                    return Err(Missed::new(format!("{candidate} to be at work"), "it is not"));
                }
                self.candidate(candidate)?.drained();
            }
            Step::FailWork { candidate } => {
                let handle = self.candidate(candidate)?;
                if handle.lease().is_none() {
                    return Err(Missed::new(format!("{candidate} to lead"), "it does not"));
                }
                handle.fail();
            }
            Step::Observe { observer, election } => {
                let observing = self.fixture.own_store().observe(election).await;
                let watcher = Watcher::new(observing.map_err(|error| Missed::new("an observer", error))?);
                self.watchers.insert(observer.clone(), watcher);
            }
            Step::Kill { candidate } => self.kill(candidate).await?,
            Step::Cut { candidate } => {
                let connection = self.connection(candidate)?;
                self.fixture.cut(&connection).await.map_err(on_harness)?;
            }
            Step::Heal { candidate } => {
                let connection = self.connection(candidate)?;
                self.fixture.heal(&connection).await.map_err(on_harness)?;
            }
            Step::DeleteKey { election } => self.fixture.delete(election).await.map_err(on_harness)?,
            Step::PutKey { election, value } => {
                self.fixture.put(election, value).await.map_err(on_harness)?
            }
            Step::ResetStore {} => self.fixture.reset().await.map_err(on_harness)?,
            Step::StopServer {} => self.fixture.stop_server().await.map_err(on_harness)?,
            Step::StartServer {} => self.fixture.start_server().await.map_err(on_harness)?,
            Step::Mark { mark } => self.time.mark(mark),
            expectation => self.expect(expectation).await?,
        }
        self.rules()
    }

    async fn campaign(&mut self, id: &str, error: Option<&str>, names: Option<&str>) -> Result<(), Missed> {
        if self.participant(id)?.candidate.as_ref().is_some_and(|before| before.state() != State::Closed) {
            return Err(Missed::new(format!("{id} to be closed before it campaigns again"), "it is not"));
        }
        let connection = self.connection(id)?;
        let store = self.fixture.open(&connection).await.map_err(on_harness)?;
        let participant = self.participant(id)?;
        let settings = settings(participant, self.time.lease);
        let campaigning = store.campaign(participant.of.election(), settings, participant.of.works);
        let campaigning = tokio::time::timeout(self.timeout, campaigning).await;
        let answer =
            campaigning.map_err(|_| Missed::new("an answer", format!("none in {:?}", self.timeout)))?;
        match (answer, error) {
            (Ok(candidate), None) => {
                let clock = self.time.clock.clone();
                let (election, id) = (participant.of.election().to_owned(), participant.id.clone());
                self.leader_check.ask(&election, &id, &candidate);
                self.participant_mut(&id)?.begin(candidate, clock);
                Ok(())
            }
            (Ok(_), Some(code)) => Err(Missed::new(format!("the error {code}"), format!("{id} campaigns"))),
            (Err(error), expected) => {
                let fits =
                    expected == Some(error.code) && names.is_none_or(|name| error.message.contains(name));
                let names = names.map(|name| format!(" that names {name:?}")).unwrap_or_default();
                let expected = match expected {
                    Some(code) => format!("the error {code}{names}"),
                    None => format!("{id} to campaign"),
                };
                let seen = format!("the error {error}");
                if fits { Ok(()) } else { Err(Missed::new(expected, seen)) }
            }
        }
    }

    /// Cuts the candidate off from the store, and then drops the candidate.
    async fn kill(&mut self, id: &str) -> Result<(), Missed> {
        let connection = self.connection(id)?;
        self.fixture.kill(&connection).await.map_err(on_harness)?;
        let deadline = deadline(&**self.candidate(id)?);
        let participant = self.participant_mut(id)?;
        let (election, id) = (participant.of.election().to_owned(), participant.id.clone());
        participant.die();
        self.leader_check.died(&election, &id, deadline);
        self.fixture.forget(&connection);
        Ok(())
    }

    /// Checks the conditions after the last step: every call returns, and no event remains that no step expects.
    async fn finish(&mut self) -> Result<(), Missed> {
        for at in 0..self.participants.len() {
            while !self.participants[at].leaving.is_empty() {
                self.returned(at, None).await?;
            }
        }
        for participant in &mut self.participants {
            participant.catch_up(&self.time.clock).await;
        }
        self.rules()?;
        rules::unasked(&self.participants).map_or(Ok(()), Err)
    }

    pub(super) fn rules(&self) -> Result<(), Missed> {
        rules::broken(&self.participants, &self.leader_check).map_or(Ok(()), Err)
    }

    async fn end(self) -> Result<(), String> {
        let Self { fixture, leader_check, watchers, participants, timeout, .. } = self;
        drop((leader_check, watchers, participants));
        fixture.end(timeout).await
    }

    fn history(&self) -> Vec<String> {
        let mut history = Vec::new();
        for participant in &self.participants {
            history.extend(participant.log.entries().history.iter().cloned());
        }
        history.sort_by_key(|(at, _)| *at);
        history.iter().map(|(at, reported)| format!("{}  {reported}", self.time.shown(*at))).collect()
    }

    pub(super) fn place(&self, id: &str) -> Result<usize, Missed> {
        self.aliases.get(id).copied().ok_or_else(|| Missed::new(format!("a candidate {id}"), "there is none"))
    }

    pub(super) fn participant(&self, id: &str) -> Result<&Participant, Missed> {
        Ok(&self.participants[self.place(id)?])
    }

    fn participant_mut(&mut self, id: &str) -> Result<&mut Participant, Missed> {
        let at = self.place(id)?;
        Ok(&mut self.participants[at])
    }

    pub(super) fn candidate(&self, id: &str) -> Result<&Arc<dyn CandidateHandle>, Missed> {
        let candidate = self.participant(id)?.candidate.as_ref();
        candidate.ok_or_else(|| Missed::new(format!("{id} to campaign"), "it does not"))
    }

    fn connection(&self, id: &str) -> Result<String, Missed> {
        let participant = self.participant(id)?;
        Ok(participant.of.connection(&participant.id))
    }
}

fn on_harness(error: String) -> Missed {
    Missed::new("the step to be carried out", error)
}

/// Returns the settings of every candidate, with those that the scenario sets for this one.
fn settings(participant: &Participant, lease: Duration) -> Settings {
    let of = &participant.of.options;
    let ms = Duration::from_millis;
    let defaults = Settings::new(participant.name());
    Settings {
        preset: match of.preset {
            None | Some(scenario::Preset::Fast) => Preset::Fast,
            Some(scenario::Preset::Standard) => Preset::Standard,
            Some(scenario::Preset::GoCompatible) => Preset::GoCompatible,
        },
        lease: Some(of.lease_ms.map_or(lease, ms)),
        skew: of.skew_ms.map(ms),
        drift_ppm: of.drift_ppm.unwrap_or(defaults.drift_ppm),
        slack: of.slack_ms.map(ms),
        win_delay: of.win_delay.map_or(defaults.win_delay, |delay| match delay {
            scenario::WinDelay::Automatic => WinDelay::Automatic,
            scenario::WinDelay::Cautious => WinDelay::Cautious,
            scenario::WinDelay::Fixed { ms: delay } => WinDelay::Fixed(ms(delay)),
        }),
        splay: Some(ms(of.splay_ms.unwrap_or(0))),
        drain: of.drain_ms.map_or(defaults.drain, ms),
        interval: of.interval_ms.map(ms),
        metadata: of.metadata.iter().map(|(key, text)| (key.clone(), text.clone())).collect(),
        ..defaults
    }
}
