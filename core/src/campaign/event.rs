//! What a campaign reports to its user.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::candidacy::{Obstacle, Steps};
use crate::record::{LONGEST, LONGEST_VALUE, Nonce, Record};
use crate::store::{Fault, FaultKind};
use crate::text::Text;
use crate::time::{Instant, rounded};
use crate::token::{Revision, Token};

/// A report to the user of a campaign.
///
/// `T` is the term: plain numbers here, a handle once a runtime passes the event on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<T = Term> {
    /// This candidate leads, from now until `Lost`.
    Won(T),
    /// This leader is leaving by its own choice. It still leads and its lease is renewed; it has until `until` to
    /// finish its work.
    Draining {
        /// The term that is ending.
        term: T,
        /// The latest time at which the drain ends.
        until: Instant,
        /// Why.
        reason: Reason,
    },
    /// This candidate no longer leads. Reported exactly once for every `Won`.
    Lost {
        /// The term that ended.
        term: T,
        /// Why.
        reason: Reason,
    },
    /// The known leader changed, or no leader is known now.
    LeaderChanged(Option<Leader>),
    /// The campaign entered another state.
    StateChanged(State),
    /// A problem that a person should know about.
    Warning(Warning),
}

impl<T> Event<T> {
    /// This event, with its term converted.
    pub fn map_term<U>(self, convert: impl FnOnce(T) -> U) -> Event<U> {
        match self {
            Self::Won(term) => Event::Won(convert(term)),
            Self::Draining { term, until, reason } => Event::Draining { term: convert(term), until, reason },
            Self::Lost { term, reason } => Event::Lost { term: convert(term), reason },
            Self::LeaderChanged(leader) => Event::LeaderChanged(leader),
            Self::StateChanged(state) => Event::StateChanged(state),
            Self::Warning(warning) => Event::Warning(warning),
        }
    }

    /// A stable, machine-readable name of its kind, the same in every language.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Won(_) => "WON",
            Self::Draining { .. } => "DRAINING",
            Self::Lost { .. } => "LOST",
            Self::LeaderChanged(_) => "LEADER_CHANGED",
            Self::StateChanged(_) => "STATE_CHANGED",
            Self::Warning(_) => "WARNING",
        }
    }
}

/// One uninterrupted leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The term's fencing token.
    pub token: Token,
    /// When its win was reported.
    pub started: Instant,
}

/// The right to lead until a deadline; see [`Campaign::lease`](super::Campaign::lease).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The term's fencing token.
    pub token: Token,
    /// The leader leads while its clock reads less than this.
    pub deadline: Instant,
}

// generated: reasons
/// The reason for which a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
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

impl Reason {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Resigned,
        Self::HandedOver,
        Self::Usurped,
        Self::Deleted,
        Self::Expired,
        Self::Revoked,
        Self::Unhealthy,
        Self::HandlerFailed,
        Self::StoreReset,
        Self::Closed,
    ];

    /// Returns true if the work may be brought to an end while the lease is still held; otherwise it must stop at once,
    /// because another candidate may lead any moment.
    pub const fn may_drain(self) -> bool {
        match self {
            Self::Resigned => true,
            Self::HandedOver => true,
            Self::Usurped => false,
            Self::Deleted => false,
            Self::Expired => false,
            Self::Revoked => true,
            Self::Unhealthy => true,
            Self::HandlerFailed => false,
            Self::StoreReset => false,
            Self::Closed => true,
        }
    }

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Resigned => "RESIGNED",
            Self::HandedOver => "HANDED_OVER",
            Self::Usurped => "USURPED",
            Self::Deleted => "DELETED",
            Self::Expired => "EXPIRED",
            Self::Revoked => "REVOKED",
            Self::Unhealthy => "UNHEALTHY",
            Self::HandlerFailed => "HANDLER_FAILED",
            Self::StoreReset => "STORE_RESET",
            Self::Closed => "CLOSED",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resigned => "resigned",
            Self::HandedOver => "handed over",
            Self::Usurped => "usurped: the key is held by another writer",
            Self::Deleted => "deleted: the key was removed",
            Self::Expired => "expired: the lease could not be proven in time",
            Self::Revoked => "revoked by the consumer group",
            Self::Unhealthy => "unhealthy",
            Self::HandlerFailed => "the handler failed",
            Self::StoreReset => "the store was reset",
            Self::Closed => "closed",
        })
    }
}
// end of reasons

