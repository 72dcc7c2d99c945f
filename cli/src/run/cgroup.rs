//! A control group (version 2) for the command: a process that leaves the process group stays in the control group.
//!
//! It is used if possible: on Linux 5.14 or newer, with a control group of our own that we may write to. Elsewhere the
//! process group has to suffice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::stale::{self, Lock};

/// The longest wait for the kernel to remove killed processes.
const DYING: Duration = Duration::from_secs(2);

/// A control group of our own, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    /// Whether a thread is killing the processes in the group.
    killing: Arc<AtomicBool>,
    /// Marks it as in use.
    _lock: Lock,
}

impl Cgroup {
    /// Makes a new control group below this process's own.
    pub(super) fn new() -> io::Result<Self> {
        let path = own_path()?.join(format!("{}{}", stale::GROUPS, std::process::id()));
        let make = || match fs::create_dir(&path) {
            // A process with the same number left the control group behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(path.clone()),
            made => made.map(|()| path.clone()),
        };
        let (path, lock) = stale::locked(make, |path| path)?;
        let cgroup = Self { path, killing: Arc::default(), _lock: lock };
        if !cgroup.path.join("cgroup.kill").exists() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel has no cgroup.kill"));
        }
        // Only an attempt shows whether a process may enter the group. Instead of letting a sleeping child try, this
        // opens the group's file for writing. That fails in the same cases, except in a group of another type, which is
        // checked here.
        let kind = fs::read_to_string(cgroup.path.join("cgroup.type"))?;
        if kind.trim() != "domain" {
            let what = format!("the control group would be of the type {:?}", kind.trim());
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        drop(fs::OpenOptions::new().write(true).open(cgroup.path.join("cgroup.procs"))?);
        Ok(cgroup)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if a process in the group is alive.
    pub(super) fn is_populated(&self) -> bool {
        is_populated(&self.path)
    }

    /// Returns true while the processes of the group are being killed. A process that entered the group now would be
    /// killed too.
    pub(super) fn is_being_killed(&self) -> bool {
        self.killing.load(Ordering::SeqCst)
    }

    /// Kills all processes in the group, from a thread, because the write may take long on a busy machine.
    pub(super) fn kill(&self) {
        if self.killing.swap(true, Ordering::SeqCst) {
            return;
        }
        let (path, killing) = (self.path.clone(), Arc::clone(&self.killing));
        let started = std::thread::Builder::new().name("kill".into()).spawn(move || {
            kill(&path);
            killing.store(false, Ordering::SeqCst);
        });
        if started.is_err() {
            kill(&self.path);
            self.killing.store(false, Ordering::SeqCst);
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The control group that this process is in.
pub(super) fn own_path() -> io::Result<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    own(&memberships, &mounts).ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, "control groups of version 2 are not mounted")
    })
}

/// Returns true if a process in a control group is alive.
pub(super) fn is_populated(path: &Path) -> bool {
    match fs::read_to_string(path.join("cgroup.events")) {
        Ok(said) => said.contains("populated 1"),
        // A group that is gone has no processes, but an unreadable group may have some.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Puts this process into a control group; its children will be in it too.
pub(super) fn enter(path: &Path) -> io::Result<()> {
    fs::write(path.join("cgroup.procs"), "0")
}

/// Kills all processes in a control group.
pub(super) fn kill(path: &Path) {
    // A group that is gone has no processes.
    let _ = fs::write(path.join("cgroup.kill"), "1");
}

/// Kills all processes in a control group, and removes the group.
pub(super) fn remove(path: &Path) {
    kill(path);
    let begun = Instant::now();
    // The group can be removed only after the killed processes are gone.
    while let Err(error) = fs::remove_dir(path) {
        if error.kind() != io::ErrorKind::ResourceBusy || begun.elapsed() > DYING {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The path of this process's control group of version 2, from the kernel's tables.
fn own(memberships: &str, mounts: &str) -> Option<PathBuf> {
    let path = memberships.lines().find_map(|line| line.strip_prefix("0::"))?;
    // ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE OPTIONS
    let (root, mountpoint) = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        kind.starts_with("cgroup2 ").then(|| Some((place.next()?, place.next()?)))?
    })?;
    // In a container the mount may show only part of the tree.
    let below = Path::new(path).strip_prefix(root).or_else(|_| Path::new(path).strip_prefix("/")).ok()?;
    Some(Path::new(mountpoint).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
24 30 0:22 / /proc rw,nosuid - proc proc rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

    #[test]
    fn the_control_group_is_found_where_it_is_mounted() {
        let own = |memberships, mounts| own(memberships, mounts).map(|path| path.display().to_string());
        let service = Some("/sys/fs/cgroup/system.slice/app.service".into());
        assert_eq!(own("0::/system.slice/app.service\n", MOUNTS), service);
        assert_eq!(own("0::/\n", MOUNTS), Some("/sys/fs/cgroup/".into()));
    }

    #[test]
    fn of_both_versions_the_second_is_meant() {
        let mounts = "\
31 24 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
35 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
        let found = own("8:pids:/a\n1:cpu:/b\n0::/c\n", mounts);
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/unified/c")));
    }

    #[test]
    fn a_part_of_the_tree_that_is_mounted_is_taken_off() {
        let mounts = "35 24 0:30 /pod/box /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(own("0::/pod/box/app\n", mounts), Some(PathBuf::from("/sys/fs/cgroup/app")));
    }

    #[test]
    fn without_version_2_there_is_none() {
        assert_eq!(own("8:pids:/a\n", MOUNTS), None);
        assert_eq!(own("0::/\n", "24 30 0:22 / /proc rw - proc proc rw\n"), None);
    }
}
