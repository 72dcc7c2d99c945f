//! Waiting for a condition.

use std::time::{Duration, Instant};

/// The longest time on a busy machine for a condition that should hold at once.
pub const GENEROUS: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(10);

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not hold within `limit`; the message names `what`.
#[track_caller]
pub fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    until_some(what, limit, || condition().then_some(()));
}

/// Waits until `probe` finds something, and returns it.
///
/// # Panics
/// When there is none within `limit`; the message names `what`.
#[track_caller]
pub fn until_some<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(started.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(POLL);
    }
}

/// Waits until `condition` holds, on tokio's clock, without blocking the thread.
///
/// # Panics
/// When it does not hold within `limit`; the message names `what`.
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
/// A probe that never returns counts as one that finds nothing.
///
/// # Panics
/// When there is none within `limit`; the message names `what`.
pub async fn until_some_async<T, F: Future<Output = Option<T>>>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> F,
) -> T {
    let search = async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
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

    #[tokio::test]
    #[should_panic(expected = "waited 30ms in vain: an answer")]
    async fn a_probe_that_never_answers_ends_at_the_limit() {
        until_async("an answer", Duration::from_millis(30), std::future::pending::<bool>).await;
    }
}
