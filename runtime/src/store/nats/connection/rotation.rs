//! The choice of the server to try next.

use async_nats::{Server, ServerAddr};

/// Rotates through the servers: never the server tried last where there is another, rather one that
/// did not fail, rather one not tried for long. The client's own choice is random, and after a
/// forced reconnection is often the server to leave.
#[derive(Debug, Default)]
pub(in crate::store::nats) struct Rotation {
    /// The servers tried, the last one at the end.
    tried: Vec<ServerAddr>,
}

impl Rotation {
    /// The server tried last.
    pub(in crate::store::nats) fn last(&self) -> Option<&ServerAddr> {
        self.tried.last()
    }

    /// The server to try; `None` for an empty pool.
    pub(in crate::store::nats) fn next(&mut self, pool: &[Server]) -> Option<ServerAddr> {
        let last = self.tried.last();
        let others = pool.iter().filter(|server| pool.len() == 1 || Some(&server.addr) != last);
        let since = |addr: &ServerAddr| self.tried.iter().position(|tried| tried == addr);
        // `None`, never tried, sorts before any position.
        let next = others.min_by_key(|server| (server.failed_attempts, since(&server.addr)))?.addr.clone();
        self.tried.retain(|tried| *tried != next && pool.iter().any(|server| server.addr == *tried));
        self.tried.push(next.clone());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, failed_attempts: usize) -> Server {
        Server {
            addr: host.parse().unwrap(),
            failed_attempts,
            did_connect: false,
            is_discovered: false,
            last_error: None,
        }
    }

    fn turns(rotation: &mut Rotation, pool: &[Server], count: usize) -> Vec<String> {
        (0..count).map(|_| rotation.next(pool).unwrap().host().to_string()).collect()
    }

    #[test]
    fn servers_that_are_well_take_turns() {
        let pool = [server("a", 0), server("b", 0), server("c", 0)];
        assert_eq!(turns(&mut Rotation::default(), &pool, 5), ["a", "b", "c", "a", "b"]);
    }

    #[test]
    fn the_server_tried_last_is_left_even_for_one_that_failed() {
        let pool = [server("a", 0), server("b", 3)];
        assert_eq!(turns(&mut Rotation::default(), &pool, 3), ["a", "b", "a"]);
    }

    #[test]
    fn a_server_that_did_not_fail_goes_before_one_that_did() {
        let pool = [server("a", 0), server("b", 3), server("c", 0)];
        assert_eq!(turns(&mut Rotation::default(), &pool, 4), ["a", "c", "a", "c"]);
    }

    #[test]
    fn a_lone_server_is_tried_again() {
        assert_eq!(turns(&mut Rotation::default(), &[server("a", 9)], 2), ["a", "a"]);
    }
}
