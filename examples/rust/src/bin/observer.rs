//! Prints who leads an election, and every change, without taking part.
//!
//! ```sh
//! cargo run -p incumbent-examples --bin observer -- sqlite:elections.db cron
//! ```

use incumbent::{Result, Store};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".into());
    let election = arguments.next().unwrap_or_else(|| "cron".into());

    let store = Store::open(&url).await?;
    let mut observer = store.observe(&election).await?;
    // The first observation is the current leader; the stream ends when the store is closed.
    while let Some(observation) = observer.next().await {
        match observation.leader {
            Some(leader) => println!("leader: {}", leader.name),
            None => println!("no leader"),
        }
    }
    Ok(())
}
