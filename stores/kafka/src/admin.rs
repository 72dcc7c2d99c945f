//! An operator's actions on the elections of a cluster: creating a leader topic, checking what makes elections safe,
//! and listing the permissions of a candidate.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use incumbent_core::Revision;
use incumbent_core::store::{Fault, FaultKind};
use rdkafka::admin::{AdminClient, AdminOptions, ConfigResource, OwnedResourceSpecifier, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;

use super::cluster::{self, Cluster, TopicDescription};
use super::faults::is_missing;
use super::producer::{can_start_client, no_client};
use super::settings::KafkaSettings;
use incumbent_store::Result;
use incumbent_store::StoreAdmin;
use incumbent_store::clock::Clock;

/// The findings and actions of [`init`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitReport {
    /// The leader topic.
    pub topic: String,
    /// The topic did not exist, and was created.
    pub created: bool,
}

/// Creates the leader topic of an election, or finds the existing one. A new topic has one partition, three replicas if
/// there are that many brokers, two of them in sync, records deleted after an hour, segments of ten minutes, and no
/// unclean elections.
///
/// # Errors
/// `InvalidName` for an election whose topic would be invalid, `PermissionDenied` without Create on the topic, and
/// every error of reaching the cluster.
pub async fn init(settings: &KafkaSettings, election: &str) -> Result<InitReport> {
    settings.check_key(election)?;
    let cluster = open(settings).await?;
    let topic = settings.topic_of(election);
    let name = topic.clone();
    let created = cluster.ask(move |cluster| match cluster.describe_topic(&name) {
        Err(fault) if is_missing(&fault) => cluster.create(&name),
        described => described.map(|_| false),
    });
    Ok(InitReport { created: created.await?, topic })
}

/// The facts that decide whether elections of a cluster are safe, and how fast they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The brokers.
    pub brokers: usize,
    /// The version of the protocol between the brokers, if they state it.
    pub version: Option<String>,
    /// The group protocols that the brokers support, from `group.coordinator.rebalance.protocols`.
    pub protocols: Vec<String>,
    /// The bounds of a session in the classic protocol.
    pub session_bounds: Option<(Duration, Duration)>,
    /// The session of members in the consumer protocol.
    pub consumer_session: Option<Duration>,
    /// The topic for commits; the brokers create it when a group is first requested.
    pub offsets: Option<TopicState>,
    /// The replication factor with which the brokers create that topic: `offsets.topic.replication.factor`.
    pub offsets_replicas: Option<usize>,
    /// The leader topics of all elections, by name.
    pub topics: Vec<TopicState>,
    /// The reason for which some of this is unknown.
    pub unknown: Option<String>,
}

/// A topic's settings that matter for elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicState {
    /// The topic's name.
    pub name: String,
    /// The number of partitions.
    pub partitions: usize,
    /// The replicas of partition zero.
    pub replicas: usize,
    /// `min.insync.replicas`.
    pub min_in_sync: Option<usize>,
    /// `cleanup.policy`.
    pub cleanup: Option<String>,
    /// `retention.ms`; `None` if records are kept without a limit, or if the setting is not known.
    pub retention: Option<Duration>,
    /// `segment.ms`. Brokers delete only closed segments, and close a segment after this time or at `segment.bytes`.
    pub segment: Option<Duration>,
    /// `unclean.leader.election.enable`.
    pub unclean: Option<bool>,
}

