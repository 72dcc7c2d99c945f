//! The watch: it makes elections faster, and never decides a win.

use incumbent_core::Incarnation;
use incumbent_core::campaign::{Input, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::{FaultKind, Outcome, StoreInfo};

use crate::harness::*;

#[test]
fn a_deletion_is_campaigned_for_at_once() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(secs(3));
    assert_eq!(bench.watched(deleted(11)), ["acquire 1 over 11", "leader vacant", "state ACQUIRING"]);
}

#[test]
fn an_expiry_marker_is_campaigned_for_at_once() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.watched(expired(11)), ["acquire 1 over 11", "leader vacant", "state ACQUIRING"]);
}

#[test]
fn a_release_is_campaigned_for_at_once() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(
        bench.watched(released(11, secs(0))),
        ["acquire 1 over 11", "leader vacant", "state ACQUIRING"]
    );
}

#[test]
fn the_watch_spares_the_first_read_its_answer() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.watched(theirs(10)), ["leader other"]);
    assert_eq!(bench.wake(), Some((Timer::Read, secs(2))));
}

#[test]
fn where_the_watch_dies_silently_the_poll_still_elects() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.pass(T + ms(250)), ["read 2"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["acquire 1 over absent", "leader vacant", "state ACQUIRING"]);
}

/// Creates a candidate whose watch has been ready for `since`, and shows the first record, at revision 10.
fn watching_since(since: std::time::Duration) -> Bench {
    let mut bench = Bench::new();
    bench.give(Input::Watching { since: bench.now.before(since) });
    bench.give(Input::Campaign);
    bench.watched(theirs(10));
    bench.read(1, theirs(10));
    bench
}

#[test]
fn a_read_that_shows_a_write_which_the_watch_did_not_asks_which_incarnation_that_is() {
    let mut bench = watching_since(secs(2));
    assert_eq!(bench.pass(T + ms(250)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(13)), ["inspect"]);
    let replaced = |info| StoreInfo { incarnation: Incarnation(2_000), ..info };
    assert_eq!(bench.inspected_as(replaced), ["warning StoreReset", "read 3"]);
}

#[test]
fn a_read_that_shows_what_the_watch_showed_asks_nothing() {
    let mut bench = watching_since(secs(2));
    assert_eq!(bench.pass(T + ms(250)), ["read 2"]);
    bench.watched(theirs(13));
    assert_eq!(bench.read(2, theirs(13)), NOTHING);
}

#[test]
fn the_first_record_may_be_shown_by_a_read_alone() {
    let mut bench = Bench::new();
    bench.give(Input::Watching { since: bench.now.before(secs(2)) });
    assert_eq!(bench.begin(theirs(10)), ["leader other"]);
}

#[test]
fn where_there_is_no_watch_a_read_asks_nothing_though_it_shows_another_write() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.pass(T + ms(250)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(13)), NOTHING);
}

#[test]
fn a_watched_record_of_ones_own_makes_no_winner() {
    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.watched(mine(10, 1)), ["leader me"]);
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(bench.inspected(), NOTHING);
    bench.sleep(ms(1));
    assert_eq!(bench.applied(1, 10), ["inspect", "state HOLDING"]);
}

#[test]
fn a_watched_renewal_of_ones_own_extends_the_lease_from_when_it_was_sent() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.sleep(ms(300));
    assert_eq!(bench.watched(mine(11, 2)), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - ms(300)));
    bench.sleep(ms(300));
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - ms(600)), "the acknowledgement adds nothing");
}

