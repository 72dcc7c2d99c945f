//! The registered candidates. The file is updated when a candidate enters or leaves, but never while it waits.
//!
//! The rows of an ended process stay until another candidate enters or leaves. Until then they are left out of every
//! list.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use incumbent_core::Instant;
use incumbent_core::record::Nonce;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::failure::Cause;
use super::file::Database;
use super::layout::{signed, unsigned};
use super::process::Process;
use super::writing::Writing;
use super::{forked, process};
use incumbent_store::CandidateInfo;
use incumbent_store::registry::{Registration, Registry};

/// The table that the first candidate creates. A file that never had a candidate has no such table.
const LAYOUT: &str = "
    CREATE TABLE IF NOT EXISTS candidate (
        nonce      TEXT PRIMARY KEY,
        election   TEXT    NOT NULL,
        name       TEXT    NOT NULL,
        since      INTEGER NOT NULL, -- on the clock of the boot
        boot       TEXT    NOT NULL,
        space      INTEGER NOT NULL, -- in which the process has its number
        process    INTEGER NOT NULL,
        started    INTEGER NOT NULL, -- which process of that number
        connection INTEGER NOT NULL  -- which connection of that process
    ) STRICT, WITHOUT ROWID;
";

/// The most connections that are checked each time candidates are stored, because a check reads some files of /proc.
const CHECKED_CONNECTIONS: u32 = 16;

/// A connection of a process, in one boot of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ConnectionId {
    boot: String,
    process: Process,
    connection: u64,
}

/// The state of the connection behind a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// The connection exists, or it is unknown whether it does.
    Open,
    /// The connection is gone.
    Gone,
    /// The connection's process is in another container, and cannot be seen.
    Unseen,
}

impl ConnectionId {
    fn state(&self, here: &Process, boot: &str) -> ConnectionState {
        if self.boot != boot {
            return ConnectionState::Gone;
        }
        if self.process.space != here.space {
            return ConnectionState::Unseen;
        }
        let is_open =
            if self.process == *here { forked::is_open(self.connection) } else { self.process.is_running() };
        if is_open { ConnectionState::Open } else { ConnectionState::Gone }
    }
}

impl Database {
    /// Stores the registry of the connection with that number, and deletes the rows of ended connections. Without a
    /// change nothing is written. The call does not wait for a lock, because renewals come first.
    pub(super) fn register(&mut self, connection: u64, registry: &Registry) -> Result<(), Cause> {
        let registered = registry.registrations();
        let own = ConnectionId { boot: self.boot.clone(), process: process::here(), connection };
        let (reading, _) = self.reading()?;
        let is_new = !has_table(&reading)?;
        // The connections of other processes are checked before the lock is taken.
        let (gone, written) = if is_new {
            (Vec::new(), HashSet::new())
        } else {
            (gone(&reading, &own)?, written_by(&reading, &own)?)
        };
        drop(reading);
        let registered: Vec<_> =
            registered.iter().filter_map(|registration| Some((registration.nonce?, registration))).collect();
        let nonces: HashSet<_> = registered.iter().map(|(nonce, _)| nonce.to_string()).collect();
        if gone.is_empty() && nonces == written {
            return Ok(());
        }
        let waits_for_locks = Arc::clone(&self.waits_for_locks);
        waits_for_locks.store(false, Ordering::Relaxed);
        let writing = Writing::begin(self);
        // The commit waits for readers, because they finish quickly.
        waits_for_locks.store(true, Ordering::Relaxed);
        let writing = writing?;
        if is_new {
            writing.transaction.execute_batch(LAYOUT)?;
        }
        delete_rows(&writing.transaction, &gone)?;
        let (ended, written) = (written.difference(&nonces), &written);
        for nonce in ended {
            writing.transaction.prepare_cached("DELETE FROM candidate WHERE nonce = ?1")?.execute([nonce])?;
        }
        for (nonce, registration) in
            registered.into_iter().filter(|(nonce, _)| !written.contains(&nonce.to_string()))
        {
            insert(&writing.transaction, &own, nonce, registration)?;
        }
        Ok(writing.commit()?)
    }

