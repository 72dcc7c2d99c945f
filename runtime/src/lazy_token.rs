//! A cancellation token that is created when a caller asks for it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use tokio_util::sync::CancellationToken;

/// The token of an event that few callers wait for. A token takes 112 bytes, and there may be very many terms and
/// candidates, so it is created only when needed.
#[derive(Default)]
pub(crate) struct LazyToken {
    is_cancelled: AtomicBool,
    token: OnceLock<CancellationToken>,
}

impl LazyToken {
    /// Returns the token, which is cancelled if [`cancel`](Self::cancel) has been called.
    pub(crate) fn get(&self) -> &CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        // This function and `cancel` each write one value before reading the value that the other function writes, so
        // at least one of them cancels the token.
        fence(Ordering::SeqCst);
        if self.is_cancelled.load(Ordering::Relaxed) {
            token.cancel();
        }
        token
    }

    /// Cancels the token. The caller must hold no lock, because this wakes tasks.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_cancelled_whether_it_was_asked_for_before_or_is_afterwards() {
        let (before, after) = (LazyToken::default(), LazyToken::default());
        let token = before.get().clone();
        assert!(!token.is_cancelled());
        before.cancel();
        after.cancel();
        assert!(token.is_cancelled() && after.get().is_cancelled());
    }

    #[test]
    fn a_token_that_is_asked_for_while_another_thread_cancels_it_is_cancelled() {
        for _ in 0..1_000 {
            let lazy = LazyToken::default();
            let token = std::thread::scope(|scope| {
                scope.spawn(|| lazy.cancel());
                lazy.get().clone()
            });
            assert!(token.is_cancelled());
        }
    }
}
