//! The settings for reaching a bucket.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;

use super::authority::Authority;
use super::context::{Context, Environment};
use super::credentials::Credentials;
use super::names;
use crate::connection::event::{ConnectionEvent, Listener};
use incumbent_store::credentials::{Secret, TlsFiles};
use incumbent_store::refusals::zero;
use incumbent_store::selectors::{self, named};
use incumbent_store::{Error, ErrorKind, Result, Settings as _};

/// The default time limit for connecting to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The expected lease by default, the same as a campaign's default.
const USUAL_LEASE: Duration = Duration::from_secs(30);
/// The shortest ping interval. Shorter ones cost traffic without benefit.
const SHORTEST_PING: Duration = Duration::from_millis(100);
/// The longest ping interval. Longer ones leave a dead connection unnoticed for minutes.
const LONGEST_PING: Duration = Duration::from_secs(20);

/// The address of a NATS JetStream key-value bucket, and the credentials for it.
///
/// These settings cover everything that a `nats://` URL can express. They hold no open resources; the files that they
/// name are read when a connection is made.
///
/// ```
/// use std::time::Duration;
/// use incumbent::store::nats::NatsSettings;
///
/// let settings = NatsSettings::new("nats://a:4222,b:4222", "elections")?
///     .credentials_file("/etc/app/app.creds")
///     .connect_timeout(Duration::from_secs(5));
/// # Ok::<(), incumbent::Error>(())
/// ```
///
/// Reads the URL of a bucket: `nats://host:4222/BUCKET?creds=FILE`. The schemes are `nats`, `tls`, `ws` and `wss`;
/// several hosts are separated by commas; `user:password@` and `token@` are percent-decoded. The parameters:
///
/// <!-- generated: parameters -->
/// | setting | meaning | by default |
/// |---|---|---|
/// | `tls_ca=FILE` | A file with the certificates to trust | the system's |
/// | `tls_cert=FILE` | A file with the client's certificate |  |
/// | `tls_key=FILE` | A file with the client's key |  |
/// | `connect_timeout=5s` | The time limit for connecting | 2 s |
/// | `context=NAME` | A context of the `nats` tool, for settings that the URL leaves out. It is in `$XDG_CONFIG_HOME/nats/context/` or `~/.config/nats/context/` | none; without a host (`nats:///BUCKET`) `$NATS_CONTEXT`, or the selected context |
/// | `creds=FILE` | A file with credentials, a JWT and an nkey seed |  |
/// | `nkey=FILE` | A file with an nkey seed |  |
/// | `token=TOKEN` | A token |  |
/// | `tls_first=true` | Whether TLS starts before the server's greeting, for servers that are configured so |  |
/// | `inbox_prefix=PREFIX` | The subject prefix for answers, if permissions require one | `_INBOX` |
/// | `domain=NAME` | The JetStream domain that holds the bucket |  |
/// | `api_prefix=PREFIX` | The subject prefix of the JetStream API, if it is imported from another account | `$JS.API` |
/// | `discover=false` | Whether to also use other servers of the cluster, as reported by the connected one. `false` if they advertise addresses that cannot be reached from here | true; false over websockets |
/// | `ping_interval=3s` | The interval of pings on the connection, which ends after three unanswered ones | a tenth of the lease, from 100 ms to 20 s |
/// | `fail_fast=true` | Whether a store that does not answer is an error | candidates wait for it |
/// <!-- end of parameters -->
///
/// A URL without a host, `nats:///BUCKET`, uses the context that `context` names, or `$NATS_CONTEXT`, or the
/// context that `nats context select` selected.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    pub(crate) bucket: String,
    pub(crate) servers: Vec<ServerAddr>,
    pub(crate) credentials: Credentials,
    pub(crate) files: TlsFiles,
    pub(crate) tls_first: bool,
    pub(crate) inbox_prefix: Option<String>,
    pub(crate) api_prefix: Option<String>,
    pub(crate) connect_timeout: Duration,
    pub(crate) discover: bool,
    pub(crate) fail_fast: bool,
    pub(crate) client_name: Option<String>,
    pub(crate) listener: Listener,
    ping_interval: Option<Duration>,
    expected_lease: Duration,
}

impl NatsSettings {
    /// Settings for a bucket on one server, or on several separated by commas, each `host`, `host:port` or a URL with
    /// the scheme `nats`, `tls`, `ws` or `wss`. A URL may carry `user:password@` or `token@`.
    ///
    /// # Errors
    /// `InvalidUrl` for an invalid server, `InvalidName` for an invalid bucket.
    pub fn new(servers: &str, bucket: &str) -> Result<Self> {
        let authority = Authority::parse(None, servers)?;
        let mut settings = Self::bare(authority.servers, bucket)?;
        settings.credentials = authority.credentials.unwrap_or_default();
        Ok(settings)
    }

