//! A cluster's effective settings and problems, for `doctor`.

use std::time::Duration;

use incumbent_core::induction::Protocol;
use incumbent_store::shown::{millis, span};
use incumbent_store::{Examination, Finding, Result};
use serde_json::{Value, json};

use crate::admin::{Survey, TopicState, survey};
use crate::settings::KafkaSettings;

/// The default lease, which is also the shortest of the standard preset.
const LEASE: Duration = Duration::from_secs(5);

pub(crate) async fn examine(settings: &KafkaSettings) -> Result<Examination> {
    let surveyed = survey(settings).await?;
    let mut report = Examination::default();
    describe(&mut report, &surveyed, settings);
    judge_brokers(&mut report, &surveyed, settings);
    for topic in &surveyed.topics {
        say_topic(&mut report, topic);
        judge_topic(&mut report, topic, &surveyed);
    }
    Ok(report)
}

fn describe(report: &mut Examination, survey: &Survey, settings: &KafkaSettings) {
    report.set("brokers", survey.brokers.to_string(), json!(survey.brokers));
    let version = survey.version.as_deref();
    report.set(
        "protocol_version",
        version.unwrap_or("not stated (4.0 or newer, or not permitted)"),
        json!(version),
    );
    let ours = match settings.group().protocol {
        Protocol::Classic => "classic",
        Protocol::Consumer => "consumer",
    };
    let theirs = survey.protocols.join(", ");
    let text = if theirs.is_empty() { ours.to_owned() } else { format!("{ours}; the brokers have {theirs}") };
    report.set("group_protocol", text, json!({ "used": ours, "brokers": survey.protocols }));
    let bounds = survey.session_bounds;
    let text =
        bounds.map_or("not known".into(), |(least, most)| format!("{} to {}", span(least), span(most)));
    let value = bounds.map_or(
        Value::Null,
        |(least, most)| json!({ "least": { "ms": millis(least) }, "most": { "ms": millis(most) } }),
    );
    report.set("session_limits", text, value);
    if settings.group().protocol == Protocol::Consumer {
        let session = survey.consumer_session;
        let text =
            session.map_or("not known".into(), |session| format!("{}, the brokers' own", span(session)));
        report.set("session", text, json!(session.map(millis)));
    }
    if let Some(offsets) = &survey.offsets {
        say_topic(report, offsets);
    }
}

fn say_topic(report: &mut Examination, topic: &TopicState) {
    let TopicState { name, partitions, replicas, .. } = topic;
    let in_sync = topic.min_in_sync.map_or(String::new(), |least| format!(", {least} in sync at least"));
    let kept = topic.retention.map_or(String::new(), |kept| format!(", records kept for {}", span(kept)));
    report.say("topic", format!("{name}: {partitions} partitions, {replicas} replicas{in_sync}{kept}"));
}

fn judge_brokers(report: &mut Examination, survey: &Survey, settings: &KafkaSettings) {
    if let Some(why) = &survey.unknown {
        report.find(Finding::note(
            format!("some settings could not be read: {why}"),
            "run doctor as a user that may read them",
        ));
    }
    if settings.group().protocol == Protocol::Consumer {
        if !survey.protocols.is_empty() && !survey.protocols.iter().any(|one| one == "consumer") {
            report.find(Finding::refused(
                "the brokers do not support the consumer protocol, so no candidate can join",
                "remove protocol=consumer, or upgrade the brokers",
            ));
        }
        report.find(Finding::note(
            "with the consumer protocol the brokers set the session, and a crash is noticed only once that session times out",
            "set group.consumer.session.timeout.ms on the brokers",
        ));
    } else if let (Some((least, most)), Some(session)) = (survey.session_bounds, settings.group().session)
        && !(least..=most).contains(&session)
    {
        report.find(Finding::refused(
            format!("the session of {} is outside the brokers' limits, so no candidate can join", span(session)),
            "change `session`, or group.min.session.timeout.ms and group.max.session.timeout.ms on the brokers",
        ));
    }
    match (&survey.offsets, survey.offsets_replicas) {
        (Some(offsets), _) => {
            judge_copies(report, offsets, survey.brokers, "its commits prove leases");
        }
        (None, Some(wanted)) if wanted > survey.brokers => report.find(Finding::refused(
            format!(
                "no group can have a coordinator, so no candidate can lead: __consumer_offsets does not exist, \
                 because it needs {wanted} brokers and the cluster has {}",
                survey.brokers
            ),
            "start more brokers, or lower offsets.topic.replication.factor",
        )),
        (None, _) => {}
    }
}

fn judge_copies(report: &mut Examination, topic: &TopicState, brokers: usize, why: &str) {
    let name = &topic.name;
    if topic.replicas < 3 {
        let what = format!(
            "{name} has {} of three replicas, and may lose records when a broker is lost; {why}",
            topic.replicas
        );
        let remedy =
            if brokers < 3 { "use three brokers" } else { "reassign its partitions to three brokers" };
        report.find(Finding::weak(what, remedy));
    } else if topic.min_in_sync.is_some_and(|least| least < 2) {
        report.find(Finding::weak(
            format!(
                "{name} acknowledges a write that only one broker holds, and may lose the write with that broker; {why}"
            ),
            "set min.insync.replicas=2",
        ));
    }
}

fn judge_topic(report: &mut Examination, topic: &TopicState, survey: &Survey) {
    let name = &topic.name;
    judge_copies(report, topic, survey.brokers, "the records state how long a successor must wait");
    if topic.cleanup.as_deref().is_some_and(|policy| policy != "delete") {
        report.find(Finding::refused(
            format!("{name} is compacted, so it accepts no records without a key: no candidate can win"),
            "set cleanup.policy=delete",
        ));
    }
    if topic.unclean == Some(true) {
        report.find(Finding::broken(
            format!("{name} may lose acknowledged records: unclean leader elections are enabled"),
            "set unclean.leader.election.enable=false",
        ));
    }
    if topic.retention.is_some_and(|kept| kept <= LEASE) {
        report.find(Finding::broken(
            format!(
                "{name} deletes a leader's heartbeats within the shortest lease of the standard preset, {}",
                span(LEASE)
            ),
            "set retention.ms to an hour",
        ));
    }
    // A default topic closes its segment after a week.
    if let (Some(kept), Some(segment)) = (topic.retention, topic.segment)
        && segment > kept
    {
        report.find(Finding::note(
            format!(
                "{name} keeps its records for {}, not for {}: brokers delete only closed segments, and close one \
                 after segment.ms",
                span(segment + kept),
                span(kept)
            ),
            "set segment.ms to ten minutes (600000)",
        ));
    }
}