/// Examines a cluster and the leader topics of its elections.
///
/// # Errors
/// Every error of reaching the cluster.
pub async fn survey(settings: &KafkaSettings) -> Result<Survey> {
    let cluster = open(settings).await?;
    let metadata = cluster.ask(|cluster| cluster.metadata(None)).await?;
    // This query is the first to use the addresses that the brokers advertise.
    let reached = cluster.ask(|cluster| cluster.describe_topic(cluster::COMMITS)).await;
    if let Err(fault) = reached
        && fault.kind == FaultKind::Unreachable
    {
        return Err(fault.into());
    }
    can_start_client("this store")?;
    let admin: std::result::Result<AdminClient<DefaultClientContext>, _> = settings.producer().create();
    let admin = admin.map_err(|error| no_client("this store", &error))?;
    let mut unknown = None;
    let broker = configs(&admin, &[ResourceSpecifier::Broker(metadata.broker)], &mut unknown).await.pop();
    let get = |name: &str| broker.as_ref().and_then(|broker| value(broker, name));
    let millis = |name: &str| get(name)?.parse().ok().map(Duration::from_millis);
    let protocols = get("group.coordinator.rebalance.protocols").unwrap_or_default();
    let offsets = topics(&cluster, &admin, vec![cluster::COMMITS.into()], &mut unknown).await.pop();
    let mut leaders: Vec<_> =
        metadata.topics.into_iter().filter(|topic| settings.election_of(topic).is_some()).collect();
    leaders.sort();
    Ok(Survey {
        brokers: metadata.brokers,
        version: get("inter.broker.protocol.version"),
        protocols: protocols.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect(),
        session_bounds: millis("group.min.session.timeout.ms").zip(millis("group.max.session.timeout.ms")),
        consumer_session: millis("group.consumer.session.timeout.ms"),
        offsets,
        offsets_replicas: get("offsets.topic.replication.factor").and_then(|text| text.parse().ok()),
        topics: topics(&cluster, &admin, leaders, &mut unknown).await,
        unknown,
    })
}

/// The state of the existing topics.
async fn topics(
    cluster: &Arc<Cluster>,
    admin: &AdminClient<DefaultClientContext>,
    names: Vec<String>,
    unknown: &mut Option<String>,
) -> Vec<TopicState> {
    let describe = |cluster: &Cluster, name: String| {
        let described = cluster.describe_topic(&name);
        (name, described)
    };
    let asked = cluster
        .ask(move |cluster| Ok(names.into_iter().map(|name| describe(cluster, name)).collect::<Vec<_>>()));
    let asked = match asked.await {
        Ok(asked) => asked,
        Err(fault) => {
            unknown.get_or_insert(fault.detail);
            return Vec::new();
        }
    };
    let mut described = Vec::new();
    for (name, topic) in asked {
        match topic {
            Ok(topic) => described.push((name, topic)),
            Err(fault) if is_missing(&fault) => {}
            Err(fault) => drop(unknown.get_or_insert(fault.detail)),
        }
    }
    let of: Vec<_> = described.iter().map(|(name, _)| ResourceSpecifier::Topic(name)).collect();
    let settings = configs(admin, &of, unknown).await;
    let state = |(name, described): (String, TopicDescription)| {
        let of_it =
            |resource: &&ConfigResource| resource.specifier == OwnedResourceSpecifier::Topic(name.clone());
        let settings = settings.iter().find(of_it);
        let get = |name: &str| settings.and_then(|settings| value(settings, name));
        let time = |name: &str| get(name).and_then(|text| text.parse().ok()).map(Duration::from_millis);
        TopicState {
            partitions: described.partitions,
            replicas: described.replicas,
            min_in_sync: get("min.insync.replicas").and_then(|text| text.parse().ok()),
            cleanup: get("cleanup.policy"),
            retention: time("retention.ms"),
            segment: time("segment.ms"),
            unclean: get("unclean.leader.election.enable").and_then(|text| text.parse().ok()),
            name,
        }
    };
    described.into_iter().map(state).collect()
}

