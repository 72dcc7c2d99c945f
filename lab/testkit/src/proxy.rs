//! A TCP proxy that cuts, holds and delays its traffic.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::port::Port;

/// A proxy on a loopback port in front of one server.
///
/// A cut acts like a network that loses all packets: connections stay open, and nothing arrives, not even the other
/// side's close. Data sent meanwhile arrives after [`heal`](Self::heal), because TCP would send it again; to lose the
/// data instead, call [`close_all`](Self::close_all) before [`heal`](Self::heal). A connection made during a cut is
/// held (a TCP handshake needs both directions) and reaches the server after the cut.
///
/// A method takes effect before it returns: after a cut, not one more byte is passed on.
///
/// The proxy runs tokio on its own thread, so it keeps working while a test blocks its thread, pauses tokio's clock or
/// starves its runtime.
#[derive(Debug)]
pub struct Proxy {
    port: Port,
    control: watch::Sender<Network>,
    thread: Option<thread::JoinHandle<()>>,
}

/// The current state of the network.
#[derive(Clone, Debug, Default)]
struct Network {
    to_server: Lane,
    to_client: Lane,
    /// Connections of an earlier epoch are closed.
    epoch: u64,
    closed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    cut: bool,
    delay: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    ToServer,
    ToClient,
}

impl Network {
    fn lane(&self, direction: Direction) -> Lane {
        match direction {
            Direction::ToServer => self.to_server,
            Direction::ToClient => self.to_client,
        }
    }

    fn is_cut(&self) -> bool {
        self.to_server.cut || self.to_client.cut
    }
}

impl Proxy {
    /// A proxy in front of `server`, an address such as `127.0.0.1:4222`.
    ///
    /// # Panics
    /// When `server` is not an address, or no port is free.
    #[track_caller]
    pub fn to(server: &str) -> Self {
        Self::new(server, false)
    }

    /// A proxy in front of a Kafka broker that listens on IPv4. A broker's answers name the address to which clients
    /// have to connect, and the proxy replaces that address by its own. So every client stays on its proxy, and several
    /// proxies can share a broker that does not know of them.
    ///
    /// # Panics
    /// Like [`to`](Self::to).
    #[track_caller]
    pub fn to_broker(server: &str) -> Self {
        Self::new(server, true)
    }

    #[track_caller]
    fn new(server: &str, is_broker: bool) -> Self {
        let server: SocketAddr =
            server.parse().unwrap_or_else(|error| panic!("{server:?} is not an address: {error}"));
        let (port, listener) = listen();
        let (control, network) = watch::channel(Network::default());
        let ports = is_broker.then(|| [server.port(), port.number()]);
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.unwrap_or_else(|error| panic!("no runtime for a proxy: {error}"));
            if let Err(error) = runtime.block_on(serve(listener, server, ports, network)) {
                panic!("a proxy failed: {error}");
            }
        };
        Self { port, control, thread: Some(thread::spawn(run)) }
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// The URL for NATS clients.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    /// Stops both directions.
    pub fn cut(&self) {
        self.control.send_modify(|network| {
            network.to_server.cut = true;
            network.to_client.cut = true;
        });
    }

    /// Stops the server's data (acknowledgements, deliveries); clients' data still arrives.
    pub fn cut_to_client(&self) {
        self.control.send_modify(|network| network.to_client.cut = true);
    }

    /// Stops the clients' data; the server's data still arrives.
    pub fn cut_to_server(&self) {
        self.control.send_modify(|network| network.to_server.cut = true);
    }

    /// Ends every cut. The data held by the cuts then arrives.
    pub fn heal(&self) {
        self.control.send_modify(|network| {
            network.to_server.cut = false;
            network.to_client.cut = false;
        });
    }

    /// Delays the server's data from now on by `delay`.
    pub fn delay_to_client(&self, delay: Duration) {
        self.control.send_modify(|network| network.to_client.delay = delay);
    }

    /// Delays the clients' data from now on by `delay`.
    pub fn delay_to_server(&self, delay: Duration) {
        self.control.send_modify(|network| network.to_server.delay = delay);
    }

