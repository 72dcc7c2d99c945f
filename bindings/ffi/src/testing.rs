//! A scripted election, a store with faults and a manual clock, for tests in every language.

use std::sync::Arc;
use std::time::Duration;

use incumbent::clock::Clock;
use incumbent::incumbent_core::Revision;
use incumbent::store::StoreSettings;
use incumbent::{Instant, Leader, Reason, Token, Warning};

use crate::engine::ProcessBound;
use crate::settings::Opening;
use crate::{Candidate, Operation, Result, Store};

/// A clock that moves only when it is advanced.
#[derive(Clone, Debug)]
pub struct ManualClock {
    clock: Clock,
}

impl ManualClock {
    /// Creates a clock that shows one hour, so that there is a past.
    pub fn new() -> Self {
        Self { clock: Clock::manual(Instant::ZERO + Duration::from_secs(3600)) }
    }

    /// Advances the clock.
    pub fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

/// A scripted election; see [`incumbent::testing::ScriptedElection`].
#[derive(Clone, Debug)]
pub struct Script {
    inner: Arc<ProcessBound<incumbent::testing::ScriptedElection>>,
}

impl Script {
    /// Creates an election and its only candidate, which does not lead.
    ///
    /// # Errors
    /// `StoreUnavailable` if the operating system refuses a thread.
    pub fn new(election: &str, candidate: &str, clock: Option<&ManualClock>) -> Result<(Self, Candidate)> {
        let clock = clock.map_or_else(Clock::system, |manual| manual.clock.clone());
        let (script, candidate) = incumbent::testing::ScriptedElection::new(election, candidate, clock);
        Ok((Self { inner: Arc::new(ProcessBound::new(script)) }, Candidate::new(candidate)?))
    }

    /// Lets the candidate win; with `lease`, or without an expiry.
    ///
    /// # Errors
    /// `Forked` in a forked child, as for all methods here.
    pub fn acquire(&self, lease: Option<Duration>) -> Result<Token> {
        let script = self.get()?;
        Ok(lease.map_or_else(|| script.acquire(), |lease| script.acquire_for(lease)))
    }

    /// Ends the term at once, for that reason.
    ///
    /// # Errors
    /// `Forked`.
    pub fn revoke(&self, reason: Reason) -> Result<()> {
        self.get()?.revoke(reason);
        Ok(())
    }

    /// Lets the term drain, for that reason.
    ///
    /// # Errors
    /// `Forked`.
    pub fn drain(&self, reason: Reason) -> Result<()> {
        self.get()?.drain(reason);
        Ok(())
    }

    /// Shows the candidate a leader of that name, or no leader.
    ///
    /// # Errors
    /// `Forked`.
    pub fn leader(&self, name: Option<&str>) -> Result<()> {
        let leader = |name: &str| Leader {
            name: name.to_owned(),
            nonce: None,
            revision: Revision(1),
            metadata: Vec::new(),
        };
        self.get()?.leader(name.map(leader));
        Ok(())
    }

    /// Emits a warning of the mildest kind: another process campaigns under the candidate's name.
    ///
    /// # Errors
    /// `Forked`.
    pub fn warning(&self) -> Result<()> {
        self.get()?.warning(Warning::MarkersMislead);
        Ok(())
    }

    /// Returns the requests of the code under test: a name and an argument each.
    ///
    /// # Errors
    /// `Forked`.
    pub fn asked(&self) -> Result<Vec<(&'static str, Option<String>)>> {
        use incumbent::testing::Asked;
        let plain = |asked| match asked {
            Asked::Resign => ("resign", None),
            Asked::HandOver(to) => ("hand_over", Some(to)),
            Asked::Close => ("close", None),
            Asked::Healthy(is_well) => ("set_healthy", Some(is_well.to_string())),
            Asked::AcceptReset => ("accept_reset", None),
            Asked::HandlerFailed => ("fail", None),
        };
        Ok(self.get()?.asked().into_iter().map(plain).collect())
    }

    fn get(&self) -> Result<&incumbent::testing::ScriptedElection> {
        self.inner.get("script")
    }
}

/// Injects faults into a store; see [`incumbent::testing::Faults`].
#[derive(Clone, Debug)]
pub struct Faults {
    inner: Arc<ProcessBound<incumbent::testing::Faults>>,
}

/// A fault of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The write is done, and its answer is lost.
    LoseAnswer,
    /// The write is never done.
    LoseRequest,
    /// The store refuses the write because another is in flight.
    Busy,
}

impl Faults {
    /// Opens a store with fault injection.
    pub fn open(opening: Opening, clock: Option<&ManualClock>) -> Operation<(Store, Self)> {
        let clock = clock.map_or_else(Clock::system, |manual| manual.clock.clone());
        Operation::start(async move {
            let adapter = opening.url.parse::<StoreSettings>()?.open(&clock).await?;
            let (faulty, faults) = incumbent::testing::Faulty::new(adapter);
            let builder = incumbent::Store::builder().clock(clock).fail_fast(opening.fail_fast);
            let store = Store::new(builder.adapter(Box::new(faulty))?)?;
            Ok((store, Self { inner: Arc::new(ProcessBound::new(faults)) }))
        })
    }

    /// Makes the next `count` writes fail in that way.
    ///
    /// # Errors
    /// `Forked` in a forked child, as for all methods here.
    pub fn writes(&self, fault: WriteFault, count: usize) -> Result<()> {
        let faults = self.get()?;
        match fault {
            WriteFault::LoseAnswer => faults.lose_answers(count),
            WriteFault::LoseRequest => faults.lose_requests(count),
            WriteFault::Busy => faults.busy(count),
        }
        Ok(())
    }

    /// Delays every answer from now on; zero ends it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn delay_answers(&self, delay: Duration) -> Result<()> {
        self.get()?.delay_answers(delay);
        Ok(())
    }

    /// Refuses writes for that reason until `None` is given.
    ///
    /// # Errors
    /// `Forked`.
    pub fn deny_writes(&self, reason: Option<&str>) -> Result<()> {
        let faults = self.get()?;
        reason.map_or_else(|| faults.allow_writes(), |reason| faults.deny_writes(reason));
        Ok(())
    }

    /// Cuts the connection, or restores it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn partition(&self, is_cut: bool) -> Result<()> {
        let faults = self.get()?;
        if is_cut {
            faults.partition()
        } else {
            faults.heal()
        }
        Ok(())
    }

    /// Silences every present watch.
    ///
    /// # Errors
    /// `Forked`.
    pub fn kill_watches(&self) -> Result<()> {
        self.get()?.kill_watches();
        Ok(())
    }

    fn get(&self) -> Result<&incumbent::testing::Faults> {
        self.inner.get("store")
    }
}
