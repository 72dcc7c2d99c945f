//! The choice of the server to try next.

use async_nats::{Server, ServerAddr};

/// Rotates through the servers: never the last one tried if there is another, preferably one that has not failed, then
/// the one not tried for longest. The client's own choice is random, and after a forced reconnection it often picks the
/// server that it should leave.
#[derive(Debug, Default)]
pub(crate) struct Rotation {
    /// The servers that have been tried, the last one at the end.
    tried: Vec<ServerAddr>,
}

impl Rotation {
    /// The server tried last.
    pub(crate) fn last(&self) -> Option<&ServerAddr> {
        self.tried.last()
    }

    /// The servers in the order in which to try them.
    pub(crate) fn order(&self, pool: &[Server]) -> Vec<ServerAddr> {
        let last = self.tried.last();
        let since = |addr: &ServerAddr| self.tried.iter().position(|tried| tried == addr);
        let mut order: Vec<_> = pool.iter().collect();
        // A server that was never tried has no position, and `None` sorts before any position.
        order.sort_by_key(|server| (Some(&server.addr) == last, server.failed_attempts, since(&server.addr)));
        order.into_iter().map(|server| server.addr.clone()).collect()
    }

    /// Records the server that is tried now.
    pub(crate) fn try_now(&mut self, server: &ServerAddr, pool: &[Server]) {
        self.tried.retain(|tried| tried != server && pool.iter().any(|known| known.addr == *tried));
        self.tried.push(server.clone());
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
        let turn = |_| {
            let next = rotation.order(pool).swap_remove(0);
            rotation.try_now(&next, pool);
            next.host().to_string()
        };
        (0..count).map(turn).collect()
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
    fn the_server_tried_last_comes_after_all_others() {
        let (pool, mut rotation) = ([server("a", 0), server("b", 3), server("c", 0)], Rotation::default());
        rotation.try_now(&pool[0].addr, &pool);
        let order = rotation.order(&pool);
        assert_eq!(order.iter().map(ServerAddr::host).collect::<Vec<_>>(), ["c", "b", "a"]);
    }

    #[test]
    fn a_lone_server_is_tried_again() {
        assert_eq!(turns(&mut Rotation::default(), &[server("a", 9)], 2), ["a", "a"]);
    }
}
