//! Two candidates of ours: one closes and comes back.

use std::time::{Duration, Instant};

use incumbent::{Candidate, Store};

use crate::{options, settle};

const ELECTION: &str = "ours";

/// One leads and one waits, each with its own connection.
pub(crate) struct Pair {
    leader: Side,
    waiter: Side,
}

struct Side {
    store: Store,
    name: &'static str,
    candidate: Candidate,
}

impl Side {
    async fn start(store: Store, name: &'static str) -> Self {
        let candidate = store.campaign(ELECTION, options(name)).await.expect("sound settings");
        Self { store, name, candidate }
    }
}

impl Pair {
    pub(crate) async fn start(url: &str) -> Self {
        let open = async || Store::open(url).await.expect("the broker is up");
        let leader = Side::start(open().await, "one").await;
        drop(leader.candidate.next_term().await.expect("the first candidate wins"));
        let waiter = Side::start(open().await, "two").await;
        settle(&waiter.store, ELECTION, 2).await;
        Self { leader, waiter }
    }

    /// Hands over once: from the call of `close` to the other's event. Then a new candidate replaces the closed one.
    pub(crate) async fn hand_over(&mut self, phase: Duration) -> Duration {
        tokio::time::sleep(phase).await;
        let began = Instant::now();
        let leaving = self.leader.candidate.request_close();
        let won = self.waiter.candidate.next_term().await.expect("the campaign continues");
        let took = began.elapsed();
        drop(won);
        leaving.await.expect("the leader leaves");
        self.leader = Side::start(self.leader.store.clone(), self.leader.name).await;
        std::mem::swap(&mut self.leader, &mut self.waiter);
        settle(&self.leader.store, ELECTION, 2).await;
        took
    }

    pub(crate) async fn close(self) {
        for side in [self.waiter, self.leader] {
            side.store.close().await.expect("closed once");
        }
    }
}
