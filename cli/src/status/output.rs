//! An election as text for a person, and as JSON.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use incumbent::Leader;
use incumbent::incumbent_core::record::Entry;
use incumbent::store::CandidateInfo;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::seen::{Led, Seen};
use crate::output::{millis, span};

/// The most candidates that are named.
const NAMED: usize = 10;

/// The state of an election's key, in a word.
pub(crate) fn state(entry: &Entry) -> &'static str {
    match entry {
        Entry::Vacant => "vacant",
        Entry::Live(_) => "held",
        Entry::Released(_) => "released",
        Entry::Deleted { .. } => "deleted",
        Entry::Expired { .. } => "expired",
    }
}

/// One election as lines of text, one for each known fact.
pub(super) fn text_of(seen: &Seen) -> Vec<String> {
    let mut lines = vec![format!("election    {}", seen.key)];
    let mut say = |what: &str, value: String| lines.push(format!("{what:<10}  {value}"));
    match &seen.entry {
        Entry::Vacant if seen.is_queue => say("leader", "(vacant: there is no candidate)".into()),
        Entry::Vacant => say("leader", "(vacant: it was never held, or its record is gone)".into()),
        Entry::Released(release) => {
            let next = release.successor.as_ref().map(|to| format!(", handed over to {to}"));
            say("leader", format!("(vacant: given up{})", next.unwrap_or_default()));
        }
        Entry::Deleted { .. } => say("leader", "(vacant: the record was deleted)".into()),
        Entry::Expired { .. } => say("leader", "(vacant: the lease is over)".into()),
        Entry::Live(record) => {
            say("leader", record.candidate.clone());
            match seen.led() {
                Some(Led::For(led)) => say("since", format!("{} ago", span(led))),
                Some(Led::AtLeast(led)) => say("since", format!("{} ago, or a little more", span(led))),
                Some(Led::SinceItsWin(Some(ago))) => say("since", format!("it won {} ago", span(ago))),
                Some(Led::SinceItsWin(None)) => {
                    say("since", "not known before the leader renews its lease".into())
                }
                Some(Led::NotYet) => {
                    say("since", "not yet: the holder waits until no other candidate can lead".into())
                }
                None if seen.is_queue && record.write_id.is_some() => {}
                None => say("since", "(not known: other software does not report it)".into()),
            }
            if let Some(token) = seen.token() {
                say("token", token.to_string());
            }
        }
    }
    if let Some(lease) = seen.lease() {
        let left = seen.left().map(|left| format!(", {} left", span(left)));
        say("lease", span(lease) + &left.unwrap_or_default());
    }
    if let Some(margin) = seen.margin() {
        say("margin", format!("the leader stops by itself {} before the lease ends", span(margin)));
    }
    if let Some(ago) = seen.ago {
        say("renewed", format!("{} ago", span(ago)));
    }
    for (name, text) in seen.entry.live().map(|record| record.metadata.as_slice()).unwrap_or_default() {
        say("metadata", format!("{name} = {text}"));
    }
    if let Some(revision) = seen.entry.revision() {
        say("revision", revision.0.to_string());
    }
    lines.extend(candidates(seen));
    lines
}

/// The candidates of the election, one in a line.
fn candidates(seen: &Seen) -> Vec<String> {
    let Some(all) = &seen.candidates else { return Vec::new() };
    let say = |what: &str, value: String| format!("{what:<10}  {value}");
    if all.is_empty() {
        let none = if seen.is_group { "the group has no members" } else { "none answered" };
        return vec![say("candidates", none.into())];
    }
    let width = all.iter().take(NAMED).map(|one| one.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (index, one) in all.iter().take(NAMED).enumerate() {
        let what = if index == 0 { "candidates" } else { "" };
        let does = if seen.holds(one) { "holds the lease" } else { "waits" };
        let here = match one.nonce {
            Some(_) => format!("here for {}", span(one.standing_for)),
            None if seen.is_group => "a member of the group".into(),
            None => "runs other software".into(),
        };
        lines.push(say(what, format!("{:<width$}  {does}, {here}", one.name)));
    }
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        lines.push(say("", format!("and {more} more")));
    }
    lines
}

