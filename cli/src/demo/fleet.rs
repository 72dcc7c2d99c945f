//! All candidates, and the records of their probes.

use std::path::Path;

use tokio::sync::mpsc;

use super::actor::{Actor, Told};
use super::plan::Plan;
use crate::failure::Failure;
use incumbent_rig::history::{History, Proven};
use incumbent_rig::record;

/// All candidates.
pub(super) struct Fleet {
    pub(super) actors: Vec<Actor>,
    out: mpsc::UnboundedSender<Told>,
    told: mpsc::UnboundedReceiver<Told>,
    /// What the probes of ended runs recorded.
    past: Vec<Proven>,
}

impl Fleet {
    pub(super) fn new(names: &[String]) -> Self {
        let (out, told) = mpsc::unbounded_channel();
        Self { actors: names.iter().cloned().map(Actor::new).collect(), out, told, past: Vec::new() }
    }

    /// Starts the next run of a candidate.
    pub(super) fn start(&mut self, actor: usize, plan: &Plan) -> Result<(), Failure> {
        self.bury(actor)?;
        let body = &mut self.actors[actor];
        let part = plan.part(&body.name, body.life + 1);
        if plan.in_process {
            body.start_task(actor, part, &self.out);
            return Ok(());
        }
        let name = body.name.clone();
        body.start_process(actor, part, &self.out)
            .map_err(|error| Failure::failed(format!("the candidate {name} cannot be started: {error}")))
    }

    /// Returns the next message of any candidate. Cancel-safe.
    pub(super) async fn told(&mut self) -> Option<Told> {
        self.told.recv().await
    }

    /// The leader: the candidate that won the largest token and has not reported its loss.
    pub(super) fn leader(&self) -> Option<usize> {
        let leads = |index: &usize| self.actors[*index].token.is_some() && self.actors[*index].is_present();
        (0..self.actors.len()).filter(leads).max_by_key(|&index| self.actors[index].token)
    }

    /// What all probes have recorded so far.
    pub(super) fn history(&self) -> Result<History, Failure> {
        let mut terms = self.past.clone();
        for actor in &self.actors {
            terms.extend(read(&actor.record, &actor.name)?);
        }
        Ok(History::new(terms))
    }

    /// Keeps what the last run's probe recorded.
    fn bury(&mut self, actor: usize) -> Result<(), Failure> {
        let actor = &self.actors[actor];
        self.past.extend(read(&actor.record, &actor.name)?);
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
