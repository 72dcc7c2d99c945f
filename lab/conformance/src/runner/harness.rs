//! The harness from the runner's side: a child process that answers requests.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::harness::{BROKER, Hello, PROTOCOL, Prepared, Reply, Request};

/// The time limit of a request. It is longer than any request takes, even if a server has to start on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A running harness.
pub(super) struct Harness {
    child: Child,
    requests: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Harness {
    /// Starts the program. `broker` is the Kafka broker that the harness uses instead of starting its own.
    pub(super) async fn start(program: &Path, broker: Option<&str>) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        command.env_remove(BROKER).envs(broker.map(|broker| (BROKER, broker)));
        let cannot = |error: io::Error| format!("cannot start {}: {error}", program.display());
        let mut child = command.spawn().map_err(cannot)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, replies) = pipes.ok_or_else(|| cannot(io::Error::other("no pipes")))?;
        let mut harness = Self { child, requests, replies: BufReader::new(replies).lines() };
        let hello: Hello = harness.hear().await?;
        if hello.protocol != PROTOCOL {
            return Err(format!("the harness speaks protocol {}, and the runner {PROTOCOL}", hello.protocol));
        }
        Ok(harness)
    }

    /// Sends a request, and waits until it is done.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<Option<Prepared>, String> {
        let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        line.push('\n');
        self.requests
            .write_all(line.as_bytes())
            .await
            .map_err(|error| format!("the harness is gone: {error}"))?;
        let reply: Reply = self.hear().await?;
        match reply.error {
            None if reply.ok => Ok(reply.prepared),
            error => Err(error.unwrap_or_else(|| "the harness refused, and gave no reason".into())),
        }
    }

    /// Ends the harness, and waits until it and all processes that it started are gone.
    pub(super) async fn end(mut self) -> Result<(), String> {
        drop(self.requests);
        match tokio::time::timeout(TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("the harness ended with {status}")),
            Ok(Err(error)) => Err(format!("cannot wait for the harness: {error}")),
            Err(_) => Err(format!("the harness did not end within {TIMEOUT:?}")),
        }
    }

    async fn hear<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, String> {
        let line = tokio::time::timeout(TIMEOUT, self.replies.next_line()).await;
        let line = line.map_err(|_| format!("the harness did not answer within {TIMEOUT:?}"))?;
        let line = line.map_err(|error| format!("the harness is gone: {error}"))?;
        let line = line.ok_or("the harness has ended")?;
        serde_json::from_str(&line).map_err(|error| format!("the harness said {line:?}: {error}"))
    }
}
