//! The targets of faults: servers, proxies, candidates, and an operator.

mod foreign;
mod inject;
mod operator;
mod pulse;
mod servers;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use incumbent::{Clock, Token};
use incumbent_rig::candidate::{CampaignSetup, Order, Setup};
use incumbent_rig::fleet::Fleet;
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait;
use tokio::runtime::Runtime;

use crate::log::{Election, Log, Note};
use crate::scenario::{Scenario, StoreKind};
use foreign::Foreign;
pub(crate) use inject::Injected;
use operator::Operator;
use pulse::Pulse;
use servers::Servers;

/// The longest time that a candidate may take to leave.
const LEAVING: Duration = Duration::from_secs(30);

/// The name of the controller's own file.
pub(crate) const CONTROLLER: &str = "controller.jsonl";

/// A run's servers and candidates. Dropping it leaves nothing behind but the files in its folder.
pub(crate) struct Environment {
    pub(crate) scenario: Scenario,
    folder: PathBuf,
    notes: Arc<Log>,
    clock: Clock,
    // Dropped in this order: candidates before the servers, and both before the runtime.
    fleet: Fleet,
    /// A candidate of other software, if an election has one.
    foreign: Option<Foreign>,
    /// The proxies of each candidate, one to each server.
    links: Vec<Vec<Proxy>>,
    pulse: Pulse,
    operator: Operator,
    servers: Servers,
    runtime: Runtime,
    faults: u32,
}

/// The leader, as far as candidates have reported it to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leading {
    pub(crate) member: usize,
    pub(crate) token: Token,
}

impl Environment {
    /// Starts the servers and makes the buckets; then the candidates.
    pub(crate) fn prepare(scenario: Scenario, seed: u64, folder: &Path) -> Result<Self> {
        let servers = Servers::start(&scenario);
        let addresses = servers.addresses();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let buckets = scenario.buckets();
        let (store, members) = (scenario.store, addresses.join(","));
        for (bucket, lease) in &buckets {
            runtime.block_on(async {
                match store {
                    StoreKind::Nats => operator::make(&members, bucket, *lease, servers.replicas()).await,
                    StoreKind::Etcd => operator::declare_new(&members, bucket).await,
                }
            })?;
        }
        let names: Vec<&'static str> = buckets.iter().map(|(bucket, _)| *bucket).collect();
        let operator = runtime.block_on(Operator::connect(store, &addresses, &names))?;
        let notes = Arc::new(Log::create(&folder.join(CONTROLLER))?);
        let pulse = {
            let _inside = runtime.enter();
            Pulse::start(store, &addresses, &names, &notes)
        };
        let fleet = Fleet::new(scenario.names.clone());
        let links = |_| addresses.iter().map(|server| Proxy::to(server)).collect();
        let links = scenario.names.iter().map(links).collect();
        let clock = Clock::system();
        let mut environment = Self {
            scenario,
            folder: folder.to_owned(),
            notes,
            clock,
            fleet,
            foreign: None,
            links,
            pulse,
            operator,
            servers,
            runtime,
            faults: 0,
        };
        environment.begin(seed)?;
        Ok(environment)
    }

    fn begin(&mut self, seed: u64) -> Result<()> {
        wait::until("the store to take writes", Duration::from_secs(60), || self.pulse.is_there());
        let elections = self.scenario.elections.iter().map(|contest| Election {
            key: contest.key.into(),
            bucket: contest.bucket.into(),
            store: self.scenario.store,
            lease_ms: u64::try_from(contest.lease.as_millis()).unwrap_or(u64::MAX),
        });
        self.notes.write(&Note::Begin {
            scenario: self.scenario.name.into(),
            seed,
            servers: self.scenario.servers,
            elections: elections.collect(),
            at: self.now(),
        });
        (0..self.links.len()).try_for_each(|member| self.start(member))?;
        let mixed = self.scenario.elections.iter().find(|contest| contest.is_mixed);
        self.foreign = mixed.map(|contest| {
            let queue = format!("{}/{}", contest.bucket, contest.key);
            let endpoints = self.servers.addresses().join(",");
            Foreign::start(endpoints, queue, contest.key, contest.lease, &self.notes)
        });
        Ok(())
    }

