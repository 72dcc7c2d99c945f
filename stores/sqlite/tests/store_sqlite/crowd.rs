//! Many candidates that wait on one file, each in a separate process. They cost the machine next to nothing, and the
//! leader keeps its term.
//!
//! `INCUMBENT_TEST_CROWD=300` sets the number of candidates.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use incumbent::clock::Clock;
use incumbent::store::{Sqlite, SqliteSettings};
use incumbent::{CampaignOptions, Event, Store};

use crate::processes::{OutputLines, Process, say};

/// A lease that does not end merely because the machine is busy.
const LEASE: Duration = Duration::from_secs(10);
/// The time of the measurement, which contains several renewals.
const WATCHED: Duration = Duration::from_secs(14);
/// The share of a processor that one waiting candidate may take, if 300 of them together may take a twentieth of two
/// processors.
const SHARE: f64 = 0.05 * 2.0 / 300.0;
/// The factor for a test build without optimisation.
const ALLOWANCE: f64 = 3.0;

/// The child's part of the test: it campaigns, and prints when it begins and stops leading.
pub(crate) async fn wait(path: &Path, name: &str) {
    let clock = Clock::system();
    let sqlite = Sqlite::open(&SqliteSettings::new(path), &clock).await.unwrap();
    let store = Store::from_adapter(Box::new(sqlite), clock).unwrap();
    let options = CampaignOptions::new().name(name).lease(LEASE).preset(incumbent::Preset::Fast);
    let candidate = store.campaign("jobs", options.splay(Duration::ZERO)).await.unwrap();
    let mut events = candidate.events();
    say("registered");
    while let Some(event) = events.next().await {
        match event {
            Event::Won(term) => say(format!("leads {}", term.token())),
            Event::Lost { reason, .. } => say(format!("lost {reason:?}")),
            _ => {}
        }
    }
}

/// The processor time that the threads of a process have used.
fn ran(process: &Process) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.child.id())).unwrap();
    let nanos = tasks.map(|task| {
        // The first number in schedstat is the nanoseconds on a processor (proc_pid_schedstat(5)). A thread may end
        // meanwhile.
        let stat = fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
        stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0_u64)
    });
    Duration::from_nanos(nanos.sum())
}

fn register(process: &mut Process) -> OutputLines {
    let mut line = process.take_lines();
    assert_eq!(line.next_line().as_deref(), Some("registered"));
    line
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn that_waits_costs_next_to_nothing_and_the_leader_keeps_its_term() {
    let crowd = std::env::var("INCUMBENT_TEST_CROWD").map_or(40, |crowd| crowd.parse::<usize>().unwrap());
    // The folder is in memory if the machine has such a file system, because a busy disk would end the term.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("elections.db");
    Sqlite::init(&SqliteSettings::new(&path), &Clock::system(), true).await.unwrap();
    let mut leader = Process::start("wait", &path, "leader");
    let mut line = register(&mut leader);
    assert!(line.next_line().unwrap().starts_with("leads "));

    let began = Instant::now();
    let mut waiting: Vec<_> = (0..crowd).map(|n| Process::start("wait", &path, &format!("p{n}"))).collect();
    let voices: Vec<_> = waiting.iter_mut().map(register).collect();
    let stood = began.elapsed();
    // Waits until all candidates are stored, and have observed each other.
    let sql = rusqlite::Connection::open(&path).unwrap();
    let listed = || sql.query_row("SELECT count(*) FROM candidate", [], |row| row.get::<_, i64>(0));
    while usize::try_from(listed().unwrap_or_default()).unwrap() < crowd + 1 {
        thread::sleep(Duration::from_millis(20));
    }
    let written = began.elapsed();
    thread::sleep(Duration::from_secs(2));

    let before: Vec<_> = waiting.iter().map(ran).collect();
    let leader_before = ran(&leader);
    let from = Instant::now();
    thread::sleep(WATCHED);
    let each: Vec<_> = waiting.iter().zip(&before).map(|(process, before)| ran(process) - *before).collect();
    let (sum, leader_ran, watched) =
        (each.iter().sum::<Duration>(), ran(&leader) - leader_before, from.elapsed());
    let share = sum.as_secs_f64() / watched.as_secs_f64();
    println!(
        "{crowd} stood after {stood:.1?}, were written down after {written:.1?}; they took {:.2} % of a processor, the \
         leader {:.2} %",
        share * 100.0,
        100.0 * leader_ran.as_secs_f64() / watched.as_secs_f64()
    );
    assert!(
        share < SHARE * ALLOWANCE * crowd as f64,
        "{crowd} waiting candidates take {share} of a processor"
    );

    leader.kill();
    waiting.iter_mut().for_each(Process::kill);
    let lost = line.next_line();
    assert_eq!(lost, None, "it led all the time");
    assert!(voices.into_iter().all(|mut voice| voice.next_line().is_none()), "and no other did");
}
