//! Permissions and credentials that a leader loses.

use incumbent::store::nats::{InitOptions, init};
use incumbent::{Reason, Warning};
use incumbent_testkit::nats::{NatsServer, Options};

use crate::bench::*;
use crate::probe::Probe;

/// The permission to write the key is removed. There is a warning with the subject, and `Lost(Expired)` at the
/// deadline. When the permission is restored, the candidate wins again.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_may_no_longer_write_is_warned_of_the_subject_and_leads_until_its_deadline() {
    let reported = |warning: &Warning| warning.to_string().contains("$KV.elections.jobs");
    loses_what_the_server_takes(
        &users("u", "permissions: { publish: { deny: \"$KV.elections.>\" } }"),
        reported,
    )
    .await;
}

/// The credentials are revoked: there is a warning, and `Lost(Expired)` at the deadline. When the credentials are valid
/// again, the candidate wins again.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_credentials_are_withdrawn_leads_until_its_deadline() {
    let reported = |warning: &Warning| matches!(warning, Warning::Store(_));
    loses_what_the_server_takes(&users("another-user", ""), reported).await;
}

async fn loses_what_the_server_takes(without: &str, reported: impl Fn(&Warning) -> bool) {
    let with = users("u", "");
    let mut server = NatsServer::start(Options::new().config(&with));
    let admin = server.url().replace("nats://", "nats://admin:p@");
    init(&settings(&admin), &InitOptions::new().lease(SHORT).never_used(true)).await.unwrap();
    let a = join(&server.url().replace("nats://", "nats://u:p@"), "a", SHORT).await;
    let first = a.won(1).await;
    let probe = Probe::of(&[&a]);

    let proven = a.candidate.term().expect("it leads").deadline();
    server.reconfigure(without);
    let taken = now();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    assert!(lost.at < taken + SHORT + BUSY, "{:?}", lost.at.since(taken));
    a.warning("the denial", reported).await;

    server.reconfigure(with);
    let next = a.won(2).await;
    assert!(next.token > first.token);
    probe.verdict();
}

/// A server configuration with an administrator, and with a user of that name that has further settings.
fn users(name: &str, more: &str) -> String {
    format!(
        "accounts {{ A: {{ jetstream: enabled, users: [
            {{ user: admin, password: p }}
            {{ user: {name}, password: p, {more} }}
        ] }} }}"
    )
}
