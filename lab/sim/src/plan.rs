//! The plan of a run: its world and the script of its faults, both drawn from one seed.

use std::time::Duration;

use incumbent_core::Incarnation;
use incumbent_core::campaign::{Forecast, Preset, Settings};
use incumbent_core::store::{Capabilities, StoreInfo};

use crate::clock::START;
use crate::dice::Dice;
use crate::happened::Happened;
use crate::kind::{Kind, Promise, Store};
use crate::oracle::ACandidateLeads;
use crate::scenario::Scenario;
use crate::setting::Setting;

/// The drift that the default settings allow for a clock, in parts per million.
pub(crate) const DRIFT: i64 = 5_000;

/// The stream of the draws that only an etcd needs.
pub(crate) const ETCD: u64 = 0x3_0000;

/// The stream that decides whether watches report when they have shown every existing entry.
const SHOWS_ALL: u64 = 0x7_0000;

/// The stream of the draws that only a consumer group needs.
pub(crate) const KAFKA: u64 = 0x5_0000;

/// The stream that decides whether there is a second election.
const SECOND: u64 = 0xd_0000;

/// The stream that decides whether a process gets only part of the processor's time.
const SLOW: u64 = 0xc_0000;

/// The stream of the draws for the candidate that cannot prove its claim.
const NO_PROOF: u64 = 0x9_0000;

/// The longest time by which an expired message may be removed too late.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(250);

/// A bucket with markers, on a server of version 2.11 or newer.
pub(crate) const BUCKET: Capabilities = Capabilities {
    own_lease: true,
    lease_step: Duration::from_secs(1),
    shortest: Duration::from_secs(1),
    longest: Duration::from_secs(365 * 24 * 3600),
    granularity: GRANULARITY,
    expiry_pushed: true,
    incarnation_acked: false,
    watch_shows_all: true,
    window: 256,
    fail_over: Duration::ZERO,
};

/// The error of the servers' clocks when they are set wrong.
pub(crate) const CLOCK_STEP: Duration = Duration::from_secs(10);

/// The factors by which a maximum age may be raised, in tenths. The last one is the largest.
pub(crate) const RAISED: [u32; 3] = [12, 15, 30];

/// What a user chooses for a run. It decides everything that happens in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The seed.
    pub seed: u64,
    /// The store.
    pub store: Store,
    /// The number of candidates.
    pub candidates: usize,
    /// The kinds of faults that a seed may draw. With `None` it may draw all of them, but rarely draws those that break
    /// an assumption.
    pub faults: Option<Vec<Kind>>,
    /// The number of additional foreign candidates. In a bucket they use the Go library `nats-kv-leader-elect`, in etcd
    /// Go's `concurrency.Election`, and in a consumer group goNELI. The first of these has no defence against some
    /// faults, which are then left out.
    pub peers: usize,
    /// Whether every candidate has the default settings.
    pub plain: bool,
    /// The indices of the faults in the script that are kept. `None` keeps all of them.
    pub keep: Option<Vec<usize>>,
    /// The longest time for which there are faults. With `None` the seed draws it.
    pub lasts: Option<Duration>,
}

impl Choice {
    /// Creates the choice of a run of a seed with five candidates and all kinds of faults.
    pub fn of_seed(seed: u64) -> Self {
        Self {
            seed,
            store: Store::Nats,
            candidates: 5,
            faults: None,
            peers: 0,
            plain: false,
            keep: None,
            lasts: None,
        }
    }
}

