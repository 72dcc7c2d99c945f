//! The programs of `lab/interop/go`, on the official Go client; `lab/interop/README.md` describes what they print.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::json::JsonProgram;
use crate::{tools, wait};

/// Starts a candidate that follows the rules of `nats-kv-leader-elect`, without splay. Its TTL is `ttl`, or the
/// bucket's if that is `None`.
///
/// # Panics
/// When the program is not built; the message names the remedy.
#[track_caller]
pub fn candidate(url: &str, bucket: &str, key: &str, name: &str, ttl: Option<Duration>) -> JsonProgram {
    let mut command = program("candidate", url, bucket, key);
    command.args(["-name", name, "-no-splay"]);
    if let Some(ttl) = ttl {
        command.arg("-ttl").arg(format!("{}ms", ttl.as_millis()));
    }
    JsonProgram::on_stdout(command)
}

/// Starts a watcher of one key.
///
/// # Panics
/// When the program is not built; the message names the remedy.
#[track_caller]
pub fn watch(url: &str, bucket: &str, key: &str) -> JsonProgram {
    JsonProgram::on_stdout(program("watch", url, bucket, key))
}

/// Makes the official client `Create` the key.
///
/// # Errors
/// The client's error message if it is refused.
///
/// # Panics
/// When the program is not built, or fails otherwise.
#[track_caller]
pub fn create(url: &str, bucket: &str, key: &str, value: &str) -> Result<u64, String> {
    update(url, bucket, key, value, 0)
}

/// Makes the official client `Update` the key from `revision`.
///
/// # Errors
/// The client's error message if it is refused.
///
/// # Panics
/// When the program is not built, or fails otherwise.
#[track_caller]
pub fn update(url: &str, bucket: &str, key: &str, value: &str, revision: u64) -> Result<u64, String> {
    let mut command = program("write", url, bucket, key);
    command.args(["-value", value, "-revision", &revision.to_string()]);
    let mut write = JsonProgram::on_stdout(command);
    let status = write.wait(wait::GENEROUS * 2);
    let lines = write.lines();
    let [line] = lines.as_slice() else { panic!("{status}, and no outcome: {lines:?}") };
    match (&line["event"], &line["error"], line["revision"].as_u64()) {
        (Value::String(event), _, Some(revision)) if event == "written" => Ok(revision),
        (_, Value::String(error), _) => Err(error.clone()),
        _ => panic!("no outcome: {line}"),
    }
}

#[track_caller]
fn program(name: &str, url: &str, bucket: &str, key: &str) -> Command {
    let program = tools::go_program(name).unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(program);
    command.args(["-url", url, "-bucket", bucket, "-key", key]);
    command
}
