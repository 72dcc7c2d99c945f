//! A process with many candidates, all of one election or each of its own, on separate connections.

use std::ops::RangeInclusive;

use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use incumbent::{CampaignOptions, Candidate, Store};

use crate::settled::settles;

/// The number of connections that are opened at a time.
const AT_ONCE: usize = 100;

/// Campaigns with the candidates of these numbers, reports when each of them leads or waits, and runs until it is
/// killed.
pub(crate) async fn campaign(url: &str, election: &str, each_its_own: bool, numbers: RangeInclusive<usize>) {
    let entering = stream::iter(numbers).map(|number| async move {
        let store = Store::open(url).await.expect("the bucket is there");
        let election = if each_its_own { format!("{election}-{number}") } else { election.to_owned() };
        let options = CampaignOptions::new().name(format!("rust-{number}"));
        let candidate = store.campaign(&election, options).await.expect("sound settings");
        (store, candidate)
    });
    // The stores are kept, because each is a connection.
    let entered: Vec<(Store, Candidate)> = entering.buffer_unordered(AT_ONCE).collect().await;
    let settling: FuturesUnordered<_> = entered.iter().map(|(_, candidate)| settles(candidate)).collect();
    settling.for_each(|()| std::future::ready(())).await;
    println!(r#"{{"event": "settled"}}"#);
    std::future::pending::<()>().await;
}
