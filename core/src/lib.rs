//! The rules of a leader election, as pure state machines.
//!
//! Several processes want to do a job that exactly one of them may do at a time. Each becomes a
//! *candidate* in an *election*; one becomes the *leader* for a *term*; when it resigns, crashes,
//! hangs or is cut off, another takes over, and the two never overlap. This crate decides who
//! leads and when. The crate `incumbent` attaches it to real systems; most people want that one.
//!
//! # What it does not do
//!
//! No I/O, no clock, no threads, no global randomness, no `std`. A [`campaign::Campaign`] opens no connections, never
//! waits and never reads a clock: its caller passes the time in. So it behaves the same in a tokio task, in a
//! WebAssembly host and in a simulator that runs a year in a minute, and a test can state the exact outputs for each
//! input.
//!
//! # The contract, in one sentence
//!
//! Give [`handle`](campaign::Campaign::handle) each input with its time, then carry out what
//! [`poll`](campaign::Campaign::poll) returns until it is [`WakeAt`](campaign::Output::WakeAt), which means: nothing
//! more until an input, or that instant. All three rules ask their store with an `Output::Ask(Request)`; the answer
//! comes back as an `Input::Answered(Answer)`, whenever it arrives.
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
//! [`campaign`] has the states, the argument for safety, and an order in which to read its files. [`queue`] is the
//! second rule, for a store whose standard election is a queue, such as etcd; [`induction`] is the third, over a Kafka
//! consumer group. [`session`] is one connection with all its campaigns, which a driver carries out. [`candidacy`] has
//! what every candidate does, whatever its rule, and what another crate needs to add a rule. [`reconcile`] keeps a
//! user's handlers in line with leadership. [`store`] defines a store's answers, and what each proves. [`record`] is
//! the encoding, byte by byte.
//!
//! In the repository, `ARCHITECTURE.md` leads from each kind of fault to the file with its rule and its tests;
//! `docs/internals/faults.md` lists every fault.
//!
//! # Glossary
//!
//! One word has one meaning, here and in every crate, language and page.
//!
//! <!-- generated: glossary -->
//! | word | meaning |
//! |---|---|
//! | **store** | The system that arbitrates: a NATS JetStream bucket, the keys of an etcd cluster under a prefix, the consumer groups of a Kafka cluster, a SQLite file, memory, or the key-value store of a WebAssembly host |
//! | **incarnation** | A number for the creation of a store. A store that was deleted and created again has a larger one |
//! | **election** | One contest, named by a key in a store |
//! | **candidate** | One participant in an election: a name, and a nonce that tells two processes of the same name apart. The handle that a program holds |
//! | **nonce** | Two random 64-bit numbers, drawn for each campaign. Every write carries it, with the number of the attempt |
//! | **campaign** | The state machine behind a candidate |
//! | **session** | The state machine behind one connection to a store: the campaigns on it, and the watch, the inspections and the timers that they share |
//! | **driver** | The thread, one for each store connection, that carries out what the session asks and reports what happens |
//! | **record** | The entry under an election's key. A live record names the holder; any other is a tombstone or a marker |
//! | **revision** | The number that a store gives to a write. It grows with every write |
//! | **tombstone** | A record of the key's deletion. A **release** is the tombstone that a holder writes when it leaves; any other is a deletion by an operator |
//! | **marker** | A record that a NATS server writes when a record has expired |
//! | **write id** | A campaign's nonce and the attempt's number, in every record that the campaign writes. A candidate recognises its own records by it |
//! | **term info** | The part of a record in which a holder states its token and the time for which it has led, for observers. No decision depends on it |
//! | **metadata** | Short texts that a leader publishes with its record, such as the address at which it serves |
//! | **holder** | The candidate that wrote the live record |
//! | **leader** | A holder whose win was reported, and whose deadline has not passed |
//! | **term** | One uninterrupted leadership. It begins with `Won`, ends exactly once with `Lost` and a reason, and has a fencing token |
//! | **attempt** | One write that was sent, with its number |
//! | **orphan** | A candidate's own live record without a term, for example after an acquire whose acknowledgement was lost |
//! | **mark** | The highest revision known of an incarnation. A lower answer is stale |
//! | **lease** | The right to lead until a deadline, extended by renewals. Its length is `T` |
//! | **deadline** | `D`: the instant, by the leader's own clock, at which it stops leading |
//! | **margin** | `M`: how much earlier than its record's expiry a leader stops, to cover clock skew, drift and delays |
//! | **fencing token** | `(incarnation, sequence)`: constant for a term, larger for every later term of the election. It sorts the same as a pair, as text and in every language |
//! | **fenced** | Stopped at once, because the lease can no longer be proven |
//! | **splay** | A random wait before a first campaign, so that a fleet that starts together does not write together |
//! | **first observation** | The instant at which a candidate's own clock first observed a revision |
//! | **win delay** | The time for which a new holder waits before its win is reported, in case an earlier leader still believes that it leads |
//! | **giving way** | A candidate that cannot prove its claim removes the claim, and rests before it claims again |
//! | **drain** | The bounded time in which a leader that leaves finishes its work, while the lease is still renewed |
//! | **hand-over** | A release that names its successor. Other candidates hold back for a moment |
//! | **barred** | Kept out because the next token would not be above every token observed |
//! | **registry** | The candidates of one connection, which its store announces to other connections |
//! | **observer** | A program that watches an election without taking part |
//! | **place** | In a store whose elections are queues: a candidate's key among all candidates, foreign ones included |
//! | **companion** | A candidate's second key, in a queue of incumbent's candidates alone |
//! | **induction** | The rule over a Kafka consumer group, after NELI: the member that owns partition zero of the group's topic leads, once it has proven that it still does |
//! | **owner** | The member to which the group assigned partition zero. Ownership alone does not prove that it holds now |
//! | **claim** | The record that a new owner appends to partition zero. Its offset is the sequence of the fencing token |
//! | **proof** | The step from which a deadline counts if there is no compare-and-swap. In a queue: keep-alives of both leases, then a linearised read that shows both keys under the same raft term. In a consumer group: an acknowledged commit after an appended heartbeat |
//! | **reconciliation** | Bringing a user's handlers (begin, end, error) in line with leadership |
//! | **vacant** | Without a holder |
//! <!-- end of glossary -->

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
#[rustfmt::skip]
mod refusals;
pub mod selector;
pub mod session;
pub mod store;
pub mod text;
mod time;
mod timers;
mod token;

pub use time::Instant;
pub use token::{Incarnation, ParseTokenError, Revision, Token};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
