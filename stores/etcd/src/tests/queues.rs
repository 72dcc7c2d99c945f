//! The answers of a healthy store.

use futures_util::StreamExt;
use incumbent_core::Token;
use incumbent_core::queue::{Change, LeaseId};
use incumbent_core::record::{Entry, Nonce};
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;
use incumbent_testkit::wait;

use super::*;
use incumbent_store::request::HandOver;

/// Waits until the server serves this many watches.
async fn watchers(server: &EtcdServer, number: u64) {
    let served = || async { server.gauge("etcd_debugging_mvcc_watcher_total") == number };
    wait::until_async("the watches", GENEROUS, served).await;
}

fn changed(event: Option<Watched<Change>>) -> (String, Change) {
    match event {
        Some(Watched::Changed { election, shown }) => (election, shown),
        other => panic!("{other:?}"),
    }
}

/// The next change that removes something.
async fn removal(watch: &mut BoxStream<'static, Watched<Change>>) -> (String, Change) {
    loop {
        let (election, change) = changed(next(watch).await);
        if !change.removed_places.is_empty() || !change.removed_companions.is_empty() {
            return (election, change);
        }
    }
}

#[tokio::test]
async fn two_that_inspect_a_new_store_at_once_find_one_birth_record() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        let settings = settings(&server.address());
        let (one, other) = (open(&settings).await, open(&settings).await);
        let (first, second) = futures_util::join!(one.inspect(), other.inspect());
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.incarnation, second.incarnation);
        assert_eq!((first.age, first.never_used), (None, false));
        let third = one.inspect().await.unwrap();
        assert_eq!(third.incarnation, first.incarnation);
        assert_eq!(third.newest, first.newest.max(second.newest), "nothing more is written");
        assert!(first.asked_at < third.asked_at);
    }
}

#[tokio::test]
async fn the_number_of_a_lease_for_companions_says_in_which_raft_term_it_was_granted() {
    for version in EtcdVersion::tested() {
        let mut server = EtcdServer::start(Options::new().version(version));
        let store = open(&settings(&server.address())).await;
        store.inspect().await.unwrap();
        let first = store.share(None, TTL).await.unwrap();
        let term = store.read("jobs", None, false).await.unwrap().raft_term;
        assert_eq!((term, first.raft_term()), (2, term), "the first leader's term");

        // A restarted server leads a later raft term.
        server.restart();
        let read = || async { store.read("jobs", None, false).await.ok() };
        let after = wait::until_some_async("an answer", GENEROUS, read).await;
        assert!(after.raft_term > term);
        let second = store.share(Some(first), TTL).await.unwrap();
        assert_eq!(second.raft_term(), after.raft_term);
    }
}

#[tokio::test]
async fn a_candidacy_is_kept_alive_read_and_left() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        let store = open(&settings(&server.address())).await;
        let born = store.inspect().await.unwrap().incarnation;
        let own = enter(&store, "jobs", "heron", 0xa1).await;
        let companion = store.share(None, TTL).await.unwrap();
        let kept: Vec<_> = store.keep_alive(vec![own.lease, companion]).collect().await;
        let seen = store.read("jobs", Some(own.lease), false).await.unwrap();
        assert_eq!(kept.iter().map(|kept| kept.lease).collect::<Vec<_>>(), [own.lease, companion]);
        for kept in kept {
            let alive = kept.result.unwrap();
            assert_eq!((alive.ttl, alive.raft_term), (TTL, seen.raft_term));
        }
        assert_eq!((seen.birth, seen.place.unwrap().created), (Some(born), own.revision));
        assert_eq!(seen.companion.unwrap().lease, Some(companion));
        leave(&store, "jobs", own).await;
        store.revoke(own.lease).await.unwrap();
        let seen = store.read("jobs", Some(own.lease), true).await.unwrap();
        assert_eq!((seen.places.len(), seen.companions.len()), (0, 0));
        store.close().await;
        let left = server.ctl(&["get", "--prefix", "", "--keys-only"]);
        assert_eq!(left.trim(), "app/.incumbent", "nothing but the birth record");
        assert!(server.ctl(&["lease", "list"]).contains("found 0 leases"), "{left}");
    }
}

