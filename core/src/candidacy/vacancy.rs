//! An election that stays vacant: reports once, after too long without a leader, what a candidate waits for.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::campaign::{State, Warning};
use crate::time::{Instant, rounded};

/// The shortest wait for a new store that is reported (1 s). A shorter wait is over before a person looks.
const NOTICED: Duration = Duration::from_secs(1);

/// What keeps a candidate from leading while it knows of no leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The candidate holds the election, but the store may have replaced one in which another candidate still leads.
    NewStore {
        /// The time that is left.
        left: Duration,
        /// Whether an operator can state that no election was ever held in the store.
        can_be_stated: bool,
    },
    /// The candidate holds the election, but a leader before it may still lead.
    FormerLeader {
        /// The time that is left.
        left: Duration,
    },
    /// The candidate holds the election, but could not prove it.
    Unproven,
    /// The candidate holds the election, but its own records do not come back from the store.
    Unread,
    /// Another candidate holds the election, but has not reported a win.
    Holder {
        /// The other candidate's name.
        name: String,
    },
    /// The record of a candidate is past its lease, but the store has not removed it.
    Unexpired {
        /// The candidate's name.
        name: String,
    },
    /// The candidate is first in the queue, but the key of a candidate that is gone is ahead of it.
    Ahead,
    /// The group assigned the election to no member that leads.
    Unassigned,
    /// The store's next token would not exceed every token given before.
    Barred,
    /// The candidate waits after a failure.
    Resting {
        /// The time that is left.
        left: Duration,
    },
    /// The store answered none of the candidate's requests, or refused them.
    Unanswered,
}

impl Obstacle {
    /// A stable, machine-readable name, the same in every language.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NewStore { .. } => "NEW_STORE",
            Self::FormerLeader { .. } => "FORMER_LEADER",
            Self::Unproven => "UNPROVEN",
            Self::Unread => "UNREAD",
            Self::Holder { .. } => "HOLDER",
            Self::Unexpired { .. } => "UNEXPIRED",
            Self::Ahead => "AHEAD",
            Self::Unassigned => "UNASSIGNED",
            Self::Barred => "BARRED",
            Self::Resting { .. } => "RESTING",
            Self::Unanswered => "UNANSWERED",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewStore { left, can_be_stated: true } => {
                write!(f, "the store is new, and a leader of an earlier one may still lead for {:?}", rounded(*left))
            }
            Self::NewStore { left, can_be_stated: false } => {
                write!(f, "an unknown earlier leader may still lead for {:?}", rounded(*left))
            }
            Self::FormerLeader { left } => {
                write!(f, "an earlier leader may still lead for {:?}", rounded(*left))
            }
            Self::Unproven => f.write_str(
                "this candidate holds the election but could not prove it: a write, a commit or an inspection of the \
                 store fails or is not answered",
            ),
            Self::Unread => f.write_str(
                "this candidate holds the election, but its own records do not come back from the store: check the log of \
                 the store's client",
            ),
            Self::Holder { name } => {
                write!(f, "{name:?} holds the election but has not reported a win: check that candidate's warnings")
            }
            Self::Unexpired { name } => {
                write!(f, "the record of {name:?} is past its lease, but the store has not removed it")
            }
            Self::Ahead => f.write_str(
                "a candidate that is gone left its companion key ahead of this candidate's; the store removes it when its \
                 lease runs out",
            ),
            Self::Unassigned => f.write_str(
                "the group has assigned partition zero to no member that leads: the coordinator may still count a member \
                 that is gone, or the group cannot settle; `incumbent status` lists the members",
            ),
            Self::Barred => f.write_str(
                "the store's next token would not be above every earlier token: see the warning about the store's reset",
            ),
            Self::Resting { left } => {
                write!(f, "this candidate rests for {:?} more after a failure", rounded(*left))
            }
            Self::Unanswered => f.write_str(
                "the store has not answered this candidate's requests, or refuses them: check the earlier warnings",
            ),
        }
    }
}

/// What the report of a vacancy needs to know about a candidate.
pub trait Waiting {
    /// Whether the candidate leads, or knows of another candidate that leads.
    fn knows_a_leader(&self) -> bool;

    /// The reason why the candidate does not lead although it knows of no leader.
    fn obstacle(&self) -> Obstacle;

    /// The longest vacancy that the settings allow, counted from when this candidate noticed it.
    fn worst_fail_over(&self, since: Instant) -> Duration;
}

/// A vacancy, as a candidate observes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacancy {
    /// The instant since which the candidate has been in the race without knowing a leader; `NEVER` if it is not in
    /// that state.
    since: Instant,
    /// Whether the vacancy was reported, and no leader has been known since.
    reported: bool,
    /// Whether the wait for a new store was reported, and no leader has been known since.
    young: bool,
}

impl Default for Vacancy {
    fn default() -> Self {
        Self { since: Instant::NEVER, reported: false, young: false }
    }
}

impl Vacancy {
    /// Observes the candidate after a step, and returns what to report.
    pub(crate) fn observe(&mut self, candidate: &impl Waiting, state: State, now: Instant) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if candidate.knows_a_leader() {
            *self = Self::default();
            return warnings;
        }
        if !matches!(state, State::Waiting | State::Acquiring | State::Holding) {
            self.since = Instant::NEVER;
            return warnings;
        }
        self.since = self.since.min(now);
        if state == State::Holding && !self.young {
            let young = young(candidate.obstacle());
            self.young = young.is_some();
            warnings.extend(young);
        }
        let lasted = now.since(self.since);
        if !self.reported && lasted >= candidate.worst_fail_over(self.since) {
            self.reported = true;
            warnings.push(Warning::NoLeader { lasted, because: candidate.obstacle() });
        }
        warnings
    }

    /// The time at which the vacancy will exceed the worst fail-over.
    pub(crate) fn due(&self, candidate: &impl Waiting) -> Option<Instant> {
        let waits = self.since < Instant::NEVER && !self.reported;
        waits.then(|| self.since + candidate.worst_fail_over(self.since))
    }
}

