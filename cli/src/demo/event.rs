//! The demo's events, as sentences and as JSON.

use std::time::Duration;

use incumbent::Token;
use incumbent_rig::history::Overlap;
use serde_json::{Value, json};

use super::fault::Fault;
use super::schedule::Injection;
use crate::output::{millis, span};

/// An event to report. Candidates appear by name.
#[derive(Clone, Debug)]
pub(super) enum DemoEvent {
    /// A note before the start.
    Note(String),
    /// A candidate leads.
    Won {
        candidate: String,
        token: Token,
        /// The time before in which no candidate could work; none before the first term.
        vacancy: Option<Duration>,
        /// The successor named by a hand-over.
        expected: Option<String>,
    },
    /// A candidate no longer leads.
    Lost { candidate: String, token: String, reason: String, is_news: bool },
    /// The demo made a fault.
    Fault { fault: Fault, victim: String, successor: Option<String> },
    /// The demo repaired what was left of a fault.
    Repaired { fault: Fault, victim: String, after: Duration },
    /// A fault was not made: its victim no longer led.
    Missed { fault: Fault, message: String },
    /// No candidate took over.
    Vacant { fault: Fault, after: Duration },
    /// A candidate reports that something is wrong.
    Warning { candidate: String, message: String },
    /// A candidate's process has ended without an order.
    Gone { candidate: String },
    /// Two leaders at once.
    Overlap(Box<Overlap>),
}

/// The tone in which an event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    Plain,
    Good,
    Fault,
    Bad,
}

impl DemoEvent {
    pub(super) fn of(injection: &Injection, name: impl Fn(usize) -> String) -> Self {
        let Injection { fault, victim, successor, .. } = *injection;
        Self::Fault { fault, victim: name(victim), successor: successor.map(name) }
    }

    pub(super) fn severity(&self) -> Severity {
        match self {
            Self::Note(_) | Self::Repaired { .. } | Self::Lost { .. } | Self::Missed { .. } => {
                Severity::Plain
            }
            Self::Won { .. } => Severity::Good,
            Self::Fault { .. } => Severity::Fault,
            Self::Vacant { .. } | Self::Warning { .. } | Self::Gone { .. } | Self::Overlap(_) => {
                Severity::Bad
            }
        }
    }

    /// A plain sentence; none where a person already knows.
    pub(super) fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Note(text) => text.clone(),
            Self::Won { candidate, vacancy: None, .. } => format!("{candidate} leads, the first of all"),
            Self::Won { candidate, vacancy: Some(vacancy), expected, .. } => {
                let instead = match expected {
                    Some(expected) if expected != candidate => format!(", not {expected} who was named"),
                    _ => String::new(),
                };
                format!("{candidate} leads{instead}, after a vacancy of {}", span(*vacancy))
            }
            Self::Lost { is_news: false, .. } => return None,
            Self::Lost { candidate, reason, .. } => {
                format!("{candidate} no longer leads ({})", reason.to_lowercase().replace('_', " "))
            }
            Self::Fault { fault, victim, successor } => match (fault, successor) {
                (Fault::Kill, _) => format!("killed {victim}, the leader (SIGKILL)"),
                (Fault::Stop, _) => {
                    format!("stopped {victim}, the leader, for longer than its lease (SIGSTOP)")
                }
                (Fault::Restart, _) => format!("asked {victim}, the leader, to leave in good order"),
                (Fault::HandOver, Some(to)) => format!("asked {victim}, the leader, to hand over to {to}"),
                (Fault::HandOver, None) => format!("asked {victim}, the leader, to hand over"),
                (Fault::Delete, _) => format!("deleted the key under {victim}, the leader"),
                (Fault::Overwrite, _) => format!("overwrote the key of {victim}, the leader"),
            },
            Self::Repaired { fault: Fault::Stop, victim, after } => {
                format!("{victim} goes on after {} (SIGCONT)", span(*after))
            }
            Self::Repaired { victim, .. } => format!("{victim} is started again"),
            Self::Missed { fault, message } => format!("no {}: {message}", fault.name()),
            Self::Vacant { after, .. } => format!("no candidate leads, {} after that", span(*after)),
            Self::Warning { candidate, message } => format!("{candidate}: {message}"),
            Self::Gone { candidate } => format!("{candidate}'s process has ended by itself"),
            Self::Overlap(overlap) => {
                let (one, other) = (&overlap.one.candidate, &overlap.other.candidate);
                format!("TWO LEADERS: {one} and {other} both lead, for {} so far", span(overlap.duration()))
            }
        })
    }

    /// A JSON object, with its kind under `event`.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Note(text) => json!({ "event": "note", "message": text }),
            Self::Won { candidate, token, vacancy, .. } => json!({
                "event": "won",
                "candidate": candidate,
                "token": token.to_string(),
                "vacancy_ms": vacancy.map(millis),
            }),
            Self::Lost { candidate, token, reason, .. } => {
                json!({ "event": "lost", "candidate": candidate, "token": token, "reason": reason })
            }
            Self::Fault { fault, victim, successor } => json!({
                "event": "fault",
                "fault": fault.name(),
                "candidate": victim,
                "successor": successor,
            }),
            Self::Repaired { fault, victim, after } => json!({
                "event": "mended",
                "fault": fault.name(),
                "candidate": victim,
                "after_ms": millis(*after),
            }),
            Self::Missed { fault, message } => {
                json!({ "event": "missed", "fault": fault.name(), "message": message })
            }
            Self::Vacant { fault, after } => {
                json!({ "event": "vacant", "fault": fault.name(), "after_ms": millis(*after) })
            }
            Self::Warning { candidate, message } => {
                json!({ "event": "warning", "candidate": candidate, "message": message })
            }
            Self::Gone { candidate } => json!({ "event": "gone", "candidate": candidate }),
            Self::Overlap(overlap) => json!({
                "event": "overlap",
                "candidates": [overlap.one.candidate, overlap.other.candidate],
                "tokens": [overlap.one.evidence.token.to_string(), overlap.other.evidence.token.to_string()],
                "overlap_ms": millis(overlap.duration()),
            }),
        }
    }
}
