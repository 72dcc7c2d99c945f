//! The tables, and every transaction on them.

use std::path::Path;
use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, LONGEST, deletion_headers};
use incumbent_core::store::{Expect, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::candidates;
use super::failure::{Cause, is_io};
use super::file::{Database, WRITE_AHEAD, only_read};
use super::identity::{FileState, Identity, LATE, wall};
use super::refusals;
use incumbent_store::ErrorKind;
use incumbent_store::local::{FOREIGN_LEASE, Message, next_incarnation, pairs, remember_incarnation};
use incumbent_store::{EntryInfo, WatchEvent};

/// One row for the store, and one for each key. Instants and spans are in nanoseconds; instants are by the clock of the
/// recorded boot.
pub(super) const LAYOUT: &str = "
    CREATE TABLE store (
        one         INTEGER PRIMARY KEY CHECK (one = 1),
        incarnation INTEGER NOT NULL,
        never_used  INTEGER NOT NULL DEFAULT 0,
        newest      INTEGER NOT NULL DEFAULT 0, -- the newest revision ever given
        boot        TEXT    NOT NULL,           -- the boot whose clock the instants are of
        born        INTEGER NOT NULL,           -- when it was made, or its first instant in this boot
        aged        INTEGER NOT NULL DEFAULT 0, -- how old it had certainly become in earlier boots
        touched     INTEGER NOT NULL,           -- when it was last written
        writes      INTEGER NOT NULL DEFAULT 0, -- how many transactions there have been
        write_id       INTEGER NOT NULL DEFAULT 0, -- a number drawn in the last of them
        written     INTEGER NOT NULL DEFAULT 0, -- when that was, by the wall clock, since 1970
        device      INTEGER NOT NULL DEFAULT 0, -- which file this stands in; a copy says that of another
        inode       INTEGER NOT NULL DEFAULT 0,
        birth       INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE entry (
        key      TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        kind     INTEGER NOT NULL, -- 0 a live record, 1 a tombstone
        value    BLOB    NOT NULL,
        headers  TEXT    NOT NULL, -- [[name, text], ...] in JSON
        lease    INTEGER NOT NULL, -- of the last live record
        over     INTEGER NOT NULL  -- when a live record is over
    ) STRICT, WITHOUT ROWID;
";

/// The columns that the previous layout lacks. The identity of a converted file is unknown, like that of a copy.
pub(super) const FROM_LAYOUT_1: &str = "
    ALTER TABLE store ADD COLUMN writes  INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN write_id   INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN written INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN device  INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN inode   INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN birth   INTEGER NOT NULL DEFAULT 0;
";

/// Inserts the first row of `store`: incarnation, boot, now, the wall clock, device, inode, birth.
pub(super) const BIRTH: &str = "
    INSERT INTO store (one, incarnation, boot, born, touched, written, device, inode, birth)
    VALUES (1, ?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7)
";

/// Gives every live record its whole lease from now on. The file may lack later writes: a record's holder may have
/// renewed it since, on another clock or in a file that was replaced.
const RENEW_ALL: &str = "UPDATE entry SET over = ?1 + min(lease, 4611686018427387904) WHERE kind = 0";

/// The most bytes of a row that are read. A row within this limit holds a record within [`LONGEST`], because headers in
/// JSON are longer than the headers themselves.
const LONGEST_ROW: i64 = LONGEST as i64;

const LIVE: i64 = 0;
const TOMBSTONE: i64 = 1;

/// The time in which a process can [record its slow transaction again](Database::settle) before other processes take
/// the file for restored.
const TIME_TO_SETTLE: Duration = Duration::from_secs(2);

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

#[derive(Clone, Copy)]
pub(super) struct Head {
    incarnation: Incarnation,
    never_used: bool,
    newest: Revision,
    born: Instant,
    aged: Duration,
    last: Last,
    written: i64,
    identity: Identity,
}

/// The identification of the last transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    writes: i64,
    write_id: i64,
}

impl Last {
    fn next(self) -> Self {
        // Without random numbers, the count alone identifies the transaction.
        let write_id = getrandom::u64().unwrap_or_default();
        Self { writes: self.writes + 1, write_id: i64::from_ne_bytes(write_id.to_ne_bytes()) }
    }

    /// Returns true if the file was replaced by an older file, or by a copy that was written to. This shows in a
    /// comparison of the file's last transaction with the `known` one.
    fn went_back(self, known: Self) -> bool {
        self.writes < known.writes || self.writes == known.writes && self.write_id != known.write_id
    }
}

/// A connection's last observation of the file, across all its openings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    incarnation: Incarnation,
    last: Last,
    /// The inode's time of change after a transaction of this connection, and that transaction's own time.
    ours: Option<(i64, i64)>,
}

impl Known {
    /// Returns true if the file is older than at the last observation, in the same incarnation.
    fn is_gone(known: Option<Self>, head: &Head) -> bool {
        known.is_some_and(|known| known.incarnation == head.incarnation && head.last.went_back(known.last))
    }

    /// Records the present state of the file.
    fn observe(known: &mut Option<Self>, head: &Head) -> Result<(), Cause> {
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
    fn is_late(&self) -> bool {
        self.ours.is_some_and(|(changed, written)| changed.saturating_sub(written) > LATE / 2)
    }
}

/// The parts of a row that a write needs.
struct Current {
    /// `None` for an expired record.
    revision: Option<Revision>,
    lease: Duration,
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

/// Begins a new incarnation of the file. Every lease in it runs again in full, and tokens keep growing.
fn begin_incarnation(
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
fn date(sql: &Connection, last: Last, now: Instant, written: i64) -> Result<(), rusqlite::Error> {
    sql.prepare_cached("UPDATE store SET writes = ?1, write_id = ?2, touched = ?3, written = ?4")?
        .execute(params![last.writes, last.write_id, signed(now.as_nanos()), written])?;
    Ok(())
}

/// Begins a transaction that holds the write lock from the start, so that the state that it compares cannot change.
pub(super) struct Writing<'a> {
    pub(super) transaction: Transaction<'a>,
    head: Head,
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

    fn current(&self, key: &str) -> Result<Option<Current>, Cause> {
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
    fn delete(self, key: &str, before: Option<&Current>) -> Result<Revision, Cause> {
        let headers = before.map(|before| deletion_headers(before.lease)).unwrap_or_default();
        let revision = self.put(key, before, Message::deletion(&headers))?;
        self.commit()?;
        Ok(revision)
    }

    fn put(&self, key: &str, before: Option<&Current>, message: Message<'_>) -> Result<Revision, Cause> {
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

/// The store's row, unless a machine with another boot writes to the file.
fn head(sql: &Connection, boot: &str) -> Result<Head, Cause> {
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

/// SQLite's integers are signed, and the only number above half of `u64` is an unlimited lease.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(unsigned(nanos))
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(unsigned(nanos))
}
