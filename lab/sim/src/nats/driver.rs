//! A session on a bucket: what it receives, and its requests.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::Revision;
use incumbent_core::campaign;
use incumbent_core::record::Entry;
use incumbent_core::session::{Input, Output, Scope};
use incumbent_core::store::{Fault, FaultKind, Outcome, StoreInfo};

use super::process::{Incoming, Request, Watch};
use super::{Event, World};
use crate::observation::Observation;
use crate::recording::Recorded;
use crate::world::ELECTION;

impl World {
    /// A candidate got its campaign.
    pub(super) fn enters(&mut self, node: usize, clock: Instant, info: StoreInfo) {
        self.nodes[node].oldest = Duration::ZERO;
        self.note_info(node, &info);
        let place = &self.nodes[node];
        let (process, nonce, seed) = (place.process, place.nonce, place.seed);
        if self.store.recording.is_some() {
            let (settings, store) = (Box::new(self.plan.settings_of(node)), self.plan.capabilities());
            self.record(|| Recorded::Begins { process, settings, store, info, nonce, seed, now: clock });
        }
        self.observe(&Observation::Input { node, clock, input: &campaign::Input::Inspected(Ok(info)) });
    }

    /// Notes what the store showed a process about the store.
    pub(super) fn note_info(&mut self, node: usize, info: &StoreInfo) {
        let now = self.now;
        let present = info.incarnation == self.store.cluster.bucket.incarnation;
        if present && self.nodes[node].misled.take_if(|until| *until <= now).is_some() {
            self.promises.undeceive(now, node);
        }
        let place = &mut self.nodes[node];
        place.oldest = place.oldest.max(info.max_age.unwrap_or_default());
    }

    /// Gives a message to a process.
    pub(super) fn handle_message(&mut self, node: usize, incoming: Incoming) {
        match incoming {
            Incoming::Connected => {
                // The watch has ended together with its connection.
                let number = self.nodes[node].watch.number;
                self.nodes[node].watch.end();
                self.handle(node, Input::WatchEnded { number });
                self.handle(node, Input::Reconnected);
            }
            Incoming::WatchReady { number, incarnation, entry } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number == number && !watch.ready && !watch.over {
                    watch.ready = true;
                    self.handle(node, Input::Watching { number });
                    if entry != Entry::Vacant {
                        self.deliver(node, Incoming::Watched { number, incarnation, entry });
                    }
                    if self.plan.shows_all {
                        self.handle(node, Input::WatchedAll { number, of: Scope::All });
                    }
                }
            }
            Incoming::Watched { number, incarnation, entry } => {
                let watch = &self.nodes[node].watch;
                if watch.number == number && watch.ready {
                    if self.nodes[node].inspected() == Some(incarnation) {
                        self.note_revision(node, entry.revision());
                    }
                    self.handle(node, Input::Watched { number, election: ELECTION.into(), shown: entry });
                }
            }
            Incoming::Gap { number } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number == number && !watch.over {
                    watch.end();
                    self.handle(node, Input::WatchEnded { number });
                }
            }
            Incoming::Input(input) => {
                if let Input::Answered {
                    answer: campaign::Answer::Wrote { outcome: Outcome::Applied { revision, .. }, .. },
                    ..
                } = &input
                {
                    self.note_revision(node, Some(*revision));
                }
                self.handle(node, input);
            }
        }
    }

    /// Connects a candidate's client to the next server, or arranges another try.
    pub(super) fn connect(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let reachable = self.nodes[node].cut_out == 0 && self.nodes[node].cut_in == 0;
        match self.store.cluster.next_server(self.nodes[node].server).filter(|_| reachable) {
            Some(server) => {
                self.nodes[node].server = server;
                self.deliver(node, Incoming::Connected);
            }
            None => {
                let wait = self.nodes[node].dice.millis(300, 700);
                self.after(wait, Event::Connect { node, process });
            }
        }
    }

    /// Notes a revision before the campaign receives it.
    fn note_revision(&mut self, node: usize, revision: Option<Revision>) {
        let place = &mut self.nodes[node];
        if let (Some(incarnation), Some(revision)) = (place.inspected(), revision) {
            if place.seen.0 != incarnation {
                place.seen = (incarnation, revision);
            }
            place.seen.1 = place.seen.1.max(revision);
        }
    }

    pub(super) fn serve_output(&mut self, node: usize, output: Output) {
        let process = self.nodes[node].process;
        match output {
            Output::Ask { request: campaign::Request::Write(write), .. } => {
                self.send(node, Request::Write(write))
            }
            Output::Ask { request: campaign::Request::Read(read), .. } => {
                self.send(node, Request::Read(read))
            }
            Output::Inspect { number, limit } => {
                let asked_at = self.nodes[node].clock.at(self.now);
                self.send(node, Request::Inspect { number, asked_at });
                let fault = Fault { kind: FaultKind::Unreachable, detail: "no answer".into() };
                let incoming = Incoming::Input(Input::Inspected { number, result: Err(fault) });
                self.deliver_after(limit, node, process, incoming);
            }
            Output::Watch { number, limit } => {
                self.nodes[node].watch = Watch::new(number);
                self.send(node, Request::Watch { number });
                self.after(limit, Event::WatchAgain { node, process, number });
            }
            Output::Reconnect { .. } => {
                let wait = self.nodes[node].dice.millis(1, 60);
                self.after(wait, Event::Connect { node, process });
            }
            _ => {}
        }
    }
}