#[tokio::test]
async fn a_release_is_one_change_and_a_foreign_candidates_another() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        for prefix in ["app", ""] {
            let store = open(&settings(&server.address()).prefix(prefix)).await;
            let base = if prefix.is_empty() { "" } else { "app/" };
            server.ctl(&["put", &format!("{base}jobs/77"), "go-1"]);
            let own = enter(&store, "jobs", "heron", 0xa1).await;
            store.read("jobs", Some(own.lease), true).await.unwrap();
            let mut watch = store.watch().await.unwrap();
            let left = leave(&store, "jobs", own).await;
            server.ctl(&["del", &format!("{base}jobs/77")]);
            store.revoke(own.lease).await.unwrap();
            let release = Change {
                revision: left,
                removed_places: vec!["a1".into()],
                removed_companions: vec!["a1".into()],
                rewritten_companions: Vec::new(),
            };
            let (election, mut seen) = removal(&mut watch).await;
            // The parts of the two watches are reported separately if the machine is busy for longer than the client
            // waits for both.
            while seen.removed_places.is_empty() || seen.removed_companions.is_empty() {
                let (_, part) = removal(&mut watch).await;
                assert_eq!(part.revision, seen.revision);
                seen.removed_places.extend(part.removed_places);
                seen.removed_companions.extend(part.removed_companions);
            }
            assert_eq!((election, seen), ("jobs".into(), release));
            let (_, other) = removal(&mut watch).await;
            assert_eq!((other.removed_places, other.removed_companions), (vec!["77".into()], Vec::new()));
        }
    }
}

#[tokio::test]
async fn a_watch_that_stands_takes_in_an_election_that_is_read_later_and_leaves_others_out() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let mut watch = store.watch().await.unwrap();
    enter(&store, "mail", "egret", 0xb1).await;
    assert_eq!(store.entry("jobs").await.unwrap(), Entry::Vacant);
    server.ctl(&["put", "app/mail/1", "x"]);
    server.ctl(&["put", "app/jobs/1", "x"]);
    let (election, change) = changed(next(&mut watch).await);
    assert_eq!(election, "jobs");
    assert_eq!(change, Change { revision: change.revision, ..Change::default() }, "observers read it");
}

#[tokio::test]
async fn an_election_that_is_left_is_watched_no_longer_and_can_be_followed_again() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let mut watch = store.watch().await.unwrap();
    let elections: Vec<_> = (0..20).map(|number| format!("e{number}")).collect();
    for election in &elections {
        store.follow(election);
        store.entry(election).await.unwrap();
    }
    store.entry("jobs").await.unwrap();
    // One watch of the companions, one of the places of `jobs`, and twenty of the places of the other elections.
    watchers(&server, 22).await;
    let late = store.entry("e0");
    elections.iter().for_each(|election| store.unfollow(election));
    late.await.unwrap();
    watchers(&server, 2).await;
    assert_eq!(store.watches.len(), 1);

    server.ctl(&["put", "app/e0/1", "x"]);
    server.ctl(&["put", "app/jobs/1", "x"]);
    assert_eq!(changed(next(&mut watch).await).0, "jobs", "the watch stays open, and leaves out `e0`");
    store.follow("e0");
    store.entry("e0").await.unwrap();
    server.ctl(&["del", "app/e0/1"]);
    let (election, change) = changed(next(&mut watch).await);
    assert_eq!((election.as_str(), change.removed_places), ("e0", vec!["1".into()]));
}

#[tokio::test]
async fn a_companion_that_is_written_again_is_a_change_of_its_own() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    store.read("jobs", Some(own.lease), true).await.unwrap();
    let mut watch = store.watch().await.unwrap();
    let companion = store.share(None, TTL).await.unwrap();
    let modified = own.revision;
    let name = Action::Name { own, modified, companion, successor: Some("egret".into()) };
    let revision = applied(store.write("jobs", &identity("heron"), &name).await);
    let (_, change) = changed(next(&mut watch).await);
    assert_eq!((change.revision, change.rewritten_companions), (revision, vec!["a1".into()]));
}

