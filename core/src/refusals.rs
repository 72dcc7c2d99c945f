//! The settings that the rules refuse, and why: from `bindings/schema/refusals.toml`.

use alloc::format;
use core::time::Duration;

use crate::campaign::InvalidSettings;
use crate::text::Text;

// generated: refusals
/// Refuses a name that is empty or too long.
pub(crate) fn name_length(size: u64) -> InvalidSettings {
    InvalidSettings {
        setting: "name",
        value: format!("{size} bytes long"),
        limit: Text::from("1 to 255 bytes long"),
        remedy: Text::from("use, for example, a host name and a process number"),
    }
}

/// Refuses a name with control characters or surrounding spaces.
pub(crate) fn name_form(name: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "name",
        value: format!("{name:?}"),
        limit: Text::from("free of control characters and surrounding spaces"),
        remedy: Text::from("use, for example, a host name and a process number"),
    }
}

/// Refuses metadata that is too long to travel with every renewal.
pub(crate) fn metadata_length(size: u64, most: u64) -> InvalidSettings {
    InvalidSettings {
        setting: "metadata",
        value: format!("{size} bytes long"),
        limit: Text::from(format!("at most {most} bytes long")),
        remedy: Text::from("serve large data elsewhere, and publish its address"),
    }
}

/// Refuses a key of metadata that no header's name can hold.
pub(crate) fn metadata_key(key: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "metadata key",
        value: format!("{key:?}"),
        limit: Text::from("letters, digits and '-'"),
        remedy: Text::from("it becomes part of a header's name"),
    }
}

/// Refuses metadata text that no header can hold.
pub(crate) fn metadata_text(text: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "metadata value",
        value: format!("{text:?}"),
        limit: Text::from("one line without surrounding spaces"),
        remedy: Text::from("it becomes a header's value, so encode text that has several lines"),
    }
}

/// Refuses a lease that is too short for the standard preset, but not for the fast one.
pub(crate) fn lease_for_fast(lease: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}")),
        remedy: Text::from("a shorter lease needs the `fast` preset"),
    }
}

/// Refuses a lease that is too short for its preset.
pub(crate) fn lease_under_preset(lease: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}")),
        remedy: Text::from(format!("use a lease (or a bucket TTL) of {least:?} or more")),
    }
}

/// Refuses a lease so long that it must be a mistake.
pub(crate) fn lease_over_longest(lease: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at most {most:?}")),
        remedy: Text::from("after a crash the election would stay vacant that long"),
    }
}

/// Refuses a lease that the Go library refuses.
pub(crate) fn lease_over_go(lease: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at most {most:?}")),
        remedy: Text::from("the Go library refuses longer leases"),
    }
}

/// Refuses a lease that is too short for its margin.
pub(crate) fn lease_under_margin(lease: Duration, least: Duration, margin: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}, five times the margin (skew + 2 drift + slack = {margin:?})")),
        remedy: Text::from("use a longer lease, or lower ").and(Text::setting("skew")).and(", ").and(Text::setting("drift_ppm")).and(" and ").and(Text::setting("slack")).and(" if your clocks allow it"),
    }
}

/// Refuses any lease, if even the longest is too short for its margin.
pub(crate) fn lease_under_any_margin(lease: Duration, margin: Duration, longest: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least five times the margin (skew + 2 drift + slack), which is {margin:?} even for the longest lease, {longest:?}")),
        remedy: Text::from("no lease is long enough for these settings; lower ").and(Text::setting("skew")).and(", ").and(Text::setting("drift_ppm")).and(" and ").and(Text::setting("slack")).and(" if your clocks allow it"),
    }
}

/// Refuses a lease without time for a renewal and one retry.
pub(crate) fn lease_without_retry(lease: Duration, least: Duration, retried: Duration, margin: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}: a renewal and one retry take {retried:?}, and the margin is {margin:?}")),
        remedy: Text::from("use a longer lease"),
    }
}

