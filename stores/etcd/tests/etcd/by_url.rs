//! The tests for every store, on an etcd server behind a proxy.

use incumbent::CampaignOptions;
use incumbent::store::InitOptions;
use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::proxy::Proxy;

use crate::every_store::{self, Fixture};
use crate::support;

struct ByUrl {
    _server: EtcdServer,
    proxy: Proxy,
}

impl Fixture for ByUrl {
    async fn start() -> Self {
        let server = support::server().await;
        Self { proxy: Proxy::to(&server.address()), _server: server }
    }

    fn url(&self) -> String {
        format!("etcd://{}", self.proxy.address())
    }

    fn preparation(&self) -> Option<InitOptions> {
        Some(InitOptions::new())
    }

    fn interrupt(&self) {
        self.proxy.close_all();
    }

    fn options(&self, name: &str) -> CampaignOptions {
        support::options(name)
    }
}

every_store::tests!(ByUrl);