/// One fault of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its index in the script.
    pub(crate) place: usize,
    pub(crate) kind: Kind,
    /// When the fault begins, counted from the beginning of the run, and how long it lasts.
    pub(crate) from: Duration,
    pub(crate) lasts: Duration,
    /// A random number that decides which victim the fault has and how severe it is.
    pub(crate) roll: u64,
    /// The fault's victim, if a scenario states it.
    pub(crate) victim: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) choice: Choice,
    /// The longest lease of any candidate.
    pub(crate) lease: Duration,
    /// The settings of each candidate.
    pub(crate) settings: Vec<Setting>,
    /// The largest difference between the servers' clocks that the candidates' settings allow.
    pub(crate) skew: Duration,
    pub(crate) max_age: Duration,
    /// Whether records have their own lease time.
    pub(crate) own_lease: bool,
    pub(crate) markers: bool,
    pub(crate) acked: bool,
    /// Whether watches report when they have shown every existing entry.
    pub(crate) shows_all: bool,
    pub(crate) replicas: usize,
    pub(crate) never_used: bool,
    /// The percentage of writes after which other keys are written as well.
    pub(crate) other_keys: u64,
    /// By how many parts per million the servers' clocks run fast.
    pub(crate) store_rate: i64,
    /// The rate of each candidate's clock, and when each process begins, if a scenario states them.
    pub(crate) rates: Option<Vec<i64>>,
    pub(crate) begins: Option<Vec<Duration>>,
    /// The kinds of faults that the seed switched on.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) script: Vec<Fault>,
    /// The length of the phase with faults.
    pub(crate) faulty: Duration,
    /// Whether each session also has a candidate in a second election.
    pub(crate) second: bool,
    /// The consumer group.
    pub(crate) group: GroupPlan,
}

/// How partition zero is assigned to members of a consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigning {
    /// Every rebalance first takes the partition from its owner.
    Eager,
    /// A partition's owner keeps it through a rebalance, unless it has to move.
    Cooperative,
    /// As in KIP-848, the coordinator assigns each member its partitions, and its epoch changes without notice.
    Consumer,
}

/// The plan of a consumer group and its topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupPlan {
    pub(crate) assigning: Assigning,
    /// The session timeout, and for how long a rebalance waits for a member.
    pub(crate) session: Duration,
    pub(crate) rebalance: Duration,
    /// Whether members that use goNELI share the group.
    pub(crate) goneli: bool,
    /// Whether the brokers report the topic's id.
    pub(crate) has_ids: bool,
}

impl GroupPlan {
    fn drawn(choice: &Choice, lease: Duration, longest_drain: Duration) -> Self {
        let mut dice = Dice::new(choice.seed, KAFKA);
        let goneli = choice.peers > 0;
        let drawn = dice.pick(&[
            Assigning::Eager,
            Assigning::Cooperative,
            Assigning::Cooperative,
            Assigning::Consumer,
            Assigning::Consumer,
        ]);
        let assigning = if goneli { Assigning::Eager } else { drawn };
        // With the newer protocol the brokers decide on the session timeout, regardless of the lease.
        let session = match assigning {
            Assigning::Consumer => Duration::from_secs(dice.pick(&[6, 15, 45])),
            _ => lease * dice.pick(&[2, 3]),
        };
        // The limit is a setting of the client or of an operator, so a drain may be cut short.
        let whole = (longest_drain + session + Duration::from_secs(10)).max(Duration::from_secs(30));
        let rebalance = dice.pick(&[whole, lease / 2, Duration::from_secs(2)]);
        let has_ids = dice.percent(85);
        let group = Self { assigning, session, rebalance, goneli, has_ids };
        // A member learns of a rebalance with its next heartbeat.
        Self { rebalance: rebalance.max(group.beat() * 2), ..group }
    }

    /// Returns the interval at which a member's client sends heartbeats to the coordinator.
    pub(crate) fn beat(&self) -> Duration {
        (self.session / 10).max(Duration::from_millis(300))
    }

    /// Returns the longest time until the group has another owner, if there can be one.
    pub(crate) fn change(&self) -> Duration {
        self.session + self.rebalance * 2 + self.beat() * 4 + Duration::from_secs(5)
    }

    /// Describes the group in a few words.
    pub(crate) fn describe(&self) -> String {
        let Self { assigning, session, rebalance, has_ids, .. } = self;
        let how = match assigning {
            Assigning::Eager => "eager",
            Assigning::Cooperative => "cooperative",
            Assigning::Consumer => "the consumer protocol",
        };
        let ids = if *has_ids { "" } else { ", no topic ids" };
        format!("{how}, session {session:?}, rebalances within {rebalance:?}{ids}")
    }
}

