//! `incumbent accept-reset`: lets the tokens of an election start again.

use std::time::{Duration, Instant};

use incumbent::incumbent_core::{Revision, Token};
use incumbent::store::AcceptReset;
use incumbent::{Leader, Observer};
use serde_json::json;

use super::{Bench, check_company};
use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::{Limit, OnceArgs};

/// Accept that the tokens of an election start again, after its store went back
///
/// A store that was restored from a backup (etcd: a snapshot), or lost writes that it had acknowledged, numbers its
/// writes from an earlier one on. Candidates that remember larger tokens then stay out, and warn: `the store was
/// reset`, with the largest token seen. They close a small gap by themselves.
///
/// This asks them to forget the tokens up to the one you name. Do it only if nothing else remembers these tokens, or if
/// you reset what does: a fenced resource refuses the new, smaller tokens. There is another way out: delete the bucket
/// or file and create it again with `incumbent init`. Its tokens are larger than all before, and the candidates wait
/// for one lease by themselves.
///
/// The request is written next to the election's key. Candidates honour it once, for the store as it is now, and for no
/// larger token. The command waits until a candidate leads.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// The largest token that may be forgotten, from the candidates' warning
    #[arg(long, value_name = "TOKEN")]
    seen: Token,
    /// The longest time that the command takes, including the wait for a leader
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
  incumbent accept-reset nightly-report --seen 18a3c5d0f1b2e000-00000000000004d2
  incumbent accept-reset jobs --yes --seen 18a3c5d0f1b2e000-00000000000004d2
  incumbent accept-reset jobs --store etcd://10.0.0.1/app \\
      --seen 18a3c5d0f1b2e000-00000000000004d2";

/// `incumbent accept-reset`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let limit = Limit::of(args.timeout);
    let settings = args.once.store.settings_of(&args.key)?;
    check_company(&settings)?;
    let bench = Bench::open(&args.once, settings, limit).await?;
    let accepted = accept(&bench, args, limit, as_json).await;
    bench.close().await?;
    accepted
}

async fn accept(bench: &Bench, args: &Args, limit: Limit, as_json: bool) -> Result<(), Failure> {
    let Args { key, seen, .. } = args;
    let info = bench.store.store_info().await?;
    let Some(newest) = info.newest else {
        return Err(Failure::failed(
            "the store does not report its newest revision, so its next token is not known",
        ));
    };
    let next = Token { incarnation: info.incarnation, sequence: Revision(newest.0.saturating_add(1)) };
    if next > *seen {
        if as_json {
            let nothing = json!({ "election": key, "seen": seen.to_string(), "next": next.to_string(), "accepted": false });
            line(nothing)?;
        } else {
            line(format_args!(
                "{key}: there is nothing to accept: the store's next token, {next}, is larger already"
            ))?;
        }
        return Ok(());
    }
    let limit = bench.confirm_within(limit, question(key, *seen, next), args.yes).await?;
    let mut observer = bench.store.observe(key).await?;
    let request = AcceptReset { seen: *seen, incarnation: info.incarnation };
    request.ask(&*bench.operator, key).await?;
    let asked = Instant::now();
    let led = tokio::select! {
        leader = holder(&mut observer) => leader,
        () = limit.over() => None,
    };
    let Some(leader) = led else {
        return Err(Failure::failed(format!(
            "{key} is still vacant after {}: the candidates may have seen a larger token than {seen} (see their \
             newest warning), or their version does not honour this request, or there is no candidate",
            span(args.timeout)
        )));
    };
    let took = asked.elapsed();
    if as_json {
        line(json!({
            "election": key,
            "seen": seen.to_string(),
            "next": next.to_string(),
            "accepted": true,
            "leader": leader.name,
            "took_ms": millis(took),
        }))?;
    } else {
        line(format_args!("{key}: tokens start again; {} leads, after {}", leader.name, span(took)))?;
    }
    Ok(())
}

fn question(key: &str, seen: Token, next: Token) -> String {
    format!(
        "The candidates of {key} have seen tokens up to {seen}, and the store's next token is {next}. Let its tokens \
         start again? Whatever remembers larger tokens will refuse the new leader."
    )
}

/// Waits for the first leader that the observer sees.
async fn holder(observer: &mut Observer) -> Option<Leader> {
    loop {
        if let Some(leader) = observer.next().await?.leader {
            return Some(leader);
        }
    }
}