    /// Settings for a bucket in a context of the `nats` tool: the named context, or `$NATS_CONTEXT`, or the context
    /// that `nats context select` selected.
    ///
    /// # Errors
    /// `Authentication` for an unusable context, `InvalidUrl` if no context is named or selected.
    pub fn from_context(name: Option<&str>, bucket: &str) -> Result<Self> {
        Self::in_context(&Environment::of_process(), name, bucket)
    }

    pub(crate) fn in_context(environment: &Environment, name: Option<&str>, bucket: &str) -> Result<Self> {
        let Some(name) = name.map(str::to_string).or_else(|| environment.selected()) else {
            return Err(Error::new(
                ErrorKind::InvalidUrl,
                "no NATS server given: give a host, or a context with ?context=NAME or $NATS_CONTEXT, or choose one \
                 with `nats context select NAME`",
            ));
        };
        selectors::check(ErrorKind::InvalidUrl, named("context", name.as_str()))?;
        Self::of_context(&name, environment.load(&name)?, bucket)
    }

    pub(crate) fn of_context(name: &str, context: Context, bucket: &str) -> Result<Self> {
        // The default server is that of the `nats` tool.
        let authority = Authority::parse(None, context.url.as_deref().unwrap_or("nats://127.0.0.1:4222"))?;
        let mut settings = Self::bare(authority.servers, bucket)?;
        settings.credentials = context.credentials.or(authority.credentials).unwrap_or_default();
        settings.files.ca = context.ca;
        settings.files.certificate = match (context.certificate, context.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(Error::new(
                    ErrorKind::Authentication,
                    format!("the NATS context {name:?} cannot be used: `cert` and `key` must both be set"),
                ));
            }
        };
        settings.tls_first = context.tls_first;
        if let Some(prefix) = context.inbox_prefix {
            settings = settings.inbox_prefix(prefix);
        }
        if let Some(domain) = context.domain {
            settings = settings.domain(&domain);
        }
        if let Some(prefix) = context.api_prefix {
            settings = settings.api_prefix(prefix);
        }
        Ok(settings)
    }

    pub(crate) fn bare(servers: Vec<ServerAddr>, bucket: &str) -> Result<Self> {
        names::check_bucket(bucket)?;
        Ok(Self {
            bucket: bucket.to_string(),
            servers,
            credentials: Credentials::Nothing,
            files: TlsFiles::default(),
            tls_first: false,
            inbox_prefix: None,
            api_prefix: None,
            connect_timeout: CONNECT_TIMEOUT,
            discover: true,
            fail_fast: false,
            client_name: None,
            listener: Listener::default(),
            ping_interval: None,
            expected_lease: USUAL_LEASE,
        })
    }

    /// The bucket's name.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Authenticates with a name and a password. Replaces earlier credentials.
    #[must_use]
    pub fn user_and_password(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.credentials = Credentials::User { name: name.into(), password: Secret::new(password) };
        self
    }

    /// A token.
    ///
    /// Replaces earlier credentials.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Credentials::Token(Secret::new(token));
        self
    }

    /// A file with an nkey seed.
    ///
    /// Replaces earlier credentials.
    #[must_use]
    pub fn nkey_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.credentials = Credentials::Seed(path.into());
        self
    }

    /// A file with credentials, a JWT and an nkey seed.
    ///
    /// Replaces earlier credentials.
    #[must_use]
    pub fn credentials_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.credentials = Credentials::File(path.into());
        self
    }

    /// A file with the certificates to trust; by default the system's.
    ///
    /// Uses TLS. The file is PEM.
    #[must_use]
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.ca = Some(path.into());
        self
    }

    /// Uses TLS with this client certificate; both files are PEM.
    #[must_use]
    pub fn tls_client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.files.certificate = Some((certificate.into(), key.into()));
        self
    }

    /// Whether TLS starts before the server's greeting, for servers that are configured so.
    #[must_use]
    pub fn tls_first(mut self, first: bool) -> Self {
        self.tls_first = first;
        self
    }

    /// The subject prefix for answers, if permissions require one; by default `_INBOX`.
    #[must_use]
    pub fn inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox_prefix = Some(without_dot(prefix.into()));
        self
    }

    /// The JetStream domain that holds the bucket.
    #[must_use]
    pub fn domain(self, domain: &str) -> Self {
        self.api_prefix(format!("$JS.{domain}.API"))
    }

    /// The subject prefix of the JetStream API, if it is imported from another account; by default `$JS.API`.
    #[must_use]
    pub fn api_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.api_prefix = Some(without_dot(prefix.into()));
        self
    }

    /// Whether to also use other servers of the cluster, as reported by the connected one; by default true; false over
    /// websockets. `false` if they advertise addresses that cannot be reached from here.
    #[must_use]
    pub fn discover(mut self, discover: bool) -> Self {
        self.discover = discover;
        self
    }

    /// The time limit for connecting; by default 2 s.
    ///
    /// After a lost connection, a server has at most a twelfth of the [expected lease](Self::expected_lease), or of the
    /// bucket's, to answer before the other servers are tried.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The interval of pings on the connection, which ends after three unanswered ones; by default a tenth of the
    /// lease, from 100 ms to 20 s.
    ///
    /// The lease is the [expected](Self::expected_lease) one.
    #[must_use]
    pub fn ping_interval(mut self, interval: Duration) -> Self {
        self.ping_interval = Some(interval);
        self
    }

    /// The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings
    /// and the time that it gives a server to answer; by default 30 s.
    #[must_use]
    pub fn expected_lease(mut self, lease: Duration) -> Self {
        self.expected_lease = lease;
        self
    }

    /// Whether a store that does not answer is an error; by default candidates wait for it.
    #[must_use]
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// Sets the connection's name in the server's monitoring; `incumbent` by default.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// Sets the listener for the connection's events, from the first attempt to connect until the store is dropped. A
    /// `Store` calls it on a separate thread, in the order of the events. An adapter that is opened directly calls it
    /// on the connection's task, so such a listener must return at once.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(ConnectionEvent) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(listener);
        self
    }

    /// The shortest expected lease.
    pub(crate) fn lease(&self) -> Duration {
        self.expected_lease
    }

    /// The ping interval in force.
    pub(crate) fn effective_ping_interval(&self) -> Duration {
        self.ping_interval.unwrap_or_else(|| (self.expected_lease / 10).clamp(SHORTEST_PING, LONGEST_PING))
    }

    /// Returns true if every connection must be encrypted.
    pub(crate) fn wants_tls(&self) -> bool {
        !self.files.is_empty() || self.tls_first || self.servers.iter().any(ServerAddr::tls_required)
    }

    /// The servers for display, without credentials.
    pub(crate) fn servers_shown(&self) -> String {
        self.servers.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// Checks the settings and files before a connection is tried.
    pub(crate) fn check_files(&self) -> Result<()> {
        if self.connect_timeout.is_zero() {
            return Err(Error::from(zero("connect_timeout")));
        }
        if self.ping_interval.is_some_and(|interval| interval.is_zero()) {
            return Err(Error::from(zero("ping_interval")));
        }
        selectors::check(ErrorKind::InvalidSetting, self.selectors())?;
        self.credentials.check()?;
        self.files.check()
    }
}

