//! Processes that end with their parent, and their names.

use std::ffi::CStr;
use std::io;

use rustix::process::{Pid, getppid};

/// Ends this process when `parent`, its parent process, ends: by the kernel where it can (Linux).
/// Elsewhere a child notices that its standard input has ended.
pub(crate) fn die_with_parent(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // A parent that died before the line above no longer sends a signal.
    let is_there = getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent);
    if is_there { Ok(()) } else { Err(io::Error::other("the process that started this one is gone")) }
}

/// Sets the process name that `ps`, `pkill` and `killall` show.
pub(crate) fn go_by(name: &CStr) {
    // Elsewhere than on Linux the first word of the command line must do.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