    /// The candidates of all other connections.
    pub(super) fn candidates(&mut self, connection: u64) -> Result<Vec<CandidateInfo>, Cause> {
        let (now, here) = (self.clock.now(), process::here());
        let own = ConnectionId { boot: self.boot.clone(), process: here.clone(), connection };
        let (reading, _) = self.reading()?;
        if !has_table(&reading)? {
            return Ok(Vec::new());
        }
        let rows: Vec<_> = reading
            .prepare_cached(
                "SELECT boot, space, process, started, connection, election, name, since, nonce FROM candidate",
            )?
            .query_map([], |row| Ok((id(row)?, registration(row)?)))?
            .collect::<Result<_, _>>()?;
        let mut states = HashMap::new();
        let mut is_open = |id: &ConnectionId| {
            *states.entry(id.clone()).or_insert_with(|| id.state(&here, &own.boot)) == ConnectionState::Open
        };
        let others = rows.into_iter().filter(|(id, _)| *id != own && is_open(id));
        Ok(others.map(|(_, registration)| registration.at(now)).collect())
    }
}

/// The approximate number of candidates, which includes those of killed processes until the next change.
pub(super) fn count_candidates(reading: &Transaction<'_>) -> Result<u32, Cause> {
    if !has_table(reading)? {
        return Ok(0);
    }
    Ok(reading.prepare_cached("SELECT count(*) FROM candidate")?.query_row([], |row| row.get(0))?)
}

fn has_table(sql: &Connection) -> Result<bool, Cause> {
    let found = sql
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'candidate'")?
        .query_row([], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// The ended connections that still have rows. If there are many connections, only a few are checked. Later changes
/// check the rest, and every connection makes such changes.
fn gone(reading: &Transaction<'_>, own: &ConnectionId) -> Result<Vec<ConnectionId>, Cause> {
    let connections: Vec<_> = reading
        .prepare_cached(
            "SELECT * FROM (SELECT DISTINCT boot, space, process, started, connection FROM candidate)
             ORDER BY random() LIMIT ?1",
        )?
        .query_map([CHECKED_CONNECTIONS], id)?
        .collect::<Result<_, _>>()?;
    Ok(connections
        .into_iter()
        .filter(|id| id.state(&own.process, &own.boot) == ConnectionState::Gone)
        .collect())
}

fn delete_rows(writing: &Transaction<'_>, gone: &[ConnectionId]) -> Result<(), Cause> {
    for ConnectionId { boot, process, connection } in gone {
        writing
            .prepare_cached(
                "DELETE FROM candidate
                 WHERE boot = ?1 AND space = ?2 AND process = ?3 AND started = ?4 AND connection = ?5",
            )?
            .execute(params![
                boot,
                signed(process.space),
                process.number,
                signed(process.started),
                signed(*connection)
            ])?;
    }
    Ok(())
}

fn written_by(writing: &Transaction<'_>, own: &ConnectionId) -> Result<HashSet<String>, Cause> {
    let written = writing
        .prepare_cached(
            "SELECT nonce FROM candidate
             WHERE boot = ?1 AND space = ?2 AND process = ?3 AND started = ?4 AND connection = ?5",
        )?
        .query_map(
            params![
                own.boot,
                signed(own.process.space),
                own.process.number,
                signed(own.process.started),
                signed(own.connection)
            ],
            |row| row.get(0),
        )?
        .collect::<Result<_, _>>()?;
    Ok(written)
}

fn insert(
    writing: &Transaction<'_>,
    own: &ConnectionId,
    nonce: Nonce,
    registration: &Registration,
) -> Result<(), Cause> {
    writing
        .prepare_cached(
            "INSERT OR REPLACE INTO candidate
                 (nonce, election, name, since, boot, space, process, started, connection)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            nonce.to_string(),
            &*registration.election,
            registration.name,
            signed(registration.since.as_nanos()),
            own.boot,
            signed(own.process.space),
            own.process.number,
            signed(own.process.started),
            signed(own.connection)
        ])?;
    Ok(())
}

/// Reads the first five columns.
fn id(row: &Row<'_>) -> rusqlite::Result<ConnectionId> {
    let process =
        Process { space: row.get(1).map(unsigned)?, number: row.get(2)?, started: row.get(3).map(unsigned)? };
    Ok(ConnectionId { boot: row.get(0)?, process, connection: row.get(4).map(unsigned)? })
}

/// Reads a registration from the four columns after those of the connection.
fn registration(row: &Row<'_>) -> rusqlite::Result<Registration> {
    let nonce = u128::from_str_radix(row.get_ref(8)?.as_str()?, 16).ok().map(Nonce);
    let since = Instant::from_nanos(row.get(7).map(unsigned)?);
    Ok(Registration { election: row.get::<_, String>(5)?.into(), name: row.get(6)?, nonce, since })
}
