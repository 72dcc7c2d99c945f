//! The settings for reaching an etcd cluster.

use crate::{Error, ErrorKind, Result};

/// The addresses of an etcd cluster, the prefix of its elections' keys, and the credentials for them.
#[derive(Clone, Debug)]
pub struct EtcdSettings {
    pub(super) prefix: String,
    pub(super) hosts: Vec<String>,
}

impl EtcdSettings {
    /// Elections under a prefix by URL: `etcd://host:2379/PREFIX`.
    ///
    /// # Errors
    /// `InvalidUrl` for an unreadable part.
    pub fn from_url(text: &str) -> Result<Self> {
        let Some((_, rest)) = text.split_once("://") else {
            return Err(Error::new(ErrorKind::InvalidUrl, "write etcd://HOST:2379/PREFIX"));
        };
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { prefix: prefix.to_owned(), hosts: hosts.split(',').map(str::to_owned).collect() })
    }
}
