//! At the Go library's shortest TTL, `incumbent run` with the preset for that library takes turns with Go candidates.
//!
//! The library takes 1.5 TTL and more from a vacancy to a reported win, so each test takes a minute and a half.

use std::process::Command;
use std::time::Duration;

use async_nats::jetstream::{self, kv};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait;

use crate::contender::{BUCKET, Contender, store_url};
use crate::history::one_at_a_time;

const KEY: &str = "jobs.nightly";
const LEASE: Duration = Duration::from_secs(30);
/// The longest time to the next win. A lease, its expiry, an interval of the library and its win delay are 77 s.
const LIMIT: Duration = Duration::from_secs(110);

/// Creates the bucket as users of the Go library do, with nothing but a TTL.
fn bucket_of_a_plain_client(server: &NatsServer) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let config = kv::Config { bucket: BUCKET.into(), max_age: LEASE, ..Default::default() };
        context.create_key_value(config).await.unwrap();
    });
}

fn bucket_of_the_command_line(server: &NatsServer) {
    let mut init = Command::new(env!("CARGO_BIN_EXE_incumbent"));
    init.args(["init", "--new", "--lease", "30s", "--store", &store_url(server)]);
    let made = init.output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[track_caller]
fn await_lead(contender: &Contender) {
    let what = format!("{} to lead", contender.name);
    wait::until(&what, LIMIT, || contender.leads());
}

/// Checks that these candidates led one at a time, in this order.
#[track_caller]
fn led_in_turn(contenders: &[&Contender], expected: &[&str]) {
    let history = one_at_a_time(contenders.iter().flat_map(|one| one.leaderships()).collect());
    let names: Vec<&str> = history.iter().map(|leadership| leadership.name.as_str()).collect();
    assert_eq!(names, expected, "{history:#?}");
}

#[test]
fn ours_wins_when_go_is_killed_and_go_when_ours_releases() {
    let server = NatsServer::start(Options::new());
    bucket_of_a_plain_client(&server);
    let mut first = Contender::go(&server, KEY, "go-1", LEASE);
    first.await_first_word();
    let mut ours = Contender::run(&server, KEY, "ours", LEASE);
    await_lead(&first);

    first.kill();
    await_lead(&ours);
    let second = Contender::go(&server, KEY, "go-2", LEASE);
    second.await_first_word();
    ours.stop();
    await_lead(&second);

    led_in_turn(&[&first, &ours, &second], &["go-1", "ours", "go-2"]);
}

#[test]
fn go_wins_when_ours_is_killed() {
    let server = NatsServer::start(Options::new());
    bucket_of_the_command_line(&server);
    let mut ours = Contender::run(&server, KEY, "ours", LEASE);
    await_lead(&ours);
    let go = Contender::go(&server, KEY, "go-1", LEASE);
    go.await_first_word();

    ours.kill();
    await_lead(&go);

    led_in_turn(&[&ours, &go], &["ours", "go-1"]);
}
