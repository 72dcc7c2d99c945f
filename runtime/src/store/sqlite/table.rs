//! The tables, and every transaction on them.

use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, LONGEST};
use incumbent_core::store::{Expect, Facts, Outcome, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::failure::{Cause, is_io};
use super::file::Database;
use crate::ErrorKind;
use crate::store::message::{FOREIGN_LEASE, Message, pairs};
use crate::store::{Watched, Written, incarnation};

/// One row says what the store is, and one row a key what is under it. Instants and spans are
/// nanoseconds, instants on the clock of the boot that is written down.
pub(super) const LAYOUT: &str = "
    CREATE TABLE store (
        one         INTEGER PRIMARY KEY CHECK (one = 1),
        incarnation INTEGER NOT NULL,
        never_used  INTEGER NOT NULL DEFAULT 0,
        newest      INTEGER NOT NULL DEFAULT 0, -- the newest revision ever given
        boot        TEXT    NOT NULL,           -- the boot whose clock the instants are of
        born        INTEGER NOT NULL,           -- when it was made, or its first instant in this boot
        aged        INTEGER NOT NULL DEFAULT 0, -- how old it had certainly become in earlier boots
        touched     INTEGER NOT NULL            -- when it was last written
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

/// The first row of `store`: incarnation, boot, now.
pub(super) const BIRTH: &str =
    "INSERT INTO store (one, incarnation, boot, born, touched) VALUES (1, ?1, ?2, ?3, ?3)";

/// The most that is read of a row, in bytes; headers in JSON take more than they have.
const LONGEST_ROW: i64 = LONGEST as i64;

const LIVE: i64 = 0;
const TOMBSTONE: i64 = 1;

/// What changed after a revision.
pub(super) struct Changes {
    /// The newest revision of the store.
    pub(super) newest: Revision,
    /// The entries, oldest revision first.
    pub(super) entries: Vec<Watched>,
}

pub(super) struct Head {
    incarnation: Incarnation,
    never_used: bool,
    newest: Revision,
    born: Instant,
    aged: Duration,
}

/// What is under a key, as far as a write needs to know.
struct Current {
    /// `None` where the record's time is over.
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
        match writing.transaction.commit() {
            Ok(()) => Ok(Outcome::Applied { revision, incarnation }),
            Err(error) if is_io(&error) => Ok(Outcome::Unknown),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a foreign record, whatever is there.
    pub(super) fn put(&mut self, key: &str, value: &[u8]) -> Result<Revision, Cause> {
        self.write_anyway(key, Message::foreign(value))
    }

    /// Writes a tombstone that certifies nothing, whatever is there.
    pub(super) fn delete(&mut self, key: &str) -> Result<Revision, Cause> {
        self.write_anyway(key, Message::deletion(&[]))
    }

    fn write_anyway(&mut self, key: &str, message: Message<'_>) -> Result<Revision, Cause> {
        let writing = Writing::begin(self)?;
        let current = writing.current(key)?;
        let revision = writing.put(key, current.as_ref(), message)?;
        writing.transaction.commit()?;
        Ok(revision)
    }

    /// What is under a key.
    pub(super) fn read(&mut self, key: &str) -> Result<Entry, Cause> {
        let now = self.clock.now();
        let reading = self.sql.transaction()?;
        head(&reading, &self.boot)?;
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

    /// How long ago the live record under a key was written.
    pub(super) fn written(&mut self, key: &str) -> Result<Option<Written>, Cause> {
        let now = self.clock.now();
        let reading = self.sql.transaction()?;
        head(&reading, &self.boot)?;
        let found = reading
            .prepare_cached(
                "SELECT revision, lease, over FROM entry WHERE key = ?1 AND kind = ?2 AND over > ?3",
            )?
            .query_row(params![key, LIVE, signed(now.as_nanos())], |row| {
                let revision = row.get(0).map(unsigned).map(Revision)?;
                let (lease, over): (Duration, Instant) = (row.get(1).map(span)?, row.get(2).map(instant)?);
                Ok(Written { revision, ago: now.since(over.before(lease)) })
            })
            .optional()?;
        Ok(found)
    }

    /// The newest entry of every key written after `seen`.
    pub(super) fn changes_after(&mut self, seen: Revision) -> Result<Changes, Cause> {
        let now = self.clock.now();
        let reading = self.sql.transaction()?;
        let newest = head(&reading, &self.boot)?.newest;
        let entries = reading
            .prepare_cached(
                "SELECT key, revision, kind, length(value) + octet_length(headers),
                        iif(length(value) + octet_length(headers) <= ?4, value, NULL),
                        iif(length(value) + octet_length(headers) <= ?4, headers, NULL)
                 FROM entry WHERE revision > ?1 AND (kind <> ?2 OR over > ?3) ORDER BY revision",
            )?
            .query_map(params![signed(seen.0), LIVE, signed(now.as_nanos()), LONGEST_ROW], watched)?
            .collect::<Result<_, _>>()?;
        Ok(Changes { newest, entries })
    }

    /// A number that is another one after a commit by any other connection, of any process.
    pub(super) fn version(&mut self) -> Result<i64, Cause> {
        Ok(self.sql.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }

    /// What the store is.
    pub(super) fn facts(&mut self) -> Result<Facts, Cause> {
        let now = self.clock.now();
        let head = head(&self.sql, &self.boot)?;
        Ok(Facts {
            asked_at: now,
            incarnation: head.incarnation,
            age: Some(head.aged + now.since(head.born)),
            never_used: head.never_used,
            max_age: None,
            newest: Some(head.newest),
        })
    }

    /// Writes an operator's word down that no election was ever held here; refused where one was.
    pub(super) fn mark_never_used(&mut self) -> Result<(), Cause> {
        let writing = Writing::begin(self)?;
        if writing.head.newest > Revision(0) {
            let count = writing.head.newest.0;
            let detail = format!("it has been written to {count} times, so it is not new; leave --new out");
            return Err(Cause::Refused(ErrorKind::UnsafeStore, detail));
        }
        writing.transaction.execute("UPDATE store SET never_used = 1", [])?;
        Ok(writing.transaction.commit()?)
    }

    /// Ends every lease of an earlier boot, where this is the first process to open the file since.
    pub(super) fn take_over(&mut self) -> Result<(), Cause> {
        let boot = |sql: &Connection| -> Result<String, _> {
            sql.query_row("SELECT boot FROM store", [], |row| row.get(0))
        };
        if boot(&self.sql)? != self.boot {
            let taking = self.sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if boot(&taking)? != self.boot {
                taking.execute("UPDATE entry SET over = 0", [])?;
                taking.execute(
                    "UPDATE store SET aged = aged + max(touched - born, 0), born = 0, touched = ?1, boot = ?2",
                    params![signed(self.clock.now().as_nanos()), self.boot],
                )?;
                taking.commit()?;
            }
        }
        incarnation::met(head(&self.sql, &self.boot)?.incarnation);
        Ok(())
    }
}

/// A transaction that holds the write lock from its beginning, and thus reads what it compares.
struct Writing<'a> {
    transaction: Transaction<'a>,
    head: Head,
    now: Instant,
}

impl<'a> Writing<'a> {
    fn begin(database: &'a mut Database) -> Result<Self, Cause> {
        let transaction = database.sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let head = head(&transaction, &database.boot)?;
        // Read under the lock: a record that is over for one writer is over for every later one.
        let now = database.clock.now();
        Ok(Self { transaction, head, now })
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

    fn put(&self, key: &str, before: Option<&Current>, message: Message<'_>) -> Result<Revision, Cause> {
        let revision = Revision(self.head.newest.0 + 1);
        let lease = message.lease.or(before.map(|before| before.lease)).unwrap_or(FOREIGN_LEASE);
        let kind = if message.kind == Kind::Live { LIVE } else { TOMBSTONE };
        let headers = serde_json::to_string(message.headers)
            .map_err(|error| Cause::Refused(ErrorKind::InvalidSetting, error.to_string()))?;
        let nanos = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        self.transaction
            .prepare_cached("UPDATE store SET newest = ?1, touched = ?2")?
            .execute(params![signed(revision.0), signed(self.now.as_nanos())])?;
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

/// What the store is, unless a machine of another boot writes to it.
pub(super) fn head(sql: &Connection, boot: &str) -> Result<Head, Cause> {
    let (head, theirs) = sql
        .prepare_cached("SELECT incarnation, never_used, newest, born, aged, boot FROM store")?
        .query_row([], |row| {
            let head = Head {
                incarnation: row.get(0).map(unsigned).map(Incarnation)?,
                never_used: row.get(1)?,
                newest: row.get(2).map(unsigned).map(Revision)?,
                born: row.get(3).map(instant)?,
                aged: row.get(4).map(span)?,
            };
            Ok((head, row.get::<_, String>(5)?))
        })?;
    if theirs == boot { Ok(head) } else { Err(Cause::Elsewhere) }
}

fn watched(row: &Row<'_>) -> rusqlite::Result<Watched> {
    let revision = row.get(1).map(unsigned).map(Revision)?;
    let kind = if row.get::<_, i64>(2)? == LIVE { Kind::Live } else { Kind::Tombstone };
    let entry = match row.get_ref(4)?.as_blob_or_null()? {
        Some(value) => {
            // Headers that cannot be read count as missing, which is the cautious reading.
            let headers: Headers = serde_json::from_str(row.get_ref(5)?.as_str()?).unwrap_or_default();
            Entry::decode(revision, kind, value, pairs(&headers))
        }
        // It is left on the disk.
        None => Entry::oversize(revision, kind, row.get(3).map(unsigned)?),
    };
    Ok(Watched { key: row.get(0)?, entry })
}

/// SQLite's numbers are signed. Nothing here is above half of `u64` but a lease without end.
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
