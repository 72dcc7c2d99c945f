//! Campaigns enter, are commanded, are asked by an operator, and leave.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use core::time::Duration;

use super::Fed;
use super::candidates::Slot;
use super::io::{Command, Enter, Output, Refusal, Request};
use super::starting::First;
use super::{CampaignId, Candidate, FIRST_WAIT, MANY, Observer, Session, Stage, Timer, doubled};
use crate::campaign::{Event, State, Warning, check_name};
use crate::candidacy::Rule;
use crate::candidacy::Vacancy;
use crate::selector;
use crate::store::{Fault, FaultKind, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;

/// The time limit of an answer to a campaign that has sent no lease yet.
const FIRST_LIMIT: Duration = Duration::from_secs(10);
/// The longest wait before a store that did not answer is asked again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A campaign that has not begun: the store has not answered yet, or cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Entering<E> {
    enter: Enter,
    /// What the watch showed of its election since it entered, where that is anything.
    pub(super) early: Option<Box<E>>,
    /// Whether the campaign was reported to have entered.
    entered: bool,
    failures: u32,
    /// The warning that was reported last.
    reported: Option<Warning>,
}

impl<R: Rule> Candidate<R> {
    pub(super) fn new(enter: Enter) -> Self {
        let (id, election) = (enter.id, Arc::clone(&enter.election));
        let entering = Entering { enter, early: None, entered: false, failures: 0, reported: None };
        Self {
            id,
            next: 0,
            election,
            stage: Stage::Entering(Box::new(entering)),
            healthy: true,
            limit: FIRST_LIMIT,
            last_sent: Instant::ZERO,
            campaigning: false,
            lease: None,
            lease_time: None,
            hand_over: None,
            acceptance: None,
            barred_by: None,
            vacancy: Vacancy::default(),
            first: First::Over,
            wish: None,
        }
    }
}

impl<R: Rule> Session<R> {
    pub(super) fn enter(&mut self, enter: Enter) {
        let id = enter.id;
        if let Err(invalid) = selector::check("key", &enter.election) {
            return self.outputs.push_back(Output::Refused(id, Refusal::Settings(invalid)));
        }
        self.candidates.insert(Box::new(Candidate::new(enter)));
        if self.candidates.len() >= MANY && !core::mem::replace(&mut self.has_many, true) {
            for candidate in self.candidates.values_mut() {
                if let Stage::Running(campaign) = &mut candidate.stage {
                    R::is_one_of_many(campaign);
                }
            }
        }
        let number = self.watch.want();
        self.begin_watch(number);
        self.inspection.want(id, self.now);
        self.inspect();
    }

    /// Begins a campaign with the store's first answer.
    pub(super) fn begin(
        &mut self,
        id: CampaignId,
        result: &Result<StoreInfo, Fault>,
        observer: &mut impl Observer<R>,
    ) {
        let newest = core::mem::replace(&mut self.newest, id);
        let Some(candidate) = self.candidates.get(&id) else { return };
        let Stage::Entering(entering) = &candidate.stage else { return };
        // The store answers, so the inspections that follow may say it.
        if let (Ok(_), Some(unknown)) = (result, R::not_known_yet(&self.store)) {
            let detail = self.flaw.as_ref().map_or(unknown.detail, |flaw| flaw.detail.clone());
            return self.not_begun(id, Refusal::Store(Fault { detail, ..unknown }));
        }
        let made = result.as_ref().map_err(|fault| Refusal::Store(fault.clone())).and_then(|info| {
            let Enter { settings, nonce, seed, .. } = &entering.enter;
            let mut made = R::begin(settings.clone(), &self.store, info, *nonce, *seed, self.now);
            if let (Ok(campaign), Some(early)) = (&mut made, &entering.early) {
                R::recall(campaign, early, info);
            }
            made.map(|campaign| (campaign, info)).map_err(Refusal::Settings)
        });
        let (mut campaign, info) = match made {
            Ok(made) => made,
            Err(refusal) => return self.not_begun(id, refusal),
        };
        if let Some(newest) = self.campaign(newest) {
            campaign.share_rules(newest);
        }
        observer.begins(id, self.now, info);
        let Some(candidate) = self.candidates.get_mut(&id) else { return };
        if matches!(&candidate.stage, Stage::Entering(entering) if !entering.entered) {
            self.outputs.push_back(Output::Entered(id));
        }
        candidate.lease_time = Some(campaign.lease_time());
        if self.has_many {
            R::is_one_of_many(&mut campaign);
        }
        candidate.stage = Stage::Running(Box::new(campaign));
        let flaw = self.flaw.clone().map(Warning::Store);
        let quoted = selector::unquoted(&candidate.election)
            .map(|_| Warning::Quoted { setting: "key".into(), text: (*candidate.election).into() });
        let warnings = flaw.into_iter().chain(self.notes.iter().cloned()).chain(quoted);
        self.outputs.push_back(candidate.report(id, warnings.map(Event::Warning).collect()));
        self.deliveries.push_back((id, Fed::<R>::from(Command::Health(candidate.healthy))));
        if let Some(since) = self.watch.since() {
            self.deliveries.push_back((id, Fed::<R>::Watching { since }));
        }
        self.starts_when_it_may(id);
    }

