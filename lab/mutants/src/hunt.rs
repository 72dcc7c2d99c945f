//! The hunt for one mutant.

use std::collections::HashSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use incumbent_model::{World, check_up_to, induction_worlds, late_release, queue_worlds, worlds};
use incumbent_sim::{Choice, Kind, Store, run, run_handlers};

use crate::finding::Finding;
use crate::induction_script;
use crate::page;
use crate::queue_script;
use crate::script;
use crate::table::{ALL, Mutant, name_of};

/// The number of seeds that are tried with all kinds of faults.
pub(crate) const BLIND: u64 = 1_000;
/// The number of seeds that are tried with each swarm.
pub(crate) const SWARM: u64 = 300;
/// The number of seeds that a hunt tries before the model checker and the scripts, if it ends at the first notice. The
/// seed that the page lists is tried in addition.
const FIRST: u64 = 100;

/// The number of runs with handlers, which are tried if no simulated election shows a violation.
const HANDLERS: u64 = 100;

/// The simulator's name for a panic during a run.
const PANIC: &str = "panic";

/// The number of the model checker's worlds that are explored. The worlds with fewer than 100,000 states are listed
/// first, and only they are explored.
const WORLDS: usize = 14;

/// The longest time that exploring all these worlds may take; two seconds are usual.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The number of states at which the exploration of a world is abandoned: a broken core can make a world larger.
const MOST_STATES: usize = 300_000;

/// The part of the core that only simulated etcd stores and the model checker's worlds of queues reach.
const QUEUE: &str = "core/src/queue/";

/// The part of the core that only simulated Kafka stores and the model checker's worlds of consumer groups reach.
const INDUCTION: &str = "core/src/induction/";

/// Selections of a few kinds of faults, which find mutants that show only after two such faults in a row. No selection
/// is made for a particular mutant.
const SWARMS: &[(&str, &[Kind])] = &[
    ("network", &[Kind::Loss, Kind::Delay, Kind::Duplication, Kind::SilentWatch]),
    ("partitions", &[Kind::Cut, Kind::CutRequests, Kind::CutReplies, Kind::Queue]),
    ("stops", &[Kind::Pause, Kind::Suspend, Kind::Crash, Kind::Starve, Kind::Drift]),
    ("leaving", &[Kind::Resign, Kind::Illness, Kind::Handler, Kind::Close, Kind::Loss]),
    ("servers", &[Kind::FailOver, Kind::Isolate, Kind::Quorum, Kind::SlowCommit, Kind::Skew]),
    ("operators", &[Kind::Delete, Kind::Overwrite, Kind::Recreate, Kind::Loss, Kind::Erase]),
    ("vanishing", &[Kind::Purge, Kind::LowerAge, Kind::ClockStep]),
    ("going back", &[Kind::LostWrites, Kind::Restore]),
    ("no proof", &[Kind::NoProof, Kind::Resign]),
    ("remaking", &[Kind::Recreate, Kind::Delay, Kind::Queue, Kind::Resign, Kind::CutReplies]),
    ("deleting and leaving", &[Kind::Delete, Kind::Illness, Kind::CutReplies, Kind::Resign]),
    ("late and leaving", &[Kind::Delay, Kind::Illness, Kind::Resign, Kind::Isolate, Kind::Loss]),
    ("late and vanishing", &[Kind::Delay, Kind::Purge, Kind::LostWrites, Kind::Full, Kind::Overwrite]),
];

/// Selections of a few kinds of faults on etcd, each with its number of foreign candidates.
const ETCD_SWARMS: &[(&str, &[Kind], usize)] = &[
    ("foreign candidates", &[Kind::Resign, Kind::Crash, Kind::Unleased], 2),
    ("former leaders", &[Kind::PausedLeader, Kind::Isolate, Kind::FailOver, Kind::Lag, Kind::Cut], 0),
    ("places", &[Kind::Delete, Kind::Revoke, Kind::Overwrite, Kind::Unleased, Kind::CutReplies], 0),
    ("revocations", &[Kind::EarlyRevocation, Kind::CutReplies, Kind::Pause, Kind::Resign], 0),
    ("late and left", &[Kind::Delay, Kind::Loss, Kind::Resign, Kind::Close, Kind::Illness], 0),
    ("wipes", &[Kind::Recreate, Kind::Restore, Kind::Crash, Kind::CutReplies, Kind::Resign], 0),
    ("roles", &[Kind::Denied, Kind::Resign], 0),
    ("no proof", &[Kind::NoProof, Kind::Resign], 0),
];

