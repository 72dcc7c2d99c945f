//! What the project's fuzz targets reach for; no part of the interface.

use std::path::Path;
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};

use super::NatsSettings;
use super::admin::safety;
use super::roll;
use super::wire::{message, outcome};
use crate::clock::Clock;
use crate::store::CandidateInfo;
use crate::store::nats::config::context::Environment;
use crate::store::nats::wire::api::Bucket;
use crate::store::nats::wire::stream::{LEVEL_2_12, StreamInfo};
use crate::{Error, ErrorKind, Result};

const BUCKET: &str = "b";

/// The settings that the file of a context of this text gives.
pub fn context(text: &[u8]) -> Result<NatsSettings> {
    let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
    let context = environment.read("c", Path::new("c.json"), text)?;
    NatsSettings::of_context("c", context, BUCKET)
}

/// A write as a message.
pub fn encode(write: &Write, own_lease: Option<Duration>) -> Result<(HeaderMap, Bytes), String> {
    message::encode(write, own_lease)
}

/// A stored message as an entry.
pub fn decode(sequence: u64, headers: Option<&HeaderMap>, payload: &[u8]) -> Entry {
    message::decode(sequence, headers, payload)
}

/// What a server's answer to a write says.
pub fn answer(payload: &[u8]) -> Outcome {
    outcome::of_answer(payload, &Bucket::new(BUCKET, None), None)
}

/// Whom an answer to a roll call tells of.
pub fn roll(payload: &[u8]) -> Vec<CandidateInfo> {
    roll::wire::read(payload).collect()
}

/// The answers to a roll call that tell of these, in messages of so many bytes.
pub fn roll_answers(present: &[CandidateInfo], limit: usize) -> Vec<Bytes> {
    roll::wire::answers(present, limit)
}

/// What a server's description of a stream says, of one that an election may use.
pub fn stream(payload: &[u8], clock: &Clock) -> Result<(Capabilities, StoreInfo)> {
    let info: StreamInfo =
        serde_json::from_slice(payload).map_err(|error| Error::new(ErrorKind::Broken, error.to_string()))?;
    safety::check(&Bucket::new(BUCKET, None), &info.config, LEVEL_2_12)?;
    Ok((info.capabilities(LEVEL_2_12), info.store_info(clock.now())))
}
