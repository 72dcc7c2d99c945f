//! A candidate under test, as a process or a task: its setup, the orders it takes and the reports it makes.
//!
//! A process reads its setup and then its orders as lines of JSON from the standard input, and [`print()`]s its reports
//! to the standard output. When the orders end, it leaves.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, Clock, Error, Event, Preset, Store, Term, Token};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::probe::{Probe, Reading};
use crate::record::{self, Record};

/// Nanoseconds of the clock that all processes of the machine share.
pub type Nanos = u64;

/// The time that a leader takes to finish its work when it leaves on its own.
const WIND_UP: Duration = Duration::from_millis(50);
/// The pause between two rounds of the probe's questions; events cut it short.
const PAUSE: Duration = Duration::from_millis(1);

/// A candidate's name and its campaigns. It is read from the standard input, because a URL may hold credentials and
/// every user of the machine can read a command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The candidate's name.
    pub name: String,
    /// The file that keeps its answers.
    pub record: PathBuf,
    /// The elections that it takes part in.
    pub campaigns: Vec<CampaignSetup>,
}

/// An election to take part in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CampaignSetup {
    /// The store's URL.
    pub store: String,
    /// The election's key.
    pub key: String,
    /// The lease duration.
    pub lease: Duration,
    /// The bounds of the lease.
    #[serde(with = "preset")]
    pub preset: Preset,
    /// True to wait a random time before its first campaign.
    pub splay: bool,
}

impl CampaignSetup {
    fn options(&self, name: &str) -> CampaignOptions {
        let options = CampaignOptions::new().name(name).preset(self.preset).lease(self.lease);
        if self.splay { options } else { options.splay(Duration::ZERO) }
    }
}

/// An order to a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Resign and stay in the election.
    Resign {
        /// The election.
        key: String,
    },
    /// Hand leadership over to another candidate.
    HandOver {
        /// The election.
        key: String,
        /// The successor.
        to: String,
    },
    /// Leave every election.
    Close,
}

/// A report of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When it was made.
    pub at: Nanos,
    /// The election that it concerns, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The content of the report.
    #[serde(flatten)]
    pub what: ReportKind,
}

/// The content of a candidate's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are those of the library's events")]
pub enum ReportKind {
    /// The candidate leads, from `started` on.
    Won {
        #[serde(with = "text")]
        token: Token,
        started: Nanos,
    },
    /// The candidate finishes its work.
    Draining {
        #[serde(with = "text")]
        token: Token,
        reason: String,
    },
    /// The candidate no longer leads.
    Lost {
        #[serde(with = "text")]
        token: Token,
        reason: String,
    },
    /// The candidate observes another leader, or a vacancy.
    Leader { name: Option<String> },
    /// The candidate's campaign entered another state.
    State { state: String },
    /// The candidate received a warning.
    Warning { text: String },
    /// The candidate could not carry out an order.
    Refused { text: String },
    /// The candidate cannot take part.
    Failed(Failed),
    /// The candidate has left every election and the store.
    Left,
}

impl Report {
    /// A report made now.
    pub fn now(key: Option<&str>, what: ReportKind) -> Self {
        Self { at: Clock::system().now().as_nanos(), key: key.map(str::to_owned), what }
    }
}

/// The reason why a candidate cannot take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The code of the library's error, if it is one.
    pub code: Option<String>,
    /// The error, and the remedy.
    pub message: String,
    /// The causes, the nearest first.
    pub causes: Vec<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let cause = std::error::Error::source(&error);
        let causes = std::iter::successors(cause, |&cause| cause.source()).map(ToString::to_string).collect();
        Self { code: Some(error.kind().code().into()), message: error.message().into(), causes }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self { code: None, message: error.to_string(), causes: Vec::new() }
    }
}

/// The destination of a candidate's answers and reports.
pub trait Output: Clone + Send + 'static {
    /// Receives an answer of the campaign with that index, on the probe's thread.
    fn reading(&self, campaign: usize, reading: Reading);

    /// Receives a report.
    fn report(&self, report: Report);
}

/// Records the answers of a candidate with one campaign, and sends its reports on.
#[derive(Clone, Debug)]
pub struct Recorded<F> {
    record: Arc<Mutex<Record>>,
    send: F,
}

