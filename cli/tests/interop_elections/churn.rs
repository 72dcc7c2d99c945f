//! Many candidates of both sides are killed, stopped and started again, on every version of the server.

use std::time::Duration;

use incumbent::store::nats::InitOptions;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait;

use crate::contender::{Contender, make_bucket};
use crate::history::{Leadership, Side, one_at_a_time};

const KEY: &str = "jobs.churn";
/// A lease far below the library's shortest. It is long enough that the library's candidates, which renew at three
/// quarters of it, are not late on a busy machine.
const LEASE: Duration = Duration::from_secs(3);
/// The number of candidates on each side.
const EACH: usize = 3;
/// The longest time to the next win: a lease, an expiry, the Go side's interval and its win delay make
/// 9 s, and the machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// How a candidate leaves.
#[derive(Clone, Copy)]
enum Exit {
    Kill,
    Stop,
}

struct Fleet {
    server: NatsServer,
    running: Vec<Contender>,
    gone: Vec<Contender>,
    started: usize,
}

impl Fleet {
    fn start(version: NatsVersion) -> Self {
        let server = NatsServer::start(Options::new().version(version));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(make_bucket(&server, InitOptions::new().lease(LEASE)));
        let mut fleet = Self { server, running: Vec::new(), gone: Vec::new(), started: 0 };
        fleet.fill();
        fleet
    }

    /// Starts the missing candidates of each side.
    fn fill(&mut self) {
        for side in [Side::Go, Side::Ours] {
            for _ in self.running.iter().filter(|one| one.side == side).count()..EACH {
                self.started += 1;
                let (server, number) = (&self.server, self.started);
                self.running.push(match side {
                    Side::Go => Contender::go(server, KEY, &format!("go-{number}"), LEASE),
                    Side::Ours => Contender::ours(server, KEY, &format!("ours-{number}"), LEASE),
                });
            }
        }
        self.running.iter().for_each(Contender::await_first_word);
    }

    fn leave(&mut self, exit: Exit, which: impl Fn(&Contender) -> bool) {
        let (leaving, staying) = self.running.drain(..).partition(which);
        self.running = staying;
        self.gone.extend::<Vec<_>>(leaving);
        for contender in self.gone.iter_mut().filter(|contender| !contender.is_gone()) {
            match exit {
                Exit::Kill => contender.kill(),
                Exit::Stop => contender.stop(),
            }
        }
    }

    /// Waits until any candidate leads, and returns its side.
    #[track_caller]
    fn await_leader(&self, what: &str) -> Side {
        let leader = || self.running.iter().find(|contender| contender.leads()).map(|leader| leader.side);
        wait::until_some(what, LIMIT, leader)
    }

    /// All candidates of the other side leave, including its leader, and `side` wins. The other side returns, and the
    /// leader leads for longer than a lease. Then the leader leaves, and either side may win.
    fn turn(&mut self, side: Side, exit: Exit) {
        self.leave(exit, |contender| contender.side != side);
        let leader = self.await_leader(&format!("a win on the side of {side:?}"));
        assert_eq!(leader, side);
        self.fill();
        let keeps_the_seat = || self.running.iter().any(Contender::leads_for_long);
        wait::until("a leader for longer than a lease", LIMIT, keeps_the_seat);
        self.leave(exit, Contender::leads);
        self.await_leader("a win of anybody");
        self.fill();
    }

    fn history(mut self) -> Vec<Leadership> {
        self.leave(Exit::Stop, |_| true);
        one_at_a_time(self.gone.iter().flat_map(Contender::leaderships).collect())
    }
}

fn churn(version: NatsVersion) {
    let mut fleet = Fleet::start(version);
    for exit in [Exit::Kill, Exit::Stop] {
        for side in [Side::Go, Side::Ours] {
            fleet.turn(side, exit);
        }
    }
    let history = fleet.history();
    for side in [Side::Go, Side::Ours] {
        let wins = history.iter().filter(|leadership| leadership.side == side).count();
        assert!(wins >= 2, "{side:?} won {wins} times: {history:#?}");
    }
}

#[test]
fn one_leads_at_a_time_while_both_sides_come_and_go_on_the_newest_server() {
    churn(NatsVersion::Newest);
}

#[test]
fn one_leads_at_a_time_while_both_sides_come_and_go_on_2_12() {
    churn(NatsVersion::V2_12);
}

#[test]
fn one_leads_at_a_time_while_both_sides_come_and_go_on_2_10() {
    churn(NatsVersion::V2_10);
}
