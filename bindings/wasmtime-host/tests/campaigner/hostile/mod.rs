//! Hosts that fail, lie and stall. They cause no trap, no second term at the same time, and no token that is not
//! larger.

mod answers;
mod clocks_and_random;
mod guest;
mod host;

use crate::wit::events::Event;
use guest::{Guest, compiled};
use host::{Hostile, SECOND};

#[test]
fn a_hostile_host_makes_no_trap_and_no_second_term() {
    let compiled = compiled();
    let mut terms = 0;
    for seed in 0..120 {
        let malice = [2, 5, 11, 30, 60][seed as usize % 5];
        // A failure at the start is returned as an error, and ends this run.
        let Ok(mut guest) = Guest::campaign(&compiled, Hostile::new(seed, malice)) else { continue };
        let mut held = None;
        let mut last = (0, 0);
        for turn in 0..1_500 {
            let (wake, events) = guest.step();
            for event in events {
                match event {
                    Event::Won(term) => {
                        let token = (term.token.incarnation, term.token.sequence);
                        assert!(held.is_none(), "seed {seed}, turn {turn}: a second term");
                        assert!(token > last, "seed {seed}, turn {turn}: {token:?} after {last:?}");
                        (held, last) = (Some(token), token);
                        terms += 1;
                    }
                    Event::Lost(lost) => {
                        let token = (lost.term.token.incarnation, lost.term.token.sequence);
                        assert_eq!(held.take(), Some(token), "seed {seed}, turn {turn}");
                    }
                    _ => {}
                }
            }
            assert!(
                held.is_some() || !guest.is_leader(),
                "seed {seed}, turn {turn}: it leads without a reported win"
            );
            let Some(wake) = wake else { break };
            let host = guest.store.data_mut();
            // Now and then the step comes too late or too early.
            host.now = match host.below(50) {
                0 => host.now.saturating_add(5 * SECOND),
                1..10 => host.now + 1_000_000,
                _ => host.now.max(wake.min(host.now.saturating_add(SECOND))),
            };
            let elections = guest.world.incumbent_election_elections().candidate();
            match guest.store.data_mut().below(400) {
                0 => elections.call_resign(&mut guest.store, guest.election).unwrap(),
                1 => elections.call_drained(&mut guest.store, guest.election).unwrap(),
                2 => elections.call_handler_failed(&mut guest.store, guest.election).unwrap(),
                3 => elections.call_set_healthy(&mut guest.store, guest.election, false).unwrap(),
                4..14 => elections.call_set_healthy(&mut guest.store, guest.election, true).unwrap(),
                _ => {}
            }
        }
    }
    assert!(terms > 100, "only {terms} terms were won on the way");
}