#[tokio::test]
async fn requests_of_an_operator_that_stand_or_come_are_emitted() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let put = |election: &str, text: &str| {
        server.ctl(&["put", &format!("app/.incumbent/{}", HandOver::key(election)), text]);
    };
    put("jobs", "first");
    let mut watch = store.watch().await.unwrap();
    put("mail", "second");
    for (election, text) in [("jobs", "first"), ("mail", "second")] {
        match next(&mut watch).await {
            Some(Watched::Requested { key, text: found, .. }) => {
                assert_eq!((key, found.as_str()), (HandOver::key(election), text));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_leader_is_the_first_place_with_what_its_companion_says() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let incarnation = store.inspect().await.unwrap().incarnation;
    assert_eq!(store.entry("jobs").await.unwrap(), Entry::Vacant);
    let own = enter(&store, "jobs", "heron", 0xa1).await;
    server.ctl(&["put", "app/jobs/77", "go-1"]);
    let entry = store.entry("jobs").await.unwrap();
    let leader = entry.live().unwrap();
    assert_eq!((leader.candidate.as_str(), leader.revision), ("heron", own.revision));
    assert_eq!((leader.write_id.unwrap().nonce, leader.lease), (Nonce(7), Some(TTL)));
    assert_eq!(leader.term_info.unwrap().token, Token { incarnation, sequence: own.revision });
    assert_eq!(leader.metadata, identity("").metadata);

    server.ctl(&["del", "app/jobs/a1"]);
    let entry = store.entry("jobs").await.unwrap();
    let leader = entry.live().unwrap();
    assert_eq!((leader.candidate.as_str(), leader.write_id, leader.term_info), ("go-1", None, None));
    assert_eq!((leader.lease, leader.metadata.len()), (None, 0));
}

#[tokio::test]
async fn candidates_stand_in_the_order_of_each_queue_foreign_ones_included() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    store.inspect().await.unwrap();
    server.ctl(&["put", "app/mail/99", "go-2"]);
    server.ctl(&["put", "app/jobs/ff", "go-1"]);
    enter(&store, "jobs", "heron", 0xa1).await;
    enter(&store, "jobs", "egret", 0xa0).await;
    server.ctl(&["put", "app/notes.txt", "no place"]);
    server.ctl(&["put", "app/jobs/ff", "go-1 again"]);
    let pair = |election: &str, name: &str| (election.to_owned(), name.to_owned());
    let jobs = [pair("jobs", "go-1 again"), pair("jobs", "heron"), pair("jobs", "egret")];
    assert_eq!(candidates(&store, Some("jobs")).await, jobs);
    assert_eq!(candidates(&store, None).await, [&jobs[..], &[pair("mail", "go-2")]].concat());
    let all = store.candidates(Some("jobs")).await.unwrap();
    let told: Vec<_> = all.iter().map(|one| (one.nonce, one.standing_for.is_zero())).collect();
    assert_eq!(told, [(None, true), (Some(Nonce(7)), false), (Some(Nonce(7)), false)]);

    let listed = store.list().await.unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|seen| (seen.key.as_str(), seen.entry.live().unwrap().candidate.as_str()))
        .collect();
    assert_eq!(names, [("jobs", "go-1 again"), ("mail", "go-2")]);
}

#[tokio::test]
async fn without_a_prefix_elections_are_listed_where_one_of_ours_stands() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address()).prefix("")).await;
    server.ctl(&["put", "mail/99", "go-2"]);
    server.ctl(&["put", "jobs/ff", "go-1"]);
    enter(&store, "jobs", "heron", 0xa1).await;
    let pair = |election: &str, name: &str| (election.to_owned(), name.to_owned());
    assert_eq!(candidates(&store, None).await, [pair("jobs", "go-1"), pair("jobs", "heron")]);
    assert_eq!(candidates(&store, Some("mail")).await, [pair("mail", "go-2")]);
    assert_eq!(store.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_shared_lease_is_another_once_it_is_gone() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    let first = store.share(None, TTL).await.unwrap();
    assert_eq!(store.share(None, TTL).await, Ok(first));
    let second = store.share(Some(first), TTL).await.unwrap();
    assert_ne!(first, second);
    assert!(second != LeaseId(0) && second.0 >> 63 == 0);
}

#[tokio::test]
async fn reads_that_are_due_together_are_each_answered_with_their_own_election() {
    let server = EtcdServer::start(Options::new());
    let store = open(&settings(&server.address())).await;
    // More reads than fit into one transaction, with five operations each.
    let elections: Vec<_> = (0..60).map(|number| format!("e{number}")).collect();
    let mut owns = Vec::new();
    for (number, election) in elections.iter().enumerate() {
        owns.push(enter(&store, election, election, 0x1000 + number as u64).await);
    }
    let reads =
        elections.iter().zip(&owns).map(|(election, own)| store.read(election, Some(own.lease), true));
    let seen = futures_util::future::join_all(reads).await;
    for ((election, own), seen) in elections.iter().zip(&owns).zip(seen) {
        let place = seen.unwrap().place.unwrap();
        assert_eq!((&place.name, place.created), (election, own.revision));
    }
}
