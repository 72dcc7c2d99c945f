//! The calls of an adapter, each a transaction on the tables.

use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, LONGEST};
use incumbent_core::store::{Expect, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::candidates;
use super::failure::{Cause, is_io};
use super::file::{Database, only_read};
use super::head::{Head, Known, head, head_of_any_boot};
use super::identity::wall;
use super::layout::{LIVE, instant, signed, span, unsigned};
use super::refusals;
use super::writing::{RENEW_ALL, Writing, begin_incarnation, date};
use incumbent_store::ErrorKind;
use incumbent_store::local::{Message, pairs, remember_incarnation};
use incumbent_store::{EntryInfo, WatchEvent};

/// The most bytes of a row that are read. A row within this limit holds a record within [`LONGEST`], because headers in
/// JSON are longer than the headers themselves.
const LONGEST_ROW: i64 = LONGEST as i64;

/// The changes after a revision.
pub(super) struct Changes {
    pub(super) incarnation: Incarnation,
    /// The newest revision of the store.
    pub(super) newest: Revision,
    /// The entries, oldest revision first.
    pub(super) entries: Vec<WatchEvent>,
    /// The shortest lease of a live record.
    pub(super) shortest_lease: Option<Duration>,
    /// The number of registered candidates.
    pub(super) candidates: u32,
}

impl Database {
    /// Compares and writes in one transaction. An acknowledged write is on the disk.
    pub(super) fn write(&mut self, key: &str, write: &Write) -> Result<Outcome, Cause> {
        let writing = Writing::begin(self)?;
        let current = writing.current(key)?;
        let revision = current.as_ref().and_then(|current| current.revision);
        let expected = match write.expect {
            Expect::Absent => None,
            Expect::Revision(revision) => Some(revision),
        };
        if revision != expected {
            return Ok(Outcome::Refused { current: revision.unwrap_or_default() });
        }
        let incarnation = Some(writing.head.incarnation);
        let revision = writing.put(key, current.as_ref(), Message::of(&write.action))?;
        match writing.commit() {
            Ok(()) => Ok(Outcome::Applied { revision, incarnation }),
            Err(error) if is_io(&error) => Ok(Outcome::Unknown),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a foreign record unconditionally.
    pub(super) fn put(&mut self, key: &str, value: &[u8]) -> Result<Revision, Cause> {
        let writing = Writing::begin(self)?;
        let current = writing.current(key)?;
        let revision = writing.put(key, current.as_ref(), Message::foreign(value))?;
        writing.commit()?;
        Ok(revision)
    }

    /// Writes a tombstone unconditionally. The tombstone does not prove that the leader has stopped, but records the
    /// deleted record's lease.
    pub(super) fn delete(&mut self, key: &str) -> Result<Revision, Cause> {
        let writing = Writing::begin(self)?;
        let current = writing.current(key)?;
        writing.delete(key, current.as_ref())
    }

    /// Writes a tombstone if the entry has that revision.
    pub(super) fn delete_at(&mut self, key: &str, revision: Revision) -> Result<Option<Revision>, Cause> {
        let writing = Writing::begin(self)?;
        let current = writing.current(key)?;
        if current.as_ref().and_then(|current| current.revision) != Some(revision) {
            return Ok(None);
        }
        writing.delete(key, current.as_ref()).map(Some)
    }

    /// The entry under a key.
    pub(super) fn read(&mut self, key: &str) -> Result<Entry, Cause> {
        let now = self.clock.now();
        let (reading, _) = self.reading()?;
        let found = reading
            .prepare_cached(
                "SELECT key, revision, kind, length(value) + octet_length(headers),
                        iif(length(value) + octet_length(headers) <= ?4, value, NULL),
                        iif(length(value) + octet_length(headers) <= ?4, headers, NULL)
                 FROM entry WHERE key = ?1 AND (kind <> ?2 OR over > ?3)",
            )?
            .query_row(params![key, LIVE, signed(now.as_nanos()), LONGEST_ROW], watched)
            .optional()?;
        Ok(found.map_or(Entry::Vacant, |watched| watched.entry))
    }

    /// The age of the live record under a key.
    pub(super) fn written(&mut self, key: &str) -> Result<Option<EntryInfo>, Cause> {
        let now = self.clock.now();
        let (reading, _) = self.reading()?;
        let found = reading
            .prepare_cached(
                "SELECT revision, lease, over FROM entry WHERE key = ?1 AND kind = ?2 AND over > ?3",
            )?
            .query_row(params![key, LIVE, signed(now.as_nanos())], |row| {
                let revision = row.get(0).map(unsigned).map(Revision)?;
                let (lease, over): (Duration, Instant) = (row.get(1).map(span)?, row.get(2).map(instant)?);
                Ok(EntryInfo { revision, ago: now.since(over.before(lease)) })
            })
            .optional()?;
        Ok(found)
    }

    /// The newest entry of every key written after `seen`.
    pub(super) fn changes_after(&mut self, seen: Revision) -> Result<Changes, Cause> {
        let now = self.clock.now();
        let (reading, head) = self.reading()?;
        let entries = reading
            .prepare_cached(
                "SELECT key, revision, kind, length(value) + octet_length(headers),
                        iif(length(value) + octet_length(headers) <= ?4, value, NULL),
                        iif(length(value) + octet_length(headers) <= ?4, headers, NULL)
                 FROM entry WHERE revision > ?1 AND (kind <> ?2 OR over > ?3) ORDER BY revision",
            )?
            .query_map(params![signed(seen.0), LIVE, signed(now.as_nanos()), LONGEST_ROW], watched)?
            .collect::<Result<_, _>>()?;
        let shortest_lease = reading
            .prepare_cached("SELECT min(lease) FROM entry WHERE kind = ?1 AND over > ?2")?
            .query_row(params![LIVE, signed(now.as_nanos())], |row| row.get::<_, Option<i64>>(0))?
            .map(span);
        let (incarnation, newest, candidates) =
            (head.incarnation, head.newest, candidates::count_candidates(&reading)?);
        Ok(Changes { incarnation, newest, entries, shortest_lease, candidates })
    }

    /// The description of the store.
    pub(super) fn store_info(&mut self) -> Result<StoreInfo, Cause> {
        let now = self.clock.now();
        let (_, head) = self.reading()?;
        Ok(StoreInfo {
            asked_at: now,
            incarnation: head.incarnation,
            age: Some(head.aged + now.since(head.born)),
            never_used: head.never_used,
            max_age: None,
            newest: Some(head.newest),
        })
    }

    /// Records an operator's statement that no election ever ran here. The statement is refused if the file has been
    /// written to.
    pub(super) fn mark_never_used(&mut self) -> Result<(), Cause> {
        let writing = Writing::begin(self)?;
        if writing.head.newest > Revision(0) {
            let count = writing.head.newest.0;
            return Err(Cause::Refused(ErrorKind::UnsafeStore, refusals::not_new(count)));
        }
        writing.transaction.execute("UPDATE store SET never_used = 1", [])?;
        Ok(writing.commit()?)
    }

    /// Adopts the file for this boot of the machine. After a reboot every lease begins again on the new clock, and in a
    /// copy of the file a new incarnation begins.
    pub(super) fn adopt(&mut self) -> Result<(), Cause> {
        let Self { sql, clock, identity, .. } = self;
        let boot = self.boot.as_str();
        let there = |sql: &Connection| -> Result<_, Cause> {
            let (head, theirs) = head_of_any_boot(sql)?;
            Ok((head, theirs == boot))
        };
        let (mut head, mut is_same_boot) = there(sql)?;
        if !is_same_boot || head.identity != *identity {
            let adopting = sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
            (head, is_same_boot) = there(&adopting)?;
            let now = clock.now();
            if head.identity != *identity {
                begin_incarnation(&adopting, &head, boot, *identity, now)?;
            } else if !is_same_boot {
                adopting.execute(RENEW_ALL, [signed(now.as_nanos())])?;
                adopting.execute(
                    "UPDATE store SET aged = aged + max(touched - born, 0), born = 0, boot = ?1",
                    [boot],
                )?;
                date(&adopting, head.last.next(), now, wall())?;
            }
            adopting.commit()?;
            (head, _) = head_of_any_boot(sql)?;
        }
        remember_incarnation(head.incarnation);
        Ok(())
    }

    /// Checks that a read-only file has been adopted for this boot. The times in any other file mean nothing.
    pub(super) fn check_adopted(&self) -> Result<(), Cause> {
        let (head, boot) = head_of_any_boot(&self.sql)?;
        if boot != self.boot {
            return Err(only_read("it was last opened before the machine was started"));
        }
        if head.identity != self.identity {
            return Err(only_read("it is a copy, or was restored"));
        }
        remember_incarnation(head.incarnation);
        Ok(())
    }

    /// Begins a new incarnation of a file that another program has written, unless another process has done so
    /// meanwhile.
    pub(super) fn begin_again(&mut self) -> Result<(), Cause> {
        match Writing::begin(self) {
            Ok(_) | Err(Cause::Replaced) => Ok(()),
            Err(cause) => Err(cause),
        }
    }

    /// Drops the cached pages. SQLite keeps them while the file's change counter is the same, even if another file with
    /// the same counter was copied into this file.
    pub(super) fn forget_pages(&self) -> Result<(), Cause> {
        self.sql.prepare_cached("PRAGMA shrink_memory")?.execute([])?;
        Ok(())
    }

    /// Returns true if the last transaction took so long that the file looks as if another program had written it.
    pub(super) fn is_late(&self) -> bool {
        self.known.as_ref().is_some_and(Known::is_late)
    }

    /// Records the time of the last transaction again.
    pub(super) fn settle(&mut self) -> Result<(), Cause> {
        Ok(Writing::begin(self)?.commit()?)
    }

    /// Begins a transaction for reading, and returns the store's row.
    pub(super) fn reading(&mut self) -> Result<(Transaction<'_>, Head), Cause> {
        let Self { sql, boot, identity, known, .. } = self;
        let reading = sql.transaction()?;
        let head = head(&reading, boot)?;
        if head.identity != *identity {
            return Err(Cause::WentBack);
        }
        Known::observe(known, &head)?;
        Ok((reading, head))
    }
}

fn watched(row: &Row<'_>) -> rusqlite::Result<WatchEvent> {
    let revision = row.get(1).map(unsigned).map(Revision)?;
    let kind = if row.get::<_, i64>(2)? == LIVE { Kind::Live } else { Kind::Tombstone };
    let entry = match row.get_ref(4)?.as_blob_or_null()? {
        Some(value) => {
            // Unreadable headers count as missing, which is the cautious choice.
            let headers: Headers = serde_json::from_str(row.get_ref(5)?.as_str()?).unwrap_or_default();
            Entry::decode(revision, kind, value, pairs(&headers))
        }
        // The value of an oversize row is not read from the disk.
        None => Entry::oversize(revision, kind, row.get(3).map(unsigned)?),
    };
    Ok(WatchEvent { key: row.get(0)?, entry })
}