// generated: states
/// The state of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
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

impl State {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::Splaying,
        Self::Waiting,
        Self::Acquiring,
        Self::Holding,
        Self::Leading,
        Self::Draining,
        Self::Releasing,
        Self::Closed,
    ];

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Splaying => "SPLAYING",
            Self::Waiting => "WAITING",
            Self::Acquiring => "ACQUIRING",
            Self::Holding => "HOLDING",
            Self::Leading => "LEADING",
            Self::Draining => "DRAINING",
            Self::Releasing => "RELEASING",
            Self::Closed => "CLOSED",
        }
    }
}
// end of states

/// The holder of a record, as far as this candidate knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    /// The holder's name.
    pub name: String,
    /// The holder's campaign; `None` for other software.
    pub nonce: Option<Nonce>,
    /// The revision of its newest record when this candidate first observed it.
    pub revision: Revision,
    /// The holder's published metadata.
    pub metadata: Vec<(String, String)>,
}

impl Leader {
    /// The writer of `record`.
    pub fn of(record: &Record) -> Self {
        Self {
            name: record.candidate.clone(),
            nonce: record.write_id.map(|write_id| write_id.nonce),
            revision: record.revision,
            metadata: record.metadata.clone(),
        }
    }

    /// Whether the same candidate wrote `record`.
    pub(super) fn wrote(&self, record: &Record) -> bool {
        self.name == record.candidate && self.nonce == record.write_id.map(|write_id| write_id.nonce)
    }
}

