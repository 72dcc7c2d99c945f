//! The messages of commands that cannot connect. Each row has a cause, and the expected address, cause, remedy and exit
//! code.

use std::io::{Read as _, Write as _};
#[cfg(feature = "kafka")]
use std::net::TcpStream;
use std::net::{SocketAddr, TcpListener};

use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::etcd::{EtcdServer, Options as EtcdOptions};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;

use crate::support::{Running, ended, incumbent};

/// A cause, and the expected message.
struct Row {
    store: String,
    code: i32,
    says: Vec<String>,
}

fn row(store: impl Into<String>, code: i32, says: &[&str]) -> Row {
    Row { store: store.into(), code, says: says.iter().map(|part| (*part).to_owned()).collect() }
}

/// A server that answers each client with these bytes, or not at all.
fn answering(answer: Option<&'static [u8]>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            match answer {
                Some(answer) => {
                    // Other answers are sent at once, as by a server that speaks first.
                    if answer.starts_with(b"HTTP") {
                        let _ = stream.read(&mut [0; 512]);
                    }
                    let _ = stream.write_all(answer);
                }
                None => silent.push(stream),
            }
        }
    });
    address
}

const HTTP: Option<&[u8]> =
    Some(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");

/// Waits until a listener has closed a connection after a bad request. Java takes seconds for the first such
/// connection.
#[cfg(feature = "kafka")]
fn closes(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"\0\0\0\x04quit").unwrap();
    // The stream may end with a reset, which is an error.
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Checks each row, with a command that reads and with a candidate, all at the same time.
#[track_caller]
fn each(rows: Vec<Row>) {
    let start = |row: Row| {
        let asks = incumbent(&["status", "jobs", "--fail-fast", "--store", &row.store]);
        let campaigns =
            incumbent(&["run", "--key", "jobs", "--fail-fast", "--on-won", "true", "--store", &row.store]);
        (row, [asks, campaigns].map(Running::start))
    };
    let running: Vec<_> = rows.into_iter().map(start).collect();
    for (row, commands) in running {
        for mut command in commands {
            let ended = command.wait();
            assert_eq!(ended.code, Some(row.code), "{}: {ended:#?}", row.store);
            for part in &row.says {
                assert!(ended.stderr.contains(part), "{}: no {part:?} in {ended:#?}", row.store);
            }
        }
    }
}

#[test]
fn what_nats_cannot_be_reached_for_is_said() {
    let refused = Port::free();
    let refused = format!("127.0.0.1:{}", refused.number());
    let [silent, http] = [answering(None), answering(HTTP)].map(|address| address.to_string());
    let certificates = Certificates::new();
    let file = |name: &str| certificates.shown(name);
    let tls =
        format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}", file("server.pem"), file("server.key"));
    let (plain, secured) = (NatsServer::start(Options::new()), NatsServer::start(Options::new().config(tls)));
    let guarded = NatsServer::start(Options::new().config("authorization { user: me, password: right }"));
    let store = |scheme: &str, address: &str| format!("{scheme}://{address}/ELECTIONS");
    let (plain, secured, guarded) = (plain.address(), secured.address(), guarded.address());
    each(vec![
        row(store("nats", &refused), 3, &[&refused, "Connection refused", "check the host and the port"]),
        row(
            store("nats", &silent),
            3,
            &[&silent, "nothing answered like a NATS server", "check the host and the port"],
        ),
        row(
            store("nats", &http),
            3,
            &[&http, "nothing answered like a NATS server", "check the host and the port"],
        ),
        row(
            store("nats", "no-such-host.invalid:4222"),
            3,
            &["no-such-host.invalid:4222", "lookup", "check the host"],
        ),
        row(store("tls", &plain), 3, &[&plain, "does not use TLS", "write nats://"]),
        row(store("nats", &secured), 3, &[&secured, "certificate", "check tls_ca"]),
        row(store("tls", &secured), 3, &[&secured, "certificate", "check tls_ca"]),
        row(
            store("nats", &format!("me:wrong@{guarded}")),
            6,
            &[&guarded, "refuses our credentials", "check user"],
        ),
        row(store("nats", &guarded), 6, &[&guarded, "refuses our credentials", "check user"]),
    ]);
}

#[test]
fn what_etcd_cannot_be_reached_for_is_said() {
    let refused = Port::free();
    let refused = format!("127.0.0.1:{}", refused.number());
    let [silent, http] = [answering(None), answering(HTTP)].map(|address| address.to_string());
    let plain = EtcdServer::start(EtcdOptions::new());
    let store = |scheme: &str, address: &str| format!("{scheme}://{address}/app");
    each(vec![
        row(store("etcd", &refused), 3, &[&refused, "Connection refused"]),
        row(store("etcd", &silent), 3, &[&silent, "does not answer within 5s"]),
        row(
            store("etcd", &http),
            4,
            &[&http, "does not speak etcd's protocol", "check the host and the port"],
        ),
        row(store("etcd", "no-such-host.invalid:2379"), 3, &["no-such-host.invalid:2379", "lookup"]),
        row(store("etcds", &plain.address()), 6, &[&plain.address(), "has no TLS", "etcd://"]),
    ]);
}

