//! A fourth rule, which proves leadership by a counter in a memory cell. It is the smallest example of a rule, its
//! store and its world, and uses only what the core shows to other crates.
//!
//! A candidate that raises the counter holds the cell, and keeps raising the counter to keep the cell. A candidate that
//! sees the same counter for the whole lease of the holder may raise it. The holder counts its lease from before it
//! sent the request to raise the counter, and stops a margin earlier. The counter of a win is its token.

use std::convert::Infallible;

use incumbent_core::Revision;
use incumbent_core::campaign::{InvalidSettings, Reason, Settings};
use incumbent_core::candidacy::Stage;

use super::*;

/// The memory cell. A request may replace it if the counter of the request is the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    counter: u64,
    holder: Nonce,
    lease: Duration,
}

/// What a candidate knows. The rule is broken if `WAITS` is false.
#[derive(Clone, Debug, Default)]
struct Counter<const WAITS: bool> {
    /// The newest cell that the candidate saw, and when it first saw that cell.
    seen: Option<(Cell, Instant)>,
    /// The number of the newest request, and when it was sent.
    asked: (u64, Instant),
    deadline: Option<Instant>,
}

incumbent_core::timers! { Deadline, Close, Drain, Splay, Ask, }

impl<const WAITS: bool> Rule for Counter<WAITS> {
    type Store = ();
    type Settings = ();
    type Timer = Timer;
    type Request = (u64, Option<Cell>);
    /// The number of the request, the cell, and whether the request replaced it.
    type Answer = (u64, Cell, bool);
    type Shown = ();
    type Early = ();
    type Told = Infallible;
    type Tell = Infallible;
    type Race = ();
    type Leaving = ();

    fn begin(
        settings: Settings,
        (): &(),
        _: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Candidacy<Self>, InvalidSettings> {
        Candidacy::of_rule(settings, (), nonce, seed, now, Self::default())
    }

    fn claim(c: &mut Candidacy<Self>) {
        *c.stage_mut() = Stage::Racing(());
        Self::fire(c, Timer::Ask);
    }

    fn deadline(c: &Candidacy<Self>) -> Option<Instant> {
        c.term().and(c.own().deadline)
    }

    fn fire(c: &mut Candidacy<Self>, _: Timer) {
        let (now, leads) = (c.now(), c.term().is_some());
        if !matches!(c.stage(), Stage::Racing(())) {
            return;
        }
        if !leads && now < c.rests_until() {
            return c.set_timer(Timer::Ask, c.rests_until());
        }
        let (seen, number, mut again) = (c.own().seen, c.own().asked.0 + 1, now + c.attempt_limit());
        let free_at = seen.map(|(cell, since)| since + cell.lease);
        let may_raise = leads || !WAITS || free_at.is_some_and(|at| at <= now);
        let (holder, lease) = (c.nonce(), c.lease_time());
        let raised = seen.map(|(cell, _)| Cell { counter: cell.counter + 1, holder, lease });
        c.own_mut().asked = (number, now);
        c.ask((number, raised.filter(|_| may_raise)));
        again = free_at.filter(|at| *at > now).map_or(again, |at| at.min(again));
        c.set_timer(Timer::Ask, again);
    }

    fn answered(c: &mut Candidacy<Self>, (number, cell, raised): Self::Answer) {
        let (now, (newest, sent)) = (c.now(), c.own().asked);
        if c.own().seen.is_none_or(|(seen, _)| seen.counter < cell.counter) {
            c.own_mut().seen = Some((cell, now));
        }
        let deadline = sent + (c.lease_time() - c.margin());
        if number != newest || !matches!(c.stage(), Stage::Racing(())) {
            return;
        }
        if raised && now < deadline {
            c.own_mut().deadline = Some(deadline);
            c.set_timer(Timer::Ask, sent + c.lease_time() / 3);
            if c.term().is_none() {
                c.won(Token { incarnation: Incarnation(0), sequence: Revision(cell.counter) });
            }
        } else if c.term().is_some() && cell.holder != c.nonce() {
            Self::lose(c, Reason::Usurped);
        }
    }

    fn knows_a_leader(c: &Candidacy<Self>) -> bool {
        c.own().seen.is_some_and(|(cell, since)| c.now() < since + cell.lease)
    }

    fn worst_fail_over(c: &Candidacy<Self>, _: Instant) -> Duration {
        c.lease_time() * 2
    }
}

struct Memory<const WAITS: bool>(Cell);

impl<const WAITS: bool> Store for Memory<WAITS> {
    type Rule = Counter<WAITS>;
    /// A request of a candidate's process arrives at the cell.
    type Event = (usize, u64, (u64, Option<Cell>));
    type Incoming = InputOf<Self>;
    type Process = ();