    /// The campaign cannot begin at present: it is refused where its caller waits for it to enter, and tried again
    /// otherwise.
    fn not_begun(&mut self, id: CampaignId, refusal: Refusal) {
        let Some(slot) = self.candidates.slot(id) else { return };
        let Some(candidate) = self.candidates.at_mut(slot) else { return };
        let Stage::Entering(entering) = &mut candidate.stage else { return };
        let can_wait = matches!(&refusal, Refusal::Store(fault) if fault.kind == FaultKind::Unreachable);
        if !entering.entered {
            if !can_wait || entering.enter.fail_fast {
                self.forget(id);
                return self.outputs.push_back(Output::Refused(id, refusal));
            }
            entering.entered = true;
            self.outputs.push_back(Output::Entered(id));
        }
        let (wait, fault) = match refusal {
            Refusal::Store(fault) => {
                let wait = doubled(FIRST_WAIT, entering.failures, LONGEST_WAIT);
                entering.failures = entering.failures.saturating_add(1);
                (wait, fault)
            }
            Refusal::Settings(invalid) => {
                (LONGEST_WAIT, Fault { kind: FaultKind::Broken, detail: invalid.to_string() })
            }
        };
        self.timers.set_of(slot, Timer::Enter(id), self.now + wait);
        let warning = Warning::Store(fault);
        if entering.reported.as_ref() != Some(&warning) {
            entering.reported = Some(warning.clone());
            self.outputs.push_back(candidate.report(id, vec![Event::Warning(warning)]));
        }
    }

    pub(super) fn command(&mut self, id: CampaignId, command: Command) {
        let Some(candidate) = self.candidates.get_mut(&id) else { return };
        if let Command::Health(healthy) = command {
            candidate.healthy = healthy;
        }
        match (&candidate.stage, command) {
            (Stage::Running(_), command) => self.deliveries.push_back((id, Fed::<R>::from(command))),
            (Stage::Entering(_), Command::Close) => self.end(id),
            (Stage::Entering(_), _) => {}
        }
    }

    pub(super) fn requested(&mut self, slot: Slot, revision: Revision, request: &Request) {
        let Some(candidate) = self.candidates.at_mut(slot) else { return };
        let id = candidate.id;
        let Stage::Running(campaign) = &candidate.stage else { return };
        let (accepted, command) = match request {
            Request::HandOver { leader, successor } => {
                if campaign.nonce() != *leader || candidate.hand_over.replace(revision) == Some(revision) {
                    return;
                }
                let holds = matches!(campaign.state(), State::Leading | State::Holding);
                let accepted = holds && check_name(successor).is_ok() && campaign.name() != successor;
                (accepted, Command::HandOver(successor.clone()))
            }
            Request::AcceptReset { seen, incarnation } => {
                let is_new = candidate.acceptance.replace(revision) != Some(revision);
                let is_named = candidate.barred_by.is_some_and(|barred_by| barred_by <= *seen);
                let present = self.info.map(|info| info.incarnation);
                let accepted = is_new && is_named && present == Some(*incarnation);
                if accepted {
                    candidate.barred_by = None;
                }
                (accepted, Command::Accept)
            }
        };
        self.outputs.push_back(Output::Considered { id, request: request.clone(), accepted });
        if accepted {
            self.deliveries.push_back((id, Fed::<R>::from(command)));
        }
    }

    fn forget(&mut self, id: CampaignId) {
        self.first_question(id, First::Asked, First::Over);
        self.inspection.forget(id);
        let Some((slot, candidate)) = self.candidates.remove(id) else { return };
        self.timers.stop(slot);
        if candidate.wish.is_some() {
            self.wishes.left();
        }
        if candidate.campaigning {
            self.outputs.push_back(Output::Campaigning(id, false));
            self.register();
        }
    }

    pub(super) fn end(&mut self, id: CampaignId) {
        self.forget(id);
        self.outputs.push_back(Output::Closed(id));
    }
}
