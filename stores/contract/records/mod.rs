//! The contract of every store, as tests for any store.
//!
//! A store's own test file implements [`Fixture`] and calls `contract::store_contract!(ItsFixture);`. Every behaviour
//! is then a separate test, on a separate store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

pub(crate) mod candidates;
pub(crate) mod compare_and_swap;
pub(crate) mod concurrency;
pub(crate) mod connections;
pub(crate) mod entries;
pub(crate) mod expiry;
pub(crate) mod inspection;
pub(crate) mod names;
pub(crate) mod revisions;
pub(crate) mod watching;

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent::clock::Clock;
use incumbent::incumbent_core::record::{
    Attempt, Entry, Headers, LEASE, NONCE, Nonce, RELEASE, SUCCESSOR, WriteId,
};
use incumbent::incumbent_core::store::{Action, Expect, Outcome, Put, Write};
use incumbent::incumbent_core::{Incarnation, Revision};
use incumbent::store::{Adapter, StoreAdmin, WatchEvent, Watched};

/// The longest wait for something that must happen soon.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A store under test, without other users.
pub(crate) trait Fixture: Sized + Send + Sync + 'static {
    /// Makes an empty store.
    fn start() -> impl Future<Output = Self> + Send;

    /// Opens one more connection to the store.
    fn connect(&self) -> impl Future<Output = Box<dyn Adapter>> + Send;

    /// Opens a connection for unconditional writes.
    fn operator(&self) -> impl Future<Output = Box<dyn StoreAdmin>> + Send;

    /// Deletes the store and creates it again, under its open connections.
    fn recreate(&self) -> impl Future<Output = ()> + Send;

    /// The clock that the connections use.
    fn clock(&self) -> &Clock;

    /// A short lease for this store. Tests wait until it expires.
    fn lease(&self) -> Duration;

    /// Lets this much time pass on the clock and in the store.
    fn pass(&self, span: Duration) -> impl Future<Output = ()> + Send;
}

/// Tests a store against the contract.
macro_rules! store_contract {
    ($fixture:ident) => {
        $crate::contract::store_contract! { $fixture:
            compare_and_swap {
                an_acquire_of_a_key_never_written_is_applied,
                an_acquire_that_expects_absence_is_refused_over_a_record_with_its_revision,
                a_write_that_expects_the_present_revision_is_applied,
                a_write_that_expects_an_old_revision_is_refused_with_the_present_one,
                a_write_that_expects_a_record_where_none_is_is_refused_with_zero,
                a_refused_write_leaves_no_trace,
                a_release_compares_as_any_write_does,
                an_acquire_over_a_tombstone_expects_its_revision,
                an_acquire_over_an_operators_tombstone_expects_its_revision,
                keys_are_compared_one_by_one,
                an_acknowledgement_carries_the_incarnation_where_that_is_promised,
            }
            revisions {
                they_grow_over_renewals_releases_and_deletions,
                they_grow_across_keys,
                they_are_not_used_again_after_an_expiry,
                the_newest_is_that_of_the_last_write,
            }
            entries {
                a_key_never_written_is_vacant,
                a_live_record_reads_back_with_all_its_headers,
                a_release_reads_back_with_what_it_certifies,
                a_release_that_names_a_successor_reads_back,
                an_operators_deletion_certifies_nothing,
                an_operators_deletion_of_one_revision_leaves_every_other,
                a_foreign_value_is_a_record_without_a_stamp,
                a_foreign_value_that_is_not_text_is_a_record_too,
                an_empty_foreign_value_is_a_record_too,
                what_is_longer_than_a_record_is_reported_by_its_length,
                a_write_is_read_at_once_over_another_connection,
                a_list_holds_the_newest_entry_of_every_key,
                a_live_record_knows_how_long_ago_it_was_written,
            }
            expiry {
                a_record_is_kept_for_its_lease,
                an_expired_record_is_gone_and_its_key_can_be_acquired,
                a_renewal_begins_the_lease_again,
                a_foreign_record_expires_as_the_one_before_it_would_have,
                an_expired_record_is_not_listed_as_live,
                watchers_receive_an_expiry_where_that_is_promised,
            }
            watching {
                it_begins_with_what_is_there,
                it_says_when_it_has_shown_all_that_is_there,
                it_delivers_nothing_of_an_empty_store_until_something_is_written,
                it_delivers_every_change_in_order_with_its_headers,
                it_delivers_a_release_and_a_deletion_as_what_they_are,
                it_delivers_foreign_values,
                it_delivers_what_other_connections_write,
                it_covers_every_key,
                it_ends_a_burst_of_changes_with_the_newest,
                two_of_one_connection_are_independent,
                it_ends_when_its_connection_is_closed,
                it_ends_or_delivers_the_new_incarnation_when_the_store_is_made_again,
            }
            inspection {
                every_connection_is_shown_the_same_incarnation_and_it_stays,
                the_clock_is_read_before_the_question_leaves,
                the_age_grows_with_time,
                a_store_made_again_has_a_larger_incarnation_and_no_records,
            }
            names {
                ordinary_keys_and_names_are_accepted,
                keys_the_store_cannot_hold_are_refused,
                names_the_store_cannot_hold_are_refused,
            }
            concurrency {
                of_many_acquires_at_once_exactly_one_is_applied,
                of_many_renewals_of_one_revision_exactly_one_is_applied,
                writers_of_different_keys_all_get_through,
            }
            candidates {
                without_candidates_none_are_listed,
                the_candidates_of_all_connections_are_listed,
                a_candidate_is_listed_with_its_campaign_and_its_time_of_registration,
                a_candidate_that_leaves_the_race_is_not_listed_until_it_is_back,
                a_connection_that_ends_takes_its_candidates_along,
                a_thousand_candidates_of_one_connection_are_all_listed,
            }
            connections {
                a_write_whose_wait_is_abandoned_is_applied_once_or_never,
                abandoned_reads_and_watches_leave_a_connection_well,
                a_reconnect_changes_nothing_in_the_store,
                a_closed_connection_sends_nothing,
            }
        }
    };
    ($fixture:ident: $($theme:ident { $($behaviour:ident,)* })*) => {$(
        mod $theme {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let fixture = <super::$fixture as $crate::contract::Fixture>::start().await;
                    $crate::contract::$theme::$behaviour(&fixture).await;
                }
            )*
        }
    )*};
}
pub(crate) use store_contract;

