//! An open bucket: its requests, and the meaning of their answers.

use std::error::Error as _;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::context::{RequestError, RequestErrorKind};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageError, LastRawMessageErrorKind};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::Incarnation;
use incumbent_core::record::Entry;
use incumbent_core::session::Scope;
use incumbent_core::store::{Capabilities, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::text::Names;

use crate::admin::safety;
use crate::candidates::answer::Answering;
use crate::candidates::request::call;
use crate::config::names;
use crate::config::settings::NatsSettings;
use crate::connection::event::ConnectionEvent;
use crate::connection::{Connection, NoAnswer, chain};
use crate::watching::Followed;
use crate::wire::api::{self, Api, ApiError, Failure};
use crate::wire::bucket::Bucket;
use crate::wire::follow::Follow;
use crate::wire::stream::StreamInfo;
use crate::wire::{message, outcome};
use incumbent_store::clock::Clock;
use incumbent_store::{Adapter, CandidateInfo, EntryInfo, Registry, WatchEvent, Watched};
use incumbent_store::{Error, ErrorKind, Result};

/// The API's time limit while a store is opened; requests between the servers take up to 4 s.
pub(crate) const OPENING_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two attempts to open a store.
const OPENING_PAUSE: Duration = Duration::from_millis(500);

/// A bucket, over a separate connection.
pub struct Nats {
    pub(crate) api: Arc<Api>,
    stream: jetstream::stream::Stream<()>,
    clock: Clock,
    capabilities: Capabilities,
    level: u32,
    /// The incarnation of the bucket that was found safe by the last check.
    checked: Arc<AtomicU64>,
    /// The bucket's maximum age in nanoseconds, as last read; 0 for none.
    max_age: AtomicU64,
    interval: Duration,
    followed: Followed,
    /// Set while this connection has candidates.
    answering: Mutex<Option<Answering>>,
    /// The unsafe setting of the bucket, as last read.
    flaw: Mutex<Option<Fault>>,
    /// The JetStream domain of the stream, as last read.
    domain: Mutex<Option<String>>,
}

impl Nats {
    /// Connects to a bucket and checks that an election on it is safe.
    ///
    /// If no server answers, waits for one, and calls the [listener](NatsSettings::on_event) for each failed attempt.
    /// With [`NatsSettings::fail_fast`] it returns the first failure instead.
    ///
    /// # Errors
    /// `NotFound` for a bucket that does not exist, `UnsafeStore` for an unsafe one, `Unsupported` for servers that are
    /// too old, `Authentication` and `PermissionDenied` for refused credentials, `StoreUnavailable` with `fail_fast` if
    /// no server answers.
    pub async fn open(settings: &NatsSettings, clock: &Clock) -> Result<Self> {
        let connection = Connection::open(settings).await?;
        let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
        let api = Api { connection, bucket };
        api.check_server()?;
        let (info, level) = loop {
            let error = match tokio::time::timeout(OPENING_TIMEOUT, learn(&api)).await {
                Ok(Ok(learned)) => break learned,
                Ok(Err(failure)) => failure.error(&api.bucket),
                Err(_) => Error::new(
                    ErrorKind::StoreUnavailable,
                    format!("JetStream at {} does not answer", settings.servers_shown()),
                ),
            };
            if settings.fail_fast || error.kind() != ErrorKind::StoreUnavailable {
                return Err(error);
            }
            settings.listener.notify(ConnectionEvent::Failed { detail: error.message().to_string() });
            tokio::time::sleep(OPENING_PAUSE).await;
        };
        safety::check(&api.bucket, &info.config, level)?;
        api.connection.shorten_lease(Duration::from_nanos(max_age_nanos(&info)));
        let stream = api.connection.jetstream().get_stream_no_info(&api.bucket.stream).await;
        let stream = stream.map_err(|error| Error::new(ErrorKind::InvalidName, error.to_string()))?;
        Ok(Self {
            api: Arc::new(api),
            stream,
            clock: clock.clone(),
            capabilities: info.capabilities(level),
            level,
            checked: Arc::new(AtomicU64::new(info.incarnation().0)),
            max_age: AtomicU64::new(max_age_nanos(&info)),
            interval: settings.effective_ping_interval(),
            followed: Followed::default(),
            answering: Mutex::default(),
            flaw: Mutex::default(),
            domain: Mutex::new(info.domain),
        })
    }

    /// The bucket's maximum age, if it supports lease times per record.
    fn own_lease(&self) -> Option<Duration> {
        let max_age = Duration::from_nanos(self.max_age.load(Ordering::Relaxed));
        self.capabilities.own_lease.then_some(max_age)
    }

    fn is_answering(&self) -> bool {
        lock(&self.answering).is_some()
    }

    fn answer_with(&self, answering: Option<Answering>) {
        *lock(&self.answering) = answering;
    }

    /// Checks the settings again, because an operator may have changed them. If the bucket was safe and has become
    /// unsafe, [`flaw`](Adapter::flaw) reports it, and the campaigns continue. A recreated bucket that is unsafe is a
    /// fault.
    fn check_again(&self, info: &StreamInfo) -> Result<(), Fault> {
        let Incarnation(incarnation) = info.incarnation();
        // The stream may now be led by an older server than at opening.
        let level = self.level.min(info.config.level());
        let flaw = safety::check(&self.api.bucket, &info.config, level).map_err(|error| Fault {
            kind: FaultKind::Broken,
            detail: error.text().spelled(Names::CommandLine),
        });
        if self.checked.load(Ordering::Relaxed) != incarnation {
            flaw?;
            self.checked.store(incarnation, Ordering::Relaxed);
            *lock(&self.flaw) = None;
        } else {
            *lock(&self.flaw) = flaw.err();
        }
        Ok(())
    }

    /// Classifies the answer to a write.
    pub(crate) fn outcome(&self, payload: &[u8]) -> Outcome {
        let domain = lock(&self.domain).clone();
        outcome::of_answer(payload, &self.api.bucket, domain.as_deref())
    }
}

#[async_trait]
impl Adapter for Nats {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn check_key(&self, key: &str) -> Result<()> {
        names::check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        names::check_name(name)
    }

    fn flaw(&self) -> Option<Fault> {
        lock(&self.flaw).clone()
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        let info: StreamInfo =
            self.api.stream_info().await.map_err(|failure| failure.fault(&self.api.bucket))?;
        self.check_again(&info)?;
        self.max_age.store(max_age_nanos(&info), Ordering::Relaxed);
        self.api.connection.shorten_lease(Duration::from_nanos(max_age_nanos(&info)));
        lock(&self.domain).clone_from(&info.domain);
        Ok(info.store_info(asked_at))
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        let (headers, payload) = match message::encode(write, self.own_lease()) {
            Ok(message) => message,
            Err(detail) => return Outcome::Failed(Fault { kind: FaultKind::Broken, detail }),
        };
        let bucket = &self.api.bucket;
        match self.api.connection.ask(bucket.write_subject(key), Some(headers), payload).await {
            Ok(answer) => self.outcome(&answer.payload),
            Err(error) => outcome::of_no_answer(&error, bucket),
        }
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        Ok(self.newest(key).await?.map_or(Entry::Vacant, |found| entry(&found)))
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let Some(found) = self.newest(key).await? else { return Ok(None) };
        let Entry::Live(record) = entry(&found) else { return Ok(None) };
        let info: StreamInfo =
            self.api.stream_info().await.map_err(|failure| failure.fault(&self.api.bucket))?;
        // Both times come from the stream's leader, whose clock may have been set back in between.
        let ago = info.since(found.time);
        Ok(ago.map(|ago| EntryInfo { revision: record.revision, ago }))
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        let follow = Follow::begin(&self.api, &Scope::All, self.interval).await;
        follow.map_err(|failure| failure.fault(&self.api.bucket))?.collect().await
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        self.followed.watch(&self.api, self.interval).await
    }

    fn follow(&self, key: &str) {
        self.followed.follow(key);
    }

    fn unfollow(&self, key: &str) {
        self.followed.unfollow(key);
    }

    async fn reconnect(&self) {
        self.api.connection.renew().await;
    }

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        if registry.is_empty() {
            self.answer_with(None);
        } else if !self.is_answering() {
            let (client, bucket) = (self.api.connection.client(), &self.api.bucket);
            self.answer_with(Some(Answering::begin(client, bucket, &self.checked, registry).await?));
        }
        Ok(())
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        call(&self.api).await
    }

    async fn close(&self) {
        self.answer_with(None);
        self.api.connection.close().await;
    }
}

