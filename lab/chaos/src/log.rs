//! The logs of candidates and of the controller, a line of JSON each: writing and reading.
//!
//! Every time is in nanoseconds of the machine's clock. It counts from the boot, and all processes share it.
//! A line is one write to a file, so it is either complete or missing, even when its process is killed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub(crate) use incumbent_rig::candidate::Nanos;
use incumbent_rig::candidate::Report;
pub(crate) use incumbent_rig::probe::Reading;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::scenario::StoreKind;

/// A line of a candidate's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Line {
    /// The answer of `is_leader()`, between two readings of the clock.
    Answer {
        key: String,
        #[serde(flatten)]
        reading: Reading,
    },
    /// The process got no processor time between these instants.
    Stall { from: Nanos, until: Nanos },
    /// Its report.
    #[serde(untagged)]
    Report(Report),
}

impl Line {
    /// The time of the event.
    pub(crate) fn at(&self) -> Nanos {
        match self {
            Self::Answer { reading, .. } => reading.before.as_nanos(),
            Self::Stall { until, .. } => *until,
            Self::Report(report) => report.at,
        }
    }

    /// The election that it concerns.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Answer { key, .. } => Some(key),
            Self::Stall { .. } => None,
            Self::Report(report) => report.key.as_deref(),
        }
    }
}

/// A line of the controller's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Note {
    /// The run begins: the store exists, the first candidates are about to start.
    Begin { scenario: String, seed: u64, servers: usize, elections: Vec<Election>, at: Nanos },
    /// A candidate's process is started again.
    Started { name: String, life: u32, at: Nanos },
    /// The process is dead.
    Killed { name: String, life: u32, at: Nanos },
    /// The process is stopped.
    Stopped { name: String, life: u32, at: Nanos },
    /// The process is about to be resumed.
    Resumed { name: String, life: u32, at: Nanos },
    /// A fault is about to be made: its victim, and the election that it is aimed at.
    Fault { number: u32, kind: Kind, on: String, key: String, at: Nanos },
    /// The fault has been repaired.
    Repaired { number: u32, at: Nanos },
    /// A candidate of other software led, by its own report.
    ForeignTerm { name: String, key: String, from: Nanos, until: Nanos },
    /// No client could write to the bucket between these instants, as far as an independent client can tell.
    Outage { bucket: String, from: Nanos, until: Nanos },
    /// The controller got no processor time between these instants.
    Stall { from: Nanos, until: Nanos },
    /// The last fault has been repaired; no other follows.
    FaultsOver { at: Nanos },
    /// The candidates are asked to leave.
    End { at: Nanos },
}

impl Note {
    /// The time of the event.
    pub(crate) fn at(&self) -> Nanos {
        match self {
            Self::Begin { at, .. }
            | Self::Started { at, .. }
            | Self::Killed { at, .. }
            | Self::Stopped { at, .. }
            | Self::Resumed { at, .. }
            | Self::Fault { at, .. }
            | Self::Repaired { at, .. }
            | Self::FaultsOver { at }
            | Self::End { at } => *at,
            Self::Outage { until, .. } | Self::Stall { until, .. } | Self::ForeignTerm { until, .. } => {
                *until
            }
        }
    }
}

/// An election, as it was set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Election {
    pub(crate) key: String,
    pub(crate) bucket: String,
    #[serde(default)]
    pub(crate) store: StoreKind,
    pub(crate) lease_ms: u64,
}

/// A file to which lines are appended.
#[derive(Debug)]
pub(crate) struct Log(Mutex<File>);

impl Log {
    /// A new file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(OpenOptions::new().append(true).create_new(true).open(path)?)))
    }

    /// Appends a line. A history with a gap proves nothing, so the process ends if a line cannot be written.
    pub(crate) fn write(&self, line: &impl Serialize) {
        let written = serde_json::to_string(line).map_err(io::Error::other).and_then(|mut text| {
            text.push('\n');
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())
        });
        if let Err(error) = written {
            eprintln!("cannot write the log: {error}");
            std::process::exit(70);
        }
    }
}

/// Reads all lines of a file. A last line without a newline belongs to a writer that was killed during the write.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let text = std::fs::read_to_string(path)?;
    let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()));
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).map_err(damaged)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};
    use incumbent::{Instant, Token};
    use incumbent_rig::candidate::ReportKind;
    use incumbent_rig::probe::Held;

    #[test]
    fn lines_are_read_as_they_were_written_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c1-1.jsonl");
        let log = Log::create(&path).unwrap();
        let token = Token { incarnation: Incarnation(1), sequence: Revision(2) };
        let [before, after, deadline, later] = [1, 2, 9, 10].map(Instant::from_nanos);
        let reading = Reading { leads: Some(Held { token, deadline, later }), before, after };
        let (key, reason) = (Some("a".into()), "EXPIRED".into());
        let lines = [
            Line::Answer { key: "a".into(), reading },
            Line::Stall { from: 1, until: 2 },
            Line::Report(Report { at: 3, key, what: ReportKind::Lost { token, reason } }),
            Line::Report(Report { at: 4, key: None, what: ReportKind::Left }),
        ];
        lines.iter().for_each(|line| log.write(line));
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"is\":\"le").unwrap();
        assert_eq!(read::<Line>(&path).unwrap(), lines);
    }

    #[test]
    fn a_damaged_line_is_reported_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller.jsonl");
        std::fs::write(&path, "{\"is\":\"nothing\"}\n").unwrap();
        assert!(read::<Note>(&path).unwrap_err().to_string().contains("controller.jsonl"));
    }
}
