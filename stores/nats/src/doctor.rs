//! A bucket's effective settings and problems, for `doctor`.

use std::time::Duration;

use incumbent_core::text::Names;
use incumbent_store::shown::{millis, span};
use incumbent_store::{Basis, Clock, Examination, Finding, Result};
use serde_json::{Value, json};

use crate::admin::survey::{ClockDifference, Survey, survey};
use crate::config::settings::NatsSettings;

/// The usual allowance for differences between clocks. A campaign's default is a twentieth of its lease, up to this
/// value.
const USUAL_SKEW: Duration = Duration::from_secs(1);

pub(crate) async fn examine(settings: &NatsSettings) -> Result<Examination> {
    let survey = survey(settings, &Clock::system()).await?;
    let mut report = Examination::default();
    describe(&mut report, &survey);
    report.is_on_one_server = survey.replicas == 1;
    for flaw in &survey.flaws {
        report.find(Finding::broken(flaw.what.clone(), flaw.remedy.spelled(Names::CommandLine)));
    }
    if survey.flaws.is_empty() {
        report.basis = Some(Basis::Records(survey.capabilities, survey.info));
        report.company = Some(if survey.markers.is_some() { refused_company } else { company });
    } else {
        report.is_closed = true;
    }
    judge(&mut report, &survey);
    Ok(report)
}

fn describe(report: &mut Examination, survey: &Survey) {
    report.set("server", format!("nats-server {}", survey.server), survey.server.as_str());
    let of_account = survey.account_level.map_or("not visible to our user".into(), |level| level.to_string());
    let levels = json!({ "account": survey.account_level, "stream": survey.stream_level });
    report.set("api_level", format!("account: {of_account}; stream: {}", survey.stream_level), levels);
    report.set("replicas", survey.replicas.to_string(), survey.replicas);
    let servers: Vec<_> = survey.holders.iter().map(|holder| holder.name.as_str()).collect();
    if !servers.is_empty() {
        report.set("servers", format!("{} (the first leads)", servers.join(", ")), json!(servers));
    }
    report.set("storage", survey.storage.as_str(), survey.storage.as_str());
    let fsync = if survey.acknowledges_early {
        ("writes are acknowledged before they are stored", json!("async"))
    } else {
        (
            "not visible from here: `sync_interval` in the server's configuration, 2 min unless set",
            Value::Null,
        )
    };
    report.set("fsync", fsync.0, fsync.1);
    report.set("history", survey.history.to_string(), survey.history);
    let max_age = survey.max_age.map_or("none".into(), span);
    report.set("ttl", max_age, json!({ "ms": survey.max_age.map(millis) }));
    report.set("leases_of_their_own", yes_or_no(survey.own_leases), survey.own_leases);
    let markers =
        survey.markers.map_or("no: candidates check when a lease should have expired".into(), |ttl| {
            format!("yes, for {}: an expiry is reported at once", span(ttl))
        });
    report.set("markers", markers, survey.markers.is_some());
    report.set("denies_purges", yes_or_no(survey.denies_purges), survey.denies_purges);
    report.set("denies_deletes", yes_or_no(survey.denies_deletes), survey.denies_deletes);
    let size = match survey.max_bytes {
        Some(limit) => format!("{} of at most {limit} bytes", survey.bytes),
        None => format!("{} bytes", survey.bytes),
    };
    report.set("size", size, json!({ "bytes": survey.bytes, "max_bytes": survey.max_bytes }));
    if let Some(age) = survey.info.age {
        report.set("made", format!("{} ago", span(age)), json!({ "ms_ago": millis(age) }));
    }
    if let Some(clock) = survey.clock {
        report.set("clock_difference", clock_text(clock), clock_json(clock));
    }
}

fn judge(report: &mut Examination, survey: &Survey) {
    if survey.replicas == 1 {
        report.find(Finding::note(
            "the bucket is on a single server: no candidate leads while it is down, and a lost disk loses all records",
            "on a cluster of three servers, run `incumbent init --replicas 3 --update`",
        ));
    }
    for holder in survey.holders.iter().filter(|holder| !holder.is_well) {
        report.find(Finding::weak(
            format!("the server {:?} is down or lagging: the next failure may cost the quorum", holder.name),
            "restart it, or wait until it has caught up",
        ));
    }
    if survey.markers.is_none() && !survey.denies_purges {
        report.find(Finding::weak(
            "a purge of the bucket would remove a leader's record without a trace",
            "`incumbent init --update` makes the bucket deny that",
        ));
    }
    if !survey.denies_deletes {
        report.find(Finding::weak(
            "any message of the bucket, including a leader's record, can be deleted without a trace",
            "`incumbent init --update` makes the bucket deny that",
        ));
    }
    if let Some(limit) = survey.max_bytes.filter(|limit| survey.bytes > limit / 10 * 9) {
        report.find(Finding::weak(
            format!(
                "the bucket holds {} of {limit} bytes: when it is full, no lease can be renewed",
                survey.bytes
            ),
            "raise its max_bytes",
        ));
    }
    if let Some(clock) = survey.clock.filter(|clock| clock.by > USUAL_SKEW + clock.uncertain_by) {
        report.find(Finding::weak(
            format!(
                "{}: elections do not use a candidate's wall clock, but the servers' wall clocks must agree within \
                 the skew, a second at most",
                clock_text(clock)
            ),
            "run NTP here and on the servers",
        ));
    }
    report.find(Finding::note(
        "a restored backup of the bucket keeps its incarnation: a candidate started after the restore can lead at the \
         same time as the previous leader, with a token that was given before",
        "leave the bucket out of backups and create it again with `incumbent init`; or stop every candidate before a \
         restore, and start none for one lease after it",
    ));
    let young = survey.info.age.zip(survey.max_age).and_then(|(age, lease)| lease.checked_sub(age));
    if let Some(left) = young.filter(|_| !survey.info.never_used) {
        report.find(Finding::note(
            format!("the bucket is new, less than a lease old: no candidate can lead for another {}", span(left)),
            "wait; if no election ever ran under this name and nothing has been written yet, `incumbent init --new \
             --update` skips the wait",
        ));
    }
}

/// The finding that candidates of the Go library lead in this bucket, whose settings suit them.
fn company(leaders: u64) -> Finding {
    Finding::note(
        format!("{leaders} of the leaders run other software, which survives fewer faults"),
        "use the preset go-compatible, and delete no records in this bucket",
    )
}

/// The finding that candidates of the Go library lead in this bucket, whose settings do not suit them.
fn refused_company(leaders: u64) -> Finding {
    Finding::refused(
        format!(
            "{leaders} of the leaders run other software, and the bucket has markers: old clients take a marker for a \
             live record, and then never elect a leader again"
        ),
        "create a bucket without markers for those clients",
    )
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn clock_text(clock: ClockDifference) -> String {
    let side = if clock.server_is_ahead { "ahead of" } else { "behind" };
    format!(
        "the server's clock is {} {side} this machine's, give or take {}",
        span(clock.by),
        span(clock.uncertain_by)
    )
}

fn clock_json(clock: ClockDifference) -> Value {
    let signed = if clock.server_is_ahead { millis(clock.by) } else { -millis(clock.by) };
    json!({ "server_ahead_ms": signed, "uncertain_by_ms": millis(clock.uncertain_by) })
}
