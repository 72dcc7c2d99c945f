//! What a server says on its monitoring port.

use std::time::Duration;

use serde_json::Value;

/// An answer of the monitoring endpoint, `None` while there is none or it is not a success.
pub(super) fn get(port: u16, path: &str) -> Option<Value> {
    // A proxy named in the environment knows nothing of this machine's loopback.
    let agent =
        ureq::Agent::config_builder().proxy(None).timeout_global(Some(Duration::from_secs(2))).build();
    let mut answer = agent.new_agent().get(format!("http://127.0.0.1:{port}{path}")).call().ok()?;
    serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()
}

/// Whether the server serves clients, and JetStream with every stream it keeps.
pub(super) fn is_healthy(port: u16) -> bool {
    get(port, "/healthz").is_some_and(|health| health["status"] == "ok")
}

/// The name of the server that leads the cluster's JetStream, if this one sees all `size` members
/// there and up to date.
pub(super) fn meta_leader(port: u16, size: usize) -> Option<String> {
    let answer = get(port, "/jsz")?;
    let cluster = &answer["meta_cluster"];
    let leader = cluster["leader"].as_str().filter(|name| !name.is_empty())?;
    if cluster["cluster_size"].as_u64() != u64::try_from(size).ok() {
        return None;
    }
    // Only the leader knows how its followers are.
    let followers = cluster["replicas"].as_array().map_or(&[][..], Vec::as_slice);
    let well = |peer: &Value| peer["current"] == true && peer["offline"] != true;
    let known = followers.is_empty() || (followers.len() + 1 == size && followers.iter().all(well));
    known.then(|| leader.to_owned())
}

/// The name of the server that leads `stream`, as this one sees it; the first account that has it.
pub(super) fn stream_leader(port: u16, stream: &str) -> Option<String> {
    let answer = get(port, "/jsz?accounts=1&streams=1")?;
    let accounts = answer["account_details"].as_array()?;
    let mut streams = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
    let found = streams.find(|detail| detail["name"] == stream)?;
    found["cluster"]["leader"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}