    fn start(&mut self, member: usize) -> Result<()> {
        let at = self.now();
        let (name, life) = (self.name(member), self.fleet.members[member].run + 1);
        let servers: Vec<String> = self.links[member].iter().map(Proxy::address).collect();
        let contests = self.scenario.elections.iter().filter(|contest| contest.among.contains(&member));
        let campaigns = contests.map(|contest| CampaignSetup {
            store: match self.scenario.store {
                StoreKind::Nats => format!("nats://{}/{}", servers.join(","), contest.bucket),
                StoreKind::Etcd => format!("etcd://{}/{}", servers.join(","), contest.bucket),
            },
            key: contest.key.into(),
            lease: contest.lease,
            preset: contest.preset,
            splay: true,
        });
        let record = self.folder.join(format!("{name}-{life}.jsonl"));
        let setup = Setup { name: name.into(), record, campaigns: campaigns.collect() };
        let mut command = Command::new(std::env::current_exe()?);
        let errors = self.folder.join("errors.txt");
        let errors = std::fs::File::options().create(true).append(true).open(errors)?;
        command.arg("candidate").arg(std::process::id().to_string()).stderr(Stdio::from(errors));
        let _inside = self.runtime.enter();
        let started = self.fleet.start_process(member, command, setup);
        started.with_context(|| format!("cannot start {name}"))?;
        self.notes.write(&Note::Started { name: name.into(), life, at });
        Ok(())
    }

    /// Waits until a candidate that was ordered to leave has left.
    fn await_end(&mut self, member: usize) -> Result<()> {
        let member = &mut self.fleet.members[member];
        if !member.is_present() {
            return Ok(());
        }
        let what = format!("the end of {}, life {}", member.name, member.run);
        let status = wait::until_some(&what, LEAVING, || member.exit_status());
        anyhow::ensure!(status.success(), "{}, life {}, ended with {status}", member.name, member.run);
        Ok(())
    }

    /// Nanoseconds of the clock that all processes share.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    /// Reads the candidates' reports.
    pub(crate) fn catch_up(&mut self) {
        self.fleet.catch_up();
        if let Some(foreign) = &mut self.foreign {
            foreign.catch_up();
        }
    }

    /// The leader of that election, if it is able to lead. If two candidates have reported a win, this is the later
    /// one.
    pub(crate) fn leader(&self, election: usize) -> Option<Leading> {
        let (member, token) = self.fleet.leader(self.scenario.elections[election].key)?;
        Some(Leading { member, token })
    }

    /// Returns true if any candidate leads that election, even one of other software.
    pub(crate) fn is_led(&self, election: usize) -> bool {
        self.leader(election).is_some() || self.is_led_by_foreign(election)
    }

    /// Returns true if a candidate of other software leads that election.
    pub(crate) fn is_led_by_foreign(&self, election: usize) -> bool {
        self.scenario.elections[election].is_mixed && self.foreign.as_ref().is_some_and(Foreign::leads)
    }

    pub(crate) fn name(&self, member: usize) -> &'static str {
        self.scenario.names[member]
    }

    /// Returns true if the store currently takes writes.
    pub(crate) fn store_is_there(&self) -> bool {
        self.pulse.is_there()
    }

    /// A candidate that has ended without an order.
    pub(crate) fn ended_early(&mut self) -> Option<String> {
        self.fleet.members.iter_mut().find_map(|member| {
            let status = member.exit_status()?;
            Some(format!("{}, life {}, ended by itself: {status}", member.name, member.run))
        })
    }

    /// Logs that no more faults will follow.
    pub(crate) fn faults_over(&self) {
        self.notes.write(&Note::FaultsOver { at: self.now() });
    }

    /// Orders all candidates to leave, and waits until they have.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.notes.write(&Note::End { at: self.now() });
        if let Some(foreign) = &mut self.foreign {
            foreign.end();
        }
        self.fleet.members.iter().for_each(|member| member.order(Order::Close));
        (0..self.links.len()).try_for_each(|member| self.await_end(member))
    }

    /// The last lines of the servers' logs.
    pub(crate) fn server_logs(&self) -> String {
        self.servers.logs()
    }
}
