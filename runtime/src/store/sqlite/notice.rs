//! The kernel's notice that the file has changed, so that a candidate that waits need not look all the time.
//!
//! The folder is watched and not the file: a transaction is done when its journal is removed, and a file that is put in
//! place of another appears there. What is not told, such as a copy into the file, is found by looking now and then. So
//! it is where the kernel gives no more watches: `fs.inotify.max_user_instances` is 128 for a user as a rule, and each store
//! that is open takes one.

pub(super) use system::Notice;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::ffi::OsString;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::Sender;
    use std::thread;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use crate::fork::Birth;
    use crate::store::sqlite::worker::{Desk, Job};

    /// A watch of the file's folder, until it is dropped.
    #[derive(Debug)]
    pub(in crate::store::sqlite) struct Notice {
        kernel: Arc<OwnedFd>,
        watch: i32,
        birth: Birth,
    }

    impl Notice {
        /// Has the reader behind `jobs` look soon after each change; `None` where the kernel does not tell.
        pub(in crate::store::sqlite) fn start(path: &Path, jobs: Sender<Job>) -> Option<Self> {
            let file = path.file_name()?.to_owned();
            let kernel = Arc::new(inotify::init(CreateFlags::CLOEXEC).ok()?);
            let changes = WatchFlags::DELETE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
            let watch = inotify::add_watch(&*kernel, path.parent()?, changes).ok()?;
            let listener = Arc::clone(&kernel);
            let listen = move || listen(&listener, file, &jobs);
            thread::Builder::new().name("incumbent-notice".into()).spawn(listen).ok()?;
            Some(Self { kernel, watch, birth: Birth::here() })
        }
    }

    impl Drop for Notice {
        fn drop(&mut self) {
            // A forked child shares the watch with its parent, and has no thread that listens.
            if !self.birth.is_elsewhere() {
                // The thread hears of it, and ends.
                let _ = inotify::remove_watch(&*self.kernel, self.watch);
            }
        }
    }

    fn listen(kernel: &OwnedFd, file: OsString, jobs: &Sender<Job>) {
        let mut journal = file.clone();
        journal.push("-journal");
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(kernel, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
                    let is_over = event.events().contains(ReadFlags::IGNORED);
                    let concerns = name == file.as_bytes() || name == journal.as_bytes();
                    let is_told = is_over || concerns || event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    if is_told && jobs.send(Box::new(Desk::hurry)).is_err() || is_over {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::path::Path;
    use std::sync::mpsc::Sender;

    use crate::store::sqlite::worker::Job;

    /// Elsewhere candidates look now and then.
    #[derive(Debug)]
    pub(in crate::store::sqlite) struct Notice;

    impl Notice {
        pub(in crate::store::sqlite) fn start(_path: &Path, _jobs: Sender<Job>) -> Option<Self> {
            None
        }
    }
}