/// Refuses an interval that the Go library refuses.
pub(crate) fn interval_outside_go(interval: Duration, least: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "interval",
        value: format!("{interval:?}"),
        limit: Text::from(format!("between {least:?} and {most:?}, which is 5s under the lease")),
        remedy: Text::from("these are the Go library's bounds; its default is 0.75 of the lease"),
    }
}

/// Refuses an interval so short that it burdens the store.
pub(crate) fn interval_too_short(interval: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "interval",
        value: format!("{interval:?}"),
        limit: Text::from(format!("at least {least:?}")),
        remedy: Text::from("every read costs the store; the watch is faster"),
    }
}

/// Refuses numbers that cannot be random.
pub(crate) fn random(numbers: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "random",
        value: numbers.into(),
        limit: Text::from("three different numbers other than zero"),
        remedy: Text::from("draw them from the operating system, not from a stub, a fixed seed or a restored snapshot"),
    }
}

/// Refuses a store whose records would never expire.
pub(crate) fn no_age(lease: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "the store's maximum age",
        value: "none".into(),
        limit: Text::from(format!("{lease:?}, the lease")),
        remedy: Text::from("records would never expire; give the bucket a TTL (").and(Text::init(&["update"])).and(")"),
    }
}

/// Refuses a lease over the store's maximum age.
pub(crate) fn lease_over_age(lease: Duration, age: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at most {age:?}, the store's maximum age")),
        remedy: Text::from("lower the lease, or raise the bucket's TTL (").and(Text::init(&["update"])).and(")"),
    }
}

/// Refuses a lease that differs from the store's maximum age, if records have no TTL of their own.
pub(crate) fn lease_is_not_age(lease: Duration, age: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("{age:?}, the store's maximum age")),
        remedy: Text::from("leave the lease out, change the bucket's TTL, or allow TTLs per record (").and(Text::init(&["own_leases", "update"])).and(")"),
    }
}

/// Refuses a lease that differs from the bucket's TTL, which the Go library uses.
pub(crate) fn lease_is_not_gos(lease: Duration, age: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("{age:?}, the bucket's TTL")),
        remedy: Text::from("the Go library takes its lease from the bucket; leave the lease out"),
    }
}

/// Refuses a lease that the store does not support.
pub(crate) fn lease_outside_store(lease: Duration, least: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("between {least:?} and {most:?}")),
        remedy: Text::from("the store supports no other"),
    }
}

/// Refuses a lease that is no multiple of the store's step.
pub(crate) fn lease_between_steps(lease: Duration, step: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("a multiple of {step:?}")),
        remedy: Text::from("the store keeps records only for multiples of this"),
    }
}

/// Refuses the preset for NATS buckets.
pub(crate) fn preset_in_queue() -> InvalidSettings {
    InvalidSettings {
        setting: "preset",
        value: "GoCompatible".into(),
        limit: Text::from("a preset that is not for NATS buckets"),
        remedy: Text::from("leave it out: in this store every candidate shares its election with Go candidates"),
    }
}

/// Refuses an interval in a queue.
pub(crate) fn interval_in_queue(interval: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "interval",
        value: format!("{interval:?}"),
        limit: Text::from("left out in this store"),
        remedy: Text::from("every candidate reads the queue every third of its lease"),
    }
}

/// Refuses a lease with a fraction of a second.
pub(crate) fn lease_of_part_seconds(lease: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from("a whole number of seconds"),
        remedy: Text::from("the store grants leases in whole seconds"),
    }
}

/// Refuses a lease that does not survive a leader election among the store's servers.
pub(crate) fn lease_under_election(lease: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}")),
        remedy: Text::from("a shorter lease does not survive a leader election among the store's servers"),
    }
}

/// Refuses a lease that the store may shorten.
pub(crate) fn lease_over_checkpoint(lease: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at most {most:?}")),
        remedy: Text::from("the store may shorten longer leases when its leader changes"),
    }
}

