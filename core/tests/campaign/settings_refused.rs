//! Settings that are refused, each with the setting, its value, the limit and the remedy.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Preset, Settings};
use incumbent_core::store::{Capabilities, StoreInfo};

use crate::harness::*;

/// A store that gives every record its own lease, and has no maximum age.
fn free() -> (Capabilities, StoreInfo) {
    (Capabilities { own_lease: true, ..bucket() }, StoreInfo { max_age: None, ..store_info(Instant::ZERO) })
}

fn bucket_of(max_age: Option<Duration>) -> (Capabilities, StoreInfo) {
    (bucket(), StoreInfo { max_age, ..store_info(Instant::ZERO) })
}

fn said(settings: Settings, (store, info): (Capabilities, StoreInfo)) -> String {
    match Bench::with_info(settings, store, info) {
        Ok(bench) => format!("accepted with {:?}", bench.campaign.lease_time()),
        Err(refused) => refused.to_string(),
    }
}

fn of(preset: Preset, lease: Duration) -> Settings {
    Settings { preset, lease: Some(lease), ..settings() }
}

#[test]
fn a_standard_lease_is_five_seconds_or_more() {
    assert_eq!(said(of(Preset::Standard, secs(5)), free()), "accepted with 5s");
    assert_eq!(
        said(of(Preset::Standard, ms(4999)), free()),
        "lease is 4.999s, and must be at least 5s: a shorter lease needs the `fast` preset"
    );
    assert_eq!(
        said(of(Preset::Standard, ms(999)), free()),
        "lease is 999ms, and must be at least 5s: use a lease (or a bucket TTL) of 5s or more"
    );
}

#[test]
fn a_fast_lease_is_a_second_or_more() {
    assert_eq!(said(of(Preset::Fast, secs(1)), free()), "accepted with 1s");
    assert_eq!(
        said(of(Preset::Fast, ms(999)), free()),
        "lease is 999ms, and must be at least 1s: use a lease (or a bucket TTL) of 1s or more"
    );
}

#[test]
fn a_go_compatible_lease_is_thirty_seconds_to_an_hour() {
    for (lease, verdict) in [
        (secs(30), "accepted with 30s"),
        (secs(3600), "accepted with 3600s"),
        (secs(29), "lease is 29s, and must be at least 30s: use a lease (or a bucket TTL) of 30s or more"),
        (secs(3601), "lease is 3601s, and must be at most 3600s: the Go library refuses longer leases"),
    ] {
        assert_eq!(said(of(Preset::GoCompatible, lease), bucket_of(Some(lease))), verdict);
    }
}

#[test]
fn without_a_lease_the_stores_own_counts_or_the_presets() {
    assert_eq!(said(settings(), bucket_of(Some(secs(42)))), "accepted with 42s");
    assert_eq!(said(settings(), free()), "accepted with 15s");
    assert_eq!(said(Settings { preset: Preset::Fast, ..settings() }, free()), "accepted with 2s");
    assert_eq!(said(Settings { preset: Preset::GoCompatible, ..settings() }, free()), "accepted with 30s");
    let (store, info) = free();
    assert_eq!(said(settings(), (store, StoreInfo { max_age: Some(secs(9)), ..info })), "accepted with 9s");
}

#[test]
fn a_lease_above_the_stores_maximum_age_is_refused() {
    assert_eq!(
        said(of(Preset::Standard, secs(40)), bucket_of(Some(T))),
        "lease is 40s, and must be at most 30s, the store's maximum age: \
         lower the lease, or raise the bucket's TTL (`StoreSettings::init` with `InitOptions::new().update(true)`)"
    );
}

#[test]
fn a_lease_of_its_own_needs_a_store_that_gives_them() {
    assert_eq!(
        said(of(Preset::Standard, secs(20)), bucket_of(Some(T))),
        "lease is 20s, and must be 30s, the store's maximum age: \
         leave the lease out, change the bucket's TTL, or allow TTLs per record \
         (`StoreSettings::init` with `InitOptions::new().own_leases(true).update(true)`)"
    );
    let (store, info) = free();
    assert_eq!(
        said(of(Preset::Standard, secs(20)), (store, StoreInfo { max_age: Some(T), ..info })),
        "accepted with 20s"
    );
}

#[test]
fn a_go_compatible_lease_is_the_buckets() {
    let (store, info) = free();
    assert_eq!(
        said(of(Preset::GoCompatible, secs(40)), (store, StoreInfo { max_age: Some(secs(60)), ..info })),
        "lease is 40s, and must be 60s, the bucket's TTL: \
         the Go library takes its lease from the bucket; leave the lease out"
    );
    let left_out = Settings { preset: Preset::GoCompatible, ..settings() };
    let bucket = StoreInfo { max_age: Some(secs(31)), ..info };
    assert_eq!(said(left_out, (store, bucket)), "accepted with 31s");
}

#[test]
fn a_store_whose_records_never_expire_is_refused() {
    assert_eq!(
        said(settings(), bucket_of(None)),
        "the store's maximum age is none, and must be 15s, the lease: \
         records would never expire; give the bucket a TTL (`StoreSettings::init` with `InitOptions::new().update(true)`)"
    );
    assert!(
        said(settings(), bucket_of(Some(Duration::ZERO)))
            .starts_with("lease is 0ns, and must be at least 5s")
    );
}