#[test]
fn a_server_without_jetstream_is_waited_for_by_every_command_alike() {
    let server = NatsServer::start(Options::new().config("jetstream: disabled"));
    let store = format!("{}/ELECTIONS", server.url());
    each(vec![row(&*store, 3, &["JetStream is not enabled", "domain"])]);
    for command in ["init", "doctor"] {
        assert_eq!(ended(&[command, "--store", &store]).code, Some(3));
    }
}

#[test]
fn a_candidate_that_is_not_elected_in_time_says_why_its_store_was_not_opened() {
    let port = Port::free();
    let refused = format!("127.0.0.1:{}", port.number());
    let silent = answering(None).to_string();
    let wait = |store: String| {
        let words = ["run", "--key", "jobs", "--wait", "1s", "--on-won", "true", "--store", &store];
        let ended = ended(&words);
        assert_eq!(ended.code, Some(8), "{ended:?}");
        ended.stderr.lines().last().unwrap().to_owned()
    };
    for scheme in ["nats", "etcd"] {
        let said = wait(format!("{scheme}://{refused}/app"));
        assert!(said.contains("not elected within 1s; ") && said.contains("Connection refused"), "{said}");
        let said = wait(format!("{scheme}://{silent}/app"));
        let expected =
            format!("incumbent: not elected within 1s; {scheme}://{silent}/app has not answered yet");
        assert_eq!(said, expected);
    }
}

/// The connection errors of librdkafka contain neither an address nor a cause.
#[cfg(feature = "kafka")]
#[test]
fn what_kafka_cannot_be_reached_for_is_said() {
    use incumbent_testkit::kafka::security::Entrance;

    let refused = Port::free();
    let refused = format!("127.0.0.1:{}", refused.number());
    let [silent, http, alert] =
        [None, HTTP, Some(&b"\x15\x03\x03\x00\x02\x02\x0a"[..])].map(|answer| answering(answer).to_string());
    let store = |scheme: &str, address: &str| format!("{scheme}://{address}/app");
    let plain = incumbent_testkit::kafka::shared::Shared::broker();
    let plain = plain.address();
    let secured = incumbent_testkit::kafka::Options::new().secured();
    let secured = incumbent_testkit::kafka::Kafka::start_with(secured);
    let [tls, sasl, clear] =
        [Entrance::Tls, Entrance::Sasl, Entrance::SaslInTheClear].map(|entrance| secured.entrance(entrance));
    for address in [&tls, &sasl, &clear] {
        closes(address);
    }
    let requires_tls = ["requires TLS", "write kafkas://"];
    each(vec![
        row(store("kafka", &tls), 3, &[&tls, requires_tls[0], requires_tls[1]]),
        row(store("kafka", &format!("ada:s3cr3t@{sasl}")), 3, &[&sasl, requires_tls[0], requires_tls[1]]),
        row(store("kafkas", &format!("ada:s3cr3t@{clear}")), 3, &[&clear, "has no TLS", "write kafka://"]),
        row(store("kafka", &clear), 3, &[&clear, "requires a user and a password", "write user:password@"]),
        row(store("kafka", &alert), 3, &[&alert, requires_tls[0], requires_tls[1]]),
        row(store("kafkas", &plain), 3, &[&plain, "has no TLS", "write kafka://"]),
        row(store("kafka", &refused), 3, &[&refused, "Connection refused"]),
        row(store("kafka", &silent), 3, &[&silent]),
        row(store("kafka", &http), 3, &[&http]),
        row(store("kafka", "no-such-host.invalid:9092"), 3, &["no-such-host.invalid:9092", "resolve"]),
    ]);
}

/// The brokers answer at the URL's address, and name another address for all further queries.
#[cfg(feature = "kafka")]
#[test]
fn an_address_that_a_broker_advertises_and_that_does_not_resolve_is_named_with_the_cause() {
    use incumbent_testkit::kafka::{Kafka, Options};

    let advertised = "CLIENT://no-such-host.invalid:9092";
    let broker = Kafka::start_with(Options::new().setting("advertised.listeners", advertised));
    let store = format!("kafka://{}/app", broker.address());
    let says = ["no-such-host.invalid:9092", "resolve", "advertised.listeners"];
    let commands: [(&[&str], i32); 4] = [
        (&["status", "jobs"], 3),
        (&["doctor"], 3),
        (&["init", "jobs"], 3),
        (&["run", "--key", "jobs", "--wait", "8s", "--on-won", "true"], 8),
    ];
    let start = |(words, code): (&[&str], i32)| {
        (words[0].to_owned(), code, Running::start(incumbent(&[words, &["--store", &store]].concat())))
    };
    for (which, code, mut command) in commands.map(start) {
        let ended = command.wait();
        assert_eq!(ended.code, Some(code), "{which}: {ended:#?}");
        for part in says {
            assert!(ended.stderr.contains(part), "{which}: no {part:?} in {ended:#?}");
        }
        assert!(!ended.stderr.contains("_TIMED_OUT"), "{which}: {ended:#?}");
    }
}