impl Plan {
    pub(crate) fn new(choice: &Choice) -> Self {
        let mut dice = Dice::new(choice.seed, 1);
        let mut lease = Duration::from_secs(dice.pick(&[5, 10, 10, 15, 30]));
        let long = dice.percent(5);
        if long {
            // With these leases the drift is the larger part of the margin.
            lease = Duration::from_secs(dice.pick(&[120, 300, 900, 3600]));
        } else if dice.percent(10) {
            lease += Duration::from_millis(900);
        }
        let own_lease = dice.percent(20);
        let max_age = if own_lease { lease * dice.pick(&[1, 3]) } else { lease };
        let markers = dice.percent(50);
        let acked = dice.percent(25);
        let replicas = if dice.percent(75) { 3 } else { 1 };
        let never_used = dice.percent(50);
        let other_keys = if dice.percent(30) { 40 } else { 0 };
        let mut kinds = Vec::new();
        for kind in Kind::ALL.iter().filter(|kind| kind.is_of(choice.store)) {
            if kind.is_drawn_by_name_alone() {
                if choice.faults.as_ref().is_some_and(|named| named.contains(kind)) {
                    kinds.push(*kind);
                }
                continue;
            }
            let chance = match kind.promise() {
                Promise::Full => 40,
                Promise::Watching => 12,
                Promise::Tokens | Promise::Nothing => 3,
            };
            let drawn = match kind {
                // This is a separate stream, so that the runs of other seeds stay the same.
                Kind::SlowProcess => Dice::new(choice.seed, SLOW).percent(12),
                _ => dice.percent(chance),
            };
            match &choice.faults {
                // If fewer than six kinds are named, all of them are used.
                Some(named) if named.contains(kind) && (drawn || named.len() < 6) => kinds.push(*kind),
                None if drawn => kinds.push(*kind),
                _ => {}
            }
        }
        let (mut lease, mut own_lease, mut max_age, mut markers) = (lease, own_lease, max_age, markers);
        let etcd = choice.store == Store::Etcd;
        if etcd {
            // An etcd lease lasts whole seconds, and here no more than five minutes.
            lease = Duration::from_secs(lease.as_secs().clamp(6, 300));
            (max_age, markers) = (lease, false);
            // This is a second stream, because another store draws other things.
            own_lease = Dice::new(choice.seed, ETCD).percent(15);
        } else if choice.store == Store::Kafka {
            // All candidates of a group have the same lease.
            lease = lease.min(Duration::from_secs(300));
            (max_age, markers, own_lease) = (lease, false, false);
        } else if choice.peers > 0 {
            // This is the shortest lease that the library accepts. The library takes a marker for a live key.
            (lease, max_age) = (Duration::from_secs(30), Duration::from_secs(30));
            (own_lease, markers) = (false, false);
            kinds.retain(|kind| kind.spares_go_peers());
        }
        let store_rate = match kinds.contains(&Kind::Drift) {
            true => dice.pick(&[-DRIFT, 0, DRIFT]),
            false => 0,
        };
        // This is a separate stream, so that nothing else that a seed draws changes.
        let shows_all = choice.store == Store::Nats && Dice::new(choice.seed, SHOWS_ALL).percent(50);
        let mut faulty = lease * if long { 12 } else { 60 };
        let mut script = script(&mut dice, &kinds, lease, faulty, choice);
        if let Some(lasts) = choice.lasts {
            // Everything before that time is the same as in the complete run.
            faulty = faulty.min(lasts);
            script.retain(|fault| fault.from < faulty);
        }
        let setting = |place| match choice.plain {
            // If a lease is not the store's own maximum age, the store keeps whole seconds.
            true if own_lease && !etcd && lease != max_age => {
                Setting::plain(Duration::from_secs(lease.as_secs()))
            }
            true => Setting::plain(lease),
            false => {
                let mut setting = Setting::drawn(choice.seed, place, lease, own_lease, max_age);
                if etcd {
                    setting.lease = Duration::from_secs(setting.lease.as_secs().max(6));
                }
                setting
            }
        };
        let settings: Vec<_> = (0..choice.candidates).map(setting).collect();
        let shortest = settings.iter().map(|setting| setting.lease).min().unwrap_or(lease);
        let skew = (shortest / 20).min(Duration::from_secs(1));
        let drain = settings.iter().map(|setting| setting.drain).max().unwrap_or_default();
        let group = GroupPlan::drawn(choice, lease, drain);
        let second = etcd && Dice::new(choice.seed, SECOND).percent(30);
        let choice = choice.clone();
        Self {
            choice,
            lease,
            settings,
            skew,
            max_age,
            own_lease,
            markers,
            acked,
            shows_all,
            replicas,
            never_used,
            other_keys,
            store_rate,
            rates: None,
            begins: None,
            kinds,
            script,
            faulty,
            second,
            group,
        }
    }

