//! The command line.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use incumbent_sim::hunt::{Limits, Wanted};
use incumbent_sim::{Kind, Store};

pub(super) const HELP: &str = "\
Hunt for a run that breaks a promise: simulated elections under faults, with fresh seeds, on every core

Runs alternate between the mix of faults that a seed draws and a group of three to five kinds of faults, chosen from the
pairs of kinds that met least so far; with few and many candidates, with and without candidates of other software. A run
that fails is printed with the command that repeats it, shrunk when the time is over, and written to a file: the tests
replay the file from then on, and fail until the defect is fixed.

Usage: cargo xtask hunt [OPTIONS]

Options:
  --for TIME      How long to hunt, such as 90s, 10m or 2h. Default: 10m, unless --seeds is given
  --seeds N       The number of runs. The same --seed and --seeds give the same hunt, on any number of threads
  --seed NUMBER   The seed of the first run; each further run has the next one. Default: a fresh seed
  --store STORE   nats, etcd, kafka, several of them separated by commas, or all. Default: all
  --faults KIND,...
                  Only these kinds of faults (`cargo sim --faults help` lists them). Default: all
  --peers N       The number of candidates of other software in every run. Default: one to three in a third of the runs,
                  but only in a twelfth of those on Kafka, where they are slow
  --jobs N        The number of threads. It changes nothing else. Default: one per processor
  --red FOLDER    The folder for the files; `none` writes none. Default: lab/sim/red
  --json          Print only the summary on standard output, as one line of JSON
  -h, --help      Print this

Examples:
  cargo xtask hunt
      Ten minutes, on all stores. Run it before a change to the core, a world or a store lands.
  cargo xtask hunt --for 2h --store etcd
  cargo xtask hunt --seed 40 --seeds 20000 --store nats --peers 0
      Seeds 40 to 20039: the same runs each time.
  cargo xtask hunt --faults purge,raise-age,close,quorum,cut --store nats

The exit code is 0 if no run failed, 1 if one did, and 2 if the command line cannot be read or a file cannot be written.
Ctrl-C ends a hunt with its summary.
";

/// The time limit if the command line sets none.
const TIME: Duration = Duration::from_secs(600);

/// The bound below which fresh seeds are drawn, so that a person can copy them.
const FRESH: u64 = 1_000_000_000_000;

/// The request that a command line makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Help,
    Hunt(Args),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) wanted: Wanted,
    pub(super) limits: Limits,
    pub(super) jobs: NonZeroUsize,
    /// The folder for the files; `None` if no files are written.
    pub(super) red: Option<PathBuf>,
    pub(super) json: bool,
}

pub(super) fn parse(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut wanted = Wanted { seed: fresh(), stores: Store::ALL.to_vec(), faults: None, peers: None };
    let mut limits = Limits { runs: None, time: None };
    let mut jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut red = Some(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/red")));
    let mut json = false;
    while let Some(word) = words.next() {
        let (option, given) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
            _ => (word, None),
        };
        let mut value = |what: &str| {
            given.clone().or_else(|| words.next()).ok_or_else(|| format!("{option} needs {what}"))
        };
        match option.as_str() {
            "-h" | "--help" => return Ok(Asked::Help),
            "--json" => json = true,
            "--for" => limits.time = Some(time(&value("a time, such as 10m")?)?),
            "--seeds" => limits.runs = Some(number(&option, &value("a number of runs")?)?),
            "--seed" => wanted.seed = number(&option, &value("a number")?)?,
            "--store" => wanted.stores = stores(&value("a store")?)?,
            "--faults" => wanted.faults = Some(faults(&value("kinds of faults")?)?),
            "--peers" => wanted.peers = Some(number(&option, &value("a number")?)?),
            "--jobs" => jobs = number(&option, &value("a number of threads")?)?,
            "--red" => {
                let folder = value("a folder, or `none`")?;
                red = (folder != "none").then(|| folder.into());
            }
            _ => return Err(format!("unknown option {option:?}")),
        }
    }
    if let Some(faults) = &wanted.faults
        && let Some(store) = wanted.stores.iter().find(|store| !faults.iter().any(|kind| kind.is_of(**store)))
    {
        return Err(format!(
            "none of these faults happens on {}: name others, or other stores",
            store.name()
        ));
    }
    if limits == (Limits { runs: None, time: None }) {
        limits.time = Some(TIME);
    }
    Ok(Asked::Hunt(Args { wanted, limits, jobs, red, json }))
}

