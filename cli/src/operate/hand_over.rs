//! `incumbent hand-over`: asks the leader to hand leadership over.

use std::pin::pin;
use std::time::{Duration, Instant};

use incumbent::incumbent_core::campaign::check_name;
use incumbent::store::{CandidateInfo, HandOver};
use incumbent::{Error, ErrorKind, Leader, Observer};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{Bench, is_same, settings_for_order};
use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::{Limit, OnceArgs};

/// Ask the leader of an election to hand over to another candidate
///
/// First it asks the candidates to answer, and refuses a successor that does not: the leader would give up its lease
/// for nothing. Without --to, the successor is the candidate that has waited longest; on etcd, the next in the queue.
///
/// The request is written next to the election's key, and the leader's watch reports it at once. The leader finishes
/// its work, for as long as its drain allows, and releases its lease in favour of the successor; the other candidates
/// hold back for a moment. The election's own key is not written, so nothing is at risk: a leader that does not
/// understand the request, or has lost its term by then, ignores it.
///
/// The command waits until the successor leads. Candidates of this project honour the request in every
/// language, except WebAssembly components; candidates of the Go library do not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// The name of the candidate that takes over; by default the candidate that has waited longest
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Hand over to --to even if it does not answer
    #[arg(long, requires = "to")]
    force: bool,
    /// The longest time that the command takes, including the wait for the successor; then it withdraws the request
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time, default_value = "30s")]
    timeout: Duration,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    once: OnceArgs,
}

const EXAMPLES: &str = "\
Examples:
  export INCUMBENT_STORE=nats://127.0.0.1:4222/ELECTIONS
  incumbent hand-over nightly-report --yes
  incumbent hand-over nightly-report --to worker-8
  incumbent hand-over nightly-report --to worker-8 --yes --timeout 2m
  incumbent hand-over nightly-report --to worker-8 --store etcd://10.0.0.1/app
      Candidates of incumbent ahead of it in the queue step behind it. Other
      software does not, and then the leader keeps leading.";

/// The interval between two checks of the rest of the leader's lease. A live leader renews its lease every third of it.
const LOOK: Duration = Duration::from_millis(250);
/// The longest wait for the withdrawal of a request whose limit has passed.
const WITHDRAWING: Duration = Duration::from_secs(2);

/// `incumbent hand-over`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let limit = Limit::of(args.timeout);
    let settings = settings_for_order(&args.once, &args.key)?;
    if let Some(to) = &args.to {
        check_name(to).map_err(|refused| Error::refused(ErrorKind::InvalidName, refused))?;
    }
    let bench = Bench::open(&args.once, settings, limit).await?;
    let handed = hand_over(&bench, args, limit, as_json).await;
    bench.close().await?;
    handed
}

