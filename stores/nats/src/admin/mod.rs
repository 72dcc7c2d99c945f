//! An operator's writes; creating, checking and describing a bucket.

pub(crate) mod asked;
pub(crate) mod difference;
pub(crate) mod init;
pub(crate) mod permissions;
pub(crate) mod safety;
pub(crate) mod survey;

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use incumbent_core::Revision;
use incumbent_core::store::{Fault, FaultKind, Outcome};

use crate::adapter::Nats;
use crate::wire::api;
use crate::wire::message;
use incumbent_store::StoreAdmin;

#[async_trait]
impl StoreAdmin for Nats {
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        Self::applied(key, self.publish(key, None, Bytes::copy_from_slice(value)).await?)
    }

    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        Self::applied(key, self.publish(key, Some(message::tombstone()), Bytes::new()).await?)
    }

    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        let headers = message::tombstone_over(revision);
        match self.publish(key, Some(headers), Bytes::new()).await? {
            // Another write has changed the revision, or is in flight and will change it.
            Outcome::Refused { .. } | Outcome::Busy => Ok(None),
            outcome => Self::applied(key, outcome).map(Some),
        }
    }
}

impl Nats {
    /// Publishes outside any campaign. Nothing is queued: the message is sent now or not at all.
    async fn publish(&self, key: &str, headers: Option<HeaderMap>, payload: Bytes) -> Result<Outcome, Fault> {
        let bucket = &self.api.bucket;
        let sent = self.api.connection.ask(bucket.write_subject(key), headers, payload).await;
        let answer = sent.map_err(|error| api::no_answer_fault(&error, bucket))?;
        Ok(self.outcome(&answer.payload))
    }

    /// The revision of a write that must have been applied.
    fn applied(key: &str, outcome: Outcome) -> Result<Revision, Fault> {
        match outcome {
            Outcome::Applied { revision, .. } => Ok(revision),
            Outcome::Failed(fault) => Err(fault),
            Outcome::Refused { .. }
            | Outcome::Conflict
            | Outcome::Busy
            | Outcome::NotSent
            | Outcome::Unknown => Err(Fault {
                kind: FaultKind::Unreachable,
                detail: format!("it is not known whether NATS changed the key {key:?}: try again"),
            }),
        }
    }
}
