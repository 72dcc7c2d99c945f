//! Stores by URL: the same text in every language and on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use incumbent_store::link::Reports;
use incumbent_store::query::is_word;
use incumbent_store::selectors::{self, Selector};
use incumbent_store::{Settings as _, request};

use crate::driver::opened::Opened;
#[cfg(feature = "etcd")]
use incumbent_etcd::EtcdSettings;
#[cfg(feature = "kafka")]
use incumbent_kafka::KafkaSettings;
use incumbent_memory::MemorySettings;
#[cfg(feature = "nats")]
use incumbent_nats::NatsSettings;
#[cfg(feature = "sqlite")]
use incumbent_sqlite::SqliteSettings;
use incumbent_store::clock::Clock;
use incumbent_store::{Adapter, Examination, InitOptions, InitReport, Permissions, Role, StoreAdmin};
use incumbent_store::{Error, ErrorKind, Result};

/// Defines each store in one line: its settings, its feature, its name, the schemes of its URLs, and their form in
/// errors.
macro_rules! stores {
    ($($(#[$doc:meta])* $store:ident($settings:ty) if $feature:meta, $name:literal, [$($scheme:literal),*], $form:literal;)*) => {
        /// The settings of a store, as given by its URL.
        ///
        /// | URL | store |
        /// |---|---|
        /// | `memory:` | in memory, not shared |
        /// | `memory:NAME` | in memory, shared by all openings of the same name in this process |
        /// | `sqlite:PATH` | a SQLite file, shared by the processes of this machine |
        /// | `nats://HOST:4222/BUCKET` | a NATS JetStream key-value bucket; see `NatsSettings` |
        /// | `etcd://HOST:2379/PREFIX` | the keys of an etcd cluster under a prefix; see `EtcdSettings` |
        /// | `kafka://HOST:9092/PREFIX` | consumer groups of a Kafka cluster; see `KafkaSettings` |
        ///
        /// Parameters follow a `?`: `markers=true` for memory (expiry is reported to watchers); `poll=10ms` (the
        /// interval of a watcher's checks), `create=false` (do not create the file) and `fuse=true` (use a file
        /// on FUSE) for SQLite. A `%`, `?` or `#` in a path or name is written `%25`, `%3F`, `%23`.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum StoreSettings {
            $($(#[$doc])* #[cfg($feature)] $store($settings),)*
        }

        /// The stores in this build, each by the first scheme of its URLs: `memory`, and those of the features `sqlite`,
        /// `nats`, `etcd` and `kafka`.
        pub const BUILT_IN: &[&str] = &[$(#[cfg($feature)] [$($scheme),*][0],)*];

        /// The URLs of all stores, as an error shows them.
        const FORMS: &[&str] = &[$($form,)*];

        impl StoreSettings {
            fn of_scheme(scheme: &str, url: &str) -> Result<Self> {
                match scheme {
                    $(
                        #[cfg($feature)]
                        $($scheme)|* => <$settings>::from_url(url).map(Self::$store),
                        #[cfg(not($feature))]
                        $($scheme)|* => Err(absent($name, [$($scheme),*][0])),
                    )*
                    _ if is_word(scheme) => {
                        Err(invalid(format!("no store has the scheme {scheme:?}; use one of {}", FORMS.join(", "))))
                    }
                    _ => Err(invalid(format!("no store has this URL's scheme; use one of {}", FORMS.join(", ")))),
                }
            }
        }

        /// Does the same for the settings of every store.
        macro_rules! any {
            ($this:expr, $each:ident => $does:expr) => {
                match $this { $(#[cfg($feature)] StoreSettings::$store($each) => $does,)* }
            };
            ($this:expr, $each:ident => same $does:expr) => {
                match $this { $(#[cfg($feature)] StoreSettings::$store($each) => StoreSettings::$store($does),)* }
            };
        }
    };
}

stores! {
    /// In memory.
    Memory(MemorySettings) if all(), "memory", ["memory"], "memory:, memory:NAME";
    /// A SQLite file.
    Sqlite(SqliteSettings) if feature = "sqlite", "SQLite", ["sqlite"], "sqlite:PATH";
    /// A NATS JetStream key-value bucket.
    Nats(Box<NatsSettings>) if feature = "nats", "NATS", ["nats", "tls", "ws", "wss"], "nats://HOST:4222/BUCKET";
    /// An etcd cluster.
    Etcd(Box<EtcdSettings>) if feature = "etcd", "etcd", ["etcd", "etcds"], "etcd://HOST:2379/PREFIX";
    /// Consumer groups of a Kafka cluster.
    Kafka(Box<KafkaSettings>) if feature = "kafka", "Kafka", ["kafka", "kafkas"], "kafka://HOST:9092/PREFIX";
}

impl StoreSettings {
    /// Opens the store, whose records expire by `clock`.
    ///
    /// # Errors
    /// Those of the store. `Unsupported` for etcd, whose elections are queues, and for Kafka, whose elections are
    /// groups: they have no [`Adapter`], and [`Store`](crate::Store) opens them.
    pub async fn open(&self, clock: &Clock) -> Result<Box<dyn Adapter>> {
        any!(self, settings => settings.adapter(clock).await)
    }

    /// Opens the store for a driver.
    pub(crate) async fn connect(&self, reports: Reports) -> Result<Box<dyn Opened>> {
        Ok(any!(self, settings => Box::new(settings.connect(reports).await?)))
    }

    /// Sets whether a store that does not answer is an error instead of being waited for, if the store offers the
    /// choice.
    #[must_use]
    pub fn fail_fast(self, fail_fast: bool) -> Self {
        any!(self, settings => same settings.fail_fast(fail_fast))
    }

    /// Sets the shortest lease that will be used, if the connection's own intervals depend on it.
    #[must_use]
    pub fn expected_lease(self, lease: Duration) -> Self {
        any!(self, settings => same settings.expected_lease(lease))
    }

    /// Refuses a key that no election of such a store can have, without connecting to the store.
    ///
    /// # Errors
    /// `InvalidName`.
    pub fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        any!(self, settings => settings.check_key(key))
    }

    /// Opens the store for an operator's unconditional writes.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn operate(&self, clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        any!(self, settings => settings.admin(clock).await)
    }

    /// Prepares the store for elections, or reports how an existing bucket differs. A second call changes nothing.
    ///
    /// - A NATS bucket is created with file storage, a history of 1 and its lease as TTL. Without markers it refuses
    ///   purges, which would remove the record of a leader. An existing bucket is compared, and left as it is without
    ///   [`InitOptions::update`].
    /// - An SQLite file is created if it does not exist.
    /// - Under a prefix of etcd the birth record is written, from which candidates notice that the cluster was
    ///   replaced.
    /// - In Kafka the leader topic of one election is created.
    ///
    /// In a new store no candidate leads until the store is one lease old, because it may replace another in which a
    /// candidate still leads. [`InitOptions::never_used`] removes that wait.
    ///
    /// # Errors
    /// `InvalidSetting` for an option that is invalid or not for this kind of store; `UnsafeStore` for a bucket that
    /// cannot be corrected, and for a store that is stated to be new but has been written to; `Unsupported` for servers
    /// that are too old; and every error of reaching the store. This does not wait for a store that does not answer.
    pub async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        any!(self, settings => settings.init(options).await)
    }

    /// Reads the store's effective settings, and judges them. Nothing is changed. `incumbent doctor` prints the result.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn examine(&self) -> Result<Examination> {
        any!(self, settings => settings.examine().await)
    }

    /// The permissions that a user of that role needs for these elections, in the form that the store's own tools
    /// accept; `None` if the store has no users.
    ///
    /// # Errors
    /// `InvalidName` for a key that no election can have, and for missing keys if the store needs them;
    /// `InvalidSetting` if the user could write every key of the store.
    pub fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        any!(self, settings => incumbent_store::Settings::permissions(settings, role, elections))
    }

    /// The texts that select the elections of this store, each with its setting. This is for tests: two settings with
    /// the same texts, on the same servers, select the same elections.
    #[doc(hidden)]
    pub fn selectors(&self) -> Vec<Selector<'_>> {
        any!(self, settings => incumbent_store::Settings::selectors(settings))
    }
}

/// Opens the store that a URL names; see [`StoreSettings`] for the form of the URL.
///
/// # Errors
/// [`InvalidUrl`](ErrorKind::InvalidUrl) for an unreadable URL, [`Unsupported`](ErrorKind::Unsupported)
/// for a store this build does not have, and those of the store.
pub async fn open(url: &str, clock: &Clock) -> Result<Box<dyn Adapter>> {
    url.parse::<StoreSettings>()?.open(clock).await
}

impl FromStr for StoreSettings {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self> {
        selectors::check_url(url)?;
        match url.split_once(':') {
            Some((scheme, _)) => Self::of_scheme(scheme, url),
            None => Err(invalid(format!("give the store as a URL: one of {}", FORMS.join(", ")))),
        }
    }
}

fn invalid(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidUrl, message.to_string())
}

#[cfg(any(test, not(all(feature = "etcd", feature = "kafka", feature = "nats", feature = "sqlite"))))]
fn absent(store: &str, feature: &str) -> Error {
    let build = format!("build it with the feature {feature:?}");
    let remedy = match feature {
        "kafka" => format!(
            "the wheel, the npm package and the jar have it on Linux with glibc on x86-64; elsewhere {build}: {KAFKA_PAGE}"
        ),
        _ => build,
    };
    let message = format!("this build has no {store} store, only {}; {remedy}", BUILT_IN.join(", "));
    Error::new(ErrorKind::Unsupported, message)
}

/// The page about builds with Kafka.
#[cfg(any(test, not(all(feature = "etcd", feature = "kafka", feature = "nats", feature = "sqlite"))))]
const KAFKA_PAGE: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guide/kafka.md#packages-with-kafka");

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let error = url.parse::<StoreSettings>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{url}");
        error.message().to_owned()
    }

    #[test]
    fn a_url_without_a_known_scheme_is_refused_with_those_there_are() {
        for url in ["", "elections.db", "redis://localhost", "MEMORY:", "token@host:4222/b"] {
            let message = refused(url);
            assert!(message.ends_with(&FORMS.join(", ")), "{message}");
        }
    }

    #[test]
    fn a_build_without_kafka_names_the_packages_that_have_it_and_the_page_about_building_it() {
        let error = absent("Kafka", "kafka");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let expected = "; the wheel, the npm package and the jar have it on Linux with glibc on x86-64; elsewhere \
             build it with the feature \"kafka\": https://github.com/incumbent-rs/incumbent/blob/main/docs/guide/kafka.md#packages-with-kafka";
        assert!(error.message().ends_with(expected), "{error}");
    }

    #[test]
    fn a_url_that_begins_with_a_token_is_not_quoted() {
        assert!(!refused("hunter2@host:4222/b").contains("hunter2"));
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn an_unknown_parameter_is_refused_with_those_there_are() {
        assert_eq!(
            refused("sqlite:e.db?pol=5ms"),
            "a sqlite: URL has no parameter \"pol\"; the parameters are poll, create, fuse"
        );
        assert_eq!(refused("memory:?x"), "a memory: URL has no parameter \"x\"; the parameters are markers");
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn a_malformed_url_is_refused_with_the_part_and_the_remedy() {
        for (url, part) in [
            ("sqlite:", "names no file"),
            ("sqlite:?poll=5ms", "names no file"),
            ("sqlite::memory:", "write memory: instead"),
            ("sqlite://elections.db", "sqlite:elections.db"),
            ("sqlite:e.db#x", "%23"),
            ("sqlite:%ff.db", "UTF-8"),
            ("sqlite:e.db?poll=5", "poll=5"),
            ("sqlite:e.db?poll=ms", "poll=ms"),
            ("sqlite:e.db?poll=99999999999999999999h", "10ms"),
            ("sqlite:e.db?create=yes", "true or false"),
            ("sqlite:e.db?poll=5ms&poll=6ms", "twice"),
            ("memory:?markers", "true or false"),
        ] {
            let message = refused(url);
            assert!(message.contains(part), "{url}: {message}");
        }
    }
}
