//! `incumbent hand-over`: asks the leader to hand leadership over.

use std::time::{Duration, Instant};

use incumbent::store::CandidateInfo;
use incumbent::store::HandOver;
use incumbent::{Leader, Observer};
use serde_json::json;
use tokio::time::timeout;

use super::confirm;
use super::{Bench, is_same};
use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::StoreArgs;

/// Ask the leader of an election to hand over to another candidate
///
/// First it asks who takes part, and refuses a successor that does not answer: the leader would give up its lease for
/// nothing. Without --to, the successor is the candidate that has waited longest; on etcd, the next in the queue.
///
/// The request is written beside the election's key, where the leader's watch finds it at once. The leader finishes
/// its work, for as long as its drain allows, and releases its lease in favour of the successor; the other
/// candidates hold back for a moment. Nothing is written to the election's own key, so nothing is at risk: a
/// leader that does not understand the request, or has lost its term by then, ignores it.
///
/// The command waits until the successor leads. Candidates of this project honour the request in every
/// language, except WebAssembly components; candidates of the Go library do not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// The name of the candidate that takes over; by default the one that has waited longest
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Hand over to --to even if it does not answer
    #[arg(long, requires = "to")]
    force: bool,
    /// The longest wait for the successor; the request is withdrawn then
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time, default_value = "30s")]
    timeout: Duration,
    /// Do not ask for a confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  export INCUMBENT_STORE=nats://127.0.0.1:4222/ELECTIONS
  incumbent hand-over nightly-report --yes
  incumbent hand-over nightly-report --to worker-8
  incumbent hand-over nightly-report --to worker-8 --yes --timeout 2m
  incumbent hand-over nightly-report --to worker-8 --store etcd://10.0.0.1/app
      Candidates of incumbent that stand before it step behind; other software
      does not, and then the leader goes on.";

/// `incumbent hand-over`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let bench = Bench::open(&args.store).await?;
    let handed = hand_over(&bench, args, as_json).await;
    bench.close().await?;
    handed
}

async fn hand_over(bench: &Bench, args: &Args, as_json: bool) -> Result<(), Failure> {
    bench.check_orders()?;
    let key = &args.key;
    let Some(leader) = bench.leader(key).await? else {
        return Err(Failure::failed(format!("{key} is vacant: there is no leader who could hand over")));
    };
    if let Some(to) = args.to.as_ref().filter(|to| **to == leader.name) {
        return report(key, to, as_json, &leader, Duration::ZERO);
    }
    let Some(nonce) = leader.nonce else {
        return Err(Failure::failed(format!(
            "{} is a candidate of other software, which knows no request to hand over; stop it there, or use \
             `incumbent evict {key}`",
            leader.name
        )));
    };
    let to = &successor_of(bench, args, &leader).await?;
    confirm(format!("Ask {} to hand {key} over to {to}?", leader.name), args.yes).await?;
    bench.still(key, &leader).await?;
    let mut observer = bench.store.observe(key).await?;
    let request = HandOver { leader: nonce, to: to.clone() };
    request.ask(&*bench.operator, key).await?;
    let asked = Instant::now();
    let next = match timeout(args.timeout, next_leader(&mut observer, &leader)).await {
        Ok(next) => next,
        Err(_) => {
            HandOver::withdraw(&*bench.operator, key).await?;
            return Err(overdue(bench, args, &leader, to).await?);
        }
    };
    match next {
        Some(next) if next.name == *to => report(key, to, as_json, &leader, asked.elapsed()),
        Some(next) if is_same(&next, &leader) => Err(Failure::failed(format!(
            "{0} gave {key} up, and took it again when no other candidate did: is {to} a candidate?",
            leader.name
        ))),
        Some(next) => Err(Failure::failed(format!(
            "{} gave {key} up, and {} leads now: is {to} a candidate?",
            leader.name, next.name
        ))),
        None => Err(Failure::failed("the store was closed")),
    }
}

