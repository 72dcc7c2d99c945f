//! Relays an outbox: rows of a database that must be sent on in order, by one process at a time.
//!
//! ```sh
//! cargo run -p incumbent-examples --bin outbox_relay -- sqlite:elections.db outbox.db
//! ```
//!
//! The election alone cannot stop a leader that is paused between a check and the write that follows it. The database
//! can: it remembers the largest fencing token that has written, and refuses a smaller one.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use incumbent::{CampaignOptions, Store, Term, Token};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, body TEXT NOT NULL, sent_with TEXT);
    CREATE TABLE IF NOT EXISTS fence (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL);
    INSERT OR IGNORE INTO fence VALUES (1, '');";

/// The error if a later leader has already written.
#[derive(Debug)]
struct Fenced(Token);

impl fmt::Display for Fenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the database has seen a larger token than {}", self.0)
    }
}

impl Error for Fenced {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".into());
    let database = arguments.next().unwrap_or_else(|| "outbox.db".into());
    Connection::open(&database)?.execute_batch(SCHEMA)?;

    let store = Store::open(&url).await?;
    let candidate = store.campaign("outbox", CampaignOptions::new()).await?;
    candidate
        .lead(async |term| {
            println!("leading with token {}", term.token());
            // An error ends the term (`HandlerFailed`), so that another candidate gets its chance.
            relay(&database, &term).await.inspect_err(|error| println!("giving up: {error}"))
        })
        .await?;
    Ok(store.close().await?)
}

/// Sends rows as they come, until the term drains; the caller drops this when the term ends.
async fn relay(database: &str, term: &Term) -> Result<(), Box<dyn Error>> {
    let mut database = Connection::open(database)?;
    while term.drain_remaining().is_none() {
        // A statement of a millisecond may block here: leases are renewed on another thread. Longer work
        // belongs in `tokio::task::spawn_blocking`.
        match send_next(&mut database, term.token())? {
            Some(id) => println!("sent {id}"),
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    Ok(())
}

/// Sends the oldest unsent row, and returns its number.
///
/// One transaction compares the token and marks the row. A crash between sending and committing sends the row
/// again, so the receiver should recognise it by its number.
fn send_next(database: &mut Connection, token: Token) -> Result<Option<i64>, Box<dyn Error>> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Tokens as text sort like tokens.
    let accepted =
        transaction.execute("UPDATE fence SET token = ?1 WHERE token <= ?1", [token.to_string()])?;
    if accepted == 0 {
        return Err(Fenced(token).into());
    }
    let select = "SELECT id, body FROM outbox WHERE sent_with IS NULL ORDER BY id LIMIT 1";
    let row = transaction.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((id, body)) = row else { return Ok(None) };
    send(id, body);
    transaction.execute("UPDATE outbox SET sent_with = ?1 WHERE id = ?2", (token.to_string(), id))?;
    transaction.commit()?;
    Ok(Some(id))
}

/// A placeholder for the message broker or the mail server.
fn send(id: i64, body: String) {
    println!("message {id}: {body}");
}
