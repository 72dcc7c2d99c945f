//! The simulated store: one bucket with one election's key, kept by one server or three.

pub(crate) mod bucket;
pub(crate) mod cluster;

pub(crate) use bucket::Bucket;
pub(crate) use cluster::{Cluster, Route};