/// The candidate to hand over to: the one that is named, where it answers, or the one that has waited longest.
async fn successor_of(bench: &Bench, args: &Args, leader: &Leader) -> Result<String, Failure> {
    let key = &args.key;
    let named = args.to.as_ref();
    if let Some(to) = named.filter(|_| args.force) {
        return Ok(to.clone());
    }
    let Some(present) = bench.store.candidates(key).await? else {
        return named.cloned().ok_or_else(|| {
            Failure::failed(format!("nothing says who else stands in {key}: name the successor with --to"))
        });
    };
    let others = || present.iter().filter(|one| one.name != leader.name);
    let Some(to) = named else {
        let first = match bench.is_queue {
            true => others().find(|one| one.nonce.is_some()),
            false => others().max_by_key(|one| one.standing_for),
        };
        return first.map(|one| one.name.clone()).ok_or_else(|| {
            Failure::failed(format!(
                "no other candidate of {key} answers, so {} was not asked: no candidate would lead after it",
                leader.name
            ))
        });
    };
    if others().any(|one| one.name == *to) {
        return Ok(to.clone());
    }
    let names: Vec<&str> = others().map(|one| one.name.as_str()).collect();
    let who = match names.is_empty() {
        true => "no other candidate does".to_owned(),
        false => format!("{} would", names.join(", ")),
    };
    Err(Failure::failed(format!(
        "{to} does not answer as a candidate of {key}, so {} was not asked; {who}. With --force it is asked all the same",
        leader.name
    )))
}

/// The leader after that leader has left.
async fn next_leader(observer: &mut Observer, before: &Leader) -> Option<Leader> {
    let mut vacated = false;
    loop {
        match observer.next().await?.leader {
            Some(leader) if vacated || !is_same(&leader, before) => return Some(leader),
            Some(_) => {}
            None => vacated = true,
        }
    }
}

async fn overdue(bench: &Bench, args: &Args, leader: &Leader, to: &str) -> Result<Failure, Failure> {
    let Args { key, timeout, .. } = args;
    let waited = span(*timeout);
    let before = match bench.is_queue {
        true => stands_before(&bench.store.candidates(key).await?.unwrap_or_default(), leader, to),
        false => None,
    };
    Ok(Failure::failed(match bench.leader(key).await? {
        Some(now) if is_same(&now, leader) && before.is_some() => format!(
            "{} still holds {key} after {waited}, and the request was withdrawn: {} stands before {to} in the queue, and \
             as other software does not step behind",
            leader.name,
            before.unwrap_or_default()
        ),
        Some(now) if is_same(&now, leader) => format!(
            "{} still holds {key} after {waited}, and the request was withdrawn: it is still draining, or is \
             of a version that honours no requests",
            leader.name
        ),
        Some(now) => format!("{} holds {key} now, after {waited}", now.name),
        None => format!(
            "{} gave {key} up, and no candidate has taken it since: is {to} a candidate?",
            leader.name
        ),
    }))
}

/// The first candidate of other software between the leader and the successor in a queue.
fn stands_before(queue: &[CandidateInfo], leader: &Leader, to: &str) -> Option<String> {
    let after_leader = queue.iter().skip_while(|one| one.nonce != leader.nonce).skip(1);
    let mut between = after_leader.take_while(|one| one.name != to);
    between.find(|one| one.nonce.is_none()).map(|one| one.name.clone())
}

fn report(key: &str, to: &str, as_json: bool, before: &Leader, took: Duration) -> Result<(), Failure> {
    if as_json {
        let from = &before.name;
        line(json!({ "election": key, "from": from, "to": to, "took_ms": millis(took) }))?;
    } else if before.name == to {
        line(format_args!("{key}: {to} leads already"))?;
    } else {
        line(format_args!("{key}: {} handed over to {to}, in {}", before.name, span(took)))?;
    }
    Ok(())
}
