//! I1, among our candidates and together with candidates of the Go library in the same election.

use incumbent_core::Instant;
use incumbent_core::candidacy::Rule;

use super::Oracle;
use crate::kind::Store;
use crate::observation::{Observation, Seen, View};

/// Keeps, for each candidate, the span in which its `is_leader` returns true unless an event changes that.
///
/// A span begins only with an event of its candidate. It is therefore enough to look for another open span whenever one
/// begins. That covers every instant, even for candidates that are stopped.
#[derive(Debug)]
pub(super) struct OneLeader {
    until: Vec<Option<Instant>>,
}

impl OneLeader {
    pub(super) fn new(count: usize) -> Self {
        Self { until: vec![None; count] }
    }

    fn check(&self, view: &View<'_>) -> Result<(), String> {
        let leaders =
            || (0..self.until.len()).filter(|node| self.until[*node].is_some_and(|until| until > view.now));
        let excused = leaders().any(|node| view.promises.excuses(view.now, node));
        if leaders().count() <= 1 || excused || !view.promises.one_leader(view.now) {
            return Ok(());
        }
        let names: Vec<_> = leaders().map(|node| format!("c{node}")).collect();
        Err(format!("{} lead at once", names.join(" and ")))
    }
}

impl<R: Rule> Oracle<R> for OneLeader {
    fn states(&self) -> (&'static str, &'static str) {
        ("I1", "At most one candidate's is_leader is true at any real instant.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Ends, Seen::Handled, Seen::Clock]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        match observation {
            Observation::Handled { node, until, .. } | Observation::Clock { node, until }
                if self.until[*node] != *until =>
            {
                self.until[*node] = *until;
                self.check(view)
            }
            Observation::Ends { node } => {
                self.until[*node] = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// I1 together with candidates of the Go library, which lead from `OnWon` to `OnLost`.
#[derive(Debug)]
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
        let excused = view.plan.choice.store == Store::Etcd && view.promises.foreign_may_overlap(view.now);
        if names.len() > 1 && !excused {
            Err(format!("{} lead at once", names.join(" and ")))
        } else {
            Ok(())
        }
    }
}

impl<R: Rule> Oracle<R> for WithGoPeers {
    fn states(&self) -> (&'static str, &'static str) {
        ("I1", "At most one candidate leads, including candidates of the Go library, from OnWon to OnLost.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Ends, Seen::Handled, Seen::Clock, Seen::Peer]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        match observation {
            Observation::Handled { node, until, .. } | Observation::Clock { node, until } => {
                self.until[*node] = *until;
                self.check(view)
            }
            Observation::Ends { node } => {
                self.until[*node] = None;
                Ok(())
            }
            Observation::Peer { peer, leads } => {
                self.peers[*peer] = *leads;
                self.check(view)
            }
            _ => Ok(()),
        }
    }
}
