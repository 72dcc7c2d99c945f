//! Handlers that take their time, fail and hang: the promises about them hold.

use incumbent_sim::{Handled, run_handlers};

#[test]
fn whatever_handlers_do_what_is_promised_holds() {
    let mut all = Handled::default();
    for seed in 0..3000 {
        let handled = run_handlers(seed);
        assert_eq!(handled.violation, None);
        all.begun += handled.begun;
        all.failed += handled.failed;
        all.stopped += handled.stopped;
        all.overdue += handled.overdue;
        all.together += handled.together;
        all.gave_up += handled.gave_up;
        all.dropped += handled.dropped;
    }
    // The runs are not empty: all of these happen.
    let counts = [all.begun, all.failed, all.stopped, all.overdue, all.together, all.gave_up, all.dropped];
    assert!(counts.iter().all(|count| *count > 500), "{all:?}");
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..20 {
        assert_eq!(run_handlers(seed), run_handlers(seed));
    }
    assert_ne!(run_handlers(1).digest, run_handlers(2).digest);
}
