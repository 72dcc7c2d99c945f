//! All candidates, and the records of their probes.

use std::path::Path;

use tokio::sync::mpsc;

use super::member::{Member, Message};
use super::plan::Plan;
use crate::failure::Failure;
use incumbent_rig::history::{History, Proven};
use incumbent_rig::record;

/// All candidates.
pub(super) struct Fleet {
    pub(super) members: Vec<Member>,
    out: mpsc::UnboundedSender<Message>,
    messages: mpsc::UnboundedReceiver<Message>,
    /// What the probes of ended runs recorded.
    past: Vec<Proven>,
}

impl Fleet {
    pub(super) fn new(names: &[String]) -> Self {
        let (out, messages) = mpsc::unbounded_channel();
        Self { members: names.iter().cloned().map(Member::new).collect(), out, messages, past: Vec::new() }
    }

    /// Starts the next run of a candidate.
    pub(super) fn start(&mut self, member: usize, plan: &Plan) -> Result<(), Failure> {
        self.keep_evidence(member)?;
        let one = &mut self.members[member];
        let setup = plan.setup(&one.name, one.run + 1);
        if plan.in_process {
            one.start_task(member, setup, &self.out);
            return Ok(());
        }
        let name = one.name.clone();
        one.start_process(member, setup, &self.out)
            .map_err(|error| Failure::failed(format!("the candidate {name} cannot be started: {error}")))
    }

    /// Returns the next message of any candidate. Cancel-safe.
    pub(super) async fn next_message(&mut self) -> Option<Message> {
        self.messages.recv().await
    }

    /// The leader: the candidate that won the largest token and has not reported its loss.
    pub(super) fn leader(&self) -> Option<usize> {
        let leads = |index: &usize| self.members[*index].token.is_some() && self.members[*index].is_present();
        (0..self.members.len()).filter(leads).max_by_key(|&index| self.members[index].token)
    }

    /// What all probes have recorded so far.
    pub(super) fn history(&self) -> Result<History, Failure> {
        let mut terms = self.past.clone();
        for member in &self.members {
            terms.extend(read(&member.record, &member.name)?);
        }
        Ok(History::new(terms))
    }

    /// Keeps what the last run's probe recorded.
    fn keep_evidence(&mut self, member: usize) -> Result<(), Failure> {
        let member = &self.members[member];
        self.past.extend(read(&member.record, &member.name)?);
        Ok(())
    }
}

fn read(path: &Path, candidate: &str) -> Result<Vec<Proven>, Failure> {
    if path.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let lines = record::read(path)?.into_iter();
    Ok(lines.map(|evidence| Proven { candidate: candidate.to_owned(), evidence }).collect())
}
