//! Giving way: an owner that cannot prove its claim leaves the group to others, and rests.

use incumbent_core::campaign::State;
use incumbent_core::induction::{Answer, Failure, Input, Kind, Timer, Topic};
use incumbent_core::store::FaultKind;

use crate::harness::*;

/// A healthy group whose brokers refuse every append, and a candidate in it.
struct Refusing {
    bench: Bench,
    /// The reports and requests other than appends, questions and inspections, each with its second.
    seen: Vec<(u64, String)>,
    begun: incumbent_core::Instant,
    /// The coordinator answers.
    coordinator: bool,
    /// Records are appended.
    appends: bool,
    /// Commits are accepted.
    commits: bool,
    publishes: u32,
    /// Whether another candidate leads while this one rests.
    others: bool,
    /// The number of members in the group after this one left.
    members: usize,
    /// They cannot be counted.
    uncounted: bool,
}

impl Refusing {
    fn owner() -> Self {
        let mut refusing = Self::of(Bench::member());
        let outputs = refusing.bench.assigned_only();
        refusing.serve(outputs);
        refusing
    }

    /// Creates a leader whose appends are refused from now on.
    fn leader() -> Self {
        Self::of(Bench::leader())
    }

    fn of(bench: Bench) -> Self {
        Self {
            begun: bench.now,
            bench,
            seen: Vec::new(),
            coordinator: true,
            appends: false,
            commits: true,
            publishes: 0,
            others: false,
            members: 0,
            uncounted: false,
        }
    }

    fn serve(&mut self, outputs: Vec<String>) {
        let mut outputs = std::collections::VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            let number = |prefix: &str| output.strip_prefix(prefix).and_then(|text| text.parse::<u64>().ok());
            let more = if let Some(number) = number("ask token ") {
                match self.coordinator {
                    true => self.bench.informed_of(number, Ok(String::new())),
                    false => Vec::new(),
                }
            } else if output == "ask members" {
                let counted = if self.uncounted { Err(fault(FaultKind::Denied)) } else { Ok(self.members) };
                self.bench.give(Answer::Members(counted))
            } else if let Some((attempt, _)) =
                output.strip_prefix("commit ").and_then(|text| text.split_once(' '))
            {
                let attempt = attempt.parse().expect("a number");
                match self.commits {
                    true => self.bench.committed(attempt),
                    false => self.bench.not_committed(attempt, Failure::Denied(fault(FaultKind::Denied))),
                }
            } else if let Some(attempt) = number("claim ").or(number("heartbeat ")).or(number("probe ")) {
                self.publishes += 1;
                match self.appends {
                    true => self.bench.appended(attempt),
                    false => {
                        let denied = Failure::Denied(fault(FaultKind::Denied));
                        let failure = if self.coordinator { denied } else { Failure::Unknown };
                        self.bench.not_appended(attempt, failure)
                    }
                }
            } else if output == "inspect" {
                self.bench.inspected()
            } else if output == "leave" {
                self.note(output);
                self.bench.give(Answer::Left)
            } else {
                self.note(output);
                Vec::new()
            };
            outputs.extend(more);
        }
    }

    fn note(&mut self, output: String) {
        let second = self.bench.now.since(self.begun).as_secs();
        if !output.starts_with("state") {
            self.seen.push((second, output));
        }
    }

    fn run(&mut self, seconds: u64) {
        let until = self.begun + secs(seconds);
        while let Some((_, wait)) = self.bench.wake().filter(|(_, wait)| self.bench.now + *wait <= until) {
            self.bench.sleep(wait);
            if self.others && self.bench.campaign.state() == State::Waiting {
                self.bench.other(1, Kind::Heartbeat);
            }
            let outputs = self.bench.tick();
            self.serve(outputs);
        }
        self.bench.now = until;
    }

    /// Returns the length of each rest if the group assigns the partition to the candidate again as soon as it rejoins.
    fn rests(&mut self, seconds: u64) -> Vec<u64> {
        let (mut left, mut rests) = (0, Vec::new());
        for second in 1..=seconds {
            self.run(second);
            for (second, what) in self.seen() {
                match what.as_str() {
                    "join" => {
                        rests.push(second - left);
                        let outputs = self.bench.assigned_only();
                        self.serve(outputs);
                    }
                    "leave" => left = second,
                    _ => {}
                }
            }
        }
        rests
    }

    fn seen(&mut self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.seen)
    }
}

#[test]
fn an_owner_that_cannot_append_leaves_after_a_lease_and_rests() {
    let mut refusing = Refusing::owner();
    refusing.run(40);
    let seen = refusing.seen();
    let said: Vec<_> = seen.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(said, ["warning Denied", "leave", "warning GAVE_WAY"]);
    let left = seen[1].0;
    assert!((5..=8).contains(&left), "it left after {left} s");
    assert_eq!(refusing.bench.campaign.state(), State::Waiting);
}

/// The candidate commits its last record again and again. The commits are acknowledged because it is still a member.
#[test]
fn a_leader_that_cannot_append_any_more_leaves_a_lease_after_its_first_refused_record() {
    let mut refusing = Refusing::leader();
    refusing.run(20);
    let seen = refusing.seen();
    let said: Vec<_> = seen.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(said, ["warning Denied", "lost 10 EXPIRED", "leader none", "leave", "warning GAVE_WAY"]);
    let (lost, left) = (seen[1].0, seen[3].0);
    assert!(lost == 4 && (5..=8).contains(&left), "lost after {lost} s, left after {left} s");
}