/// Draws a seed from the operating system.
fn fresh() -> u64 {
    // The keys of a hasher are random.
    RandomState::new().build_hasher().finish() % FRESH
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} {text:?} is not a number in range"))
}

/// `90s`, `10m`, `2h`.
fn time(text: &str) -> Result<Duration, String> {
    let unread = || format!("--for {text:?} is not a time: use a number with s, m or h, such as 10m");
    let unit = text.chars().last().ok_or_else(unread)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return Err(unread()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| unread())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(unread)
}

fn stores(text: &str) -> Result<Vec<Store>, String> {
    if text == "all" {
        return Ok(Store::ALL.to_vec());
    }
    let mut stores = Vec::new();
    for name in text.split(',') {
        let store: Store = name.trim().parse()?;
        if !stores.contains(&store) {
            stores.push(store);
        }
    }
    Ok(stores)
}

fn faults(text: &str) -> Result<Vec<Kind>, String> {
    let mut kinds = text.split(',').map(|name| name.trim().parse()).collect::<Result<Vec<Kind>, _>>()?;
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds)
}

impl fmt::Display for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stores: Vec<_> = self.wanted.stores.iter().map(|store| store.name()).collect();
        write!(f, "hunting from seed {} on {}", self.wanted.seed, stores.join(", "))?;
        if let Some(runs) = self.limits.runs {
            write!(f, ", {runs} runs")?;
        }
        if let Some(time) = self.limits.time {
            write!(f, ", for {} s", time.as_secs())?;
        }
        write!(f, ", {} threads", self.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Args {
        match parse(words.iter().map(ToString::to_string)) {
            Ok(Asked::Hunt(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    fn refused(words: &[&str]) -> String {
        parse(words.iter().map(ToString::to_string)).unwrap_err()
    }

    #[test]
    fn every_option_is_read() {
        let words = "--for 2h --seeds 30 --seed 7 --store etcd,nats,etcd --faults cut,loss --peers 2 --jobs 3 --red x --json";
        let args = parsed(&words.split(' ').collect::<Vec<_>>());
        let wanted = Wanted {
            seed: 7,
            stores: vec![Store::Etcd, Store::Nats],
            faults: Some(vec![Kind::Loss, Kind::Cut]),
            peers: Some(2),
        };
        let limits = Limits { runs: Some(30), time: Some(Duration::from_secs(7_200)) };
        let jobs = NonZeroUsize::new(3).unwrap();
        assert_eq!(args, Args { wanted, limits, jobs, red: Some("x".into()), json: true });
    }

    #[test]
    fn without_options_ten_minutes_on_all_stores_begin_at_a_fresh_seed() {
        let (one, other) = (parsed(&[]), parsed(&[]));
        assert_eq!(one.limits, Limits { runs: None, time: Some(TIME) });
        assert_eq!((one.wanted.stores, one.wanted.peers), (Store::ALL.to_vec(), None));
        assert!(one.red.is_some_and(|folder| folder.ends_with("lab/sim/red")));
        assert_ne!(one.wanted.seed, other.wanted.seed);
    }

    #[test]
    fn a_number_of_runs_alone_has_no_limit_of_time() {
        assert_eq!(parsed(&["--seeds=5"]).limits, Limits { runs: Some(5), time: None });
    }

    #[test]
    fn no_files_are_written_where_that_is_asked_for() {
        assert_eq!(parsed(&["--red", "none"]).red, None);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_can() {
        assert_eq!(refused(&["--fur", "1m"]), "unknown option \"--fur\"");
        assert_eq!(
            refused(&["--for", "10"]),
            "--for \"10\" is not a time: use a number with s, m or h, such as 10m"
        );
        assert_eq!(refused(&["--for"]), "--for needs a time, such as 10m");
        assert_eq!(refused(&["--jobs", "0"]), "--jobs \"0\" is not a number in range");
        assert_eq!(
            refused(&["--store", "redis"]),
            "\"redis\" is not simulated: the stores are nats, etcd and kafka"
        );
        assert!(refused(&["--faults", "rain"]).starts_with("there is no fault \"rain\"; there are: loss, "));
        assert_eq!(
            refused(&["--faults", "erase"]),
            "none of these faults happens on etcd: name others, or other stores"
        );
    }

    #[test]
    fn the_help_names_every_option() {
        let options = [
            "--for", "--seeds", "--seed", "--store", "--faults", "--peers", "--jobs", "--red", "--json",
            "--help",
        ];
        assert!(options.iter().all(|option| HELP.contains(&format!("{option} ")) || *option == "--help"));
        assert_eq!(parse(["--help".to_owned()].into_iter()), Ok(Asked::Help));
    }
}
