//! A session on Kafka: the messages that it receives, and its requests.

use std::time::Duration;

use incumbent_core::induction::{self, Answer, Shown};
use incumbent_core::session::{Input, Output};

use super::process::Incoming;
use super::{Event, Kafka, World};
use crate::world::{CANDIDATE, ELECTION, OutputOf};

impl World {
    /// Gives a message to a process.
    pub(super) fn handle_message(&mut self, node: usize, incoming: Incoming) {
        match incoming {
            Incoming::Group { client, life, reply } => self.hear(node, client, life, reply),
            // The message is from a closed client.
            Incoming::Polled { client, .. } | Incoming::CommitResult { client, .. }
                if self.nodes[node].client.number != client => {}
            Incoming::Polled { .. } | Incoming::CommitResult { .. } if self.nodes[node].held > 0 => {
                self.nodes[node].unpolled.push_back(incoming);
            }
            Incoming::Polled { answer, .. } => {
                self.nodes[node].client.reports -= 1;
                self.answer(node, answer);
            }
            Incoming::CommitResult { attempt, result, .. } => {
                let answer = self.committed(attempt, node, result);
                self.answer(node, answer);
            }
            Incoming::Shown(shown) => {
                let nonce = self.nodes[node].nonce;
                if let Shown::Record(record) = &shown
                    && let Some(own) = record.write_id.filter(|id| id.nonce == nonce)
                {
                    let reader = &mut self.nodes[node].reader;
                    (reader.read_back, reader.unread_since) = (own.attempt, None);
                }
                if self.nodes[node].watching {
                    let number = self.nodes[node].watch;
                    self.handle(node, Input::Watched { number, election: ELECTION.into(), shown });
                }
            }
            Incoming::Input(input) => self.deliver_input(node, input),
        }
    }

    fn deliver_input(&mut self, node: usize, input: Input<Answer, Shown>) {
        match &input {
            Input::Watching { .. } => self.nodes[node].watching = true,
            // A delivery is reported once. Half of the deliveries that were given up are reported again when they
            // succeed.
            Input::Answered { answer: Answer::Published { attempt, result }, .. } => {
                let is_first = self.nodes[node].unanswered.remove(attempt);
                if !is_first && (result.is_err() || self.nodes[node].dice.percent(50)) {
                    return;
                }
                if result.is_ok() && *attempt > self.nodes[node].reader.read_back {
                    self.own_appended(node);
                }
            }
            Input::Answered { answer: Answer::Inspected(Ok(topic)), .. } if self.nodes[node].reader.on => {
                self.topic_named(node, topic.id);
            }
            // The reader begins once the topic that it reads is known.
            Input::Answered { answer: Answer::Inspected(Ok(topic)), .. } => {
                (self.nodes[node].reader.on, self.nodes[node].reader.named) = (true, topic.id);
                self.handle(node, input);
                return self.fetch_soon(node);
            }
            _ => {}
        }
        self.handle(node, input);
    }

    fn answer(&mut self, node: usize, answer: Answer) {
        self.handle(node, Input::Answered { id: CANDIDATE, answer });
    }

    pub(super) fn serve_output(&mut self, node: usize, output: OutputOf<Kafka>) {
        let process = self.nodes[node].process;
        match output {
            Output::Ask { request, limit, .. } => self.ask(node, request, limit),
            Output::Inspect { number, limit } => self.inspect_store(node, number, limit),
            Output::Report { events, .. }
                if events
                    .iter()
                    .any(|event| matches!(event, incumbent_core::campaign::Event::Lost { .. })) =>
            {
                self.term_ended();
            }
            Output::Watch { number, .. } => {
                (self.nodes[node].watch, self.nodes[node].watching) = (number, false);
                let incoming = Incoming::Input(Input::Watching { number });
                self.deliver_after(Duration::ZERO, node, process, incoming);
            }
            _ => {}
        }
    }

    fn ask(&mut self, node: usize, request: induction::Request, limit: Duration) {
        let (process, client) = (self.nodes[node].process, self.nodes[node].client.number);
        match request {
            induction::Request::Join => self.join(node),
            induction::Request::Publish(publish) => self.publish(node, publish, limit),
            induction::Request::Commit { attempt, metadata, .. } => {
                let metadata = metadata.into();
                self.after(Duration::ZERO, Event::Commit { node, process, client, attempt, metadata });
            }
            induction::Request::Committed { number } => self.ask_committed(node, number),
            induction::Request::Yield => self.answer_revocation(node),
            induction::Request::Leave => self.leave(node),
            induction::Request::Inspect => self.inspect_topic(node, limit),
            induction::Request::Members => self.count_members(node, limit),
        }
    }
}
