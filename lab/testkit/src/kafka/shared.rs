//! One broker for the tests of many processes, because each start of Java costs seconds of a processor.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Kafka;
use super::admin::Admin;
use crate::tools::KafkaVersion;

/// The environment variable with the address of a running broker of the newest version: `cargo xtask test` sets it.
pub const SHARED: &str = "INCUMBENT_TESTS_KAFKA";

/// A broker of the newest version for a test that does not disturb others: the test stops no broker, and its groups and
/// topics have unique names.
#[derive(Debug)]
pub struct Shared {
    address: String,
    /// The broker that this process started, if no other process started one.
    _own: Option<Kafka>,
}

impl Shared {
    /// Returns the broker that [`SHARED`] names. If the variable is not set, starts one for this process, which ends
    /// with its last user.
    ///
    /// # Panics
    /// Like [`Kafka::start`].
    #[track_caller]
    pub fn broker() -> Arc<Self> {
        static STARTED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(broker) = started.upgrade() {
            return broker;
        }
        let broker = match std::env::var(SHARED) {
            Ok(address) => Self { address, _own: None },
            Err(_) => {
                let own = Kafka::start(KafkaVersion::default());
                Self { address: own.address(), _own: Some(own) }
            }
        };
        let broker = Arc::new(broker);
        *started = Arc::downgrade(&broker);
        broker
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// An operator of it.
    pub fn admin(&self) -> Admin {
        Admin::new(self.address())
    }
}
