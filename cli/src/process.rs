//! Processes that end with the one that started them, and what they are called.

use std::ffi::CStr;
use std::io;

use rustix::process::{Pid, getppid};

/// Ends this process when `parent`, which started it, does: by the kernel where it can (Linux).
/// Elsewhere a child notices that its standard input has ended.
pub(crate) fn die_with_parent(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // A parent that died before the line above sends no signal any more.
    let is_there = getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent);
    if is_there { Ok(()) } else { Err(io::Error::other("the process that started this one is gone")) }
}

/// Takes another name than the program's, as `ps`, `pkill` and `killall` know it.
pub(crate) fn go_by(name: &CStr) {
    // Elsewhere than on Linux the first word of the command line has to do.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
