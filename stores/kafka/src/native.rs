//! A librdkafka consumer, driven by its events.
//!
//! `rdkafka`'s own consumer answers rebalances by itself, does not report the result of an asynchronous commit, and
//! waits in its drop for a close that may never finish. So only the client is `rdkafka`'s, and this module polls the
//! queue.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::induction::{Membership, Record};
use incumbent_core::record::Attempt;
use rdkafka::ClientConfig;
use rdkafka::client::{Client, ClientContext};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaResult;
use rdkafka_sys as sys;
use rdkafka_sys::rd_kafka_resp_err_t as Code;

/// An error of the client, by the name that librdkafka gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientError {
    pub(super) name: String,
    pub(super) text: String,
}

impl ClientError {
    pub(super) fn of(code: Code) -> Self {
        // SAFETY: both functions return static texts for any code.
        unsafe { Self { name: text(sys::rd_kafka_err2name(code)), text: text(sys::rd_kafka_err2str(code)) } }
    }

    fn check(code: Code) -> Result<(), Self> {
        if code == Code::RD_KAFKA_RESP_ERR_NO_ERROR { Ok(()) } else { Err(Self::of(code)) }
    }

    pub(super) fn of_kafka(error: &rdkafka::error::KafkaError) -> Self {
        let code = error.rdkafka_error_code().and_then(|code| Code::try_from(code as i32).ok());
        Self { text: error.to_string(), ..Self::of(code.unwrap_or(Code::RD_KAFKA_RESP_ERR__FAIL)) }
    }
}

/// A text of the client; empty if there is none.
///
/// # Safety
/// `text` is null, or a C string that lives for the call.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Log lines of the client, which are logged as this library's own.
pub(super) struct Log;

impl ClientContext for Log {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::error!("librdkafka: {facility}: {line}");
            }
            // An outage produces an endless stream of lines here, but the campaign reports it once.
            _ => tracing::debug!("librdkafka: {facility}: {line}"),
        }
    }

    fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
        tracing::debug!("librdkafka: {error}: {reason}");
    }
}

unsafe extern "C" fn silent(_: *const sys::rd_kafka_t, _: i32, _: *const c_char, _: *const c_char) {}

/// A client that is destroyed on a separate thread, whichever thread drops its last handle. Destroying it may wait for
/// its brokers, and the driver must not wait.
pub(super) struct DroppedApart<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> DroppedApart<T> {
    pub(super) fn new(client: T) -> Self {
        Self(ManuallyDrop::new(client))
    }
}

impl<T: Send + 'static> Deref for DroppedApart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for DroppedApart<T> {
    fn drop(&mut self) {
        // SAFETY: the client is taken a single time, and not used afterwards.
        let client = unsafe { ManuallyDrop::take(&mut self.0) };
        let thread = std::thread::Builder::new().name("incumbent-kafka".into());
        // If no thread can be started, the client is dropped here.
        let _ = thread.spawn(move || drop(client));
    }
}

/// Partitions of topics, in the client's own list.
pub(super) struct Partitions(NonNull<sys::rd_kafka_topic_partition_list_t>);

// SAFETY: the list is plain data on the heap that only its owner touches.
unsafe impl Send for Partitions {}

impl Partitions {
    /// Returns a list of partition zero of a topic, with an offset.
    fn zero(topic: &str, offset: i64) -> Self {
        let topic = c_text(topic);
        // SAFETY: the list is new. Without memory for it, the client ends the program.
        unsafe {
            let list = NonNull::new_unchecked(sys::rd_kafka_topic_partition_list_new(1));
            let added = sys::rd_kafka_topic_partition_list_add(list.as_ptr(), topic.as_ptr(), 0);
            (*added).offset = offset;
            Self(list)
        }
    }

    /// Returns a list of partition zero of a topic, with an offset and the metadata of a commit.
    fn zero_with(topic: &str, offset: i64, metadata: &str) -> Self {
        let partitions = Self::zero(topic, offset);
        if !metadata.is_empty() {
            // SAFETY: the list has one element, which frees memory that the client's own allocator returned. If that
            // allocator returns none, the element has no metadata.
            unsafe {
                let zero = (*partitions.0.as_ptr()).elems;
                let copy = sys::rd_kafka_mem_malloc(ptr::null_mut(), metadata.len());
                if !copy.is_null() {
                    ptr::copy_nonoverlapping(metadata.as_ptr(), copy.cast::<u8>(), metadata.len());
                    ((*zero).metadata, (*zero).metadata_size) = (copy, metadata.len());
                }
            }
        }
        partitions
    }

