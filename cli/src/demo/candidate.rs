//! One candidate of the demo, in a process of its own or on a task.

use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, Event, Store, Term};
use incumbent_rig::probe::Probe;
use incumbent_rig::record::Record;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

use super::protocol::{Order, Report, Setup};
use crate::failure::Failure;
use crate::process;

/// The time that a leader of the demo takes to finish its work when it leaves voluntarily.
const WIND_UP: Duration = Duration::from_millis(50);

/// The pause between two questions of the probe; events cut it short.
const PAUSE: Duration = Duration::from_millis(1);

/// The hidden command of a candidate's process.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The process of the demo; the candidate ends with it
    #[arg(long)]
    parent: u32,
}

/// Reads orders from the standard input, and writes reports to the standard output.
pub(crate) async fn run(args: &Args) -> Result<(), Failure> {
    process::die_with_parent(args.parent)?;
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    let Some(setup) = input.next_line().await? else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&setup)?;
    let (give, orders) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok(Some(line)) = input.next_line().await {
            let sent = match serde_json::from_str(&line) {
                Ok(order) => give.send(order).is_ok(),
                Err(error) => {
                    tracing::error!(%error, line, "not an order");
                    true
                }
            };
            if !sent {
                return;
            }
        }
    });
    take_part(setup, orders, print).await;
    Ok(())
}

fn print(report: Report) {
    let Ok(line) = serde_json::to_string(&report) else { return };
    // Writing fails only when the demo has ended; then the end of the orders is seen as well.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Takes part until ordered to close, and reports where it cannot.
pub(super) async fn take_part(
    setup: Setup,
    orders: mpsc::UnboundedReceiver<Order>,
    report: impl Fn(Report) + Clone + Send + 'static,
) {
    if let Err(error) = campaign(setup, orders, report.clone()).await {
        report(Report::Failed { failure: error });
    }
}

async fn campaign(
    setup: Setup,
    mut orders: mpsc::UnboundedReceiver<Order>,
    report: impl Fn(Report) + Clone + Send + 'static,
) -> Result<(), Failure> {
    let store = Store::builder().expected_lease(setup.lease).open(&setup.store).await?;
    let candidate = store.campaign(&setup.key, options(&setup)).await?;
    let record = Arc::new(Mutex::new(Record::create(&setup.record)?));
    let noted = Arc::clone(&record);
    let note = move |_, reading| locked(&noted).note(reading);
    let probe = Probe::start(vec![candidate.clone()], store.clock().clone(), PAUSE, note)?;
    let mut events = candidate.events();
    let mut work = None;
    let mut listening = true;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => {
                    probe.ask_now();
                    take(event, &record, &mut work, &report);
                }
                None => break,
            },
            order = orders.recv(), if listening => match order {
                Some(Order::HandOver { to }) => hand_over(&candidate, to, report.clone()),
                Some(Order::Close) => drop(candidate.request_close()),
                None => {
                    listening = false;
                    drop(candidate.request_close());
                }
            },
        }
    }
    store.close().await?;
    Ok(())
}

fn options(setup: &Setup) -> CampaignOptions {
    let options = CampaignOptions::new().name(&setup.name).preset(setup.preset.into()).lease(setup.lease);
    if setup.splay { options } else { options.splay(Duration::ZERO) }
}

/// `work` is the term while the candidate works in it; it holds up a drain until it is dropped.
fn take(event: Event, record: &Mutex<Record>, work: &mut Option<Term>, report: &impl Fn(Report)) {
    match event {
        Event::Won(term) => {
            report(Report::Won { token: term.token().to_string(), at: term.started().as_nanos() });
            *work = Some(term);
        }
        Event::Draining { .. } => {
            let unfinished = work.take();
            tokio::spawn(async move {
                tokio::time::sleep(WIND_UP).await;
                drop(unfinished);
            });
        }
        Event::Lost { term, reason } => {
            *work = None;
            locked(record).ended(term.token(), reason);
            report(Report::Lost { token: term.token().to_string(), reason: reason.code().into() });
        }
        Event::StateChanged(state) => report(Report::State { state: state.code().into() }),
        Event::Warning(warning) => report(Report::Warning { message: warning.to_string() }),
        Event::LeaderChanged(_) => {}
    }
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Not awaited here: a hand-over waits for the drain, and the events report that.
fn hand_over(candidate: &Candidate, to: String, report: impl Fn(Report) + Send + 'static) {
    let leaving = candidate.request_hand_over(to);
    tokio::spawn(async move {
        if let Err(error) = leaving.await {
            report(Report::Refused { message: error.to_string() });
        }
    });
}
