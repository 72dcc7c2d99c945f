//! The settings that result from the command line: the store, the lease, the faults, the end.

use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent::incumbent_core::store::StoreInfo;
use incumbent::store::nats::{InitOptions, init};
use incumbent::store::{NatsSettings, Sqlite, SqliteSettings, StoreSettings};
use incumbent::{CampaignOptions, Clock, Error, ErrorKind, Store};
use incumbent_rig::candidate::CampaignSetup;
use incumbent_rig::trial::Plan;
use tempfile::TempDir;

use super::args::{Args, Choice};
use crate::failure::Failure;
use crate::lease::Pace;
use crate::store::{StoreArgs, shown};

/// The lease on a store that sets none, and of a bucket that the demo makes.
const LEASE: Duration = Duration::from_secs(2);
/// The shortest lease of the standard preset.
const STANDARD: Duration = Duration::from_secs(5);
/// The demo's duration if no terminal shows it and no option sets it.
const UNATTENDED: Duration = Duration::from_secs(30);

/// Everything that is decided before the first candidate starts.
pub(super) struct Demo {
    pub(super) trial: Plan,
    /// The store's URL, safe to show.
    pub(super) store: String,
    /// Notes for the viewer before the start.
    pub(super) notes: Vec<String>,
    /// The folder of the probes' files, and of the store unless the user named one.
    pub(super) folder: TempDir,
    /// Keeps a store in memory open while no candidate runs. Other stores are closed, because their
    /// connection messages would overwrite the table.
    pub(super) kept: Option<Store>,
}

impl Demo {
    pub(super) async fn new(args: Args, has_terminal: bool) -> Result<Self, Failure> {
        let faults = Choice::faults(&args.faults, args.in_process)?;
        let seed = args.seed.unwrap_or_else(|| fastrand::u64(0..1_000_000));
        let folder = folder()?;
        let mut notes = Vec::new();

        let (url, is_own) = match args.store.url() {
            Some(url) => (url, false),
            None if args.in_process => (format!("memory:incumbent-demo-{}", std::process::id()), true),
            None => (own_file(&folder).await?, true),
        };
        if args.store.url().is_some() && url.starts_with("memory:") {
            return Err(Failure::usage("processes cannot share a store in memory; use --in-process"));
        }
        let store = open(&args.store, &url, args.lease.lease, &mut notes).await?;
        let info = store.store_info().await?;
        let lease = args.lease.lease.unwrap_or_else(|| lease_of(&store, &info, args.lease.preset));
        let usual = if lease < STANDARD { Pace::Fast } else { Pace::Standard };
        let preset = args.lease.preset.unwrap_or(usual).into();
        let key = match args.key {
            Some(key) => key,
            None if is_own => "demo".into(),
            None => format!("incumbent-demo-{:06x}", fastrand::u32(..0x0100_0000)),
        };
        let names = names(args.workers.into());
        // Enters an election, so that a refusal that every candidate would get is reported now. This candidate closes
        // during its splay, so it never writes.
        let options = CampaignOptions::new().name(&names[0]).preset(preset).lease(lease);
        store.campaign(&key, options.splay(Duration::from_secs(3600))).await?.close().await?;
        let operator = url.parse::<StoreSettings>()?.operate(&Clock::system()).await?.into();
        let kept = if args.in_process {
            Some(store)
        } else {
            store.close().await?;
            None
        };
        let trial = Plan {
            names,
            folder: folder.path().to_owned(),
            command: if args.in_process { None } else { Some(Box::new(command)) },
            operator,
            faults,
            seed,
            duration: args.duration.or((!has_terminal).then_some(UNATTENDED)),
            campaign: CampaignSetup { store: url.clone(), key, lease, preset, splay: !args.no_splay },
        };
        Ok(Self { trial, store: shown(&url), notes, folder, kept })
    }
}

