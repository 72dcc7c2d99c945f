//! The command line of `run`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use incumbent::{CampaignOptions, WinDelay};
use serde::{Deserialize, Serialize};

use super::source::CONSOLE;
use crate::lease::LeaseArgs;
use crate::store::StoreArgs;

/// Run a command only while leading, or handlers when leading begins and ends
///
/// Campaigns in an election until it is asked to end, and reports on the standard error when it waits for another
/// leader, leads, and stops leading. In the first form the command runs only while this candidate leads: the command
/// and its process group are dead before another candidate can lead. If the lease cannot be renewed, they get a SIGTERM
/// in good time and a SIGKILL before the lease is over, even if this process is stopped; if this process is killed, so
/// are they. If the term is lost to another candidate, they are killed at once. With control groups (version 2), that
/// holds for every process that the command has started, in its process group or not.
///
/// In the second form one command runs when the term begins and another when it ends. The work between the two is not a
/// child of this process, so it cannot be killed in time: prefer the first form.
///
/// In the third form it runs nothing, and other processes check whether it leads: at /leader, or by a file that exists
/// only while it does. The file is removed before the lease is over, even if this process is stopped or killed.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "incumbent run --store <URL> --key <KEY> [OPTIONS] -- <CMD> [ARGS]...\n       \
                      incumbent run --store <URL> --key <KEY> [OPTIONS] --on-won <CMD> --on-lost <CMD>\n       \
                      incumbent run --store <URL> --key <KEY> [OPTIONS] --file <PATH>\n       \
                      incumbent run --store <URL> --key <KEY> [OPTIONS] --listen <ADDRESS>",
    after_long_help = EXAMPLES
)]
pub(crate) struct Args {
    /// The election's key
    #[arg(long)]
    pub(super) key: Option<String>,
    /// The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by
    /// default HOST-PID, from the host and the process. Each candidate of an election has a different one
    #[arg(long)]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    pub(super) lease: LeaseArgs,
    /// The longest random wait before the first campaign, so that a fleet that starts together does not campaign
    /// together; by default a tenth of the lease, at most 1 s. Zero for no wait
    #[arg(long, help_heading = "Lease", value_name = "TIME", value_parser = crate::lease::time)]
    pub(super) splay: Option<Duration>,
    /// The time that a leader has to finish its work when it leaves on its own; by default 10 s. It is the time between
    /// SIGTERM and SIGKILL of the command, or for --on-lost until the lease is released; less if the lease does not
    /// allow as much. Without a command: the time between removing --file (and /leader answering no) and releasing the
    /// lease
    #[arg(
        long,
        visible_alias = "grace",
        value_name = "TIME",
        value_parser = crate::lease::time,
        default_value = "10s",
        hide_default_value = true
    )]
    pub(super) drain: Duration,
    /// End after one term; with exit code 1 if it was lost
    #[arg(long)]
    pub(super) once: bool,
    /// End with exit code 8 if this candidate does not lead within this time
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time)]
    pub(super) wait: Option<Duration>,
    /// End with exit code 8 as soon as another candidate leads, and with code 3 if the store does not answer within 10
    /// s. While the store answers and no candidate leads, this one waits without a limit
    #[arg(long, conflicts_with = "wait")]
    pub(super) no_wait: bool,
    /// What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line,
    /// 4,096 bytes in all; by default nothing. Give the option again for another pair, such as address=10.0.0.7:8080
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(super) metadata: Vec<(String, String)>,
    /// Do not report that this candidate waits, leads, and stops leading; warnings are still reported
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// A command whose exit code tells whether this candidate is healthy. The candidate does not campaign before the
    /// command has succeeded once, or while the command fails or takes longer than its interval; a leader drains and
    /// resigns
    #[arg(long, value_name = "CMD", help_heading = "Health")]
    pub(super) health: Option<String>,
    /// The interval between two health checks
    #[arg(long, value_name = "TIME", help_heading = "Health", value_parser = crate::lease::interval, default_value = "5s")]
    pub(super) health_interval: Duration,
    /// Serve /leader, /healthz and /metrics over HTTP at this address, such as 127.0.0.1:9090
    #[arg(long, value_name = "ADDRESS", help_heading = "Health", value_parser = address)]
    pub(super) listen: Option<SocketAddr>,
    /// Without a command: a file that exists while this candidate leads, with the line of INCUMBENT_DEADLINE_FILE
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Health",
        conflicts_with_all = ["command", "on_exit", "on_won", "on_lost", "on_error"]
    )]
    pub(super) file: Option<String>,
    #[command(flatten)]
    pub(super) timing: TimingArgs,
    /// The action when the command exits by itself
    #[arg(long, value_name = "WHAT", help_heading = "The command", value_enum, default_value_t = OnExit::Exit)]
    pub(super) on_exit: OnExit,
    #[command(flatten)]
    pub(super) handlers: HandlerArgs,
    #[command(flatten)]
    pub(super) elector: ElectorArgs,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD", help_heading = "The command")]
    pub(super) command: Vec<OsString>,
}

