//! Conversion between the types of `wit/` and the runtime's.

mod given;
mod told;
mod wishes;

pub(crate) use given::{capabilities, fault, message, outcome, put, store_info};
pub(crate) use told::{event, lease, own_fault};
pub(crate) use wishes::{campaign_settings, refusal};