impl<F> Recorded<F> {
    /// Creates the file.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create(record: &Path, send: F) -> io::Result<Self> {
        Ok(Self { record: Arc::new(Mutex::new(Record::create(record)?)), send })
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fn(Report) + Clone + Send + 'static> Output for Recorded<F> {
    fn reading(&self, _campaign: usize, reading: Reading) {
        self.record().note(reading);
    }

    fn report(&self, report: Report) {
        if let ReportKind::Lost { token, reason } = &report.what
            && let Ok(Some(reason)) = record::reason(reason)
        {
            self.record().ended(*token, reason);
        }
        (self.send)(report);
    }
}

/// Writes a report to the standard output.
pub fn print(report: Report) {
    let Ok(line) = serde_json::to_string(&report) else { return };
    // Writing fails only when the parent has ended, and then the orders end too.
    let _ = writeln!(io::stdout(), "{line}");
}

/// Takes part as this process, until ordered to leave.
///
/// # Errors
/// The reason why it cannot take part.
pub async fn serve<O: Output>(output: impl FnOnce(&Setup) -> io::Result<O>) -> Result<(), Failed> {
    let Some(setup) = io::stdin().lines().next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&setup?).map_err(io::Error::from)?;
    let (sender, orders) = mpsc::unbounded_channel();
    // A separate thread, because a read of the standard input cannot be cancelled.
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let sent = serde_json::from_str(&line).map(|order| sender.send(order));
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(error) => tracing::error!(%error, line, "not an order"),
            }
        }
    });
    let output = output(&setup)?;
    take_part(setup, orders, output).await
}

/// Takes part until ordered to leave.
///
/// # Errors
/// The reason why it cannot take part, or did not leave cleanly.
pub async fn take_part<O: Output>(
    setup: Setup,
    mut orders: mpsc::UnboundedReceiver<Order>,
    output: O,
) -> Result<(), Failed> {
    let mut stores = Vec::<(&str, Store)>::new();
    let mut candidates = Vec::new();
    for campaign in &setup.campaigns {
        let store = match stores.iter().find(|(url, _)| *url == campaign.store) {
            Some((_, store)) => store.clone(),
            None => {
                let of_store = setup.campaigns.iter().filter(|other| other.store == campaign.store);
                let lease = of_store.map(|other| other.lease).min().unwrap_or(campaign.lease);
                let store = Store::builder().expected_lease(lease).open(&campaign.store).await?;
                stores.push((&campaign.store, store.clone()));
                store
            }
        };
        candidates.push(store.campaign(&campaign.key, campaign.options(&setup.name)).await?);
    }
    let readings = output.clone();
    let note = move |campaign, reading| readings.reading(campaign, reading);
    let probe = Arc::new(Probe::start(candidates.clone(), Clock::system(), PAUSE, note)?);
    let mut reporting = JoinSet::new();
    for candidate in &candidates {
        reporting.spawn(report_events(candidate.clone(), output.clone(), Arc::clone(&probe)));
    }
    let mut leaving = Vec::new();
    while !reporting.is_empty() {
        tokio::select! {
            Some(_) = reporting.join_next() => {}
            order = orders.recv(), if leaving.is_empty() => match order {
                None | Some(Order::Close) => leaving.extend(candidates.iter().map(Candidate::request_close)),
                Some(Order::Resign { key }) => leave(&candidates, key, None, &output),
                Some(Order::HandOver { key, to }) => leave(&candidates, key, Some(to), &output),
            },
        }
    }
    for request in leaving {
        request.await?;
    }
    drop((probe, candidates));
    for (_, store) in stores {
        store.close().await?;
    }
    output.report(Report::now(None, ReportKind::Left));
    Ok(())
}

/// Resigns or hands over. Not awaited, because that would wait until the work is finished, and the events report that.
fn leave(candidates: &[Candidate], key: String, to: Option<String>, output: &impl Output) {
    let Some(candidate) = candidates.iter().find(|candidate| candidate.election() == key) else { return };
    let leaving = match to {
        Some(to) => candidate.request_hand_over(to),
        None => candidate.request_resign(),
    };
    let output = output.clone();
    tokio::spawn(async move {
        if let Err(error) = leaving.await {
            output.report(Report::now(Some(&key), ReportKind::Refused { text: error.to_string() }));
        }
    });
}

