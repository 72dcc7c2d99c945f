//! The connection to a cluster: one producer for all candidates, and queries about topics and groups.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use incumbent_core::Incarnation;
use incumbent_core::induction::{Answer as Reported, Failure, Publish, TOPIC, Topic, TopicId};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer};
use rdkafka_sys as sys;
use rdkafka_sys::rd_kafka_resp_err_t as Code;

use super::connecting::{Delivery, remedy};
use super::faults::{failure, is_between_coordinators, is_missing, of_client, of_topic, unreachable};
use super::native::{self, ClientError, DroppedApart, c_text, text};
use super::producer::Polled;
use super::report::{Answers, Report};
use super::settings::KafkaSettings;
use incumbent_store::clock::Clock;
use incumbent_store::{Error, ErrorKind, threads};

type Result<T, E = Error> = std::result::Result<T, E>;

/// The time limit of a query to the brokers.
pub(super) const LIMIT: Duration = Duration::from_secs(3);
/// The interval at which a query is repeated within its limit, so that the client can report a refusal.
const SLICE: Duration = Duration::from_millis(500);
/// The pause between two attempts to reach a broker.
const PAUSE: Duration = Duration::from_millis(500);
/// The number of attempts to find a topic that was just created, and the pause between them.
const TRIES: usize = 30;
const SOON: Duration = Duration::from_millis(100);
/// The time for which records in a new leader topic are kept. A lease is shorter.
const RETENTION: &CStr = c"3600000";
/// The time after which a segment of a new leader topic is closed. Brokers delete only closed segments, and by default
/// they close a segment after a week (`log.roll.hours`). Until then a topic keeps all of its records, whatever its
/// retention.
const SEGMENT: &CStr = c"600000";

/// The message for an unanswered query.
const SILENT: &str = "the brokers do not answer";

/// The topic of the commits of all groups.
pub(super) const COMMITS: &str = "__consumer_offsets";

/// The connection to a cluster.
pub(crate) struct Cluster {
    pub(super) settings: KafkaSettings,
    pub(super) clock: Clock,
    producer: Mutex<Writer>,
}

type Producing = DroppedApart<Polled>;

/// The producer for all candidates. It is replaced when it is dead, or has written to a topic that was recreated.
struct Writer {
    producer: Arc<Producing>,
    /// The id of each topic to which the producer has written, by the name of the topic. The id is spelled as in records.
    topics: HashMap<String, String>,
}

impl Writer {
    fn new(settings: &KafkaSettings) -> Result<Self> {
        let mut config = settings.producer();
        // The level at which the client reports a connection that a listener closed.
        config.set_log_level(RDKafkaLogLevel::Info);
        let producer = Arc::new(DroppedApart::new(Polled::new(&config)?));
        Ok(Self { producer, topics: HashMap::new() })
    }

    /// Whether the producer has written to an earlier topic with this name. If it has not, remembers this one.
    fn wrote_to_another(&mut self, topic: &str, id: &str) -> bool {
        match self.topics.get(topic) {
            Some(known) => known != id,
            None => {
                self.topics.insert(topic.to_owned(), id.to_owned());
                false
            }
        }
    }
}

/// A topic, as the brokers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopicDescription {
    pub(super) id: Option<TopicId>,
    pub(super) partitions: usize,
    /// The number of replicas of partition zero.
    pub(super) replicas: usize,
}

/// The beginning and end of a topic's log, and the topic's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) id: Option<TopicId>,
    /// The offset of the oldest record, and the offset after the newest.
    pub(super) low: u64,
    pub(super) high: u64,
    /// The offset of the oldest record that was written within the requested time; `None` if there is none.
    pub(super) recent: Option<u64>,
}