/// The command of a candidate's process.
fn command() -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("demo-candidate").arg("--parent").arg(std::process::id().to_string());
    command.stderr(Stdio::piped());
    Ok(command)
}

/// Makes a folder that is removed at the end. It is in memory if the system offers that and `$TMPDIR` is not set,
/// because each write to an SQLite store waits for the disk, and a busy disk would end terms.
fn folder() -> std::io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("incumbent-");
    if cfg!(target_os = "linux")
        && std::env::var_os("TMPDIR").is_none()
        && let Ok(in_memory) = folder.tempdir_in("/dev/shm")
    {
        return Ok(in_memory);
    }
    let made = folder.tempdir();
    if cfg!(target_os = "linux")
        && made.is_err()
        && let Ok(in_memory) = folder.tempdir_in("/dev/shm")
    {
        return Ok(in_memory);
    }
    made.map_err(crate::failure::no_folder)
}

/// Makes a new file, so that the first leader need not wait for an earlier lease.
async fn own_file(folder: &TempDir) -> Result<String, Failure> {
    let path = folder.path().join("elections.db");
    Sqlite::init(&SqliteSettings::new(&path), &Clock::system(), true).await?;
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    Ok(format!("sqlite:{path}"))
}

/// Opens the store, and makes a missing bucket.
async fn open(
    args: &StoreArgs,
    url: &str,
    lease: Option<Duration>,
    notes: &mut Vec<String>,
) -> Result<Store, Failure> {
    let settings: StoreSettings = url.parse()?;
    match (args.open(Store::builder(), settings.clone()).await, &settings) {
        (Err(failure), StoreSettings::Nats(bucket)) if failure.is(ErrorKind::NotFound) => {
            make(bucket, lease.unwrap_or(LEASE)).await?;
            notes.push(format!(
                "created the bucket {} with a TTL of {}; it remains after the demo",
                bucket.bucket(),
                crate::output::span(lease.unwrap_or(LEASE))
            ));
            args.open(Store::builder(), settings).await
        }
        (opened, _) => opened,
    }
}

/// Makes a bucket whose server reports expiry to watchers, if the server can. Then a fail-over needs no poll.
async fn make(bucket: &NatsSettings, lease: Duration) -> Result<(), Error> {
    let options = InitOptions::new().lease(lease).never_used(true);
    match init(bucket, &options.clone().markers(true)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => init(bucket, &options).await.map(drop),
        made => made.map(drop),
    }
}

/// The lease that the store sets, or a lease short enough to watch.
fn lease_of(store: &Store, info: &StoreInfo, preset: Option<Pace>) -> Duration {
    match (info.max_age, preset) {
        (Some(age), _) if !store.capabilities().own_lease => age,
        (Some(age), None) => age,
        (age, preset) => {
            let usual = match preset {
                None | Some(Pace::Fast) => LEASE,
                Some(Pace::Standard) => Duration::from_secs(15),
                Some(Pace::GoCompatible) => Duration::from_secs(30),
            };
            age.map_or(usual, |age| age.min(usual)).max(store.capabilities().shortest)
        }
    }
}

/// The first names of candidates.
const NAMES: [&str; 26] = [
    "ada", "ben", "cleo", "dara", "emil", "fay", "gus", "hana", "ivo", "june", "karl", "lena", "milo",
    "nora", "otto", "pia", "quinn", "rosa", "sven", "tess", "umar", "vera", "walt", "xenia", "yuri", "zoe",
];

/// Returns this many candidates' names, all different.
fn names(count: usize) -> Vec<String> {
    let name = |index: usize| match (NAMES[index % NAMES.len()], index / NAMES.len()) {
        (name, 0) => name.to_owned(),
        (name, round) => format!("{name}-{}", round + 1),
    };
    (0..count).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_candidates_share_a_name() {
        let names = names(60);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 60);
        assert_eq!((names[0].as_str(), names[26].as_str()), ("ada", "ada-2"));
    }
}
