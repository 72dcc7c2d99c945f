//! The orders for the clients, and what campaigns see, in simulated time.

use super::*;
use incumbent_core::induction::{Kind, Record};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
use incumbent_core::{Incarnation, Revision, Token};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::native::ClientError;

const TOPIC: &str = "jobs.neli";
const LEASE: Duration = Duration::from_secs(5);
const FIRST: ClientId = ClientId(0);
const SECOND: ClientId = ClientId(1);

/// Logs with one client, and what campaigns see.
struct Rig {
    logs: Logs,
    shown: UnboundedReceiver<Change>,
    began: Instant,
}

impl Rig {
    fn new() -> Self {
        let (watch, shown) = unbounded_channel();
        let mut logs = Logs { watch: Some(watch), ..Logs::default() };
        assert_eq!(logs.add_client(), FIRST);
        Self { logs, shown, began: Instant::now() }
    }

    fn at(&self, millis: u64) -> Instant {
        self.began + Duration::from_millis(millis)
    }

    /// Follows a log of this extent for a campaign.
    fn following(extent: Extent) -> Self {
        let mut rig = Self::new();
        rig.logs.follow("jobs", TOPIC, LEASE, rig.at(0));
        rig.orders(FIRST, 0);
        rig.logs.answered(TOPIC, Ok(extent), rig.at(0));
        rig
    }

    fn orders(&mut self, client: ClientId, millis: u64) -> Vec<Order> {
        let now = self.at(millis);
        self.logs.orders(client, now).0
    }

    fn read(&mut self, client: ClientId, offsets: std::ops::Range<u64>, states: bool, millis: u64) {
        for offset in offsets {
            let record = record(offset, states);
            let event = Event::Record { topic: TOPIC.into(), record, written: None };
            let now = self.at(millis);
            self.logs.handle(client, event, now);
        }
    }

    /// The offsets of the records that campaigns were shown, and `None` for a gap.
    fn shown(&mut self) -> Vec<Option<u64>> {
        let shown = std::iter::from_fn(|| self.shown.try_recv().ok());
        let offset = |change: Change| match change.shown {
            Shown::Record(record) => Some(record.offset.0),
            Shown::Gap => None,
        };
        shown.map(offset).collect()
    }

    fn leader(&self) -> Option<u64> {
        self.logs.leader(TOPIC).0.live().map(|record| record.revision.0)
    }
}

fn record(offset: u64, states: bool) -> Record {
    let token = Token { incarnation: Incarnation(1), sequence: Revision(2) };
    Record {
        offset: Revision(offset),
        name: "ada".into(),
        write_id: states.then_some(WriteId { nonce: Nonce(7), attempt: Attempt(1) }),
        kind: Kind::Heartbeat,
        lease: None,
        term_info: states.then_some(TermInfo { token, led_for: Some(LEASE) }),
        topic: None,
        metadata: Vec::new(),
    }
}

fn extent(low: u64, high: u64, recent: Option<u64>) -> Extent {
    Extent { id: Some(TopicId(1)), low, high, recent }
}

fn ask(within: Option<Duration>) -> Order {
    Order::Ask { topic: TOPIC.into(), within }
}

fn read_from(from: u64) -> Order {
    Order::Read { topic: TOPIC.into(), from }
}

#[test]
fn a_campaign_reads_from_a_hundred_records_before_the_end_or_from_a_lease_ago() {
    let began = |extent| Rig::following(extent).orders(FIRST, 0);
    assert_eq!(began(extent(0, 600_000, Some(599_990))), [read_from(599_900)]);
    assert_eq!(began(extent(0, 600_000, Some(599_500))), [read_from(599_500)]);
    assert_eq!(began(extent(0, 600_000, None)), [read_from(599_900)]);
    assert_eq!(began(extent(599_950, 600_000, None)), [read_from(599_950)]);
    assert_eq!(began(extent(0, 600_000, Some(0))), [read_from(590_000)]);
    assert_eq!(began(extent(0, 0, None)), [read_from(0)]);
}

