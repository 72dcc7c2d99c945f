//! Two candidates that hand over to each other.

use std::time::{Duration, Instant};

use incumbent::{CampaignOptions, Candidate, Events, Store};

/// A leader and a waiting candidate, each on its own connection.
pub(crate) struct Pair {
    stores: Vec<Store>,
    leader: Side,
    waiter: Side,
    /// The time for a new waiter to settle before the leader leaves.
    settled: Duration,
}

struct Side {
    candidate: Candidate,
    events: Events,
}

impl Pair {
    pub(crate) async fn start(url: &str, options: &CampaignOptions, settled: Duration) -> Self {
        let mut stores = Vec::new();
        let mut sides = Vec::new();
        for name in ["one", "two"] {
            let store = Store::open(url).await.expect("the store is there");
            let options = options.clone().name(name).splay(Duration::ZERO);
            let candidate = store.campaign("ours", options).await.expect("sound settings");
            let events = candidate.events();
            if sides.is_empty() {
                drop(candidate.next_term().await.expect("the first candidate wins"));
            }
            sides.push(Side { candidate, events });
            stores.push(store);
        }
        let (waiter, leader) = (sides.pop().expect("two sides"), sides.pop().expect("two sides"));
        let mut pair = Self { stores, leader, waiter, settled };
        pair.settle().await;
        pair
    }

    /// Hands over once. Returns the time from the call of `resign` to the win of the waiting candidate.
    pub(crate) async fn hand_over(&mut self) -> Duration {
        let began = Instant::now();
        let leaving = self.leader.candidate.request_resign();
        let won = self.waiter.candidate.next_term().await.expect("the campaign continues");
        let took = began.elapsed();
        drop(won);
        leaving.await.expect("the leader leaves");
        std::mem::swap(&mut self.leader, &mut self.waiter);
        self.settle().await;
        took
    }

    /// Waits until the waiting candidate has seen the leader, and then for the settling time.
    async fn settle(&mut self) {
        while self.waiter.candidate.leader().map(|leader| leader.name).as_deref()
            != Some(self.leader.candidate.name())
        {
            self.waiter.events.next().await.expect("the campaign continues");
        }
        tokio::time::sleep(self.settled).await;
    }

    pub(crate) async fn close(self) {
        for store in self.stores {
            store.close().await.expect("closed once");
        }
    }
}
