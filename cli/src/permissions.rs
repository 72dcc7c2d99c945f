//! `incumbent permissions`: the permissions that a user of NATS, etcd or Kafka needs.

use clap::ValueEnum;
use incumbent::store;

use crate::failure::Failure;
use crate::output::line;
use crate::store::StoreArgs;

/// Write exactly the permissions that a user of NATS, etcd or Kafka needs
///
/// For NATS: a part of the configuration of a nats-server, or with --json for a JWT. The URL gives the bucket, the
/// subjects of JetStream's API (`domain`, `api_prefix`) and those of answers (`inbox_prefix`; give each user its own,
/// or it can read the answers to others). With these permissions a candidate of one election cannot write to another.
/// Every role can read the whole bucket.
///
/// For etcd: the commands of etcdctl that make the role, or with --json its ranges of keys. The URL gives the prefix.
/// Candidates that may write under a prefix can write to all elections there: give elections that must be kept apart
/// different prefixes.
///
/// For Kafka: the commands of kafka-acls.sh, or with --json the permissions. An operator needs what an observer does, and
/// Create on the topics.
///
/// The command connects to no server.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The keys of the user's elections; an operator without keys may act on all
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// The role of the user
    #[arg(long, value_enum)]
    role: Role,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent permissions nightly-report --role candidate \\
      --store nats://10.0.0.1/ELECTIONS
      What a candidate of one election needs.
  incumbent permissions --role observer \\
      --store 'nats://10.0.0.1/ELECTIONS?inbox_prefix=_INBOX_monitor'
      What an observer needs, with an inbox of its own.
  incumbent permissions --role operator --store nats://10.0.0.1/ELECTIONS --json
      As claims of a JWT.
  incumbent permissions --role candidate --store etcd://10.0.0.1/app
      The role of the candidates of all elections under app/.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Takes part in elections: `run`, and programs that campaign
    Candidate,
    /// Watches: `status`, `observe`, `doctor`
    Observer,
    /// `init`, `hand-over`, `evict` and `accept-reset`, and what an observer does
    Operator,
}

/// `incumbent permissions`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let keys: Vec<_> = args.keys.iter().map(String::as_str).collect();
    let role = match args.role {
        Role::Candidate => store::Role::Candidate,
        Role::Observer => store::Role::Observer,
        Role::Operator => store::Role::Operator,
    };
    let Some(permissions) = args.store.settings()?.permissions(role, &keys)? else {
        return Err(Failure::usage("only a nats:, etcd: or kafka: store has users with permissions"));
    };
    if as_json {
        line(permissions.json)?;
        return Ok(());
    }
    permissions.lines.into_iter().try_for_each(|text| line(text).map(drop))
}
