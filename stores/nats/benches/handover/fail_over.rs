//! Fail-over: a leader crashes just after a renewal, and a waiting candidate wins.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use incumbent::{CampaignOptions, Preset, Store};
use incumbent_testkit::figure::Sample;

/// The times from the end of a crashed leader's lease to the win of the waiting candidate. Each crash comes at one of
/// `phases` after the previous win, which itself follows the server's removal of expired records.
pub(crate) async fn measure(
    server: &str,
    bucket: &str,
    url: &str,
    lease: Duration,
    phases: &[Duration],
) -> Sample {
    let jetstream = async_nats::jetstream::new(async_nats::connect(server).await.expect("the server is up"));
    let store = Store::open(url).await.expect("the bucket is there");
    let mut late = Sample::default();
    for (crash, phase) in phases.iter().enumerate() {
        tokio::time::sleep(*phase).await;
        let key = format!("crash-{crash}");
        let mut headers = HeaderMap::new();
        headers.insert("Incumbent-Nonce", format!("{crash:032x}.1"));
        headers.insert("Incumbent-Lease", lease.as_millis().to_string());
        let sent =
            jetstream.publish_with_headers(format!("$KV.{bucket}.{key}"), headers, "crashed".into()).await;
        sent.expect("sent").await.expect("acknowledged");
        let crashed = Instant::now();
        let options = CampaignOptions::new().preset(Preset::Fast).splay(Duration::ZERO);
        let candidate = store.campaign(&key, options).await.expect("sound settings");
        let term = candidate.next_term().await.expect("the candidate wins");
        late.add(crashed.elapsed().saturating_sub(lease));
        drop(term);
        candidate.close().await.expect("closed once");
    }
    store.close().await.expect("closed once");
    late
}