#[test]
fn where_acknowledgements_carry_the_incarnation_a_lost_one_is_made_up_for_by_an_inspection() {
    let store = incumbent_core::store::Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    bench.pass(secs(10));
    assert_eq!(bench.watched(mine(11, 2)), NOTHING, "its acknowledgement is still awaited");
    assert_eq!(bench.remaining(), Some(T - M - secs(10)));
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    assert_eq!(bench.next(), ["renew 3 over 11"]);
    assert_eq!(bench.wrote(3, Outcome::Unknown), ["warning Unreachable"]);
    assert_eq!(bench.watched(mine(12, 3)), ["inspect"]);
    bench.inspected();
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_watched_record_with_a_number_never_used_ends_the_term() {
    let mut bench = Bench::leader();
    bench.sleep(secs(5));
    assert_eq!(bench.watched(mine(11, 77)), ["warning SameNonce me", "lost 10 USURPED", "state WAITING"]);
}

#[test]
fn a_foreign_record_above_ours_ends_the_term_at_once() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(theirs(11)), ["lost 10 USURPED", "leader other", "state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn an_operators_overwriting_ends_the_term_and_the_key_is_contested_when_it_expires() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(bare(11)), ["lost 10 USURPED", "leader go-1", "state WAITING"]);
    assert_eq!(bench.pass(T + ms(250)), ["read 2"]);
    assert_eq!(
        bench.read(2, Entry::Vacant),
        ["acquire 2 over absent", "leader vacant", "state ACQUIRING"],
        "the acquire comes after the lease and the store's granularity, no later"
    );
}

#[test]
fn an_operators_deletion_ends_the_term_at_once() {
    let mut bench = Bench::leader();
    assert_eq!(
        bench.watched(deleted(11)),
        ["lost 10 DELETED", "acquire 2 over 11", "leader vacant", "state ACQUIRING"]
    );
}

#[test]
fn a_servers_marker_over_ours_ends_the_term_at_once() {
    let mut bench = Bench::leader_with(settings(), bucket_with_markers());
    assert_eq!(
        bench.watched(expired(11)),
        ["lost 10 EXPIRED", "acquire 2 over 11", "leader vacant", "state ACQUIRING"]
    );
}

#[test]
fn what_lies_below_ours_is_ignored() {
    let mut bench = Bench::leader();
    for entry in [theirs(9), deleted(8), expired(7), released(6, secs(0)), mine(10, 1)] {
        assert_eq!(bench.watched(entry), NOTHING);
    }
    assert!(bench.leads());
}

#[test]
fn a_watch_that_lags_behind_a_read_is_ignored() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.watched(deleted(9)), NOTHING);
    assert_eq!(bench.watched(mine(8, 1)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn an_absence_is_asked_once_more_on_a_new_connection_and_then_ends_the_term() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(Entry::Vacant), ["read 2"], "the watch may be behind");
    assert_eq!(bench.read(2, Entry::Vacant), ["reconnect"]);
    assert!(bench.leads());
    assert_eq!(bench.reconnected(), ["inspect"], "an inspection first shows whether the store was replaced");
    assert_eq!(bench.inspected(), ["read 3"]);
    assert_eq!(
        bench.read(3, Entry::Vacant),
        ["lost 10 DELETED", "acquire 2 over absent", "leader vacant", "state ACQUIRING"]
    );
}

#[test]
fn an_absence_in_a_store_that_was_replaced_is_reported_as_such() {
    let mut bench = Bench::leader();
    bench.watched(Entry::Vacant);
    bench.read(2, Entry::Vacant);
    bench.reconnected();
    assert_eq!(
        bench.inspected_as(|info| StoreInfo { incarnation: Incarnation(8), ..info })[0],
        "lost 10 STORE_RESET"
    );
}

#[test]
fn an_absence_is_asked_about_again_where_inspections_fail() {
    let mut bench = Bench::leader();
    bench.watched(Entry::Vacant);
    bench.read(2, Entry::Vacant);
    bench.reconnected();
    bench.give(Input::Inspected(Err(fault(FaultKind::Denied))));
    assert!(bench.pass(secs(2)).contains(&"read 3".into()));
}

#[test]
fn an_absence_that_a_new_connection_does_not_confirm_is_forgotten() {
    let mut bench = Bench::leader();
    bench.watched(Entry::Vacant);
    bench.read(2, Entry::Vacant);
    bench.reconnected();
    bench.inspected();
    assert_eq!(bench.read(3, mine(10, 1)), NOTHING);
    assert!(bench.leads());
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(10))));
}

#[test]
fn an_absence_is_read_again_over_the_old_connection_where_no_new_one_comes() {
    let mut bench = Bench::leader();
    bench.watched(Entry::Vacant);
    assert_eq!(bench.read(2, Entry::Vacant), ["reconnect"]);
    assert_eq!(bench.pass(secs(2)), ["read 3"]);
    assert_eq!(bench.read(3, Entry::Vacant), NOTHING, "this absence does not count");
    assert!(bench.leads());
}

#[test]
fn a_renewal_refused_for_absence_is_asked_about_on_a_new_connection() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.refused(2, 0), ["reconnect"]);
    assert!(bench.leads());
    assert_eq!(bench.reconnected(), ["inspect"]);
    assert_eq!(bench.inspected(), ["read 2"]);
    assert_eq!(
        bench.read(2, Entry::Vacant),
        ["lost 10 DELETED", "acquire 3 over absent", "leader vacant", "state ACQUIRING"]
    );
}

#[test]
fn an_entry_watched_before_the_campaign_begins_is_reported_and_not_acted_upon() {
    let mut bench = Bench::new();
    assert_eq!(bench.watched(theirs(10)), ["leader other"]);
    assert_eq!(bench.watched(deleted(11)), ["leader vacant"]);
    assert_eq!(bench.give(Input::Campaign), ["acquire 1 over 11", "state ACQUIRING"]);
}

#[test]
fn the_same_holder_is_reported_once() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.watched(theirs(11)), NOTHING);
    assert_eq!(bench.campaign.leader().map(|leader| leader.name.as_str()), Some("other"));
}
