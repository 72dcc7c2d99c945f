//! The campaign, one candidate at a time: the exact outputs for each input, one file per event.
//!
//! Faults of a single candidate, by their number in the list of faults, each with a test that fails if the candidate
//! does not do what it must:
//!
//! | fault | test |
//! |---|---|
//! | 3 stopped while splaying | `splay::a_candidate_closed_during_its_splay_never_writes` |
//! | 4 stopped while an acquire is in flight | `orphans::stopped_while_an_acquire_is_on_its_way_the_orphan_is_removed` |
//! | 5 closed inside a handler | `contract::a_call_between_two_outputs_loses_none_of_them` |
//! | 8 stopped, resumed before D | `time::a_leader_that_was_stopped_and_resumes_before_its_deadline_still_leads` |
//! | 9 stopped, resumed after T | `time::a_leader_that_was_stopped_for_longer_leads_no_more_before_any_call` |
//! | 10 machine suspended | `time::a_machine_that_was_suspended_for_a_day_wakes_up_without_a_lease` |
//! | 17 acknowledgement of a renewal lost | `answers::a_renewal_whose_acknowledgement_is_lost_is_resolved_by_its_number` |
//! | 18 renewal lost | `answers::a_renewal_that_was_lost_is_applied_when_repeated` |
//! | 19 acknowledgement of an acquire lost | `answers::an_acquire_whose_acknowledgement_is_lost_is_retaken_and_the_retakings_sequence_is_the_token` |
//! | 20 attempts repeated | `answers::of_attempts_repeated_with_the_same_compare_the_number_says_which_was_applied` |
//! | 21 repeated Busy | `answers::busy_is_waited_out_and_ends_a_term_only_at_its_deadline` |
//! | 22 writes sent late | `answers::a_write_sent_late_by_the_client_is_harmless` |
//! | 23 a late release | `leaving::a_late_release_leaves_a_successor_alone` |
//! | 33 stale read | `staleness::a_stale_read_neither_wins_nor_loses` |
//! | 34 key deleted | `watch::an_operators_deletion_ends_the_term_at_once` |
//! | | `win_delay::over_a_foreign_tombstone_it_waits_a_lease_from_its_first_observation_and_for_a_renewal` |
//! | 35 key overwritten | `watch::an_operators_overwriting_ends_the_term_and_the_key_is_contested_when_it_expires` |
//! | 36 store deleted, recreated | `incarnation::a_store_that_was_deleted_is_reported_and_the_term_ends_at_its_deadline` |
//! | | `incarnation::another_incarnation_ends_the_term_and_the_key_is_read_again` |
//! | 37 restored from a backup | `incarnation::an_older_incarnation_is_a_restored_backup_and_bars_the_candidate` |
//! | | `incarnation::a_backup_of_this_incarnation_bars_until_its_sequences_are_beyond_every_token_observed` |
//! | 38 acknowledged writes lost | `staleness::a_lower_acknowledgement_ends_the_term_as_a_reset` |
//! | 39 maximum age changed | `warning::a_lower_maximum_age_shrinks_the_deadline_and_is_reported` |
//! | | `warning::a_maximum_age_of_zero_or_none_is_reported_and_spins_nothing` |
//! | 47 two processes of one name | `warning::another_process_of_the_same_name_is_reported_once_it_is_known_to_be_alive` |
//! | 48 an expired key stays | `warning::a_record_that_the_store_does_not_remove_is_reported_once` |
//! | 50 starved | `time::the_deadline_is_met_though_no_timer_ever_fires` |
//! | | `time::whatever_a_late_call_brings_the_term_ends_first` |
//! | 63 released during the win delay | `leaving::a_win_not_yet_reported_is_released_without_a_drain_and_the_wait_goes_with_it` |
//! | | `win_delay::over_a_release_of_this_incarnation_it_waits_what_is_written_there_whatever_was_observed_before` |
//! | 64 purged with a filter | `win_delay::after_a_filtered_purge_a_watching_candidate_waits_the_holders_lease` |
//! | | `watch::a_renewal_refused_for_absence_is_asked_about_on_a_new_connection` |
//! | 65 maximum age lowered | `win_delay::a_watching_candidate_waits_the_holders_lease_though_the_stores_maximum_age_was_lowered` |
//! | 66 recreated, a renewal matches | `incarnation::a_renewal_that_happens_to_match_the_new_incarnations_sequence_makes_no_leader` |
//! | | `incarnation::in_a_young_incarnation_no_win_is_reported_before_it_is_a_lease_old` |
//! | 67 an isolated old stream leader | `staleness::an_isolated_old_leader_of_the_stream_is_asked_until_the_deadline_and_believed_in_nothing` |
//! | | `staleness::a_term_survives_an_isolated_old_leader_if_the_majority_answers_in_time` |
//! | 68 a marker erases a write | `watch::a_servers_marker_over_ours_ends_the_term_at_once` |
//! | 69 acknowledged after D | `answers::an_acknowledgement_after_the_deadline_makes_no_leader` |
//! | | `answers::an_acknowledged_renewal_after_the_deadline_does_not_save_the_term` |
//! | 70 the release's reply lost | `leaving::a_release_whose_acknowledgement_was_lost_is_found_applied` |
//! | | `leaving::a_late_renewal_that_lands_before_the_release_is_released_as_well` |
//! | 71 memory storage restarted | `incarnation::memory_storage_that_comes_back_empty_is_noticed_by_its_small_acknowledgements` |
//! | | `staleness::a_win_whose_token_is_too_small_is_not_reported_and_the_lease_is_released` |
//! | 74 a duplicate acknowledgement | `answers::an_unknown_renewal_neither_extends_the_deadline_nor_ends_the_term` |
//! | 75 two campaigns of one process | `orphans::two_campaigns_of_one_process_do_not_count_each_others_records_as_their_own` |
//! | 76 an orphan after a deletion | `orphans::after_an_operators_deletion_the_wait_goes_with_a_retaken_orphan` |
//! | | `orphans::after_an_operators_deletion_the_wait_goes_with_a_release` |
//! | 77 a leader came and went unseen | `win_delay::a_tombstone_after_an_absence_counts_from_its_own_first_observation` |
//! | 78 an expired orphan with markers | `orphans::with_markers_an_orphan_is_retaken_before_its_own_deadline_only` |
//! | | `orphans::with_markers_a_retaking_acknowledged_after_the_orphans_deadline_is_not_reported` |
//! | 95 random numbers repeat | `twins::of_two_candidates_with_one_nonce_one_leads_and_the_other_follows_it` |
//! | | `twins::of_two_candidates_with_one_nonce_and_one_name_one_leads_at_a_time` |
//! | 96 a huge value under the key | `warning::an_entry_too_long_for_a_record_is_reported_once_and_waited_for_as_a_foreign_record` |
//!
//! `random` checks what must hold after every step of a candidate that gets nonsense.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod answers;
mod barred;
mod candidacy;
mod contract;
mod drift;
mod giving_way;
mod hand_over;
mod harness;
mod health;
mod incarnation;
mod leaving;
mod lowered_age;
mod orphans;
mod own_leases;
mod random;
mod reads;
mod settings_refused;
mod splay;
mod staleness;
mod term_info;
mod time;
mod twins;
mod warning;
mod watch;
mod win_delay;

#[test]
fn every_test_in_the_table_exists() {
    let sources = [
        ("answers", include_str!("answers.rs")),
        ("contract", include_str!("contract.rs")),
        ("incarnation", include_str!("incarnation.rs")),
        ("leaving", include_str!("leaving.rs")),
        ("orphans", include_str!("orphans.rs")),
        ("splay", include_str!("splay.rs")),
        ("staleness", include_str!("staleness.rs")),
        ("time", include_str!("time.rs")),
        ("warning", include_str!("warning.rs")),
        ("twins", include_str!("twins.rs")),
        ("watch", include_str!("watch.rs")),
        ("win_delay", include_str!("win_delay.rs")),
    ];
    let table = include_str!("main.rs").lines().filter(|line| line.starts_with("//! |"));
    let named: Vec<_> = table.filter_map(|row| row.split('`').nth(1)).collect();
    assert!(named.len() > 40, "{} tests are named", named.len());
    for path in named {
        let (module, name) = path.split_once("::").expect("a module and a name");
        let source = sources.iter().find(|(known, _)| *known == module).expect("a module of this test").1;
        assert!(source.contains(&format!("#[test]\nfn {name}() {{")), "{path} does not exist");
    }
}