#[test]
fn the_records_of_the_longest_lease_are_asked_for() {
    let mut rig = Rig::new();
    rig.logs.follow("jobs", TOPIC, Duration::from_secs(2), rig.at(0));
    assert_eq!(rig.orders(FIRST, 0), [ask(Some(Duration::from_secs(6)))]);
    rig.logs.follow("jobs", TOPIC, Duration::from_secs(60), rig.at(0));
    assert_eq!(rig.orders(FIRST, 0), [ask(Some(Duration::from_secs(61)))]);
}

#[test]
fn what_lies_before_the_beginning_is_a_gap() {
    let mut rig = Rig::following(extent(0, 50, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 48..50, true, 1);
    assert_eq!(rig.shown(), [Some(48), Some(49)]);
    assert_eq!(Rig::following(extent(0, 200, None)).shown(), [None]);
    assert_eq!(Rig::following(extent(30, 50, None)).shown(), [None]);
}

#[test]
fn a_campaign_reads_further_back_until_a_record_states_an_incarnation() {
    let mut rig = Rig::following(extent(0, 600_000, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 599_900..600_000, false, 1);
    assert_eq!(rig.orders(FIRST, 1), [ask(Some(LEASE + Duration::from_secs(1)))]);
    rig.logs.answered(TOPIC, Ok(extent(0, 600_000, None)), rig.at(2));
    assert_eq!(rig.orders(FIRST, 2), [read_from(599_000)]);
    rig.read(FIRST, 599_000..599_500, false, 3);
    rig.read(FIRST, 599_500..600_000, true, 3);
    assert_eq!(rig.orders(FIRST, 3), []);
    assert_eq!(rig.leader(), Some(599_999));
}

#[test]
fn no_more_than_ten_thousand_records_are_read_for_an_incarnation() {
    let mut rig = Rig::following(extent(0, 600_000, None));
    let mut begun = Vec::new();
    for step in 1..=5 {
        for order in rig.orders(FIRST, step) {
            let Order::Read { from, .. } = order else { continue };
            begun.push(from);
            rig.read(FIRST, from..600_000, false, step);
        }
        rig.orders(FIRST, step);
        rig.logs.answered(TOPIC, Ok(extent(0, 600_000, None)), rig.at(step));
    }
    assert_eq!(begun, [599_900, 599_000, 590_000]);
}

#[test]
fn an_observer_reads_no_further_back() {
    let mut rig = Rig::new();
    let now = rig.at(0);
    assert!(rig.logs.question("jobs", TOPIC, Ok(extent(0, 600_000, None)), now).unwrap().is_some());
    assert_eq!(rig.orders(FIRST, 0), [read_from(599_900)]);
    rig.read(FIRST, 599_900..600_000, false, 1);
    assert_eq!((rig.orders(FIRST, 1), rig.leader()), (vec![], Some(599_999)));
}

#[test]
fn a_question_is_answered_once_the_log_is_read_to_the_end_that_it_had() {
    let mut rig = Rig::new();
    let now = rig.at(0);
    let mut read = rig.logs.question("jobs", TOPIC, Ok(extent(0, 3, None)), now).unwrap().unwrap();
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..2, true, 1);
    assert!(read.try_recv().is_err());
    rig.read(FIRST, 2..4, true, 1);
    assert_eq!(read.try_recv().unwrap(), Ok(()));
    let now = rig.at(2);
    assert!(rig.logs.question("jobs", TOPIC, Ok(extent(0, 4, None)), now).unwrap().is_none());
    assert!(rig.logs.question("jobs", TOPIC, Ok(extent(0, 5, None)), now).unwrap().is_some());
}

#[test]
fn a_log_whose_last_records_are_shown_to_no_client_is_read_to_its_end() {
    let mut rig = Rig::new();
    let now = rig.at(0);
    let mut read = rig.logs.question("jobs", TOPIC, Ok(extent(0, 3, None)), now).unwrap().unwrap();
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..2, true, 1);
    rig.logs.handle(FIRST, Event::End { topic: TOPIC.into(), offset: 3 }, rig.at(1));
    assert_eq!(read.try_recv().unwrap(), Ok(()));
}

