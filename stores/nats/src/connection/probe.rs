//! Finds a server that answers, before the client connects to it.
//!
//! The client spends the whole time limit of a connection on each address, one after the other. A cluster may report
//! addresses that are unreachable from here, and three of them would cost a term.

use std::time::Duration;

use async_nats::ServerAddr;
use futures_util::future::{self, FutureExt as _};
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The share of the lease that may be spent on one address.
const SHARE: u32 = 12;
/// The shortest time limit for a server's answer. On a busy machine an answer takes this long even over a fast network.
const LEAST: Duration = Duration::from_millis(100);

/// The time for a server to answer: a twelfth of the lease, and at most the time limit of a whole connection.
pub(super) fn limit(lease: Duration, connect_timeout: Duration) -> Duration {
    (lease / SHARE).max(LEAST).min(connect_timeout)
}

/// Returns the first of these servers that answers. The first in the list is tried alone, and then all others at once.
/// If none answers, returns the first in the list, which may just be slow.
pub(super) async fn choose<A>(
    servers: Vec<ServerAddr>,
    answers: impl Fn(ServerAddr) -> A,
) -> Option<ServerAddr>
where
    A: Future<Output = bool>,
{
    let mut others = servers.into_iter();
    let first = others.next()?;
    if others.len() == 0 || answers(first.clone()).await {
        return Some(first);
    }
    let ask = |server: ServerAddr| answers(server.clone()).map(|does| does.then_some(server));
    let asked: FuturesOrdered<_> = others.map(ask).collect();
    Some(asked.filter_map(future::ready).next().await.unwrap_or(first))
}

/// Whether a server accepts a connection within that time and, unless TLS comes first, sends its greeting.
pub(super) async fn answers(server: ServerAddr, tls_first: bool, limit: Duration) -> bool {
    let is_greeted = !tls_first && !server.is_websocket();
    let greeting = async {
        let mut stream = TcpStream::connect((server.host(), server.port())).await?;
        match is_greeted {
            true => stream.read_u8().await.map(drop),
            false => Ok(()),
        }
    };
    timeout(limit, greeting).await.is_ok_and(|greeted| greeted.is_ok())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The server that is chosen among a, b and c if those in `well` answer, and the servers that were asked.
    async fn chosen(well: &[&str]) -> (String, Vec<String>) {
        let asked = Mutex::new(Vec::new());
        let servers = ["a", "b", "c"].map(|host| host.parse().unwrap()).to_vec();
        let chosen = choose(servers, |server| {
            asked.lock().unwrap().push(server.host().to_string());
            future::ready(well.contains(&server.host()))
        });
        let chosen = chosen.await.unwrap().host().to_string();
        (chosen, asked.into_inner().unwrap())
    }

    #[tokio::test]
    async fn a_first_server_that_answers_is_the_only_one_asked() {
        assert_eq!(chosen(&["a", "b", "c"]).await, ("a".into(), vec!["a".into()]));
    }

    #[tokio::test]
    async fn after_it_the_first_that_answers_is_chosen() {
        let all = vec!["a".to_owned(), "b".into(), "c".into()];
        assert_eq!(chosen(&["b", "c"]).await, ("b".into(), all.clone()));
        assert_eq!(chosen(&["c"]).await, ("c".into(), all));
    }

    #[tokio::test]
    async fn where_none_answers_the_first_is_tried_for_longer() {
        assert_eq!(chosen(&[]).await.0, "a");
    }

    #[test]
    fn an_address_costs_no_more_than_a_twelfth_of_the_lease() {
        let of = |lease| limit(Duration::from_secs(lease), Duration::from_secs(2));
        assert_eq!(of(12), Duration::from_secs(1));
        assert_eq!(of(1), LEAST);
        assert_eq!(of(3600), Duration::from_secs(2));
    }
}
