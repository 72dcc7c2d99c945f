//! Implements `Settings` for an etcd cluster, for the driver and the tools.

use incumbent_store::link::Reports;
use incumbent_store::query::{Query, decode, unfit};
use incumbent_store::selectors::{self, Selector, named};
use incumbent_store::settings::no_adapter;
use incumbent_store::shown::quoted;
use incumbent_store::{
    Adapter, Clock, ErrorKind, Examination, InitOptions, InitReport, Permissions, Result, Role, Settings,
    StoreAdmin, threads,
};
use serde_json::json;

use crate::admin::permissions::{Permission, permissions};
use crate::admin::{self, EtcdAdmin};
use crate::doctor;
use crate::keys::Keys;
use crate::link::Queues;
use crate::refusals;
use crate::settings::{EtcdSettings, FORM, invalid};

impl Settings for EtcdSettings {
    type Link = Queues;

    fn from_url(text: &str) -> Result<Self> {
        selectors::check_url(text)?;
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(invalid(format!("an etcd store's URL has the form {FORM}; \"://\" is missing")));
        };
        if rest.contains('#') {
            return Err(invalid("an etcd store's URL has no part after #; write # as %23 in a password"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if prefix.contains('@') {
            return Err(invalid("the URL's password contains /; write it as %2F, and @ in a prefix as %40"));
        }
        let mut settings = Self::of_authority(scheme, authority)?.prefix(decode("etcd", prefix)?);
        let mut query = Query::read("etcd", query)?;
        settings.files.take(&mut query)?;
        settings.tls |= !settings.files.is_empty();
        if let Some(timeout) = query.duration("connect_timeout")? {
            settings = settings.connect_timeout(timeout);
        }
        if let Some(fail_fast) = query.flag("fail_fast")? {
            settings = settings.fail_fast(fail_fast);
        }
        query.finish()?;
        if scheme == "etcd" && settings.tls {
            return Err(unfit(refusals::files_without_tls()));
        }
        selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
        Ok(settings)
    }

    /// The prefix and each part of it.
    fn selectors(&self) -> Vec<Selector<'_>> {
        let whole = self.prefix.trim_end_matches('/');
        let parts = whole.split('/').filter(move |part| part.len() < whole.len());
        named("prefix", whole).chain(parts.flat_map(|part| named("prefix", part))).collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        Keys::check(key)
    }

    async fn connect(&self, reports: Reports) -> Result<Queues> {
        Queues::open(self, reports).await
    }

    async fn adapter(&self, _clock: &Clock) -> Result<Box<dyn Adapter>> {
        Err(no_adapter("queues"))
    }

    async fn admin(&self, _clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        threads::ready().await?;
        Ok(Box::new(EtcdAdmin::open(self)?))
    }

    /// Writes the birth record of the prefix, from which candidates notice that the cluster was replaced.
    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        options.of_whole_store()?;
        options.only_of_buckets("etcd")?;
        let made = admin::init(self, options.never_used).await?;
        let mut report = InitReport::default();
        (report.created, report.never_used) = (made.created, made.never_used);
        report.incarnation = Some(made.incarnation);
        Ok(report)
    }

    async fn examine(&self) -> Result<Examination> {
        doctor::examine(self).await
    }

    /// The commands of etcdctl that make the role, or its ranges of keys.
    fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        let name = match role {
            Role::Candidate => "incumbent-candidate",
            Role::Observer => "incumbent-observer",
            Role::Operator => "incumbent-operator",
        };
        let ranges = permissions(self, role, elections)?;
        let access = |range: &Permission| if range.writes { "readwrite" } else { "read" };
        let granted = ranges.iter().map(|range| {
            let prefix = quoted(&range.prefix);
            format!("etcdctl role grant-permission {name} {} {prefix} --prefix", access(range))
        });
        let user = self.user_name().map_or_else(|| "USER".to_owned(), quoted);
        let lines = [format!("etcdctl role add {name}")]
            .into_iter()
            .chain(granted)
            .chain([format!("etcdctl user grant-role {user} {name}")])
            .collect();
        let in_json = |range: &Permission| json!({ "access": access(range), "prefix": range.prefix, "range_end": range.range_end });
        let json = json!({ "role": name, "permissions": ranges.iter().map(in_json).collect::<Vec<_>>() });
        Ok(Some(Permissions { lines, json }))
    }

    fn fail_fast(self, fail_fast: bool) -> Self {
        self.fail_fast(fail_fast)
    }
}
