//! The logs of a reader: where each is read, by which client, and when another client has to read it.
//!
//! No client and no broker is asked here.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use incumbent_core::induction::{Shown, TopicId, read};
use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, FaultKind};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Change;
use super::log::{Log, PATIENCE, Reading};
use crate::store::EntryInfo;
use crate::store::kafka::cluster::{Extent, is_missing, of_client};
use crate::store::kafka::native::Event;

/// The pause before a topic that could not be read is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// A log of which nothing was read for so long is asked where it ends: a client may show nothing of it, and a leader renews
/// more often with any usual lease.
const QUIET: Duration = Duration::from_secs(10);
/// An observer is answered from what was read within this time: it is asked for with each record that is shown.
const LATELY: Duration = Duration::from_secs(1);
/// A question without an answer is asked again. Longer than the limit of a question to the brokers.
const UNANSWERED: Duration = Duration::from_secs(15);

/// A client that reads; later ones have larger numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClientId(u64);

/// What the thread of a client has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Ask the brokers where the log begins and ends, and answer with [`Logs::answered`].
    Ask { topic: String, within: Option<Duration> },
    /// Read the log from this offset on.
    Read { topic: String, from: u64 },
    /// Make another client, which takes the logs that need one.
    AddClient,
}

/// The logs, by topic.
#[derive(Default)]
pub(super) struct Logs {
    logs: HashMap<String, Log>,
    pub(super) watch: Option<UnboundedSender<Change>>,
    clients: Vec<ClientId>,
    closed: bool,
}

impl Logs {
    // ---- clients ----

    /// Another client is there, and takes the logs that need one.
    pub(super) fn add_client(&mut self) -> ClientId {
        let id = ClientId(self.clients.last().map_or(0, |newest| newest.0 + 1));
        self.clients.push(id);
        for log in self.logs.values_mut().filter(|log| log.needs_client()) {
            log.client = id;
        }
        id
    }

    pub(super) fn remove_client(&mut self, id: ClientId) {
        self.clients.retain(|other| *other != id);
    }

    /// Whether a client reads anything, or what comes next.
    pub(super) fn needs(&self, client: ClientId) -> bool {
        let reads = || self.logs.values().any(|log| log.client == client);
        !self.closed && (self.clients.last() == Some(&client) || reads())
    }

    pub(super) fn is_read_by(&self, topic: &str, client: ClientId) -> bool {
        self.logs.get(topic).is_some_and(|log| log.client == client && !log.needs_client())
    }

    fn log(&mut self, election: &str, topic: &str, now: Instant) -> &mut Log {
        let newest = self.clients.last().copied().unwrap_or_default();
        self.logs.entry(topic.to_owned()).or_insert_with(|| Log::new(election, newest, now))
    }

    /// Gives a log to a client that never had it, where there is one.
    fn change_client(&mut self, topic: &str, now: Instant) {
        let newest = self.clients.last().copied();
        let Some(log) = self.logs.get_mut(topic) else { return };
        log.give_up_client(now);
        if let Some(newest) = newest.filter(|newest| log.barred < Some(*newest)) {
            log.client = newest;
        }
    }

    /// What this client's thread has to do now, and when to ask for more.
    pub(super) fn orders(&mut self, client: ClientId, now: Instant) -> (Vec<Order>, Option<Instant>) {
        let own = |log: &Log| log.client == client && !log.needs_client();
        let overdue = |log: &Log| log.due.is_some_and(|(_, by)| by <= now);
        let withheld: Vec<_> = self.logs.iter().filter(|(_, log)| own(log) && overdue(log)).collect();
        let withheld: Vec<_> = withheld.into_iter().map(|(topic, _)| topic.clone()).collect();
        for topic in withheld {
            tracing::warn!(
                topic,
                "the client shows no record of a topic that has some, and another client reads it"
            );
            self.change_client(&topic, now);
        }
        let (mut orders, mut next) = (Vec::new(), None::<Instant>);
        for (topic, log) in self.logs.iter_mut().filter(|(_, log)| log.client == client) {
            if log.needs_client() {
                if !orders.contains(&Order::AddClient) {
                    orders.push(Order::AddClient);
                }
                continue;
            }
            let mut ask = |log: &mut Log, within| {
                log.asked = Some((now, log.next));
                orders.push(Order::Ask { topic: topic.clone(), within });
            };
            let asked_at = log.asked.map(|(at, _)| at);
            match log.reading {
                Reading::Begins(at) if at <= now => {
                    log.reading = Reading::Asking;
                    ask(log, log.within());
                }
                Reading::Asking if asked_at.is_none_or(|at| at + UNANSWERED <= now) => ask(log, log.within()),
                Reading::From(from) => {
                    log.reading = Reading::Follows;
                    orders.push(Order::Read { topic: topic.clone(), from });
                }
                Reading::Follows if asked_at.unwrap_or(log.read_at) + QUIET <= now => ask(log, None),
                Reading::Begins(_) | Reading::Asking | Reading::Follows => {}
            }
            let at = match log.reading {
                Reading::Begins(at) => Some(at),
                Reading::Asking | Reading::From(_) => None,
                Reading::Follows => Some(log.read_at + QUIET),
            };
            let due = log.due.map(|(_, by)| by);
            next = [next, at.filter(|at| *at > now), due].into_iter().flatten().min();
        }
        (orders, next)
    }

