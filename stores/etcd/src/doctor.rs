//! A cluster's effective settings and problems, for `doctor`.

use incumbent_store::shown::{millis, span};
use incumbent_store::{Basis, Examination, Finding, Result};
use serde_json::{Value, json};

use crate::admin::survey::{Birth, Member, MemberState, Survey, survey};
use crate::settings::EtcdSettings;

pub(crate) async fn examine(settings: &EtcdSettings) -> Result<Examination> {
    let survey = survey(settings).await?;
    let mut report = Examination::default();
    describe(&mut report, &survey);
    // Without the shortest lease there is nothing to compare the settings with. A cluster that grants no lease is a
    // finding.
    report.basis = survey.grants.then_some(Basis::Queue(survey.server));
    report.is_closed =
        !survey.may_read || survey.birth.is_none() || survey.is_proxy || !survey.is_one_cluster;
    report.company = Some(company);
    judge_members(&mut report, &survey);
    judge_access(&mut report, &survey);
    judge_keys(&mut report, &survey);
    Ok(report)
}

fn describe(report: &mut Examination, survey: &Survey) {
    for Member { address, state } in &survey.members {
        let text = match state {
            Ok(state) => {
                let part = if state.leads { ", leads" } else { "" };
                format!("{address}: etcd {}{part}, {} bytes", state.version, state.bytes)
            }
            Err(why) => format!("{address} does not answer: {why}"),
        };
        report.say("member", text);
    }
    report.value("members", survey.members.iter().map(member_json).collect::<Vec<_>>());
    let shortest = survey.server.shortest;
    let shown = shortest.map_or_else(
        || "unknown, because no lease was granted".to_owned(),
        |shortest| format!("{}, as the servers grant it", span(shortest)),
    );
    report.set(
        "shortest_lease",
        shown,
        shortest.map_or(Value::Null, |shortest| json!({ "ms": millis(shortest) })),
    );
    let user = survey.user.as_deref();
    report.set("user", user.unwrap_or("none"), json!(user));
    let access = match (survey.may_read, survey.may_write) {
        (true, true) => "read and write",
        (true, false) => "read",
        (false, true) => "write",
        (false, false) => "none",
    };
    report.set("permitted", access, json!({ "read": survey.may_read, "write": survey.may_write }));
    let alarms = alarms(survey);
    report.set("alarms", if alarms.is_empty() { "none".into() } else { alarms.join(", ") }, json!(alarms));
    let birth = survey.birth.map(|Birth { incarnation, never_used, revision, .. }| {
        let new = if never_used { ", for a prefix that was never used before" } else { "" };
        let text = format!("incarnation {}, since revision {}{new}", incarnation.0, revision.0);
        let json = json!({ "incarnation": incarnation.0.to_string(), "revision": revision.0, "never_used": never_used });
        (text, json)
    });
    let (text, json) = birth.unwrap_or_else(|| ("none".into(), Value::Null));
    report.set("birth_record", text, json);
}

fn member_json(member: &Member) -> Value {
    match &member.state {
        Ok(MemberState { version, leads, is_learner, bytes, .. }) => json!({
            "address": member.address,
            "version": version,
            "leads": leads,
            "learner": is_learner,
            "bytes": bytes,
        }),
        Err(why) => json!({ "address": member.address, "error": why }),
    }
}

/// The alarms of the cluster, without duplicates.
fn alarms(survey: &Survey) -> Vec<String> {
    let mut alarms: Vec<_> = known(survey).flat_map(|(_, state)| state.alarms.clone()).collect();
    alarms.sort();
    alarms.dedup();
    alarms
}

fn known(survey: &Survey) -> impl Iterator<Item = (&str, &MemberState)> {
    survey.members.iter().filter_map(|member| Some((member.address.as_str(), member.state.as_ref().ok()?)))
}