    /// Closes every connection and discards the data held on it. New connections are still accepted.
    pub fn close_all(&self) {
        self.control.send_modify(|network| network.epoch += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.control.send_modify(|network| network.closed = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[track_caller]
fn listen() -> (Port, std::net::TcpListener) {
    loop {
        let port = Port::free();
        match std::net::TcpListener::bind(("127.0.0.1", port.number())) {
            Ok(listener) => return (port, listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => panic!("cannot listen: {error}"),
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    server: SocketAddr,
    ports: Option<[u16; 2]>,
    network: watch::Receiver<Network>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut control = network.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let client = accepted?.0;
                connections.spawn(connection(client, server, ports, network.clone()));
            }
            Some(_) = connections.join_next() => {}
            _ = control.wait_for(|network| network.closed) => return Ok(()),
        }
    }
}

/// One client's connection, from its acceptance to its end.
async fn connection(
    client: TcpStream,
    server: SocketAddr,
    ports: Option<[u16; 2]>,
    network: watch::Receiver<Network>,
) {
    let epoch = network.borrow().epoch;
    let mut control = network.clone();
    tokio::select! {
        _ = relay(client, server, ports, network) => {}
        _ = control.wait_for(|network| network.epoch != epoch) => {}
    }
}

async fn relay(
    client: TcpStream,
    server: SocketAddr,
    ports: Option<[u16; 2]>,
    mut network: watch::Receiver<Network>,
) -> io::Result<()> {
    // This fails only if the sender of the network is gone, and the sender outlives every connection.
    let _ = network.wait_for(|network| !network.is_cut()).await;
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        pass(from_client, to_server, None, Direction::ToServer, network.clone()),
        pass(from_server, to_client, ports.map(Readdress::new), Direction::ToClient, network),
    )?;
    Ok(())
}

/// Forwards the data of one direction until that direction ends.
async fn pass(
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    readdress: Option<Readdress>,
    direction: Direction,
    network: watch::Receiver<Network>,
) -> io::Result<()> {
    // As in a real network, the amount of data in transit is bounded. When the queue is full, the sender has to wait.
    let (queue, due) = mpsc::channel(256);
    tokio::try_join!(
        read_all(from, queue, readdress, direction, network.clone()),
        write_all(to, due, direction, network)
    )?;
    Ok(())
}

/// Replaces the broker's address by the proxy's in the broker's answers. In Kafka's protocol both addresses are
/// `127.0.0.1` and a 32-bit port, so no length changes.
struct Readdress {
    broker: [u8; ADDRESS],
    own: [u8; ADDRESS],
    /// The part of an answer that has arrived so far.
    part: Vec<u8>,
}

const HOST: &[u8; 9] = b"127.0.0.1";
/// The length of a host and a port.
const ADDRESS: usize = HOST.len() + 4;
/// The length of the field in front of an answer, which contains the answer's length.
const PREFIX: usize = 4;

impl Readdress {
    fn new(ports: [u16; 2]) -> Self {
        let [broker, own] = ports.map(|port| {
            let mut address = [0; ADDRESS];
            address[..HOST.len()].copy_from_slice(HOST);
            address[HOST.len()..].copy_from_slice(&u32::from(port).to_be_bytes());
            address
        });
        Self { broker, own, part: Vec::new() }
    }

    /// Returns the answers that are complete with these bytes.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.part.extend_from_slice(bytes);
        let mut whole = 0;
        while let Some(length) = self.part.get(whole..whole + PREFIX) {
            let length = length.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte));
            if self.part.len() < whole + PREFIX + length {
                break;
            }
            whole += PREFIX + length;
        }
        let rest = self.part.split_off(whole);
        let mut answers = std::mem::replace(&mut self.part, rest);
        let found = |answers: &[u8]| answers.windows(ADDRESS).position(|window| window == self.broker);
        while let Some(at) = found(&answers) {
            answers[at..at + ADDRESS].copy_from_slice(&self.own);
        }
        answers
    }
}

struct Packet {
    due: Instant,
    bytes: Vec<u8>,
}

async fn read_all(
    from: OwnedReadHalf,
    queue: mpsc::Sender<Packet>,
    mut readdress: Option<Readdress>,
    direction: Direction,
    network: watch::Receiver<Network>,
) -> io::Result<()> {
    loop {
        from.readable().await?;
        let mut bytes = Vec::with_capacity(16 * 1024);
        match from.try_read_buf(&mut bytes) {
            // Returning drops the sender of the queue, which ends the writer once the queue is empty. A cut holds this
            // end like data.
            Ok(0) => return Ok(()),
            // A reset arrives no sooner than a regular close would.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Ok(_) => {
                if let Some(readdress) = &mut readdress {
                    bytes = readdress.pass(&bytes);
                }
                let due = Instant::now() + network.borrow().lane(direction).delay;
                if queue.send(Packet { due, bytes }).await.is_err() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write_all(
    to: OwnedWriteHalf,
    mut due: mpsc::Receiver<Packet>,
    direction: Direction,
    mut network: watch::Receiver<Network>,
) -> io::Result<()> {
    while let Some(packet) = due.recv().await {
        tokio::time::sleep_until(packet.due).await;
        let mut rest = packet.bytes.as_slice();
        while !rest.is_empty() {
            to.writable().await?;
            // While the borrow is held, a call of `cut` cannot return, so no byte is written after a cut.
            let open = network.wait_for(|network| !network.lane(direction).cut).await;
            let Ok(_open) = open else { return Ok(()) };
            match to.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
    let _ = network.wait_for(|network| !network.lane(direction).cut).await;
    // Dropping the half closes the connection to the other side.
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brokers_address_becomes_the_proxys_wherever_an_answer_is_torn() {
        let answer = |port: u16| {
            let body = [&[7, 9], &HOST[..], &u32::from(port).to_be_bytes(), &[1, 2]].concat();
            [&u32::try_from(body.len()).unwrap().to_be_bytes(), &body[..]].concat()
        };
        let (sent, expected) = ([answer(9092), answer(9093)].concat(), [answer(70), answer(9093)].concat());
        for tear in 0..=sent.len() {
            let mut readdress = Readdress::new([9092, 70]);
            let (first, second) = sent.split_at(tear);
            assert_eq!([readdress.pass(first), readdress.pass(second)].concat(), expected, "{tear}");
        }
    }
}