impl Nats {
    /// The newest message under a key.
    async fn newest(&self, key: &str) -> Result<Option<StreamMessage>, Fault> {
        let bucket = &self.api.bucket;
        // The direct get that a bucket may allow is not used, because any replica answers it, perhaps with an old
        // record.
        let request = bucket.api_subject(&format!("STREAM.MSG.GET.{}", bucket.stream)).into();
        let subject = bucket.subject(key);
        let answer = self.stream.get_last_raw_message_by_subject(&subject);
        match self.api.connection.await_answer(&request, answer).await {
            Ok(Ok(found)) => Ok(Some(found)),
            Ok(Err(error)) => match error.kind() {
                LastRawMessageErrorKind::NoMessageFound => Ok(None),
                _ => Err(read_failure(&error).fault(bucket)),
            },
            Err(error) => Err(api::no_answer_fault(&error, bucket)),
        }
    }
}

/// Locks `mutex`. No lock is held across an await, nor while user code runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn entry(found: &StreamMessage) -> Entry {
    message::decode(found.sequence, Some(&found.headers), &found.payload)
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("bucket", &self.api.bucket.name).finish_non_exhaustive()
    }
}

/// Reads the bucket, and the lowest API level of its servers.
async fn learn(api: &Api) -> Result<(StreamInfo, u32), Failure> {
    let info: StreamInfo = api.stream_info().await?;
    let of_stream = info.config.level();
    let level = api.account_level().await?.map_or(of_stream, |of_account| of_account.min(of_stream));
    Ok((info, level))
}

fn max_age_nanos(info: &StreamInfo) -> u64 {
    u64::try_from(info.config.max_age).unwrap_or(0)
}

fn read_failure(error: &LastRawMessageError) -> Failure {
    if let LastRawMessageErrorKind::JetStream(error) = error.kind() {
        return Failure::Api(ApiError::from(&error));
    }
    let request = error.source().and_then(|source| source.downcast_ref::<RequestError>());
    match request.map(RequestError::kind) {
        Some(RequestErrorKind::NoResponders) => Failure::NoAnswer(NoAnswer::NoResponders),
        Some(RequestErrorKind::TimedOut) => Failure::NoAnswer(NoAnswer::Disconnected),
        _ => Failure::Unreadable(chain(error)),
    }
}
