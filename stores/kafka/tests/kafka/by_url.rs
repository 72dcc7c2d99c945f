//! The tests for every store, on a broker behind a proxy.

use std::sync::Arc;
use std::time::Duration;

use incumbent::CampaignOptions;
use incumbent::store::InitOptions;
use incumbent_testkit::kafka::shared::Shared;
use incumbent_testkit::proxy::Proxy;

use crate::every_store::{self, Fixture};
use crate::support;

/// A store under a prefix that no other test has.
struct ByUrl {
    _broker: Arc<Shared>,
    proxy: Proxy,
    prefix: String,
}

impl Fixture for ByUrl {
    async fn start() -> Self {
        let broker = support::broker();
        let proxy = Proxy::to_broker(&broker.address());
        Self { proxy, _broker: broker, prefix: support::election("every-store") }
    }

    fn url(&self) -> String {
        format!("kafka://{}/{}", self.proxy.address(), self.prefix)
    }

    fn preparation(&self) -> Option<InitOptions> {
        Some(InitOptions::new().election("jobs"))
    }

    fn interrupt(&self) {
        self.proxy.close_all();
    }

    fn options(&self, name: &str) -> CampaignOptions {
        CampaignOptions::new().name(name).lease(Duration::from_secs(6)).splay(Duration::ZERO)
    }
}

every_store::tests!(ByUrl);