#[test]
fn what_was_just_read_answers_an_observer_and_an_older_reading_does_not() {
    let mut rig = Rig::following(extent(0, 5, None));
    let leads = |rig: &Rig, millis| rig.logs.shown(TOPIC, rig.at(millis)).map(|entry| entry.live().is_some());
    rig.orders(FIRST, 0);
    assert_eq!(leads(&rig, 0), None);
    rig.read(FIRST, 0..5, true, 10);
    assert_eq!((leads(&rig, 1_009), leads(&rig, 1_010)), (Some(true), None));
}

#[test]
fn another_topic_id_gives_the_log_to_a_new_client() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 1);
    rig.logs.identified(TOPIC, TopicId(1), rig.at(2));
    assert_eq!(rig.orders(FIRST, 2), []);
    rig.logs.identified(TOPIC, TopicId(2), rig.at(2));
    assert_eq!((rig.leader(), rig.orders(FIRST, 2)), (None, vec![Order::AddClient]));
    assert!(!rig.logs.is_read_by(TOPIC, FIRST));
    assert_eq!(rig.logs.add_client(), SECOND);
    assert!(!rig.logs.needs(FIRST), "nothing is left to it");
    assert_eq!(rig.orders(SECOND, 3), [ask(Some(LEASE + Duration::from_secs(1)))]);
    let new = Extent { id: Some(TopicId(2)), ..extent(0, 2, None) };
    rig.logs.answered(TOPIC, Ok(new), rig.at(4));
    assert_eq!(rig.orders(SECOND, 4), [read_from(0)]);
    rig.shown();
    rig.read(FIRST, 5..6, true, 5);
    rig.read(SECOND, 0..2, true, 5);
    assert_eq!(rig.shown(), [Some(0), Some(1)], "the first client still shows the former topic");
}

#[test]
fn own_records_that_are_not_shown_within_a_lease_give_the_log_to_a_new_client() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 1);
    rig.logs.expect(TOPIC, 5, LEASE, rig.at(10));
    assert_eq!(rig.orders(FIRST, 5_009), []);
    assert_eq!(rig.orders(FIRST, 5_010), [Order::AddClient]);
    rig.logs.add_client();
    rig.orders(SECOND, 5_010);
    rig.shown();
    rig.logs.answered(TOPIC, Ok(extent(0, 6, None)), rig.at(5_020));
    assert_eq!(rig.shown(), [None], "a reader that was replaced is a gap");
    assert_eq!(rig.orders(SECOND, 5_020), [read_from(0)]);
}

#[test]
fn own_records_that_are_shown_leave_the_log_to_its_client() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 1);
    rig.logs.expect(TOPIC, 5, LEASE, rig.at(10));
    rig.read(FIRST, 5..6, true, 20);
    rig.logs.expect(TOPIC, 5, LEASE, rig.at(30));
    assert_eq!(rig.orders(FIRST, 9_000), []);
}

#[test]
fn a_quiet_log_is_asked_for_its_end_and_one_that_withholds_records_gets_a_new_client() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 0);
    assert_eq!(rig.orders(FIRST, 9_999), []);
    assert_eq!(rig.orders(FIRST, 10_000), [ask(None)]);
    assert_eq!(rig.orders(FIRST, 10_001), []);
    rig.logs.answered(TOPIC, Ok(extent(0, 5, None)), rig.at(10_002));
    assert_eq!(rig.orders(FIRST, 19_000), []);
    assert_eq!(rig.orders(FIRST, 20_002), [ask(None)]);
    rig.logs.answered(TOPIC, Ok(extent(0, 6, None)), rig.at(20_010));
    assert_eq!(rig.orders(FIRST, 23_009), []);
    assert_eq!(rig.orders(FIRST, 23_010), [Order::AddClient]);
}

#[test]
fn records_that_came_while_the_end_was_asked_for_are_no_loss() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 0);
    rig.orders(FIRST, 10_000);
    rig.read(FIRST, 5..8, true, 10_001);
    rig.shown();
    rig.logs.answered(TOPIC, Ok(extent(0, 6, None)), rig.at(10_002));
    assert_eq!((rig.orders(FIRST, 10_003), rig.shown()), (vec![], vec![]));
}