/// Selections of a few kinds of faults in a consumer group, each with its number of members that use goNELI.
const KAFKA_SWARMS: &[(&str, &[Kind], usize)] = &[
    ("removals", &[Kind::Removal, Kind::Replacement, Kind::Pause, Kind::CutGroup, Kind::Delay], 0),
    (
        "empty groups",
        &[Kind::EmptyGroup, Kind::DeleteGroup, Kind::CutGroup, Kind::Coordinator, Kind::Pause],
        0,
    ),
    ("rebalances", &[Kind::Rebalance, Kind::HeldPoll, Kind::CutReplies, Kind::Resign, Kind::Crash], 0),
    ("late records", &[Kind::Delay, Kind::SlowConsumer, Kind::Resign, Kind::CutLog, Kind::Removal], 0),
    ("topics", &[Kind::Recreate, Kind::Crash, Kind::Delay, Kind::FailOver, Kind::Resign], 0),
    (
        "forgotten records",
        &[Kind::DeleteRecords, Kind::SlowConsumer, Kind::CutLog, Kind::Recreate, Kind::Crash],
        0,
    ),
    (
        "late releases",
        &[Kind::NewProducer, Kind::RecreateAtEnd, Kind::Handler, Kind::Removal, Kind::Delay],
        0,
    ),
    ("no proof", &[Kind::NoProof, Kind::Resign], 0),
    ("members of goNELI", &[Kind::Rebalance, Kind::Removal, Kind::Delay, Kind::Resign], 2),
];

/// The effort of a hunt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hunt {
    pub(crate) blind: u64,
    pub(crate) swarm: u64,
    /// If true, the hunt ends at the first notice. Otherwise both the simulator and the model checker are always tried.
    pub(crate) until_noticed: bool,
}

impl Hunt {
    /// Hunts the active mutant: in simulated elections, in the model checker's worlds, and in scripts of inputs that
    /// neither the simulator nor the model checker makes.
    pub(crate) fn run(self, mutant: Option<&Mutant>) -> Finding {
        // A broken core's panics should not reach the terminal.
        std::panic::set_hook(Box::new(|_| {}));
        let store = mutant.map_or(Store::Nats, Mutant::store);
        if !self.until_noticed {
            let seen = match store {
                Store::Etcd => explore(queue_worlds(), None).or_else(queue_script::play),
                Store::Kafka => explore_group(None).or_else(induction_script::play),
                Store::Nats => explore_key(None).or_else(script::play),
            };
            return self.simulate(mutant, None).and_in_the_model(seen);
        }
        // If the page lists a seed for this mutant, that seed usually shows it again. Otherwise the other checks come
        // first.
        let row = mutant.map(page::noticed).unwrap_or_default();
        let listed = self.choices(mutant).find(|choice| place(choice) == row.place);
        let seeds = if listed.is_some() { self.blind.min(FIRST) } else { 0 };
        let first = Self { blind: seeds, swarm: 0, ..self }.simulate(mutant, listed);
        if first.caught {
            return first;
        }
        let seen = match store {
            Store::Etcd => queue_script::play().or_else(|| explore(queue_worlds(), Some(row.world))),
            Store::Kafka => induction_script::play().or_else(|| explore_group(Some(row.world))),
            // The scripts take no time.
            Store::Nats => script::play().or_else(|| explore_key(Some(row.world))),
        };
        match seen {
            Some(seen) => first.and_in_the_model(Some(seen)),
            None => self.simulate(mutant, None),
        }
    }

    /// Returns the runs for a mutant: those on its store. The control runs on all stores. If hunts end at the first
    /// notice, the control gets only the runs that the page lists and a tenth of all other runs, which such hunts
    /// seldom reach.
    fn choices(self, mutant: Option<&Mutant>) -> impl Iterator<Item = Choice> {
        let listed: HashSet<&str> = ALL.iter().map(|mutant| page::noticed(mutant).place).collect();
        let is_hunted = move |(number, choice): &(usize, Choice)| match mutant {
            Some(mutant) => mutant.store() == choice.store,
            None => !self.until_noticed || number % 10 == 0 || listed.contains(&*place(choice)),
        };
        let runs = self.of_a_bucket().chain(self.of_an_etcd()).chain(self.of_a_group());
        runs.enumerate().filter(is_hunted).map(|(_, choice)| choice)
    }

    /// The runs on a bucket.
    fn of_a_bucket(self) -> impl Iterator<Item = Choice> {
        let blind = (0..self.blind).map(Choice::of_seed);
        blind.chain(SWARMS.iter().flat_map(move |(_, kinds)| {
            (0..self.swarm).map(|seed| Choice { faults: Some(kinds.to_vec()), ..Choice::of_seed(seed) })
        }))
    }

    /// The runs on etcd. They are fewer, because they exercise less of the core.
    fn of_an_etcd(self) -> impl Iterator<Item = Choice> {
        let of_seed = |seed| Choice { store: Store::Etcd, ..Choice::of_seed(seed) };
        let blind = (0..self.blind / 2).map(of_seed);
        blind.chain(ETCD_SWARMS.iter().flat_map(move |(_, kinds, peers)| {
            let swarm = move |seed| Choice { faults: Some(kinds.to_vec()), peers: *peers, ..of_seed(seed) };
            (0..self.swarm / 3).map(swarm)
        }))
    }

