//! The elections of one process during temporary trouble, and a bare client in the same trouble, each on its own
//! server. The measurements are how many elections remain led, by the server's count of records, and the time until all
//! are led again.

use std::process::Command;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use incumbent_testkit::figure::{self, Figure};
use incumbent_testkit::nats::{Backlog, NatsServer, Options};
use incumbent_testkit::process::{ChildGuard, pause, resume};
use incumbent_testkit::quota::Quota;
use incumbent_testkit::wait;
use tokio::runtime::Runtime;

use crate::bucket::bucket;
use crate::side::Side;
use crate::{LEASE, number};

/// The share of a core that each side is left with.
const SHARE: f64 = 0.3;
/// The busy programs per core.
const NEIGHBOURS: usize = 4;
/// The time after which the measurement starts, with the elections that are led by then.
const STARTING: Duration = Duration::from_secs(60);
/// The time over which each side's processor time is counted before the trouble.
const REST: Duration = Duration::from_secs(3);
/// The time between two checks of the servers, and between two lines of progress.
const LOOK: Duration = Duration::from_millis(250);
const LINE: Duration = Duration::from_secs(5);
/// The time after the end of the trouble within which all elections must be led again. The measurement always takes all
/// of it.
const RECOVERY: Duration = Duration::from_secs(15);
/// The time after which the benchmark gives up.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// How far our lowest count of led elections may fall below the bare client's lowest, in percent of all elections.
const BELOW_BARE: f64 = 5.0;
/// The largest accepted ratio of a side's memory during the trouble to its memory before.
const MEMORY: f64 = 1.2;
/// The most bytes that a server may hold unsent for clients that keep up with it.
const UNREAD: u64 = 65_536;

const HELP: &str = "\
Many elections in one process on NATS, and a bare client that renews as many keys, in the same trouble.

Usage: cargo xtask bench overload [--elections N] [--runs N] [--json FILE] [-- KIND...]

Kinds of trouble, each with its number of elections; T = 30 s:
  quota    100,000; both have 30 % of a core for 40 s, by SIGSTOP and SIGCONT inside each 0.1 s
  disk      10,000; each write waits for the disk, and four programs for each core want it for 20 s
  watcher   10,000; a process that watches all of them is stopped for 15 s

Options:
  --elections N  so many in each, for a trial
  --help         this text

Examples:
  cargo xtask bench overload --elections 1000 --runs 1
  cargo xtask bench overload --json overload.json -- quota disk
";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Quota,
    Disk,
    Watcher,
}

impl Trouble {
    const ALL: [Self; 3] = [Self::Quota, Self::Disk, Self::Watcher];

    fn name(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Disk => "disk",
            Self::Watcher => "watcher",
        }
    }

    fn elections(self) -> u32 {
        match self {
            Self::Quota => 100_000,
            Self::Disk | Self::Watcher => 10_000,
        }
    }

    fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::Quota => 40,
            Self::Disk => 20,
            Self::Watcher => 15,
        })
    }
}

/// Measures the kinds of trouble that are named, or all.
pub(crate) fn measure(runtime: &Runtime, arguments: &[&str]) {
    if arguments.contains(&"--help") {
        eprint!("{HELP}");
        figure::print(&[]);
        return;
    }
    let elections = arguments.windows(2).find(|pair| pair[0] == "--elections").map(|pair| number(pair[1]));
    let is_named = |trouble: &Trouble| arguments.contains(&trouble.name());
    let is_any_named = Trouble::ALL.iter().any(is_named);
    let figures: Vec<Figure> = Trouble::ALL
        .into_iter()
        .filter(|trouble| is_named(trouble) || !is_any_named)
        .flat_map(|trouble| one(runtime, trouble, elections.unwrap_or(trouble.elections())))
        .collect();
    figure::print(&figures);
}

/// A side with its own server, and the process that watches all its elections, if there is one.
struct Tried {
    server: NatsServer,
    side: Side,
    watcher: Option<Side>,
    /// The consumers of the bucket: the watcher's, and for our side the leader's own.
    watchers: usize,
    elections: u32,
}

impl Tried {
    const BUCKET: &str = "TRIED";

