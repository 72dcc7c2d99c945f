//! A place for a small file that another process reads: in its own folder, or in memory if no folder can be made.
//!
//! A folder for temporary files may be read-only, full, or cleaned while a candidate waits for weeks. So a missing
//! folder is made again under its name, unless something else has that name by now. The files in it are reached through
//! an open descriptor of the folder, so no other file can be put in their place.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use tempfile::TempDir;

use super::stale::{self, Lock};

/// The permissions with which everyone may read the folder. The command may run as another user, and the file holds no
/// secret.
const OPEN_TO_READ: u32 = 0o755;
/// The file.
const NAME: &str = "deadline";
/// The name of the next file, which replaces the present one as a whole.
const NEXT: &str = "next";

/// Where the file is.
#[derive(Debug)]
pub(super) enum Place {
    Folder {
        path: PathBuf,
        /// Marks the folder as in use.
        lock: Lock,
    },
    #[cfg(target_os = "linux")]
    Memory(memory::Memory),
}

impl Place {
    /// Finds the first usable place. Returns it with its folder, which is removed when dropped.
    pub(super) fn find() -> io::Result<(Self, Option<TempDir>)> {
        let mut why = None;
        for within in folders() {
            match Self::within(&within) {
                Ok((place, folder)) => return Ok((place, Some(folder))),
                Err(error) => {
                    tracing::info!(%error, "no file can be written in {}", within.display());
                    why.get_or_insert(error);
                }
            }
        }
        #[cfg(target_os = "linux")]
        if let Ok(memory) = memory::Memory::new() {
            return Ok((Self::Memory(memory), None));
        }
        Err(crate::failure::no_folder(why.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
    }

    fn within(folder: &Path) -> io::Result<(Self, TempDir)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(stale::FOLDERS).permissions(Permissions::from_mode(OPEN_TO_READ));
        let (made, lock) = stale::locked(|| builder.tempdir_in(folder), TempDir::path)?;
        let mut place = Self::Folder { path: made.path().to_owned(), lock };
        // The write is a test, because a folder can be made even on a full file system.
        place.write("\n")?;
        place.remove();
        Ok((place, made))
    }

    /// The path of the file, for other processes.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Folder { path, .. } => path.join(NAME),
            #[cfg(target_os = "linux")]
            Self::Memory(memory) => memory.path(),
        }
    }

    /// Replaces the file as a whole.
    ///
    /// # Errors
    /// The text cannot be written. The file is then removed.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let first = match self.replace(text) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        // The old file may be taking up the space, so it is removed.
        self.remove();
        let again = match (first.kind(), &*self) {
            (io::ErrorKind::NotFound, Self::Folder { path, .. }) => make_again(path).map(|made| *self = made),
            _ => Ok(()),
        };
        again.and_then(|()| self.replace(text)).inspect_err(|_| self.remove()).map_err(|_| first)
    }

    fn replace(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Folder { lock, .. } => {
                let folder = lock.as_fd();
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let next = openat(folder, NEXT, flags, Mode::from_raw_mode(0o644))?;
                File::from(next).write_all(text.as_bytes())?;
                Ok(renameat(folder, NEXT, folder, NAME)?)
            }
            #[cfg(target_os = "linux")]
            Self::Memory(memory) => memory.replace(text),
        }
    }

    fn remove(&mut self) {
        match self {
            Self::Folder { lock, .. } => {
                for name in [NAME, NEXT] {
                    let _ = unlinkat(lock.as_fd(), name, AtFlags::empty());
                }
            }
            #[cfg(target_os = "linux")]
            Self::Memory(memory) => drop(memory.replace("")),
        }
    }
}

/// Makes a folder again after it was removed.
fn make_again(path: &Path) -> io::Result<Place> {
    let make = || DirBuilder::new().mode(OPEN_TO_READ).create(path).map(|()| path.to_owned());
    let (path, lock) = stale::locked(make, |path| path)?;
    Ok(Place::Folder { path, lock })
}

/// The folders in which a temporary folder may be made, the usual one first.
pub(super) fn folders() -> Vec<PathBuf> {
    let mut folders = vec![std::env::temp_dir()];
    if cfg!(target_os = "linux") {
        folders.push("/dev/shm".into());
    }
    folders.extend(
        ["RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"].into_iter().filter_map(std::env::var_os).map(Into::into),
    );
    folders
}

#[cfg(target_os = "linux")]
mod memory {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::path::PathBuf;

    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::io::{DupFlags, dup3};

    /// A file in memory, which other processes of this user reach by this process's descriptor. Each text gets a new
    /// file, so that no text is read half-written.
    #[derive(Debug)]
    pub(crate) struct Memory(OwnedFd);

    impl Memory {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self(memfd_create("deadline", MemfdFlags::CLOEXEC)?))
        }

        pub(super) fn path(&self) -> PathBuf {
            format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
        }

        pub(super) fn replace(&mut self, text: &str) -> io::Result<()> {
            let mut next = File::from(memfd_create("deadline", MemfdFlags::CLOEXEC)?);
            next.write_all(text.as_bytes())?;
            Ok(dup3(&next, &mut self.0, DupFlags::CLOEXEC)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn place() -> (TempDir, Place, TempDir) {
        let within = tempfile::tempdir().unwrap();
        let (place, folder) = Place::within(within.path()).unwrap();
        (within, place, folder)
    }

    #[test]
    fn a_folder_that_was_cleaned_away_is_made_again() {
        let (_within, mut place, folder) = place();
        fs::remove_dir_all(&folder).unwrap();
        place.write("one\n").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("deadline")).unwrap(), "one\n");
    }

    #[test]
    fn what_another_puts_in_the_place_of_a_folder_is_never_written_to() {
        let (within, mut place, folder) = place();
        fs::remove_dir_all(&folder).unwrap();
        let theirs = within.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&theirs, folder.path().join("next")).unwrap();
        assert_eq!(place.write("one\n").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_removed() {
        let (_within, mut place, folder) = place();
        place.write("one\n").unwrap();
        // A folder of that name cannot be replaced by a file.
        fs::create_dir(folder.path().join("next")).unwrap();
        assert_eq!(place.write("two\n").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(!folder.path().join("deadline").exists());
        fs::remove_dir(folder.path().join("next")).unwrap();
        place.write("two\n").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("deadline")).unwrap(), "two\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_in_memory_is_read_whole_by_its_path() {
        let mut place = Place::Memory(memory::Memory::new().unwrap());
        let path = place.path();
        for text in ["a line that is long\n", "short\n"] {
            place.write(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        place.remove();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}
