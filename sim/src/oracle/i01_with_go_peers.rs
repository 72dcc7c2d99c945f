//! I1, where candidates of the Go library are in the election: they lead from their `OnWon` to their `OnLost`.

use incumbent_core::Instant;

use super::Oracle;
use crate::moment::{Moment, View};

pub(super) struct WithGoPeers {
    until: Vec<Option<Instant>>,
    peers: Vec<bool>,
}

impl WithGoPeers {
    pub(super) fn new(count: usize, peers: usize) -> Self {
        Self { until: vec![None; count], peers: vec![false; peers] }
    }

    fn check(&self, view: &View<'_>) -> Result<(), String> {
        let ours = (0..self.until.len()).filter(|node| self.until[*node].is_some_and(|at| at > view.now));
        let theirs = (0..self.peers.len()).filter(|peer| self.peers[*peer]);
        let names: Vec<_> =
            ours.map(|node| format!("c{node}")).chain(theirs.map(|peer| format!("go-{peer}"))).collect();
        if names.len() > 1 { Err(format!("{} lead at once", names.join(" and "))) } else { Ok(()) }
    }
}

impl Oracle for WithGoPeers {
    fn states(&self) -> (&'static str, &'static str) {
        ("I1", "At most one candidate leads, also where some are of the Go library, from OnWon to OnLost.")
    }

    fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Stands { node, until, .. } | Moment::Clock { node, until } => {
                self.until[*node] = *until;
                self.check(view)
            }
            Moment::Ends { node } => {
                self.until[*node] = None;
                Ok(())
            }
            Moment::Peer { peer, leads } => {
                self.peers[*peer] = *leads;
                self.check(view)
            }
            _ => Ok(()),
        }
    }
}
