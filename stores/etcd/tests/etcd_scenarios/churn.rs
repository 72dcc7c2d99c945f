//! Candidates of both sides come and go, by every way of leaving.

use std::time::Duration;

use incumbent::Instant;
use incumbent_rig::candidate::{Order, ReportKind};
use incumbent_testkit::etcd::elect::GoClient;
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::{Bench, ELECTION, SHORT, now};
use crate::foreign::TimeLine;
use crate::process::{Line, Process};

/// The number of candidates on each side.
const EACH: usize = 2;
/// The lease of all of them.
const LEASE: Duration = SHORT;

/// How a leader leaves.
#[derive(Clone, Copy, Debug)]
enum Exit {
    Kill,
    /// The leader is stopped until another candidate leads, and then continues.
    Stop,
    Close,
}

enum Contender {
    Ours(Process),
    Go(GoClient),
}

impl Contender {
    fn leads(&self) -> bool {
        match self {
            Self::Go(go) => go.leads(),
            Self::Ours(process) => {
                let turn = |line: &Line| {
                    matches!(line.what(), Some(ReportKind::Won { .. } | ReportKind::Lost { .. }))
                };
                let last = process.lines().into_iter().rfind(turn);
                last.is_some_and(|line| matches!(line.what(), Some(ReportKind::Won { .. })))
            }
        }
    }
}

/// A candidate that has left, and the instant from which its own reports no longer count.
struct Gone(Contender, Option<Instant>);

struct Fleet {
    bench: Bench,
    running: Vec<Contender>,
    gone: Vec<Gone>,
    started: usize,
}

impl Fleet {
    /// Starts the missing candidates of each side.
    fn fill(&mut self) {
        let ours = self.running.iter().filter(|one| matches!(one, Contender::Ours(_))).count();
        for _ in ours..EACH {
            self.started += 1;
            let name = format!("ours-{}", self.started);
            self.running.push(Contender::Ours(Process::start(&self.bench.url(), &name, LEASE)));
        }
        for _ in self.running.len()..2 * EACH {
            self.started += 1;
            let name = format!("go-{}", self.started);
            let go = GoClient::campaign(&self.bench.server.address(), ELECTION, &name, LEASE);
            self.running.push(Contender::Go(go));
        }
    }

    /// Waits for a leader, and returns its index.
    fn leader(&self) -> usize {
        wait::until_some("a leader", TIME_LIMIT, || self.running.iter().position(Contender::leads))
    }

    fn leave(&mut self, exit: Exit) {
        let leader = self.leader();
        let mut leader = self.running.remove(leader);
        let left = now();
        match (&mut leader, exit) {
            (Contender::Ours(process), Exit::Kill) => process.kill(),
            (Contender::Ours(process), Exit::Close) => process.order(&Order::Close),
            (Contender::Ours(process), Exit::Stop) => process.child.pause(),
            (Contender::Go(go), Exit::Kill) => go.child().kill(),
            (Contender::Go(go), Exit::Close) => go.close(),
            (Contender::Go(go), Exit::Stop) => go.child().pause(),
        }
        self.leader();
        if let Exit::Stop = exit {
            match &mut leader {
                Contender::Ours(process) => {
                    process.child.resume();
                    process.lost();
                    process.kill();
                }
                Contender::Go(go) => {
                    go.child().resume();
                    go.nth("session lost", 1);
                }
            }
        }
        self.gone.push(Gone(leader, (!matches!(exit, Exit::Close)).then_some(left)));
        self.fill();
    }
}

/// Leaders of both sides are killed, stopped for longer than their lease, and closed, while new candidates enter. One
/// leads at a time, in the order of arrival.
#[tokio::test(flavor = "multi_thread")]
async fn one_leads_at_a_time_while_both_sides_come_and_go() {
    let bench = Bench::start(LEASE).await;
    let mut fleet = Fleet { bench, running: Vec::new(), gone: Vec::new(), started: 0 };
    fleet.fill();
    for exit in
        [Exit::Kill, Exit::Close, Exit::Stop, Exit::Close, Exit::Kill, Exit::Stop, Exit::Close, Exit::Close]
    {
        fleet.leave(exit);
    }
    let mut time_line = TimeLine::default();
    let running = fleet.running.iter().map(|one| (one, None));
    for (one, gone) in fleet.gone.iter().map(|Gone(one, gone)| (one, *gone)).chain(running) {
        match one {
            Contender::Ours(process) => time_line.process(process),
            Contender::Go(go) => time_line.go(go, gone),
        }
    }
    let leaders = time_line.one_at_a_time_in_the_order_of_arrival();
    for side in ["ours", "go"] {
        assert!(leaders.iter().any(|leader| leader.starts_with(side)), "{side} never led: {leaders:?}");
    }
}
