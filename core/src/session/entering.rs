//! How campaigns enter, take commands and operators' requests, and leave.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

use super::candidate::{Candidate, Stage};
use super::candidates::Slot;
use super::io::{Command, Enter, Output, Refusal, Request};
use super::starting::First;
use super::{CampaignId, FIRST_WAIT, Fed, Observer, Session, Timer, doubled};
use crate::campaign::{Event, State, Warning, check_name};
use crate::candidacy::{Early, Rule};
use crate::selector;
use crate::store::{Fault, FaultKind, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;

/// The longest wait before asking an unresponsive store again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A campaign that has not begun: the store has not answered yet, or cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Entering<E> {
    enter: Enter,
    /// The watch's sights of the campaign's election since the campaign entered, if there are any.
    early: Option<Box<E>>,
    /// Whether the campaign was reported to have entered.
    entered: bool,
    failures: u32,
    /// The last warning reported.
    reported: Option<Warning>,
}

impl<E> Entering<E> {
    pub(super) fn new(enter: Enter) -> Self {
        Self { enter, early: None, entered: false, failures: 0, reported: None }
    }

    /// Another watch is ready.
    pub(super) fn watch_began<S>(&mut self)
    where
        E: Early<S>,
    {
        if let Some(early) = &mut self.early {
            early.watch_began();
        }
    }

    /// Notes what the watch showed of the campaign's election, because the watch shows it only once.
    pub(super) fn observe<S>(&mut self, shown: &S, now: Instant)
    where
        E: Early<S>,
    {
        self.early.get_or_insert_default().observe(shown, now);
    }
}

impl<R: Rule> Session<R> {
    pub(super) fn enter(&mut self, enter: Enter) {
        let id = enter.id;
        if let Err(invalid) = selector::check("key", &enter.election) {
            return self.outputs.push_back(Output::Refused(id, Refusal::Settings(invalid)));
        }
        self.candidates.insert(Box::new(Candidate::new(enter)));
        if self.candidates.become_many() {
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
        let newest = self.starting.began(id);
        let Some(candidate) = self.candidates.get(&id) else { return };
        let Stage::Entering(entering) = &candidate.stage else { return };
        // A fact about the store is still missing. The store answers now, so a later inspection may supply it.
        if let (Ok(_), Some(unknown)) = (result, self.known.lacks()) {
            return self.not_begun(id, Refusal::Store(unknown));
        }
        let made = result.as_ref().map_err(|fault| Refusal::Store(fault.clone())).and_then(|info| {
            let Enter { settings, nonce, seed, .. } = &entering.enter;
            let mut made = R::begin(settings.clone(), self.known.store(), info, *nonce, *seed, self.now);
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
        if self.candidates.were_many() {
            R::is_one_of_many(&mut campaign);
        }
        observer.begins(id, self.now, info);
        let Some(candidate) = self.candidates.get_mut(&id) else { return };
        if matches!(&candidate.stage, Stage::Entering(entering) if !entering.entered) {
            self.outputs.push_back(Output::Entered(id));
        }
        candidate.lease_time = Some(campaign.lease_time());
        candidate.stage = Stage::Running(Box::new(campaign));
        let quoted = selector::unquoted(&candidate.election)
            .map(|_| Warning::Quoted { setting: "key".into(), text: (*candidate.election).into() });
        let warnings = self.known.warnings().chain(quoted);
        self.outputs.push_back(candidate.report(warnings.map(Event::Warning).collect()));
        self.deliveries.push_back((id, Fed::<R>::from(Command::Health(candidate.healthy))));
        if let Some(since) = self.watch.since() {
            self.deliveries.push_back((id, Fed::<R>::Watching { since }));
        }
        let watch = R::watch_shows_all(self.known.store()).then_some(&self.watch);
        self.starting.add(id, &self.candidates, watch, &mut self.timers, self.now);
    }

    /// Handles a campaign that cannot begin now. If its caller is still waiting for it to enter, it may be refused;
    /// otherwise it is tried again.
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
            self.outputs.push_back(candidate.report(vec![Event::Warning(warning)]));
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
                if campaign.nonce() != *leader || !candidate.operator.asks_to_hand_over(revision) {
                    return;
                }
                let holds = matches!(campaign.state(), State::Leading | State::Holding);
                let accepted = holds && check_name(successor).is_ok() && campaign.name() != successor;
                (accepted, Command::HandOver(successor.clone()))
            }
            Request::AcceptReset { seen, incarnation } => {
                let present = self.known.info().map(|info| info.incarnation);
                let is_here = present == Some(*incarnation);
                (candidate.operator.accepts(revision, *seen, is_here), Command::Accept)
            }
        };
        self.outputs.push_back(Output::Considered { id, request: request.clone(), accepted });
        if accepted {
            self.deliveries.push_back((id, Fed::<R>::from(command)));
        }
    }

    fn forget(&mut self, id: CampaignId) {
        self.starting.first_question(self.candidates.get_mut(&id), First::Asked, First::Over);
        self.inspection.forget(id);
        let Some((slot, candidate)) = self.candidates.remove(id) else { return };
        self.timers.stop(slot);
        self.requests.forget(candidate.wish);
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
