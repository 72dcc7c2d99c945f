//! New buckets of a server.

use std::time::Duration;

use incumbent::store::Settings as _;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::nats::NatsServer;

/// Makes a bucket for leases of that length, and returns its URL.
pub(crate) async fn bucket(server: &NatsServer, name: &str, lease: Duration, markers: bool) -> String {
    let url = format!("{}/{name}", server.url());
    let settings = NatsSettings::from_url(&url).expect("the test kit's URL is one");
    let options = InitOptions::new().lease(lease).markers(markers).never_used(true);
    init(&settings, &options).await.expect("a new server makes a bucket");
    url
}
