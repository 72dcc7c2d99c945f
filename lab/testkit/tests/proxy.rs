//! The proxy, in front of a listener that echoes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait::{self, GENEROUS};

/// The time for which a test waits to see that data does not arrive.
const SILENCE: Duration = Duration::from_millis(200);

/// A listener that hands each accepted connection to the test.
struct Server {
    address: String,
    accepted: Receiver<TcpStream>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (accept, accepted) = mpsc::channel();
        thread::spawn(move || listener.incoming().flatten().all(|stream| accept.send(stream).is_ok()));
        Self { address, accepted }
    }

    fn accept(&self) -> TcpStream {
        let stream = self.accepted.recv_timeout(GENEROUS).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        stream
    }
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    stream
}

fn pair() -> (Server, Proxy, TcpStream, TcpStream) {
    let server = Server::start();
    let proxy = Proxy::to(&server.address);
    let client = connect(&proxy);
    let accepted = server.accept();
    (server, proxy, client, accepted)
}

fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

#[track_caller]
fn assert_receives(stream: &mut TcpStream, text: &str) {
    let mut bytes = vec![0; text.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), text);
}

#[track_caller]
fn assert_silent(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let error = stream.read(&mut [0; 8]).expect_err("nothing may arrive, not even an end");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
}

#[test]
fn data_arrives_both_ways() {
    let (_server, _proxy, mut client, mut server) = pair();
    send(&mut client, "ping");
    assert_receives(&mut server, "ping");
    send(&mut server, "pong");
    assert_receives(&mut client, "pong");
}

#[test]
fn a_cut_holds_both_directions_and_healing_delivers_in_order() {
    let (_server, proxy, mut client, mut server) = pair();
    proxy.cut();
    send(&mut client, "one");
    send(&mut server, "uno");
    assert_silent(&mut server);
    assert_silent(&mut client);
    send(&mut client, "two");
    proxy.heal();
    assert_receives(&mut server, "onetwo");
    assert_receives(&mut client, "uno");
}

#[test]
fn a_cut_towards_the_client_lets_requests_through() {
    let (_server, proxy, mut client, mut server) = pair();
    proxy.cut_to_client();
    send(&mut client, "write");
    assert_receives(&mut server, "write");
    send(&mut server, "ack");
    assert_silent(&mut client);
}

#[test]
fn a_cut_towards_the_server_lets_answers_through() {
    let (_server, proxy, mut client, mut server) = pair();
    proxy.cut_to_server();
    send(&mut server, "ack");
    assert_receives(&mut client, "ack");
    send(&mut client, "write");
    assert_silent(&mut server);
}

#[test]
fn a_cut_hides_that_the_other_side_has_closed() {
    let (_server, proxy, client, mut server) = pair();
    proxy.cut();
    drop(client);
    assert_silent(&mut server);
    proxy.heal();
    assert_eq!(server.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_new_connection_reaches_the_server_only_after_the_cut() {
    let server = Server::start();
    let proxy = Proxy::to(&server.address);
    for cut in [Proxy::cut, Proxy::cut_to_client, Proxy::cut_to_server] {
        cut(&proxy);
        let mut client = connect(&proxy);
        send(&mut client, "hello");
        assert!(server.accepted.recv_timeout(SILENCE).is_err());
        proxy.heal();
        assert_receives(&mut server.accept(), "hello");
    }
}

#[test]
fn closing_all_loses_what_a_cut_held() {
    let (behind, proxy, mut client, mut server) = pair();
    proxy.cut();
    send(&mut client, "lost");
    proxy.close_all();
    let ended = |stream: &mut TcpStream| matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_));
    assert!(ended(&mut client));
    assert!(ended(&mut server));

    proxy.heal();
    let mut client = connect(&proxy);
    send(&mut client, "kept");
    assert_receives(&mut behind.accept(), "kept");
}

#[test]
fn each_direction_has_its_own_delay() {
    const DELAY: Duration = Duration::from_millis(300);
    let (_server, proxy, mut client, mut server) = pair();
    proxy.delay_to_client(DELAY);

    let sent = Instant::now();
    send(&mut client, "quick");
    assert_receives(&mut server, "quick");
    send(&mut server, "slow");
    assert_receives(&mut client, "slow");
    assert!(sent.elapsed() >= DELAY);
}

#[test]
fn a_delayed_stream_keeps_its_order_when_the_delay_shrinks() {
    let (_server, proxy, mut client, mut server) = pair();
    proxy.delay_to_server(Duration::from_millis(200));
    send(&mut client, "first");
    // By now the proxy may have read the first message, or not.
    proxy.delay_to_server(Duration::ZERO);
    send(&mut client, "second");
    assert_receives(&mut server, "firstsecond");
}

#[test]
fn a_server_that_is_down_closes_the_client() {
    let server = Server::start();
    let proxy = Proxy::to(&server.address);
    let unreachable = Proxy::to("127.0.0.1:1");
    let mut client = connect(&unreachable);
    wait::until("the end", GENEROUS, || matches!(client.read(&mut [0; 8]), Ok(0) | Err(_)));
    send(&mut connect(&proxy), "still here");
    assert_receives(&mut server.accept(), "still here");
}
