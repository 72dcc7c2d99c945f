//! A candidate in the test's own process, with a log of its events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use incumbent::{Candidate, Clock, Event, Instant, Reason, State, Token, Warning};
use incumbent_testkit::wait;

use crate::bench::margin;

/// A time limit far longer than any step takes, even on a busy machine.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(90);

/// An event of a candidate. Unlike an `Event` it holds no term, so it delays no drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    Won(Won),
    Draining(Reason),
    Lost(Lost),
    Leader(Option<String>),
    State(State),
    Warning(Warning),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Won {
    pub(crate) token: Token,
    pub(crate) started: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) token: Token,
    pub(crate) reason: Reason,
    /// The time of the read, slightly later than the event.
    pub(crate) at: Instant,
}

/// All events of a candidate so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Reported>>>);

impl Log {
    pub(crate) fn so_far(&self) -> Vec<Reported> {
        self.0.lock().unwrap().clone()
    }

    fn push(&self, event: Event, at: Instant) {
        let reported = match event {
            Event::Won(term) => Reported::Won(Won { token: term.token(), started: term.started() }),
            Event::Draining { reason, .. } => Reported::Draining(reason),
            Event::Lost { term, reason } => Reported::Lost(Lost { token: term.token(), reason, at }),
            Event::LeaderChanged(leader) => Reported::Leader(leader.map(|leader| leader.name)),
            Event::StateChanged(state) => Reported::State(state),
            Event::Warning(warning) => Reported::Warning(warning),
        };
        self.0.lock().unwrap().push(reported);
    }
}

/// A candidate and its log.
pub(crate) struct Actor {
    pub(crate) candidate: Candidate,
    log: Log,
}

impl Actor {
    pub(crate) fn new(candidate: Candidate) -> Self {
        let log = Log::default();
        let (mut events, telling) = (candidate.events(), log.clone());
        tokio::spawn(async move {
            let clock = Clock::system();
            while let Some(event) = events.next().await {
                telling.push(event, clock.now());
            }
        });
        Self { candidate, log }
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Waits for this candidate's n-th win, counted from 1.
    pub(crate) async fn won(&self, n: usize) -> Won {
        self.nth(n, "win", |reported| if let Reported::Won(won) = reported { Some(*won) } else { None }).await
    }

    /// Waits for this candidate's n-th loss, counted from 1.
    pub(crate) async fn lost(&self, n: usize) -> Lost {
        self.nth(n, "loss", |reported| if let Reported::Lost(lost) = reported { Some(*lost) } else { None })
            .await
    }

    /// Waits for a warning for which `fits` is true.
    pub(crate) async fn warning(&self, what: &str, fits: impl Fn(&Warning) -> bool) -> Warning {
        self.warnings(1, what, fits).await
    }

    /// Waits for the n-th warning for which `fits` is true.
    pub(crate) async fn warnings(&self, n: usize, what: &str, fits: impl Fn(&Warning) -> bool) -> Warning {
        let pick = |reported: &Reported| match reported {
            Reported::Warning(warning) if fits(warning) => Some(warning.clone()),
            _ => None,
        };
        self.nth(n, what, pick).await
    }

    /// Waits until the candidate observes `name` as the holder.
    pub(crate) async fn observes(&self, name: &str) {
        let fits = |reported: &Reported| (*reported == Reported::Leader(Some(name.into()))).then_some(());
        self.nth(1, &format!("{name} to be seen"), fits).await;
    }

    /// Waits until the candidate is in that state.
    pub(crate) async fn is(&self, state: State) {
        let what = format!("{} to be {state:?}", self.candidate.name());
        wait::until_async(&what, TIME_LIMIT, || async { self.candidate.state() == state }).await;
    }

    /// Waits until a renewal that was sent after `since` has extended the candidate's term.
    pub(crate) async fn renewed_after(&self, since: Instant, lease: Duration) {
        let what = format!("{} to renew: {:?}", self.candidate.name(), self.log.so_far());
        let deadline = || self.candidate.term().map_or(Instant::ZERO, |term| term.deadline());
        let proven = (since + lease).before(margin(lease));
        wait::until_async(&what, TIME_LIMIT, || async { deadline() >= proven }).await;
    }

    pub(crate) fn wins(&self) -> Vec<Won> {
        let won = |reported| if let Reported::Won(won) = reported { Some(won) } else { None };
        self.log.so_far().into_iter().filter_map(won).collect()
    }

    pub(crate) fn losses(&self) -> Vec<Lost> {
        let lost = |reported| if let Reported::Lost(lost) = reported { Some(lost) } else { None };
        self.log.so_far().into_iter().filter_map(lost).collect()
    }

    async fn nth<T>(&self, n: usize, what: &str, pick: impl Fn(&Reported) -> Option<T>) -> T {
        let name = self.candidate.name();
        let search = async {
            loop {
                if let Some(found) = self.log.so_far().iter().filter_map(&pick).nth(n - 1) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(TIME_LIMIT, search).await {
            Ok(found) => found,
            Err(_) => panic!("{name} waited in vain for {what} {n}; it reported {:?}", self.log.so_far()),
        }
    }
}

/// Waits until one of the actors wins with a token above `above`. Returns its index and the win.
pub(crate) async fn next_leader(actors: &[&Actor], above: Token) -> (usize, Won) {
    let next = |actor: &Actor| actor.wins().into_iter().find(|won| won.token > above);
    let search = async {
        loop {
            let found = actors.iter().enumerate().find_map(|(at, actor)| Some((at, next(actor)?)));
            if let Some(found) = found {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let Ok(found) = tokio::time::timeout(TIME_LIMIT, search).await else {
        let logs: Vec<_> = actors.iter().map(|a| (a.candidate.name(), a.log.so_far())).collect();
        panic!("no candidate leads: {logs:#?}");
    };
    found
}

/// Waits until the leader is about to renew, a third of its lease after its last write.
pub(crate) async fn before_a_renewal(actor: &Actor, lease: Duration) {
    wait::until_async("a renewal to fall due", TIME_LIMIT, || async { is_before_a_renewal(actor, lease) })
        .await;
}

/// Returns true if the leader is about to renew.
pub(crate) fn is_before_a_renewal(actor: &Actor, lease: Duration) -> bool {
    let due = lease - margin(lease) - lease / 3;
    actor.candidate.term().expect("it leads").remaining() < due + lease / 20
}

/// Fails unless wins and losses alternate for each candidate, and each later term has a larger token.
pub(crate) fn check_terms(logs: &[Log]) {
    let mut terms = Vec::new();
    for log in logs {
        let mut current = None;
        for reported in log.so_far() {
            match reported {
                Reported::Won(won) => {
                    assert_eq!(current.replace(won.token), None, "won twice: {:?}", log.so_far());
                    terms.push(won);
                }
                Reported::Lost(lost) => {
                    assert_eq!(current.take(), Some(lost.token), "not its term: {:?}", log.so_far());
                }
                _ => {}
            }
        }
    }
    terms.sort_by_key(|won| won.started);
    assert!(terms.is_sorted_by(|one, next| one.token < next.token), "tokens do not grow: {terms:?}");
}
