//! Runs many hunts at a time. A process can have only one active mutant, so each mutant gets its own process. A hunt
//! that never ends can also be killed that way.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::finding::Finding;
use crate::hunt::Hunt;
use crate::table::{Mutant, NONE, SWITCH, name_of};

/// The time after which a hunt counts as hung. On an idle machine half a minute is usual, and on a loaded one ten times
/// as much.
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Hunts every mutant, `jobs` at a time. Each finding is shown as soon as it arrives; all are returned in order.
pub(crate) fn hunt(
    mutants: &[Option<&Mutant>],
    hunt: Hunt,
    jobs: usize,
    show: impl Fn(&Finding) -> Result<()> + Sync,
) -> Result<Vec<Finding>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; mutants.len()]);
    let work = || -> Result<()> {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(place) else { return Ok(()) };
            let finding = hunt_one(*mutant, hunt)?;
            let mut found = found.lock().map_err(|_| anyhow!("another hunt panicked"))?;
            show(&finding)?;
            // `found` has as many elements as there are mutants.
            found[place] = Some(finding);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a hunt panicked"))?)
    })?;
    let found = found.into_inner().map_err(|_| anyhow!("a hunt panicked"))?;
    Ok(found.into_iter().flatten().collect())
}

fn hunt_one(mutant: Option<&Mutant>, hunt: Hunt) -> Result<Finding> {
    let mut child = alone(mutant)?
        .args(["--blind", &hunt.blind.to_string(), "--swarm", &hunt.swarm.to_string()])
        .args(hunt.until_noticed.then_some("--until-noticed"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run this program again")?;
    let ended = ends(&mut child)?;
    if !ended {
        child.kill().context("cannot stop a hunt")?;
    }
    let status = child.wait()?;
    if !ended {
        return Ok(Finding::uncaught(mutant, "hang", 0));
    }
    // The program's output fits into a pipe, so it can be read after the process has ended.
    let mut printed = String::new();
    child.stdout.take().context("the hunt has no output")?.read_to_string(&mut printed)?;
    match serde_json::from_str(&printed) {
        Ok(finding) => Ok(finding),
        Err(_) => Ok(Finding::uncaught(mutant, &format!("abort: {status}"), 0)),
    }
}

/// Returns the command that runs this program in another process, with the mutant switched on.
pub(crate) fn alone(mutant: Option<&Mutant>) -> Result<Command> {
    let name = name_of(mutant);
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(["--alone", "--mutant", name]).env_remove(SWITCH);
    if name != NONE {
        command.env(SWITCH, name);
    }
    Ok(command)
}

/// Returns true if the process ends in time.
fn ends(child: &mut Child) -> Result<bool> {
    let until = Instant::now() + TIME_LIMIT;
    while Instant::now() < until {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}
