//! Runs a script in an environment, and reports the progress on standard error.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::check::excuse::recovery;
use crate::environment::{Environment, Injected, Leading};
use crate::scenario::Scenario;
use crate::script::{Script, Step};

/// The time without faults at the end.
const QUIET: Duration = Duration::from_secs(5);
/// The longest wait for a leader beyond the checker's limit, before the wait is reported and the run continues.
const TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// Set by a signal that asks the run to end.
pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Runs for `time`, and logs everything in `folder`.
///
/// # Errors
/// The reason why it did not run to the end; the history is in the folder nevertheless.
pub(crate) fn run(scenario: Scenario, seed: u64, time: Duration, folder: &Path) -> Result<()> {
    let began = Instant::now();
    let script = Script::new(&scenario, seed);
    let environment = Environment::prepare(scenario, seed, folder)?;
    let mut controller = Controller { environment, began };
    let ran = controller.carry_out(script, began + time);
    if ran.is_err() {
        // A failure does not matter, because the file only helps people who read the folder.
        let _ = std::fs::write(folder.join("servers.txt"), controller.environment.server_logs());
    }
    ran
}

struct Controller {
    environment: Environment,
    began: Instant,
}

impl Controller {
    fn carry_out(&mut self, script: Script, end: Instant) -> Result<()> {
        self.await_leaders(Environment::is_led)?;
        for step in script {
            if Instant::now() >= end {
                break;
            }
            self.step(&step)?;
            if let Some(ended) = self.environment.ended_early() {
                bail!("{ended}");
            }
        }
        self.environment.faults_over();
        self.await_leaders(Environment::is_led)?;
        self.sleep_until(Instant::now() + QUIET)?;
        if let Some(ended) = self.environment.ended_early() {
            bail!("{ended}");
        }
        self.environment.end()
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        self.sleep_until(Instant::now() + step.pause)?;
        self.await_leaders(|environment, election| {
            let aims = step.faults.iter().any(|fault| fault.aim == election);
            !aims || environment.is_led(election)
        })?;
        let mut injected = Vec::new();
        for fault in &step.faults {
            match self.environment.inject(fault)? {
                Some(fault) => injected.push((Instant::now() + fault.hold, fault)),
                None => self.say(&format!("{:<22} no victim", fault.kind)),
            }
        }
        injected.sort_by_key(|(until, _)| *until);
        for (until, fault) in &injected {
            self.sleep_until(*until)?;
            self.environment.repair(fault)?;
        }
        self.await_leaders(|environment, election| {
            let mut its = injected.iter().filter(|(_, fault)| fault.election == election);
            its.all(|(_, fault)| {
                if environment.is_led_by_foreign(election) {
                    return true;
                }
                let Some(after) = environment.leader(election) else { return false };
                let is_new = fault.before.as_ref().is_none_or(|before| before.token != after.token);
                is_new || !fault.kind.ends_the_term(environment.scenario.store)
            })
        })?;
        for (_, fault) in &injected {
            let line = self.line(fault);
            self.say(&line);
        }
        Ok(())
    }

    /// The result of a fault.
    fn line(&self, fault: &Injected) -> String {
        let after = self.environment.leader(fault.election);
        let name = |leading: &Leading| self.environment.name(leading.member);
        let outcome = match (&fault.before, &after) {
            (Some(before), Some(after)) if before.token == after.token => {
                format!("{} still leads", name(after))
            }
            (_, Some(after)) => format!("{} leads", name(after)),
            (_, None) if self.environment.is_led_by_foreign(fault.election) => "go leads".into(),
            (_, None) => "VACANT".into(),
        };
        let took = Duration::from_nanos(self.environment.now().saturating_sub(fault.at)).as_secs_f64();
        let key = self.environment.scenario.elections[fault.election].key;
        format!("{:<22} {:<9} {:<7} {outcome}, after {took:.1} s", fault.kind, fault.on, key)
    }

    /// Waits until each election has an acceptable leader. If that takes too long, reports it and returns: the checker
    /// judges it.
    fn await_leaders(&mut self, will_do: impl Fn(&Environment, usize) -> bool) -> Result<()> {
        for election in 0..self.environment.scenario.elections.len() {
            let contest = &self.environment.scenario.elections[election];
            let (key, limit) = (contest.key, recovery(contest.lease) + TIMEOUT);
            let began = Instant::now();
            self.environment.catch_up();
            while !will_do(&self.environment, election) {
                if began.elapsed() > limit {
                    self.say(&format!("no new leader of {key} for {:.0} s", limit.as_secs_f64()));
                    break;
                }
                self.sleep_until(Instant::now() + POLL)?;
                self.environment.catch_up();
            }
        }
        Ok(())
    }

    fn sleep_until(&self, until: Instant) -> Result<()> {
        loop {
            if INTERRUPTED.load(Ordering::Acquire) {
                bail!("interrupted");
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    fn say(&self, what: &str) {
        let at = self.began.elapsed().as_secs_f64();
        eprintln!("{:>8} {at:6.1} s  {what}", self.environment.scenario.name);
    }
}
