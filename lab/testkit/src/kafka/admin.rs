//! An operator's actions on Kafka, by the program `admin` of `lab/interop/kafka`: topics, groups, and single records.

use std::process::Command;

use serde_json::Value;

use crate::{tools, wait};

/// An operator of a cluster. Each call is a connection of its own, and takes some 50 ms.
#[derive(Clone, Debug)]
pub struct Admin {
    brokers: String,
}

/// A record of partition zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log.
    pub offset: u64,
    /// The record's key, if it has one.
    pub key: Option<String>,
    /// Its value.
    pub value: String,
    /// The record's headers, in the order of their names.
    pub headers: Vec<(String, String)>,
}

/// A group, as its coordinator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The protocol: `classic`, or `consumer` for a group of KIP-848.
    pub protocol: String,
    /// `Stable`, `Empty`, `PreparingRebalance`…
    pub state: String,
    /// The assignor: `cooperative-sticky`, `range`, `uniform`…
    pub assignor: String,
    /// The group's members, in the order of their ids.
    pub members: Vec<Member>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The id by which the coordinator knows the member.
    pub id: String,
    /// The member's static id, if it has one.
    pub instance: Option<String>,
    /// Its client's name.
    pub client: String,
    /// The partitions that it owns.
    pub partitions: Vec<u64>,
}

impl Group {
    /// The owner of partition zero.
    pub fn owner(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.partitions.contains(&0))
    }
}

impl Admin {
    /// Returns an operator of the cluster of these brokers; `brokers` are their addresses, separated by commas.
    pub fn new(brokers: impl Into<String>) -> Self {
        Self { brokers: brokers.into() }
    }