    fn start(runtime: &Runtime, trouble: Trouble, kind: &str, elections: u32) -> Self {
        let options = Options::new();
        let server = NatsServer::start(if trouble == Trouble::Disk { options.synced() } else { options });
        let url = runtime.block_on(bucket(&server, Self::BUCKET, LEASE, false));
        let count = elections.to_string();
        let mut side = match kind {
            "ours" => Side::start(&["ours", &url, &count, "ada"]),
            _ => Side::start(&[kind, &url, &count]),
        };
        side.proceed();
        let began = Instant::now();
        while server.records(Self::BUCKET) != Some(elections.into()) && began.elapsed() < STARTING {
            sleep(LOOK);
        }
        let watcher = (trouble == Trouble::Watcher).then(|| {
            let mut watcher = match kind {
                "ours" => Side::start(&["ours", &url, &count, "ben"]),
                _ => Side::start(&["watcher", &url]),
            };
            watcher.proceed();
            watcher
        });
        let watchers = if kind == "ours" { 2 } else { 1 };
        let tried = Self { server, side, watcher, watchers, elections };
        if tried.watcher.is_some() {
            wait::until("the watcher to have read all", STARTING, || tried.is_read());
        }
        tried
    }

    /// The number of led elections, by the server's records; `None` if the server does not answer.
    fn led(&self) -> Option<u32> {
        let records = self.server.records(Self::BUCKET)?;
        Some(u32::try_from(records).unwrap_or(u32::MAX).min(self.elections))
    }

    /// The process in trouble.
    fn troubled(&self) -> &Side {
        self.watcher.as_ref().unwrap_or(&self.side)
    }

    /// Returns true if the server has sent everything to all watchers.
    fn is_read(&self) -> bool {
        let backlog = self.server.backlog(Self::BUCKET);
        backlog.is_some_and(|Backlog { messages, bytes }| {
            let keeps_up = |messages: &&u64| **messages <= u64::from(self.elections / 100);
            messages.iter().filter(keeps_up).count() >= self.watchers && bytes <= UNREAD
        })
    }
}

/// The cause of the trouble, which ends when this is dropped.
enum Cause {
    Quotas { _all: Vec<Quota> },
    Neighbours { _all: Vec<ChildGuard> },
    Stopped(Vec<u32>),
}

impl Cause {
    fn begin(trouble: Trouble, sides: &[Tried]) -> Self {
        let pids: Vec<u32> = sides.iter().map(|tried| tried.troubled().pid()).collect();
        match trouble {
            Trouble::Quota => {
                Self::Quotas { _all: pids.into_iter().map(|pid| Quota::start(pid, SHARE)).collect() }
            }
            Trouble::Disk => {
                let cores = available_parallelism().map_or(1, usize::from);
                let neighbour = || {
                    let mut command = Command::new("sh");
                    command.args(["-c", "while :; do :; done"]);
                    ChildGuard::spawn(command).expect("there is a shell")
                };
                Self::Neighbours { _all: (0..cores * NEIGHBOURS).map(|_| neighbour()).collect() }
            }
            Trouble::Watcher => {
                pids.iter().copied().for_each(pause);
                Self::Stopped(pids)
            }
        }
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        if let Self::Stopped(pids) = self {
            pids.iter().copied().for_each(resume);
        }
    }
}

/// The observations of one side.
#[derive(Default)]
struct Seen {
    /// The share of a core that the side used before the trouble, in percent, and the memory of the process under test,
    /// in bytes.
    rest: f64,
    memory_before: u64,
    /// The elections that were led before the trouble, and the fewest since it began.
    led_before: u32,
    fewest: u32,
    /// The largest memory since the trouble began.
    memory: u64,
    /// For how long after the end of the trouble some elections were still not led, and for how long a watcher had
    /// still not read everything.
    not_led: Duration,
    not_read: Duration,
}

fn one(runtime: &Runtime, trouble: Trouble, elections: u32) -> Vec<Figure> {
    let name = format!("{elections} elections, {}", trouble.name());
    let start = |kind| Tried::start(runtime, trouble, kind, elections);
    let [ours, bare] = match trouble {
        // The sides run one after another, because two servers would each have half of the disk.
        Trouble::Disk => ["ours", "bare"]
            .map(|kind| endure(&format!("{name}, {kind}"), trouble, [start(kind)]))
            .map(|[seen]| seen),
        Trouble::Quota | Trouble::Watcher => {
            // The bare client needs little processor time while the other side starts.
            let bare = start("bare");
            endure(&format!("{name}, ours and the bare client"), trouble, [start("ours"), bare])
        }
    };
    figures(&name, trouble, elections, &ours, &bare)
}

