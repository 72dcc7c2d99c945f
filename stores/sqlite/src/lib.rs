//! The store for several processes on one machine: one SQLite file, `sqlite:elections.db`.
//!
//! Each write compares and writes in one transaction and is on the disk before it is acknowledged. Revisions come from
//! a counter in the file, so they grow across all keys, deletions, expiries, crashes and reboots. A record expires by
//! the machine's suspend-aware clock, the same for every process. The file stores the boot that this clock counts from;
//! after another boot every earlier lease is over, because no leader can have survived it.
//!
//! A connection is two threads, so that the tasks of a runtime never wait for a disk or a lock: one writes, the other reads
//! and watches.
//!
//! ```text
//!  Adapter ──write──▶ writer ──commit──▶ elections.db ◀──read── reader ◀──read, watch── Adapter
//!                       └────────────────────── "changed" ────────▲
//! ```
//!
//! The file uses a rollback journal, not a write-ahead log: processes that do not share the files of such a log do not
//! see each other's locks, and an election writes a few rows. So there is one file, which has the locks. Its journal,
//! `elections.db-journal`, matters only during a write and after a crash.
//!
//! A write costs four flushes of the disk, so that a crash of the machine undoes no acknowledged write. The journal is
//! kept from one write to the next: on a virtual disk, creating and deleting it each time took 32 ms instead of 0.6 ms.
//!
//! A file into which a backup was copied, or a copy of the file, begins a new incarnation; see `identity`.
//!
//! Limits:
//! - Two machines must not share a file; known network file systems are refused, and so are time namespaces whose clocks differ.
//! - A process that is stopped during a transaction or a read, a matter of a millisecond, keeps all other processes
//!   from writing until it continues or is killed. Meanwhile no other candidate leads wrongly, but perhaps none can
//!   lead.
//! - Never remove only the `-journal`: after a crash it is needed to complete the file
//!   (<https://sqlite.org/howtocorrupt.html>, section 1.4).

mod adapter;
mod candidates;
mod connection;
mod create;
mod failure;
mod file;
mod filesystem;
mod forked;
mod head;
mod identity;
mod layout;
mod notice;
mod process;
#[rustfmt::skip]
mod refusals;
mod settings;
mod store;
mod table;
mod watchers;
mod worker;
mod writing;

pub use adapter::Sqlite;
pub use settings::SqliteSettings;
