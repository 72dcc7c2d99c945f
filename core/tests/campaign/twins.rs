//! Repeated random numbers: records with this campaign's nonce that this campaign did not write.

use std::collections::VecDeque;

use incumbent_core::campaign::{Answer, Campaign, Event, Input, Output, Request, Settings};
use incumbent_core::record::{Entry, Kind, Nonce, Record};
use incumbent_core::store::{Action, Expect, Outcome, Write};
use incumbent_core::{Instant, Revision};

use crate::harness::*;

/// A record with our nonce but the name of another candidate, which wrote it as this attempt.
fn with_our_nonce(name: &str, revision: u64, attempt: u64) -> Entry {
    match mine(revision, attempt) {
        Entry::Live(record) => Entry::Live(Record { candidate: name.into(), ..record }),
        other => other,
    }
}

/// Creates a candidate whose acquire is refused because of the record under the key.
fn late_candidate() -> Bench {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.refused(1, 10);
    bench
}

fn writes(outputs: &[String]) -> Vec<&String> {
    let is_write = |output: &&String| ["acquire", "renew", "release"].iter().any(|it| output.starts_with(it));
    outputs.iter().filter(is_write).collect()
}

#[test]
fn a_record_with_our_nonce_under_another_name_is_waited_for_and_never_overwritten() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.wrote(1, Outcome::Unknown);
    bench.watched(with_our_nonce("other", 10, 1));
    let outputs = bench.pass(T);
    assert_eq!(writes(&outputs), Vec::<&String>::new(), "{outputs:?}");
}

#[test]
fn a_record_with_our_nonce_under_another_name_above_ours_ends_the_term() {
    let mut bench = Bench::leader();
    bench.pass(T / 3);
    let outputs = bench.watched(with_our_nonce("other", 11, 2));
    assert_eq!(outputs, ["warning SameNonce other", "lost 10 USURPED", "leader other", "state WAITING"]);
}

#[test]
fn a_record_of_an_attempt_that_was_never_made_is_not_ours() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(mine(11, 2))[..2], ["warning SameNonce me", "lost 10 USURPED"]);

    let mut bench = Bench::candidate(mine(10, 500));
    let outputs = bench.pass(T);
    assert_eq!(writes(&outputs), Vec::<&String>::new(), "{outputs:?}");
}

#[test]
fn a_record_at_another_revision_than_the_one_acknowledged_is_not_ours() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(mine(11, 1))[..2], ["warning SameNonce me", "lost 10 USURPED"]);
}

#[test]
fn a_record_of_an_attempt_that_the_store_refused_is_not_ours() {
    let mut bench = late_candidate();
    bench.watched(mine(10, 1));
    let outputs = bench.pass(T);
    assert_eq!(writes(&outputs), Vec::<&String>::new(), "{outputs:?}");
}

#[test]
fn a_record_of_an_attempt_that_was_a_release_is_not_ours() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained)[1], "release 2 over 10 owing 0ms");
    bench.wrote(2, Outcome::Unknown);
    let mut outputs = bench.watched(mine(11, 2));
    outputs.extend(bench.pass(T / 2));
    assert_eq!(writes(&outputs), Vec::<&String>::new(), "{outputs:?}");
}

/// When both begin.
const START: Instant = Instant::from_nanos(3_600_000_000_000);

/// A correct store with one key and no expiry that answers at once, with two campaigns on it.
struct Pair {
    campaigns: [Campaign; 2],
    leads: [bool; 2],
    key: Entry,
    newest: u64,
    now: Instant,
}

impl Pair {
    fn named(names: [&str; 2]) -> Self {
        let now = START;
        let campaigns = names.map(|name| {
            let settings = Settings { name: name.into(), ..settings() };
            let info = store_info(now.before(secs(1)));
            Campaign::new(settings, bucket(), &info, Nonce(0), 0, now).expect("settings that fit the store")
        });
        let mut pair = Self { campaigns, leads: [false; 2], key: Entry::Vacant, newest: 0, now };
        for place in 0..2 {
            pair.give(place, Input::Campaign);
        }
        pair
    }