    /// Returns the length of the phase without faults at the end. It lasts until a candidate leads, then for an orderly
    /// change of leaders, and then for a disorderly one.
    pub(crate) fn quiet(&self) -> Duration {
        let orders =
            self.drain() + self.delay() * 3 + self.max_age + self.longest_age() + Duration::from_secs(30);
        // In a group, candidates wait out both.
        let waits = if self.choice.store == Store::Kafka { self.lease * 4 } else { Duration::ZERO };
        ACandidateLeads::worst(self) * 2 + orders + self.owed() * 3 + waits
    }

    /// The plan of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let count = scenario.candidates.len();
        let mut kinds: Vec<_> = scenario.faults.iter().map(|fault| fault.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let script = scenario.faults.iter().enumerate().map(|(place, fault)| Fault {
            place,
            kind: fault.kind,
            from: fault.from,
            lasts: fault.lasts,
            roll: 0,
            victim: fault.candidate,
        });
        let lease = scenario.candidates.iter().map(|candidate| candidate.lease).max().unwrap_or_default();
        let shortest = scenario.candidates.iter().map(|candidate| candidate.lease).min().unwrap_or_default();
        let store = scenario.store;
        let choice = Choice { store, candidates: count, plain: true, ..Choice::of_seed(1) };
        let group = GroupPlan::drawn(&choice, lease, Duration::ZERO);
        Self {
            choice,
            lease,
            settings: scenario.candidates.iter().map(|candidate| Setting::prompt(candidate.lease)).collect(),
            skew: (shortest / 20).min(Duration::from_secs(1)),
            max_age: scenario.max_age,
            own_lease: true,
            markers: false,
            acked: false,
            shows_all: true,
            replicas: if store == Store::Etcd { 3 } else { 1 },
            never_used: true,
            other_keys: 0,
            store_rate: 0,
            rates: Some(scenario.candidates.iter().map(|candidate| candidate.rate).collect()),
            begins: Some(scenario.candidates.iter().map(|candidate| candidate.begins).collect()),
            kinds,
            script: script.collect(),
            faulty: scenario.lasts,
            second: false,
            group,
        }
    }

