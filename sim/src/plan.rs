//! What a run will do: the world it takes place in, and the script of its faults, all from one seed.

use std::time::Duration;

use crate::dice::Dice;
use crate::kind::{Kind, Promise};
use crate::setting::Setting;

/// Which run to make. It decides everything that happens in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The seed.
    pub seed: u64,
    /// How many candidates.
    pub candidates: usize,
    /// The kinds of faults a seed may choose from; `None`: from all, those that break an assumption seldom.
    pub faults: Option<Vec<Kind>>,
    /// How many candidates of the Go library `nats-kv-leader-elect` are in the election besides. It does not defend
    /// itself against some faults: where there are any, those are left out.
    pub peers: usize,
    /// Every candidate has the default settings.
    pub plain: bool,
    /// The places in the script of the faults that are kept; `None`: all.
    pub keep: Option<Vec<usize>>,
}

impl Choice {
    /// A run of this seed with five candidates and all kinds of faults.
    pub fn of_seed(seed: u64) -> Self {
        Self { seed, candidates: 5, faults: None, peers: 0, plain: false, keep: None }
    }
}

/// One fault of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its place in the script.
    pub(crate) place: usize,
    pub(crate) kind: Kind,
    /// When it begins and how long it lasts, from the run's beginning.
    pub(crate) from: Duration,
    pub(crate) lasts: Duration,
    /// Decides whom it hits and how hard.
    pub(crate) roll: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) choice: Choice,
    /// The longest lease of any candidate.
    pub(crate) lease: Duration,
    /// What each candidate wants.
    pub(crate) settings: Vec<Setting>,
    /// By how much the servers' clocks may disagree, as the candidates' settings have it.
    pub(crate) skew: Duration,
    pub(crate) max_age: Duration,
    /// Records have a lease time of their own.
    pub(crate) own_lease: bool,
    pub(crate) markers: bool,
    pub(crate) acked: bool,
    pub(crate) replicas: usize,
    pub(crate) never_used: bool,
    /// The kinds that this seed switched on.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) script: Vec<Fault>,
    /// How long there are faults, and how long there are none afterwards.
    pub(crate) stormy: Duration,
    pub(crate) calm: Duration,
}

impl Plan {
    pub(crate) fn new(choice: &Choice) -> Self {
        let mut dice = Dice::new(choice.seed, 1);
        let lease = Duration::from_secs(dice.pick(&[5, 10, 10, 15, 30]));
        let own_lease = dice.percent(20);
        let max_age = if own_lease { lease * dice.pick(&[1, 3]) } else { lease };
        let markers = dice.percent(50);
        let acked = dice.percent(25);
        let replicas = if dice.percent(75) { 3 } else { 1 };
        let never_used = dice.percent(50);
        let mut kinds = Vec::new();
        for kind in Kind::ALL {
            let chance = match kind.promise() {
                Promise::Full => 40,
                Promise::Watching => 12,
                Promise::Tokens | Promise::Nothing => 3,
            };
            let drawn = dice.percent(chance);
            match &choice.faults {
                // Where few are named, all of them are meant.
                Some(named) if named.contains(kind) && (drawn || named.len() < 6) => kinds.push(*kind),
                None if drawn => kinds.push(*kind),
                _ => {}
            }
        }
        let (mut lease, mut own_lease, mut max_age, mut markers) = (lease, own_lease, max_age, markers);
        if choice.peers > 0 {
            // The shortest that the library takes; it takes a marker for a live key.
            (lease, max_age) = (Duration::from_secs(30), Duration::from_secs(30));
            (own_lease, markers) = (false, false);
            kinds.retain(|kind| kind.spares_go_peers());
        }
        let stormy = lease * 60;
        let script = script(&mut dice, &kinds, lease, stormy, choice);
        let calm = max_age * 6 + lease * 6 + Duration::from_secs(30);
        let setting = |place| match choice.plain {
            true => Setting::plain(lease),
            false => Setting::drawn(choice.seed, place, lease, own_lease),
        };
        let settings: Vec<_> = (0..choice.candidates).map(setting).collect();
        let shortest = settings.iter().map(|setting| setting.lease).min().unwrap_or(lease);
        let skew = (shortest / 20).min(Duration::from_secs(1));
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
            replicas,
            never_used,
            kinds,
            script,
            stormy,
            calm,
        }
    }

    /// Whether this seed may draw faults of a kind.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// What to type to see this run again.
    pub(crate) fn command(&self) -> String {
        let Choice { seed, candidates, faults, peers, plain, keep } = &self.choice;
        let list = |words: Vec<String>| if words.is_empty() { "none".into() } else { words.join(",") };
        let mut command = format!("incumbent sim --seed {seed} --seeds 1 --candidates {candidates}");
        if let Some(faults) = faults {
            command += &format!(" --faults {}", list(faults.iter().map(Kind::to_string).collect()));
        }
        if *peers > 0 {
            command += &format!(" --go-peers {peers}");
        }
        if *plain {
            command += " --plain";
        }
        if let Some(keep) = keep {
            command += &format!(" --keep {}", list(keep.iter().map(usize::to_string).collect()));
        }
        command
    }
}

fn script(dice: &mut Dice, kinds: &[Kind], lease: Duration, stormy: Duration, choice: &Choice) -> Vec<Fault> {
    let mut script = Vec::new();
    if kinds.is_empty() {
        return script;
    }
    let lease_millis = lease.as_millis() as u64;
    // Sometimes a storm, sometimes one thing after the other.
    let gap = lease_millis * dice.pick(&[1, 4, 8]) / 4;
    let mut from = dice.millis(0, lease_millis);
    while from < stormy {
        let kind = dice.pick(kinds);
        let longest = dice.pick(&[lease_millis / 4, lease_millis, lease_millis * 5 / 2]);
        let lasts = dice.millis(1, longest).min(stormy - from);
        let fault = Fault { place: script.len(), kind, from, lasts, roll: dice.number() };
        script.push(fault);
        from += dice.millis(1, 2 * gap);
    }
    if let Some(keep) = &choice.keep {
        script.retain(|fault| keep.contains(&fault.place));
    }
    script
}