/// Begins and ends the trouble, and returns the observations of each side.
fn endure<const SIDES: usize>(name: &str, trouble: Trouble, sides: [Tried; SIDES]) -> [Seen; SIDES] {
    let all: Vec<u32> = sides.iter().map(|tried| tried.elections).collect();
    let mut seen = sides.each_ref().map(|tried| {
        let led = tried.led().unwrap_or(0);
        let rest = 100.0 * tried.side.cpu_over(REST);
        let memory_before = tried.troubled().memory();
        eprintln!("{name}: {led} led, {rest:.0} % of a core, {} MB", memory_before / 1_000_000);
        Seen { rest, memory_before, led_before: led, fewest: led, ..Seen::default() }
    });
    eprintln!("{name}: {} for {:?}", trouble.name(), trouble.lasts());
    let began = Instant::now();
    let mut cause = Some(Cause::begin(trouble, &sides));
    let mut ended: Option<Instant> = None;
    let mut next_line = Duration::ZERO;
    loop {
        let led = sides.each_ref().map(Tried::led);
        let since_end = ended.map(|ended| ended.elapsed());
        for ((tried, seen), led) in sides.iter().zip(&mut seen).zip(led) {
            seen.fewest = seen.fewest.min(led.unwrap_or(seen.fewest));
            seen.memory = seen.memory.max(tried.troubled().memory());
            if let Some(since_end) = since_end {
                if led != Some(tried.elections) {
                    seen.not_led = since_end;
                }
                if tried.watcher.is_some() && !tried.is_read() {
                    seen.not_read = since_end;
                }
            }
        }
        let late = seen.iter().map(|seen| seen.not_led.max(seen.not_read)).max().unwrap_or_default();
        match since_end {
            Some(since_end) if since_end > GIVEN_UP || since_end > RECOVERY.max(late + REST) => break,
            None if began.elapsed() >= trouble.lasts() => {
                cause = None;
                ended = Some(Instant::now());
            }
            _ => (),
        }
        if began.elapsed() >= next_line {
            let when = if cause.is_some() { "in trouble" } else { "after the trouble" };
            let shown: Vec<String> =
                led.iter().map(|led| led.map_or("?".into(), |led| led.to_string())).collect();
            let seconds = began.elapsed().as_secs();
            eprintln!("{name}: {seconds} s, {when}: {} of {all:?} led", shown.join(", "));
            next_line += LINE;
        }
        sleep(LOOK);
    }
    seen
}

fn figures(name: &str, trouble: Trouble, elections: u32, ours: &Seen, bare: &Seen) -> Vec<Figure> {
    let samples = elections as usize;
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(elections);
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    let plain = |what: &str, value, unit| Figure::plain(format!("{name}: {what}"), value, unit, samples);
    let at_most = |what: &str, value, unit, most| plain(what, value, unit).within(most);
    let memory = ours.memory as f64 / ours.memory_before as f64;
    let within = millis(RECOVERY);
    let mut figures = vec![
        plain("elections led before the trouble", percent(ours.led_before), "%"),
        plain("elections led before the trouble, bare client", percent(bare.led_before), "%"),
        plain("fewest elections led at one time", percent(ours.fewest), "%"),
        plain("fewest elections led at one time, bare client", percent(bare.fewest), "%"),
        at_most(
            "fewest elections led at one time, below the bare client's",
            percent(bare.fewest.saturating_sub(ours.fewest)),
            "% of all",
            BELOW_BARE,
        ),
        at_most(
            "time from the end of the trouble until all elections are led",
            millis(ours.not_led),
            "ms",
            within,
        ),
        plain(
            "time from the end of the trouble until all elections are led, bare client",
            millis(bare.not_led),
            "ms",
        ),
        at_most("largest memory / memory before the trouble", memory, "ratio", MEMORY),
        plain("processor time before the trouble", ours.rest, "% of a core"),
        plain("processor time before the trouble, bare client", bare.rest, "% of a core"),
    ];
    if trouble == Trouble::Watcher {
        let what = "time from the end of the trouble until the watcher has read everything";
        figures.push(at_most(what, millis(ours.not_read), "ms", within));
    }
    figures
}
