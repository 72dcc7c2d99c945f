//! A candidate loses its permissions on the topic, while the other candidates are healthy.

use std::time::{Duration, Instant};

use incumbent::{Candidate, Event, Events, Store, Warning};
use incumbent_testkit::kafka::security::{Entrance, USERS};
use incumbent_testkit::kafka::{Kafka, Options};
use incumbent_testkit::tools::KafkaVersion;
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

use crate::support::{LIMIT, brief, election, next_term, until};

/// A lease of this test. Three leases together outlast this machine's stalls, and the test can wait for ten.
const LEASE: Duration = Duration::from_secs(3);
/// A candidate's permissions on its topic.
const ALL: [&str; 3] = ["Read", "Write", "Describe"];

/// Two candidates of one election, whose users have separate permissions.
struct Two {
    broker: Kafka,
    topic: String,
    eves_store: Store,
    adas_store: Store,
    jobs: String,
    eve: Candidate,
    events: Events,
    ada: Candidate,
}

impl Two {
    /// `eve` joins first, with permission for these operations on the topic. `ada` joins once `eve` has the partition.
    async fn join(version: KafkaVersion, parameters: &str, eve_may: &[&str]) -> Self {
        let broker = block_in_place(|| Kafka::start_with(Options::new().version(version).secured()));
        let (jobs, entrance) = (election("taken"), broker.entrance(Entrance::SaslInTheClear));
        let topic = format!("{jobs}.neli");
        block_in_place(|| {
            let admin = broker.admin();
            admin.create_topic(&topic, "1", &[]);
            for (user, may) in [("eve", eve_may), ("ada", &ALL[..])] {
                admin.allow(user, "topic", &topic, may);
                admin.allow(user, "group", &jobs, &["Read", "Describe"]);
            }
        });
        let open = async |user: &str| {
            let password = USERS.iter().find(|(name, _)| *name == user).map_or("", |(_, password)| password);
            let url = format!("kafka://{user}:{password}@{entrance}/?create=false{parameters}");
            timeout(LIMIT, Store::open(&url)).await.unwrap().unwrap()
        };
        let (eves_store, adas_store) = (open("eve").await, open("ada").await);
        let eve = eves_store.campaign(&jobs, brief("eve").lease(LEASE)).await.unwrap();
        let events = eve.events();
        let group = jobs.clone();
        if eve_may == ALL {
            drop(next_term(&eve).await);
        } else {
            block_in_place(|| broker.admin().owner(&group, 1));
        }
        let ada = adas_store.campaign(&jobs, brief("ada").lease(LEASE)).await.unwrap();
        let two = Self { broker, topic, eves_store, adas_store, jobs, eve, events, ada };
        if eve_may == ALL {
            until("both are in the group", async || two.members().await == 2).await;
        }
        two
    }

    async fn members(&self) -> usize {
        let listed = timeout(LIMIT, self.adas_store.candidates(&self.jobs)).await.unwrap().unwrap();
        listed.map_or(0, |members| members.len())
    }

    fn give(&self, operations: &[&str]) {
        block_in_place(|| self.broker.admin().allow("eve", "topic", &self.topic, operations));
    }

    fn take(&self, operations: &[&str]) {
        block_in_place(|| self.broker.admin().forbid("eve", "topic", &self.topic, operations));
    }

    /// Waits until `eve` gives way and `ada` leads, within three leases of `since`. Returns the time for which `eve`
    /// rests.
    async fn ada_leads_since(&mut self, since: Instant) -> Duration {
        let term = next_term(&self.ada).await;
        let took = since.elapsed();
        println!("another led {took:?} after the permission was missing");
        assert!(took < LEASE * 3, "{took:?}");
        drop(term);
        gave_way(&mut self.events).await
    }

    /// The part of this time in which no candidate led.
    async fn vacant_for(&self, span: Duration) -> Duration {
        let (began, mut seen, mut vacant) = (Instant::now(), Instant::now(), Duration::ZERO);
        while began.elapsed() < span {
            sleep(Duration::from_millis(10)).await;
            let leads = [&self.ada, &self.eve].map(|one| one.term().is_some_and(|term| term.is_current()));
            assert!(leads != [true, true], "two lead");
            if leads == [false, false] {
                vacant += seen.elapsed();
            }
            seen = Instant::now();
        }
        vacant
    }

    /// Closes `ada`, and waits until `eve`, whose permissions have been restored, leads.
    async fn eve_leads_alone(self) {
        timeout(LIMIT, self.ada.close()).await.unwrap().unwrap();
        drop(timeout(LIMIT * 2, self.eve.next_term()).await.unwrap().unwrap());
        timeout(LIMIT, self.eves_store.close()).await.unwrap().unwrap();
    }
}

/// Waits until a candidate reports that it gave way, and returns the time for which it rests.
async fn gave_way(events: &mut Events) -> Duration {
    let gave_way = async {
        loop {
            if let Some(Event::Warning(warning)) = events.next().await {
                println!("{warning}");
                if let Warning::GaveWay { rest, .. } = warning {
                    return rest;
                }
            }
        }
    };
    timeout(LIMIT, gave_way)
        .await
        .unwrap_or_else(|_| panic!("the candidate did not give way within {LIMIT:?}"))
}

const GROUPS: [(KafkaVersion, &str); 3] =
    [(KafkaVersion::Newest, ""), (KafkaVersion::Newest, "&protocol=consumer"), (KafkaVersion::V3_9, "")];

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_may_write_no_more_leaves_the_election_to_another_until_it_may_again() {
    for (version, parameters) in GROUPS {
        let mut two = Two::join(version, parameters, &ALL).await;
        two.take(&["Write"]);
        let rest = two.ada_leads_since(Instant::now()).await;
        let vacant = two.vacant_for(rest / 2).await;
        assert!(vacant < rest / 20, "no one led for {vacant:?} of {:?}", rest / 2);
        two.give(&["Write"]);
        let given = Instant::now();
        until("it is in the group again", async || two.members().await == 2).await;
        assert!(given.elapsed() < rest / 2, "a probe ends the rest");
        two.eve_leads_alone().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_may_read_no_more_leaves_the_election_to_another_until_it_may_again() {
    for (version, parameters) in GROUPS {
        let mut two = Two::join(version, parameters, &ALL).await;
        two.take(&["Read"]);
        let rest = two.ada_leads_since(Instant::now()).await;
        let vacant = two.vacant_for(rest).await;
        assert!(vacant < rest / 10, "no one led for {vacant:?} of {rest:?}");
        two.give(&["Read"]);
        two.eve_leads_alone().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_may_not_write_leaves_the_partition_to_one_that_joins() {
    for (version, parameters) in GROUPS {
        let joined = Instant::now();
        let mut two = Two::join(version, parameters, &["Read", "Describe"]).await;
        println!("joined within {:?}", joined.elapsed());
        let rest = two.ada_leads_since(Instant::now()).await;
        let vacant = two.vacant_for(rest).await;
        assert!(vacant < rest / 10, "no one led for {vacant:?} of {rest:?}");
        two.give(&["Write"]);
        two.eve_leads_alone().await;
    }
}
