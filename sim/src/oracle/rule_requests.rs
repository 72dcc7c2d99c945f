//! DESIGN.md, Times: no candidate storms the store.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::Output;

use super::Oracle;
use crate::moment::{Moment, View};

/// The most requests that one campaign may send in a second.
const MOST: usize = 40;

pub(super) struct Requests {
    /// The latest reading of each clock, and the times of the newest writes and reads.
    nodes: Vec<(Instant, VecDeque<Instant>)>,
}

impl Requests {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(Instant::ZERO, VecDeque::new()); count] }
    }
}

impl Oracle for Requests {
    fn states(&self) -> (&'static str, &'static str) {
        ("requests", "Whatever happens, a campaign writes and reads no more than forty times a second.")
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => self.nodes[*node] = (Instant::ZERO, VecDeque::new()),
            Moment::Hands { node, clock, .. } => self.nodes[*node].0 = self.nodes[*node].0.max(*clock),
            Moment::Says { node, output: Output::Write(_) | Output::Read(_), .. } => {
                let (now, sent) = &mut self.nodes[*node];
                sent.push_back(*now);
                if sent.len() > MOST
                    && let Some(first) = sent.pop_front()
                    && now.since(first) < Duration::from_secs(1)
                {
                    return Err(format!("c{node} sent {MOST} requests within {:?}", now.since(first)));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