#[test]
fn what_the_store_cannot_keep_is_refused() {
    let (store, info) = free();
    let narrow = Capabilities { shortest: secs(10), longest: secs(20), ..store };
    assert_eq!(
        said(of(Preset::Standard, secs(9)), (narrow, info)),
        "lease is 9s, and must be between 10s and 20s: the store supports no other"
    );
    let stepped = Capabilities { lease_step: secs(1), ..store };
    assert_eq!(
        said(of(Preset::Standard, ms(7500)), (stepped, info)),
        "lease is 7.5s, and must be a multiple of 1s: the store keeps records only for multiples of this"
    );
    let whole = StoreInfo { max_age: Some(ms(7500)), ..info };
    assert_eq!(
        said(of(Preset::Standard, ms(7500)), (stepped, whole)),
        "accepted with 7.5s",
        "nothing is sent"
    );
}

#[test]
fn a_margin_above_a_fifth_of_the_lease_is_refused() {
    let skewed = |skew| Settings { skew: Some(skew), drift_ppm: 0, slack: Some(secs(0)), ..settings() };
    assert_eq!(said(skewed(secs(6)), bucket_of(Some(T))), "accepted with 30s");
    assert_eq!(
        said(skewed(ms(6001)), bucket_of(Some(T))),
        "lease is 30s, and must be at least 30.1s, five times the margin (skew + 2 drift + slack = 6.001s): \
         use a longer lease, or lower skew, drift_ppm and slack if your clocks allow it"
    );
    for settings in [
        Settings { drift_ppm: 1_000_000, ..settings() },
        Settings { drift_ppm: u32::MAX, ..settings() },
        Settings { slack: Some(Duration::MAX), ..settings() },
        Settings { skew: Some(Duration::MAX), ..settings() },
    ] {
        assert!(
            said(settings, bucket_of(Some(T)))
                .contains("no lease is long enough for these settings; lower skew, ")
        );
    }
}

#[test]
fn a_lease_without_room_for_one_retry_is_refused() {
    let verdict = said(of(Preset::Test, ms(600)), free());
    assert_eq!(
        verdict,
        "lease is 600ms, and must be at least 700ms: a renewal and one retry take 603ms, and the margin is 77ms: \
         use a longer lease"
    );
    assert_eq!(said(of(Preset::Test, ms(750)), free()), "accepted with 750ms");
}

#[test]
fn an_interval_keeps_the_bounds_of_its_preset() {
    let go = |interval| Settings { preset: Preset::GoCompatible, interval: Some(interval), ..settings() };
    assert_eq!(said(go(secs(5)), bucket_of(Some(T))), "accepted with 30s");
    assert_eq!(said(go(secs(25)), bucket_of(Some(T))), "accepted with 30s");
    for interval in [ms(4999), ms(25_001)] {
        assert_eq!(
            said(go(interval), bucket_of(Some(T))),
            format!(
                "interval is {interval:?}, and must be between 5s and 25s, which is 5s under the lease: \
                 these are the Go library's bounds; its default is 0.75 of the lease"
            )
        );
    }
    let standard = |interval| Settings { interval: Some(interval), ..settings() };
    assert_eq!(said(standard(ms(100)), bucket_of(Some(T))), "accepted with 30s");
    assert_eq!(
        said(standard(ms(99)), bucket_of(Some(T))),
        "interval is 99ms, and must be at least 100ms: every read costs the store; the watch is faster"
    );
}

#[test]
fn a_name_is_one_line_of_printable_text() {
    let named = |name: &str| said(Settings { name: name.into(), ..settings() }, bucket_of(Some(T)));
    assert_eq!(named("wörker 7"), "accepted with 30s");
    assert_eq!(named(&"x".repeat(255)), "accepted with 30s");
    let remedy = "use, for example, a host name and a process number";
    assert_eq!(named(""), format!("name is 0 bytes long, and must be 1 to 255 bytes long: {remedy}"));
    assert_eq!(
        named(&"x".repeat(256)),
        format!("name is 256 bytes long, and must be 1 to 255 bytes long: {remedy}")
    );
    for name in ["a\nb", "a\u{0}", " a", "a ", "\t"] {
        assert_eq!(
            named(name),
            format!(
                "name is {name:?}, and must be free of control characters and surrounding spaces: {remedy}"
            )
        );
    }
}

#[test]
fn metadata_fits_into_headers() {
    let with = |key: &str, text: &str| {
        said(Settings { metadata: vec![(key.into(), text.into())], ..settings() }, bucket_of(Some(T)))
    };
    assert_eq!(with("Host-1", "db:80; x=ü"), "accepted with 30s");
    assert_eq!(with("k", &"x".repeat(4095)), "accepted with 30s");
    assert_eq!(
        with("k", &"x".repeat(4096)),
        "metadata is 4097 bytes long, and must be at most 4096 bytes long: \
         serve large data elsewhere, and publish its address"
    );
    for key in ["", "a b", "a:b", "ü"] {
        assert_eq!(
            with(key, "x"),
            format!(
                "metadata key is {key:?}, and must be letters, digits and '-': it becomes part of a header's name"
            )
        );
    }
    for text in ["a\r\nb", " a", "a "] {
        assert_eq!(
            with("k", text),
            format!(
                "metadata value is {text:?}, and must be one line without surrounding spaces: \
                 it becomes a header's value, so encode text that has several lines"
            )
        );
    }
}

#[test]
fn a_lease_of_more_than_a_year_is_a_mistake() {
    let year = secs(365 * 24 * 3600);
    assert_eq!(said(of(Preset::Standard, year), free()), "accepted with 31536000s");
    assert_eq!(
        said(of(Preset::Standard, Duration::MAX), free()),
        format!(
            "lease is {:?}, and must be at most 31536000s: \
             after a crash the election would stay vacant that long",
            Duration::MAX
        )
    );
}