async fn hand_over(bench: &Bench, args: &Args, limit: Limit, as_json: bool) -> Result<(), Failure> {
    let key = &args.key;
    let look = async {
        let Some(leader) = bench.leader(key).await? else {
            return Err(Failure::failed(format!("{key} is vacant: there is no leader to hand it over")));
        };
        if args.to.as_ref() == Some(&leader.name) {
            return Ok((leader.clone(), None, leader.name));
        }
        let Some(nonce) = leader.nonce else {
            return Err(Failure::failed(format!(
                "{} runs other software, which does not understand requests to hand over; stop it, or use `incumbent \
                 evict {key}`",
                leader.name
            )));
        };
        let to = successor_of(bench, args, &leader).await?;
        Ok((leader, Some(nonce), to))
    };
    let (leader, nonce, to) = tokio::select! {
        looked = look => looked?,
        () = limit.over() => return Err(limit.unanswered("the leader was not asked")),
    };
    let Some(nonce) = nonce else { return report(key, &to, as_json, &leader, Duration::ZERO, Left::Not) };
    let question = format!("Ask {} to hand {key} over to {to}?", leader.name);
    let limit = bench.confirm_within(limit, question, args.yes).await?;
    let mut observer = tokio::select! {
        observer = async {
            bench.still(key, &leader).await?;
            Ok::<_, Failure>(bench.store.observe(key).await?)
        } => observer?,
        () = limit.over() => return Err(limit.unanswered("the leader was not asked")),
    };
    let request = HandOver { leader: nonce, to: to.clone() };
    let asked = Instant::now();
    let mut term = LastTerm { bench, key, leader: &leader, seen: None, left: Left::Not };
    let next = tokio::select! {
        next = async {
            term.look().await;
            request.ask(&*bench.operator, key).await?;
            Ok::<_, Failure>(term.next_leader(&mut observer).await)
        } => next.map(Some),
        () = limit.over() => Ok(None),
    };
    let left = term.left;
    let next = match next {
        Ok(Some(next)) => next,
        Ok(None) => return Err(overdue(bench, args, limit, &leader, &to, left).await),
        // A request without an answer may have been written anyway.
        Err(failure) => {
            let _ = timeout(WITHDRAWING, HandOver::withdraw(&*bench.operator, key)).await;
            return Err(failure);
        }
    };
    match next {
        Some(next) if next.name == *to => report(key, &to, as_json, &leader, asked.elapsed(), left),
        Some(next) if is_same(&next, &leader) => Err(Failure::failed(format!(
            "{}, and {} leads again because no other candidate took over: is {to} a candidate?",
            left.of(&leader, key),
            leader.name
        ))),
        Some(next) => Err(Failure::failed(format!(
            "{}, and {} leads now: is {to} a candidate?",
            left.of(&leader, key),
            next.name
        ))),
        None => Err(Failure::failed("the store was closed")),
    }
}

/// The candidate to hand over to: the named candidate if it answers, or the candidate that has waited longest.
async fn successor_of(bench: &Bench, args: &Args, leader: &Leader) -> Result<String, Failure> {
    let key = &args.key;
    let named = args.to.as_ref();
    if let Some(to) = named.filter(|_| args.force) {
        return Ok(to.clone());
    }
    let Some(present) = bench.store.candidates(key).await? else {
        return named.cloned().ok_or_else(|| {
            Failure::failed(format!(
                "the store does not list the candidates of {key}: name the successor with --to"
            ))
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
                "no other candidate of {key} answers, so {} was not asked: it would have no successor",
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
        "{to} does not answer as a candidate of {key}, so {} was not asked; {who}. To ask anyway, use --force",
        leader.name
    )))
}

/// How a leader left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// As far as is known, the leader has not left.
    Not,
    /// The leader left with time left on its lease, so it gave the lease up.
    InTime,
    /// The leader left only when its lease had run out, because it was stopped or cut off.
    RanOut,
    /// The leader left, but it is unknown how much time its lease had left.
    Somehow,
}

impl Left {
    /// Returns the beginning of a sentence about what happened to the leader.
    fn of(self, leader: &Leader, key: &str) -> String {
        let name = &leader.name;
        match self {
            Self::InTime => format!("{name} gave {key} up"),
            Self::RanOut => format!("the lease of {name} in {key} ran out"),
            Self::Not | Self::Somehow => format!("{name} no longer leads {key}"),
        }
    }
}

/// The term of the leader that was asked to hand over, and the rest of its lease at the last check.
struct LastTerm<'a> {
    bench: &'a Bench,
    key: &'a str,
    leader: &'a Leader,
    seen: Option<(Duration, Instant)>,
    left: Left,
}

