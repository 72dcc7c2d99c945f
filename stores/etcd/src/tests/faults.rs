//! Faults of servers, and how the adapter handles them.

use incumbent_core::queue::Failure;
use incumbent_core::store::FaultKind;
use incumbent_testkit::etcd::{EtcdCluster, EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;

use super::*;

#[tokio::test]
async fn a_member_that_is_left_fails_what_waits_for_it_and_the_next_one_serves() {
    let cluster = EtcdCluster::start(3);
    let leader = cluster.leader();
    // Pauses a follower, so that the cluster keeps its leader and its term.
    let first = (leader + 1) % 3;
    let members = [cluster[first].address(), cluster[leader].address()].join(",");
    let store = open(&settings(&members)).await;
    store.inspect().await.unwrap();
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    let mut watch = store.watch().await.unwrap();
    cluster[first].pause();
    let mut kept = store.keep_alive(vec![own.lease, own.lease]);
    let read = store.read("jobs", Some(own.lease), false);
    let reconnect = async {
        tokio::task::yield_now().await;
        store.reconnect().await;
    };
    let both = async { (kept.next().await.unwrap().result, kept.next().await.unwrap().result) };
    let (kept, read, ()) = futures_util::join!(both, read, reconnect);
    assert_eq!(kept, (Err(Failure::Unknown), Err(Failure::Unknown)));
    assert_eq!(read.unwrap_err(), Failure::Unknown);
    assert_eq!(next(&mut watch).await, None);
    let seen = store.read("jobs", Some(own.lease), false).await.unwrap();
    assert_eq!(seen.place.unwrap().created, own.revision);
    let kept: Vec<_> = store.keep_alive(vec![own.lease]).collect().await;
    assert_eq!(kept[0].result.as_ref().unwrap().ttl, TTL);
    cluster[first].resume();
}

#[tokio::test]
async fn a_member_that_restarts_ends_the_watch_and_serves_again() {
    for version in EtcdVersion::tested() {
        let mut server = EtcdServer::start(Options::new().version(version));
        let store = open(&settings(&server.address())).await;
        let own = enter(&store, "jobs", "heron", 0xa1).await;
        store.entry("jobs").await.unwrap();
        let mut watch = store.watch().await.unwrap();
        server.restart();
        assert_eq!(next(&mut watch).await, None);
        store.reconnect().await;
        let mut watch = store.watch().await.unwrap();
        let kept: Vec<_> = store.keep_alive(vec![own.lease]).collect().await;
        assert_eq!(kept[0].result.as_ref().unwrap().ttl, TTL);
        let left = leave(&store, "jobs", own).await;
        let change = loop {
            match next(&mut watch).await {
                Some(Watched::Changed { shown: change, .. }) if change.revision == left => break change,
                Some(_) => {}
                None => panic!("the new watch ended"),
            }
        };
        assert_eq!(change.removed_companions, ["a1"]);
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_is_renewed_for_calls_watches_and_keep_alives() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        server.ctl(&["user", "add", "root:secret"]);
        server.ctl(&["user", "grant-role", "root", "root"]);
        server.ctl(&["auth", "enable"]);
        let store = open(&settings(&server.address()).user_and_password("root", "secret")).await;
        store.inspect().await.unwrap();
        let own = enter(&store, "jobs", "heron", 0xa1).await;
        let kept = async |store: &Etcd| {
            let kept: Vec<_> = store.keep_alive(vec![own.lease, own.lease]).collect().await;
            kept.into_iter().map(|kept| kept.result.map(|alive| alive.ttl)).collect::<Vec<_>>()
        };
        assert_eq!(kept(&store).await, [Ok(TTL), Ok(TTL)]);
        // Each of the two commands revokes all tokens, and changes the revision against which tokens are checked.
        let renew = || {
            server.ctl(&["--user=root:secret", "auth", "disable"]);
            server.ctl(&["auth", "enable"]);
        };
        renew();
        assert_eq!(kept(&store).await, [Ok(TTL), Ok(TTL)]);
        renew();
        store.read("jobs", Some(own.lease), false).await.unwrap();
        renew();
        let mut watch = store.watch().await.unwrap();
        let left = leave(&store, "jobs", own).await;
        match next(&mut watch).await {
            Some(Watched::Changed { shown: change, .. }) => assert_eq!(change.revision, left),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn compaction_ends_a_watch_that_needs_what_is_gone() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let mut watch = store.watch().await.unwrap();
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    let before = store.read("mail", None, false).await.unwrap().revision;
    server.ctl(&["put", "app/jobs/1", "x"]);
    server.ctl(&["put", "app/jobs/1", "y"]);
    server.ctl(&["compact", &(before.0 + 2).to_string()]);
    // A watch of this election would begin before the compacted revision.
    store.watches.read("jobs", own.revision);
    while next(&mut watch).await.is_some() {}
    let mut watch = store.watch().await.unwrap();
    server.ctl(&["put", "app/jobs/1", "z"]);
    assert!(next(&mut watch).await.is_some());
}

#[tokio::test]
async fn a_full_store_is_reported_and_still_lets_leaders_go_on_and_leave() {
    let options = Options::new().arguments(["--quota-backend-bytes=300000"]);
    let server = EtcdServer::start(options);
    let store = open(&settings(&server.address())).await;
    store.inspect().await.unwrap();
    assert_eq!(store.flaw(), None);
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    let filler = "x".repeat(50_000);
    let mut number = 0xf0;
    let refused = loop {
        number += 1;
        // Once the store is full, the grant or the write below is refused first.
        if let Err(failure) = store.grant(LeaseId(number), TTL).await {
            break failure;
        }
        let companion = store.share(None, TTL).await.unwrap();
        let action = Action::Enter { lease: LeaseId(number), companion, replaces: None };
        match store.write("filler", &identity(&filler), &action).await {
            Outcome::Applied { .. } => {}
            Outcome::Failed(failure) => break failure,
            other @ Outcome::Refused { .. } => panic!("{other:?}"),
        }
    };
    assert_eq!(refused.fault().unwrap().kind, FaultKind::Broken);
    store.inspect().await.unwrap();
    assert!(store.flaw().unwrap().detail.contains("NOSPACE"));
    assert!(matches!(store.grant(LeaseId(0xff), TTL).await, Err(Failure::Fault(_))));
    let kept: Vec<_> = store.keep_alive(vec![own.lease]).collect().await;
    assert_eq!(kept[0].result.as_ref().unwrap().ttl, TTL);
    leave(&store, "jobs", own).await;
    store.revoke(own.lease).await.unwrap();
    // A full store can still be opened.
    open(&settings(&server.address())).await;
}

#[tokio::test]
async fn a_store_that_was_wiped_has_another_incarnation_which_is_larger() {
    let mut server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let first = store.inspect().await.unwrap().incarnation;
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    server.wipe();
    server.restart();
    store.reconnect().await;
    let seen = store.read("jobs", Some(own.lease), true).await.unwrap();
    assert_eq!((seen.birth, seen.place), (None, None));
    assert!(seen.revision < own.revision);
    assert!(store.inspect().await.unwrap().incarnation > first);
}

#[tokio::test]
async fn a_birth_record_of_other_software_is_a_fault_that_names_the_key() {
    let server = EtcdServer::start(Options::new());
    server.ctl(&["put", "app/.incumbent", "something"]);
    let store = open(&settings(&server.address())).await;
    let fault = store.inspect().await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Broken);
    assert!(fault.detail.contains("\"app/.incumbent\""), "{fault}");
    assert_eq!(store.read("jobs", None, false).await.unwrap().birth, None);
}

#[tokio::test]
async fn a_read_that_is_not_permitted_fails_alone() {
    let server = EtcdServer::start(Options::new());
    for command in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "jobs"],
        &["role", "grant-permission", "jobs", "readwrite", "--prefix", "app/jobs/"],
        &["role", "grant-permission", "jobs", "readwrite", "--prefix", "app/.incumbent"],
        &["user", "add", "ada:pw"],
        &["user", "grant-role", "ada", "jobs"],
        &["auth", "enable"],
    ] {
        server.ctl(command);
    }
    let store = open(&settings(&server.address()).user_and_password("ada", "pw")).await;
    // While the first read is in flight, the later reads queue up, and are then sent together.
    let reads = ["jobs", "jobs", "mail", "jobs"].map(|election| store.read(election, None, true));
    let answers = futures_util::future::join_all(reads).await;
    let denied = answers.iter().map(|answer| match answer {
        Ok(_) => None,
        Err(failure) => Some(failure.fault().unwrap().kind),
    });
    assert_eq!(denied.collect::<Vec<_>>(), [None, None, Some(FaultKind::Denied), None]);
}
