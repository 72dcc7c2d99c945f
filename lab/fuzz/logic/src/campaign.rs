//! One candidate with random inputs: answers that are repeated, late, out of order or invented, any act of an operator,
//! clocks that jump, and any accepted settings. The invariants are checked after every step.

mod lies;
mod oracle;
mod plan;

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Event, Input, Output, Request, State};
use incumbent_core::store::Action;

use crate::choices::Choices;
use lies::Lies;
use oracle::Oracle;
pub use plan::Plan;

/// The most steps of one run.
pub const STEPS: usize = 1500;
/// More outputs than this for one input count as a loop.
const FLOOD: usize = 40;
/// More wake-ups in a row than this, without time passing, count as a loop.
const RESTLESS: usize = 5;

/// The fuzz target.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::of_bytes(bytes);
    let plan = Plan::draw(&mut choices);
    if let Some(mut run) = Run::begin(plan, choices) {
        run.to_the_end();
    }
}

/// One candidate, its inputs, and its oracle.
#[derive(Debug)]
pub struct Run<'a> {
    plan: Plan,
    choices: Choices<'a>,
    campaign: Campaign,
    now: Instant,
    lies: Lies,
    oracle: Oracle,
    /// All inputs that keep the contract, with their times.
    inputs: Vec<(Instant, Input)>,
    /// All outputs.
    trace: Vec<Output>,
}

impl<'a> Run<'a> {
    /// A campaign with these settings, unless they are refused.
    ///
    /// # Panics
    /// If a refusal does not state the setting, its value, the limit and the remedy.
    pub fn begin(plan: Plan, choices: Choices<'a>) -> Option<Self> {
        let campaign = match plan.campaign() {
            Ok(campaign) => campaign,
            Err(refused) => {
                let (limit, remedy) = (refused.limit.to_string(), refused.remedy.to_string());
                let parts = [refused.setting, &refused.value, &limit, &remedy];
                assert!(parts.iter().all(|part| !part.is_empty()), "{refused:?}");
                return None;
            }
        };
        Some(Self {
            now: plan.start,
            lies: Lies::new(&plan, &campaign),
            oracle: Oracle::new(&plan),
            campaign,
            plan,
            choices,
            inputs: Vec::new(),
            trace: Vec::new(),
        })
    }

    /// Runs until the choices are used up, and then replays everything with another campaign.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn to_the_end(&mut self) {
        for _ in 0..STEPS {
            if self.choices.are_used_up() {
                break;
            }
            self.step();
        }
        oracle::replay(&self.plan, &self.inputs, &self.trace, &self.campaign);
    }

    /// The outputs of the campaign so far.
    pub fn trace(&self) -> &[Output] {
        &self.trace
    }

    /// The number of terms won.
    pub fn terms(&self) -> usize {
        self.trace.iter().filter(|output| matches!(output, Output::Event(Event::Won(_)))).count()
    }

    /// The number of releases sent.
    pub fn releases(&self) -> usize {
        let is_release = |output: &&Output| matches!(output, Output::Ask(Request::Write(write)) if matches!(write.action, Action::Release { .. }));
        self.trace.iter().filter(is_release).count()
    }

    fn step(&mut self) {
        self.pass();
        let life = self.lies.life;
        let input = self.lies.input(&mut self.choices, &self.plan, self.now);
        if self.lies.life != life {
            // The contract requires a new watch to begin before another incarnation is handed in.
            self.give(Input::Watching { since: self.now });
        }
        self.give(input);
        for count in 0.. {
            let due = matches!(self.campaign.poll(), Output::WakeAt(Some(wake)) if wake.at <= self.now);
            if !due {
                break;
            }
            assert!(count < RESTLESS, "the campaign keeps asking to be woken");
            self.give(Input::Tick);
        }
        self.a_clock_that_goes_back_changes_nothing();
        self.misuse_changes_nothing();
    }

    /// Lets time pass: mostly little, sometimes until the next wake-up, seldom a lot.
    fn pass(&mut self) {
        let lease = self.plan.lease;
        let span = match self.choices.below(20) {
            0..=6 => Duration::ZERO,
            7..=12 => part(lease, self.choices.up_to(300)),
            13..=17 => match self.campaign.poll() {
                Output::WakeAt(Some(wake)) => wake.at.since(self.now).min(lease * 3),
                _ => Duration::ZERO,
            },
            18 => part(lease, self.choices.up_to(12) * 1000),
            _ if self.choices.one_in(200) => Duration::from_nanos(self.choices.any()),
            _ => part(lease, self.choices.up_to(70) * 1000),
        };
        self.now = self.now + span;
    }

    fn give(&mut self, input: Input) {
        let closed = self.campaign.state() == State::Closed;
        self.oracle.told(&input);
        self.campaign.handle(self.now, input.clone()).expect("an answer to something that was asked");
        self.inputs.push((self.now, input));
        for count in 0.. {
            assert!(count < FLOOD, "outputs without end");
            let output = self.campaign.poll();
            self.trace.push(output.clone());
            if let Output::WakeAt(wake) = output {
                let quiet = wake.is_none() || self.campaign.state() != State::Closed;
                assert!(quiet, "I6: closed, and awake");
                break;
            }
            assert!(!closed, "I6: closed, and says {output:?}");
            self.oracle.said(&output, &self.campaign, self.now, &self.lies);
            self.lies.asked(&output);
        }
        self.oracle.lease(&self.campaign, self.now);
    }

    /// I13.
    fn a_clock_that_goes_back_changes_nothing(&mut self) {
        let before = standing(&mut self.campaign);
        let earlier = self.now.before(part(self.plan.lease, self.choices.up_to(100) * 1000));
        self.campaign.handle(earlier, Input::Tick).expect("a tick");
        assert_eq!(standing(&mut self.campaign), before, "I13");
    }

    fn misuse_changes_nothing(&mut self) {
        let before = standing(&mut self.campaign);
        let later = self.now + self.plan.lease;
        for input in self.lies.misuse() {
            self.campaign.handle(later, input).expect_err("misuse");
        }
        assert_eq!(standing(&mut self.campaign), before, "misuse changes nothing");
    }
}

fn standing(campaign: &mut Campaign) -> impl PartialEq + std::fmt::Debug + use<> {
    (campaign.poll(), campaign.lease(), campaign.state(), campaign.leader().cloned(), campaign.lease_time())
}

/// `parts` thirty-thousandths of a lease: milliseconds, if the lease is 30 s.
fn part(lease: Duration, parts: u64) -> Duration {
    let nanos = lease.as_nanos() * u128::from(parts) / 30_000;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
