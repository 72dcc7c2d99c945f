//! The kernel's notice that the file has changed, so that a waiting candidate need not poll constantly.
//!
//! The notice watches the file for writes, and the folder for a file that replaces it. If the kernel allows no more
//! watches, a candidate polls: `fs.inotify.max_user_instances` is usually 128 per user, and each open store takes one.

pub(super) use system::Notice;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::mpsc::Sender;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use crate::worker::{Job, WorkerState};
    use incumbent_store::fork::ForkGuard;

    /// The time for which further changes after a change are combined. A transaction changes the file several times,
    /// and hundreds of candidates that start together make hundreds of transactions.
    const COMBINED: Duration = Duration::from_millis(25);

    /// A watch of the file, which ends when this is dropped.
    #[derive(Debug)]
    pub(crate) struct Notice {
        kernel: Arc<OwnedFd>,
        folder: i32,
        birth: ForkGuard,
    }

    impl Notice {
        /// Makes the reader behind `jobs` check the file soon after each change; `None` if the kernel offers no
        /// notices.
        pub(crate) fn start(path: &Path, jobs: Sender<Job>) -> Option<Self> {
            let kernel = Arc::new(inotify::init(CreateFlags::CLOEXEC).ok()?);
            let changes = WatchFlags::DELETE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
            let folder = inotify::add_watch(&*kernel, path.parent()?, changes).ok()?;
            let listener = Listener { kernel: Arc::clone(&kernel), folder, path: path.to_owned(), jobs };
            thread::Builder::new().name("incumbent-notice".into()).spawn(move || listener.listen()).ok()?;
            Some(Self { kernel, folder, birth: ForkGuard::new() })
        }
    }

    impl Drop for Notice {
        fn drop(&mut self) {
            // A forked child shares the watch with its parent but has no listening thread.
            if !self.birth.is_forked() {
                // The thread receives this event and ends.
                let _ = inotify::remove_watch(&*self.kernel, self.folder);
            }
        }
    }

    struct Listener {
        kernel: Arc<OwnedFd>,
        folder: i32,
        path: PathBuf,
        jobs: Sender<Job>,
    }

    impl Listener {
        fn listen(&self) {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(&*self.kernel, &mut buffer);
            self.watch_file();
            loop {
                let (wakes, is_over) = match events.next() {
                    Ok(event) if event.wd() == self.folder => {
                        let is_over = event.events().contains(ReadFlags::IGNORED);
                        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                        let is_file = name == self.path.file_name();
                        if is_file {
                            self.watch_file();
                        }
                        (is_file || is_over, is_over)
                    }
                    // The watch of a deleted file ends, and the watch of the folder reports the next file.
                    Ok(event) => (!event.events().contains(ReadFlags::IGNORED), false),
                    Err(Errno::INTR) => (false, false),
                    Err(_) => return,
                };
                if wakes && self.jobs.send(Box::new(WorkerState::check_soon)).is_err() || is_over {
                    return;
                }
                if wakes {
                    thread::sleep(COMBINED);
                }
            }
        }

        /// Watches the file that is at the path now. If there is none, the watch of the folder reports a new one.
        fn watch_file(&self) {
            let _ = inotify::add_watch(&*self.kernel, &self.path, WatchFlags::MODIFY);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::path::Path;
    use std::sync::mpsc::Sender;

    use crate::worker::Job;

    /// On other systems candidates poll.
    #[derive(Debug)]
    pub(crate) struct Notice;

    impl Notice {
        pub(crate) fn start(_path: &Path, _jobs: Sender<Job>) -> Option<Self> {
            None
        }
    }
}
