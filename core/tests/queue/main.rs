//! The rule of a place in a queue, input by input: the exact outputs of one candidate.
//!
//! | fault | test |
//! |---|---|
//! | 47 two processes of one name | `namesake::another_candidate_of_our_name_is_reported_once_it_outlives_its_lease` |
//! | 51 the lease is gone while waiting in line | `losing::a_place_that_vanished_while_waiting_is_no_win_but_a_new_candidacy` |
//! | 52 the transaction times out | `leaving::a_candidacy_whose_transaction_has_no_answer_leaves_nothing_behind` |
//! | | `leaving::a_late_transaction_that_created_the_companion_again_is_deleted_once_more` |
//! | 53 a partition | `losing::without_a_proof_the_term_ends_at_the_deadline` |
//! | 100 a stale leader of the store answers keep-alives | `proof::a_read_of_another_raft_term_proves_nothing_and_the_round_is_repeated_at_once` |
//! | 101 live leases are revoked early | `winning::a_companion_whose_lease_is_older_than_the_raft_term_is_waited_out_where_it_was_not_released` |
//! | | `winning::a_companion_that_is_missing_in_a_later_raft_term_is_waited_out_from_when_that_is_noticed` |
//! | | `moving::a_companion_on_a_lease_that_is_older_than_the_raft_term_moves_to_one_of_that_term` |
//! | 102 an operator deletes the place | `losing::a_place_that_is_deleted_ends_the_term_and_the_companion_goes_after_the_loss` |
//! | 103 an operator revokes its lease | `losing::a_place_whose_lease_is_gone_ends_the_term_as_expired_and_no_read_is_waited_for` |
//! | 104 an operator rewrites the place | `losing::a_place_rewritten_without_a_lease_ends_the_term_as_usurped_and_is_deleted` |
//! | | `losing::a_place_without_a_lease_is_reported_once` |
//! | 105 the connection's lease is revoked | `losing::the_end_of_the_connections_lease_ends_the_term_and_another_is_asked_for` |
//! | 106 a transaction is applied after it was given up | `leaving::a_candidacy_whose_transaction_has_no_answer_leaves_nothing_behind` |
//! | 109 a keep-alive hangs | `proof::a_silent_keep_alive_ends_no_term_and_asks_for_a_new_stream` |
//! | 110 a full store | `entering::a_full_store_is_reported_and_the_candidate_waits` |
//! | | `leaving::a_leader_of_a_full_store_can_release` |
//! | 111 an authentication ends during a round | `proof::a_round_that_fails_is_repeated_and_ends_no_term` |
//! | 112 a watch gap | `winning::after_a_watch_gap_the_whole_queue_is_read` |
//! | | `winning::without_a_watch_the_next_round_elects` |
//! | 113 wiped or restored | `reset::a_store_with_another_birth_record_ends_the_term_once_a_second_connection_says_so` |
//! | | `reset::a_store_that_went_back_bars_until_a_larger_token_is_possible` |
//! | 114 the whole prefix is deleted | `winning::after_another_deleted_our_companion_a_lease_is_owed` |
//! | 115 a queue shared with foreign candidates | `winning::a_foreign_place_ahead_is_waited_for` |
//! | 116 a foreign candidate before the successor | `hand_over::a_foreign_candidate_before_the_successor_refuses_the_hand_over` |
//! | 117 a name that begins another's | `losing::the_place_of_an_election_whose_name_begins_with_ours_is_reported` |
//! | 152 another prefix lies inside the election's keys | `losing::keys_of_another_prefix_ahead_are_reported_in_the_stores_words_and_are_no_leader` |
//! | 151 a companion that cannot be deleted | `moving::a_companion_that_cannot_be_deleted_is_left_to_run_out_and_its_candidate_rests` |
//! | | `moving::a_companion_moves_once_both_leases_are_kept_alive_and_is_moved_once_a_read_shows_it` |
//! | a first read a lease after entering | `winning::where_leases_may_be_older_than_the_raft_term_a_lease_is_owed_from_the_first_read_of_the_queue` |
//! | a candidate that cannot read for good | `resting::a_place_that_cannot_be_read_for_a_lease_is_left_and_its_candidate_rests` |

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod entering;
mod hand_over;
mod harness;
mod leaving;
mod losing;
mod moving;
mod namesake;
mod proof;
mod reset;
mod resting;
mod waiting;
mod winning;

#[test]
fn every_test_in_the_table_exists() {
    let sources = [
        ("entering", include_str!("entering.rs")),
        ("hand_over", include_str!("hand_over.rs")),
        ("leaving", include_str!("leaving.rs")),
        ("losing", include_str!("losing.rs")),
        ("moving", include_str!("moving.rs")),
        ("namesake", include_str!("namesake.rs")),
        ("proof", include_str!("proof.rs")),
        ("reset", include_str!("reset.rs")),
        ("resting", include_str!("resting.rs")),
        ("winning", include_str!("winning.rs")),
    ];
    let table = include_str!("main.rs").lines().filter(|line| line.starts_with("//! |"));
    let named: Vec<_> = table.filter_map(|row| row.split('`').nth(1)).collect();
    assert!(named.len() > 20, "{} tests are named", named.len());
    for path in named {
        let (module, name) = path.split_once("::").expect("a module and a name");
        let source = sources.iter().find(|(known, _)| *known == module).expect("a module of this test").1;
        assert!(source.contains(&format!("#[test]\nfn {name}() {{")), "{path} does not exist");
    }
}