    /// The metadata of the first partition; empty if it has none.
    fn metadata(&self) -> String {
        // SAFETY: `elems` has `cnt` elements, each with `metadata_size` bytes of metadata if it has any.
        unsafe {
            let list = self.0.as_ref();
            if list.cnt < 1 || (*list.elems).metadata.is_null() {
                return String::new();
            }
            let (bytes, size) = ((*list.elems).metadata.cast::<u8>(), (*list.elems).metadata_size);
            String::from_utf8_lossy(std::slice::from_raw_parts(bytes, size)).into_owned()
        }
    }

    /// A copy of an event's list, which is freed with the event.
    ///
    /// # Safety
    /// `list` is null or a list that lives for the call.
    unsafe fn copy(list: *const sys::rd_kafka_topic_partition_list_t) -> Self {
        // SAFETY: the caller promises that `list` lives, and a new list is never null.
        unsafe {
            let copy = match list.is_null() {
                true => sys::rd_kafka_topic_partition_list_new(0),
                false => sys::rd_kafka_topic_partition_list_copy(list),
            };
            Self(NonNull::new_unchecked(copy))
        }
    }

    /// Whether partition zero is in the list.
    fn has_zero(&self) -> bool {
        // SAFETY: `elems` has `cnt` elements.
        unsafe {
            let list = self.0.as_ref();
            (0..list.cnt).any(|place| (*list.elems.offset(place as isize)).partition == 0)
        }
    }

    /// The first error that the client reported for a partition.
    fn error(&self) -> Result<(), ClientError> {
        // SAFETY: `elems` has `cnt` elements.
        unsafe {
            let list = self.0.as_ref();
            (0..list.cnt).try_for_each(|place| ClientError::check((*list.elems.offset(place as isize)).err))
        }
    }
}

impl Drop for Partitions {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_topic_partition_list_destroy(self.0.as_ptr()) }
    }
}

/// A consumer's report.
pub(super) enum Event {
    /// Partitions were assigned. `zero` is true if partition zero is one of them.
    Assign { zero: bool, partitions: Partitions },
    /// Partitions are revoked. `lost` is true if they already belong to another member.
    Revoke { zero: bool, lost: bool, partitions: Partitions },
    /// The answer to a commit.
    Committed { attempt: Attempt, result: Result<(), ClientError> },
    /// A record of a topic, and the wall clock of its writer in milliseconds.
    Record { topic: String, record: Record, written: Option<u64> },
    /// The reader is at the end of a topic, before this offset, because a fetch returned nothing. The event does not
    /// occur while each fetch returns the next record.
    End { topic: String, offset: u64 },
    /// The client reports an error, either of a topic or of the client itself.
    Error { error: ClientError, topic: Option<String>, fatal: bool },
    /// Nothing of interest.
    Nothing,
}

/// A consumer: a member of a group, or a reader.
pub(super) struct Consumer {
    // Destroyed before the client.
    queue: Queue,
    client: Client<Log>,
}

/// A queue of the client.
struct Queue(NonNull<sys::rd_kafka_queue_t>);

// SAFETY: queues are thread-safe.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_queue_destroy(self.0.as_ptr()) }
    }
}

impl Consumer {
    pub(super) fn new(config: &ClientConfig) -> KafkaResult<Self> {
        let native = config.create_native_config()?;
        // SAFETY: the configuration is live. The client itself handles events that are not named here.
        unsafe {
            let events =
                sys::RD_KAFKA_EVENT_REBALANCE | sys::RD_KAFKA_EVENT_OFFSET_COMMIT | sys::RD_KAFKA_EVENT_ERROR;
            sys::rd_kafka_conf_set_events(native.ptr(), events);
            // Without this callback, lines logged while nothing polls would go to standard error.
            sys::rd_kafka_conf_set_log_cb(native.ptr(), Some(silent));
        }
        let client = Client::new(config, native, sys::types::RDKafkaType::RD_KAFKA_CONSUMER, Log)?;
        // SAFETY: the client is live, and a consumer with a group has a queue.
        let queue = unsafe {
            sys::rd_kafka_poll_set_consumer(client.native_ptr());
            NonNull::new(sys::rd_kafka_queue_get_consumer(client.native_ptr()))
        };
        let no_queue = || rdkafka::error::KafkaError::ClientCreation("a consumer without a queue".into());
        Ok(Self { queue: Queue(queue.ok_or_else(no_queue)?), client })
    }