/// The settings of a broker, or of topics, as far as this user may see them.
async fn configs(
    admin: &AdminClient<DefaultClientContext>,
    of: &[ResourceSpecifier<'_>],
    unknown: &mut Option<String>,
) -> Vec<ConfigResource> {
    if of.is_empty() {
        return Vec::new();
    }
    let options = AdminOptions::new().request_timeout(Some(cluster::LIMIT));
    let mut found = Vec::new();
    match admin.describe_configs(of, &options).await {
        Ok(answers) => {
            for answer in answers {
                match answer {
                    Ok(resource) => found.push(resource),
                    Err(code) => drop(unknown.get_or_insert(format!("{code}; allow DescribeConfigs on it"))),
                }
            }
        }
        Err(error) => drop(unknown.get_or_insert(error.to_string())),
    }
    found
}

fn value(resource: &ConfigResource, name: &str) -> Option<String> {
    resource.get(name)?.value.clone()
}

/// A permission of Kafka's access control lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// `topic` or `group`.
    pub resource: &'static str,
    /// The resource's name.
    pub name: String,
    /// The operations to allow.
    pub operations: &'static [&'static str],
}

/// The permissions that a candidate of an election needs, or an observer, which writes nothing and joins no group.
///
/// # Errors
/// `InvalidName` for an election whose topic would be invalid.
pub fn permissions(settings: &KafkaSettings, election: &str, candidate: bool) -> Result<Vec<Acl>> {
    settings.check_key(election)?;
    let (topic, group) = (settings.topic_of(election), settings.group_of(election));
    Ok(match candidate {
        true => {
            let operations: &[_] = match settings.creates_topics() {
                true => &["Read", "Write", "Describe", "Create"],
                false => &["Read", "Write", "Describe"],
            };
            vec![
                Acl { resource: "topic", name: topic, operations },
                Acl { resource: "group", name: group, operations: &["Read", "Describe"] },
            ]
        }
        false => vec![
            Acl { resource: "topic", name: topic, operations: &["Read", "Describe"] },
            Acl { resource: "group", name: group, operations: &["Describe"] },
        ],
    })
}

async fn open(settings: &KafkaSettings) -> Result<Arc<Cluster>> {
    Cluster::open(&settings.clone().fail_fast(true), &Clock::system()).await
}

/// An operator of a cluster. It cannot write on behalf of a group, because the group chooses its owner.
pub(crate) struct KafkaAdmin;

#[async_trait]
impl StoreAdmin for KafkaAdmin {
    async fn put(&self, _: &str, _: &[u8]) -> std::result::Result<Revision, Fault> {
        Err(refused())
    }

    async fn delete(&self, _: &str) -> std::result::Result<Revision, Fault> {
        Err(refused())
    }

    async fn delete_at(&self, _: &str, _: Revision) -> std::result::Result<Option<Revision>, Fault> {
        Err(refused())
    }
}

/// The refusal of an operator's hand-over or eviction, with the reason.
pub(crate) fn refused() -> Fault {
    let detail = "in Kafka the group chooses the owner of its partition: an operator can neither hand over nor evict; close \
                  or resign the leader, or remove its member with kafka-consumer-groups.sh";
    Fault { kind: FaultKind::Broken, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use incumbent_store::Settings as _;

    use super::*;

    #[test]
    fn a_candidate_needs_its_topic_and_its_group() {
        let settings = KafkaSettings::from_url("kafka://a/app").unwrap();
        let topic = |operations| Acl { resource: "topic", name: "app.jobs.neli".into(), operations };
        let group = |operations| Acl { resource: "group", name: "app.jobs".into(), operations };
        let expected = [topic(&["Read", "Write", "Describe", "Create"]), group(&["Read", "Describe"])];
        assert_eq!(permissions(&settings, "jobs", true).unwrap(), expected);
        let observer = [topic(&["Read", "Describe"]), group(&["Describe"])];
        assert_eq!(permissions(&settings, "jobs", false).unwrap(), observer);
        let made = permissions(&settings.create_topics(false), "jobs", true).unwrap();
        assert_eq!(made[0], topic(&["Read", "Write", "Describe"]));
    }

    #[tokio::test]
    async fn an_operator_is_refused_with_the_reason() {
        let fault = KafkaAdmin.delete("jobs").await.unwrap_err();
        assert!(fault.detail.contains("the group chooses"), "{fault}");
    }
}
