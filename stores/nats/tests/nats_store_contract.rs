//! The NATS adapter against the contract of every store, with and without expiry markers, and with lease times per
//! record.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers fail their test")]

#[path = "../../contract/records/mod.rs"]
mod contract;
#[path = "../../contract/every_store.rs"]
mod every_store;

use std::time::Duration;

use contract::Fixture;
use incumbent::clock::Clock;
use incumbent::store::nats::{InitOptions, init};
use incumbent::store::{Adapter, Nats, NatsSettings, StoreAdmin};
use incumbent_testkit::nats::{NatsServer, Options};

/// Long enough to be renewed in time on a busy machine.
const LEASE: Duration = Duration::from_secs(6);

struct Bucket {
    server: NatsServer,
    options: InitOptions,
    clock: Clock,
}

impl Bucket {
    async fn with(options: InitOptions) -> Self {
        let bucket = Self { server: NatsServer::start(Options::new()), options, clock: Clock::system() };
        bucket.init().await;
        bucket
    }

    fn settings(&self) -> NatsSettings {
        let settings = NatsSettings::new(&self.server.url(), "elections").unwrap();
        settings.fail_fast(true).expected_lease(LEASE)
    }

    async fn init(&self) {
        let report = init(&self.settings(), &self.options).await.unwrap();
        assert!(report.created);
    }

    async fn open(&self) -> Nats {
        Nats::open(&self.settings(), &self.clock).await.unwrap()
    }

    async fn recreate(&self) {
        let client = async_nats::connect(self.server.url()).await.unwrap();
        async_nats::jetstream::new(client).delete_stream("KV_elections").await.unwrap();
        self.init().await;
    }
}

/// Names a kind of bucket, and tests it against the contract.
macro_rules! bucket {
    ($module:ident, $fixture:ident, $options:expr) => {
        mod $module {
            use super::*;

            struct $fixture(Bucket);

            impl Fixture for $fixture {
                async fn start() -> Self {
                    Self(Bucket::with($options).await)
                }

                async fn connect(&self) -> Box<dyn Adapter> {
                    Box::new(self.0.open().await)
                }

                async fn operator(&self) -> Box<dyn StoreAdmin> {
                    Box::new(self.0.open().await)
                }

                async fn recreate(&self) {
                    self.0.recreate().await;
                }

                fn clock(&self) -> &Clock {
                    &self.0.clock
                }

                fn lease(&self) -> Duration {
                    LEASE
                }

                async fn pass(&self, span: Duration) {
                    tokio::time::sleep(span).await;
                }
            }

            contract::store_contract!($fixture);
        }
    };
}

bucket!(without_markers, Bare, InitOptions::new().lease(LEASE));
bucket!(with_markers, Marked, InitOptions::new().lease(LEASE).markers(true));

mod by_url {
    use incumbent::CampaignOptions;
    use incumbent::store::StoreSettings;
    use incumbent_testkit::proxy::Proxy;

    use super::*;

    /// A bucket behind a proxy.
    struct ByUrl {
        _server: NatsServer,
        proxy: Proxy,
    }

    impl every_store::Fixture for ByUrl {
        async fn start() -> Self {
            let server = NatsServer::start(Options::new());
            let fixture = Self { proxy: Proxy::to(&server.address()), _server: server };
            let settings: StoreSettings = every_store::Fixture::url(&fixture).parse().unwrap();
            settings.init(&InitOptions::new().lease(LEASE).never_used(true)).await.unwrap();
            fixture
        }

        fn url(&self) -> String {
            format!("{}/elections", self.proxy.url())
        }

        fn preparation(&self) -> Option<InitOptions> {
            Some(InitOptions::new())
        }

        fn interrupt(&self) {
            self.proxy.close_all();
        }

        fn options(&self, name: &str) -> CampaignOptions {
            CampaignOptions::new().name(name).splay(Duration::ZERO)
        }
    }

    every_store::tests!(ByUrl);
}
