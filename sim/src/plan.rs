//! What a run will do: the world it takes place in, and the script of its faults, all from one seed.

use std::time::Duration;

use crate::dice::Dice;
use crate::kind::{Kind, Promise};

/// Which run to make. It decides everything that happens in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The seed.
    pub seed: u64,
    /// How many candidates.
    pub candidates: usize,
    /// The kinds of faults a seed may choose from; `None`: from all, those that break an assumption seldom.
    pub faults: Option<Vec<Kind>>,
    /// The places in the script of the faults that are kept; `None`: all.
    pub keep: Option<Vec<usize>>,
}

impl Choice {
    /// A run of this seed with five candidates and all kinds of faults.
    pub fn of_seed(seed: u64) -> Self {
        Self { seed, candidates: 5, faults: None, keep: None }
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
    pub(crate) lease: Duration,
    pub(crate) max_age: Duration,
    /// Each candidate's own: in a store that keeps leases one by one some have shorter ones.
    pub(crate) leases: Vec<Duration>,
    /// How long a leader that leaves may take, and how long the user wants candidates to wait after a failure.
    pub(crate) drain: Duration,
    pub(crate) backoff: Option<Duration>,
    /// Some candidates are told a win no earlier than three quarters of a lease after it.
    pub(crate) fixed_delay: bool,
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
        let stormy = lease * 60;
        let script = script(&mut dice, &kinds, lease, stormy, choice);
        let calm = max_age * 6 + lease * 6 + Duration::from_secs(30);
        let settings = Variety::new(choice, lease, own_lease, &kinds);
        let choice = choice.clone();
        let Variety { leases, drain, backoff, fixed_delay } = settings;
        Self {
            choice,
            lease,
            max_age,
            leases,
            drain,
            backoff,
            fixed_delay,
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
        let Choice { seed, candidates, faults, keep } = &self.choice;
        let mut command = format!(
            "cargo run --release -p incumbent-sim -- --seed {seed} --seeds 1 --candidates {candidates}"
        );
        if let Some(faults) = faults {
            let names: Vec<_> = faults.iter().map(|kind| kind.name()).collect();
            command += &format!(" --faults {}", names.join(","));
        }
        if let Some(keep) = keep {
            let places: Vec<_> = keep.iter().map(usize::to_string).collect();
            command += &format!(" --keep {}", places.join(","));
        }
        command
    }
}

/// What the candidates of a run have been set to.
struct Variety {
    leases: Vec<Duration>,
    drain: Duration,
    backoff: Option<Duration>,
    fixed_delay: bool,
}

impl Variety {
    fn new(choice: &Choice, lease: Duration, own_lease: bool, kinds: &[Kind]) -> Self {
        // Seeds that were kept for what they found are even, and stay what they were.
        if choice.seed.is_multiple_of(2) {
            let (leases, drain) = (vec![lease; choice.candidates], Duration::from_secs(2));
            return Self { leases, drain, backoff: None, fixed_delay: false };
        }
        let mut dice = Dice::new(choice.seed, 4);
        // What a leader of a life that is over may count on, nobody can know who never saw it: there all are alike.
        let mixed = own_lease && dice.percent(75) && !kinds.contains(&Kind::Recreate);
        let shorter = Duration::from_secs((lease / 2).as_secs().max(5));
        let leases =
            (0..choice.candidates).map(|_| if mixed && dice.percent(50) { shorter } else { lease }).collect();
        let drain = if dice.percent(40) { lease * 2 } else { Duration::from_secs(2) };
        let backoff = dice.percent(40).then_some(lease);
        let fixed_delay = dice.percent(40);
        Self { leases, drain, backoff, fixed_delay }
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