pub(super) const HEADINGS: [&str; 8] =
    ["election", "state", "leader", "since", "lease", "left", "candidates", "token"];

/// A line of the table of all elections.
pub(super) fn row(seen: &Seen) -> [String; 8] {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let since = seen.led().map(|led| match led {
        Led::For(led) => span(led),
        Led::AtLeast(led) => format!("> {}", span(led)),
        Led::SinceItsWin(ago) => ago.map_or("now".into(), span),
        Led::NotYet => "not yet".into(),
    });
    [
        seen.key.clone(),
        state(&seen.entry).into(),
        or_nothing(seen.entry.live().map(|record| record.candidate.clone())),
        or_nothing(since),
        or_nothing(seen.lease().map(span)),
        or_nothing(seen.left().map(span)),
        or_nothing(seen.candidates.as_ref().map(|all| all.len().to_string())),
        or_nothing(seen.token().map(|token| token.to_string())),
    ]
}

/// The number of columns that a table has even in the narrowest terminal.
const LEAST: usize = 3;

/// The lines of a table for a terminal of this width. Columns that do not fit are left out, beginning with the last,
/// down to [`LEAST`] columns, whose cells are wrapped.
pub(super) fn table<const N: usize>(rows: &[[String; N]], width: Option<u16>) -> Vec<String> {
    let fits = |columns: &usize| {
        let widest = draw(rows, *columns, None).iter().map(|line| line.width()).max();
        width.is_none_or(|width| widest <= Some(width.into()))
    };
    let columns = (LEAST..=N).rev().find(fits).unwrap_or(LEAST);
    draw(rows, columns, width)
}

/// The lines of a table of the first columns.
fn draw<const N: usize>(rows: &[[String; N]], columns: usize, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.add_rows(rows.iter().map(|row| row.iter().take(columns)));
    if let Some(width) = width {
        table.set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// A leader in the JSON form of all commands.
pub(crate) fn leader_json(leader: &Leader) -> Value {
    let metadata = leader.metadata.iter().map(|(key, text)| (key.clone(), json!(text)));
    json!({
        "name": leader.name,
        "nonce": leader.nonce.map(|nonce| nonce.to_string()),
        "revision": leader.revision.0,
        "metadata": metadata.collect::<serde_json::Map<_, _>>(),
    })
}

pub(super) fn json_of(seen: &Seen) -> Value {
    let successor = match &seen.entry {
        Entry::Released(release) => release.successor.as_deref(),
        _ => None,
    };
    let led = seen.led().and_then(|led| match led {
        Led::For(led) | Led::AtLeast(led) => Some(millis(led)),
        Led::SinceItsWin(_) | Led::NotYet => None,
    });
    let candidate = |candidate: &CandidateInfo| {
        let CandidateInfo { name, nonce, standing_for, .. } = candidate;
        json!({
            "name": name,
            "nonce": nonce.map(|nonce| nonce.to_string()),
            "standing_ms": nonce.map(|_| millis(*standing_for)),
            "holds": seen.holds(candidate),
        })
    };
    json!({
        "election": seen.key,
        "state": state(&seen.entry),
        "leader": seen.entry.live().map(|record| leader_json(&Leader::of(record))),
        "token": seen.token().map(|token| token.to_string()),
        "sequence": seen.token().map(|token| token.sequence.0),
        "led_ms": led,
        "lease_ms": seen.lease().map(millis),
        "left_ms": seen.left().map(millis),
        "margin_ms": seen.margin().map(millis),
        "renewed_ms_ago": seen.ago.map(millis),
        "revision": seen.entry.revision().map(|revision| revision.0),
        "successor": successor,
        "candidates": seen.candidates.as_ref().map(|all| all.iter().map(candidate).collect::<Vec<_>>()),
    })
}