/// A problem that a person should know about. Reported once when it begins, not again while it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The store does not answer, refuses, or cannot serve.
    Store(Fault),
    /// The store was replaced, restored, or lost writes that it had acknowledged.
    StoreReset {
        /// The largest token observed before; `None` if there was none.
        seen: Option<Token>,
        /// The smallest token that the next write could have; `None` if unknown. No term can be won until it exceeds
        /// `seen`.
        next: Option<Token>,
        /// This candidate stays out until a larger token is possible, or an operator accepts
        /// ([`Input::Accept`](super::Input::Accept)) that tokens start again. If false, it uses up any missing tokens
        /// with acquires that lead to no term.
        barred: bool,
    },
    /// A record outlived its lease: the store does not remove it, so no candidate can be elected.
    NotExpiring {
        /// The record's revision.
        revision: Revision,
        /// The time for which it has not changed.
        unchanged: Duration,
    },
    /// The election's key holds an entry longer than any candidate's record; candidates wait for it as for any foreign
    /// record.
    NotARecord {
        /// The entry's revision.
        revision: Revision,
        /// The entry's size in bytes, with its headers.
        bytes: u64,
    },
    /// Another process campaigns under this candidate's name.
    SameName {
        /// The other process's nonce.
        nonce: Nonce,
    },
    /// A record has this candidate's nonce, but this candidate did not write it: random numbers repeat.
    SameNonce {
        /// The name in that record.
        name: String,
    },
    /// The lease is too short to survive the failure of one of the store's servers.
    ShortLease {
        /// The longest silence of the store that a leader survives.
        survives: Duration,
        /// The longest time that the failure of one server may take.
        fail_over: Duration,
    },
    /// The store's maximum age was changed while the campaign was running.
    MaxAgeChanged {
        /// The former value.
        from: Option<Duration>,
        /// The present value. `None`: records never expire, so no candidate can succeed a leader that crashes.
        to: Option<Duration>,
    },
    /// Other software in this election takes the store's expiry markers for live records.
    MarkersMislead,
    /// This candidate held its claim for a lease but could not prove it. It leaves the election to others and rests,
    /// making no claim meanwhile.
    GaveWay {
        /// The steps of the proof that failed.
        failing: Steps,
        /// The last fault in an answer to one of these steps; `None` if no step was answered.
        fault: Option<Fault>,
        /// The length of the rest, which ends early if these steps succeed, or if no other candidate claims the
        /// election.
        rest: Duration,
    },
    /// A setting that selects the election has quotes around it; without the quotes it would select another election.
    ///
    /// Reported by the session, once for each campaign.
    Quoted {
        /// The setting that holds the text.
        setting: String,
        /// The text, with its quotes.
        text: String,
    },
    /// This candidate holds the election but does not lead yet: the store is new or was replaced, so an unknown
    /// previous leader may still lead.
    YoungStore {
        /// The wait before this candidate leads.
        left: Duration,
        /// Whether an operator can state with `init --new` that no election was ever held in the store, to skip the
        /// wait.
        can_be_stated: bool,
    },
    /// Requests wait longer than a third of their lease: the store or this process is too slow for its elections.
    ///
    /// Reported by the session to the candidates whose requests wait. It is reported again only after a time in which
    /// no request was waiting.
    Overloaded {
        /// The number of requests that wait.
        waiting: u64,
        /// The wait of the oldest of them.
        waited: Duration,
        /// The time that the store's latest answer took; zero if it has not answered yet.
        answer_time: Duration,
    },
    /// No candidate has been seen to lead for longer than the worst fail-over.
    ///
    /// Reported once, and again only after a leader has been seen.
    NoLeader {
        /// How long this candidate has been in the race without seeing a leader.
        lasted: Duration,
        /// What this candidate waits for.
        because: Obstacle,
    },
}

