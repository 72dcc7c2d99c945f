//! Which file is at the path, so that a copy or a restored one is not taken for the file it was made from.
//!
//! A file is known by its device, its inode and, where the file system keeps it, its time of birth; inodes alone are
//! given again. They stand in the file itself, so a copy of it, wherever it is put, says that it is another file.
//!
//! A copy *into* the file keeps all three. The inode's time of change gives that away: no program can set it, and each
//! transaction of ours writes down when it was. A change well after the last transaction was not ours.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::failure::Cause;
use crate::ErrorKind;

/// How much later than the transaction says the file may have been changed by it. It is the time from the last statement of
/// a transaction until its pages are written: one flush of the journal, and the wait for readers. A slower one is
/// [written down again](super::file::Database::settle).
pub(super) const LATE: i64 = 500_000_000;

/// How late a slow transaction may be: what is no later may yet be written down again.
const SLOW: i64 = 10_000_000_000;

/// How much earlier: file systems cut times down, FAT to two seconds.
const EARLY: i64 = 2_000_000_000;

/// A file, as distinct from every other on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: i64,
    pub(super) inode: i64,
    /// Nanoseconds since 1970; 0 where the file system does not say.
    pub(super) birth: i64,
}

/// What is at a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) identity: Identity,
    /// When the inode was last changed, in nanoseconds since 1970.
    pub(super) changed: i64,
    links: u64,
}

impl Seen {
    /// Looks at the path. The file is not opened: closing it again would take SQLite's locks away.
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

    /// Where processes share no clock no store is opened.
    #[cfg(not(unix))]
    fn of(file: &fs::Metadata, birth: i64) -> Self {
        let changed = file.modified().map_or(0, since_1970);
        Self { identity: Identity { device: 0, inode: 0, birth }, changed, links: 1 }
    }

    /// Whether nothing but the transaction of that time, by the wall clock, was the last to change the file.
    ///
    /// The wall clock was read in that transaction, moments before the file was changed by it, so that setting the clock in
    /// between makes a change suspicious and never hides one. Set back by just the age of a backup that is then copied
    /// into the file, it would hide that.
    pub(super) fn was_changed_at(&self, written: i64) -> bool {
        let late = self.changed.saturating_sub(written);
        (-EARLY..=LATE).contains(&late)
    }

    /// Whether a slow transaction of ours, which will be written down again, can be what changed the file.
    pub(super) fn may_be_slow(&self, written: i64) -> bool {
        (0..=SLOW).contains(&self.changed.saturating_sub(written))
    }

    /// Refuses a file whose journal others might look for elsewhere: SQLite names it after the path, and a process that
    /// does not find the journal of one that crashed reads half a transaction.
    pub(super) fn check(&self, path: &Path) -> Result<(), Cause> {
        let detail = if self.links > 1 {
            format!(
                "the file has {} names, and the processes of an election must use the same one: remove the other hard \
                 links",
                self.links
            )
        } else if mount::is_mount_point(path) {
            "the file is mounted by itself, without the folder in which SQLite keeps the file's journal: mount the \
             folder"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(Cause::Refused(ErrorKind::UnsafeStore, detail))
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

    /// Asks the kernel, one before 5.8 by its list of mounts.
    pub(super) fn is_mount_point(path: &Path) -> bool {
        match statx(CWD, path, AtFlags::empty(), StatxFlags::empty()) {
            Ok(file) if file.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
                file.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
            }
            _ => fs::read("/proc/self/mountinfo").is_ok_and(|mounts| is_listed(&mounts, path)),
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
    /// Other systems mount folders only.
    pub(super) fn is_mount_point(_path: &std::path::Path) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn seen(changed: i64) -> Seen {
        Seen { identity: Identity { device: 1, inode: 2, birth: 3 }, changed, links: 1 }
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
        let first = Seen::at(&path).unwrap();
        assert_eq!(Seen::at(&path).unwrap().identity, first.identity);
        assert_ne!(Seen::at(&copy).unwrap().identity, first.identity);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x").unwrap();
        assert_ne!(Seen::at(&path).unwrap().identity, first.identity, "the inode may be given again");
    }

    #[test]
    fn a_mount_point_is_found_in_the_kernels_list_blanks_and_all() {
        let mounts =
            b"36 35 98:0 /a /mnt/my\\040file.db rw - ext4 /dev/vda rw\n37 35 98:0 / /mnt rw - ext4 x rw\n";
        assert!(mount::is_listed(mounts, Path::new("/mnt/my file.db")));
        assert!(!mount::is_listed(mounts, Path::new("/mnt/my")));
        assert!(mount::is_mount_point(Path::new("/proc")));
        assert!(!mount::is_mount_point(Path::new("/proc/self/stat")));
    }
}