    /// The capabilities of the store.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            own_lease: self.own_lease,
            expiry_pushed: self.markers,
            incarnation_acked: self.acked,
            watch_shows_all: self.shows_all,
            window: 256,
            ..BUCKET
        }
    }

    /// Returns the settings of the candidate with an index, as a campaign expects them.
    pub(crate) fn settings_of(&self, node: usize) -> Settings {
        let mut settings = self.settings[node].settings(format!("c{node}"), self.skew);
        if self.choice.store != Store::Nats {
            // In these stores only durations count, and rounds or the log replace reads.
            (settings.skew, settings.interval) = (None, None);
        } else if self.choice.peers > 0 {
            settings.preset = Preset::GoCompatible;
        }
        settings
    }

    /// Returns the worst fail-over time that `incumbent doctor` prints for any candidate. That is the time after a
    /// crash, or after a deletion, for which the longest maximum age so far counts. There is no forecast for settings
    /// that the store refuses.
    pub(crate) fn forecast(&self, happened: &Happened) -> Duration {
        match self.choice.store {
            Store::Etcd => return crate::etcd::worst_fail_over(self),
            Store::Kafka => return crate::kafka::worst_fail_over(self, happened),
            Store::Nats => {}
        }
        let info = StoreInfo {
            asked_at: START,
            incarnation: Incarnation(0),
            age: None,
            never_used: self.never_used,
            max_age: Some(self.max_age),
            newest: None,
        };
        let raised = happened.longest_age().saturating_sub(self.max_age);
        let forecast = |node| Forecast::new(self.settings_of(node), self.capabilities(), &info).ok();
        let worst = |of: Forecast| of.after_a_crash.max(of.after_a_deletion + raised);
        (0..self.choice.candidates).filter_map(forecast).map(worst).max().unwrap_or_default()
    }

    /// Returns the longest wait after a failure in any candidate's settings.
    pub(crate) fn backoff(&self) -> Duration {
        self.settings.iter().map(Setting::longest_backoff).max().unwrap_or_default()
    }

    /// Returns the longest maximum age that the bucket may have in this run.
    pub(crate) fn longest_age(&self) -> Duration {
        match self.has(Kind::RaiseAge) {
            true => self.max_age * RAISED[RAISED.len() - 1] / 10,
            false => self.max_age,
        }
    }

    /// Returns the longest time that any candidate may take to leave.
    pub(crate) fn drain(&self) -> Duration {
        self.settings.iter().map(|setting| setting.drain).max().unwrap_or_default()
    }

    /// Returns the time that a change of leaders takes beyond the rules. It is the wait that an etcd candidate owes if
    /// a lease may be older than the raft term, and the time that a group takes to assign the partition.
    pub(crate) fn owed(&self) -> Duration {
        match self.choice.store {
            Store::Kafka => self.group.change(),
            Store::Etcd if self.ages_leases() => self.lease,
            Store::Etcd | Store::Nats => Duration::ZERO,
        }
    }

    /// Whether a lease may be older than the etcd's raft term.
    pub(crate) fn ages_leases(&self) -> bool {
        self.kinds.iter().any(|kind| kind.ages_leases())
    }

    /// Whether all candidates have the same lease time.
    pub(crate) fn has_one_lease(&self) -> bool {
        self.settings.iter().all(|setting| setting.lease == self.lease)
    }

    /// Returns the longest win delay that any candidate's settings add to the rules.
    pub(crate) fn delay(&self) -> Duration {
        self.settings.iter().map(Setting::delay).max().unwrap_or_default()
    }

    /// Returns the skew in a candidate's settings, if it is not the default.
    pub(crate) fn skew_of(&self, node: usize) -> Option<Duration> {
        self.settings[node].own_skew(self.skew)
    }

    /// Whether this seed may draw faults of a kind.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

fn script(dice: &mut Dice, kinds: &[Kind], lease: Duration, faulty: Duration, choice: &Choice) -> Vec<Fault> {
    let mut script = Vec::new();
    let drawn: Vec<_> = kinds.iter().copied().filter(|kind| !kind.is_drawn_by_name_alone()).collect();
    let lease_millis = lease.as_millis() as u64;
    // Sometimes the gap is so short that faults overlap, and sometimes the faults follow one another.
    let (gap, mut from) = match drawn.is_empty() {
        true => (0, faulty),
        false => (lease_millis * dice.pick(&[1, 4, 8]) / 4, dice.millis(0, lease_millis)),
    };
    while from < faulty {
        let kind = dice.pick(&drawn);
        let longest = dice.pick(&[lease_millis / 4, lease_millis, lease_millis * 5 / 2]);
        let lasts = dice.millis(1, longest).min(faulty - from);
        let fault = Fault { place: script.len(), kind, from, lasts, roll: dice.number(), victim: None };
        script.push(fault);
        from += dice.millis(1, 2 * gap);
    }
    if kinds.contains(&Kind::NoProof) {
        add_no_proof(&mut script, lease, faulty, choice);
    }
    if let Some(keep) = &choice.keep {
        script.retain(|fault| keep.contains(&fault.place));
    }
    script
}

/// Makes one candidate unable to prove its claim from some time on, permanently or now and then, always in the same
/// way.
fn add_no_proof(script: &mut Vec<Fault>, lease: Duration, faulty: Duration, choice: &Choice) {
    let mut dice = Dice::new(choice.seed, NO_PROOF);
    let victim = dice.below(choice.candidates as u64) as usize;
    let roll = dice.number();
    let mut from = dice.millis(0, lease.as_millis() as u64 * 4);
    let (sick, well) = match dice.percent(60) {
        true => (faulty, Duration::ZERO),
        false => (lease * dice.pick(&[1, 2, 4]) / 2, lease * dice.pick(&[1, 4, 12]) / 4),
    };
    while from < faulty {
        let lasts = sick.min(faulty - from);
        script.push(Fault {
            place: script.len(),
            kind: Kind::NoProof,
            from,
            lasts,
            roll,
            victim: Some(victim),
        });
        from += lasts + well;
    }
}