impl Warning {
    /// A stable, machine-readable name, the same in every language.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Store(fault) => match fault.kind {
                // generated: faults
                FaultKind::Unreachable => "STORE_UNAVAILABLE",
                FaultKind::Denied => "PERMISSION_DENIED",
                FaultKind::Broken => "BROKEN",
                // end of faults
            },
            // generated: warnings
            Self::StoreReset { .. } => "STORE_RESET",
            Self::NotExpiring { .. } => "NOT_EXPIRING",
            Self::NotARecord { .. } => "NOT_A_RECORD",
            Self::SameName { .. } => "SAME_NAME",
            Self::SameNonce { .. } => "SAME_NONCE",
            Self::ShortLease { .. } => "SHORT_LEASE",
            Self::MaxAgeChanged { .. } => "MAX_AGE_CHANGED",
            Self::MarkersMislead => "MARKERS_MISLEAD",
            Self::GaveWay { .. } => "GAVE_WAY",
            Self::Quoted { .. } => "QUOTED",
            Self::YoungStore { .. } => "YOUNG_STORE",
            Self::Overloaded { .. } => "OVERLOADED",
            Self::NoLeader { .. } => "NO_LEADER",
            // end of warnings
        }
    }

    /// The warning and its remedy, with the call that prepares a store apart from the words, for a language that writes it
    /// in its own way.
    pub fn text(&self) -> Text {
        match self {
            Self::YoungStore { left, can_be_stated: true } => {
                let waiting = format!(
                    "the store is new: waiting {left:?} before leading; if no election ever ran here, "
                );
                Text::from(waiting).and(Text::init(&["new"])).and(" skips the wait")
            }
            _ => Text::from(self.to_string()),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(fault) => write!(f, "{fault}"),
            Self::StoreReset { seen, next, barred } => {
                f.write_str("the store was reset: it was replaced, restored, or lost writes")?;
                if let Some(seen) = seen {
                    write!(f, "; the largest token seen was {seen}")?;
                }
                let next = next.filter(|next| Some(*next) <= *seen);
                if let Some(next) = next {
                    write!(f, ", and the store's next token would be {next}")?;
                }
                f.write_str(match (barred, next) {
                    (true, _) => {
                        "; this candidate stays out until a larger token is possible. If nothing remembers the larger \
                         tokens, `incumbent accept-reset` lets them start again; otherwise use a new bucket, whose tokens \
                         are larger"
                    }
                    (false, Some(_)) => "; this candidate first uses up the tokens in between",
                    (false, None) => "",
                })
            }
            Self::NotExpiring { revision, unchanged } => write!(
                f,
                "the record at revision {} has not changed for {:?}: \
                 the store does not expire it; check the bucket's TTL, or delete the key",
                revision.0,
                rounded(*unchanged)
            ),
            Self::NotARecord { revision, bytes } => write!(
                f,
                "the election's key holds {bytes} bytes (revision {}), too many for a candidate's record (at most {LONGEST}, \
                 {LONGEST_VALUE} of them its value): other software writes there, and no candidate leads until it is gone; \
                 delete it (incumbent evict), and give the election its own key",
                revision.0
            ),
            Self::SameName { nonce } => write!(
                f,
                "another process (nonce {nonce}) campaigns under the same name; give every candidate its own name"
            ),
            Self::SameNonce { name } => write!(
                f,
                "a record of {name:?} has this candidate's nonce, but this candidate did not write it: either two \
                 processes draw the same random numbers (a clone, a stub, a fixed seed), or the store applied a write \
                 after refusing it; restart one of them with random numbers from the operating system"
            ),
            Self::ShortLease { survives, fail_over } => write!(
                f,
                "a leader loses its term when the store is silent for {:?}, and the failure of one server \
                 may take {:?}; use a longer lease to survive it",
                rounded(*survives),
                rounded(*fail_over)
            ),
            Self::MaxAgeChanged { from: Some(from), to: Some(to) } => {
                write!(f, "the store's maximum age changed from {from:?} to {to:?}")
            }
            Self::MaxAgeChanged { from: None, to: Some(to) } => {
                write!(f, "the store now has a maximum age of {to:?}")
            }
            Self::MaxAgeChanged { to: None, .. } => f.write_str(
                "the store's maximum age was removed: records never expire, so no candidate can succeed a leader that crashes",
            ),
            Self::MarkersMislead => f.write_str(
                "the store writes expiry markers, which other software in this election may take for live records: \
                 switch the markers off for this bucket",
            ),
            Self::GaveWay { failing, fault, rest } => {
                write!(
                    f,
                    "this candidate gave way, because for a whole lease it could not {failing}; it rests for {:?} at most",
                    rounded(*rest)
                )?;
                match fault {
                    Some(fault) => write!(f, ": {fault}"),
                    None => f.write_str("; check its connection and its permissions"),
                }
            }
            Self::Quoted { setting, text } => write!(
                f,
                "{setting} is {text}, quotes included: without them it selects another election, with its own leader; \
                 remove them unless they are meant (`docker --env-file` keeps quotes)"
            ),
            Self::YoungStore { can_be_stated: true, .. } => write!(f, "{}", self.text()),
            Self::YoungStore { left, can_be_stated: false } => write!(
                f,
                "an earlier leader, unknown to this candidate, may still lead: waiting {left:?} before leading"
            ),
            Self::Overloaded { waiting, waited, answer_time } => write!(
                f,
                "the store or this process cannot keep up with its elections: {waiting} requests wait, the oldest for {:?}, \
                 and the latest answer took {:?}; give it more processor time, fewer elections or a longer lease",
                rounded(*waited),
                rounded(*answer_time)
            ),
            Self::NoLeader { lasted, because } => write!(
                f,
                "no leader has been seen for {:?}, longer than the worst fail-over: {because}",
                rounded(*lasted)
            ),
        }
    }
}
