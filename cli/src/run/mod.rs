//! `incumbent run`: a command that lives only while we lead.
//!
//! ```text
//!   supervisor ── campaigns; starts the command, tells the guard every deadline
//!     ├── guard ── a process: ends the command's group by the clock, and with the supervisor
//!     └── command ── a process group, killed by the kernel with the supervisor
//! ```
//!
//! Who ends the command, and how:
//!
//! | what happens | the command's group gets | from |
//! |---|---|---|
//! | somebody asks us to end, or we leave otherwise | that signal or SIGTERM; SIGKILL when the grace is over. The seat is held until it is dead | supervisor |
//! | the lease is not renewed | SIGTERM in good time, SIGKILL before the deadline | guard |
//! | the key is somebody else's, deleted, reset | SIGKILL at once | supervisor |
//! | we are stopped | as if the lease was not renewed, which it is not | guard |
//! | we are killed | SIGKILL at once | guard; the command itself also from the kernel |

mod args;
mod command;
mod guard;
mod signals;
mod supervisor;

pub(crate) use args::{Args, ExecArgs};
pub(crate) use command::exec;
pub(crate) use guard::guard;
pub(crate) use supervisor::run;
