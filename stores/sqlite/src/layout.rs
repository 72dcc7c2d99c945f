//! The layout of the file: its tables, the numbers in them, and what tells this crate's files from others.

use std::time::Duration;

use incumbent_core::Instant;

/// The application id of this crate's files, "incb" (<https://sqlite.org/fileformat.html>, section 1.3.15).
pub(super) const APPLICATION: i64 = 0x696e_6362;

/// The version of the tables' layout.
pub(super) const VERSION: i64 = 2;

/// The mode of a journal that this version does not use.
pub(super) const WRITE_AHEAD: &str = "wal";

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

/// The kind of a live record.
pub(super) const LIVE: i64 = 0;
/// The kind of a tombstone.
pub(super) const TOMBSTONE: i64 = 1;

/// SQLite's integers are signed, and the only number above half of `u64` is an unlimited lease.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(unsigned(nanos))
}

pub(super) fn span(nanos: i64) -> Duration {
    Duration::from_nanos(unsigned(nanos))
}