    /// The runs on Kafka. They are fewer still, because each takes longer.
    fn of_a_group(self) -> impl Iterator<Item = Choice> {
        let of_seed = |seed| Choice { store: Store::Kafka, ..Choice::of_seed(seed) };
        let blind = (0..self.blind / 10).map(of_seed);
        blind.chain(KAFKA_SWARMS.iter().flat_map(move |(_, kinds, peers)| {
            let swarm = move |seed| Choice { faults: Some(kinds.to_vec()), peers: *peers, ..of_seed(seed) };
            (0..self.swarm / 10).map(swarm)
        }))
    }

    /// Simulates the run that the page lists, if there is one, and then the other runs.
    fn simulate(self, mutant: Option<&Mutant>, listed: Option<Choice>) -> Finding {
        let mut runs = 0;
        let mut instead = String::from("nothing noticed");
        for choice in listed.into_iter().chain(self.choices(mutant)) {
            runs += 1;
            let Some(violation) = run(&choice).violation else { continue };
            if violation.invariant == PANIC {
                // A panic is not a verdict, because not every build has the core's own assertions.
                instead = format!("panic, {}", place(&choice));
                continue;
            }
            return Finding {
                name: name_of(mutant).into(),
                caught: true,
                by: violation.invariant.into(),
                at: place(&choice),
                says: violation.says,
                runs,
                model: String::new(),
            };
        }
        // A mutant of the reconciler shows only if handlers take time and fail.
        for seed in 0..HANDLERS {
            runs += 1;
            if let Some(says) = run_handlers(seed).violation {
                let (by, at) = ("handlers".into(), format!("seed {seed} of handlers"));
                let name = name_of(mutant).into();
                return Finding { name, caught: true, by, at, says, runs, model: String::new() };
            }
        }
        Finding::uncaught(mutant, &instead, runs)
    }
}

/// Returns the first property that the model checker finds violated, and the world. The world named `first` is explored
/// first. A panic is not a verdict, because not every build has the core's own assertions.
fn explore<S: incumbent_model::Store>(mut worlds: Vec<World<S>>, first: Option<&str>) -> Option<String> {
    worlds.sort_by_key(|world| first != Some(world.name()));
    worlds.iter().find_map(|world| {
        let violation = check_up_to(world, MOST_STATES).violation.filter(|violation| !violation.panicked)?;
        Some(format!("{}, {}", violation.property.name(), world.name()))
    })
}

/// Returns the property that the model checker finds violated in the small worlds of a store with keys.
fn explore_key(first: Option<&str>) -> Option<String> {
    let mut worlds = worlds();
    worlds.truncate(WORLDS);
    let first = first.map(String::from);
    let (sender, receiver) = mpsc::channel();
    // If the time limit passes, the thread ends with the process.
    thread::spawn(move || sender.send(explore(worlds, first.as_deref())));
    // A broken core that never settles keeps the exploration in one state, so the wait has a limit.
    receiver.recv_timeout(TIME_LIMIT).ok().flatten()
}

/// Returns the script that fails, or the property that is violated in the worlds of a consumer group. The script has a
/// third candidate, which those worlds do not have.
fn explore_group(first: Option<&str>) -> Option<String> {
    if let Err(says) = late_release() {
        return Some(format!("script: {says}"));
    }
    explore(induction_worlds(), first)
}

impl Mutant {
    /// Returns the store to hunt on: etcd or Kafka if the mutant breaks only that store's part of the core, otherwise a
    /// bucket.
    pub(crate) fn store(&self) -> Store {
        match (self.is_all_in(QUEUE), self.is_all_in(INDUCTION)) {
            (true, _) => Store::Etcd,
            (_, true) => Store::Kafka,
            _ => Store::Nats,
        }
    }

    /// Returns true if the mutant breaks only that part of the core.
    fn is_all_in(&self, part: &str) -> bool {
        self.edits.iter().all(|edit| edit.file.starts_with(part))
    }
}

/// The seed of a run, and its swarm.
fn place(choice: &Choice) -> String {
    let bucket = SWARMS.iter().map(|(name, kinds)| (*name, *kinds));
    let others = ETCD_SWARMS.iter().chain(KAFKA_SWARMS).map(|(name, kinds, _)| (*name, *kinds));
    let swarm =
        choice.faults.as_ref().and_then(|faults| bucket.chain(others).find(|(_, kinds)| kinds == faults));
    match swarm {
        Some((name, _)) => format!("seed {} of {name}", choice.seed),
        None => format!("seed {}", choice.seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_swarm_all_faults_are_on() {
        // The simulator draws some of a seed's kinds if there are six or more.
        assert!(SWARMS.iter().all(|(_, kinds)| kinds.len() < 6));
        assert!(ETCD_SWARMS.iter().chain(KAFKA_SWARMS).all(|(_, kinds, _)| kinds.len() < 6));
    }
}
