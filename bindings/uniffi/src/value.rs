//! Values, each declared once for both languages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use incumbent_ffi::settings::{Dialect, Map, Value};
use incumbent_ffi::{CandidateInfo, ElectionInfo, Event};

use crate::term::Term;

/// Whether the process of this library runs Swift.
static IS_SWIFT: AtomicBool = AtomicBool::new(false);

/// Makes every later message name settings and calls as Swift writes them, and no longer as Kotlin does.
#[uniffi::export]
pub fn speak_swift() {
    IS_SWIFT.store(true, Ordering::Relaxed);
}

/// How the language of this process writes settings.
pub(crate) fn dialect() -> Dialect {
    if IS_SWIFT.load(Ordering::Relaxed) { Dialect::SWIFT } else { Dialect::KOTLIN }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum Failure {
    /// The call failed in this way.
    #[error("{text}")]
    Failed {
        /// The kind, from one list for all languages.
        code: String,
        /// The fault and the remedy.
        text: String,
        /// The causes, the nearest first.
        causes: Vec<String>,
        /// The reason of a term that ended, if that is the error.
        reason: Option<Reason>,
    },
    /// The caller cancelled it.
    #[error("cancelled")]
    Cancelled,
}

impl From<incumbent_ffi::Error> for Failure {
    fn from(error: incumbent_ffi::Error) -> Self {
        Self::Failed {
            code: error.code.text().to_owned(),
            text: error.message(dialect()),
            causes: error.causes,
            reason: error.reason.map(Reason::from),
        }
    }
}

/// The code of every error, and whether the same call can succeed later without a change.
#[uniffi::export]
pub fn error_codes() -> HashMap<String, bool> {
    incumbent_ffi::Code::all().map(|code| (code.text().to_owned(), code.is_temporary())).collect()
}

macro_rules! same_names {
    ($(#[$doc:meta])* $name:ident: $($(#[$one_doc:meta])* $one:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum $name { $($(#[$one_doc])* $one,)* }

        impl From<incumbent_ffi::$name> for $name {
            fn from(value: incumbent_ffi::$name) -> Self {
                match value { $(incumbent_ffi::$name::$one => Self::$one,)* }
            }
        }

        impl From<$name> for incumbent_ffi::$name {
            fn from(value: $name) -> Self {
                match value { $($name::$one => Self::$one,)* }
            }
        }
    };
}

// generated: reasons
same_names! {
    /// The reason for which a term ended.
    Reason:
    /// The leader resigned.
    Resigned,
    /// The leader handed over to a named successor.
    HandedOver,
    /// Another candidate, or other software, wrote the key.
    Usurped,
    /// An operator deleted the key.
    Deleted,
    /// The deadline passed without a proven renewal, or the store reported that the lease expired.
    Expired,
    /// A consumer group took the leadership away.
    Revoked,
    /// The candidate's health check failed, or its event loop or executor hung.
    Unhealthy,
    /// The work of the term failed.
    HandlerFailed,
    /// The store was replaced or restored, or lost acknowledged writes.
    StoreReset,
    /// The campaign was closed.
    Closed,
}
// end of reasons

// generated: states
same_names! {
    /// The state of a campaign.
    State:
    /// Not campaigning: not yet asked to, or unhealthy.
    Idle,
    /// Waiting for a random time before its first campaign.
    Splaying,
    /// Campaigning; another candidate holds the lease, or the key was not read yet.
    Waiting,
    /// An acquire was sent but not answered yet.
    Acquiring,
    /// Holds the lease but does not lead yet, because a previous leader might still believe that it leads.
    Holding,
    /// Leads.
    Leading,
    /// Leads, and is finishing its work.
    Draining,
    /// No longer leads, and releases the lease once the term's work has ended.
    Releasing,
    /// Over.
    Closed,
}
// end of states

/// True if the work of a term that ends for this reason may be finished while the lease is still held.
#[uniffi::export]
pub fn may_drain(reason: Reason) -> bool {
    incumbent_ffi::Reason::from(reason).may_drain()
}

/// The code of a reason, the same in every language.
#[uniffi::export]
pub fn reason_code(reason: Reason) -> String {
    incumbent_ffi::Reason::from(reason).code().to_owned()
}

/// A reason in words.
#[uniffi::export]
pub fn reason_description(reason: Reason) -> String {
    incumbent_ffi::Reason::from(reason).to_string()
}

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Leader {
    /// The name of the candidate.
    pub name: String,
    /// The revision of its newest record when it was first seen as the leader.
    pub revision: u64,
    /// The nonce of its campaign; nothing for other software.
    pub nonce: Option<String>,
    /// The metadata that it publishes.
    pub metadata: HashMap<String, String>,
}

impl From<incumbent_ffi::Leader> for Leader {
    fn from(leader: incumbent_ffi::Leader) -> Self {
        Self {
            name: leader.name,
            revision: leader.revision.0,
            nonce: leader.nonce.map(|nonce| nonce.to_string()),
            metadata: leader.metadata.into_iter().collect(),
        }
    }
}

/// An election of a store, and its leader.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Election {
    /// The election's key.
    pub election: String,
    /// The leader; nothing while the key is free.
    pub leader: Option<Leader>,
}

impl From<ElectionInfo> for Election {
    fn from(listed: ElectionInfo) -> Self {
        Self { election: listed.election, leader: listed.leader.map(Leader::from) }
    }
}

/// A candidate in an election: it waits, acquires or holds the lease, leads or leaves.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Participant {
    /// The election's key.
    pub election: String,
    /// The name of the candidate.
    pub name: String,
    /// The nonce of its campaign, which distinguishes candidates of one name; nothing if it is not reported.
    pub nonce: Option<String>,
    /// The time for which it has been a candidate without a break.
    pub standing_for: Duration,
}

