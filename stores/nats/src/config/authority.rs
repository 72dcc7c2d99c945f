//! The servers of a URL or a context, and the credentials before them.
//!
//! The `url` crate cannot parse a list of hosts, so the list is split here and each host is left to that crate. No
//! message quotes a part that may hold a password.

use async_nats::ServerAddr;

use super::credentials::Credentials;
use incumbent_store::credentials::Secret;
use incumbent_store::query::{decode, is_word};
use incumbent_store::{Error, ErrorKind, Result};

const SCHEMES: [&str; 4] = ["nats", "tls", "ws", "wss"];

/// A list of servers, and the credentials written before the first of them.
#[derive(Debug)]
pub(crate) struct Authority {
    /// The servers' addresses without credentials, because the client logs addresses.
    pub(crate) servers: Vec<ServerAddr>,
    pub(crate) credentials: Option<Credentials>,
}

impl Authority {
    /// Parses `[user:password@]host[:port],…`; `scheme` applies to the items without a scheme.
    pub(crate) fn parse(scheme: Option<&str>, list: &str) -> Result<Self> {
        let mut servers = Vec::new();
        let mut credentials = None;
        for (index, item) in list.split(',').map(str::trim).enumerate() {
            let (scheme, rest) = item.split_once("://").unwrap_or((scheme.unwrap_or("nats"), item));
            check_scheme(scheme)?;
            let (user, host) = match rest.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, rest),
            };
            // A trailing slash is usual in the contexts of the `nats` tool.
            let host = host.strip_suffix('/').unwrap_or(host);
            let position = index + 1;
            let broken = || invalid(format!("server {position} of the list is not of the form HOST:PORT"));
            if host.is_empty() || host.contains(['/', '?', '#']) {
                return Err(broken());
            }
            let server: ServerAddr = format!("{scheme}://{host}").parse().map_err(|_| broken())?;
            if server.host().is_empty() {
                return Err(broken());
            }
            servers.push(server);
            if let Some(user) = user {
                let given = user_info(user)?;
                if credentials.as_ref().is_some_and(|known| *known != given) {
                    return Err(invalid("the listed servers have different credentials; give one set"));
                }
                credentials = Some(given);
            }
        }
        if servers.iter().any(ServerAddr::is_websocket) && !servers.iter().all(ServerAddr::is_websocket) {
            return Err(invalid("servers with ws:// or wss:// cannot be listed with others"));
        }
        Ok(Self { servers, credentials })
    }
}

/// `name:password`, or a lone token, as every NATS client reads it.
fn user_info(text: &str) -> Result<Credentials> {
    match text.split_once(':') {
        Some((name, password)) => Ok(Credentials::User {
            name: decode("nats", name)?,
            password: Secret::new(decode("nats", password)?),
        }),
        None => Ok(Credentials::Token(Secret::new(decode("nats", text)?))),
    }
}

pub(crate) fn check_scheme(scheme: &str) -> Result<()> {
    if SCHEMES.contains(&scheme) {
        return Ok(());
    }
    let schemes = SCHEMES.join(", ");
    if !is_word(scheme) {
        return Err(invalid(format!(
            "the part before \"://\" is not a scheme of NATS; use one of {schemes}, and write : as %3A in a password"
        )));
    }
    Err(invalid(format!("{scheme:?} is not a scheme of NATS; use one of {schemes}")))
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}
