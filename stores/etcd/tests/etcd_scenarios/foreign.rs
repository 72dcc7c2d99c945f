//! The terms of both sides on one time line: those of our candidates by their answers, those of Go candidates by their
//! reports.

use std::time::Duration;

use incumbent::{Instant, Token};
use incumbent_rig::check::{Leadership, disorder, overlaps};
use incumbent_rig::history::Proven;
use incumbent_testkit::etcd::elect::GoClient;

use crate::actor::{Actor, Log, Reported};
use crate::bench::now;
use crate::process::{Process, won};

/// All terms of an election.
#[derive(Default)]
pub(crate) struct TimeLine(Vec<Leadership<u64>>);

impl TimeLine {
    /// Adds a Go candidate. `gone` is the instant at which it was killed, or stopped for longer than its lease. The Go
    /// client promises nothing for the time after that, because it has no clock that counts while the process is
    /// stopped.
    pub(crate) fn go(&mut self, candidate: &GoClient, gone: Option<Instant>) {
        let gone = gone.unwrap_or_else(now).as_nanos();
        self.0.extend(candidate.terms(gone).into_iter().map(|(from, until, token)| Leadership {
            who: candidate.name().into(),
            from,
            until,
            token,
        }));
    }

    /// Adds an actor, with the answers that a probe got.
    pub(crate) fn ours(&mut self, actor: &Actor, terms: &[Proven]) {
        self.add(actor.candidate.name(), &reported(actor.log()), terms);
    }

    /// Adds a candidate in a separate process.
    pub(crate) fn process(&mut self, process: &Process) {
        let wins: Vec<_> = process.lines().iter().filter_map(won).collect();
        self.add(&process.name, &wins, &process.terms());
    }

    /// A term lasts at least from its win, even if no answer came after that.
    fn add(&mut self, who: &str, wins: &[(Token, Instant)], terms: &[Proven]) {
        let led = |from: Instant, until: Instant, token: Token| Leadership {
            who: who.into(),
            from: from.as_nanos(),
            until: until.as_nanos(),
            token: token.sequence.0,
        };
        self.0.extend(wins.iter().map(|(token, started)| led(*started, *started, *token)));
        self.0.extend(
            terms.iter().map(|Proven { evidence, .. }| led(evidence.since, evidence.seen, evidence.token)),
        );
    }

    /// Fails if two led at once, or if the leaders did not lead in the order of their arrival. Returns the leaders in
    /// order, each term once.
    #[track_caller]
    pub(crate) fn one_at_a_time_in_the_order_of_arrival(mut self) -> Vec<String> {
        self.0.sort_by_key(|led| led.from);
        // A pause of the probe splits a term into parts with the same token.
        self.0.dedup_by(|next, led| {
            let same = next.who == led.who && next.token == led.token;
            if same {
                led.until = led.until.max(next.until);
            }
            same
        });
        assert_eq!(overlaps(&self.0), [], "two led at once: {:#?}", self.0);
        assert_eq!(disorder(&self.0), [], "a later leader arrived earlier: {:#?}", self.0);
        self.0.into_iter().map(|led| led.who).collect()
    }
}

fn reported(log: &Log) -> Vec<(Token, Instant)> {
    let won =
        |reported| if let Reported::Won(won) = reported { Some((won.token, won.started)) } else { None };
    log.so_far().into_iter().filter_map(won).collect()
}

/// The lease of a Go candidate in tests: it outlasts a stall of a busy machine.
pub(crate) const GO_LEASE: Duration = Duration::from_secs(12);
