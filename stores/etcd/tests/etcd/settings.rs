//! Settings and names that etcd cannot keep are refused.

use std::time::Duration;

use incumbent::{CampaignOptions, ErrorKind, Preset};

use crate::support::{JOBS, connect, options, server, soon};

#[tokio::test]
async fn a_lease_that_the_servers_cannot_keep_is_refused_with_the_limit() {
    let server = server().await;
    let store = connect(&server).await;
    let with_lease = |millis| options("ada").lease(Duration::from_millis(millis));
    for (refused, limit) in [
        (with_lease(6_500), "a whole number of seconds"),
        (with_lease(5_000), "at least 6s"),
        (with_lease(301_000), "at most 300s"),
    ] {
        let error = soon(store.campaign(JOBS, refused)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSetting);
        assert!(error.message().contains(limit), "{error}");
    }
}

#[tokio::test]
async fn settings_of_another_store_are_refused() {
    let server = server().await;
    let store = connect(&server).await;
    let go = CampaignOptions::new().name("ada").preset(Preset::GoCompatible);
    let interval = options("ada").interval(Duration::from_secs(2));
    for (refused, setting) in [(go, "preset"), (interval, "interval")] {
        let error = soon(store.campaign(JOBS, refused)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSetting);
        assert!(error.message().contains(setting), "{error}");
    }
}

#[tokio::test]
async fn names_that_etcd_cannot_hold_are_refused() {
    let server = server().await;
    let store = connect(&server).await;
    for key in ["", "a/b", ".incumbent", "_incumbent.hand-over.jobs"] {
        let error = soon(store.campaign(key, options("ada"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{key:?}: {error}");
        assert_eq!(soon(store.leader(key)).await.unwrap_err().kind(), ErrorKind::InvalidName);
    }
    let error = soon(store.campaign(JOBS, options("a\nb"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}
