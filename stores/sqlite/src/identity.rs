//! The identity of the file at the path, so that a copied or restored file is not taken for the original.
//!
//! A file is identified by its device, its inode and, because inodes are reused, its time of birth if the file system
//! keeps that time. All three are stored in the file itself, so that a copy at any place is recognised as another file.
//!
//! A copy *into* the file keeps all three. The inode's time of change reveals such a copy: no program can set that
//! time, and each transaction of this crate records its own time. If the file changed well after the last transaction,
//! another program changed it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::failure::Cause;
use incumbent_store::ErrorKind;

/// The largest delay between the time that a transaction records and the moment at which it changes the file. It covers
/// the time from the last statement of a transaction until its pages are written: one flush of the journal, and the
/// wait for readers. A slower transaction is [recorded again](super::file::Database::settle).
pub(super) const LATE: i64 = 500_000_000;

/// The largest delay of a slow transaction, which may still be recorded again.
const SLOW: i64 = 10_000_000_000;

/// The largest difference in the other direction, because file systems truncate times, FAT to two seconds.
const EARLY: i64 = 2_000_000_000;

/// The identity of a file, unique on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: i64,
    pub(super) inode: i64,
    /// The file's time of birth in nanoseconds since 1970; 0 if the file system does not keep it.
    pub(super) birth: i64,
}

/// The file at a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileState {
    pub(super) identity: Identity,
    /// The inode's time of change, in nanoseconds since 1970.
    pub(super) changed: i64,
    links: u64,
}

impl FileState {
    /// Reads the metadata at the path. The file is not opened for this, because closing it would release SQLite's
    /// locks.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        let birth = file.created().map_or(0, since_1970);
        Ok(Self::of(&file, birth))
    }

    #[cfg(unix)]
    fn of(file: &fs::Metadata, birth: i64) -> Self {
        use std::os::unix::fs::MetadataExt;
        let bits = |number: u64| i64::from_ne_bytes(number.to_ne_bytes());
        let changed = file.ctime().saturating_mul(1_000_000_000).saturating_add(file.ctime_nsec());
        let identity = Identity { device: bits(file.dev()), inode: bits(file.ino()), birth };
        Self { identity, changed, links: file.nlink() }
    }

    /// The identity is not needed here, because no store opens on systems whose processes share no clock.
    #[cfg(not(unix))]
    fn of(file: &fs::Metadata, birth: i64) -> Self {
        let changed = file.modified().map_or(0, since_1970);
        Self { identity: Identity { device: 0, inode: 0, birth }, changed, links: 1 }
    }

    /// Returns true if the transaction with that wall-clock time was the last to change the file.
    ///
    /// The wall clock is read in that transaction, moments before it changes the file. So setting the clock in between
    /// makes a change suspicious but never hides one, with one exception: if the clock is set back by exactly the age
    /// of a backup, copying that backup into the file goes unnoticed.
    pub(super) fn was_changed_at(&self, written: i64) -> bool {
        let late = self.changed.saturating_sub(written);
        (-EARLY..=LATE).contains(&late)
    }

    /// Returns true if a slow transaction that will be recorded again can have changed the file.
    pub(super) fn may_be_slow(&self, written: i64) -> bool {
        (0..=SLOW).contains(&self.changed.saturating_sub(written))
    }

    /// Refuses a file whose journal another process might look for elsewhere. SQLite names the journal after the file's
    /// path. If a process crashes in a transaction, another process that does not find the journal reads half of that
    /// transaction.
    pub(super) fn check(&self, path: &Path) -> Result<(), Cause> {
        let detail = if self.links > 1 {
            format!(
                "the file has {} names, but the processes of an election must use the same name: remove the other \
                 hard links",
                self.links
            )
        } else {
            match mount::is_mount_point(path) {
                Some(false) => return Ok(()),
                Some(true) => {
                    "the file is mounted alone, without the folder in which SQLite keeps its journal: mount the folder"
                }
                None => {
                    "cannot find out whether the file is mounted alone, without the folder in which SQLite keeps its \
                     journal: mount /proc"
                }
            }
            .to_owned()
        };
        Err(Cause::Refused(ErrorKind::UnsafeStore, detail.into()))
    }
}

/// The wall clock, in nanoseconds since 1970.
pub(super) fn wall() -> i64 {
    since_1970(SystemTime::now())
}

fn since_1970(time: SystemTime) -> i64 {
    let span = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod mount {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

    /// Returns true if a file is mounted at the path; `None` if that is unknown. The kernel answers since 5.8; before,
    /// its list of mounts does.
    pub(super) fn is_mount_point(path: &Path) -> Option<bool> {
        match statx(CWD, path, AtFlags::empty(), StatxFlags::empty()) {
            Ok(file) if file.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
                Some(file.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
            }
            _ => fs::read("/proc/self/mountinfo").ok().map(|mounts| is_listed(&mounts, path)),
        }
    }

    /// proc_pid_mountinfo(5): the fifth field is the mount point, with blanks and backslashes as octal numbers.
    pub(super) fn is_listed(mounts: &[u8], path: &Path) -> bool {
        let escaped: Vec<u8> = path
            .as_os_str()
            .as_bytes()
            .iter()
            .flat_map(|byte| match byte {
                b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                byte => vec![*byte],
            })
            .collect();
        let points =
            mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
        points.into_iter().any(|point| point == escaped)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod mount {
    /// Other systems only mount folders.
    pub(super) fn is_mount_point(_path: &std::path::Path) -> Option<bool> {
        Some(false)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn seen(changed: i64) -> FileState {
        FileState { identity: Identity { device: 1, inode: 2, birth: 3 }, changed, links: 1 }
    }

    #[test]
    fn a_change_counts_as_ours_from_two_seconds_before_to_half_a_second_after_we_wrote() {
        let written = 1_800_000_000_000_000_000;
        for ours in [-EARLY, -1, 0, LATE] {
            assert!(seen(written + ours).was_changed_at(written), "{ours}");
        }
        for other in [-EARLY - 1, LATE + 1, i64::MAX - written] {
            assert!(!seen(written + other).was_changed_at(written), "{other}");
        }
    }

    #[test]
    fn a_copy_is_another_file_and_so_is_one_made_again_under_the_same_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "x").unwrap();
        fs::copy(&path, &copy).unwrap();
        let first = FileState::at(&path).unwrap();
        assert_eq!(FileState::at(&path).unwrap().identity, first.identity);
        assert_ne!(FileState::at(&copy).unwrap().identity, first.identity);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x").unwrap();
        assert_ne!(FileState::at(&path).unwrap().identity, first.identity, "the inode may be given again");
    }

    #[test]
    fn a_mount_point_is_found_in_the_kernels_list_blanks_and_all() {
        let mounts =
            b"36 35 98:0 /a /mnt/my\\040file.db rw - ext4 /dev/vda rw\n37 35 98:0 / /mnt rw - ext4 x rw\n";
        assert!(mount::is_listed(mounts, Path::new("/mnt/my file.db")));
        assert!(!mount::is_listed(mounts, Path::new("/mnt/my")));
        assert_eq!(mount::is_mount_point(Path::new("/proc")), Some(true));
        assert_eq!(mount::is_mount_point(Path::new("/proc/self/stat")), Some(false));
    }
}
