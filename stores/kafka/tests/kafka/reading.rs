//! Reading the log: a topic recreated on a broker with a history, heartbeats without a pause, and a log of a week.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use incumbent::Candidate;
use incumbent::incumbent_core::induction::{KIND, Kind};
use incumbent::incumbent_core::record::{Attempt, NONCE, Nonce, TERM, TermInfo, WriteId};
use incumbent::incumbent_core::{Incarnation, Revision, Token};
use incumbent::store::kafka::{self, KafkaSettings};
use incumbent_testkit::kafka::{Kafka, Options};
use incumbent_testkit::tools::KafkaVersion;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::support::{LIMIT, brief, broker, election, next_term, open, until};

/// A librdkafka client keeps the former topic's larger leader epoch, and never shows anything of the new topic.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_made_again_on_a_broker_that_was_restarted_has_a_leader_again() {
    let remade = async |version| {
        let mut broker = block_in_place(|| Kafka::start_with(Options::new().version(version)));
        let (jobs, address) = (election("past"), broker.address());
        let topic = format!("{jobs}.neli");
        block_in_place(|| broker.admin().create_topic(&topic, "1", &[]));
        let (one, other) = (open(&address, "?create=false").await, open(&address, "?create=false").await);
        let candidates = [
            one.campaign(&jobs, brief("ada")).await.unwrap(),
            other.campaign(&jobs, brief("ben")).await.unwrap(),
        ];
        let first = term(&candidates).await;
        block_in_place(|| {
            broker.stop();
            broker.restart();
        });
        // The first term survives a restart that is quicker than its lease. After a slower restart, a second term is
        // won.
        let second = term_from(&candidates, first).await;
        block_in_place(|| {
            broker.admin().delete_topic(&topic);
            thread::sleep(Duration::from_millis(200));
            broker.admin().create_topic(&topic, "1", &[]);
        });
        let made = Instant::now();
        term_above(&candidates, second).await;
        println!("{version}: a leader {:?} after the topic was made again", made.elapsed());
        // The reader of the observer's store had read the former topic too.
        until("an observer sees the leader", async || other.leader(&jobs).await.unwrap().is_some()).await;
    };
    tokio::join!(remade(KafkaVersion::Newest), remade(KafkaVersion::V3_9));
}

async fn term(candidates: &[Candidate; 2]) -> Token {
    let [ada, ben] = candidates;
    let term = tokio::select! {
        term = next_term(ada) => term,
        term = next_term(ben) => term,
    };
    term.token()
}

/// Waits for a term with this token, or a larger one.
async fn term_from(candidates: &[Candidate; 2], least: Token) -> Token {
    let mut found = None;
    until(&format!("a term with a token of {least} or above"), async || {
        let terms = candidates.iter().filter_map(Candidate::term).filter(|term| term.is_current());
        found = terms.map(|term| term.token()).find(|token| *token >= least);
        found.is_some()
    })
    .await;
    found.expect("it was waited for")
}

/// Waits for a term whose token is larger than this one.
async fn term_above(candidates: &[Candidate; 2], before: Token) -> Token {
    term_from(candidates, Token { sequence: Revision(before.sequence.0 + 1), ..before }).await
}

/// The queries of `incumbent status` about the election.
async fn status(address: &str, parameters: &str, election: &str) -> (Duration, Option<String>) {
    let store = open(address, parameters).await;
    let began = Instant::now();
    let members = store.candidates(election).await.unwrap();
    assert!(members.is_some());
    let entry = store.entry(election).await.unwrap();
    store.written(election).await.unwrap();
    let took = began.elapsed();
    timeout(LIMIT, store.close()).await.unwrap().unwrap();
    (took, entry.live().map(|record| record.candidate.clone()))
}

/// Fails unless at least half of these answers came within a second. Other answers may be slower, because the machine may
/// also be building.
fn quick(mut answers: Vec<Duration>) {
    println!("answers within {answers:?}");
    answers.sort();
    assert!(answers[answers.len() / 2] < Duration::from_secs(1), "{answers:?}");
}

