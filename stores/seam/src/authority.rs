//! The credentials and the hosts of a store's URL.
//!
//! The `url` crate cannot parse a list of hosts, so the URL is split here. No message quotes a part that may hold a
//! password.

use std::net::Ipv6Addr;

use crate::credentials::Secret;
use crate::error::{Error, ErrorKind, Result};
use crate::query::{decode, is_word};

/// A store whose URL has a list of hosts, with the wording of its errors.
pub struct Form {
    /// The scheme without TLS, and with it.
    pub scheme: &'static str,
    /// The scheme with TLS.
    pub with_tls: &'static str,
    /// The store's name, in messages.
    pub store: &'static str,
    /// The store's word for a host.
    pub host: &'static str,
    /// The default port of a host.
    pub port: u16,
    /// A hint at another cause, for a scheme that is not shown because it may be part of a password.
    pub hint: &'static str,
    /// The error for credentials that cannot be read.
    pub credentials: &'static str,
}

/// `[user:password@]host[:port],…`
pub struct Authority {
    /// Whether the scheme is the one with TLS.
    pub tls: bool,
    /// The user and the password.
    pub user: Option<(String, Secret)>,
    /// Each `host:port`.
    pub hosts: Vec<String>,
}

impl Form {
    /// Splits the part of a URL between `://` and the path.
    ///
    /// # Errors
    /// `InvalidUrl` for another scheme, and for credentials or a host that cannot be read.
    pub fn read(&self, scheme: &str, list: &str) -> Result<Authority> {
        let Self { store, with_tls, hint, .. } = self;
        let tls = scheme == self.with_tls;
        if !tls && scheme != self.scheme {
            let (shown, hint) = match is_word(scheme) {
                true => (format!("{scheme:?}"), ""),
                false => ("the part before \"://\"".to_owned(), *hint),
            };
            let plain = self.scheme;
            return Err(invalid(format!(
                "{shown} is not a scheme of {store}; use {plain}, or {with_tls} for TLS{hint}"
            )));
        }
        let (user, list) = match list.rsplit_once('@') {
            Some((user, list)) => (Some(user), list),
            None => (None, list),
        };
        let user = match user.map(|user| user.split_once(':')) {
            None => None,
            Some(Some((name, password))) if !name.is_empty() && !password.contains('@') => {
                Some((decode(self.scheme, name)?, Secret::new(decode(self.scheme, password)?)))
            }
            Some(_) => return Err(invalid(self.credentials)),
        };
        let hosts = list.split(',').enumerate().map(|(index, host)| self.address(index + 1, host.trim()));
        Ok(Authority { tls, user, hosts: hosts.collect::<Result<_>>()? })
    }

    /// A host of the list, with its port.
    fn address(&self, position: usize, host: &str) -> Result<String> {
        // Both characters searched for are one byte long, and the rest is an end of the host.
        let bare = match host.rfind(']') {
            Some(end) => &host[end + 1..],
            None => host.find(':').map_or("", |colon| &host[colon..]),
        };
        let name = &host[..host.len() - bare.len()];
        let is_named = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
            }
        };
        match bare.strip_prefix(':') {
            None if is_named && bare.is_empty() => Ok(format!("{host}:{}", self.port)),
            Some(port) if is_named && is_port(port) => Ok(host.to_owned()),
            _ => {
                let what = self.host;
                Err(invalid(format!("{what} {position} of the list is not of the form HOST:PORT")))
            }
        }
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}