#[test]
fn a_leader_whose_commits_are_denied_leaves_a_lease_after_the_first() {
    let mut refusing = Refusing::leader();
    (refusing.appends, refusing.commits) = (true, false);
    refusing.run(20);
    let seen = refusing.seen();
    let said: Vec<_> = seen.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(said, ["warning Denied", "lost 10 EXPIRED", "leader none", "leave", "warning GAVE_WAY"]);
    let (denied, left) = (seen[0].0, seen[3].0);
    assert!((4..=6).contains(&(left - denied)), "denied after {denied} s, left after {left} s");
}

/// The candidate reads nothing, as if cut off from the partition's leader, so it does not see that others lead.
#[test]
fn while_the_group_has_members_an_owner_that_reads_nothing_rests_twice_as_long_each_time() {
    let mut refusing = Refusing::owner();
    refusing.members = 1;
    let rests = refusing.rests(500);
    assert!(rests.len() == 3 && (50..=80).contains(&rests[0]), "{rests:?}");
    assert!(rests.windows(2).all(|two| two[1] > two[0] * 17 / 10), "{rests:?}");
}

#[test]
fn where_the_members_of_the_group_cannot_be_counted_the_rest_is_no_shorter() {
    let mut refusing = Refusing::owner();
    refusing.uncounted = true;
    let rests = refusing.rests(300);
    assert!(rests.len() == 2 && rests[1] > rests[0] * 17 / 10, "{rests:?}");
}

#[test]
fn of_an_hour_an_owner_that_never_appends_blocks_less_than_a_tenth() {
    let mut refusing = Refusing::owner();
    refusing.others = true;
    let (mut joined, mut blocked) = (0, 0);
    for minute in 1..=60 {
        refusing.run(minute * 60);
        for (second, what) in refusing.seen() {
            match what.as_str() {
                // The group assigns the partition to the candidate again at once.
                "join" => {
                    joined = second;
                    let outputs = refusing.bench.assigned_only();
                    refusing.serve(outputs);
                }
                "leave" => blocked += second - joined,
                _ => {}
            }
        }
    }
    assert!(blocked < 360, "{blocked} s of an hour");
}

#[test]
fn where_no_one_else_claims_the_rest_ends_after_the_worst_fail_over() {
    // The worst fail-over is a session timeout, a rebalance and two leases: 15, 35 and 10 seconds. Ten times the
    // blocked time is less than that at first.
    let rests = Refusing::owner().rests(300);
    assert!(rests.len() >= 4 && rests.iter().all(|rest| (55..=63).contains(rest)), "{rests:?}");
}

#[test]
fn a_probe_that_is_appended_ends_the_rest() {
    let mut refusing = Refusing::owner();
    refusing.run(12);
    refusing.seen();
    let publishes = refusing.publishes;
    refusing.appends = true;
    refusing.run(14);
    assert_eq!(refusing.seen().pop().map(|(_, what)| what), Some("join".into()));
    assert!(refusing.publishes > publishes, "the probe published a record");
}

#[test]
fn a_probe_is_a_record_that_no_candidate_waits_for() {
    let mut bench = Bench::member();
    for kind in [Kind::Claim, Kind::Heartbeat, released(11)] {
        bench.other(1, kind);
    }
    bench.other(2, Kind::Probe);
    assert_eq!(bench.lead_at(1), "won 14");
}

#[test]
fn while_all_brokers_are_away_no_one_gives_way() {
    let mut refusing = Refusing::owner();
    refusing.run(1);
    refusing.coordinator = false;
    refusing.run(3_600);
    assert!(refusing.seen().iter().all(|(_, what)| what != "leave"));
    assert_eq!(refusing.bench.campaign.state(), State::Acquiring);
}

#[test]
fn a_commit_without_an_answer_is_no_reason_to_give_way() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    let begun = bench.now;
    while bench.now.since(begun) < secs(60) {
        let (_, wait) = bench.wake().expect("a wake-up");
        bench.sleep(wait);
        let outputs = bench.tick();
        assert!(!outputs.contains(&"leave".into()), "{outputs:?}");
    }
}

#[test]
fn an_owner_whose_claim_is_not_read_back_leaves_after_two_leases() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.appended(1);
    bench.inspected();
    bench.committed(1);
    let begun = bench.now;
    let left = loop {
        let (_, wait) = bench.wake().expect("a wake-up");
        bench.sleep(wait);
        let mut outputs = std::collections::VecDeque::from(bench.tick());
        let mut leaves = false;
        while let Some(output) = outputs.pop_front() {
            let attempt = output.strip_prefix("heartbeat ").map(|text| text.parse().expect("a number"));
            outputs.extend(match (attempt, output.as_str()) {
                (Some(attempt), _) => {
                    let mut more = bench.appended(attempt);
                    more.extend(bench.committed(attempt));
                    more
                }
                (None, "inspect") => bench.inspected(),
                (None, "leave") => {
                    leaves = true;
                    Vec::new()
                }
                _ => Vec::new(),
            });
        }
        if leaves {
            break bench.now.since(begun);
        }
        assert!(bench.now.since(begun) < secs(60), "it never leaves");
    };
    assert!(left > T * 2 && left < T * 4, "after {left:?}");
}

#[test]
fn an_owner_that_is_told_to_close_while_it_rests_is_closed() {
    let mut refusing = Refusing::owner();
    refusing.run(12);
    assert_eq!(refusing.bench.give(Input::Close), ["state CLOSED"]);
    let topic = Topic { asked_at: refusing.bench.now, id: Some(TOPIC), time_of_day: ms(DAY) };
    assert_eq!(refusing.bench.give(Answer::Inspected(Ok(topic))), NOTHING);
    assert_eq!(refusing.bench.wake().filter(|(timer, _)| *timer == Timer::Join), None);
}