    fn put(&mut self, write: &Write) -> Outcome {
        let current = self.key.revision().unwrap_or_default();
        let expected = match write.expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        };
        if current != expected {
            return Outcome::Refused { current };
        }
        self.newest += 1;
        let (kind, value, headers) = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => (Kind::Live, put.value.as_str(), &put.headers),
            Action::Release { headers } => (Kind::Tombstone, "", headers),
        };
        let headers = headers.iter().map(|(name, text)| (&**name, text.as_str()));
        self.key = Entry::decode(Revision(self.newest), kind, value.as_bytes(), headers);
        acknowledged(self.newest, None)
    }

    /// Gives an input to a campaign and handles everything that follows, and checks that the two campaigns never lead
    /// at the same time.
    fn give(&mut self, place: usize, input: Input) {
        let mut inputs = VecDeque::from([(place, input)]);
        while let Some((place, input)) = inputs.pop_front() {
            self.campaigns[place].handle(self.now, input).expect("an input that keeps the contract");
            loop {
                match self.campaigns[place].poll() {
                    Output::WakeAt(_) => break,
                    Output::Ask(Request::Write(write)) => {
                        let outcome = self.put(&write);
                        let applied = matches!(outcome, Outcome::Applied { .. });
                        inputs.push_back((
                            place,
                            Input::Answered(Answer::Wrote { attempt: write.attempt, outcome }),
                        ));
                        if applied {
                            inputs.extend((0..2).map(|place| (place, Input::Watched(self.key.clone()))));
                        }
                    }
                    Output::Ask(Request::Read(read)) => {
                        inputs.push_back((
                            place,
                            Input::Answered(Answer::Read { read, result: Ok(self.key.clone()) }),
                        ));
                    }
                    Output::Inspect { .. } => {
                        inputs.push_back((place, Input::Inspected(Ok(store_info(self.now)))));
                    }
                    Output::Reconnect => inputs.push_back((place, Input::Reconnected)),
                    Output::Event(Event::Won(_)) => self.leads[place] = true,
                    Output::Event(Event::Lost { .. }) => self.leads[place] = false,
                    Output::Event(_) => {}
                }
            }
            let leaders = self.campaigns.iter().filter(|campaign| campaign.is_leader(self.now)).count();
            assert!(leaders < 2, "two lead at once, after {:?}", self.now.since(START));
        }
    }

    /// Lets time pass in steps of 10 ms.
    fn pass(&mut self, span: std::time::Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now = self.now + ms(10);
            for place in 0..2 {
                self.give(place, Input::Tick);
            }
        }
    }
}

#[test]
fn of_two_candidates_with_one_nonce_one_leads_and_the_other_follows_it() {
    let mut pair = Pair::named(["a", "b"]);
    pair.pass(T * 3);
    assert_eq!(pair.leads, [true, false]);
    pair.give(0, Input::Close);
    pair.give(0, Input::Drained);
    pair.pass(secs(2));
    assert_eq!(pair.leads, [false, true]);
}

#[test]
fn of_two_candidates_with_one_nonce_and_one_name_one_leads_at_a_time() {
    let mut pair = Pair::named(["a", "a"]);
    pair.pass(T * 3);
    assert_eq!(pair.leads, [true, false]);
    pair.give(0, Input::Close);
    pair.give(0, Input::Drained);
    pair.pass(secs(2));
    assert_eq!(pair.leads, [false, true]);
}

#[test]
fn a_renewal_that_arrived_twice_is_ours_though_the_second_copy_was_not_sent_or_refused_by_a_server_that_lags()
{
    for answer in [Outcome::NotSent, Outcome::Refused { current: Revision(9) }] {
        let mut bench = Bench::leader();
        bench.pass(T / 3);
        bench.inspected();
        bench.wrote(2, answer);
        let outputs = bench.watched(mine(11, 2));
        assert!(!outputs.iter().any(|output| output.starts_with("warning SameNonce")), "{outputs:?}");
        assert!(bench.leads(), "{outputs:?}");
    }
}
