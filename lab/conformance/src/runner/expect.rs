//! Expectations. Each one waits until its condition holds, or can no longer hold.

use std::time::Duration;

use incumbent::{Instant, Token};

use super::participant::{Participant, TermEvent, fits, shown};
use super::play::Play;
use super::suite::Missed;
use crate::scenario::{Moment, Step};

/// The interval between two checks of a condition.
const LOOK: Duration = Duration::from_millis(2);
/// The interval between two reads of the store.
const ASK: Duration = Duration::from_millis(20);

impl Play {
    pub(super) async fn expect(&mut self, step: &Step) -> Result<(), Missed> {
        match step {
            Step::ExpectWon { candidate, not_before, before } => {
                let who = [self.place(candidate)?];
                self.won(&who, not_before.as_ref(), before.as_ref()).await.map(drop)
            }
            Step::ExpectAnyWon { candidates, alias, not_before, before } => {
                let who = candidates.iter().map(|id| self.place(id)).collect::<Result<Vec<_>, _>>()?;
                let winner = self.won(&who, not_before.as_ref(), before.as_ref()).await?;
                self.aliases.insert(alias.clone(), winner);
                Ok(())
            }
            Step::ExpectDraining { candidate, reason } => self.draining(candidate, reason).await,
            Step::ExpectLost { candidate, reason, otherwise, drained, not_before, before } => {
                let reasons: Vec<&str> = [reason].into_iter().chain(otherwise).map(String::as_str).collect();
                self.lost(candidate, &reasons, *drained, not_before.as_ref(), before.as_ref()).await
            }
            Step::ExpectReturned { candidate, error } => {
                let at = self.place(candidate)?;
                self.returned(at, error.as_deref()).await
            }
            Step::ExpectIsLeader { candidate, leads } => {
                let is_leader = self.candidate(candidate)?.is_leader();
                let expected = format!("is_leader of {candidate} to be {leads}");
                if is_leader == *leads { Ok(()) } else { Err(Missed::new(expected, is_leader)) }
            }
            Step::ExpectStillLeads { candidate, leases } => self.still_leads(candidate, *leases).await,
            Step::ExpectNobodyLeads { election, leases } => self.no_candidate_leads(election, *leases).await,
            Step::ExpectState { candidate, state } => {
                let of = self.candidate(candidate)?;
                let probe = || (of.state().code() == state).then_some(Ok(()));
                let seen = || format!("it is {}", of.state().code());
                self.wait(format!("{candidate} to be {state}"), probe, seen).await
            }
            Step::ExpectSeen { candidate, leader } => {
                let of = self.candidate(candidate)?;
                let probe = || fits(of.leader().as_ref(), leader.as_deref(), []).then_some(Ok(()));
                let seen = || format!("it sees {}", shown(of.leader().as_ref()));
                let who = leader.as_deref().unwrap_or("no candidate");
                self.wait(format!("{candidate} to see {who:?} as the leader"), probe, seen).await
            }
            Step::ExpectWarning { candidate, warning } => {
                let log = &self.participant(candidate)?.log;
                let probe =
                    || log.entries().warnings.iter().any(|reported| reported == warning).then_some(Ok(()));
                let seen = || format!("it got {:?}", log.entries().warnings);
                self.wait(format!("{candidate} to get the warning {warning}"), probe, seen).await
            }
            Step::ExpectLeader { election, leader, metadata } => {
                self.stored(election, leader.as_deref(), metadata).await
            }
            Step::ExpectObserved { observer, leader, metadata } => {
                self.observed(observer, leader.as_deref(), metadata).await
            }
            other => Err(Missed::new("a step that this runner knows", other)),
        }
    }