impl LastTerm<'_> {
    /// Checks the rest of the leader's lease. If another candidate leads, or the store does not answer, nothing
    /// changes.
    async fn look(&mut self) {
        let at = Instant::now();
        if let Ok(Some(left)) = self.bench.lease_left(self.key, self.leader).await {
            self.seen = Some((left, at));
        }
    }

    /// Waits until the leader has left and another candidate leads. Returns the new leader.
    async fn next_leader(&mut self, observer: &mut Observer) -> Option<Leader> {
        loop {
            let seen = {
                let mut look = pin!(async {
                    sleep(LOOK).await;
                    self.look().await;
                });
                tokio::select! {
                    biased;
                    seen = observer.next() => Some(seen?.leader),
                    () = &mut look => None,
                }
            };
            let is_it = |leader: &Leader| is_same(leader, self.leader);
            match seen {
                None => {}
                Some(Some(leader)) if self.left == Left::Not && is_it(&leader) => {}
                Some(leader) => {
                    if self.left == Left::Not {
                        self.left = match self.seen {
                            None => Left::Somehow,
                            Some((left, at)) if at.elapsed() < left => Left::InTime,
                            Some(_) => Left::RanOut,
                        };
                    }
                    if leader.is_some() {
                        return leader;
                    }
                }
            }
        }
    }
}

/// Withdraws the request after its limit has passed, and reports what happened.
async fn overdue(bench: &Bench, args: &Args, limit: Limit, leader: &Leader, to: &str, left: Left) -> Failure {
    let (key, waited) = (&args.key, span(args.timeout));
    let seen = timeout(WITHDRAWING, async {
        HandOver::withdraw(&*bench.operator, key).await?;
        let before = match bench.is_queue {
            true => stands_before(&bench.store.candidates(key).await?.unwrap_or_default(), leader, to),
            false => None,
        };
        Ok::<_, Failure>((before, bench.leader(key).await?))
    });
    let (before, now) = match seen.await {
        Ok(Ok(seen)) => seen,
        Ok(Err(failure)) => return unwithdrawn(limit, leader, &failure.to_string()),
        Err(_) => return unwithdrawn(limit, leader, "the store does not answer"),
    };
    Failure::failed(match now {
        Some(now) if is_same(&now, leader) && before.is_some() => format!(
            "{} still holds {key} after {waited}, and the request was withdrawn: {} is ahead of {to} in the queue, \
             and, being other software, does not step behind",
            leader.name,
            before.unwrap_or_default()
        ),
        Some(now) if is_same(&now, leader) => format!(
            "{} still holds {key} after {waited}, and the request was withdrawn: it is still draining, or its version \
             does not honour requests",
            leader.name
        ),
        Some(now) => format!("{} holds {key} now, after {waited}", now.name),
        None => {
            format!("{}, and no candidate has taken it since: is {to} a candidate?", left.of(leader, key))
        }
    })
}

/// The failure to report if it is not known whether the request was withdrawn.
fn unwithdrawn(limit: Limit, leader: &Leader, cause: &str) -> Failure {
    let cause = format!(
        "{} may still hand over, since the request may not have been withdrawn ({cause})",
        leader.name
    );
    limit.unanswered(&cause)
}

/// The first candidate of other software between the leader and the successor in a queue.
fn stands_before(queue: &[CandidateInfo], leader: &Leader, to: &str) -> Option<String> {
    let after_leader = queue.iter().skip_while(|one| one.nonce != leader.nonce).skip(1);
    let mut between = after_leader.take_while(|one| one.name != to);
    between.find(|one| one.nonce.is_none()).map(|one| one.name.clone())
}

fn report(
    key: &str,
    to: &str,
    as_json: bool,
    before: &Leader,
    took: Duration,
    left: Left,
) -> Result<(), Failure> {
    let from = &before.name;
    if as_json {
        let expired = match left {
            Left::InTime => Some(false),
            Left::RanOut => Some(true),
            Left::Not | Left::Somehow => None,
        };
        line(
            json!({ "election": key, "from": from, "to": to, "took_ms": millis(took), "expired": expired }),
        )?;
        return Ok(());
    }
    let took = span(took);
    line(match left {
        _ if from == to => format!("{key}: {to} leads already"),
        Left::InTime => format!("{key}: {from} handed over to {to}, in {took}"),
        Left::RanOut => format!("{key}: the lease of {from} ran out, and {to} leads now, after {took}"),
        Left::Not | Left::Somehow => format!("{key}: {to} leads after {from}, in {took}"),
    })?;
    Ok(())
}
