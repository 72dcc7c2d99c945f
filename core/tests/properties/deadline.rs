//! `D = min(c0, i0) + T − M`, through a real campaign, from any reading of the clock.

use std::time::Duration;

use incumbent_core::campaign::{Answer, Campaign, Input, Output, Request};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::Outcome;
use incumbent_core::{Incarnation, Instant, Revision};
use proptest::prelude::*;

use crate::settings::Parts;
use crate::*;

/// Creates a candidate that has just sent an acquire, at `now`. Returns `None` at the end of the clock's range, because
/// no candidate does anything there.
fn acquiring(parts: Parts, now: Instant) -> Option<Campaign> {
    let mut campaign = parts.campaign(now).ok().filter(|_| now < Instant::NEVER)?;
    campaign.handle(now, Input::Campaign).expect("no misuse");
    let Output::Ask(Request::Read(read)) = campaign.poll() else { panic!("it looks first") };
    campaign
        .handle(now, Input::Answered(Answer::Read { read, result: Ok(Entry::Vacant) }))
        .expect("no misuse");
    drain(&mut campaign);
    Some(campaign)
}

/// Drains the outputs without carrying them out, and returns the newest attempt.
fn drain(campaign: &mut Campaign) -> Option<Attempt> {
    let mut newest = None;
    for _ in 0..100 {
        match campaign.poll() {
            Output::Ask(Request::Write(write)) => newest = Some(write.attempt),
            Output::WakeAt(_) => return newest,
            _ => {}
        }
    }
    panic!("outputs without end")
}

fn acknowledge(campaign: &mut Campaign, now: Instant, attempt: u64) {
    let outcome = Outcome::Applied { revision: Revision(attempt), incarnation: Some(Incarnation(1)) };
    campaign
        .handle(now, Input::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome }))
        .expect("no misuse");
}

/// The end of a lease sent at `sent`, computed in numbers that cannot overflow.
fn end(sent: Instant, campaign: &Campaign) -> u128 {
    u128::from(sent.as_nanos()) + campaign.lease_time().as_nanos() - campaign.margin().as_nanos()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_deadline_counts_from_the_send_and_never_reaches_beyond_the_end_of_time(
        parts in Parts::usual(),
        sent in instants(),
        under_way in spans(),
    ) {
        let Some(mut campaign) = acquiring(parts, sent) else { return Ok(()) };
        let now = sent + under_way;
        acknowledge(&mut campaign, now, 1);
        let end = end(sent, &campaign);
        match campaign.lease() {
            None => prop_assert!(u128::from(now.as_nanos()) >= end.min(u128::from(u64::MAX) - campaign.margin().as_nanos())),
            Some(lease) => {
                prop_assert!(lease.deadline > now);
                prop_assert!(u128::from(lease.deadline.as_nanos()) <= end);
                if u128::from(sent.as_nanos()) + parts.lease.as_nanos() <= u128::from(u64::MAX) {
                    prop_assert_eq!(u128::from(lease.deadline.as_nanos()), end);
                }
                prop_assert!(!campaign.is_leader(lease.deadline));
                prop_assert!(!campaign.is_leader(Instant::NEVER));
                prop_assert!(campaign.is_leader(now));
            }
        }
    }

    #[test]
    fn a_later_send_never_has_an_earlier_deadline(
        parts in Parts::usual(),
        one in instants(),
        other in instants(),
    ) {
        let deadline = |sent| {
            let mut campaign = acquiring(parts, sent)?;
            acknowledge(&mut campaign, sent, 1);
            campaign.lease().map(|lease| lease.deadline)
        };
        if let (Some(first), Some(last)) = (deadline(one.min(other)), deadline(one.max(other))) {
            prop_assert!(first <= last);
        }
    }

    #[test]
    fn a_renewal_extends_from_its_own_send(
        parts in Parts::usual(),
        start in instants(),
        under_way in 0u64..100,
    ) {
        let Some(mut campaign) = acquiring(parts, start) else { return Ok(()) };
        acknowledge(&mut campaign, start, 1);
        let Some(before) = campaign.lease() else { return Ok(()) };
        drain(&mut campaign);
        let sent = start + parts.lease / 3;
        let now = sent + parts.lease / 1000 * u32::try_from(under_way).unwrap_or(0);
        if now >= before.deadline {
            // The clock's range ends before the lease does.
            prop_assert!(start + parts.lease == Instant::NEVER);
            return Ok(());
        }
        campaign.handle(sent, Input::Tick).expect("no misuse");
        prop_assert_eq!(campaign.lease(), Some(before), "sending extends nothing");
        prop_assert_eq!(drain(&mut campaign), Some(Attempt(2)));
        acknowledge(&mut campaign, now, 2);
        let after = campaign.lease().expect("a renewal in time keeps the term");
        prop_assert_eq!(after.token, before.token);
        prop_assert!(after.deadline >= before.deadline);
        prop_assert!(u128::from(after.deadline.as_nanos()) <= end(sent, &campaign));
    }

    #[test]
    fn an_acknowledgement_after_the_deadline_makes_no_leader(
        parts in Parts::usual(),
        sent in instants(),
        late in 0u64..1_000_000_000_000,
    ) {
        let Some(mut campaign) = acquiring(parts, sent) else { return Ok(()) };
        let span = campaign.lease_time() - campaign.margin() + Duration::from_nanos(late);
        acknowledge(&mut campaign, sent + span, 1);
        prop_assert_eq!(campaign.lease(), None);
    }

    #[test]
    fn wherever_the_clock_is_a_tick_ends(parts in Parts::usual(), start in instants(), jumps in prop::collection::vec(spans(), 0..6)) {
        let Some(mut campaign) = acquiring(parts, start) else { return Ok(()) };
        let mut now = start;
        for jump in jumps {
            now = now + jump;
            campaign.handle(now, Input::Tick).expect("no misuse");
            drain(&mut campaign);
        }
    }
}
