//! A server's answers on its monitoring port.

use std::time::Duration;

use serde_json::Value;

/// An answer of the monitoring endpoint, `None` while there is none or it is not a success.
pub(super) fn get(port: u16, path: &str) -> Option<Value> {
    // A proxy set in the environment cannot reach this machine's loopback.
    let agent =
        ureq::Agent::config_builder().proxy(None).timeout_global(Some(Duration::from_secs(5))).build();
    let mut answer = agent.new_agent().get(format!("http://127.0.0.1:{port}{path}")).call().ok()?;
    serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()
}

/// Returns true if the server serves clients, and JetStream with every stream it keeps.
pub(super) fn is_healthy(port: u16) -> bool {
    get(port, "/healthz").is_some_and(|health| health["status"] == "ok")
}

/// The name of the server that leads the cluster's JetStream, as this one sees it.
pub(super) fn meta_leader(port: u16) -> Option<String> {
    named(&get(port, "/jsz")?["meta_cluster"]["leader"])
}

/// The number of followers that the leader of the cluster's JetStream sees present and up to date; only it knows.
pub(super) fn meta_followers(port: u16) -> usize {
    let answer = get(port, "/jsz").unwrap_or_default();
    let replicas = answer["meta_cluster"]["replicas"].as_array().map_or(&[][..], Vec::as_slice);
    replicas.iter().filter(|peer| peer["current"] == true && peer["offline"] != true).count()
}

/// The name of the server that leads `stream`, as this one sees it, in the first account with that stream.
pub(super) fn stream_leader(port: u16, stream: &str) -> Option<String> {
    let answer = get(port, "/jsz?accounts=1&streams=1")?;
    let accounts = answer["account_details"].as_array()?;
    let mut streams = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
    let found = streams.find(|detail| detail["name"] == stream)?;
    named(&found["cluster"]["leader"])
}

fn named(leader: &Value) -> Option<String> {
    leader.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}
