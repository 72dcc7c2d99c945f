//! The files of `scenarios/`.

mod check;
mod need;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::harness::StoreKind;

pub use need::Need;
pub use step::Step;

/// The default election, for a candidate that names none.
pub const JOBS: &str = "jobs";

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The schema, for editors.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The scenario's name, which is also the name of its file.
    pub name: String,
    /// The behaviour that it requires, in a sentence.
    pub purpose: String,
    /// The rules that it shows, as named in `README.md`.
    pub shows: Vec<String>,
    /// The faults that it needs.
    #[serde(default)]
    pub needs: BTreeSet<Need>,
    /// The stores to which the scenario does not apply, each with the reason.
    #[serde(default)]
    pub not_on: BTreeMap<StoreKind, String>,
    /// The lease of the store and of every candidate, in milliseconds.
    pub lease_ms: u64,
    /// The candidates, by the names that the steps use.
    pub candidates: BTreeMap<String, Candidate>,
    /// The steps, one after another.
    pub steps: Vec<Step>,
}

/// A candidate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The name that other candidates see; by default the name in the steps.
    pub name: Option<String>,
    /// Its election; `jobs` by default.
    pub election: Option<String>,
    /// The candidate's connection to the store; by default a connection of its own.
    pub connection: Option<String>,
    /// True if the candidate works in its terms until a step reports that the work is done.
    #[serde(default)]
    pub works: bool,
    /// The settings in which this candidate differs from all other candidates.
    #[serde(default)]
    pub options: Options,
}

/// The settings in which a candidate differs from all other candidates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "they are those of `CampaignOptions`, with the unit in the name")]
pub struct Options {
    pub preset: Option<Preset>,
    pub lease_ms: Option<u64>,
    pub skew_ms: Option<u64>,
    pub drift_ppm: Option<u32>,
    pub slack_ms: Option<u64>,
    pub splay_ms: Option<u64>,
    pub drain_ms: Option<u64>,
    pub interval_ms: Option<u64>,
    pub win_delay: Option<WinDelay>,
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// The preset of a candidate's time settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are those of `incumbent::Preset`")]
pub enum Preset {
    Standard,
    Fast,
    GoCompatible,
}

/// The time that a new holder waits before its win is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "they are those of `incumbent::WinDelay`")]
pub enum WinDelay {
    Automatic,
    Cautious,
    Fixed { ms: u64 },
}

/// An instant: a number of leases after a mark.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The name of the mark.
    pub mark: String,
    /// The number of leases after the mark.
    pub leases: f64,
}

impl Scenario {
    /// Reads and checks a scenario.
    ///
    /// # Errors
    /// The error, in terms of the file.
    pub fn parse(json: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Reads the scenario of a file.
    ///
    /// # Errors
    /// The error, with the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let json = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let scenario = Self::parse(&json).map_err(wrong)?;
        if path.file_stem().and_then(|name| name.to_str()) != Some(&scenario.name) {
            return Err(wrong(format!("the scenario {:?} belongs in a file of its name", scenario.name)));
        }
        Ok(scenario)
    }

    /// The lease on this kind of store: the scenario's own, or a longer one if the store cannot grant that.
    pub fn lease(&self, kind: StoreKind) -> Duration {
        kind.lease(Duration::from_millis(self.lease_ms))
    }

    /// The connections of its candidates to the store.
    pub fn connections(&self) -> BTreeSet<String> {
        self.candidates.iter().map(|(id, candidate)| candidate.connection(id)).collect()
    }
}

impl Candidate {
    /// The candidate's connection; `id` is the candidate's name in the steps.
    pub fn connection(&self, id: &str) -> String {
        self.connection.clone().unwrap_or_else(|| id.into())
    }

    /// Its election.
    pub fn election(&self) -> &str {
        self.election.as_deref().unwrap_or(JOBS)
    }
}

/// The folder of the scenarios.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// The files of all scenarios, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn files() -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder())?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
