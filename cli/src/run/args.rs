//! The command line of `run`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use crate::lease::LeaseArgs;
use crate::store::StoreArgs;

/// Run a command only while leading
///
/// Campaigns, runs the command when it leads, and ends it when it leads no more. The command and its
/// process group are dead before anybody else can lead: when the lease cannot be renewed they get a
/// SIGTERM in good time and a SIGKILL before the lease is over, even if this process is stopped; when it is
/// killed they die with it. Where somebody else has taken the seat they are killed at once.
///
/// When the command exits, the seat is given up and its exit code passed on: 128 and the signal's
/// number where a signal ended it, 127 or 126 where it could not be found or started. When a term is lost, the
/// command is started again in the next one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    #[arg(long)]
    pub(super) key: String,
    /// This candidate's name, which others see; HOST-PID by default
    #[arg(long)]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    pub(super) lease: LeaseArgs,
    /// End with exit code 1 when a term is lost, instead of campaigning for the next
    #[arg(long)]
    pub(super) once: bool,
    /// How long the command may take from SIGTERM to its end before it is killed, where the lease allows
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "10s")]
    pub(super) grace: Duration,
    /// Serve /leader, /healthz and /metrics there, such as 127.0.0.1:9090
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  incumbent run --store sqlite:/var/lib/app/elections.db --key cron -- ./nightly.sh
  incumbent run --store nats://127.0.0.1:4222/ELECTIONS --key mailer -- mailer --queue out

The command's environment has INCUMBENT_KEY, INCUMBENT_NAME, INCUMBENT_TOKEN (the fencing token as \
text, which sorts) and INCUMBENT_SEQUENCE (the number in it that grows). Send the token with every \
request, and let the resource refuse a smaller one than it has seen.

SIGTERM, SIGINT and SIGQUIT are passed on and end the candidacy: the seat is held until the command \
has ended. A second one kills the command. SIGHUP, SIGUSR1 and SIGUSR2 are passed on. The command \
has a process group of its own, and no terminal to read from.";

/// The hidden command that becomes the user's.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecArgs {
    /// The process that watches over it
    #[arg(long)]
    pub(super) parent: u32,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    pub(super) command: Vec<OsString>,
}