#[tokio::test]
async fn a_log_in_which_each_fetch_brings_a_heartbeat_is_read_to_its_end() {
    let broker = broker();
    // The first group has a heartbeat every 400 ms, and the second one every 100 ms.
    for parameters in ["", "?goneli=true"] {
        let jobs = election("close");
        let store = open(&broker.address(), parameters).await;
        let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
        drop(next_term(&ada).await);
        let mut answers = Vec::new();
        for _ in 0..9 {
            let (took, leader) = status(&broker.address(), parameters, &jobs).await;
            assert_eq!(leader.as_deref(), Some("ada"), "{parameters}");
            answers.push(took);
        }
        quick(answers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_week_of_heartbeats_delays_neither_an_observer_nor_an_examination_nor_a_candidate() {
    let (broker, jobs) = (broker(), election("week"));
    let topic = format!("{jobs}.neli");
    block_in_place(|| {
        broker.admin().create_topic(&topic, "1", &[]);
        // A cluster creates the topic of all groups at the first query about a group, which takes seconds.
        broker.admin().coordinator(&jobs);
        append(&broker.address(), &topic, 600_000);
    });
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (took, _) = status(&broker.address(), "", &jobs).await;
        answers.push(took);
    }
    quick(answers);
    let mut answers = Vec::new();
    for _ in 0..3 {
        let began = Instant::now();
        let survey = kafka::survey(&KafkaSettings::new(&broker.address()).unwrap()).await.unwrap();
        answers.push(began.elapsed());
        assert!(survey.topics.iter().any(|found| found.name == topic), "{survey:?}");
    }
    quick(answers);
    let store = open(&broker.address(), "").await;
    let began = Instant::now();
    let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
    let term = next_term(&ada).await;
    println!("led {:?} after it entered", began.elapsed());
    // The newest heartbeat is goNELI's, so the candidate waits for a lease of 5 s. The group takes the rest of the
    // time.
    assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
    drop(term);
    let (took, leader) = status(&broker.address(), "", &jobs).await;
    assert_eq!(leader.as_deref(), Some("ada"));
    println!("read within {took:?} with a leader");
    let listed = store.list().await.unwrap();
    assert!(listed.iter().any(|listed| listed.election == jobs && listed.leader.is_some()));
}

/// Appends this many goNELI heartbeats, which state no incarnation.
fn append(address: &str, topic: &str, count: u32) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("linger.ms", "20")
        .set("batch.num.messages", "10000")
        .set("queue.buffering.max.messages", "1000000")
        .create()
        .unwrap();
    let value = format!("1598000000000000000%{}", "gopher".repeat(13));
    for _ in 0..count {
        let record = BaseRecord::<(), str>::to(topic).partition(0).payload(&value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LIMIT).unwrap();
}

/// The topic of all groups is created at a cluster's first query about a group, which takes seconds. Looking at the
/// store does not wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_never_had_a_group_is_looked_at_within_a_second() {
    let broker = block_in_place(|| Kafka::start_with(Options::new()));
    let jobs = election("first");
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (took, leader) = status(&broker.address(), "", &jobs).await;
        assert_eq!(leader, None);
        answers.push(took);
    }
    quick(answers);
}

/// The token is in the metadata of the group's commits, so neither the topic's retention nor a late reader loses it.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_above_that_of_a_leader_with_a_clock_ahead_though_no_record_of_its_is_left() {
    let (broker, jobs) = (broker(), election("clocks"));
    let topic = format!("{jobs}.neli");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ahead = Incarnation(u64::try_from((now + Duration::from_secs(600)).as_millis()).unwrap());
    // The sequence of a claim's token is the claim's own offset.
    let token = Token { incarnation: ahead, sequence: Revision(0) };
    let claim = [
        (NONCE, WriteId { nonce: Nonce(7), attempt: Attempt(1) }.to_string()),
        (KIND, Kind::Claim.text().to_owned()),
        (TERM, TermInfo { token, led_for: None }.to_string()),
    ];
    block_in_place(|| {
        broker.admin().create_topic(&topic, "1", &[]);
        let headers: Vec<_> = claim.iter().map(|(name, value)| (*name, value.as_str())).collect();
        broker.admin().append(&topic, "1598000000000000000%eve", &headers);
    });
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
    let first = next_term(&ada).await.token();
    assert_eq!(first.incarnation, ahead);
    timeout(LIMIT, store.close()).await.unwrap().unwrap();

    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", broker.address()).create().unwrap();
    let mut all = TopicPartitionList::new();
    all.add_partition_offset(&topic, 0, Offset::End).unwrap();
    admin.delete_records(&all, &AdminOptions::new()).await.unwrap();
    let store = open(&broker.address(), "").await;
    let ben = store.campaign(&jobs, brief("ben")).await.unwrap();
    let second = next_term(&ben).await.token();
    assert!(second > first, "{second} after {first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn elections_without_a_record_are_listed() {
    let (broker, prefix) = (broker(), election("listed"));
    let store = open(&broker.address(), &prefix).await;
    for jobs in ["one", "two", "three"] {
        block_in_place(|| broker.admin().create_topic(&format!("{prefix}.{jobs}.neli"), "1", &[]));
    }
    let began = Instant::now();
    let listed = store.list().await.unwrap();
    println!("three elections listed within {:?}", began.elapsed());
    assert!(listed.len() == 3 && listed.iter().all(|listed| listed.leader.is_none()), "{listed:?}");
}