fn judge_members(report: &mut Examination, survey: &Survey) {
    for Member { address, state } in &survey.members {
        if let Err(why) = state {
            report.find(Finding::weak(
                format!("the member at {address} does not answer: {why}"),
                "restart it, or remove it from the URL; candidates that use it try the next member",
            ));
        }
    }
    if !survey.is_one_cluster {
        report.find(Finding::broken(
            "the hosts of the URL belong to different clusters: candidates of one election might never meet, and each \
             could lead",
            "list only members of one cluster in the URL",
        ));
    }
    if survey.is_proxy {
        report.find(Finding::broken(
            "the URL leads to an `etcd grpc-proxy`: it answers keep-alives from its own memory, and a leader relies \
             on them",
            "list the members themselves in the URL",
        ));
    }
    for (address, state) in known(survey) {
        if state.is_learner {
            report.find(Finding::weak(
                format!("the member at {address} is a learner, and cannot serve candidates"),
                "remove it from the URL until it is promoted",
            ));
        }
        if state.is_cut_off {
            report.find(Finding::weak(
                format!("the member at {address} sees no leader in the cluster"),
                "check its connections to the other members; without a majority no candidate leads",
            ));
        }
    }
    if !survey.others.is_empty() && !survey.is_proxy {
        report.find(Finding::note(
            format!("the URL does not name every member: {}", survey.others.join(", ")),
            "add them, so that candidates can fail over to them",
        ));
    }
    if survey.members.len() == 1 && survey.others.is_empty() {
        report.find(Finding::note(
            "the cluster is a single member: no candidate leads while it is down, and a lost disk loses all records",
            "run three",
        ));
    }
    for alarm in alarms(survey) {
        report.find(match alarm.as_str() {
            "NOSPACE" => Finding::refused(
                "the cluster is full (alarm NOSPACE): leaders keep leading, but no other candidate can enter an \
                 election",
                "compact and defragment it (`etcdctl compact`, `etcdctl defrag`), then `etcdctl alarm disarm`",
            ),
            _ => Finding::broken(
                format!("the alarm {alarm} is raised"),
                "see etcd's guide to alarms; remove a member whose data is corrupt, and add it again",
            ),
        });
    }
}

fn judge_access(report: &mut Examination, survey: &Survey) {
    let remedy = "`incumbent permissions --role candidate` prints the role that a candidate needs";
    let user =
        survey.user.as_deref().map_or_else(|| "this client".to_owned(), |user| format!("the user {user:?}"));
    if !survey.may_read {
        report.find(Finding::refused(format!("{user} may not read the keys of the elections"), remedy));
    } else if !survey.may_write {
        let what = format!(
            "{user} may read the keys of the elections but not write them: it can observe, but not campaign"
        );
        report.find(Finding::note(what, remedy));
    }
    if survey.is_open {
        report.find(Finding::note(
            "the cluster has authentication off: every client that reaches it may delete a leader's keys",
            "`etcdctl auth enable`, with a role from `incumbent permissions`",
        ));
    }
    if !survey.grants && !alarms(survey).iter().any(|alarm| alarm == "NOSPACE") {
        report.find(Finding::refused(
            "the cluster granted no lease: no candidate can enter an election",
            "see the log of its leader",
        ));
    }
}

fn judge_keys(report: &mut Examination, survey: &Survey) {
    match survey.birth {
        None if survey.may_read => report.find(Finding::note(
            "no birth record yet: the first candidate writes it, and no candidate can lead for one lease after that",
            "`incumbent init` writes it now; if no election ever ran under this prefix, `incumbent init --new` skips \
             the wait",
        )),
        _ => {}
    }
    report.find(Finding::note(
        "a restored snapshot of the cluster has smaller revisions: candidates that remember larger tokens stay out, \
         and candidates started after the restore can lead with a token that was given before",
        "restore with `etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`, or stop every candidate \
         before the restore and use `incumbent accept-reset` after it",
    ));
}

fn company(leaders: u64) -> Finding {
    Finding::note(
        format!(
            "{leaders} of the leaders run other software, which may keep working after its lease is lost"
        ),
        "a Go program must watch `Session.Done()`; two candidates of incumbent never lead at once",
    )
}
