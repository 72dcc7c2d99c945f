//! A server's answers on its monitoring port.

use std::time::Duration;

use serde_json::Value;

/// Returns an answer of the monitoring endpoint, or `None` if the endpoint does not answer with success.
pub(super) fn get(port: u16, path: &str) -> Option<Value> {
    // Ignores the environment's proxy, which could not reach this machine's loopback interface.
    let agent =
        ureq::Agent::config_builder().proxy(None).timeout_global(Some(Duration::from_secs(5))).build();
    let mut answer = agent.new_agent().get(format!("http://127.0.0.1:{port}{path}")).call().ok()?;
    serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()
}

/// Returns true if the server serves clients, and JetStream serves every stream that the server keeps.
pub(super) fn is_healthy(port: u16) -> bool {
    get(port, "/healthz").is_some_and(|health| health["status"] == "ok")
}

/// The name of the server that leads the cluster's JetStream, according to the server at `port`.
pub(super) fn meta_leader(port: u16) -> Option<String> {
    named(&get(port, "/jsz")?["meta_cluster"]["leader"])
}

/// Returns the number of followers that are present and up to date, according to the leader of the cluster's JetStream.
/// Only the leader knows this number.
pub(super) fn meta_followers(port: u16) -> usize {
    let answer = get(port, "/jsz").unwrap_or_default();
    let replicas = answer["meta_cluster"]["replicas"].as_array().map_or(&[][..], Vec::as_slice);
    replicas.iter().filter(|peer| peer["current"] == true && peer["offline"] != true).count()
}

/// The name of the server that leads `stream` in the first account with that stream, according to the server at `port`.
pub(super) fn stream_leader(port: u16, stream: &str) -> Option<String> {
    let answer = get(port, "/jsz?accounts=1&streams=1")?;
    named(&detail(&answer, stream)?["cluster"]["leader"])
}

/// The number of messages in `stream`; in a bucket without markers and tombstones, the number of its records.
pub(super) fn messages(port: u16, stream: &str) -> Option<u64> {
    messages_in(&get(port, "/jsz?accounts=1&streams=1")?, stream)
}

fn messages_in(answer: &Value, stream: &str) -> Option<u64> {
    detail(answer, stream)?["state"]["messages"].as_u64()
}

/// The messages and bytes that the server has not sent to clients yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The number of messages still to be sent to each consumer of the stream. An abandoned consumer remains for some
    /// seconds, in which its number grows.
    pub messages: Vec<u64>,
    /// The total number of bytes that wait in the server for clients to read.
    pub bytes: u64,
}

pub(super) fn backlog(port: u16, stream: &str) -> Option<Backlog> {
    let streams = get(port, "/jsz?accounts=1&streams=1&consumers=1")?;
    backlog_in(&streams, stream, &get(port, "/connz")?)
}

fn backlog_in(streams: &Value, stream: &str, connections: &Value) -> Option<Backlog> {
    let consumers = detail(streams, stream)?["consumer_detail"].as_array().map_or(&[][..], Vec::as_slice);
    let connections = connections["connections"].as_array()?;
    Some(Backlog {
        messages: consumers.iter().filter_map(|consumer| consumer["num_pending"].as_u64()).collect(),
        bytes: connections.iter().filter_map(|connection| connection["pending_bytes"].as_u64()).sum(),
    })
}

/// The part of `/jsz` about `stream`, in the first account with that stream.
fn detail<'a>(answer: &'a Value, stream: &str) -> Option<&'a Value> {
    let accounts = answer["account_details"].as_array()?;
    let mut streams = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
    streams.find(|detail| detail["name"] == stream)
}

fn named(leader: &Value) -> Option<String> {
    leader.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_of_a_bucket_are_the_messages_of_its_stream() {
        let answer = serde_json::json!({"account_details": [
            {"stream_detail": [{"name": "KV_OTHER", "state": {"messages": 7}}]},
            {"stream_detail": [{"name": "KV_OURS", "state": {"messages": 100_000, "last_seq": 5}}]},
        ]});
        assert_eq!(messages_in(&answer, "KV_OURS"), Some(100_000));
        assert_eq!(messages_in(&answer, "KV_NONE"), None);
    }

    #[test]
    fn a_backlog_is_what_consumers_and_connections_have_to_be_sent() {
        let streams = serde_json::json!({"account_details": [{"stream_detail": [
            {"name": "KV_OURS", "consumer_detail": [{"num_pending": 3}, {"num_pending": 40}]},
        ]}]});
        let connections = serde_json::json!({"connections": [{"pending_bytes": 0}, {"pending_bytes": 512}]});
        let expected = Backlog { messages: vec![3, 40], bytes: 512 };
        assert_eq!(backlog_in(&streams, "KV_OURS", &connections), Some(expected));
    }
}