/// A server for display, without credentials.
pub(crate) fn shown(server: &ServerAddr) -> String {
    format!("{}://{}:{}", server.scheme(), server.host(), server.port())
}

/// A subject prefix without trailing dots.
fn without_dot(mut prefix: String) -> String {
    prefix.truncate(prefix.trim_end_matches('.').len());
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn settings() -> NatsSettings {
        NatsSettings::new("localhost", "b").unwrap()
    }

    #[test]
    fn pings_come_ten_times_a_lease_within_bounds() {
        let interval =
            |lease| settings().expected_lease(Duration::from_millis(lease)).effective_ping_interval();
        assert_eq!(interval(30_000), Duration::from_secs(3));
        assert_eq!(interval(500), SHORTEST_PING);
        assert_eq!(interval(3_600_000), LONGEST_PING);
        let explicit = settings().ping_interval(Duration::from_secs(60));
        assert_eq!(explicit.effective_ping_interval(), Duration::from_secs(60));
    }

    #[test]
    fn a_domain_is_a_prefix_of_the_api() {
        assert_eq!(settings().domain("hub").api_prefix.as_deref(), Some("$JS.hub.API"));
    }

    #[test]
    fn prefixes_are_taken_with_or_without_their_last_dot() {
        for prefix in ["JS.acc", "JS.acc."] {
            assert_eq!(settings().api_prefix(prefix).api_prefix.as_deref(), Some("JS.acc"));
            assert_eq!(settings().inbox_prefix(prefix).inbox_prefix.as_deref(), Some("JS.acc"));
        }
    }

    #[test]
    fn debug_shows_servers_and_no_secret() {
        let settings = NatsSettings::new("nats://ada:hunter2@one:4222", "b").unwrap();
        let shown = format!("{settings:?} {:?}", settings.clone().token("t0ken"));
        assert!(shown.contains("one") && shown.contains("ada"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains("t0ken"), "{shown}");
    }

    #[test]
    fn a_file_without_a_certificate_or_key_is_named_with_its_setting() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "not PEM").unwrap();
        let path = file.path();
        for (settings, setting) in
            [(settings().tls_ca(path), "tls_ca"), (settings().tls_client_certificate(path, path), "tls_cert")]
        {
            let error = settings.check_files().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Authentication);
            assert!(error.message().contains(setting), "{error}");
            assert!(error.message().contains(&path.display().to_string()), "{error}");
        }
    }

    #[test]
    fn intervals_of_nothing_are_refused_by_name() {
        for (settings, setting) in [
            (settings().connect_timeout(Duration::ZERO), "connect_timeout"),
            (settings().ping_interval(Duration::ZERO), "ping_interval"),
        ] {
            let error = settings.check_files().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSetting);
            assert!(error.message().contains(setting), "{error}");
        }
    }
}
