//! Finds processes of the command that signals of this process do not reach because they run as another user, as with
//! sudo or su.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The times, counted from the command's beginning, at which all of its processes are checked. There is more than one
/// check, because a script may do something else first.
const LOOKS: [Duration; 3] = [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(10)];

/// The checks of a command.
#[derive(Debug, Default)]
pub(super) struct Reach {
    looks: usize,
    is_lost: bool,
}

impl Reach {
    /// The user of a process that signals do not reach, at the first check that finds such a process. Later checks
    /// return `None`.
    pub(super) fn lost(&mut self, group: Pid, ran: Duration) -> Option<String> {
        if self.is_lost {
            return None;
        }
        let found = match LOOKS.get(self.looks) {
            _ if is_out_of_reach(group) => Some(group),
            Some(at) if ran >= *at => {
                self.looks += 1;
                // Without the kernel's list, only the command's own process is checked.
                let all: Vec<_> = processes().map(Iterator::collect).unwrap_or_default();
                descendants(&all, group).into_iter().find(|pid| is_out_of_reach(*pid))
            }
            _ => None,
        };
        self.is_lost = found.is_some();
        found.map(user)
    }
}

fn is_out_of_reach(pid: Pid) -> bool {
    test_kill_process(pid) == Err(Errno::PERM)
}

/// The user of a process, in words.
fn user(pid: Pid) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let user = status.ok().and_then(|status| {
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        users.split_whitespace().next().map(str::to_owned)
    });
    match user.as_deref() {
        Some("0") => "root".into(),
        Some(number) => format!("user {number}"),
        None => "another user".into(),
    }
}

/// A process in the kernel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
}

impl Process {
    /// Parses the text of /proc/PID/stat; `None` if the process is dead.
    fn of(stat: &str) -> Option<Self> {
        // PID (NAME) STATE PARENT GROUP ..., where NAME may hold any character.
        let ((before, _), (_, after)) = (stat.split_once(' ')?, stat.rsplit_once(')')?);
        let mut words = after.split_whitespace();
        let is_alive = !matches!(words.next()?, "Z" | "X");
        let mut number = || words.next()?.parse().ok();
        let process = Self { pid: before.parse().ok()?, parent: number()?, group: number()? };
        is_alive.then_some(process)
    }
}

/// All processes that are alive.
fn processes() -> io::Result<impl Iterator<Item = Process>> {
    // A process may end before its file is read, and some entries are not processes.
    let stat = |entry: io::Result<fs::DirEntry>| fs::read_to_string(entry.ok()?.path().join("stat")).ok();
    Ok(fs::read_dir("/proc")?.filter_map(stat).filter_map(|stat| Process::of(&stat)))
}

/// Returns true if a process of this group is alive.
pub(super) fn has_live_members(group: Pid) -> io::Result<bool> {
    let group = group.as_raw_nonzero().get();
    Ok(processes()?.any(|process| process.group == group))
}

/// The members of a group, and the processes that they and their descendants have started.
fn descendants(all: &[Process], group: Pid) -> Vec<Pid> {
    let group = group.as_raw_nonzero().get();
    let mut found: Vec<_> = all.iter().filter(|process| process.group == group).collect();
    let mut seen = 0;
    while let Some(parent) = found.get(seen).map(|process| process.pid) {
        seen += 1;
        let children = all.iter().filter(|process| process.parent == parent && process.group != group);
        found.extend(children);
    }
    found.into_iter().filter_map(|process| Pid::from_raw(process.pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, group: i32) -> Process {
        Process { pid, parent, group }
    }

    #[test]
    fn of_a_group_only_those_count_that_are_alive() {
        let stat = |state| format!("43 (a) Z 1 42) {state} 1 42 42 0 -1 4194560 0 0 0 0");
        assert_eq!(Process::of(&stat("S")), Some(process(43, 1, 42)));
        assert_eq!(Process::of(&stat("D")), Some(process(43, 1, 42)));
        assert_eq!(Process::of(&stat("Z")), None);
        assert_eq!(Process::of("max 100000 1000"), None);
    }

    #[test]
    fn what_leaves_the_group_is_found_by_its_parents() {
        let all = [process(1, 0, 1), process(42, 1, 42), process(43, 42, 42), process(50, 43, 50)];
        let all = [&all[..], &[process(51, 50, 50), process(60, 1, 60)]].concat();
        let found: Vec<i32> = descendants(&all, Pid::from_raw(42).unwrap())
            .into_iter()
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        assert_eq!(found, [42, 43, 50, 51]);
    }

    #[test]
    fn processes_of_the_own_user_are_within_reach_and_looked_at_three_times() {
        let mut reach = Reach::default();
        let own = rustix::process::getpid();
        assert_eq!(reach.lost(own, Duration::ZERO), None);
        assert_eq!(reach.looks, 0);
        for _ in 0..9 {
            assert_eq!(reach.lost(own, Duration::from_secs(60)), None);
        }
        assert_eq!(reach.looks, 3);
    }
}
