//! Exact outputs for exact inputs of induction over a consumer group, one behaviour per test.
//!
//! Interleavings that might break the rule, and the tests that show what happens:
//!
//! | interleaving | test |
//! |---|---|
//! | removed at once after an acknowledged commit | `winning::over_a_heartbeat_the_win_waits_a_lease_from_its_first_sight` |
//! | a win without its wait | `winning::over_a_claim_the_win_waits_as_well` |
//! | a heartbeat that comes back, as proof | `proof::a_heartbeat_that_comes_back_proves_nothing` |
//! | the deadline counted from the commit | `proof::the_deadline_counts_from_the_send_of_the_heartbeat` |
//! | the wait counted from the claim | `winning::a_record_that_is_read_after_the_assignment_is_waited_for_from_the_assignment` |
//! | a commit that an empty group accepted | `proof::a_commit_that_an_empty_group_accepted_is_ignored` |
//! | a log that was not read | `winning::no_win_comes_before_the_claim_is_read_back` |
//! | a late release over a live successor | `winning::over_a_release_with_a_third_candidate_in_its_range_the_win_waits` |
//! | an assignment after the removal | `proof::an_assignment_after_the_removal_leads_to_no_deadline` |
//! | a claim that lands after a successor's | `losing::a_claim_of_a_removed_member_leads_to_no_term` |
//! | an acknowledgement after the deadline | `proof::a_commit_acknowledged_after_the_deadline_saves_nothing_and_a_new_term_follows` |
//! | heartbeat and commit at the same time | `proof::a_commit_is_sent_after_the_append_and_not_before` |
//! | a crash, and a restart with the same name | `winning::a_restarted_candidate_waits_for_the_records_of_its_former_self` |
//! | a static replacement in one generation | `losing::a_replaced_static_member_loses_at_once_and_stays_out` |
//! | a topic made again between heartbeat and claim | `topic::a_topic_that_was_made_again_before_the_claim_is_waited_for` |

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod giving_way;
mod harness;
mod leaving;
mod losing;
mod observing;
mod proof;
mod releases;
mod tokens;
mod topic;
mod waiting;
mod winning;

#[test]
fn every_test_in_the_table_exists() {
    let sources = [
        ("losing", include_str!("losing.rs")),
        ("proof", include_str!("proof.rs")),
        ("topic", include_str!("topic.rs")),
        ("winning", include_str!("winning.rs")),
    ];
    let table = include_str!("main.rs").lines().filter(|line| line.starts_with("//! |"));
    let named: Vec<_> = table.filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(named.len(), 15);
    for path in named {
        let (module, name) = path.split_once("::").expect("a module and a name");
        let source = sources.iter().find(|(known, _)| *known == module).expect("a module of this test").1;
        assert!(source.contains(&format!("#[test]\nfn {name}() {{")), "{path} does not exist");
    }
}
