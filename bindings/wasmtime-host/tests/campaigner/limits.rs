//! The limits of a guest: an endless one is stopped, and a value longer than its memory does not trap it.

use std::time::Duration;

use incumbent::incumbent_core::campaign::{Event, Warning};
use incumbent::store::StoreSettings;
use incumbent::{Clock, Reason};
use incumbent_testkit::tools::component;
use incumbent_wasmtime::{Campaigner, Candidate, ErrorKind, Host, Limits, Provision, Stores, interruptible};
use wasmtime::{Instance, Module};

use crate::support::*;

/// `(module (func (export "run") (loop br 0)))`
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x07\x01\x03run\0\0\x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

#[tokio::test(flavor = "current_thread")]
async fn an_endless_guest_lets_others_run_and_is_stopped() {
    let host = Host::new().unwrap();
    let limits = Limits { compute: Duration::from_millis(200), ..Limits::default() };
    let provision = Provision::new(Stores::new(Clock::system()), limits);
    let computed = provision.computed();
    let mut store = interruptible(host.engine(), provision);
    let module = Module::new(host.engine(), ENDLESS).unwrap();
    computed.begin();
    let instance = Instance::new_async(&mut store, &module, &[]).await.unwrap();
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    let other = tokio::spawn(async {});
    let stopped = run.call_async(&mut store, ()).await.unwrap_err();
    assert!(format!("{stopped:#}").contains("the guest has computed for more than 200ms"), "{stopped:#}");
    assert!(other.is_finished(), "on one thread, another task ran meanwhile");
}

#[tokio::test]
async fn a_guest_that_wants_more_memory_than_it_may_have_is_an_error() {
    let limits = Limits { memory: 64 << 10, ..Limits::default() };
    let stores = stores("memory:", &Clock::system()).await;
    let campaigner = campaigner().limits(limits);
    let refused = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.map(drop);
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guest);
    assert!(error.to_string().contains("bytes of memory, and its limit is 65536"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_world_is_an_error() {
    let engine = std::fs::read(component("incumbent-engine").unwrap()).unwrap();
    for bytes in [engine, b"no component".to_vec()] {
        let refused = Campaigner::new(&Host::new().unwrap(), &bytes).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Component);
    }
}

/// More than the memory limit of a guest.
const BYTES: usize = 20_000_000;

async fn bytes_reported(election: &mut Candidate) -> u64 {
    until(election, |event| match event {
        Event::Warning(Warning::NotARecord { bytes, .. }) => Some(*bytes),
        _ => None,
    })
    .await
}

/// A leader and a candidate whose key another program overwrites.
async fn written_over(url: &str) {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores(url, &clock).await);
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.unwrap();
    let token = won(&mut leader).await;
    let mut candidate = campaigner.campaign(&stores, "elections", "jobs", settings("b")).await.unwrap();
    until(&mut candidate, |event| matches!(event, Event::LeaderChanged(Some(_))).then_some(())).await;

    let other = url.parse::<StoreSettings>().unwrap().operate(&clock).await.unwrap();
    other.put("jobs", &vec![b'x'; BYTES]).await.unwrap();
    let bytes = [bytes_reported(&mut leader).await, bytes_reported(&mut candidate).await];
    assert!(bytes.iter().all(|bytes| (BYTES as u64..BYTES as u64 + 100).contains(bytes)), "{bytes:?}");
    assert_eq!(lost(&mut leader).await, Reason::Usurped);
    leader.close();

    // The record has the lease of the previous one, so it expires.
    assert!(won(&mut candidate).await > token);
}

#[tokio::test]
async fn megabytes_in_a_file_trap_no_component_and_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    written_over(&format!("sqlite:{}", folder.path().join("elections.db").display())).await;
}

#[tokio::test]
async fn megabytes_in_memory_trap_no_component_and_are_waited_for() {
    written_over("memory:megabytes").await;
}
