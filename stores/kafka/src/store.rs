//! Implements `Settings` for a Kafka cluster, for the driver and the tools.

use incumbent_core::induction::Protocol;
use incumbent_core::text::Text;
use incumbent_store::link::Reports;
use incumbent_store::query::{Query, decode};
use incumbent_store::selectors::{self, Selector, named};
use incumbent_store::settings::no_adapter;
use incumbent_store::shown::quoted;
use incumbent_store::{
    Adapter, Clock, Error, ErrorKind, Examination, InitOptions, InitReport, Permissions, Result, Role,
    Settings, StoreAdmin,
};
use serde_json::json;

use crate::admin::{self, Acl, KafkaAdmin};
use crate::doctor;
use crate::link::Groups;
use crate::refusals;
use crate::settings::{FORM, KafkaSettings, invalid as invalid_url};

impl Settings for KafkaSettings {
    type Link = Groups;

    fn from_url(text: &str) -> Result<Self> {
        selectors::check_url(text)?;
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(invalid_url(format!("a Kafka store's URL has the form {FORM}; \"://\" is missing")));
        };
        if rest.contains('#') {
            return Err(invalid_url("a Kafka store's URL has no part after #; write # as %23 in a password"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if prefix.contains('@') {
            return Err(invalid_url("the URL's password contains /; write it as %2F"));
        }
        let mut settings = Self::of_authority(scheme, authority)?.prefix(decode("kafka", prefix)?);
        let mut query = Query::read("kafka", query)?;
        if let Some(topic) = query.text("topic")? {
            settings = settings.topic(topic);
        }
        if let Some(session) = query.duration("session")? {
            settings = settings.session(session);
        }
        match query.text("protocol")?.as_deref() {
            None => {}
            Some("classic") => settings = settings.protocol(Protocol::Classic),
            Some("consumer") => settings = settings.protocol(Protocol::Consumer),
            Some(other) => {
                return Err(Error::refused(ErrorKind::InvalidUrl, refusals::protocol(other)));
            }
        }
        if let Some(id) = query.text("instance_id")? {
            settings = settings.instance_id(id);
        }
        if let Some(goneli) = query.flag("goneli")? {
            settings = settings.goneli(goneli);
        }
        if let Some(create) = query.flag("create")? {
            settings = settings.create_topics(create);
        }
        if let Some(mechanism) = query.text("sasl")? {
            settings = settings.sasl_mechanism(&mechanism)?;
        }
        if let Some(fail_fast) = query.flag("fail_fast")? {
            settings = settings.fail_fast(fail_fast);
        }
        for (name, value) in query.take_dotted() {
            settings = settings.property(&name, &value)?;
        }
        query.finish()?;
        selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
        Ok(settings)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        named("prefix", &self.prefix).chain(named("topic", &self.topic)).collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.check_key(key)
    }

    async fn connect(&self, reports: Reports) -> Result<Groups> {
        Groups::open(self, reports).await
    }

    async fn adapter(&self, _clock: &Clock) -> Result<Box<dyn Adapter>> {
        Err(no_adapter("consumer groups"))
    }

    async fn admin(&self, _clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(Box::new(KafkaAdmin))
    }

    /// Creates the leader topic of one election.
    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        options.only_of_buckets("Kafka")?;
        if options.never_used {
            return Err(invalid(refusals::new_topic()));
        }
        let Some(election) = &options.election else {
            return Err(invalid(refusals::no_election()));
        };
        let made = admin::init(self, election).await?;
        let mut report = InitReport::default();
        (report.created, report.topic) = (made.created, Some(made.topic));
        Ok(report)
    }

    async fn examine(&self) -> Result<Examination> {
        doctor::examine(self).await
    }

    /// The commands of kafka-acls.sh. An operator needs the permissions of an observer, and Create on the topics.
    fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        if elections.is_empty() {
            let message = "Kafka's permissions name topics and groups: give the elections' keys";
            return Err(Error::new(ErrorKind::InvalidName, message));
        }
        let mut acls = Vec::new();
        for key in elections {
            acls.extend(admin::permissions(self, key, role == Role::Candidate)?);
            if role == Role::Operator {
                acls.push(Acl { resource: "topic", name: self.topic_of(key), operations: &["Create"] });
            }
        }
        let servers = self.servers_shown().replace(' ', "");
        let user = quoted(&format!("User:{}", self.user_name().unwrap_or("USER")));
        let lines = acls.iter().map(|Acl { resource, name, operations }| {
            let operations: Vec<_> =
                operations.iter().map(|operation| format!("--operation {operation}")).collect();
            let operations = operations.join(" ");
            format!(
                "kafka-acls.sh --bootstrap-server {servers} --add --allow-principal {user} {operations} --{resource} {name}"
            )
        });
        let in_json = |Acl { resource, name, operations }: &Acl| json!({ "resource": resource, "name": name, "operations": operations });
        let json = json!({ "permissions": acls.iter().map(in_json).collect::<Vec<_>>() });
        Ok(Some(Permissions { lines: lines.collect(), json }))
    }

    fn fail_fast(self, fail_fast: bool) -> Self {
        self.fail_fast(fail_fast)
    }
}

fn invalid(refused: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, refused)
}
