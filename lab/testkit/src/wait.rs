//! Waiting for a condition.

use std::time::{Duration, Instant};

/// The longest time that a condition which should hold at once may take on a busy machine.
pub const GENEROUS: Duration = Duration::from_secs(60);

/// The pause before the next check. It grows with the time waited so far and with the time that a check takes: checking
/// a server or a process's output costs processor time, and after 5 s a pause of 0.1 s is short enough.
fn pause(waited: Duration, look: Duration) -> Duration {
    (waited / 50).max(2 * look).clamp(Duration::from_millis(10), Duration::from_millis(100))
}

/// Waits until `condition` holds.
///
/// # Panics
/// When `condition` does not hold within `limit`; the message names `what`.
#[track_caller]
pub fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    until_some(what, limit, || condition().then_some(()));
}

/// Waits until `probe` finds something, and returns it.
///
/// # Panics
/// When `probe` finds nothing within `limit`; the message names `what`.
#[track_caller]
pub fn until_some<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        let looked = Instant::now();
        if let Some(found) = probe() {
            return found;
        }
        assert!(started.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(pause(started.elapsed(), looked.elapsed()));
    }
}

/// Waits until `condition` holds, on tokio's clock, without blocking the thread.
///
/// # Panics
/// When `condition` does not hold within `limit`; the message names `what`.
pub async fn until_async<F: Future<Output = bool>>(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> F,
) {
    until_some_async(what, limit, || {
        let holds = condition();
        async { holds.await.then_some(()) }
    })
    .await;
}

/// Waits until `probe` finds something, on tokio's clock, and returns it.
///
/// A probe that never returns counts as finding nothing.
///
/// # Panics
/// When `probe` finds nothing within `limit`; the message names `what`.
pub async fn until_some_async<T, F: Future<Output = Option<T>>>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> F,
) -> T {
    let search = async {
        let started = tokio::time::Instant::now();
        loop {
            let looked = tokio::time::Instant::now();
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(pause(started.elapsed(), looked.elapsed())).await;
        }
    };
    match tokio::time::timeout(limit, search).await {
        Ok(found) => found,
        Err(_) => panic!("waited {limit:?} in vain: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_ends_the_wait() {
        let mut calls = 0;
        until("three calls", GENEROUS, || {
            calls += 1;
            calls == 3
        });
        assert_eq!(calls, 3);
    }

    #[test]
    #[should_panic(expected = "waited 30ms in vain: the impossible")]
    fn a_wait_in_vain_says_what_it_waited_for() {
        until("the impossible", Duration::from_millis(30), || false);
    }

    #[test]
    fn checks_become_rarer_the_longer_a_wait_takes_and_the_more_a_check_costs() {
        let pause =
            |waited, look| pause(Duration::from_millis(waited), Duration::from_millis(look)).as_millis();
        assert_eq!([pause(0, 0), pause(1000, 0), pause(0, 20), pause(60_000, 0)], [10, 20, 40, 100]);
    }

    #[tokio::test]
    #[should_panic(expected = "waited 30ms in vain: an answer")]
    async fn a_probe_that_never_answers_ends_at_the_limit() {
        until_async("an answer", Duration::from_millis(30), std::future::pending::<bool>).await;
    }
}
