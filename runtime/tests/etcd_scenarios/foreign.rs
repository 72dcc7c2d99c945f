//! The terms of both sides on one time line: ours by their answers, Go's by their own reports.

use std::time::Duration;

use incumbent::{Instant, Token};
use incumbent_rig::check::{Leadership, disorder, overlaps};
use incumbent_testkit::etcd::elect::GoClient;

use crate::actor::{Actor, Log, Reported};
use crate::bench::now;
use crate::probe::Answers;
use crate::process::{Line, Process};

/// All terms of an election.
#[derive(Default)]
pub(crate) struct TimeLine(Vec<Leadership<u64>>);

impl TimeLine {
    /// Adds a Go candidate that is gone since `gone`, or not at all: killed, or stopped for longer than its lease. Its
    /// client promises nothing for the time after that, since it has no clock that counts while it stands still.
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
    pub(crate) fn ours(&mut self, actor: &Actor, answers: &Answers) {
        self.add(actor.candidate.name(), &won(actor.log()), answers);
    }

    /// Adds a candidate in a process of its own.
    pub(crate) fn process(&mut self, process: &Process) {
        // Read first: a later win has no answers yet.
        let answers = process.answers();
        let won = process.lines().into_iter().filter_map(|line| match line {
            Line::Won { token, started } => Some((Instant::from_nanos(started), token.parse().unwrap())),
            _ => None,
        });
        self.add(&process.name, &won.collect::<Vec<_>>(), &answers);
    }

    /// A term lasts from its win, also where no answer came after that.
    fn add(&mut self, who: &str, won: &[(Instant, Token)], answers: &Answers) {
        let led = |from: Instant, until: Instant, token: Token| Leadership {
            who: who.into(),
            from: from.as_nanos(),
            until: until.as_nanos(),
            token: token.sequence.0,
        };
        self.0.extend(won.iter().map(|(started, token)| led(*started, *started, *token)));
        for span in answers.spans() {
            let term = won.iter().rfind(|(started, _)| *started <= span.until);
            let (_, token) = term.unwrap_or_else(|| panic!("{who} led without a win: {span:?}, {won:?}"));
            self.0.push(led(span.from, span.until, *token));
        }
    }

    /// Fails where two led at once, or where a later leader did not arrive later. Returns the leaders in order, each term
    /// once.
    #[track_caller]
    pub(crate) fn one_at_a_time_in_the_order_of_arrival(mut self) -> Vec<String> {
        self.0.sort_by_key(|led| led.from);
        // A pause of the probe divides a term; its parts have one token.
        self.0.dedup_by(|next, led| {
            let same = next.who == led.who && next.token == led.token;
            if same {
                led.until = next.until;
            }
            same
        });
        assert_eq!(overlaps(&self.0), [], "two led at once: {:#?}", self.0);
        assert_eq!(disorder(&self.0), [], "a later leader arrived earlier: {:#?}", self.0);
        self.0.into_iter().map(|led| led.who).collect()
    }
}

fn won(log: &Log) -> Vec<(Instant, Token)> {
    let won =
        |reported| if let Reported::Won(won) = reported { Some((won.started, won.token)) } else { None };
    log.so_far().into_iter().filter_map(won).collect()
}

/// The lease of a Go candidate in tests: the shortest that the server grants.
pub(crate) const GO_LEASE: Duration = Duration::from_secs(2);
