//! Entry points for the project's fuzz targets; not part of the interface.

use std::path::Path;
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};

use crate::admin::safety;
use crate::candidates;
use crate::config::context::Environment;
use crate::config::settings::NatsSettings;
use crate::wire::bucket::Bucket;
use crate::wire::stream::{LEVEL_2_12, StreamInfo};
use crate::wire::{message, outcome};
use incumbent_store::CandidateInfo;
use incumbent_store::clock::Clock;
use incumbent_store::{Error, ErrorKind, Result};

const BUCKET: &str = "b";

/// Reads the settings from the text of a context's file.
pub fn context(text: &[u8]) -> Result<NatsSettings> {
    let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
    let context = environment.read("c", Path::new("c.json"), text)?;
    NatsSettings::of_context("c", context, BUCKET)
}

/// Encodes a write as a message.
pub fn encode(write: Write, own_lease: Option<Duration>) -> Result<(HeaderMap, Bytes), String> {
    message::encode(write, own_lease)
}

/// Decodes a stored message.
pub fn decode(sequence: u64, headers: Option<&HeaderMap>, payload: &[u8]) -> Entry {
    message::decode(sequence, headers, payload)
}

/// Classifies a server's answer to a write.
pub fn answer(payload: &[u8]) -> Outcome {
    outcome::of_answer(payload, &Bucket::new(BUCKET, None), None)
}

/// Reads the candidates of an answer to a request for candidates.
pub fn candidates(payload: &[u8]) -> Vec<CandidateInfo> {
    candidates::wire::read(payload).collect()
}

/// Writes these candidates as answers to a request, in messages of at most `limit` bytes.
pub fn candidate_answers(present: &[CandidateInfo], limit: usize) -> Vec<Bytes> {
    candidates::wire::answers(present, limit)
}

/// Reads a server's description of a stream that is safe for elections.
pub fn stream(payload: &[u8], clock: &Clock) -> Result<(Capabilities, StoreInfo)> {
    let info: StreamInfo =
        serde_json::from_slice(payload).map_err(|error| Error::new(ErrorKind::Broken, error.to_string()))?;
    safety::check(&Bucket::new(BUCKET, None), &info.config, LEVEL_2_12)?;
    Ok((info.capabilities(LEVEL_2_12), info.store_info(clock.now())))
}