impl From<CandidateInfo> for Participant {
    fn from(candidate: CandidateInfo) -> Self {
        let CandidateInfo { election, name, nonce, standing_for } = candidate;
        Self { election, name, nonce: nonce.map(|nonce| nonce.to_string()), standing_for }
    }
}

/// The leader of an election, as the store shows it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Seen {
    /// The election's key.
    pub election: String,
    /// The leader; nothing while the key is free.
    pub leader: Option<Leader>,
    /// The time for which this state had lasted when it was read.
    pub age: Duration,
}

/// The findings and actions of a preparation.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct InitReport {
    /// The store did not exist, and was created.
    pub created: bool,
    /// The store existed, and was changed.
    pub updated: bool,
    /// The store states that no election was ever held in it.
    pub never_used: bool,
    /// The lease of the elections in a NATS bucket; elsewhere each candidate has its own.
    pub lease: Option<Duration>,
    /// The topic of the election, in Kafka.
    pub topic: Option<String>,
    /// The settings of a bucket that were changed.
    pub differences: Vec<Difference>,
}

/// A setting of a bucket that was changed.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Difference {
    /// The setting's name in the server's configuration.
    pub setting: String,
    /// The value before.
    pub former: String,
    /// The value now.
    pub present: String,
}

impl From<incumbent_ffi::InitReport> for InitReport {
    fn from(report: incumbent_ffi::InitReport) -> Self {
        let differences = report.differences.into_iter().map(|one| Difference {
            setting: one.setting.to_owned(),
            former: one.is,
            present: one.should,
        });
        Self {
            created: report.created,
            updated: report.updated,
            never_used: report.never_used,
            lease: report.lease,
            topic: report.topic,
            differences: differences.collect(),
        }
    }
}

/// An event of a candidate.
#[derive(uniffi::Enum)]
pub enum Happening {
    /// This candidate leads, from now until `Lost`.
    Won {
        /// The term that begins.
        term: std::sync::Arc<Term>,
    },
    /// This leader leaves of its own accord, and still leads.
    Draining {
        /// The term that drains.
        term: std::sync::Arc<Term>,
        /// The reason for which it leaves.
        reason: Reason,
    },
    /// This candidate no longer leads. Emitted exactly once for every `Won`.
    Lost {
        /// The term that ended.
        term: std::sync::Arc<Term>,
        /// The reason for which it ended.
        reason: Reason,
    },
    /// Another candidate than before holds the key, or none does.
    LeaderChanged {
        /// The leader; nothing while the key is free.
        leader: Option<Leader>,
    },
    /// The campaign entered another state.
    StateChanged {
        /// The new state.
        state: State,
    },
    /// A problem that a person should look at.
    Warning {
        /// A stable name, the same in every language.
        code: String,
        /// The problem and the remedy.
        text: String,
    },
}

impl From<Event> for Happening {
    fn from(event: Event) -> Self {
        let view = |term| Term::of(incumbent_ffi::Term::from(term));
        match event {
            Event::Won(term) => Self::Won { term: view(term) },
            Event::Draining { term, reason, .. } => {
                Self::Draining { term: view(term), reason: reason.into() }
            }
            Event::Lost { term, reason } => Self::Lost { term: view(term), reason: reason.into() },
            Event::LeaderChanged(leader) => Self::LeaderChanged { leader: leader.map(Leader::from) },
            Event::StateChanged(state) => Self::StateChanged { state: state.into() },
            Event::Warning(warning) => Self::Warning {
                code: warning.code().to_owned(),
                text: warning.text().spelled(dialect().names),
            },
        }
    }
}

/// A setting that a caller gives by name.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum Setting {
    /// A text.
    Text {
        /// The text.
        value: String,
    },
    /// True or false.
    Flag {
        /// Which.
        value: bool,
    },
    /// A number.
    Number {
        /// Which.
        value: f64,
    },
    /// A length of time.
    Time {
        /// How long.
        value: Duration,
    },
    /// Lengths of time.
    Times {
        /// How long each.
        values: Vec<Duration>,
    },
    /// Named texts.
    Texts {
        /// By name.
        values: HashMap<String, String>,
    },
}

impl From<Setting> for Value {
    fn from(setting: Setting) -> Self {
        match setting {
            Setting::Text { value } => Self::Text(value),
            Setting::Flag { value } => Self::Flag(value),
            Setting::Number { value } => Self::Number(value),
            Setting::Time { value } => Self::Time(value),
            Setting::Times { values } => Self::List(values.into_iter().map(Self::Time).collect()),
            Setting::Texts { values } => {
                let mut values: Vec<_> =
                    values.into_iter().map(|(name, text)| (name, Self::Text(text))).collect();
                values.sort_by(|(one, _), (other, _)| one.cmp(other));
                Self::Map(values)
            }
        }
    }
}

/// Settings by name, in the order of their names.
pub(crate) fn settings(given: HashMap<String, Setting>) -> Map {
    let mut map: Map = given.into_iter().map(|(name, setting)| (name, setting.into())).collect();
    map.sort_by(|(one, _), (other, _)| one.cmp(other));
    map
}
