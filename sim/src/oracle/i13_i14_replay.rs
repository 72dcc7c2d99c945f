//! I13 and I14, by twins: a second campaign gets the same seed and inputs, and for every reading of the clock
//! that went back the latest one instead. It must emit the same.

use incumbent_core::Instant;

pub(super) struct Replay {
    latest: Vec<Instant>,
}

impl Replay {
    pub(super) const STATES: (&'static str, &'static str) = (
        "I13, I14",
        "A clock reading that goes back changes nothing; the same seed and inputs give the same outputs.",
    );

    pub(super) fn new(count: usize) -> Self {
        Self { latest: vec![Instant::ZERO; count] }
    }

    pub(super) fn begins(&mut self, node: usize) {
        self.latest[node] = Instant::ZERO;
    }

    pub(super) fn latest(&mut self, node: usize, clock: Instant) -> Instant {
        self.latest[node] = self.latest[node].max(clock);
        self.latest[node]
    }
}
