//! A process with a candidate in each of many elections.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use incumbent::{CampaignOptions, Candidate, Store};

use crate::settled::settles;
use crate::side::{asked, now, report, report_with_memory};

/// Campaigns in this many elections. Reports when all candidates wait or lead, the time of each win, and when all
/// candidates are closed.
pub(crate) async fn campaign(url: &str, elections: u32, name: &str) {
    let store = Store::open(url).await.expect("the bucket is there");
    report_with_memory("ready");
    asked().await;
    let options = || CampaignOptions::new().name(name).splay(Duration::ZERO);
    let entering: FuturesUnordered<_> = (0..elections)
        .map(|number| {
            let (store, options) = (store.clone(), options());
            async move { store.campaign(&format!("election-{number}"), options).await }
        })
        .collect();
    let candidates: Vec<Candidate> =
        entering.map(|candidate| candidate.expect("sound settings")).collect().await;
    let settled: FuturesUnordered<_> = candidates.iter().map(settles).collect();
    settled.for_each(|()| std::future::ready(())).await;
    report_with_memory("settled");
    let wins: FuturesUnordered<_> = candidates
        .iter()
        .map(|candidate| async {
            let term = candidate.next_term().await.expect("it wins in the end");
            (now(), term)
        })
        .collect();
    let won: Vec<_> = wins.collect().await;
    let times: Vec<String> = won.iter().map(|(at, _)| at.as_nanos().to_string()).collect();
    report(&format!("won {}", times.join(" ")));
    asked().await;
    // Keeping a term would hold up the end of its campaign.
    drop((times, won));
    let closing: FuturesUnordered<_> = candidates.iter().map(Candidate::close).collect();
    closing.for_each(async |closed| closed.expect("closed once")).await;
    store.close().await.expect("closed once");
    drop((candidates, store));
    report_with_memory("closed");
    // The store's thread and its client end only after the caller has its answer.
    tokio::time::sleep(Duration::from_secs(1)).await;
    report_with_memory("ended");
    std::future::pending::<()>().await;
}
