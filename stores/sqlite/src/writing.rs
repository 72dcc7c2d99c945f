//! A transaction that writes. It begins by checking that only this crate has changed the file, and ends by recording its
//! own number and time, by which the next one checks.

use std::path::Path;
use std::time::Duration;

use incumbent_core::record::{Kind, deletion_headers};
use incumbent_core::{Instant, Revision};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::failure::Cause;
use super::file::Database;
use super::head::{Head, Known, Last, head};
use super::identity::{FileState, Identity, wall};
use super::layout::{LIVE, TOMBSTONE, WRITE_AHEAD, instant, signed, span, unsigned};
use incumbent_store::ErrorKind;
use incumbent_store::local::{FOREIGN_LEASE, Message, next_incarnation, remember_incarnation};

/// Gives every live record its whole lease from now on. The file may lack later writes: a record's holder may have
/// renewed it since, on another clock or in a file that was replaced.
pub(super) const RENEW_ALL: &str =
    "UPDATE entry SET over = ?1 + min(lease, 4611686018427387904) WHERE kind = 0";

/// The time in which a process can [record its slow transaction again](Database::settle) before other processes take
/// the file for restored.
const TIME_TO_SETTLE: Duration = Duration::from_secs(2);

/// The parts of a row that a write needs.
pub(super) struct Current {
    /// `None` for an expired record.
    pub(super) revision: Option<Revision>,
    lease: Duration,
}

/// Begins a transaction that holds the write lock from the start, so that the state that it compares cannot change.
pub(super) struct Writing<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) head: Head,
    now: Instant,
    path: &'a Path,
    known: &'a mut Option<Known>,
}

impl<'a> Writing<'a> {
    /// Waits for the lock, and checks that only this crate's transactions have changed the file. If another program has
    /// changed it, begins a new incarnation and returns [`Replaced`](Cause::Replaced).
    pub(super) fn begin(database: &'a mut Database) -> Result<Self, Cause> {
        let Database { sql, clock, boot, path, identity, known, suspect, .. } = database;
        let transaction = sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let head = head(&transaction, boot)?;
        // Another program may have changed the mode; opening the file again changes it back.
        let mode: String =
            transaction.prepare_cached("PRAGMA journal_mode")?.query_row([], |row| row.get(0))?;
        let seen = FileState::at(path).ok().filter(|seen| seen.identity == *identity && mode != WRITE_AHEAD);
        let Some(seen) = seen else { return Err(Cause::Replaced) };
        // The clock is read under the lock. So a record that has expired for one writer has expired for every later
        // writer.
        let now = clock.now();
        if !is_ours(*known, &head, &seen) {
            if !Known::is_gone(*known, &head) && seen.may_be_slow(head.written) {
                let (since, what) = suspect.get_or_insert((std::time::Instant::now(), head.last));
                if *what != head.last {
                    *suspect = Some((std::time::Instant::now(), head.last));
                    return Err(Cause::busy());
                }
                if since.elapsed() < TIME_TO_SETTLE {
                    return Err(Cause::busy());
                }
            }
            begin_incarnation(&transaction, &head, boot, *identity, now)?;
            transaction.commit()?;
            return Err(Cause::Replaced);
        }
        *suspect = None;
        Ok(Self { transaction, head, now, path, known })
    }

    /// Records the time, and commits.
    pub(super) fn commit(self) -> Result<(), rusqlite::Error> {
        let Self { transaction, head, now, path, known } = self;
        let (last, written) = (head.last.next(), wall());
        date(&transaction, last, now, written)?;
        transaction.commit()?;
        let ours = FileState::at(path).ok().map(|seen| (seen.changed, written));
        *known = Some(Known { incarnation: head.incarnation, last, ours });
        Ok(())
    }

    pub(super) fn current(&self, key: &str) -> Result<Option<Current>, Cause> {
        let mut select = self
            .transaction
            .prepare_cached("SELECT revision, kind, lease, over FROM entry WHERE key = ?1")?;
        let current = select.query_row([key], |row| {
            let over = row.get::<_, i64>(1)? == LIVE && row.get(3).map(instant)? <= self.now;
            let revision = row.get(0).map(unsigned).map(Revision)?;
            Ok(Current { revision: (!over).then_some(revision), lease: row.get(2).map(span)? })
        });
        Ok(current.optional()?)
    }

    /// Writes the tombstone of a deletion, and commits.
    pub(super) fn delete(self, key: &str, before: Option<&Current>) -> Result<Revision, Cause> {
        let headers = before.map(|before| deletion_headers(before.lease)).unwrap_or_default();
        let revision = self.put(key, before, Message::deletion(&headers))?;
        self.commit()?;
        Ok(revision)
    }

    pub(super) fn put(
        &self,
        key: &str,
        before: Option<&Current>,
        message: Message<'_>,
    ) -> Result<Revision, Cause> {
        let revision = Revision(self.head.newest.0 + 1);
        let lease = message.lease.or(before.map(|before| before.lease)).unwrap_or(FOREIGN_LEASE);
        let kind = if message.kind == Kind::Live { LIVE } else { TOMBSTONE };
        let headers = serde_json::to_string(message.headers)
            .map_err(|error| Cause::Refused(ErrorKind::InvalidSetting, error.to_string().into()))?;
        let nanos = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        self.transaction.prepare_cached("UPDATE store SET newest = ?1")?.execute([signed(revision.0)])?;
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO entry (key, revision, kind, value, headers, lease, over)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                key,
                signed(revision.0),
                kind,
                message.value,
                headers,
                signed(nanos),
                signed((self.now + lease).as_nanos())
            ])?;
        Ok(revision)
    }
}

/// Returns true if a transaction of this crate was the last to change the file.
fn is_ours(known: Option<Known>, head: &Head, seen: &FileState) -> bool {
    if head.identity != seen.identity || Known::is_gone(known, head) {
        return false;
    }
    match known {
        Some(Known { incarnation, last, ours: Some((changed, _)) })
            if (incarnation, last, changed) == (head.incarnation, head.last, seen.changed) =>
        {
            true
        }
        _ => seen.was_changed_at(head.written),
    }
}

/// Begins a new incarnation of the file. Every lease in it runs again in full, and tokens keep growing.
pub(super) fn begin_incarnation(
    sql: &Connection,
    head: &Head,
    boot: &str,
    identity: Identity,
    now: Instant,
) -> Result<(), Cause> {
    remember_incarnation(head.incarnation);
    sql.execute(RENEW_ALL, [signed(now.as_nanos())])?;
    sql.execute(
        "UPDATE store SET incarnation = ?1, never_used = 0, boot = ?2, born = ?3, aged = 0,
                          newest = max(newest, (SELECT coalesce(max(revision), 0) FROM entry)),
                          device = ?4, inode = ?5, birth = ?6",
        params![
            signed(next_incarnation().0),
            boot,
            signed(now.as_nanos()),
            identity.device,
            identity.inode,
            identity.birth
        ],
    )?;
    Ok(date(sql, head.last.next(), now, wall())?)
}

/// Records the identification and the time of a transaction.
pub(super) fn date(sql: &Connection, last: Last, now: Instant, written: i64) -> Result<(), rusqlite::Error> {
    sql.prepare_cached("UPDATE store SET writes = ?1, write_id = ?2, touched = ?3, written = ?4")?
        .execute(params![last.writes, last.write_id, signed(now.as_nanos()), written])?;
    Ok(())
}
