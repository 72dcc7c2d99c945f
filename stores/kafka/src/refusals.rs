//! What Kafka alone refuses of settings, and why: from `schema.toml`.

use std::time::Duration;

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses a protocol that does not exist.
pub fn protocol(protocol: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "protocol",
        value: format!("{protocol:?}"),
        limit: Text::from("classic or consumer"),
        remedy: Text::from("choose the protocol that all members of the group use"),
    }
}

/// Refuses a SASL mechanism that does not exist.
pub fn mechanism(mechanism: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "sasl",
        value: format!("{mechanism:?}"),
        limit: Text::from("PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"),
        remedy: Text::from("choose a mechanism that the brokers accept"),
    }
}

/// Refuses a SASL mechanism without a user.
pub fn mechanism_without_user() -> Text {
    Text::from("`").and(Text::setting("sasl")).and("` needs a user; give user:password@ before the first host")
}

/// Refuses a property that elections depend on.
pub fn property(name: &str, why: &str) -> Text {
    Text::from(format!("cannot override the property {name:?}: {why}; leave it out"))
}

/// Refuses an invalid topic name.
pub fn topic(topic: &str, most: u64) -> Text {
    Text::from("the prefix or `").and(Text::setting("topic")).and(format!("` results in the topic name {topic:?}; topic names consist of a-z, A-Z, 0-9, '.', '_' and '-', {most} characters at most: change one of them"))
}

/// Refuses a blank instance id.
pub fn instance_id(id: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "instance_id",
        value: format!("{id:?}"),
        limit: Text::from("at least one visible character"),
        remedy: Text::from("leave it out, or give each process its own"),
    }
}

/// Refuses the statement that a topic is new.
pub fn new_topic() -> Text {
    Text::from("`").and(Text::setting("new")).and("` is for a store whose age is known, and Kafka does not report the age of a topic; leave it out")
}

/// Refuses preparing Kafka without an election.
pub fn no_election() -> Text {
    Text::from("each Kafka election has its own topic; give the election's key")
}

/// Refuses a name that goNELI's heartbeats cannot contain.
pub fn neli_name(name: &str) -> Text {
    Text::from("`").and(Text::setting("name")).and(format!("` is {name:?}, and must not contain %, which separates the time from the name in a heartbeat: change it, or use `sanitise`"))
}

/// Refuses a group or a topic that no broker can have.
pub fn neli_plain_name(name: &'static str, value: &str) -> Text {
    Text::from("`").and(Text::setting(name)).and(format!("` is {value:?}, and must consist of ASCII alphanumerics, '.', '_' and '-': change it, or use `sanitise`"))
}

/// Refuses a property that is not a number.
pub fn neli_millis(property: &str, value: &str) -> Text {
    Text::from(format!("`{property}` is {value:?}, and must be a number of milliseconds, such as 300000"))
}

/// Refuses a time that is too short.
pub fn neli_short(name: &'static str, value: Duration, least: Duration) -> Text {
    Text::from("`").and(Text::setting(name)).and(format!("` is {value:?}, and must be at least {least:?}: use a longer time"))
}

// end of refusals