/// Settings that few programs need.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Timing")]
pub(crate) struct TimingArgs {
    // generated: timing
    /// The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
    /// 1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time, hide_short_help = true)]
    skew: Option<Duration>,
    /// The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin
    /// counts it twice: for the leader's clock, and for that of the store or of a waiting candidate
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    drift_ppm: Option<u32>,
    /// The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is
    /// a part of the margin
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time, hide_short_help = true)]
    slack: Option<Duration>,
    /// The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader
    /// may still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
    /// minimum
    #[arg(long, value_name = "RULE", value_parser = win_delay, hide_short_help = true)]
    win_delay: Option<WinDelay>,
    /// The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
    /// record that it saw should have expired
    #[arg(long, value_name = "TIME", value_parser = crate::lease::interval, hide_short_help = true)]
    interval: Option<Duration>,
    /// The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not
    /// apply to a leader, which repeats a failed renewal as fast as its deadline demands
    #[arg(long, value_name = "TIME", value_parser = crate::lease::interval, hide_short_help = true)]
    backoff: Option<Duration>,
    // end of timing
}

/// The second form.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Handlers")]
pub(crate) struct HandlerArgs {
    /// Runs when this candidate begins to lead: a line for the shell, or a JSON list of words
    #[arg(long, value_name = "CMD", conflicts_with_all = ["command", "on_exit"])]
    pub(super) on_won: Option<String>,
    /// Runs when this candidate no longer leads. The lease is held while it runs, if possible
    #[arg(long, value_name = "CMD", conflicts_with_all = ["command", "on_exit"])]
    pub(super) on_lost: Option<String>,
    /// Runs after an error, once the work has ended
    #[arg(long, value_name = "CMD", conflicts_with_all = ["command", "on_exit"])]
    pub(super) on_error: Option<String>,
    /// The time to stay out of the election after an error; 30s by default
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time)]
    pub(super) error_timeout: Option<Duration>,
    /// The number of times that --on-lost is run after an error before this process gives up: at once, and again after
    /// each failure
    #[arg(long, value_name = "TIMES", default_value_t = 12)]
    pub(super) retries: u32,
    /// The wait before --on-lost is run again after it failed
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time, default_value = "5s")]
    pub(super) retry_every: Duration,
    /// Kill a handler that takes longer, and count that as a failure; never by default
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time)]
    pub(super) handler_timeout: Option<Duration>,
}

/// The action after the command's own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnExit {
    /// Resign and end, with the command's exit code
    Exit,
    /// Resign and stay a candidate, behind the other candidates
    Resign,
    /// Start it again and keep leading; after 1s, and longer if it keeps exiting
    Restart,
}

impl Args {
    /// Returns true if there is no election, and a person types the messages.
    pub(super) fn is_console(&self) -> bool {
        self.store.url().as_deref() == Some(CONSOLE)
    }

    /// Returns true if this process neither begins nor ends any work.
    pub(super) fn is_sidecar(&self) -> bool {
        self.command.is_empty() && self.handlers.on_won.is_none() && self.handlers.on_lost.is_none()
    }