/// The warning about the wait for a new store, in whole seconds.
fn young(obstacle: Obstacle) -> Option<Warning> {
    match obstacle {
        Obstacle::NewStore { left, can_be_stated } if left > NOTICED => {
            let left = Duration::from_secs(left.as_secs() + u64::from(left.subsec_nanos() > 0));
            Some(Warning::YoungStore { left, can_be_stated })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const WORST: Duration = Duration::from_secs(30);

    struct Candidate(bool, Obstacle);

    impl Waiting for Candidate {
        fn knows_a_leader(&self) -> bool {
            self.0
        }

        fn obstacle(&self) -> Obstacle {
            self.1.clone()
        }

        fn worst_fail_over(&self, _: Instant) -> Duration {
            WORST
        }
    }

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn waits() -> Candidate {
        Candidate(false, Obstacle::Unassigned)
    }

    fn sees_a_leader() -> Candidate {
        Candidate(true, Obstacle::Unassigned)
    }

    fn no_leader(secs: u64, because: Obstacle) -> Vec<Warning> {
        vec![Warning::NoLeader { lasted: Duration::from_secs(secs), because }]
    }

    #[test]
    fn a_vacancy_is_reported_once_it_has_lasted_for_the_worst_fail_over_and_again_after_a_leader_was_seen() {
        let mut vacancy = Vacancy::default();
        assert_eq!(vacancy.due(&waits()), None);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(10)), []);
        assert_eq!(vacancy.due(&waits()), Some(at(40)));
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(39)), []);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(40)), no_leader(30, Obstacle::Unassigned));
        assert_eq!(vacancy.due(&waits()), None, "no wake-up for what was said");
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(400)), []);
        assert_eq!(vacancy.observe(&sees_a_leader(), State::Waiting, at(401)), []);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(402)), []);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(432)), no_leader(30, Obstacle::Unassigned));
    }

    #[test]
    fn while_a_leader_is_known_nothing_is_timed() {
        let mut vacancy = Vacancy::default();
        assert_eq!(vacancy.observe(&sees_a_leader(), State::Waiting, at(10)), []);
        assert_eq!(vacancy.due(&sees_a_leader()), None);
    }

    #[test]
    fn the_time_out_of_the_race_does_not_count_and_does_not_make_it_news() {
        let mut vacancy = Vacancy::default();
        vacancy.observe(&waits(), State::Waiting, at(10));
        let idle = Candidate(false, Obstacle::Unanswered);
        assert_eq!(vacancy.observe(&idle, State::Idle, at(30)), []);
        assert_eq!(vacancy.due(&idle), None);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(50)), []);
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(80)), no_leader(30, Obstacle::Unassigned));
        vacancy.observe(&idle, State::Idle, at(90));
        vacancy.observe(&waits(), State::Waiting, at(100));
        assert_eq!(vacancy.observe(&waits(), State::Waiting, at(200)), [], "no leader was seen since");
    }

    #[test]
    fn a_new_store_is_reported_once_at_its_beginning_in_whole_seconds() {
        let holder = |millis| {
            let left = Duration::from_millis(millis);
            Candidate(false, Obstacle::NewStore { left, can_be_stated: true })
        };
        let young = |secs| Warning::YoungStore { left: Duration::from_secs(secs), can_be_stated: true };
        let mut vacancy = Vacancy::default();
        assert_eq!(vacancy.observe(&holder(4_100), State::Holding, at(10)), [young(5)]);
        assert_eq!(vacancy.observe(&holder(3_100), State::Holding, at(11)), []);
        assert_eq!(
            Vacancy::default().observe(&holder(1_000), State::Holding, at(10)),
            [],
            "over before it is read"
        );
    }

    #[test]
    fn every_obstacle_says_what_is_waited_for() {
        let left = Duration::from_millis(12_345);
        let name = || String::from("ada");
        let texts = [
            (Obstacle::NewStore { left, can_be_stated: true }, "NEW_STORE", "may still lead for 12.345s"),
            (Obstacle::NewStore { left, can_be_stated: false }, "NEW_STORE", "an unknown earlier leader"),
            (Obstacle::FormerLeader { left }, "FORMER_LEADER", "an earlier leader may still lead"),
            (Obstacle::Unproven, "UNPROVEN", "could not prove it"),
            (Obstacle::Unread, "UNREAD", "do not come back"),
            (Obstacle::Holder { name: name() }, "HOLDER", "\"ada\" holds the election"),
            (Obstacle::Unexpired { name: name() }, "UNEXPIRED", "the record of \"ada\" is past its lease"),
            (Obstacle::Ahead, "AHEAD", "left its companion key ahead"),
            (Obstacle::Unassigned, "UNASSIGNED", "assigned partition zero to no member that leads"),
            (Obstacle::Barred, "BARRED", "see the warning about the store's reset"),
            (Obstacle::Resting { left }, "RESTING", "rests for 12.345s more"),
            (Obstacle::Unanswered, "UNANSWERED", "has not answered this candidate's requests"),
        ];
        for (obstacle, code, part) in texts {
            let text = alloc::string::ToString::to_string(&obstacle);
            assert!(text.contains(part) && obstacle.code() == code, "{text}");
        }
    }
}