    fn new(_: &Plan) -> Self {
        Self(Cell { counter: 0, holder: Nonce(0), lease: Duration::ZERO })
    }

    fn process(_: usize, _: &Plan, _: &mut Dice) {}
}

impl<const WAITS: bool> Hooks<Memory<WAITS>> for World<Memory<WAITS>> {
    fn happen(&mut self, (node, process, (number, raise)): (usize, u64, (u64, Option<Cell>))) {
        let raised = raise.filter(|cell| cell.counter == self.store.0.counter + 1);
        self.store.0 = raised.unwrap_or(self.store.0);
        if self.nodes[node].cut_in == 0 && !self.is_lost(node) {
            let answer = (number, self.store.0, raised.is_some());
            let latency = self.latency(node);
            self.deliver_after(latency, node, process, Input::Answered { id: CANDIDATE, answer });
        }
    }

    fn connection(&self, _: usize) {}

    fn receive(&mut self, node: usize, incoming: InputOf<Memory<WAITS>>) {
        self.handle(node, incoming);
    }

    fn carry_out(&mut self, node: usize, output: OutputOf<Memory<WAITS>>) {
        let (process, asked_at) = (self.nodes[node].process, self.nodes[node].clock.at(self.now));
        let (incarnation, _, never_used) = self.store.birth();
        let info = StoreInfo { asked_at, incarnation, age: None, never_used, max_age: None, newest: None };
        let incoming = match output {
            Output::Ask { request, .. } if self.nodes[node].cut_out == 0 && !self.is_lost(node) => {
                let latency = self.latency(node);
                return self.after(latency, (node, process, request));
            }
            Output::Inspect { number, .. } => Input::Inspected { number, result: Ok(info) },
            Output::Watch { number, .. } => Input::NotWatchable { number },
            _ => return,
        };
        self.deliver_after(Duration::from_millis(1), node, process, incoming);
    }

    fn owner(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|node| self.nodes[*node].nonce == self.store.0.holder)
    }
}

/// Runs a seed, with the faults that every store has.
fn run<const WAITS: bool>(seed: u64) -> Outcome {
    let faults = "loss delay cut cut-requests cut-replies pause suspend crash starve drift clock-back illness handler \
                  close slow-process";
    let faults = faults.split(' ').map(|name| name.parse().unwrap());
    let plan = Plan::new(&crate::Choice { faults: Some(faults.collect()), ..crate::Choice::of_seed(seed) });
    run_traced::<Memory<WAITS>>(plan, false, false).outcome
}

#[test]
fn a_rule_over_a_counter_keeps_what_every_rule_promises() {
    let mut total = Tally::default();
    for seed in 0..300 {
        let outcome = run::<true>(seed);
        assert_eq!(outcome.violation, None, "seed {seed}");
        total.add(&outcome.tally);
    }
    assert!(total.terms > 1_000, "{total}");
}

#[test]
fn without_its_wait_two_lead_at_once() {
    let found = (0..20).find_map(|seed| run::<false>(seed).violation);
    assert_eq!(found.map(|violation| violation.invariant), Some("I1"));
}