    /// Waits until `probe` returns a result. If it returns none in time, `seen` describes the state for the report.
    async fn wait<T>(
        &self,
        expected: impl Into<String>,
        mut probe: impl FnMut() -> Option<Result<T, Missed>>,
        seen: impl Fn() -> String,
    ) -> Result<T, Missed> {
        let until = self.time.now() + self.timeout;
        loop {
            self.rules()?;
            let is_last = self.time.now() >= until;
            if let Some(found) = probe() {
                return found;
            }
            if is_last {
                return Err(Missed::new(expected, format!("{}, after {:?}", seen(), self.timeout)));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until one of the candidates wins, and returns it. If a candidate's next event about a term is not a win,
    /// the expectation fails.
    async fn won(
        &self,
        who: &[usize],
        not_before: Option<&Moment>,
        before: Option<&Moment>,
    ) -> Result<usize, Missed> {
        let names: Vec<_> = who.iter().map(|at| self.participants[*at].id.as_str()).collect();
        let what = format!("{} to get Won", names.join(" or "));
        let probe = || {
            who.iter().find_map(|at| {
                let participant = &self.participants[*at];
                let mut entries = participant.log.entries();
                let next = entries.unread().first()?.clone();
                entries.read += 1;
                Some(match next {
                    TermEvent::Won { at: reported, .. } => {
                        self.time.check(&what, reported, not_before, before).map(|()| *at)
                    }
                    other => Err(Missed::new(&what, format!("{} got {other}", participant.id))),
                })
            })
        };
        let seen = || self.stand(who.iter().map(|at| &self.participants[*at]));
        self.wait(&what, probe, seen).await
    }

    async fn draining(&self, id: &str, reason: &str) -> Result<(), Missed> {
        let participant = self.participant(id)?;
        let what = format!("{id} to get Draining for {reason}");
        let probe = || {
            let mut entries = participant.log.entries();
            let next = entries.unread().first()?.clone();
            entries.read += 1;
            let fits = matches!(next, TermEvent::Draining { reason: reported } if reported == reason);
            Some(if fits { Ok(()) } else { Err(Missed::new(&what, format!("{id} got {next}"))) })
        };
        self.wait(&what, probe, || self.stand([participant])).await
    }

    async fn lost(
        &self,
        id: &str,
        reasons: &[&str],
        drained: Option<bool>,
        not_before: Option<&Moment>,
        before: Option<&Moment>,
    ) -> Result<(), Missed> {
        let participant = self.participant(id)?;
        let how = match drained {
            None => "",
            Some(true) => ", after a drain",
            Some(false) => ", without a drain",
        };
        let what = format!("{id} to get Lost for {}{how}", reasons.join(" or "));
        let probe = || {
            let mut entries = participant.log.entries();
            // Its drain is skipped.
            let skipped = usize::from(matches!(entries.unread().first(), Some(TermEvent::Draining { .. })));
            let next = entries.unread().get(skipped)?.clone();
            entries.read += skipped + 1;
            let at = match next {
                TermEvent::Lost { reason: reported, drained: after, at }
                    if reasons.contains(&reported) && drained.is_none_or(|drained| drained == after) =>
                {
                    at
                }
                other => return Some(Err(Missed::new(&what, format!("{id} got {other}")))),
            };
            Some(self.time.check(&what, at, not_before, before))
        };
        self.wait(&what, probe, || self.stand([participant])).await
    }

    /// Waits until the candidate's oldest open call returns.
    pub(super) async fn returned(&mut self, at: usize, error: Option<&str>) -> Result<(), Missed> {
        let id = self.participants[at].id.clone();
        let Some((verb, call)) = self.participants[at].leaving.pop_front() else {
            return Err(Missed::new(format!("a call of {id}"), "all have returned"));
        };
        let expected = match error {
            None => format!("{verb} of {id} to return"),
            Some(code) => format!("{verb} of {id} to return the error {code}"),
        };
        let seen = match tokio::time::timeout(self.timeout, call).await {
            Err(_) => format!("it has not, after {:?}", self.timeout),
            Ok(Err(gone)) => gone.to_string(),
            Ok(Ok(Ok(()))) if error.is_none() => return Ok(()),
            Ok(Ok(Ok(()))) => "it returned without an error".into(),
            Ok(Ok(Err(reported))) if error == Some(reported.code) => return Ok(()),
            Ok(Ok(Err(reported))) => format!("the error {reported}"),
        };
        Err(Missed::new(expected, seen))
    }

    async fn still_leads(&self, id: &str, leases: f64) -> Result<(), Missed> {
        let (participant, candidate) = (self.participant(id)?, self.candidate(id)?);
        let what = format!("{id} to keep leading in the same term for {leases} leases");
        let token = || candidate.lease().map(|lease| lease.token);
        let first: Option<Token> = token();
        self.throughout(leases, || {
            if first.is_none() || token() != first || !candidate.is_leader() {
                return Some(Missed::new(&what, self.stand([participant])));
            }
            let entries = participant.log.entries();
            let reported = entries.unread().first()?;
            Some(Missed::new(&what, format!("{id} got {reported}")))
        })
        .await
    }

    async fn no_candidate_leads(&self, election: &str, leases: f64) -> Result<(), Missed> {
        let what = format!("no candidate to lead {election:?} for {leases} leases");
        self.throughout(leases, || {
            let leaders = self.leader_check.leaders(election);
            (!leaders.is_empty()).then(|| Missed::new(&what, format!("{} leads", leaders.join(", "))))
        })
        .await
    }

    /// Checks repeatedly for this many leases, and at least once, that `wrong` finds no violation.
    async fn throughout(&self, leases: f64, wrong: impl Fn() -> Option<Missed>) -> Result<(), Missed> {
        let until: Instant = self.time.now() + self.time.leases(leases);
        loop {
            self.rules()?;
            let is_last = self.time.now() >= until;
            if let Some(missed) = wrong() {
                return Err(missed);
            }
            if is_last {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn stored<'a, M>(&self, election: &str, name: Option<&str>, metadata: M) -> Result<(), Missed>
    where
        M: IntoIterator<Item = (&'a String, &'a String)> + Copy,
    {
        let until = self.time.now() + self.timeout;
        loop {
            self.rules()?;
            let is_last = self.time.now() >= until;
            let answer = tokio::time::timeout(self.timeout, self.fixture.own_store().leader(election)).await;
            let seen = match &answer {
                Ok(Ok(leader)) if fits(leader.as_ref(), name, metadata) => return Ok(()),
                Ok(Ok(leader)) => shown(leader.as_ref()),
                Ok(Err(error)) => format!("the error {}: {error}", error.kind().code()),
                Err(_) => "no answer".into(),
            };
            if is_last {
                let who = name.unwrap_or("no candidate");
                let expected = format!("the store to show {who:?} as the leader of {election:?}");
                return Err(Missed::new(expected, format!("{seen}, after {:?}", self.timeout)));
            }
            tokio::time::sleep(ASK).await;
        }
    }

    async fn observed<'a, M>(&self, observer: &str, name: Option<&str>, metadata: M) -> Result<(), Missed>
    where
        M: IntoIterator<Item = (&'a String, &'a String)> + Copy,
    {
        let Some(watcher) = self.watchers.get(observer) else {
            return Err(Missed::new(format!("an observer {observer}"), "there is none"));
        };
        let what = format!("{observer} to see {:?} as the leader", name.unwrap_or("no candidate"));
        let probe = || {
            let mut sights = watcher.sights();
            let unread = sights.all.get(sights.read..).unwrap_or_default();
            let place = unread.iter().position(|(_, leader)| fits(leader.as_ref(), name, metadata))?;
            sights.read += place + 1;
            Some(Ok(()))
        };
        let seen = || {
            let sights = watcher.sights();
            let unread = sights.all.get(sights.read..).unwrap_or_default();
            let unread: Vec<_> = unread.iter().map(|(_, leader)| shown(leader.as_ref())).collect();
            if unread.is_empty() { "nothing new".into() } else { unread.join(", then ") }
        };
        self.wait(&what, probe, seen).await
    }

    /// Describes the states of these candidates, for a report.
    fn stand<'a>(&self, participants: impl IntoIterator<Item = &'a Participant>) -> String {
        let one = |participant: &'a Participant| {
            let of = participant.candidate.as_ref();
            let state = of.map_or("not campaigning", |candidate| candidate.state().code());
            let leads = if of.is_some_and(|c| c.is_leader()) { "leads" } else { "does not lead" };
            let entries = participant.log.entries();
            let next =
                entries.unread().first().map_or_else(String::new, |reported| format!(", got {reported}"));
            format!("{} is {state}, {leads}{next}", participant.id)
        };
        participants.into_iter().map(one).collect::<Vec<_>>().join("; ")
    }
}