    /// Options for a candidate that drains for this long when it leaves.
    pub(super) fn options(&self, drain: Duration) -> CampaignOptions {
        let mut options = self.timing.apply(self.lease.options().drain(drain)).healthy(self.health.is_none());
        for (key, text) in &self.metadata {
            options = options.metadata(key, text);
        }
        if let Some(name) = &self.name {
            options = options.name(name);
        }
        // A process that only checks who leads has no reason for a random wait.
        if let Some(splay) = self.splay.or(self.no_wait.then_some(Duration::ZERO)) {
            options = options.splay(splay);
        }
        options
    }
}

impl TimingArgs {
    fn apply(&self, mut options: CampaignOptions) -> CampaignOptions {
        // generated: applied
        if let Some(skew) = self.skew {
            options = options.skew(skew);
        }
        if let Some(drift_ppm) = self.drift_ppm {
            options = options.drift_ppm(drift_ppm);
        }
        if let Some(slack) = self.slack {
            options = options.slack(slack);
        }
        if let Some(win_delay) = self.win_delay {
            options = options.win_delay(win_delay);
        }
        if let Some(interval) = self.interval {
            options = options.interval(interval);
        }
        if let Some(backoff) = self.backoff {
            options = options.fixed_backoff(backoff);
        }
        // end of applied
        options
    }
}

/// Parses a rule for the win delay.
fn win_delay(text: &str) -> Result<WinDelay, String> {
    match text {
        "automatic" => Ok(WinDelay::Automatic),
        "cautious" => Ok(WinDelay::Cautious),
        text => crate::lease::time(text).map(WinDelay::Fixed).map_err(|_| crate::refusals::no_win_delay()),
    }
}

/// Parses a pair for the leader's record.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(crate::refusals::no_pair)?;
    Ok((key.to_owned(), value.to_owned()))
}

const EXAMPLES: &str = "\
Examples:
  export INCUMBENT_STORE=nats://10.0.0.1:4222/ELECTIONS

  incumbent run --key mailer -- mailer --queue out
      Of all machines that run this, one at a time runs the mailer.

  incumbent run --store sqlite:/var/lib/app/elections.db --key nightly \\
      --wait 60s -- ./nightly.sh
      One of several processes on a machine does the job; the rest give up
      after a minute.

  incumbent run --key api --on-exit restart --health 'curl -fs localhost/ok' \\
      -- api
      Starts the server again when it exits, and resigns when it is not
      healthy.

  incumbent run --key vip \\
      --on-won 'ip addr add 10.0.0.7/24 dev eth0' \\
      --on-lost 'ip addr del 10.0.0.7/24 dev eth0'
      An address follows the leader.

  incumbent run --key cron --file /run/leads
      For a line of cron on each machine: test -f /run/leads && ./nightly.sh

  incumbent run --store etcd://10.0.0.1,10.0.0.2,10.0.0.3/app --key relay \\
      -- relay
      The same on etcd, with any of its members.

  incumbent run --store console: --on-won 'echo begins' --on-lost 'echo ends'
      To try handlers out by hand: type LEADER, NOTLEADER or ERROR.

The environment of the command:
  INCUMBENT_KEY            the election
  INCUMBENT_NAME           this candidate
  INCUMBENT_TOKEN          the fencing token as text, which sorts
  INCUMBENT_SEQUENCE       the growing number in the token
  INCUMBENT_DEADLINE_FILE  a file with one line: until when the lease is proven,
                           in nanoseconds of the machine's clock and in seconds
                           since 1970, and the token. It is replaced at every
                           renewal, never half-written, and removed if it
                           cannot be written:
                           read -r until unix token < $INCUMBENT_DEADLINE_FILE
  INCUMBENT_REASON         for --on-lost and --on-error: the reason, such as
                           RESIGNED or EXPIRED; never empty
Send the token with every request, and let the resource refuse a smaller one
than it has seen.

