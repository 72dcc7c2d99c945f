//! The row of the store, and what a connection knows of it from its last observation.

use std::time::Duration;

use incumbent_core::{Incarnation, Instant, Revision};
use rusqlite::Connection;

use super::failure::Cause;
use super::identity::{Identity, LATE};
use super::layout::{instant, span, unsigned};

/// The store's row.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) incarnation: Incarnation,
    pub(super) never_used: bool,
    pub(super) newest: Revision,
    pub(super) born: Instant,
    pub(super) aged: Duration,
    pub(super) last: Last,
    pub(super) written: i64,
    pub(super) identity: Identity,
}

/// The identification of the last transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) writes: i64,
    pub(super) write_id: i64,
}

impl Last {
    pub(super) fn next(self) -> Self {
        // Without random numbers, the count alone identifies the transaction.
        let write_id = getrandom::u64().unwrap_or_default();
        Self { writes: self.writes + 1, write_id: i64::from_ne_bytes(write_id.to_ne_bytes()) }
    }

    /// Returns true if the file was replaced by an older file, or by a copy that was written to. This shows in a
    /// comparison of the file's last transaction with the `known` one.
    pub(super) fn went_back(self, known: Self) -> bool {
        self.writes < known.writes || self.writes == known.writes && self.write_id != known.write_id
    }
}

/// A connection's last observation of the file, across all its openings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) incarnation: Incarnation,
    pub(super) last: Last,
    /// The inode's time of change after a transaction of this connection, and that transaction's own time.
    pub(super) ours: Option<(i64, i64)>,
}

impl Known {
    /// Returns true if the file is older than at the last observation, in the same incarnation.
    pub(super) fn is_gone(known: Option<Self>, head: &Head) -> bool {
        known.is_some_and(|known| known.incarnation == head.incarnation && head.last.went_back(known.last))
    }

    /// Records the present state of the file.
    pub(super) fn observe(known: &mut Option<Self>, head: &Head) -> Result<(), Cause> {
        if Self::is_gone(*known, head) {
            return Err(Cause::WentBack);
        }
        if !known.is_some_and(|known| (known.incarnation, known.last) == (head.incarnation, head.last)) {
            *known = Some(Self { incarnation: head.incarnation, last: head.last, ours: None });
        }
        Ok(())
    }

    /// Returns true if this connection's last transaction was so slow that its own time is too far from the file's time
    /// of change.
    pub(super) fn is_late(&self) -> bool {
        self.ours.is_some_and(|(changed, written)| changed.saturating_sub(written) > LATE / 2)
    }
}

/// The store's row, unless a machine with another boot writes to the file.
pub(super) fn head(sql: &Connection, boot: &str) -> Result<Head, Cause> {
    let (head, theirs) = head_of_any_boot(sql)?;
    if theirs == boot { Ok(head) } else { Err(Cause::Elsewhere) }
}

/// The store's row, and the boot in which it was last opened.
pub(super) fn head_of_any_boot(sql: &Connection) -> Result<(Head, String), Cause> {
    let found = sql
        .prepare_cached(
            "SELECT incarnation, never_used, newest, born, aged, writes, write_id, written, device, inode, birth, boot
             FROM store",
        )?
        .query_row([], |row| {
            let head = Head {
                incarnation: row.get(0).map(unsigned).map(Incarnation)?,
                never_used: row.get(1)?,
                newest: row.get(2).map(unsigned).map(Revision)?,
                born: row.get(3).map(instant)?,
                aged: row.get(4).map(span)?,
                last: Last { writes: row.get(5)?, write_id: row.get(6)? },
                written: row.get(7)?,
                identity: Identity { device: row.get(8)?, inode: row.get(9)?, birth: row.get(10)? },
            };
            Ok((head, row.get::<_, String>(11)?))
        })?;
    Ok(found)
}
