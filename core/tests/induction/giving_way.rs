//! Giving way: an owner that cannot prove leaves the group to others, and rests.

use incumbent_core::campaign::State;
use incumbent_core::induction::{Answer, Failure, Input, Kind, Timer, Topic};
use incumbent_core::store::FaultKind;

use crate::harness::*;

/// Serves what the outputs ask for as a group that is well and brokers that refuse every append; returns the events.
struct Refusing {
    bench: Bench,
    /// What was reported or asked, but for appends, questions and inspections, each with its second.
    seen: Vec<(u64, String)>,
    begun: incumbent_core::Instant,
    /// The coordinator answers.
    coordinator: bool,
    /// Records are appended.
    appends: bool,
    publishes: u32,
    /// Another leads while this one rests.
    others: bool,
}

impl Refusing {
    fn owner() -> Self {
        let bench = Bench::member();
        let begun = bench.now;
        let mut refusing = Self {
            bench,
            seen: Vec::new(),
            begun,
            coordinator: true,
            appends: false,
            publishes: 0,
            others: false,
        };
        let outputs = refusing.bench.assigned_only();
        refusing.serve(outputs);
        refusing
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
            } else if let Some(attempt) = number("claim ").or(number("probe ")) {
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

#[test]
fn of_an_hour_an_owner_that_never_appends_blocks_less_than_a_tenth() {
    let mut refusing = Refusing::owner();
    refusing.others = true;
    let (mut joined, mut blocked) = (0, 0);
    for minute in 1..=60 {
        refusing.run(minute * 60);
        for (second, what) in refusing.seen() {
            match what.as_str() {
                // The group hands it the partition again at once.
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
    let mut refusing = Refusing::owner();
    let (mut left, mut rests) = (0, Vec::new());
    for second in 1..=300 {
        refusing.run(second);
        for (second, what) in refusing.seen() {
            match what.as_str() {
                "join" => {
                    rests.push(second - left);
                    let outputs = refusing.bench.assigned_only();
                    refusing.serve(outputs);
                }
                "leave" => left = second,
                _ => {}
            }
        }
    }
    // A session, a rebalance and two leases: 15, 35 and 10 seconds. Ten times what it blocked would be less at first.
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
    assert!(refusing.publishes > publishes, "it tried by a record");
}

#[test]
fn a_probe_is_a_record_that_no_one_waits_for() {
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
