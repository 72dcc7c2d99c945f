//! Who stands, written down beside the elections when somebody comes or goes, and not while anybody waits.
//!
//! The rows of a process that is no more stay until somebody else comes or goes, and are told to nobody.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use incumbent_core::Instant;
use incumbent_core::record::Nonce;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::failure::Cause;
use super::file::Database;
use super::process::Process;
use super::table::{Writing, signed, unsigned};
use super::{inherited, process};
use crate::store::CandidateInfo;
use crate::store::roll::{Registration, Roll};

/// Made by the first who stands: a file in which nobody ever did lacks it.
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

/// At how many connections one that writes its candidates down looks whether they are still there: each costs some files of
/// /proc.
const LOOKED_AT: u32 = 16;

/// A connection of a process, of a boot of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Home {
    boot: String,
    process: Process,
    connection: u64,
}

/// What to make of the rows of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is there, as far as can be known.
    Lives,
    /// It is gone.
    Gone,
    /// Its process is in a container of its own, where we cannot see it.
    Unseen,
}

impl Home {
    fn fate(&self, here: &Process, boot: &str) -> Fate {
        if self.boot != boot {
            return Fate::Gone;
        }
        if self.process.space != here.space {
            return Fate::Unseen;
        }
        let lives =
            if self.process == *here { inherited::is_open(self.connection) } else { self.process.lives() };
        if lives { Fate::Lives } else { Fate::Gone }
    }
}

impl Database {
    /// Writes down who is on the roll of the connection of that number, and strikes who is gone. Nothing is
    /// written where nothing has changed. A lock is not waited for: renewals come first.
    pub(super) fn enlist(&mut self, connection: u64, roll: &Roll) -> Result<(), Cause> {
        let standing = roll.registrations();
        let own = Home { boot: self.boot.clone(), process: process::here(), connection };
        let (reading, _) = self.reading()?;
        let is_new = !has_table(&reading)?;
        // Other processes are looked at before the lock is taken.
        let (gone, written) = if is_new {
            (Vec::new(), HashSet::new())
        } else {
            (gone(&reading, &own)?, written_by(&reading, &own)?)
        };
        drop(reading);
        let standing: Vec<_> =
            standing.iter().filter_map(|registration| Some((registration.nonce?, registration))).collect();
        let nonces: HashSet<_> = standing.iter().map(|(nonce, _)| nonce.to_string()).collect();
        if gone.is_empty() && nonces == written {
            return Ok(());
        }
        let patient = Arc::clone(&self.patient);
        patient.store(false, Ordering::Relaxed);
        let writing = Writing::begin(self);
        // Readers are waited for, who are done in a moment.
        patient.store(true, Ordering::Relaxed);
        let writing = writing?;
        if is_new {
            writing.transaction.execute_batch(LAYOUT)?;
        }
        strike(&writing.transaction, &gone)?;
        let (strike, written) = (written.difference(&nonces), &written);
        for nonce in strike {
            writing.transaction.prepare_cached("DELETE FROM candidate WHERE nonce = ?1")?.execute([nonce])?;
        }
        for (nonce, registration) in
            standing.into_iter().filter(|(nonce, _)| !written.contains(&nonce.to_string()))
        {
            insert(&writing.transaction, &own, nonce, registration)?;
        }
        Ok(writing.commit()?)
    }

    /// Who stands over all other connections.
    pub(super) fn candidates(&mut self, connection: u64) -> Result<Vec<CandidateInfo>, Cause> {
        let (now, here) = (self.clock.now(), process::here());
        let own = Home { boot: self.boot.clone(), process: here.clone(), connection };
        let (reading, _) = self.reading()?;
        if !has_table(&reading)? {
            return Ok(Vec::new());
        }
        let rows: Vec<_> = reading
            .prepare_cached(
                "SELECT boot, space, process, started, connection, election, name, since, nonce FROM candidate",
            )?
            .query_map([], |row| Ok((home(row)?, registration(row)?)))?
            .collect::<Result<_, _>>()?;
        let mut fates = HashMap::new();
        let mut lives = |home: &Home| {
            *fates.entry(home.clone()).or_insert_with(|| home.fate(&here, &own.boot)) == Fate::Lives
        };
        let others = rows.into_iter().filter(|(home, _)| *home != own && lives(home));
        Ok(others.map(|(_, registration)| registration.at(now)).collect())
    }
}

/// How many candidates stand, roughly: those who were killed count until the next comes or goes.
pub(super) fn crowd(reading: &Transaction<'_>) -> Result<u32, Cause> {
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

/// Connections that have candidates written down and are no more. Of many it looks at a few: the others are left to the
/// next who come and go, of which there are as many.
fn gone(reading: &Transaction<'_>, own: &Home) -> Result<Vec<Home>, Cause> {
    let homes: Vec<_> = reading
        .prepare_cached(
            "SELECT * FROM (SELECT DISTINCT boot, space, process, started, connection FROM candidate)
             ORDER BY random() LIMIT ?1",
        )?
        .query_map([LOOKED_AT], home)?
        .collect::<Result<_, _>>()?;
    Ok(homes.into_iter().filter(|home| home.fate(&own.process, &own.boot) == Fate::Gone).collect())
}

fn strike(writing: &Transaction<'_>, gone: &[Home]) -> Result<(), Cause> {
    for Home { boot, process, connection } in gone {
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

fn written_by(writing: &Transaction<'_>, own: &Home) -> Result<HashSet<String>, Cause> {
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
    own: &Home,
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

/// From the first five columns.
fn home(row: &Row<'_>) -> rusqlite::Result<Home> {
    let process =
        Process { space: row.get(1).map(unsigned)?, number: row.get(2)?, started: row.get(3).map(unsigned)? };
    Ok(Home { boot: row.get(0)?, process, connection: row.get(4).map(unsigned)? })
}

/// From the four columns after those.
fn registration(row: &Row<'_>) -> rusqlite::Result<Registration> {
    let nonce = u128::from_str_radix(row.get_ref(8)?.as_str()?, 16).ok().map(Nonce);
    let since = Instant::from_nanos(row.get(7).map(unsigned)?);
    Ok(Registration { election: row.get::<_, String>(5)?.into(), name: row.get(6)?, nonce, since })
}
