//! The properties of librdkafka that no user may set.

/// The properties of librdkafka that only the store sets, each with the reason or the setting to use instead.
///
/// goNELI refuses the first five. Each other property would break something that our rule needs and goNELI's does not.
pub(super) const FORBIDDEN: [(&str, &str); 19] = [
    ("group.id", "the election's key and the URL's prefix determine the group"),
    ("enable.auto.commit", "commits prove a lease"),
    ("session.timeout.ms", "`session` sets it"),
    ("delivery.timeout.ms", "the campaign itself repeats records"),
    ("linger.ms", "a heartbeat is sent at once"),
    ("message.timeout.ms", "the campaign itself repeats records"),
    ("acks", "every in-sync replica acknowledges a record"),
    ("enable.idempotence", "a record is appended once"),
    ("transactional.id", "an open transaction blinds readers"),
    ("enable.auto.offset.store", "commits prove a lease"),
    ("auto.offset.reset", "the whole log is read"),
    ("max.poll.interval.ms", "the drain limit and `session` set it"),
    ("heartbeat.interval.ms", "`session` sets it"),
    ("group.protocol", "`protocol` sets it"),
    ("group.instance.id", "`instance_id` sets it"),
    ("partition.assignment.strategy", "`goneli` sets it"),
    ("group.remote.assignor", "the brokers choose it"),
    ("isolation.level", "every record is read"),
    ("client.id", "the candidate's name is the client's id"),
];

/// Properties of librdkafka that the URL's hosts set, or that only this library may enable.
pub(super) const OWN: [(&str, &str); 4] = [
    ("bootstrap.servers", "the URL's hosts set it"),
    ("metadata.broker.list", "the URL's hosts set it"),
    ("enabled_events", "the client reports to the store by events"),
    ("allow.auto.create.topics", "`create` decides whether a missing topic is created"),
];
