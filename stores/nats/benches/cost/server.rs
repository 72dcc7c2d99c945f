//! A server with a bucket, and its counters.

use std::thread::sleep;
use std::time::Duration;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::processor_time;
use serde_json::Value;

use crate::bucket::bucket;

pub(crate) const BUCKET: &str = "COST";

/// A running server.
pub(crate) struct Server(NatsServer);

/// What a server counted.
pub(crate) struct Counters {
    /// The messages that the bucket's stream has stored.
    pub(crate) writes: f64,
    /// Requests to JetStream's API, not counting writes and direct reads.
    pub(crate) requests: f64,
    pub(crate) messages_in: f64,
    pub(crate) messages_out: f64,
    /// The bytes of messages, including headers.
    pub(crate) bytes_in: f64,
    pub(crate) bytes_out: f64,
    /// Seconds.
    pub(crate) processor: f64,
}

impl Server {
    /// Starts a server, and makes a bucket for leases of that length.
    pub(crate) fn start(lease: Duration) -> Self {
        let server = NatsServer::start(Options::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(bucket(&server, BUCKET, lease, false));
        Self(server)
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    /// The counts during this time.
    pub(crate) fn count(&self, span: Duration) -> Counters {
        let before = self.read();
        sleep(span);
        let after = self.read();
        Counters {
            writes: after.writes - before.writes,
            requests: after.requests - before.requests,
            messages_in: after.messages_in - before.messages_in,
            messages_out: after.messages_out - before.messages_out,
            bytes_in: after.bytes_in - before.bytes_in,
            bytes_out: after.bytes_out - before.bytes_out,
            processor: after.processor - before.processor,
        }
    }

    /// The counts since its start.
    fn read(&self) -> Counters {
        let processor = processor_time(self.0.pid()).as_secs_f64();
        let answer = |path| self.0.monitoring(path).expect("the server answers");
        let number = |value: &Value| value.as_f64().expect("a number");
        let (all, jetstream) = (answer("/varz"), answer("/jsz?accounts=1&streams=1"));
        let stream = &jetstream["account_details"][0]["stream_detail"][0];
        Counters {
            writes: number(&stream["state"]["last_seq"]),
            requests: number(&jetstream["api"]["total"]),
            messages_in: number(&all["in_msgs"]),
            messages_out: number(&all["out_msgs"]),
            bytes_in: number(&all["in_bytes"]),
            bytes_out: number(&all["out_bytes"]),
            processor,
        }
    }
}