    /// Makes a topic of one partition, waits until every broker knows the topic, and returns its id. `replicas` is the
    /// number of replicas, or the list of their brokers, the leader first: `2,3,1`.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn create_topic(&self, topic: &str, replicas: &str, settings: &[(&str, &str)]) -> String {
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut words = vec!["create", topic, replicas];
        words.extend(settings.iter().map(String::as_str));
        let id = text(&self.done(&words)["id"]);
        for broker in self.brokers.split(',') {
            let knows = || Self::new(broker).topic(topic).is_ok();
            wait::until(&format!("broker {broker} to know the topic {topic}"), wait::GENEROUS, knows);
        }
        id
    }

    /// Adds partitions to a topic, up to this number.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn add_partitions(&self, topic: &str, up_to: usize) {
        self.done(&["partitions", topic, &up_to.to_string()]);
    }

    /// Deletes a topic, and waits until the brokers have done so.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn delete_topic(&self, topic: &str) {
        self.done(&["delete", topic]);
        let gone = || matches!(self.ask(&["topic", topic]), Err(error) if error.contains("UNKNOWN_TOPIC"));
        wait::until(&format!("the end of topic {topic}"), wait::GENEROUS, gone);
    }

    /// Returns the description of a topic: `id`, `settings`, and `partitions`, each with its `leader`, `replicas` and
    /// `in_sync`.
    ///
    /// # Errors
    /// The broker's error: `UNKNOWN_TOPIC_OR_PARTITION` if there is no such topic.
    ///
    /// # Panics
    /// When no broker answers.
    #[track_caller]
    pub fn topic(&self, topic: &str) -> Result<Value, String> {
        self.ask(&["topic", topic])
    }

    /// The broker that leads partition zero of a topic.
    ///
    /// # Panics
    /// When there is no such topic.
    #[track_caller]
    pub fn leader_of_log(&self, topic: &str) -> usize {
        let topic = self.done(&["topic", topic]);
        number(&topic["partitions"][0]["leader"])
    }

    /// The records of partition zero.
    ///
    /// # Panics
    /// When there is no such topic.
    #[track_caller]
    pub fn records(&self, topic: &str) -> Vec<Record> {
        let answer = self.done(&["records", topic]);
        let headers = |line: &Value| {
            let all = line["headers"].as_object().cloned().unwrap_or_default();
            all.into_iter().map(|(name, value)| (name, text(&value))).collect()
        };
        let record = |line: &Value| Record {
            offset: line["offset"].as_u64().unwrap_or_default(),
            key: line["key"].as_str().map(str::to_owned),
            value: text(&line["value"]),
            headers: headers(line),
        };
        list(&answer["records"]).iter().map(record).collect()
    }

    /// Appends a record to partition zero, and returns its offset.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn append(&self, topic: &str, value: &str, headers: &[(&str, &str)]) -> u64 {
        let headers: Vec<_> = headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut words = vec!["append", topic, value];
        words.extend(headers.iter().map(String::as_str));
        self.done(&words)["offset"].as_u64().unwrap_or_default()
    }

    /// Commits an offset as a client that is not a member of the group.
    ///
    /// # Errors
    /// The broker's error: `UNKNOWN_MEMBER_ID` if the group has members.
    ///
    /// # Panics
    /// When no broker answers.
    #[track_caller]
    pub fn commit(&self, group: &str, topic: &str, offset: u64) -> Result<(), String> {
        self.ask(&["commit", group, topic, &offset.to_string()]).map(drop)
    }

    /// Returns the coordinator's description of a group.
    ///
    /// # Errors
    /// The broker's error: `GROUP_ID_NOT_FOUND` if the coordinator does not know the group.
    ///
    /// # Panics
    /// When no broker answers.
    #[track_caller]
    pub fn group(&self, group: &str) -> Result<Group, String> {
        let answer = self.ask(&["group", group])?;
        let member = |member: &Value| Member {
            id: text(&member["id"]),
            instance: member["instance"].as_str().map(str::to_owned),
            client: text(&member["client"]),
            partitions: list(&member["partitions"]).iter().filter_map(Value::as_u64).collect(),
        };
        let mut members: Vec<Member> = list(&answer["members"]).iter().map(member).collect();
        members.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Group {
            protocol: text(&answer["type"]),
            state: text(&answer["state"]),
            assignor: text(&answer["assignor"]),
            members,
        })
    }

    /// Waits until the group is stable with this many members, and one of them owns partition zero. Returns the owner.
    ///
    /// # Panics
    /// When that does not happen.
    #[track_caller]
    pub fn owner(&self, group: &str, members: usize) -> Member {
        let mut last = Err("not asked".to_owned());
        let found = || {
            last = self.group(group);
            let found = last.as_ref().ok()?;
            (found.state == "Stable" && found.members.len() == members).then(|| found.owner().cloned())?
        };
        wait::until_some(&format!("group {group} to be stable with {members}"), wait::GENEROUS * 2, found)
    }

    /// Removes a member from its group.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn remove(&self, group: &str, member: &str) {
        self.done(&["remove", group, member]);
    }

    /// The number of the broker that coordinates a group. The request creates Kafka's topic for group offsets if that
    /// is missing.
    ///
    /// # Panics
    /// When no broker becomes the group's coordinator.
    #[track_caller]
    pub fn coordinator(&self, group: &str) -> usize {
        let what = format!("a coordinator of group {group}");
        let found = || self.ask(&["coordinator", group]).ok().map(|answer| number(&answer["coordinator"]));
        wait::until_some(&what, wait::GENEROUS * 2, found)
    }

    /// Gives a user a password for SCRAM.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn password(&self, user: &str, password: &str) {
        self.done(&["password", user, password]);
    }

    /// Allows a user these operations on a `topic` or a `group`, like `kafka-acls.sh`.
    ///
    /// # Panics
    /// When it is refused.
    #[track_caller]
    pub fn allow(&self, user: &str, resource: &str, name: &str, operations: &[&str]) {
        self.done(&[&["allow", user, resource, name], operations].concat());
    }

    /// Revokes a permission that [`allow`](Self::allow) gave.
    ///
    /// # Panics
    /// When it is refused, or was not given.
    #[track_caller]
    pub fn forbid(&self, user: &str, resource: &str, name: &str, operations: &[&str]) {
        self.done(&[&["forbid", user, resource, name], operations].concat());
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> Value {
        self.ask(words).unwrap_or_else(|error| panic!("{words:.200?}: {error}"))
    }

    /// Runs the program, and returns its output, or the broker's error that the output contains.
    #[track_caller]
    fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let program = tools::go_kafka_program("admin").unwrap_or_else(|error| panic!("{error}"));
        let output = Command::new(&program).arg(&self.brokers).args(words).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let printed = String::from_utf8_lossy(&output.stdout);
        let answer: Result<Value, _> = serde_json::from_str(&printed);
        match (answer, output.status.success()) {
            (Ok(answer), true) => match answer["error"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(answer),
            },
            _ => panic!("{words:.200?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or_default()
}
