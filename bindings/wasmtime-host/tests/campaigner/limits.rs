//! A guest that does not stop is stopped.

use std::time::Duration;

use incumbent::Clock;
use incumbent_testkit::tools::component;
use incumbent_wasmtime::{Campaigner, ErrorKind, Host, Limits, Provision, Stores, interruptible};
use wasmtime::{Instance, Module};

use crate::support::{campaigner, settings, stores};

/// `(module (func (export "run") (loop br 0)))`
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x07\x01\x03run\0\0\x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

#[tokio::test(flavor = "current_thread")]
async fn a_guest_that_computes_for_ever_lets_others_run_and_is_stopped() {
    let host = Host::new().unwrap();
    let limits = Limits { compute: Duration::from_millis(200), ..Limits::default() };
    let provision = Provision::new(Stores::new(Clock::system()), limits);
    let computed = provision.computed();
    let mut store = interruptible(host.engine(), provision);
    let module = Module::new(host.engine(), ENDLESS).unwrap();
    computed.begin();
    let instance = Instance::new_async(&mut store, &module, &[]).await.unwrap();
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    let beside = tokio::spawn(async {});
    let stopped = run.call_async(&mut store, ()).await.unwrap_err();
    assert!(format!("{stopped:#}").contains("the guest has computed for more than 200ms"), "{stopped:#}");
    assert!(beside.is_finished(), "on one thread, another task ran meanwhile");
}

#[tokio::test]
async fn a_guest_that_wants_more_memory_than_it_may_have_is_an_error() {
    let limits = Limits { memory: 64 << 10, ..Limits::default() };
    let stores = stores("memory:", &Clock::system()).await;
    let campaigner = campaigner().limits(limits);
    let refused = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.map(drop);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Guest);
}

#[tokio::test]
async fn a_component_of_another_world_is_an_error() {
    let engine = std::fs::read(component("incumbent-engine").unwrap()).unwrap();
    for bytes in [engine, b"no component".to_vec()] {
        let refused = Campaigner::new(&Host::new().unwrap(), &bytes).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Component);
    }
}
