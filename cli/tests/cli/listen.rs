//! `incumbent run --listen`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use incumbent_testkit::wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::operate::server;
use crate::support::{LIMIT, Running, Scratch, ended, incumbent, sequence};

/// A candidate that listens, and its address.
fn listening(scratch: &Scratch, name: &str) -> (Running, String) {
    let mut arguments = vec!["run", "--store", &scratch.url, "--key", "jobs", "--name", name];
    // The lease is short enough to see renewals, and long enough not to end merely because the machine is busy.
    arguments.extend(["--lease", "10s", "--listen", "127.0.0.1:0"]);
    arguments.extend(["--", "sh", "-c", "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000"]);
    let mut run = Running::start(incumbent(&arguments));
    let reported = run.until_reported("the address", |line| line.starts_with("incumbent: listening on "));
    let address = reported.rsplit(' ').next().unwrap().to_owned();
    (run, address)
}

/// Sends the request, and returns the head and the body of the answer.
#[track_caller]
fn asked(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

pub(crate) fn got(address: &str, path: &str) -> (String, String) {
    let (head, body) = asked(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    (head.lines().next().unwrap().to_owned(), body)
}

pub(crate) const OK: &str = "HTTP/1.1 200 OK";
pub(crate) const UNAVAILABLE: &str = "HTTP/1.1 503 Service Unavailable";

#[test]
fn connections_without_a_request_do_not_keep_others_from_their_answer() {
    let scratch = Scratch::made();
    let (mut ada, address) = listening(&scratch, "ada");
    sequence(&mut ada);
    let begun = std::time::Instant::now();
    let _idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert_eq!(got(&address, "/leader").0, OK);
    // If connections waited for each other, this would take longer: 64 are served at a time, and each is given up after
    // 5 s.
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_leader_answers_with_its_token_and_other_candidates_with_who_leads() {
    let scratch = Scratch::made();
    let (mut ada, of_ada) = listening(&scratch, "ada");
    let first = sequence(&mut ada);
    let (status, body) = got(&of_ada, "/leader");
    assert_eq!(status, OK, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["name"], &body["sequence"]), (&json!("ada"), &json!(first)));
    let (head, _) = asked(&of_ada, "HEAD /leader HTTP/1.1\r\n\r\n");
    let token = format!("Incumbent-Token: {}", body["token"].as_str().unwrap());
    assert!(head.lines().any(|line| line == token), "{head}");
    let (mut ben, of_ben) = listening(&scratch, "ben");
    let follows = || {
        let (status, body) = got(&of_ben, "/leader");
        status == UNAVAILABLE && serde_json::from_str::<Value>(&body).unwrap()["holder"] == "ada"
    };
    wait::until("ben to follow ada", LIMIT, follows);
    assert_eq!(got(&of_ben, "/healthz"), (OK.into(), "ok\n".into()));
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
    let second = sequence(&mut ben);
    assert!(second > first);
    let (status, body) = got(&of_ben, "/leader");
    assert_eq!(status, OK);
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["sequence"], second);
}

/// The value of the metric whose labels contain this text.
#[track_caller]
fn metric(page: &str, name: &str, labels: &str) -> f64 {
    let of_it = |line: &&str| line.starts_with(&format!("{name}{{")) && line.contains(labels);
    let line = page.lines().find(of_it).unwrap_or_else(|| panic!("{name} {labels} in {page}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Waits until the metric has this value, because events are counted concurrently with their effects.
#[track_caller]
pub(crate) fn counts(address: &str, name: &str, labels: &str, count: f64) {
    wait::until(&format!("{name} to be {count}"), LIMIT, || {
        metric(&got(address, "/metrics").1, name, labels) == count
    });
}

#[test]
fn metrics_count_terms_their_ends_and_writes() {
    let scratch = Scratch::made();
    let (mut ada, address) = listening(&scratch, "ada");
    let first = sequence(&mut ada);
    let page = || got(&address, "/metrics").1;
    wait::until("a renewal", LIMIT, || {
        metric(&page(), "incumbent_writes_total", "action=\"renew\",outcome=\"applied\"") > 0.0
    });
    counts(&address, "incumbent_terms_total", "", 1.0);
    let now = page();
    assert!(now.contains("incumbent_leader{election=\"jobs\",candidate=\"ada\"} 1\n"), "{now}");
    assert_eq!(metric(&now, "incumbent_token_sequence", ""), first as f64);
    assert_eq!(metric(&now, "incumbent_writes_total", "action=\"acquire\",outcome=\"applied\""), 1.0);
    assert_eq!(metric(&now, "incumbent_write_duration_seconds_count", "action=\"acquire\""), 1.0);
    let left = metric(&now, "incumbent_lease_remaining_seconds", "");
    assert!((0.0..=10.0).contains(&left), "{left}");
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(metric(&now, "incumbent_build_info", &version), 1.0);
    assert_eq!(metric(&now, "incumbent_store_connected", ""), 1.0);
    // A session bounds its requests to the store. The bound begins at 64.
    assert_eq!(metric(&now, "incumbent_requests_window", ""), 64.0);
    assert_eq!(metric(&now, "incumbent_requests_waiting", ""), 0.0);
    assert_eq!(metric(&now, "incumbent_late_answers_total", ""), 0.0);
    assert!(metric(&now, "incumbent_answer_time_seconds", "") > 0.0);
    assert!(metric(&now, "incumbent_requests_under_way", "") <= 1.0);
    assert!(now.ends_with("# EOF\n"), "{now}");
    assert_eq!(ended(&["evict", "jobs", "--yes", "--store", &scratch.url]).code, Some(0));
    sequence(&mut ada);
    counts(&address, "incumbent_terms_ended_total", "reason=\"deleted\"", 1.0);
    counts(&address, "incumbent_terms_total", "", 2.0);
}

#[test]
fn quotation_marks_and_backslashes_of_a_name_are_escaped_in_metrics() {
    let scratch = Scratch::made();
    let (mut run, address) = listening(&scratch, r#"a"b\c"#);
    sequence(&mut run);
    let page = got(&address, "/metrics").1;
    let line = r#"incumbent_leader{election="jobs",candidate="a\"b\\c"} 1"#;
    assert!(page.lines().any(|one| one == line), "{page}");
}

#[test]
fn metrics_report_the_process_under_the_usual_names() {
    let scratch = Scratch::made();
    let (_ada, address) = listening(&scratch, "ada");
    let page = got(&address, "/metrics").1;
    let value = |name: &str| -> f64 {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {page}")).parse().unwrap()
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((0.0..60.0).contains(&value("process_cpu_seconds_total")));
    assert!((now - 60.0..now + 1.0).contains(&value("process_start_time_seconds")));
    assert!((1e6..1e9).contains(&value("process_resident_memory_bytes")));
    assert!(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
    assert!(value("process_threads") >= 1.0);
    assert!((3.0..value("process_max_fds")).contains(&value("process_open_fds")));
}

#[test]
fn metrics_say_if_the_store_answers() {
    let (mut server, url) = server("30s");
    let words = ["run", "--store", &url, "--key", "jobs", "--listen", "127.0.0.1:0", "--", "sleep", "1000"];
    let mut run = Running::start(incumbent(&words));
    let reported = run.until_reported("the address", |line| line.starts_with("incumbent: listening on "));
    let address = reported.rsplit(' ').next().unwrap();
    counts(address, "incumbent_store_connected", "", 1.0);
    server.kill();
    counts(address, "incumbent_store_connected", "", 0.0);
}

#[test]
fn an_unknown_request_is_answered_and_does_no_harm() {
    let scratch = Scratch::made();
    let (_ada, address) = listening(&scratch, "ada");
    assert_eq!(got(&address, "/").0, "HTTP/1.1 404 Not Found");
    assert!(asked(&address, "POST /leader HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405 "));
    assert!(asked(&address, "\0\0\0\r\n\r\n").0.starts_with("HTTP/1.1 400 "));
    let endless = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(8 * 1024 - 19));
    assert!(asked(&address, &endless).0.starts_with("HTTP/1.1 431 "));
    drop(TcpStream::connect(&address).unwrap());
    assert_eq!(got(&address, "/healthz?probe=1").0, OK);
}

#[test]
fn an_address_that_is_taken_is_refused_before_anything_is_campaigned_for() {
    let scratch = Scratch::made();
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = ["run", "--store", &scratch.url, "--key", "jobs", "--listen", &address, "--", "true"];
    let refused = ended(&run);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.starts_with(&format!("incumbent: --listen {address} cannot be used")),
        "{refused:?}"
    );
}

#[test]
fn a_candidate_with_handlers_listens_too() {
    let scratch = Scratch::made();
    let words =
        ["run", "--store", &scratch.url, "--key", "jobs", "--name", "ada", "--lease", "30s", "--json"];
    let handlers = ["--listen", "127.0.0.1:0", "--on-won", "echo begins", "--on-lost", "true"];
    let mut run = Running::start(incumbent(&[&words[..], &handlers].concat()));
    let reported = run.until_reported("the address", |line| line.contains("\"listening\""));
    let reported: Value = serde_json::from_str(&reported).unwrap();
    let address = reported["address"].as_str().unwrap();
    run.until_reported("the beginning", |line| line.contains("begins"));
    let (status, body) = got(address, "/leader");
    assert_eq!(status, OK, "{body}");
    counts(address, "incumbent_terms_total", "", 1.0);
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn a_console_has_nothing_to_report() {
    let refused = ended(&["run", "--store", "console:", "--on-won", "true", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.starts_with("incumbent: --listen reports on an election"), "{refused:?}");
}
