//! `incumbent run`: a command that lives only while we lead, [handlers](elector) for the beginning and the end, or a
//! [candidate alone](sidecar).
//!
//! ```text
//!   supervisor ── campaigns; starts the command, sends the guard every deadline
//!     ├── guard ── a process: ends the command's group by the clock, and with the supervisor
//!     └── command ── a process group, killed by the kernel with the supervisor
//! ```
//!
//! Until there is a term, the process that becomes the command [waits](waiting) for it.
//!
//! One [loop](runner) drives all forms: it opens the store, campaigns and waits. The guard, and the process that cleans
//! up after handlers, are [helpers](helper): processes of this program that act when the supervisor is gone.
//!
//! How the command ends:
//!
//! | what happens | the command's group gets | from |
//! |---|---|---|
//! | a signal asks us to end, or we leave for another reason | that signal or SIGTERM; SIGKILL when the grace is over. Nothing is given up until it is dead | supervisor; the SIGKILL also from the guard |
//! | the lease is not renewed | SIGTERM in good time, SIGKILL before the deadline | guard |
//! | the key is held by another candidate, deleted or reset | SIGKILL at once | supervisor |
//! | we are stopped | the same as when the lease is not renewed, because it is not | guard |
//! | we are killed | SIGKILL at once | guard; the command itself also from the kernel |

mod args;
mod cgroup;
mod command;
mod deadline;
mod elector;
mod first;
mod guard;
mod health;
mod helper;
mod leader_file;
mod notices;
mod place;
mod reach;
mod runner;
mod sidecar;
mod signals;
mod source;
mod stale;
mod supervisor;
mod waiting;

pub(crate) use args::{Args, ExecArgs, GuardArgs};
pub(crate) use elector::{CleanupArgs, cleanup};
pub(crate) use first::supervise as supervise_as_first;
pub(crate) use guard::guard;
pub(crate) use waiting::exec;

use crate::failure::Failure;

/// Runs `incumbent run`, in the form that the command line selects. Returns the exit code.
pub(crate) async fn run(mut args: Args) -> Result<u8, Failure> {
    // Corrects the name that `ps` shows for a child of process 1, which was started through the kernel's link.
    #[cfg(target_os = "linux")]
    if rustix::thread::name().is_ok_and(|name| name.as_c_str() == c"exe") {
        let _ = rustix::thread::set_name(c"incumbent");
    }
    if args.command.is_empty() {
        for note in elector::take_defaults(&mut args, |variable| std::env::var(variable).ok())? {
            crate::stderr::warn(note);
        }
        return match args.is_sidecar() {
            true => sidecar::run(args).await,
            false => elector::run(args).await,
        };
    }
    if let Some((theirs, ours)) = args.elector.first() {
        return Err(Failure::usage(format!("{theirs} is for handlers; with a command, use {ours}")));
    }
    if args.is_console() {
        return Err(Failure::usage(
            "console: is for handlers: give --on-won and --on-lost, or another store for a command",
        ));
    }
    supervisor::run(args).await
}
