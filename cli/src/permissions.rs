//! `incumbent permissions`: the permissions that a user of NATS or etcd needs.

use clap::ValueEnum;
use incumbent::store::etcd::{self, Permission};
use incumbent::store::nats::{self, Permissions};
use incumbent::store::{EtcdSettings, NatsSettings, StoreSettings};
use serde_json::json;

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
    match args.store.settings()? {
        StoreSettings::Nats(settings) => of_nats(args.role, &keys, &settings, as_json),
        StoreSettings::Etcd(settings) => of_etcd(args.role, &keys, &settings, as_json),
        #[cfg(feature = "kafka")]
        StoreSettings::Kafka(settings) => of_kafka(args.role, &keys, &settings, as_json),
        _ => Err(Failure::usage("only a nats:, etcd: or kafka: store has users with permissions")),
    }
}

fn of_nats(role: Role, keys: &[&str], settings: &NatsSettings, as_json: bool) -> Result<(), Failure> {
    let role = match role {
        Role::Candidate if keys.is_empty() => {
            return Err(Failure::usage("a candidate's permissions name its elections: give their keys"));
        }
        Role::Candidate => nats::Role::Candidate,
        Role::Observer => nats::Role::Observer,
        Role::Operator => nats::Role::Operator,
    };
    let Permissions { publish, subscribe } = nats::permissions(settings, role, keys)?;
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

#[cfg(feature = "kafka")]
fn of_kafka(
    role: Role,
    keys: &[&str],
    settings: &incumbent::store::KafkaSettings,
    as_json: bool,
) -> Result<(), Failure> {
    use incumbent::store::kafka::{Acl, permissions};

    if keys.is_empty() {
        return Err(Failure::usage("Kafka's permissions name topics and groups: give the elections' keys"));
    }
    let mut all = Vec::new();
    for key in keys {
        all.extend(permissions(settings, key, role == Role::Candidate)?);
        if role == Role::Operator {
            let (topic, operations) = (settings.topic_of(key), &["Create"] as &[_]);
            all.push(Acl { resource: "topic", name: topic, operations });
        }
    }
    if as_json {
        let of = |Acl { resource, name, operations }: &Acl| json!({ "resource": resource, "name": name, "operations": operations });
        line(json!({ "permissions": all.iter().map(of).collect::<Vec<_>>() }))?;
        return Ok(());
    }
    let (servers, user) = (settings.servers_shown().replace(' ', ""), settings.user_name().unwrap_or("USER"));
    for Acl { resource, name, operations } in &all {
        let operations: Vec<_> =
            operations.iter().map(|operation| format!("--operation {operation}")).collect();
        line(format_args!(
            "kafka-acls.sh --bootstrap-server {servers} --add --allow-principal {} {} --{resource} {name}",
            quoted(&format!("User:{user}")),
            operations.join(" ")
        ))?;
    }
    Ok(())
}

fn of_etcd(role: Role, keys: &[&str], settings: &EtcdSettings, as_json: bool) -> Result<(), Failure> {
    let (role, name) = match role {
        Role::Candidate => (etcd::Role::Candidate, "incumbent-candidate"),
        Role::Observer => (etcd::Role::Observer, "incumbent-observer"),
        Role::Operator => (etcd::Role::Operator, "incumbent-operator"),
    };
    let permissions = etcd::permissions(settings, role, keys)?;
    if as_json {
        let permission = |Permission { writes, prefix, range_end }: &Permission| {
            let access = if *writes { "readwrite" } else { "read" };
            json!({ "access": access, "prefix": prefix, "range_end": range_end })
        };
        let permissions: Vec<_> = permissions.iter().map(permission).collect();
        line(json!({ "role": name, "permissions": permissions }))?;
        return Ok(());
    }
    line(format_args!("etcdctl role add {name}"))?;
    for Permission { writes, prefix, .. } in &permissions {
        let access = if *writes { "readwrite" } else { "read" };
        line(format_args!("etcdctl role grant-permission {name} {access} {} --prefix", quoted(prefix)))?;
    }
    let user = settings.user_name().map_or_else(|| "USER".to_owned(), quoted);
    line(format_args!("etcdctl user grant-role {user} {name}"))?;
    Ok(())
}

/// A text, quoted as one word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