/// Reports every event, and works in every term until it drains.
async fn report_events(candidate: Candidate, output: impl Output, probe: Arc<Probe>) {
    let mut events = candidate.events();
    let mut work = None::<Term>;
    while let Some(event) = events.next().await {
        probe.ask_now();
        let what = match event {
            Event::Won(term) => {
                let (token, started) = (term.token(), term.started().as_nanos());
                work = Some(term);
                ReportKind::Won { token, started }
            }
            Event::Draining { term, reason, .. } => {
                let unfinished = work.take();
                tokio::spawn(async move {
                    tokio::time::sleep(WIND_UP).await;
                    drop(unfinished);
                });
                ReportKind::Draining { token: term.token(), reason: reason.code().into() }
            }
            Event::Lost { term, reason } => {
                work = None;
                ReportKind::Lost { token: term.token(), reason: reason.code().into() }
            }
            Event::LeaderChanged(leader) => ReportKind::Leader { name: leader.map(|leader| leader.name) },
            Event::StateChanged(state) => ReportKind::State { state: state.code().into() },
            Event::Warning(warning) => ReportKind::Warning { text: warning.to_string() },
        };
        output.report(Report::now(Some(candidate.election()), what));
    }
}

/// A value as its text.
pub mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the text.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Reads the text.
    ///
    /// # Errors
    /// It is not the text of a value of this type.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }
}

/// A preset by its name on the command line.
mod preset {
    use incumbent::Preset;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const NAMED: [(&str, Preset); 3] =
        [("standard", Preset::Standard), ("fast", Preset::Fast), ("go-compatible", Preset::GoCompatible)];

    pub(super) fn serialize<S: Serializer>(preset: &Preset, to: S) -> Result<S::Ok, S::Error> {
        NAMED.iter().find(|(_, named)| named == preset).map(|(name, _)| name).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Preset, D::Error> {
        let text = String::deserialize(from)?;
        let known = NAMED.iter().find(|(name, _)| *name == text);
        known.map(|(_, preset)| *preset).ok_or_else(|| D::Error::custom(format!("{text:?} is not a preset")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};

    #[test]
    fn a_report_reads_back_as_it_was_written() {
        let token = Token { incarnation: Incarnation(7), sequence: Revision(8) };
        let failed = Failed { code: None, message: "no".into(), causes: vec!["why".into()] };
        let whats = [ReportKind::Won { token, started: 1 }, ReportKind::Failed(failed), ReportKind::Left];
        let reports = whats.map(|what| Report { at: 2, key: Some("k".into()), what });
        for report in reports {
            let line = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
        }
    }

    #[test]
    fn a_setup_reads_back_with_its_preset() {
        for preset in [Preset::Standard, Preset::Fast, Preset::GoCompatible] {
            let (store, key) = ("memory:".into(), "k".into());
            let campaign = CampaignSetup { store, key, lease: Duration::from_secs(2), preset, splay: true };
            let line = serde_json::to_string(&campaign).unwrap();
            assert_eq!(serde_json::from_str::<CampaignSetup>(&line).unwrap().preset, preset);
        }
    }

    #[tokio::test]
    async fn a_candidate_leads_leaves_when_ordered_and_records_its_term() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("ada.1");
        let campaign = CampaignSetup {
            store: "memory:rig-candidate".into(),
            key: "jobs".into(),
            lease: Duration::from_secs(2),
            preset: Preset::Fast,
            splay: false,
        };
        let setup = Setup { name: "ada".into(), record: record.clone(), campaigns: vec![campaign] };
        let (order, orders) = mpsc::unbounded_channel();
        let (report, mut reports) = mpsc::unbounded_channel();
        let send = move |one| drop(report.send(one));
        let output = Recorded::create(&record, send).unwrap();
        let candidate = tokio::spawn(take_part(setup, orders, output));
        let won = loop {
            if let Some(Report { what: ReportKind::Won { token, .. }, .. }) = reports.recv().await {
                break token;
            }
        };
        order.send(Order::Close).unwrap();
        candidate.await.unwrap().unwrap();
        let mut left = Vec::new();
        while let Some(report) = reports.recv().await {
            left.push(report.what);
        }
        assert!(matches!(left.last(), Some(ReportKind::Left)), "{left:?}");
        let terms = record::read(&record).unwrap();
        assert_eq!(terms.iter().map(|term| term.token).collect::<Vec<_>>(), [won]);
        assert_eq!(terms[0].ended, Some(incumbent::Reason::Closed));
    }
}
