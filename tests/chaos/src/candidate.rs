//! One candidate: a process that takes part in its elections and logs its events and its answers.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use incumbent::{CampaignOptions, Candidate, Clock, Event, Preset, Store, Term};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::answers;
use crate::log::{Line, Log};

/// The time that a leader takes to finish its work when it leaves voluntarily.
const WIND_UP: Duration = Duration::from_millis(20);

/// The candidate's name and its elections: the first line that it reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Servers, separated by commas.
    pub(crate) servers: String,
    /// The file that it writes.
    pub(crate) log: PathBuf,
    pub(crate) candidacies: Vec<Candidacy>,
}

/// An election to take part in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Candidacy {
    pub(crate) key: String,
    pub(crate) bucket: String,
    pub(crate) lease: Duration,
    pub(crate) is_fast: bool,
}

/// An order to a candidate. The end of the orders asks it to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Order {
    /// Resign and stay in the election.
    Resign { key: String },
    /// Hand leadership over to that candidate.
    HandOver { key: String, to: String },
    /// Leave every election.
    Close,
}

/// Reads its part and its orders from the standard input, and repeats what matters to the director on the
/// standard output.
///
/// # Errors
/// The reason why it cannot take part.
pub(crate) fn run() -> Result<()> {
    let part = io::stdin().lines().next().context("no part was given")??;
    let part: Part = serde_json::from_str(&part)?;
    let (give, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let Ok(order) = serde_json::from_str(&line) else { continue };
            if give.send(order).is_err() {
                return;
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(campaign(part, orders))
}

async fn campaign(part: Part, mut orders: mpsc::UnboundedReceiver<Order>) -> Result<()> {
    let reports = Reports { log: Arc::new(Log::create(&part.log)?), clock: Clock::system() };
    let mut stores = Vec::<(String, Store)>::new();
    let mut candidates = Vec::new();
    for candidacy in &part.candidacies {
        let store = match stores.iter().find(|(bucket, _)| *bucket == candidacy.bucket) {
            Some((_, store)) => store.clone(),
            None => {
                let shortest = part.candidacies.iter().filter(|other| other.bucket == candidacy.bucket);
                let lease = shortest.map(|other| other.lease).min().unwrap_or(candidacy.lease);
                let url = format!("nats://{}/{}", part.servers, candidacy.bucket);
                let store = Store::builder().expected_lease(lease).open(&url).await?;
                stores.push((candidacy.bucket.clone(), store.clone()));
                store
            }
        };
        let preset = if candidacy.is_fast { Preset::Fast } else { Preset::Standard };
        let options = CampaignOptions::new().name(&part.name).preset(preset).lease(candidacy.lease);
        candidates.push(store.campaign(&candidacy.key, options).await?);
    }
    let probe = answers::start(candidates.clone(), Arc::clone(&reports.log))?;
    let reporting: Vec<_> =
        candidates.iter().map(|one| tokio::spawn(reports.clone().report_all(one.clone()))).collect();
    while let Some(order) = orders.recv().await {
        if order == Order::Close {
            break;
        }
        obey(&candidates, order, &reports);
    }
    let leaving: Vec<_> = candidates.iter().map(Candidate::close).collect();
    for (candidate, leaving) in candidates.iter().zip(leaving) {
        leaving.await.with_context(|| format!("{} cannot leave {}", part.name, candidate.election()))?;
    }
    for task in reporting {
        task.await?;
    }
    drop(probe);
    drop(candidates);
    for (_, store) in stores {
        store.close().await?;
    }
    reports.report(Line::Left { at: reports.now() });
    Ok(())
}

/// Not awaited: leaving waits until the work is finished, and the events report that.
fn obey(candidates: &[Candidate], order: Order, reports: &Reports) {
    let (key, to) = match order {
        Order::Resign { key } => (key, None),
        Order::HandOver { key, to } => (key, Some(to)),
        Order::Close => return,
    };
    let Some(candidate) = candidates.iter().find(|candidate| candidate.election() == key) else { return };
    let leaving = match to {
        Some(to) => candidate.request_hand_over(to),
        None => candidate.request_resign(),
    };
    let reports = reports.clone();
    tokio::spawn(async move {
        if let Err(error) = leaving.await {
            reports.report(Line::Refused { key, text: error.to_string(), at: reports.now() });
        }
    });
}

/// The outputs for events: the log gets all, the director some.
#[derive(Clone)]
struct Reports {
    log: Arc<Log>,
    clock: Clock,
}

impl Reports {
    fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    fn report(&self, line: Line) {
        self.log.write(&line);
        let Ok(text) = serde_json::to_string(&line) else { return };
        // Writing fails only when the director has ended; then the end of the orders is seen as well.
        let _ = writeln!(io::stdout(), "{text}");
    }

    /// Logs every event, and works in every term until it drains.
    async fn report_all(self, candidate: Candidate) {
        let mut events = candidate.events();
        let mut work = None::<Term>;
        while let Some(event) = events.next().await {
            let (key, at) = (candidate.election().to_owned(), self.now());
            match event {
                Event::Won(term) => {
                    let (token, started) = (term.token().to_string(), term.started().as_nanos());
                    self.report(Line::Won { key, token, started, at });
                    work = Some(term);
                }
                Event::Draining { term, reason, .. } => {
                    let (token, reason) = (term.token().to_string(), reason.code().to_owned());
                    self.report(Line::Draining { key, token, reason, at });
                    let unfinished = work.take();
                    tokio::spawn(async move {
                        tokio::time::sleep(WIND_UP).await;
                        drop(unfinished);
                    });
                }
                Event::Lost { term, reason } => {
                    let (token, reason) = (term.token().to_string(), reason.code().to_owned());
                    self.report(Line::Lost { key, token, reason, at });
                    work = None;
                }
                Event::LeaderChanged(leader) => {
                    let name = leader.map(|leader| leader.name);
                    self.log.write(&Line::Leader { key, name, at });
                }
                Event::StateChanged(state) => {
                    self.report(Line::State { key, state: state.code().to_owned(), at });
                }
                Event::Warning(warning) => {
                    self.log.write(&Line::Warning { key, text: warning.to_string(), at });
                }
            }
        }
    }
}
