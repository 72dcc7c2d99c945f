//! The network between the members of a cluster.
//!
//! Each member has a single address for all its peers, so a proxy at that address could not tell which member dials.
//! But etcd accepts a Unix socket as the address, with a path relative to the folder in which the dialling member runs.
//! So at the address `unix://e2:1` each member finds a socket in its own folder, and behind the socket a proxy of its
//! own.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::{self, JoinHandle};

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::proxy::Proxy;

/// A member, as far as the network needs to know it.
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// The folder that it runs in.
    pub(super) folder: &'a Path,
    /// The address where it listens to its peers, `127.0.0.1:PORT`.
    pub(super) address: String,
}

/// The address that a member of that name advertises.
pub(super) fn url(name: &str) -> String {
    format!("unix://{}", socket(name))
}

/// The name of the socket's file. Go adds a port to an address that has none.
fn socket(name: &str) -> String {
    format!("{name}:1")
}

/// The proxies between members: one for each pair of a member that dials and a member that is dialled.
#[derive(Debug)]
pub(super) struct Peers {
    links: Vec<Link>,
    /// Dropping this sender ends the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    proxy: Proxy,
}

impl Peers {
    /// Makes the sockets in the members' folders.
    ///
    /// # Panics
    /// When a socket cannot be made.
    #[track_caller]
    pub(super) fn between(members: &[Member<'_>]) -> Self {
        let (mut links, mut sockets) = (Vec::new(), Vec::new());
        for (from, dialling) in members.iter().enumerate() {
            for (to, dialled) in members.iter().enumerate().filter(|(to, _)| *to != from) {
                let path = dialling.folder.join(socket(dialled.name));
                let listener = UnixListener::bind(&path)
                    .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                    .unwrap_or_else(|error| panic!("cannot listen at {}: {error}", path.display()));
                let proxy = Proxy::to(&dialled.address);
                sockets.push((listener, proxy.address()));
                links.push(Link { from, to, proxy });
            }
        }
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || serve(sockets, ended));
        Self { links, end: Some(end), thread: Some(thread) }
    }

    /// Cuts, in both directions, the links between members for which `is_cut` returns true.
    pub(super) fn cut(&self, is_cut: impl Fn(usize, usize) -> bool) {
        let cut = self.links.iter().filter(|link| is_cut(link.from, link.to) || is_cut(link.to, link.from));
        cut.for_each(|link| link.proxy.cut());
    }

    /// Ends every cut; data held by a cut then arrives.
    pub(super) fn heal(&self) {
        self.links.iter().for_each(|link| link.proxy.heal());
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Forwards each connection at a socket to its proxy, until the end.
fn serve(sockets: Vec<(UnixListener, String)>, ended: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime for the members' network: {error}"));
    runtime.block_on(async {
        for (listener, proxy) in sockets {
            let listener = tokio::net::UnixListener::from_std(listener)
                .unwrap_or_else(|error| panic!("the members' network has no socket: {error}"));
            tokio::spawn(async move {
                while let Ok((mut member, _)) = listener.accept().await {
                    let proxy = proxy.clone();
                    tokio::spawn(async move {
                        let mut onwards = TcpStream::connect(proxy).await?;
                        onwards.set_nodelay(true)?;
                        copy_bidirectional(&mut member, &mut onwards).await
                    });
                }
            });
        }
        let _ = ended.await;
    });
}
