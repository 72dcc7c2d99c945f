//! Two candidates of ours: one closes, the other wins, and a new candidate joins.

use std::time::{Duration, Instant};

use incumbent::{Candidate, Store};

use crate::{options, settle};

const ELECTION: &str = "ours";

/// A leader and a waiting candidate, each on its own connection.
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

    /// Hands over once, and returns the time from the call of `close` to the other candidate's win. Then a new
    /// candidate replaces the closed one.
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