/// The nonce of every write of these tests.
pub(crate) const NONCE_OF_TESTS: Nonce = Nonce(0xc0ffee);

pub(crate) fn write_id(attempt: u64) -> WriteId {
    WriteId { nonce: NONCE_OF_TESTS, attempt: Attempt(attempt) }
}

fn put(attempt: u64, name: &str, lease: Duration) -> Put {
    let headers =
        vec![(NONCE.into(), write_id(attempt).to_string()), (LEASE.into(), lease.as_millis().to_string())];
    Put { value: name.into(), headers, lease }
}

pub(crate) fn acquire(attempt: u64, expect: Expect, name: &str, lease: Duration) -> Write {
    Write { attempt: Attempt(attempt), expect, action: Action::Acquire(put(attempt, name, lease)) }
}

pub(crate) fn renew(attempt: u64, expect: Revision, name: &str, lease: Duration) -> Write {
    let action = Action::Renew(put(attempt, name, lease));
    Write { attempt: Attempt(attempt), expect: Expect::Revision(expect), action }
}

pub(crate) fn release(attempt: u64, expect: Revision, successor: Option<&str>) -> Write {
    let mut headers: Headers = vec![
        (NONCE.into(), write_id(attempt).to_string()),
        (RELEASE.into(), format!("{} {}", OWED.as_millis(), HELD_IN.0)),
    ];
    headers.extend(successor.map(|name| (SUCCESSOR.into(), name.into())));
    let action = Action::Release { headers };
    Write { attempt: Attempt(attempt), expect: Expect::Revision(expect), action }
}

/// The wait and the incarnation in the releases that these tests write.
pub(crate) const OWED: Duration = Duration::from_millis(1500);
pub(crate) const HELD_IN: Incarnation = Incarnation(77);

/// The revision of a write that was applied.
#[track_caller]
pub(crate) fn applied(outcome: Outcome) -> Revision {
    match outcome {
        Outcome::Applied { revision, .. } => revision,
        other => panic!("expected Applied, got {other:?}"),
    }
}

/// Acquires a key that was never written.
pub(crate) async fn acquired(store: &dyn Adapter, key: &str, name: &str, lease: Duration) -> Revision {
    applied(store.write(key, acquire(1, Expect::Absent, name, lease)).await)
}

/// The expectation of an acquire over this entry.
pub(crate) fn expect_of(entry: &Entry) -> Expect {
    entry.revision().map_or(Expect::Absent, Expect::Revision)
}

/// Asks again until the answer is `Some`, for no longer than [`LIMIT`].
pub(crate) async fn eventually<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LIMIT, asking).await.unwrap_or_else(|_| panic!("within {LIMIT:?}: {what}"))
}

/// The next change; `None` when the watch has ended.
pub(crate) async fn next(watch: &mut BoxStream<'static, Watched>) -> Option<WatchEvent> {
    loop {
        match next_item(watch).await? {
            Watched::Entry(change) => return Some(change),
            Watched::ShownAll(_) => {}
        }
    }
}

/// The next item; `None` when the watch has ended.
pub(crate) async fn next_item(watch: &mut BoxStream<'static, Watched>) -> Option<Watched> {
    let next = tokio::time::timeout(LIMIT, watch.next()).await;
    next.unwrap_or_else(|_| panic!("the watch delivers nothing within {LIMIT:?}"))
}

/// Returns the changes up to and including the first for which `is_last` is true.
pub(crate) async fn until(
    watch: &mut BoxStream<'static, Watched>,
    is_last: impl Fn(&WatchEvent) -> bool,
) -> Vec<WatchEvent> {
    let mut delivered = Vec::new();
    loop {
        let change = next(watch).await.unwrap_or_else(|| panic!("the watch ended after {delivered:?}"));
        delivered.push(change);
        if delivered.last().is_some_and(&is_last) {
            return delivered;
        }
    }
}

#[track_caller]
pub(crate) fn assert_growing<T: PartialOrd + Debug>(numbers: &[T]) {
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "not growing: {numbers:?}");
}