    // ---- questions and answers ----

    /// A campaign of this lease enters: all that is needed of the log is shown to it.
    pub(super) fn follow(&mut self, election: &str, topic: &str, lease: Duration, now: Instant) {
        let log = self.log(election, topic, now);
        log.lease = log.lease.max(Some(lease));
        (log.reading, log.asked) = (Reading::Begins(now), None);
    }

    /// The topic has this id. Where it had another, another client reads it, and from its newest records on.
    pub(super) fn identified(&mut self, topic: &str, id: TopicId, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        if log.id.replace(id).is_some_and(|known| known != id) {
            log.lose_place(now);
            tracing::debug!(topic, "the topic is another, and another client reads it");
            self.change_client(topic, now);
        }
    }

    /// A record was appended by a campaign of this connection, and is shown within a lease.
    pub(super) fn expect(&mut self, topic: &str, offset: u64, lease: Duration, now: Instant) {
        if let Some(log) = self.logs.get_mut(topic).filter(|log| log.reading == Reading::Follows) {
            // The client before showed nothing either: this user may not read the topic.
            let within = if log.patience > PATIENCE { lease.max(log.patience) } else { lease };
            log.expect(offset, now + within);
        }
    }

    /// A caller asks for the leader, and asked where the log ends. Returns what to wait for, where it was not read up to
    /// there.
    ///
    /// # Errors
    /// The log's end is not known.
    pub(super) fn question(
        &mut self,
        election: &str,
        topic: &str,
        extent: Result<Extent, Fault>,
        now: Instant,
    ) -> Result<Option<oneshot::Receiver<Result<(), Fault>>>, Fault> {
        if self.closed {
            let detail = "the store was closed".into();
            return Err(Fault { kind: FaultKind::Unreachable, detail });
        }
        self.log(election, topic, now);
        let extent = match extent {
            Ok(extent) => extent,
            Err(fault) if is_missing(&fault) => {
                self.is_missing(topic, now);
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        };
        if let Some(id) = extent.id {
            self.identified(topic, id, now);
        }
        let log = self.log(election, topic, now);
        if matches!(log.reading, Reading::Begins(_)) && log.lease.is_none() && !log.needs_client() {
            log.begin(&extent, now);
        }
        if log.is_read_up_to(extent.high) {
            return Ok(None);
        }
        if log.reading == Reading::Follows {
            log.expect_end(extent.high, now);
        }
        Ok(Some(log.wait(extent.high)))
    }

    /// The answer to [`Order::Ask`].
    pub(super) fn answered(&mut self, topic: &str, extent: Result<Extent, Fault>, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        let Some((_, next)) = log.asked.take() else { return };
        let extent = match extent {
            Ok(extent) => extent,
            Err(fault) if is_missing(&fault) => return self.is_missing(topic, now),
            Err(fault) => {
                tracing::debug!(topic, "the end of a log is not known: {fault}");
                if log.reading == Reading::Asking {
                    log.reading = Reading::Begins(now + PAUSE);
                    log.answer(&Err(fault));
                } else {
                    log.read_at = now;
                }
                return;
            }
        };
        let known = log.id;
        if let Some(id) = extent.id {
            self.identified(topic, id, now);
        }
        let Some(log) = self.logs.get_mut(topic).filter(|log| !log.needs_client()) else { return };
        let is_another = known.is_some() && extent.id.is_some() && known != extent.id;
        if is_another {
            return;
        }
        let is_gap = match log.reading {
            Reading::Asking => log.begin(&extent, now),
            Reading::Follows if extent.high < next => {
                log.lose_place(now);
                true
            }
            Reading::Follows => {
                log.read_at = now;
                log.expect_end(extent.high, now);
                false
            }
            Reading::Begins(_) | Reading::From(_) => false,
        };
        if is_gap {
            self.show(topic, Shown::Gap);
        }
    }

    /// No topic, no leader.
    fn is_missing(&mut self, topic: &str, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        let was_read = matches!(log.reading, Reading::Follows | Reading::From(_));
        log.lose_place(now + PAUSE);
        log.answer(&Ok(()));
        if was_read {
            self.show(topic, Shown::Gap);
        }
    }

    pub(super) fn leader(&self, topic: &str) -> (Entry, Option<EntryInfo>) {
        self.logs.get(topic).map_or((Entry::Vacant, None), Log::leader)
    }

    /// The leader by what was read lately, where that was something.
    pub(super) fn shown(&self, topic: &str, now: Instant) -> Option<Entry> {
        let log = self.logs.get(topic)?;
        let is_new = log.reading == Reading::Follows && log.read_at + LATELY > now;
        (is_new && log.is_read_up_to(log.next)).then(|| log.leader().0)
    }

    // ---- events ----

    /// A client reports something of a log that it reads.
    pub(super) fn handle(&mut self, client: ClientId, event: Event, now: Instant) {
        let follows = |logs: &Self, topic: &str| {
            logs.is_read_by(topic, client)
                && logs.logs.get(topic).is_some_and(|log| log.reading == Reading::Follows)
        };
        match event {
            Event::Record { topic, record, written } if follows(self, &topic) => {
                let (next, shown) = (record.offset.0.saturating_add(1), record.clone());
                // Shown first: what is read up to its end may be read again from further back.
                self.show(&topic, Shown::Record(shown));
                let Some(log) = self.logs.get_mut(&topic) else { return };
                log.take_in(&record, written.map(Duration::from_millis), now);
                log.read_up_to(next, now);
            }
            // The last records may be such as no client is shown, the ends of transactions.
            Event::End { topic, offset } if follows(self, &topic) => {
                if let Some(log) = self.logs.get_mut(&topic).filter(|log| log.next < offset) {
                    log.read_up_to(offset, now);
                }
            }
            Event::Error { error, topic: Some(topic), .. } if follows(self, &topic) => {
                tracing::debug!(topic, "a reader: {}: {}", error.name, error.text);
                let Some(log) = self.logs.get_mut(&topic) else { return };
                let fault = of_client(&error);
                if read(&error.name).is_some() {
                    log.lose_place(now + PAUSE);
                    self.show(&topic, Shown::Gap);
                } else if fault.kind == FaultKind::Denied {
                    log.answer(&Err(fault));
                }
            }
            Event::Error { error, .. } => tracing::debug!("a reader: {}: {}", error.name, error.text),
            Event::Record { .. }
            | Event::End { .. }
            | Event::Assign { .. }
            | Event::Revoke { .. }
            | Event::Committed { .. }
            | Event::Nothing => {}
        }
    }

    fn show(&mut self, topic: &str, shown: Shown) {
        let Some((log, watch)) = self.logs.get(topic).zip(self.watch.as_ref()) else { return };
        // A watch that has ended is replaced by the next.
        let _ = watch.send(Change { election: log.election.clone(), shown });
    }

    pub(super) fn close(&mut self) {
        (self.closed, self.watch) = (true, None);
        self.logs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent_core::induction::{Kind, Record};
    use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
    use incumbent_core::{Incarnation, Revision, Token};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use crate::store::kafka::native::ClientError;

    const TOPIC: &str = "jobs.neli";
    const LEASE: Duration = Duration::from_secs(5);
    const FIRST: ClientId = ClientId(0);
    const SECOND: ClientId = ClientId(1);

    /// Logs with one client, and what campaigns are shown.
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
        let leads =
            |rig: &Rig, millis| rig.logs.shown(TOPIC, rig.at(millis)).map(|entry| entry.live().is_some());
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
        assert_eq!(
            rig.shown(),
            [Some(0), Some(1)],
            "what the first client still shows is of the former topic"
        );
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
}