Signals:
  SIGTERM, SIGINT, SIGQUIT, SIGPWR and SIGRTMIN+3 end the candidacy: the command
  gets the same signal, or --on-lost is run, and the lease is held until that is
  done. A second signal kills it; the same signal within a second does not
  count. Other signals that can be caught, such as SIGHUP, SIGUSR1 and SIGWINCH,
  are passed on, except those that concern this process itself, such as SIGTSTP.
  A SIGHUP that was ignored at the start, as by nohup, stays ignored; otherwise
  it ends a candidate that has no command to pass it on to. The command has its
  own process group, and no terminal to read from.

With --on-exit exit the exit code is the command's own: 128 and the number of
the signal that ended it, 127 if there is no such command, 126 if it cannot be
run. A command that was ended by the signal that we received, or earlier because
of its lease, counts as done.";

/// The hidden command that becomes the user's command.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecArgs {
    /// The process that supervises it
    #[arg(long)]
    pub(super) parent: u32,
    /// The control group to enter first
    #[arg(long)]
    pub(super) cgroup: Option<std::path::PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    pub(super) command: Vec<OsString>,
}

/// The hidden command of the guard.
#[derive(Debug, clap::Args)]
pub(crate) struct GuardArgs {
    /// The orders that it starts with, in the form in which it reads them
    #[arg(long = "order")]
    pub(super) orders: Vec<String>,
    /// A folder to remove when the supervisor is gone
    #[arg(long)]
    pub(super) folder: Option<std::path::PathBuf>,
}

/// Parses the address of `--listen`.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.rsplit_once(':').map(|(_, port)| port).filter(|port| port.parse::<u16>().is_ok());
        let port = port.unwrap_or("9090");
        format!("write an IP address and a port: 127.0.0.1:{port}, or [::]:{port} for requests from other machines")
    })
}

/// Elector's options, under the names that they have there. For the lease and the files of TLS only elector's library
/// had options, not its command line.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Named as in elector")]
pub(super) struct ElectorArgs {
    /// etcd-lock, for --etcd-members; or console, for --store console:
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) backend: Option<String>,
    /// Members of etcd, separated by commas: --store etcd://HOSTS, or etcds://HOSTS if they begin with https://
    #[arg(long, value_name = "URLS", hide_short_help = true)]
    pub(super) etcd_members: Option<String>,
    /// The part after the last slash is the --key, and the part before it the prefix of --store
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    pub(super) etcd_keyspace: Option<String>,
    /// As --name
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) instance_id: Option<String>,
    /// As --on-won
    #[arg(long, value_name = "CMD", hide_short_help = true)]
    pub(super) leader_start_command: Option<String>,
    /// As --on-lost
    #[arg(long, value_name = "CMD", hide_short_help = true)]
    pub(super) leader_end_command: Option<String>,
    /// As tls_ca in the URL
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) ca_file: Option<String>,
    /// As tls_cert in the URL
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) cert_file: Option<String>,
    /// As tls_key in the URL
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) key_file: Option<String>,
    /// Accepted but not used: a lease is renewed every third of its duration, which is --ttl
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(super) refresh_interval: Option<String>,
}

impl ElectorArgs {
    /// The first of elector's options that was given, and its name in this program. None of them is allowed with a
    /// command, because elector ran no command.
    pub(super) fn first(&self) -> Option<(&'static str, &'static str)> {
        let given = [
            (&self.backend, "--backend", "--store URL"),
            (&self.etcd_members, "--etcd-members", "--store etcd://HOSTS/PREFIX"),
            (&self.etcd_keyspace, "--etcd-keyspace", "--key KEY"),
            (&self.instance_id, "--instance-id", "--name NAME"),
            (&self.leader_start_command, "--leader-start-command", "the command after --"),
            (&self.leader_end_command, "--leader-end-command", "the command after --"),
            (&self.ca_file, "--ca-file", "tls_ca in the URL"),
            (&self.cert_file, "--cert-file", "tls_cert in the URL"),
            (&self.key_file, "--key-file", "tls_key in the URL"),
            (&self.refresh_interval, "--refresh-interval", "--lease TIME"),
        ];
        given.into_iter().find_map(|(value, theirs, ours)| value.as_ref().map(|_| (theirs, ours)))
    }
}
