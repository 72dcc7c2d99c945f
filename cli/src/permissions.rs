//! `incumbent permissions`: the permissions that a NATS user needs.

use clap::ValueEnum;
use incumbent::store::StoreSettings;
use incumbent::store::nats::{self, Permissions, Role};
use serde_json::json;

use crate::failure::Failure;
use crate::output::line;
use crate::store::StoreArgs;

/// Write the permissions that a user of NATS needs, and no more
///
/// For the configuration of a nats-server, or with --json for a JWT. Nothing is connected to: the URL says the
/// bucket, where JetStream's API is (`domain`, `api_prefix`), and where answers come to (`inbox_prefix`;
/// give each user one of its own, or it can listen to what others are answered).
///
/// With them a candidate of one election cannot write to another. Every role can read the whole bucket.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The keys of the user's elections; an operator without any may do all
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// What the user does
    #[arg(long, value_enum)]
    role: Does,
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
      As claims of a JWT.";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Does {
    /// Takes part in elections: `run`, and programs that campaign
    Candidate,
    /// Looks on: `status`, `observe`, `doctor`
    Observer,
    /// `init`, `hand-over`, `evict` and `accept-reset`, and what an observer does
    Operator,
}

/// `incumbent permissions`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let StoreSettings::Nats(settings) = args.store.settings()? else {
        return Err(Failure::usage("only a nats: store has users with permissions"));
    };
    let role = match args.role {
        Does::Candidate if args.keys.is_empty() => {
            return Err(Failure::usage("a candidate is permitted elections by name: give their keys"));
        }
        Does::Candidate => Role::Candidate,
        Does::Observer => Role::Observer,
        Does::Operator => Role::Operator,
    };
    let keys: Vec<_> = args.keys.iter().map(String::as_str).collect();
    let Permissions { publish, subscribe } = nats::permissions(&settings, role, &keys)?;
    if as_json {
        // In the format of a user's JWT.
        line(json!({ "pub": { "allow": publish }, "sub": { "allow": subscribe } }))?;
        return Ok(());
    }
    line("permissions: {")?;
    list("publish", &publish)?;
    list("subscribe", &subscribe)?;
    line("}")?;
    Ok(())
}

fn list(what: &str, subjects: &[String]) -> Result<(), Failure> {
    line(format_args!("  {what}: {{ allow: ["))?;
    for subject in subjects {
        line(format_args!("    \"{subject}\""))?;
    }
    line("  ] }")?;
    Ok(())
}
