//! A study, which nothing else uses: one process record that many led elections refer to.
//!
//! `docs/internals/process-record.md` has the rules, their reasons and the verdict. Here is a state machine that follows
//! them ([`process`]), a bucket ([`bucket`]) and a world of faults ([`world`]). A run fails where two processes lead one
//! election at the same instant by their own clocks, a token does not grow, or an election is not led after the faults.

mod bucket;
mod process;
mod world;

use bucket::{Body, Bucket, Key, Life};
use process::{Input, Output, Process};
use world::{Setup, run};

use crate::store::START;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// A renewal counts when it is acknowledged, before the watch has shown it.
    CountsWithoutWatch,
    /// A renewal counts when the watch has shown it, though messages are left that may replace skipped ones.
    HolesCount,
    /// A message that the watch lost is not noticed.
    GapIgnored,
    /// The deadline counts from when the watch showed the renewal.
    DeadlineFromReceipt,
    /// A renewal that was applied counts from the send of the newest attempt.
    NewestAttempt,
    /// The waits allow for no drift of clocks.
    NoDrift,
    /// Elections are taken from a process record that seems over, without a write that ends it.
    NoFence,
    /// A life that is not shown yet counts as ended.
    EndedUnproved,
    /// A process record that is gone is made again under its nonce.
    SameNonceAgain,
    /// Acquires of an earlier nonce still make terms.
    EarlierNonceCounts,
    /// A process record of the same name keeps an election held, whatever its nonce.
    AnyNonce,
    /// A process that shuts down ends its record before its terms.
    EndedBeforeItsTerms,
    /// After an operator deleted an election's key, the successor does not wait.
    DeletionAtOnce,
    /// After an operator deleted a process record, its elections are taken at once.
    DeletedProcessAtOnce,
    /// The win delay that a dead holder still owed is forgotten.
    OwedForgotten,
}

const ALL: [Broken; 15] = [
    Broken::CountsWithoutWatch,
    Broken::HolesCount,
    Broken::GapIgnored,
    Broken::DeadlineFromReceipt,
    Broken::NewestAttempt,
    Broken::NoDrift,
    Broken::NoFence,
    Broken::EndedUnproved,
    Broken::SameNonceAgain,
    Broken::EarlierNonceCounts,
    Broken::AnyNonce,
    Broken::EndedBeforeItsTerms,
    Broken::DeletionAtOnce,
    Broken::DeletedProcessAtOnce,
    Broken::OwedForgotten,
];

/// A run with as many faults as a seed is hunted with.
fn faulty(seed: u64, broken: Option<Broken>) -> Setup {
    let faults = [30, 60, 120][(seed % 3) as usize];
    let processes = 2 + (seed % 4) as usize;
    Setup { seed, processes, elections: 3, faults, broken }
}

#[test]
fn under_every_fault_one_leads_tokens_grow_and_each_election_is_led_again() {
    let (mut terms, mut lost) = (0, 0);
    // Seed 1868: a process that leaves has lost its watch, and is refused by a renewal of its own.
    for seed in 0..2_000 {
        let summary = run(faulty(seed, None)).unwrap();
        terms += summary.terms;
        lost += summary.lost;
    }
    assert!(terms > 30_000 && lost > 20_000, "{terms} terms, {lost} ended: the runs are not empty");
}

#[test]
fn each_broken_rule_is_noticed_by_a_seed() {
    for broken in ALL {
        let noticed = (0..2_000).find_map(|seed| run(faulty(seed, Some(broken))).err());
        assert!(noticed.is_some(), "{broken:?}");
        println!("{broken:?}: {}", noticed.unwrap_or_default());
    }
}

#[test]
fn a_process_renews_one_record_however_many_elections_it_leads() {
    let mut alike = None;
    for elections in [1, 10, 100] {
        let summary = run(Setup { seed: 1, processes: 1, elections, faults: 0, broken: None }).unwrap();
        let (all, count) = (elections as u64, summary.count);
        assert_eq!((summary.terms, summary.lost), (all, 0));
        assert_eq!(summary.writes, count.renewals + all, "and an acquire of each");
        // No election is held in the first round yet.
        assert_eq!(count.separate, (count.renewals - 1) * all, "with a lease for each election");
        assert_eq!(*alike.get_or_insert(count.renewals), count.renewals, "whatever the number of elections");
        println!("{elections} elections: {count:?}");
    }
    // 210 s, a lease of 10 s, a clock that may run 5 % slow or fast.
    assert!(alike.is_some_and(|renewals| (59..=67).contains(&renewals)), "{alike:?}");
}

#[test]
fn without_faults_no_term_ends() {
    for seed in 0..20 {
        let summary = run(Setup { faults: 0, ..faulty(seed, None) }).unwrap();
        assert_eq!((summary.terms, summary.lost), (3, 0));
        assert!(summary.all_led < std::time::Duration::from_secs(1), "{:?}", summary.all_led);
    }
}

/// Returns true if a leader still leads after its first deadline, though its key was deleted and acquired again before
/// it renewed: its watch was too slow to see the deletion, has shown the renewal, and has the successor still to show.
fn leads_on_a_skipped_deletion(broken: Option<Broken>) -> bool {
    let at = |millis| START + std::time::Duration::from_millis(millis);
    let (mut bucket, mut leader) = (Bucket::default(), Process::new(0, 2, 1, 7, broken));
    let mut nth = 0;
    let mut shown = 0;
    let mut step = |leader: &mut Process, bucket: &mut Bucket, now, shows: bool| {
        let mut input = Input::Tick;
        if shows {
            let (entry, is_last) = bucket.after(shown);
            shown = entry.map_or(shown, |entry| entry.revision);
            nth += 1;
            input = Input::Watched { number: 1, nth, entry, is_last };
        }
        let outputs = leader.handle(now, &input);
        for output in &outputs {
            if let Output::Write { write, .. } = output {
                bucket.apply(write).unwrap();
            }
        }
        outputs
    };
    step(&mut leader, &mut bucket, at(0), false);
    // The watch begins with nothing, then shows the process record, then the election's; the leader has won.
    step(&mut leader, &mut bucket, at(0), true);
    step(&mut leader, &mut bucket, at(1), true);
    let won = step(&mut leader, &mut bucket, at(2), true);
    assert!(matches!(won[..], [Output::Won { election: 0, token: 2 }]), "{won:?}");
    bucket.put(Key::Election(0), Body::Deleted);
    let renewed = step(&mut leader, &mut bucket, at(3_400), false);
    assert!(matches!(renewed[..], [Output::Write { .. }]), "{renewed:?}");
    let by = Life { process: 1, nonce: 9 };
    bucket.put(Key::Election(0), Body::Held { by, attempt: 1, owed: process::LEASE });
    let shown = step(&mut leader, &mut bucket, at(3_500), true);
    assert!(shown.is_empty(), "the deletion is gone, so the renewal is next: {shown:?}");
    leader.is_leader(0, at(9_500))
}

#[test]
fn a_renewal_shown_before_the_successor_does_not_count() {
    assert!(!leads_on_a_skipped_deletion(None));
    assert!(leads_on_a_skipped_deletion(Some(Broken::HolesCount)));
}
