//! The rules of a leader election, as pure state machines.
//!
//! Several processes want to do a job that exactly one of them may do at a time. Each becomes a
//! *candidate* in an *election*; one becomes the *leader* for a *term*; when it resigns, crashes,
//! hangs or is cut off, another takes over, and the two never overlap. This crate decides who
//! leads and when. The crate `incumbent` attaches it to real systems; most people want that one.
//!
//! # What it does not do
//!
//! No I/O, no clock, no threads, no global randomness, no `std`. A [`campaign::Campaign`] does
//! not connect, does not wait and does not know what time it is: its caller says so. That makes it
//! the same in a tokio task, in a WebAssembly host and in a simulator that runs a year in a minute,
//! and lets a test state the exact outputs for each input.
//!
//! # The contract, in one sentence
//!
//! Give [`handle`](campaign::Campaign::handle) each input with its time, then carry out what
//! [`poll`](campaign::Campaign::poll) returns until it is [`WakeAt`](campaign::Output::WakeAt),
//! which means: nothing more until an input, or that instant. What a campaign of any of the three rules wants of its store
//! is an `Output::Ask(Request)`, and comes back as an `Input::Answered(Answer)`, whenever that is.
//!
//! ```
//! use core::time::Duration;
//! use incumbent_core::campaign::{Answer, Campaign, Event, Input, Output, Request, Settings};
//! use incumbent_core::record::{Entry, Nonce};
//! use incumbent_core::store::{Capabilities, StoreInfo, Outcome};
//! use incumbent_core::{Incarnation, Instant, Revision};
//!
//! let store = Capabilities {
//!     own_lease: true,
//!     lease_step: Duration::from_millis(1),
//!     shortest: Duration::from_millis(100),
//!     longest: Duration::from_secs(3600),
//!     granularity: Duration::ZERO,
//!     expiry_pushed: true,
//!     incarnation_acked: true,
//!     watch_shows_all: false,
//!     window: 256,
//!     fail_over: Duration::ZERO,
//! };
//! let now = Instant::from_nanos(0);
//! let info = StoreInfo {
//!     asked_at: now,
//!     incarnation: Incarnation(7),
//!     age: None,
//!     never_used: true,
//!     max_age: None,
//!     newest: None,
//! };
//! let mut settings = Settings::new("worker-7");
//! settings.splay = Some(Duration::ZERO);
//! let mut campaign = Campaign::new(settings, store, &info, Nonce(0xfeed), 42, now)?;
//!
//! // It reads the key: there is no holder.
//! campaign.handle(now, Input::Campaign)?;
//! let Output::Ask(Request::Read(read)) = campaign.poll() else { panic!() };
//! campaign.handle(now, Input::Answered(Answer::Read { read, result: Ok(Entry::Vacant) }))?;
//!
//! // So it tries to acquire, and the store applies the write.
//! let write = loop {
//!     match campaign.poll() {
//!         Output::Ask(Request::Write(write)) => break write,
//!         Output::WakeAt(_) => panic!(),
//!         _ => {}
//!     }
//! };
//! let outcome = Outcome::Applied { revision: Revision(1), incarnation: Some(Incarnation(7)) };
//! campaign.handle(now, Input::Answered(Answer::Wrote { attempt: write.attempt, outcome }))?;
//!
//! // It leads, until its deadline or until it renews.
//! assert!(campaign.is_leader(now));
//! assert!(!campaign.is_leader(now + Duration::from_secs(14)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where to read on
//!
//! [`campaign`] has the states, the argument for safety, and an order in which to read its files; [`queue`] is the second
//! acquisition rule, for a store whose standard election is a queue, as etcd's is. [`induction`] is the third, over a
//! consumer group of Kafka. [`session`] is one connection with all its campaigns, which a driver carries out.
//! [`candidacy`] has what every candidate does, whatever its rule. [`reconcile`] keeps a user's handlers in line with leadership. [`store`] defines the answers of a store, and what each
//! proves. [`record`] is the encoding, byte by byte.
//!
//! # From a fault to its rule
//!
//! | fault | file with the rule, under `core/src` |
//! |---|---|
//! | an answer is lost, late, repeated or refused | `campaign/writes.rs`; attempts in flight: `campaign/attempts.rs` |
//! | a clock drifts, a process is stopped, a machine is suspended | the deadline: `campaign/holder.rs`; the margin: `campaign/settings.rs` |
//! | a record is deleted, or expires too early | `campaign/key.rs`; the waits: `campaign/candidate.rs` |
//! | a store answers with old data, or was replaced or restored | `campaign/store_view.rs`, `campaign/inspecting.rs`; tokens that would not grow: `campaign/barred.rs` |
//! | a leader leaves, and its release fails | `campaign/releasing.rs` |
//! | a store refuses, or cannot be reached | `campaign/retrying.rs`, `campaign/pace.rs` |
//! | a watch is silent, many candidates wait | `campaign/reading.rs`, `campaign/candidate.rs` |
//! | a key or a part of a store's URL has an invisible character | `selector.rs` |
//! | a record is of other software, or of a campaign with the same random numbers | `record/mod.rs`, `record/fields.rs`, `campaign/draw.rs` |
//! | a connection breaks, a setting of the store becomes unsafe | `session/mod.rs`, `session/watch.rs`, `session/inspection.rs` |
//! | a key or a lease of a queue is lost, a server of the cluster is stale | the proof: `queue/round.rs`; the order: `queue/line.rs`; leaving: `queue/leaving.rs` |
//! | no one leads for longer than the worst fail-over | `candidacy/vacancy.rs`; what each rule waits for: its `waiting.rs` |
//! | a consumer group takes the partition away, a member hangs | `induction/owning.rs`, `induction/proof.rs` |
//! | a candidate cannot prove its claim, and holds others back | `candidacy/giving_way.rs` |
//! | a handler fails or hangs | `reconcile/mod.rs` |
//!
//! `docs/internals/faults.md` lists every fault with the tests that show its rule.
//!
//! # Glossary
//!
//! One word has one meaning, here and in every crate, language and page.
//!
//! | word | meaning |
//! |---|---|
//! | store | the system that arbitrates, such as a NATS JetStream KV bucket or a SQLite file |
//! | incarnation | one creation of a store: a store that is deleted and made again has another |
//! | election | one contest, named by a key in a store |
//! | candidate | one participant: a name, and a nonce that distinguishes two processes of the same name |
//! | campaign | the pure machine behind a candidate |
//! | session | the pure machine behind one connection to a store, with all campaigns on it |
//! | driver | the code that carries out what a session asks |
//! | record | the entry under the key: live, a release or another tombstone, or an expiry marker; each has a revision |
//! | nonce | random numbers drawn for each campaign; with the number of the attempt they are the write id of a record |
//! | term info | the token of a holder and the time for which it has led, in its record, for observers; nothing is decided by it |
//! | revision | the number that a store gives to a write; it grows with every write |
//! | holder | the writer of the live record; it becomes the leader when its win is reported |
//! | attempt | one write that was sent, with its number |
//! | orphan | our own live record that led to no term |
//! | lease | the right to lead until a local deadline `D`, extended by renewals; `D` is a margin `M` short of the lease time `T` |
//! | term | one uninterrupted leadership: its fencing token, start and deadline; it ends exactly once, with a reason |
//! | fencing token | (incarnation, sequence): constant for a term, strictly larger for every later term |
//! | mark | the highest revision known of an incarnation; a lower answer is stale |
//! | place | in a queue: a candidate's key among all candidates, foreign ones included |
//! | companion | the key beside our place, in a queue of ours alone |
//! | proof | the step from which a deadline counts where no compare-and-swap does; in a queue: keep-alives of both leases, then a linearised read of both keys under the same raft term |
//! | induction | NELI: leadership of the member that owns partition zero of a consumer group's topic, and proves it |
//! | owner | the member to which the group assigned partition zero; ownership alone proves nothing about now |
//! | claim | the record that a new owner appends to partition zero; its offset is the sequence of the token |
//! | splay | a random wait before a first campaign, so that a fleet that starts together does not stampede |
//! | first observation | the instant at which a candidate's own clock first observed a revision |
//! | win delay | the time for which a new holder waits before its win is reported, where a previous leader might still believe it leads |
//! | giving way | a candidate that cannot prove its claim removes it, and rests before it claims again |
//! | drain | the bounded time in which a leader that leaves finishes its work, while the lease is still held and renewed |
//! | hand over | a release that names the successor; other candidates hold back for a moment |
//! | barred | kept out because the next token would not be above every token observed |
//! | fenced | stopped at once, because the lease can no longer be proven |
//! | registry | the candidates of one connection, which its store announces to other connections |
//! | observer | a program that watches an election without taking part |
//! | reconciliation | bringing the user's handlers (begin, end, error) in line with leadership |
//! | vacant | without a holder |

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod campaign;
pub mod candidacy;
pub mod induction;
pub mod queue;
pub mod reconcile;
pub mod record;
pub mod selector;
pub mod session;
pub mod store;
mod time;
mod timers;
mod token;

pub use time::Instant;
pub use token::{Incarnation, ParseTokenError, Revision, Token};

/// The example of the README, so that it runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