    /// Waits for the next event.
    pub(super) fn poll(&self, timeout: Duration) -> Option<Event> {
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the queue is live. The event is destroyed below, after all of it has been read.
        unsafe {
            let event = sys::rd_kafka_queue_poll(self.queue.0.as_ptr(), millis);
            if event.is_null() {
                return None;
            }
            let read = self.read(event);
            sys::rd_kafka_event_destroy(event);
            Some(read)
        }
    }

    /// Ends a [`poll`](Self::poll) that waits.
    pub(super) fn wake(&self) {
        // SAFETY: the queue is live.
        unsafe { sys::rd_kafka_queue_yield(self.queue.0.as_ptr()) }
    }

    /// # Safety
    /// `event` is live.
    unsafe fn read(&self, event: *mut sys::rd_kafka_event_t) -> Event {
        // SAFETY: each function matches the type of event for which it is called, and nothing of the event is kept.
        unsafe {
            let code = sys::rd_kafka_event_error(event);
            match sys::rd_kafka_event_type(event) {
                sys::RD_KAFKA_EVENT_REBALANCE => {
                    let partitions = Partitions::copy(sys::rd_kafka_event_topic_partition_list(event));
                    let zero = partitions.has_zero();
                    if code == Code::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
                        return Event::Assign { zero, partitions };
                    }
                    let lost = sys::rd_kafka_assignment_lost(self.client.native_ptr()) != 0;
                    Event::Revoke { zero, lost, partitions }
                }
                sys::RD_KAFKA_EVENT_OFFSET_COMMIT => {
                    let attempt = Attempt(sys::rd_kafka_event_opaque(event) as usize as u64);
                    let partitions = Partitions::copy(sys::rd_kafka_event_topic_partition_list(event));
                    let result = ClientError::check(code).and_then(|()| partitions.error());
                    Event::Committed { attempt, result }
                }
                sys::RD_KAFKA_EVENT_FETCH => {
                    let message = sys::rd_kafka_event_message_next(event);
                    if message.is_null() {
                        return Event::Nothing;
                    }
                    let topic = match (*message).rkt.is_null() {
                        true => None,
                        false => Some(text(sys::rd_kafka_topic_name((*message).rkt))),
                    };
                    match (ClientError::check((*message).err), topic) {
                        (Ok(()), Some(topic)) => {
                            let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
                            let written = sys::rd_kafka_message_timestamp(message, &mut kind);
                            Event::Record {
                                topic,
                                record: decode(message),
                                written: u64::try_from(written).ok(),
                            }
                        }
                        (Err(error), topic) => Event::Error { error, topic, fatal: false },
                        (Ok(()), None) => Event::Nothing,
                    }
                }
                sys::RD_KAFKA_EVENT_ERROR => {
                    let partition = sys::rd_kafka_event_topic_partition(event);
                    let place = match partition.is_null() {
                        true => None,
                        false => {
                            let place = (text((*partition).topic), (*partition).offset);
                            sys::rd_kafka_topic_partition_destroy(partition);
                            Some(place)
                        }
                    };
                    if code == Code::RD_KAFKA_RESP_ERR__PARTITION_EOF {
                        let place =
                            place.and_then(|(topic, offset)| Some((topic, u64::try_from(offset).ok()?)));
                        return place.map_or(Event::Nothing, |(topic, offset)| Event::End { topic, offset });
                    }
                    let topic = place.map(|(topic, _)| topic);
                    let reason = text(sys::rd_kafka_event_error_string(event));
                    let fatal = code == Code::RD_KAFKA_RESP_ERR__FATAL
                        || sys::rd_kafka_event_error_is_fatal(event) != 0;
                    let error = self.fatal().filter(|_| fatal);
                    let error = error.unwrap_or(ClientError { text: reason, ..ClientError::of(code) });
                    Event::Error { error, topic, fatal }
                }
                sys::RD_KAFKA_EVENT_LOG => {
                    let (mut facility, mut line, mut level) = (ptr::null(), ptr::null(), 0);
                    if sys::rd_kafka_event_log(event, &mut facility, &mut line, &mut level) == 0 {
                        let level =
                            if level <= 2 { RDKafkaLogLevel::Critical } else { RDKafkaLogLevel::Debug };
                        Log.log(level, &text(facility), &text(line));
                    }
                    Event::Nothing
                }
                _ => Event::Nothing,
            }
        }
    }

    /// The error that ended the client.
    fn fatal(&self) -> Option<ClientError> {
        let mut reason = [0; 512];
        // SAFETY: the client writes at most this many bytes, including a final zero.
        let code =
            unsafe { sys::rd_kafka_fatal_error(self.client.native_ptr(), reason.as_mut_ptr(), reason.len()) };
        let error = ClientError::check(code).err()?;
        // SAFETY: as above.
        Some(ClientError { text: unsafe { text(reason.as_ptr()) }, ..error })
    }

    // ---- a member ----

    /// Joins the group, which assigns the topic's partitions.
    pub(super) fn subscribe(&self, topic: &str) -> Result<(), ClientError> {
        let topics = Partitions::zero(topic, 0);
        // SAFETY: the client and the list are live; the client copies the list.
        ClientError::check(unsafe { sys::rd_kafka_subscribe(self.client.native_ptr(), topics.0.as_ptr()) })
    }

    /// Accepts an assignment and pauses it, so that nothing is fetched.
    pub(super) fn accept(&self, partitions: &Partitions) {
        let (client, list) = (self.client.native_ptr(), partitions.0.as_ptr());
        // SAFETY: the client and the list are live; the client copies the list.
        unsafe {
            if self.is_cooperative() {
                drop_error(sys::rd_kafka_incremental_assign(client, list));
            } else {
                sys::rd_kafka_assign(client, list);
            }
            sys::rd_kafka_pause_partitions(client, list);
        }
    }

    /// Gives up an assignment, which answers its revocation.
    pub(super) fn give_up(&self, partitions: &Partitions) {
        // SAFETY: the client and the list are live; the client copies the list.
        unsafe {
            if self.is_cooperative() {
                drop_error(sys::rd_kafka_incremental_unassign(
                    self.client.native_ptr(),
                    partitions.0.as_ptr(),
                ));
            } else {
                sys::rd_kafka_assign(self.client.native_ptr(), ptr::null());
            }
        }
    }

    fn is_cooperative(&self) -> bool {
        // SAFETY: a static text.
        unsafe { text(sys::rd_kafka_rebalance_protocol(self.client.native_ptr())) == "COOPERATIVE" }
    }

    /// Passes a commit of an offset to the client. The answer is an event of this consumer, and may come very late,
    /// because the client repeats the commit on its own.
    pub(super) fn commit(
        &self,
        topic: &str,
        offset: Revision,
        metadata: &str,
        attempt: Attempt,
    ) -> Result<(), ClientError> {
        let offsets = Partitions::zero_with(topic, i64::try_from(offset.0).unwrap_or(i64::MAX), metadata);
        // SAFETY: the client, the list and the queue are live; the client copies the list. The opaque is a number,
        // never a pointer.
        ClientError::check(unsafe {
            sys::rd_kafka_commit_queue(
                self.client.native_ptr(),
                offsets.0.as_ptr(),
                self.queue.0.as_ptr(),
                None,
                attempt.0 as usize as *mut c_void,
            )
        })
    }

    /// Asks the coordinator for the metadata of the committed offset; empty if there is none. Waits for the answer.
    pub(super) fn committed_metadata(&self, topic: &str, limit: Duration) -> Result<String, ClientError> {
        let asked = Partitions::zero(topic, i64::from(sys::RD_KAFKA_OFFSET_INVALID));
        let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the client and the list are live; the client writes the answer into the list, which is owned here.
        let code = unsafe { sys::rd_kafka_committed(self.client.native_ptr(), asked.0.as_ptr(), millis) };
        ClientError::check(code).and_then(|()| asked.error())?;
        Ok(asked.metadata())
    }

    /// The client's view of its membership.
    pub(super) fn membership(&self) -> Membership {
        // SAFETY: the metadata is a copy, which is destroyed here.
        unsafe {
            let metadata = sys::rd_kafka_consumer_group_metadata(self.client.native_ptr());
            if metadata.is_null() {
                return Membership { member: String::new(), generation: -1, owns: false };
            }
            let membership = Membership {
                member: text(sys::rd_kafka_consumer_group_metadata_member_id(metadata)),
                generation: sys::rd_kafka_consumer_group_metadata_generation_id(metadata),
                owns: self.owns_zero(),
            };
            sys::rd_kafka_consumer_group_metadata_destroy(metadata);
            membership
        }
    }

    /// Whether the client has partition zero in its assignment, and has not lost the assignment.
    fn owns_zero(&self) -> bool {
        let client = self.client.native_ptr();
        let mut assigned = ptr::null_mut();
        // SAFETY: the client is live, and returns a list that is owned here.
        unsafe {
            let code = sys::rd_kafka_assignment(client, &mut assigned);
            let list = NonNull::new(assigned).map(Partitions);
            let has_zero = ClientError::check(code).is_ok() && list.is_some_and(|list| list.has_zero());
            has_zero && sys::rd_kafka_assignment_lost(client) == 0
        }
    }

    /// Begins to leave the group and to close. Keep polling until it [is closed](Self::is_closed).
    pub(super) fn begin_close(&self) {
        // SAFETY: the client and the queue are live.
        unsafe {
            drop_error(sys::rd_kafka_consumer_close_queue(self.client.native_ptr(), self.queue.0.as_ptr()));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // SAFETY: the client is live.
        unsafe { sys::rd_kafka_consumer_closed(self.client.native_ptr()) != 0 }
    }

    // ---- a reader ----

    /// Waits for a connection to a broker, within the limit. A client that starts to read a topic without a connection
    /// looks up the topic's leader only a second later.
    pub(super) fn connect(&self, limit: Duration) {
        let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        let mut metadata = ptr::null();
        // SAFETY: the client is live, and its answer is destroyed here. The query is for the topics that the client
        // reads, and there are none.
        unsafe {
            sys::rd_kafka_metadata(self.client.native_ptr(), 0, ptr::null_mut(), &mut metadata, limit);
            if !metadata.is_null() {
                sys::rd_kafka_metadata_destroy(metadata);
            }
        }
    }

    /// Begins to read a topic's partition zero from this offset, in addition to the topics that are already being read.
    pub(super) fn read_from(&self, topic: &str, offset: u64) {
        let partition = Partitions::zero(topic, i64::try_from(offset).unwrap_or(i64::MAX));
        self.stop_reading(topic);
        // SAFETY: the client and the list are live; the client copies the list.
        unsafe {
            drop_error(sys::rd_kafka_incremental_assign(self.client.native_ptr(), partition.0.as_ptr()));
        }
    }

    /// Stops reading a topic. The error is ignored, because it only means that the topic was not being read.
    pub(super) fn stop_reading(&self, topic: &str) {
        let partition = Partitions::zero(topic, 0);
        // SAFETY: the client and the list are live; the client copies the list.
        unsafe {
            drop_error(sys::rd_kafka_incremental_unassign(self.client.native_ptr(), partition.0.as_ptr()));
        }
    }
}