impl Cluster {
    /// Connects to a broker that answers.
    ///
    /// If none does, waits for one and logs the first failure; with [`KafkaSettings::fail_fast`] it returns the
    /// failure.
    ///
    /// # Errors
    /// `InvalidSetting` for properties that the client refuses, `Authentication` and `PermissionDenied` if the brokers
    /// refuse the credentials, `StoreUnavailable` with `fail_fast` if no broker answers.
    pub(crate) async fn open(settings: &KafkaSettings, clock: &Clock) -> Result<Arc<Self>> {
        settings.check()?;
        threads::ready().await?;
        let producer = Mutex::new(Writer::new(settings)?);
        let cluster = Arc::new(Self { settings: settings.clone(), clock: clock.clone(), producer });
        let mut failing = false;
        loop {
            let error = match cluster.ask(|cluster| cluster.cluster_id()).await {
                Ok(_) => return Ok(cluster),
                Err(error) => error,
            };
            if settings.fail_fast || error.kind != FaultKind::Unreachable {
                let kind = match error.kind {
                    FaultKind::Denied => ErrorKind::Authentication,
                    FaultKind::Broken => ErrorKind::Broken,
                    FaultKind::Unreachable => ErrorKind::StoreUnavailable,
                };
                return Err(Error::new(kind, error.detail));
            }
            // Logs one line for each outage, not for each attempt.
            if !std::mem::replace(&mut failing, true) {
                tracing::warn!("trying Kafka at {} again: {error}", settings.servers_shown());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes a blocking query, on a thread for blocking calls.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let cluster = Arc::clone(self);
        let asked = tokio::task::spawn_blocking(move || question(&cluster)).await;
        asked.unwrap_or_else(|_| Err(unreachable("the query was dropped")))
    }

    /// Inspects the store for a session. The store's incarnation never changes, because tokens are numbered in each
    /// topic's log.
    pub(crate) async fn inspect(self: &Arc<Self>) -> Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        self.ask(|cluster| cluster.cluster_id()).await?;
        Ok(StoreInfo {
            asked_at,
            incarnation: Incarnation(0),
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        })
    }

    pub(crate) fn settings(&self) -> &KafkaSettings {
        &self.settings
    }

    // ---- records ----

    /// Passes a record to the client. Its delivery report goes to `answers`.
    pub(crate) fn publish(&self, topic: &str, publish: &Publish, answers: &Answers) {
        let value = publish.value(time_of_day());
        let mut headers = OwnedHeaders::new_with_capacity(publish.headers.len());
        for (key, value) in &publish.headers {
            headers = headers.insert(Header { key, value: Some(value) });
        }
        let delivery = Delivery { attempt: publish.attempt, answers: answers.clone() };
        let record = BaseRecord::<(), str, _>::with_opaque_to(topic, Box::new(delivery))
            .partition(0)
            .payload(&value)
            .headers(headers);
        // A missing permission would also end the next producer, which would then report only that it is dead.
        let id = publish.headers.iter().find(|(name, _)| name == TOPIC).map(|(_, id)| id.as_str());
        self.replace_producer_of_another(topic, id);
        let refused = self.replace_dead_producer().map(|error| failure(&error));
        let refused = refused.filter(|failure| matches!(failure, Failure::Denied(_)));
        let refused = refused.or_else(|| {
            let (error, _) = self.producer().send(record).err()?;
            Some(failure(&ClientError::of_kafka(&error)))
        });
        if let Some(failure) = refused {
            let (attempt, result) = (publish.attempt, Err(failure));
            // If the campaign is over, the answer has no receiver.
            let _ = answers.send(Report::Answer(Reported::Published { attempt, result }));
        }
    }

    /// Returns the producer, even a dead one, which still answers queries.
    fn producer(&self) -> Arc<Producing> {
        Arc::clone(&self.writer().producer)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.producer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces a producer that a fatal error has ended, and returns that error.
    fn replace_dead_producer(&self) -> Option<ClientError> {
        let mut present = self.writer();
        let (code, reason) = present.producer.client().fatal_error()?;
        tracing::warn!("the producer is dead and will be replaced: {code}: {reason}");
        if let Ok(next) = Writer::new(&self.settings) {
            *present = next;
        }
        let code = Code::try_from(code as i32).unwrap_or(Code::RD_KAFKA_RESP_ERR__FATAL);
        Some(ClientError { text: reason, ..ClientError::of(code) })
    }

    /// Replaces a producer that wrote to an earlier topic of this name. If the earlier topic's leader epoch was larger,
    /// librdkafka takes the new topic's metadata for outdated, and keeps appending to the former leader.
    fn replace_producer_of_another(&self, topic: &str, id: Option<&str>) {
        let (Some(id), mut present) = (id, self.writer()) else { return };
        if !present.wrote_to_another(topic, id) {
            return;
        }
        tracing::debug!(topic, "the topic was recreated; replacing the producer");
        let Ok(mut next) = Writer::new(&self.settings) else { return };
        next.wrote_to_another(topic, id);
        let before = std::mem::replace(&mut *present, next).producer;
        let thread = std::thread::Builder::new().name("incumbent-kafka".into());
        // The former producer delivers records of other elections before it is dropped. If no thread can be started for
        // that, the outcome of those records is unknown.
        let _ = thread.spawn(move || drop(before.flush(LIMIT)));
    }

    // ---- topics ----

    /// The extent of a topic's log, and where the records of the last `within` begin.
    pub(super) fn extent(&self, topic: &str, within: Option<Duration>) -> Result<Extent, Fault> {
        let until = Instant::now() + LIMIT;
        loop {
            let Topic { id, .. } = self.inspect_topic(topic)?;
            // The client may know an outdated partition leader, and a refusal makes it look up the leader again.
            let fault = match self.offsets(topic, within) {
                Ok((low, high, recent)) => return Ok(Extent { id, low, high, recent }),
                Err(error) => self.explained(of_topic(of_client(&error), topic)),
            };
            if fault.kind == FaultKind::Denied || Instant::now() >= until {
                return Err(fault);
            }
            std::thread::sleep(SOON);
        }
    }

    fn offsets(&self, topic: &str, within: Option<Duration>) -> Result<(u64, u64, Option<u64>), ClientError> {
        let producer = self.producer();
        let client = producer.client();
        let ends = client.fetch_watermarks(topic, 0, SLICE).map_err(|error| ClientError::of_kafka(&error))?;
        let offset = |offset| u64::try_from(offset).unwrap_or_default();
        let recent = match within {
            Some(within) => native::offset_at(client, topic, time_of_day().saturating_sub(within), SLICE)?,
            None => None,
        };
        Ok((offset(ends.0), offset(ends.1), recent))
    }

    /// Returns the topic of an election, after creating it if it is missing and creation is allowed.
    pub(crate) fn prepare(&self, topic: &str) -> Result<Topic, Fault> {
        let inspected = self.inspect_topic(topic);
        let missing = matches!(&inspected, Err(fault) if is_missing(fault));
        if !missing {
            return inspected;
        }
        if !self.settings.creates_topics() {
            let detail = format!(
                "the topic {topic:?} does not exist; prepare the store with this election, or leave out create=false"
            );
            return Err(Fault { kind: FaultKind::Broken, detail });
        }
        self.create(topic)?;
        // Some brokers learn of the new topic later than others.
        for _ in 0..TRIES {
            match self.inspect_topic(topic) {
                Err(fault) if is_missing(&fault) => std::thread::sleep(SOON),
                inspected => return inspected,
            }
        }
        self.inspect_topic(topic)
    }

    /// Creates the leader topic, unless it exists. Returns whether it was created.
    pub(super) fn create(&self, topic: &str) -> Result<bool, Fault> {
        let brokers = self.metadata(None)?.brokers;
        let replicas = brokers.clamp(1, 3);
        let name = c_text(topic);
        let mut settings = vec![
            (c"cleanup.policy", c"delete"),
            (c"retention.ms", RETENTION),
            (c"segment.ms", SEGMENT),
            (c"unclean.leader.election.enable", c"false"),
        ];
        if replicas == 3 {
            settings.push((c"min.insync.replicas", c"2"));
        }
        let op = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_CREATETOPICS;
        let event = self.answer(op, |client, options, queue| {
            let replicas = i32::try_from(replicas).unwrap_or(1);
            // SAFETY: all arguments are live; the client copies the topic, which is destroyed here.
            unsafe {
                let new = sys::rd_kafka_NewTopic_new(name.as_ptr(), 1, replicas, ptr::null_mut(), 0);
                for (name, value) in settings {
                    sys::rd_kafka_NewTopic_set_config(new, name.as_ptr(), value.as_ptr());
                }
                let mut topics = [new];
                sys::rd_kafka_CreateTopics(client, topics.as_mut_ptr(), topics.len(), options, queue);
                sys::rd_kafka_NewTopic_destroy(new);
            }
        })?;
        // SAFETY: the event is the result of a creation, and lives until the end of this block.
        let (code, reason) = unsafe {
            let result = sys::rd_kafka_event_CreateTopics_result(event.0.as_ptr());
            let mut count = 0;
            let topics = sys::rd_kafka_CreateTopics_result_topics(result, &mut count);
            if count == 0 {
                return Err(unreachable("the brokers report no new topic"));
            }
            (
                sys::rd_kafka_topic_result_error(*topics),
                text(sys::rd_kafka_topic_result_error_string(*topics)),
            )
        };
        match code {
            Code::RD_KAFKA_RESP_ERR_NO_ERROR => {
                tracing::info!("the topic {topic:?} was created, with {replicas} replicas");
                Ok(true)
            }
            Code::RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS => Ok(false),
            code => {
                let error = ClientError::of(code);
                let kind = match error.name.ends_with("AUTHORIZATION_FAILED") {
                    true => FaultKind::Denied,
                    false => FaultKind::Broken,
                };
                let detail = format!(
                    "the topic {topic:?} cannot be created: {}: {reason}; create it with one partition, or allow Create \
                     on it",
                    error.name
                );
                Err(Fault { kind, detail })
            }
        }
    }

    /// Returns the topic's id, and the time at which it was queried.
    pub(crate) fn inspect_topic(&self, topic: &str) -> Result<Topic, Fault> {
        let asked_at = self.clock.now();
        let described = self.describe_topic(topic)?;
        Ok(Topic { asked_at, id: described.id, time_of_day: time_of_day() })
    }

    pub(super) fn describe_topic(&self, topic: &str) -> Result<TopicDescription, Fault> {
        let name = c_text(topic);
        let mut names = [name.as_ptr()];
        let event = self.answer(
            sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS,
            |client, options, queue| {
                // SAFETY: all arguments are live; the client copies the names.
                unsafe {
                    let topics =
                        sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
                    sys::rd_kafka_DescribeTopics(client, topics, options, queue);
                    sys::rd_kafka_TopicCollection_destroy(topics);
                }
            },
        )?;
        // SAFETY: the event is a description of topics, and lives until the end of this block.
        unsafe {
            let result = sys::rd_kafka_event_DescribeTopics_result(event.0.as_ptr());
            let mut count = 0;
            let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &mut count);
            if count == 0 {
                return Err(unreachable("the brokers describe no topic"));
            }
            let described = *topics;
            check(sys::rd_kafka_TopicDescription_error(described)).map_err(|fault| of_topic(fault, topic))?;
            let id = sys::rd_kafka_TopicDescription_topic_id(described);
            let id = NonNull::new(id.cast_mut()).map(|id| {
                let most = sys::rd_kafka_Uuid_most_significant_bits(id.as_ptr()) as u64;
                let least = sys::rd_kafka_Uuid_least_significant_bits(id.as_ptr()) as u64;
                (u128::from(most) << 64) | u128::from(least)
            });
            let mut partitions = 0;
            let all = sys::rd_kafka_TopicDescription_partitions(described, &mut partitions);
            let mut replicas = 0;
            if partitions > 0 {
                let _ = sys::rd_kafka_TopicPartitionInfo_replicas(*all, &mut replicas);
            }
            // Brokers before 2.8 have no ids and send zeros.
            Ok(TopicDescription { id: id.filter(|id| *id != 0).map(TopicId), partitions, replicas })
        }
    }

    /// The elections that have a leader topic.
    pub(crate) fn elections(&self) -> Result<Vec<String>, Fault> {
        let topics = self.metadata(None)?.topics;
        Ok(topics.iter().filter_map(|topic| self.settings.election_of(topic)).collect())
    }

    /// The client ids of a group's members; empty if the group does not exist.
    pub(crate) fn members(&self, group: &str) -> Result<Vec<String>, Fault> {
        let until = Instant::now() + LIMIT;
        loop {
            match self.described_members(group) {
                Err(fault) if is_between_coordinators(&fault) && Instant::now() < until => {
                    std::thread::sleep(SOON);
                }
                members => return members,
            }
        }
    }

    fn described_members(&self, group: &str) -> Result<Vec<String>, Fault> {
        // A cluster creates the topic for its groups when it is first asked about one, which takes seconds.
        match self.describe_topic(COMMITS) {
            Err(fault) if is_missing(&fault) => return Ok(Vec::new()),
            // The next query would get no answer either.
            Err(fault) if fault.kind == FaultKind::Unreachable => return Err(fault),
            _ => {}
        }
        let name = c_text(group);
        let mut names = [name.as_ptr()];
        let op = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS;
        let event = self.answer(op, |client, options, queue| {
            // SAFETY: all arguments are live; the client copies the names.
            unsafe {
                sys::rd_kafka_DescribeConsumerGroups(client, names.as_mut_ptr(), names.len(), options, queue);
            }
        })?;
        // SAFETY: the event is a description of groups, and lives until the end of this block.
        unsafe {
            let result = sys::rd_kafka_event_DescribeConsumerGroups_result(event.0.as_ptr());
            let mut count = 0;
            let groups = sys::rd_kafka_DescribeConsumerGroups_result_groups(result, &mut count);
            if count == 0 {
                return Ok(Vec::new());
            }
            let group = *groups;
            match check(sys::rd_kafka_ConsumerGroupDescription_error(group)) {
                Err(fault) if fault.detail.starts_with("GROUP_ID_NOT_FOUND") => return Ok(Vec::new()),
                checked => checked?,
            }
            let members = sys::rd_kafka_ConsumerGroupDescription_member_count(group);
            let describe = |place| {
                let member = sys::rd_kafka_ConsumerGroupDescription_member(group, place);
                text(sys::rd_kafka_MemberDescription_client_id(member))
            };
            Ok((0..members).map(describe).collect())
        }
    }

    pub(super) fn metadata(&self, topic: Option<&str>) -> Result<Metadata, Fault> {
        self.metadata_within(topic, LIMIT).map_err(|fault| self.explained(fault))
    }

    /// Replaces the fault of a query that no broker answered with the reason, if a broker was recently unreachable. The
    /// brokers themselves name the addresses for further queries, and those may lead nowhere although the first broker
    /// answered.
    fn explained(&self, fault: Fault) -> Fault {
        // An error of the client itself, which begins with `_`, is not an answer of a broker.
        let is_unanswered = fault.detail.starts_with('_') || fault.detail == SILENT;
        self.unreached().filter(|_| is_unanswered).unwrap_or(fault)
    }

    /// The broker that was recently unreachable.
    pub(super) fn unreached(&self) -> Option<Fault> {
        let why = self.producer().context().unreached_lately()?;
        let is_ours = why.contains("/bootstrap");
        let remedy = if is_ours { "" } else { "; check the advertised.listeners of the brokers" };
        Some(unreachable(&format!("a broker cannot be reached: {why}{remedy}")))
    }

    fn metadata_within(&self, topic: Option<&str>, limit: Duration) -> Result<Metadata, Fault> {
        let producer = self.producer();
        let metadata = producer.client().fetch_metadata(topic, limit);
        let metadata = metadata.map_err(|error| of_client(&ClientError::of_kafka(&error)))?;
        Ok(Metadata {
            brokers: metadata.brokers().len(),
            broker: metadata.orig_broker_id(),
            topics: metadata.topics().iter().map(|topic| topic.name().to_owned()).collect(),
        })
    }

    /// Asks for the cluster's id. This is the first query to any broker.
    fn cluster_id(&self) -> Result<Option<String>, Fault> {
        let until = Instant::now() + LIMIT;
        while let Err(fault) = self.metadata_within(Some("__consumer_offsets"), SLICE) {
            let producer = self.producer();
            if let Some(refused) = producer.context().take_refused() {
                return Err(refused);
            }
            if fault.kind != FaultKind::Unreachable {
                return Err(fault);
            }
            if Instant::now() >= until {
                let silent = || format!("{} did not answer within {LIMIT:?}", self.settings.servers_shown());
                let why = producer.context().take_unreached().unwrap_or_else(silent);
                let remedy = remedy(&self.settings, &why);
                return Err(unreachable(&format!("no broker can be used: {why}{remedy}")));
            }
        }
        Ok(self.producer().client().fetch_cluster_id(LIMIT))
    }

    /// Asks the brokers, and waits for the answer.
    fn answer(
        &self,
        op: sys::rd_kafka_admin_op_t,
        ask: impl FnOnce(*mut sys::rd_kafka_t, *const sys::rd_kafka_AdminOptions_t, *mut sys::rd_kafka_queue_t),
    ) -> Result<Answer, Fault> {
        let producer = self.producer();
        let client = producer.client().native_ptr();
        let millis = i32::try_from(LIMIT.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the client lives as long as `producer`; queue and options are destroyed here, and the event by its drop.
        unsafe {
            let queue = sys::rd_kafka_queue_new(client);
            let options = sys::rd_kafka_AdminOptions_new(client, op);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, millis, ptr::null_mut(), 0);
            ask(client, options, queue);
            // An answer or a failure arrives within the request's limit.
            let event = NonNull::new(sys::rd_kafka_queue_poll(queue, millis + 500));
            sys::rd_kafka_AdminOptions_destroy(options);
            sys::rd_kafka_queue_destroy(queue);
            let silent = || self.explained(unreachable(SILENT));
            let event = Answer(event.ok_or_else(silent)?);
            let code = sys::rd_kafka_event_error(event.0.as_ptr());
            if code != Code::RD_KAFKA_RESP_ERR_NO_ERROR {
                let text = text(sys::rd_kafka_event_error_string(event.0.as_ptr()));
                return Err(self.explained(of_client(&ClientError { text, ..ClientError::of(code) })));
            }
            Ok(event)
        }
    }
}

/// A cluster, as one of its brokers describes it.
pub(super) struct Metadata {
    pub(super) brokers: usize,
    /// The broker that answered.
    pub(super) broker: i32,
    pub(super) topics: Vec<String>,
}

/// The answer to a query.
struct Answer(NonNull<sys::rd_kafka_event_t>);

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_event_destroy(self.0.as_ptr()) }
    }
}

pub(crate) fn time_of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// # Safety
/// `error` is null or live.
unsafe fn check(error: *const sys::rd_kafka_error_t) -> Result<(), Fault> {
    // SAFETY: by the caller's promise.
    unsafe {
        if error.is_null() || sys::rd_kafka_error_code(error) == Code::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Ok(());
        }
        let name = CStr::from_ptr(sys::rd_kafka_error_name(error)).to_string_lossy().into_owned();
        Err(of_client(&ClientError { name, text: text(sys::rd_kafka_error_string(error)) }))
    }
}
