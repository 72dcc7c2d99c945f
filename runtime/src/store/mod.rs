//! The contract between the driver and a store, and the stores of this build by URL.

#[cfg(feature = "testing")]
pub(crate) mod faulty;
mod selectors;
pub(crate) mod url;

#[cfg(feature = "etcd")]
pub use incumbent_etcd as etcd;
#[cfg(feature = "etcd")]
pub use incumbent_etcd::EtcdSettings;
#[cfg(feature = "kafka")]
pub use incumbent_kafka as kafka;
#[cfg(feature = "kafka")]
pub use incumbent_kafka::KafkaSettings;
pub use incumbent_memory::{Memory, MemorySettings};
#[cfg(feature = "nats")]
pub use incumbent_nats as nats;
#[cfg(feature = "nats")]
pub use incumbent_nats::{Nats, NatsSettings};
#[cfg(feature = "sqlite")]
pub use incumbent_sqlite::{Sqlite, SqliteSettings};
pub use incumbent_store::{
    AcceptReset, Adapter, Basis, CandidateInfo, Difference, EntryInfo, Examination, Finding, HandOver,
    InitOptions, InitReport, Permissions, Registry, Role, Setting, Settings, Severity, StoreAdmin,
    WatchEvent, Watched, duration, shown,
};
pub use url::{BUILT_IN, StoreSettings, open};