/// The offset of the first record of partition zero that was written at this time of day or later; `None` if there is
/// no such record. Waits for the brokers, within the limit.
pub(super) fn offset_at<C: ClientContext>(
    client: &Client<C>,
    topic: &str,
    time_of_day: Duration,
    limit: Duration,
) -> Result<Option<u64>, ClientError> {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let asked = Partitions::zero(topic, millis(time_of_day));
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the client and the list are live; the client writes the answer into the list.
    let code = unsafe { sys::rd_kafka_offsets_for_times(client.native_ptr(), asked.0.as_ptr(), limit) };
    ClientError::check(code)?;
    asked.error()?;
    // SAFETY: the list has its one element.
    let offset = unsafe { (*asked.0.as_ref().elems).offset };
    // Negative for "at the end".
    Ok(u64::try_from(offset).ok())
}

/// # Safety
/// `error` is null, or owned by the caller.
unsafe fn drop_error(error: *mut sys::rd_kafka_error_t) {
    if !error.is_null() {
        // SAFETY: by the caller's promise.
        unsafe {
            tracing::debug!("librdkafka: {}", text(sys::rd_kafka_error_string(error)));
            sys::rd_kafka_error_destroy(error);
        }
    }
}

/// A name for the client. Names with a zero byte have been refused earlier.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// # Safety
/// `message` is live, and has a value and headers that live as long.
unsafe fn decode(message: *const sys::rd_kafka_message_t) -> Record {
    // SAFETY: the caller promises that `message` is live; the lengths are the client's own.
    unsafe {
        let value = match (*message).payload.is_null() {
            true => &[],
            false => std::slice::from_raw_parts((*message).payload.cast::<u8>(), (*message).len),
        };
        let (mut headers, mut all) = (Vec::new(), ptr::null_mut());
        if sys::rd_kafka_message_headers(message, &mut all) == Code::RD_KAFKA_RESP_ERR_NO_ERROR {
            let (mut name, mut value, mut size) = (ptr::null(), ptr::null(), 0);
            while sys::rd_kafka_header_get_all(all, headers.len(), &mut name, &mut value, &mut size)
                == Code::RD_KAFKA_RESP_ERR_NO_ERROR
            {
                let value = match value.is_null() {
                    true => &[],
                    false => std::slice::from_raw_parts(value.cast::<u8>(), size),
                };
                headers.push((text(name), String::from_utf8_lossy(value).into_owned()));
            }
        }
        let offset = Revision(u64::try_from((*message).offset).unwrap_or_default());
        Record::decode(offset, value, headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}
