//! goNELI's calls, for programs that used it, on top of a [`Candidate`](incumbent::Candidate) in a Kafka consumer group.
//!
//! NELI elects the member of a consumer group that owns partition zero of the *leader topic*. goNELI is its
//! implementation in Go. [`Neli`] has goNELI's calls and defaults, and no election of its own: it is a [`Candidate`](incumbent::Candidate),
//! which proves its lease as on every store, and [`Neli::candidate`] returns it. New programs do not need this crate:
//! [`Store::open`](incumbent::Store::open) with a `kafka://` URL has everything, including fencing tokens.
//!
//! ```no_run
//! use std::time::Duration;
//! use incumbent_neli::{Config, Event, Neli};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::new()
//!     .kafka("bootstrap.servers", "localhost:9092")
//!     .leader_group("my-app.group")
//!     .leader_topic("my-app.topic")
//!     .barrier(async |event| match event {
//!         Event::Acquired => println!("leading"),
//!         Event::Revoked => println!("finishing: the group waits for this call"),
//!         Event::Fenced => println!("stopped"),
//!     });
//! let neli = Neli::new(config).await?;
//!
//! // Called repeatedly while this process leads.
//! let pulser = neli.background(async |term| {
//!     println!("a piece of work, with token {}", term.token());
//!     tokio::time::sleep(Duration::from_millis(100)).await;
//! });
//! pulser.ended().await?;
//! # Ok(()) }
//! ```
//!
//! # Differences from goNELI
//!
//! - [`is_leader`](Neli::is_leader) compares a proven deadline with the clock. It turns false by itself, in the middle of
//!   a task or while the process is stopped; goNELI's flag falls at the next pulse.
//! - The store polls Kafka on a separate thread, so a long task does not cost the membership. In exchange the pulses are
//!   watched: a program that has not pulsed for [`max.poll.interval.ms`](Config::max_poll_interval) leaves the group
//!   until its next pulse.
//! - The [barrier](Config::barrier) is called as soon as something happens, not at the next pulse. So it may run at the
//!   same time as a task of [`background`](Neli::background). A revocation waits for both; a task is dropped the moment
//!   its term ends.
//! - `Revoked` is emitted if the group, or a close, leaves time to finish, and `Fenced` if not, whatever the reason.
//!   goNELI reports a sudden removal as revoked.
//! - A fenced leader that proves its lease again begins a new term with a larger token: another `Acquired`.
//! - A pulse returns its error without the leadership, which is [`is_leader`](Neli::is_leader).
//!
//! With the feature `testing` there is a [`Mock`], which needs no server.

#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod config;
mod event;
#[cfg(feature = "testing")]
mod mock;
mod neli;
mod pulses;

pub use config::{Config, sanitise};
pub use event::Event;
#[cfg(feature = "testing")]
pub use mock::{Mock, MockConfig};
pub use neli::{Neli, PulseError, Pulser, State};
pub use pulses::Deadline;
