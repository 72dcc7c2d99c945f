//! The targets of faults: servers, proxies, candidates, and an operator.

mod actor;
mod operator;
mod pulse;
mod servers;
mod strike;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use incumbent::{Clock, Preset};
use tokio::runtime::Runtime;

use crate::candidate::{Candidacy, Order};
use crate::log::{Election, Log, Note};
use crate::scenario::Scenario;
use actor::Actor;
use operator::Operator;
use pulse::Pulse;
use servers::Servers;
pub(crate) use strike::Blow;

/// The name of the director's own file.
pub(crate) const DIRECTOR: &str = "director.jsonl";

/// A run's servers and candidates. Dropping it leaves nothing behind but the files in its folder.
pub(crate) struct Stage {
    pub(crate) scenario: Scenario,
    folder: PathBuf,
    notes: Arc<Log>,
    clock: Clock,
    // Dropped in this order: candidates before the servers, and both before the runtime.
    actors: Vec<Actor>,
    pulse: Pulse,
    operator: Operator,
    servers: Servers,
    runtime: Runtime,
    faults: u32,
}

/// The leader, as far as reported to the director.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leading {
    pub(crate) actor: usize,
    pub(crate) token: String,
}

impl Stage {
    /// Starts the servers and makes the buckets; then the candidates.
    pub(crate) fn set(scenario: Scenario, seed: u64, folder: &Path) -> Result<Self> {
        let servers = Servers::start(scenario.servers);
        let addresses = servers.addresses();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let buckets = scenario.buckets();
        for (bucket, lease) in &buckets {
            runtime.block_on(operator::make(&addresses.join(","), bucket, *lease, servers.replicas()))?;
        }
        let names: Vec<&'static str> = buckets.iter().map(|(bucket, _)| *bucket).collect();
        let operator = runtime.block_on(Operator::connect(&addresses, &names))?;
        let notes = Arc::new(Log::create(&folder.join(DIRECTOR))?);
        let pulse = {
            let _inside = runtime.enter();
            Pulse::start(&addresses, &names, &notes)
        };
        let actors = actors(&scenario, &addresses);
        let clock = Clock::system();
        let mut stage = Self {
            scenario,
            folder: folder.to_owned(),
            notes,
            clock,
            actors,
            pulse,
            operator,
            servers,
            runtime,
            faults: 0,
        };
        stage.begin(seed)?;
        Ok(stage)
    }

    fn begin(&mut self, seed: u64) -> Result<()> {
        incumbent_testkit::wait::until("the store to take writes", Duration::from_secs(60), || {
            self.pulse.is_there()
        });
        let elections = self.scenario.elections.iter().map(|contest| Election {
            key: contest.key.into(),
            bucket: contest.bucket.into(),
            lease_ms: u64::try_from(contest.lease.as_millis()).unwrap_or(u64::MAX),
        });
        self.notes.write(&Note::Begin {
            scenario: self.scenario.name.into(),
            seed,
            servers: self.scenario.servers,
            elections: elections.collect(),
            at: self.now(),
        });
        (0..self.actors.len()).try_for_each(|actor| self.start(actor))
    }

    fn start(&mut self, actor: usize) -> Result<()> {
        let at = self.now();
        let actor = &mut self.actors[actor];
        actor.start(&self.folder)?;
        self.notes.write(&Note::Started { name: actor.name.into(), life: actor.life, at });
        Ok(())
    }

    /// Nanoseconds of the clock that all processes share.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    /// The leader of that election, where it is able to lead; of two that reported a win, the later one.
    pub(crate) fn leader(&self, election: usize) -> Option<Leading> {
        let key = self.scenario.elections[election].key;
        let well = self.actors.iter().enumerate().filter(|(_, actor)| actor.is_well(key));
        let leading = well.filter_map(|(at, actor)| Some(Leading { actor: at, token: actor.token(key)? }));
        leading.max_by(|one, other| one.token.cmp(&other.token))
    }

    pub(crate) fn name(&self, actor: usize) -> &'static str {
        self.actors[actor].name
    }

    /// Whether the store takes writes.
    pub(crate) fn store_is_there(&self) -> bool {
        self.pulse.is_there()
    }

    /// Candidates that have ended without an order.
    pub(crate) fn deserters(&mut self) -> Option<String> {
        self.actors.iter_mut().find_map(|actor| {
            let status = actor.reap()?;
            Some(format!("{}, life {}, ended by itself: {status}", actor.name, actor.life))
        })
    }

    /// Logs that no fault is made from now on.
    pub(crate) fn calm(&self) {
        self.notes.write(&Note::Calm { at: self.now() });
    }

    /// Orders all candidates to leave, and waits until they have.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.notes.write(&Note::End { at: self.now() });
        self.actors.iter_mut().for_each(|actor| actor.order(&Order::Close));
        self.actors.iter_mut().try_for_each(Actor::leave)
    }

    /// The end of the servers' logs.
    pub(crate) fn server_logs(&self) -> String {
        self.servers.logs()
    }
}

fn actors(scenario: &Scenario, addresses: &[String]) -> Vec<Actor> {
    let candidacies = |at: usize| {
        let contests = scenario.elections.iter().filter(move |contest| contest.among.contains(&at));
        contests.map(|contest| Candidacy {
            key: contest.key.into(),
            bucket: contest.bucket.into(),
            lease: contest.lease,
            is_fast: contest.preset == Preset::Fast,
        })
    };
    let cast = scenario.cast.iter().enumerate();
    cast.map(|(at, name)| Actor::new(name, candidacies(at).collect(), addresses)).collect()
}
