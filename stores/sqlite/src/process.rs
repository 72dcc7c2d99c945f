//! The identity of this process, and a check whether another process still runs.
//!
//! Outside Linux, this module does not learn when a process started. There a killed process seems to run once its
//! number is reused.

/// A process of this boot of the machine. The number alone is not enough, because numbers are reused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    /// The process's process-id namespace, because each container has its own; 0 if unknown.
    pub(super) space: u64,
    pub(super) number: u32,
    /// The process's start time, in the system's own units; 0 if unknown.
    pub(super) started: u64,
}

/// The system's report about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    expect(dead_code, reason = "only Linux reports a process's start")
)]
enum ProcessState {
    /// The process runs, with this start.
    Running(u64),
    /// The process exists, but its start is unknown.
    Hidden,
    /// The process does not exist, or has ended and waits to be reaped.
    Ended,
}

/// Returns this process. The identity is read again each time, because a forked child is another process.
pub(super) fn here() -> Process {
    let number = std::process::id();
    let started = match system::state(number) {
        ProcessState::Running(started) => started,
        ProcessState::Hidden | ProcessState::Ended => 0,
    };
    Process { space: system::space(), number, started }
}

impl Process {
    /// Returns true if a process of the same namespace still runs, or if that is unknown.
    pub(super) fn is_running(&self) -> bool {
        match system::state(self.number) {
            ProcessState::Running(started) => self.started == 0 || self.started == started,
            ProcessState::Hidden => true,
            ProcessState::Ended => false,
        }
    }
}

/// Returns true if there is a process with that number, including an ended one that waits to be reaped.
#[cfg(unix)]
fn exists(number: u32) -> bool {
    let number = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw);
    number.is_some_and(|number| rustix::process::test_kill_process(number) != Err(rustix::io::Errno::SRCH))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::ProcessState;

    /// proc(5), `/proc/pid/stat`: the state is the third field, the start in clock ticks since boot the 22nd.
    pub(super) fn state(number: u32) -> ProcessState {
        match fs::read_to_string(format!("/proc/{number}/stat")) {
            Ok(stat) => read(&stat),
            // /proc may hide the processes of other users.
            Err(_) if super::exists(number) => ProcessState::Hidden,
            Err(_) => ProcessState::Ended,
        }
    }

    pub(super) fn read(stat: &str) -> ProcessState {
        // The second field is the program's name in parentheses, with any characters.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        match (fields.next(), fields.nth(18).and_then(|start| start.parse().ok())) {
            (Some("Z" | "X"), _) => ProcessState::Ended,
            (_, Some(started)) => ProcessState::Running(started),
            _ => ProcessState::Hidden,
        }
    }

    pub(super) fn space() -> u64 {
        fs::metadata("/proc/self/ns/pid").map_or(0, |space| space.ino())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use super::ProcessState;

    pub(super) fn state(number: u32) -> ProcessState {
        #[cfg(unix)]
        if !super::exists(number) {
            return ProcessState::Ended;
        }
        let _ = number;
        ProcessState::Hidden
    }

    pub(super) fn space() -> u64 {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn this_process_runs_and_an_earlier_one_of_its_number_does_not() {
        let here = here();
        assert!(here.started > 0 && here.space > 0, "{here:?}");
        assert!(here.is_running());
        let earlier = Process { started: here.started - 1, ..here.clone() };
        assert!(!earlier.is_running());
        assert!(Process { started: 0, ..here }.is_running());
    }

    #[test]
    fn a_process_that_was_killed_is_gone_reaped_or_not() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let ProcessState::Running(started) = system::state(child.id()) else { panic!("it runs") };
        let process = Process { number: child.id(), started, ..here() };
        assert!(process.is_running());
        child.kill().unwrap();
        // Waits until the process is a zombie.
        while process.is_running() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process.is_running());
    }

    #[test]
    fn a_programs_name_may_hold_anything() {
        let stat = |name: &str, state: &str| format!("7 ({name}) {state} 1 {} 4711 0 0", "0 ".repeat(17));
        assert_eq!(system::read(&stat("a) Z 1 (b", "S")), ProcessState::Running(4711));
        assert_eq!(system::read(&stat("x", "Z")), ProcessState::Ended);
        assert_eq!(system::read("7 (x) S 1"), ProcessState::Hidden);
        assert_eq!(system::read(""), ProcessState::Hidden);
    }
}