#[test]
fn a_log_that_lost_its_end_is_read_again() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 0);
    rig.shown();
    rig.orders(FIRST, 10_000);
    rig.logs.answered(TOPIC, Ok(extent(0, 4, None)), rig.at(10_002));
    assert_eq!(rig.shown(), [None]);
    assert_eq!(rig.orders(FIRST, 10_002), [ask(Some(LEASE + Duration::from_secs(1)))]);
}

#[test]
fn a_client_that_shows_nothing_as_its_predecessor_is_replaced_later_and_later() {
    let mut rig = Rig::following(extent(0, 5, None));
    let mut replaced = Vec::new();
    let mut client = FIRST;
    for millis in (0..60_000).step_by(500) {
        for order in rig.orders(client, millis) {
            match order {
                Order::AddClient => {
                    replaced.push(millis);
                    client = rig.logs.add_client();
                }
                Order::Ask { .. } => rig.logs.answered(TOPIC, Ok(extent(0, 5, None)), rig.at(millis)),
                Order::Read { .. } => {}
            }
        }
    }
    assert_eq!(replaced, [3_000, 9_500, 22_000, 46_500]);
}

#[test]
fn a_topic_that_is_made_again_next_to_others_takes_the_client_that_another_needed() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.logs.follow("mail", "mail.neli", LEASE, rig.at(0));
    rig.orders(FIRST, 0);
    rig.logs.answered("mail.neli", Ok(extent(0, 5, None)), rig.at(0));
    rig.orders(FIRST, 0);
    rig.logs.identified(TOPIC, TopicId(2), rig.at(1));
    rig.orders(FIRST, 1);
    rig.logs.add_client();
    rig.logs.identified("mail.neli", TopicId(3), rig.at(2));
    assert!(rig.logs.is_read_by("mail.neli", SECOND));
    assert!(!rig.orders(SECOND, 3).contains(&Order::AddClient));
}

#[test]
fn a_topic_that_is_missing_has_no_leader_and_is_looked_for_again() {
    let mut rig = Rig::following(extent(0, 5, None));
    rig.orders(FIRST, 0);
    rig.read(FIRST, 0..5, true, 0);
    rig.shown();
    let missing = Fault { kind: FaultKind::Broken, detail: "UNKNOWN_TOPIC_OR_PART: gone".into() };
    let now = rig.at(1);
    assert!(rig.logs.question("jobs", TOPIC, Err(missing.clone()), now).unwrap().is_none());
    assert_eq!((rig.leader(), rig.shown()), (None, vec![None]));
    assert_eq!(rig.orders(FIRST, 500), []);
    assert_eq!(rig.orders(FIRST, 501), [ask(Some(LEASE + Duration::from_secs(1)))]);
    rig.logs.answered(TOPIC, Err(missing), rig.at(502));
    assert_eq!(rig.shown(), [], "nothing was read since");
}

#[test]
fn who_may_not_read_is_answered_with_the_permission() {
    let mut rig = Rig::new();
    let now = rig.at(0);
    let mut read = rig.logs.question("jobs", TOPIC, Ok(extent(0, 5, None)), now).unwrap().unwrap();
    rig.orders(FIRST, 0);
    let error = ClientError { name: "TOPIC_AUTHORIZATION_FAILED".into(), text: "refused".into() };
    rig.logs.handle(FIRST, Event::Error { error, topic: Some(TOPIC.into()), fatal: false }, rig.at(1));
    let fault = read.try_recv().unwrap().unwrap_err();
    assert!(fault.kind == FaultKind::Denied && fault.detail.contains("allow Read"), "{fault:?}");
}

#[test]
fn a_question_without_an_answer_is_asked_again() {
    let mut rig = Rig::new();
    rig.logs.follow("jobs", TOPIC, LEASE, rig.at(0));
    let asked = [ask(Some(LEASE + Duration::from_secs(1)))];
    assert_eq!(rig.orders(FIRST, 0), asked);
    assert_eq!(rig.orders(FIRST, 14_999), []);
    assert_eq!(rig.orders(FIRST, 15_000), asked);
}
