//! Leftovers of a supervisor that was killed together with its guard. The next supervisor finds and removes them.
//!
//! A supervisor locks its folder and its control group while it lives, whatever its PID namespace, and the kernel
//! releases the locks when the supervisor dies. A folder or a group without a lock is stale.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;

use super::{cgroup, place};

/// The prefix of our folders' names, in the folder for temporary files.
pub(super) const FOLDERS: &str = "incumbent-run-";
/// The prefix of our control groups' names, inside this process's group.
pub(super) const GROUPS: &str = "incumbent-run-";

/// The number of attempts to make a folder, if other supervisors keep taking it for stale before it is locked.
const TRIES: u32 = 8;

/// A lock on a folder, which is held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Lock {
    /// Locks a folder. Returns `None` if another process holds the lock, or if the folder is gone.
    fn take(folder: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        let (ours, there) = (file.metadata()?, fs::metadata(folder));
        let is_there = there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
        Ok(is_there.then_some(Self(file)))
    }
}

/// Makes a folder and locks it.
pub(super) fn locked<T>(
    make: impl Fn() -> io::Result<T>,
    folder: impl Fn(&T) -> &Path,
) -> io::Result<(T, Lock)> {
    for _ in 0..TRIES {
        let made = make()?;
        if let Some(lock) = Lock::take(folder(&made))? {
            return Ok((made, lock));
        }
    }
    Err(io::Error::other("another process keeps removing the folder that was just created"))
}

/// Ends and removes what dead supervisors left behind.
pub(super) fn sweep() {
    for within in place::folders() {
        each(&within, FOLDERS, |folder| {
            // Only the files that a supervisor makes are removed, because another program may have given a folder such
            // a name.
            for name in ["deadline", "next"] {
                let _ = fs::remove_file(folder.join(name));
            }
            let _ = fs::remove_dir(folder);
        });
    }
    if let Ok(ours) = cgroup::own_path() {
        each(&ours, GROUPS, |group| {
            if cgroup::is_populated(group) {
                tracing::warn!(group = %group.display(), "ending processes that a command left behind when its \
                    supervisor was killed");
            }
            cgroup::remove(group);
        });
    }
}

/// Handles every stale folder whose name has this prefix.
fn each(within: &Path, prefix: &str, deal: impl Fn(&Path)) {
    // A folder that cannot be read, or is another user's, is not ours to remove.
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(prefix);
        let is_ours = || entry.metadata().is_ok_and(|is| is.is_dir() && is.uid() == geteuid().as_raw());
        let path = entry.path();
        if is_named
            && is_ours()
            && let Ok(Some(_lock)) = Lock::take(&path)
        {
            deal(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_locked_is_left_and_what_is_not_is_dealt_with() {
        let within = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = within.path().join(name);
            move || fs::create_dir(&path).map(|()| path.clone())
        };
        let (alive, lock) = locked(make("incumbent-run-alive"), |path| path).unwrap();
        let stale = make("incumbent-run-stale")().unwrap();
        let other = make("other")().unwrap();
        let remove = || each(within.path(), FOLDERS, |folder| fs::remove_dir(folder).unwrap());
        remove();
        assert_eq!([&alive, &stale, &other].map(|path| path.exists()), [true, false, true]);
        drop(lock);
        remove();
        assert_eq!([&alive, &other].map(|path| path.exists()), [false, true]);
    }

    #[test]
    fn a_folder_that_is_taken_for_stale_before_it_is_locked_is_made_again() {
        let within = tempfile::tempdir().unwrap();
        let path = within.path().join("incumbent-run-new");
        let tries = std::cell::Cell::new(0);
        let make = || {
            tries.set(tries.get() + 1);
            fs::create_dir(&path)?;
            if tries.get() == 1 {
                fs::remove_dir(&path)?;
            }
            Ok(path.clone())
        };
        let (made, _lock) = locked(make, |path| path).unwrap();
        assert_eq!((tries.get(), made.exists()), (2, true));
    }
}