/// Refuses any lease, while the shortest allowed one is unknown.
pub(crate) fn lease_without_bounds(lease: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from("at least the shortest that the servers grant, which is not known yet"),
        remedy: Text::from("try again once the store grants leases"),
    }
}

/// Refuses a priority.
pub(crate) fn priority(priority: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "priority",
        value: priority.into(),
        limit: Text::from("left out in this store"),
        remedy: Text::from("the store orders candidates by arrival; `hand-over` moves the leadership to a chosen candidate"),
    }
}

/// Refuses a name that a heartbeat cannot contain.
pub(crate) fn member_name(name: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "name",
        value: format!("{name:?}"),
        limit: Text::from("free of '%'"),
        remedy: Text::from("heartbeats separate the time from the name with it; `sanitise` replaces it"),
    }
}

/// Refuses the preset for NATS buckets.
pub(crate) fn preset_in_group() -> InvalidSettings {
    InvalidSettings {
        setting: "preset",
        value: "GoCompatible".into(),
        limit: Text::from("a preset that is not for NATS buckets"),
        remedy: Text::from("leave it out; for members that use goNELI, set ").and(Text::setting("goneli")).and(" on the group"),
    }
}

/// Refuses an interval in a group.
pub(crate) fn interval_in_group(interval: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "interval",
        value: format!("{interval:?}"),
        limit: Text::from("left out in this store"),
        remedy: Text::from("every candidate follows the topic"),
    }
}

/// Refuses a lease that is too short or too long for its preset.
pub(crate) fn lease_in_group(lease: Duration, least: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("between {least:?} and {most:?}")),
        remedy: Text::from("leases of 1s and more need the `fast` preset"),
    }
}

/// Refuses a protocol that goNELI's clients do not have.
pub(crate) fn protocol_with_goneli() -> InvalidSettings {
    InvalidSettings {
        setting: "protocol",
        value: "consumer".into(),
        limit: Text::from("classic in a group with goNELI's members"),
        remedy: Text::from("goNELI's clients do not support the consumer protocol; use the classic one"),
    }
}

/// Refuses a session timeout that the brokers set.
pub(crate) fn session_of_brokers(session: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "session",
        value: format!("{session:?}"),
        limit: Text::from("left out with the consumer protocol"),
        remedy: Text::from("set group.consumer.session.timeout.ms on the brokers"),
    }
}

/// Refuses a session timeout that ends before the lease does.
pub(crate) fn session_under_two_leases(session: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "session",
        value: format!("{session:?}"),
        limit: Text::from(format!("at least {least:?}, twice the lease")),
        remedy: Text::from("so that a crashed leader's lease is over before its partition is reassigned"),
    }
}

/// Refuses a session timeout too long for the brokers' 32 bits.
pub(crate) fn session_over_kafka(session: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "session",
        value: format!("{session:?}"),
        limit: Text::from(format!("at most {most:?}")),
        remedy: Text::from("the brokers count milliseconds in 32 bits"),
    }
}

/// Refuses a drain that exceeds the brokers' 32 bits.
pub(crate) fn drain_over_kafka(drain: Duration, most: Duration, session: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "drain",
        value: format!("{drain:?}"),
        limit: Text::from(format!("at most {most:?} with a session of {session:?}")),
        remedy: Text::from("the brokers count drain and session together, as milliseconds in 32 bits"),
    }
}

/// Refuses text with an invisible character.
pub(crate) fn unseen(name: &'static str, text: &str, advice: &str) -> InvalidSettings {
    InvalidSettings {
        setting: name,
        value: format!("{text:?}"),
        limit: Text::from("free of control characters and of surrounding white space"),
        remedy: Text::from(advice),
    }
}

/// Refuses an invisible character.
pub(crate) fn unseen_advice(unseen: char) -> Text {
    Text::from(format!("leave out the {unseen:?}: with it the text selects a different election, which has its own leader; `echo` adds a line end to a file or a Secret, `printf %s` does not"))
}

// end of refusals
