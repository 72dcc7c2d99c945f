//! The settings for reaching an etcd cluster, and their URL.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::keys::Keys;
use super::refusals;
use incumbent_store::authority::{Authority, Form};
use incumbent_store::credentials::{Secret, TlsFiles, unusable};
use incumbent_store::refusals as shared;
use incumbent_store::selectors;
use incumbent_store::{Error, ErrorKind, Result, Settings as _};

/// The time limit for connecting to a member, with TLS; 2 s, as for NATS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The form of a URL, as errors show it.
pub(super) const FORM: &str = "etcd://HOST:2379/PREFIX";
/// The hosts of a URL. The port is etcd's own default.
const AUTHORITY: Form = Form {
    scheme: "etcd",
    with_tls: "etcds",
    store: "etcd",
    host: "member",
    port: 2379,
    hint: ", and write : as %3A in a password",
    credentials: "the URL's credentials must be user:password@, once and before the first host; write @ as %40, and : \
        in a name as %3A",
};

/// The addresses of an etcd cluster, the prefix of its elections' keys, and the credentials for them.
///
/// These settings cover everything that an `etcd://` URL can express. They hold no open resources; the files that they
/// name are read when a connection is made.
///
/// ```
/// use std::time::Duration;
/// use incumbent::store::EtcdSettings;
///
/// let settings = EtcdSettings::new("etcds://a:2379,b:2379")?
///     .prefix("elections")
///     .tls_ca("/etc/app/ca.pem")
///     .user_and_password("app", "secret")
///     .connect_timeout(Duration::from_secs(5));
/// # Ok::<(), incumbent::Error>(())
/// ```
///
/// Reads the URL of elections under a prefix: `etcd://host:2379/PREFIX`. The scheme `etcds` encrypts; several hosts
/// are separated by commas; `user:password@` is percent-decoded. The parameters:
///
/// <!-- generated: parameters -->
/// | setting | meaning | by default |
/// |---|---|---|
/// | `tls_ca=FILE` | A file with the certificates to trust | the system's |
/// | `tls_cert=FILE` | A file with the client's certificate |  |
/// | `tls_key=FILE` | A file with the client's key |  |
/// | `connect_timeout=5s` | The time limit for connecting | 2 s |
/// | `fail_fast=true` | Whether a store that does not answer is an error | candidates wait for it |
/// <!-- end of parameters -->
///
/// The keys of an election `jobs` are those under `PREFIX/jobs/`, or under `jobs/` without a prefix. For keys that
/// begin with a slash, write two: `etcd://host:2379//app`.
#[derive(Clone, Debug)]
pub struct EtcdSettings {
    pub(super) prefix: String,
    /// `host:port`.
    pub(super) hosts: Vec<String>,
    pub(super) user: Option<User>,
    pub(super) connect_timeout: Duration,
    pub(super) fail_fast: bool,
    pub(super) tls: bool,
    pub(super) files: TlsFiles,
}

/// A user of etcd's role-based access control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) password: Secret,
}

impl EtcdSettings {
    /// Settings for one member, or for several separated by commas, each `host` or `host:port`. The scheme `etcd://` or
    /// `etcds://` (with TLS) and `user:password@` may precede the first. The elections have no prefix, so `etcdctl
    /// elect` finds them under the same name.
    ///
    /// # Errors
    /// `InvalidUrl` for an invalid member.
    pub fn new(hosts: &str) -> Result<Self> {
        let (scheme, rest) = hosts.split_once("://").unwrap_or(("etcd", hosts));
        Self::of_authority(scheme, rest)
    }

    pub(super) fn of_authority(scheme: &str, list: &str) -> Result<Self> {
        let Authority { tls, user, hosts } = AUTHORITY.read(scheme, list)?;
        Ok(Self {
            prefix: String::new(),
            hosts,
            user: user.map(|(name, password)| User { name, password }),
            connect_timeout: CONNECT_TIMEOUT,
            fail_fast: false,
            tls,
            files: TlsFiles::default(),
        })
    }

    /// Sets the prefix of the elections' keys. A non-empty prefix ends with a slash, which is added if missing.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        if !self.prefix.is_empty() && !self.prefix.ends_with('/') {
            self.prefix.push('/');
        }
        self
    }

    /// Authenticates with a name and a password.
    #[must_use]
    pub fn user_and_password(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some(User { name: name.into(), password: Secret::new(password) });
        self
    }

    /// A file with the certificates to trust; by default the system's.
    ///
    /// Uses TLS. The file is PEM.
    #[must_use]
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        (self.tls, self.files.ca) = (true, Some(path.into()));
        self
    }

    /// Uses TLS with this client certificate; both files are PEM. Without a user name in the settings, a server with
    /// `--client-cert-auth` takes the certificate's common name as the user.
    #[must_use]
    pub fn tls_client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        (self.tls, self.files.certificate) = (true, Some((certificate.into(), key.into())));
        self
    }

    /// The time limit for connecting; by default 2 s.
    ///
    /// It includes TLS, and applies to each member.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Whether a store that does not answer is an error; by default candidates wait for it.
    #[must_use]
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// The name of the user, if there is one.
    pub fn user_name(&self) -> Option<&str> {
        self.user.as_ref().map(|user| user.name.as_str())
    }

    /// The members for display, without credentials.
    pub(super) fn servers_shown(&self) -> String {
        self.hosts.join(", ")
    }

    pub(super) fn keys(&self) -> Keys {
        Keys::new(self.prefix.clone())
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.tls
    }

    pub(super) fn has_certificate(&self) -> bool {
        self.files.certificate.is_some()
    }

    /// Checks the settings and files before a connection is tried.
    pub(super) fn check(&self) -> Result<()> {
        if self.keys().is_of_another() {
            return Err(Error::from(refusals::prefix_of_ours(&self.prefix)));
        }
        if self.connect_timeout.is_zero() {
            return Err(Error::from(shared::zero("connect_timeout")));
        }
        selectors::check(ErrorKind::InvalidSetting, self.selectors())?;
        self.files.check()
    }

    /// The endpoint of a member, by `host:port`. Reads the files for TLS.
    pub(super) fn endpoint(&self, host: &str) -> Result<Endpoint> {
        let scheme = if self.tls { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{host}"));
        let endpoint =
            endpoint.map_err(|_| invalid(format!("{host:?} is not the address of an etcd member")))?;
        let endpoint = endpoint.connect_timeout(self.connect_timeout);
        if !self.tls {
            return Ok(endpoint);
        }
        let read = |path: &PathBuf, setting, what| fs::read(path).map_err(|_| unusable(path, setting, what));
        let mut tls = ClientTlsConfig::new().timeout(self.connect_timeout);
        tls = match &self.files.ca {
            Some(ca) => tls.ca_certificate(Certificate::from_pem(read(ca, "tls_ca", "certificate")?)),
            None => tls.with_native_roots(),
        };
        if let Some((certificate, key)) = &self.files.certificate {
            let certificate = read(certificate, "tls_cert", "certificate")?;
            tls = tls.identity(Identity::from_pem(certificate, read(key, "tls_key", "private key")?));
        }
        endpoint.tls_config(tls).map_err(|error| {
            Error::named(ErrorKind::Authentication, refusals::unfit_files()).caused_by(error)
        })
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let error = EtcdSettings::from_url(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{text}: {error}");
        error.message().to_owned()
    }

    #[test]
    fn one_host_and_a_prefix_that_ends_with_a_slash() {
        for (url, prefix) in [
            ("etcd://localhost/prod", "prod/"),
            ("etcd://localhost/prod/", "prod/"),
            ("etcd://localhost/a/b%40c", "a/b@c/"),
            ("etcd://localhost//prod", "/prod/"),
            ("etcd://localhost/", ""),
            ("etcd://localhost", ""),
        ] {
            let settings = EtcdSettings::from_url(url).unwrap();
            assert_eq!(
                (settings.prefix.as_str(), settings.servers_shown().as_str()),
                (prefix, "localhost:2379")
            );
            assert!(!settings.uses_tls());
        }
    }

    #[test]
    fn several_hosts_share_the_scheme_and_the_user() {
        let settings = EtcdSettings::from_url("etcds://ada:p%40ss%2C@a:1,b,[::1]:3,[::1]/x").unwrap();
        assert_eq!(settings.servers_shown(), "a:1, b:2379, [::1]:3, [::1]:2379");
        let user = User { name: "ada".into(), password: Secret::new("p@ss,") };
        assert_eq!(settings.user, Some(user));
        assert!(settings.uses_tls());
    }

    #[test]
    fn every_parameter_is_taken() {
        let url =
            "etcds://a/x?tls_ca=/ca%20dir/ca.pem&tls_cert=c&tls_key=k&connect_timeout=1500ms&fail_fast=true";
        let settings = EtcdSettings::from_url(url).unwrap();
        assert_eq!(settings.files.ca, Some("/ca dir/ca.pem".into()));
        assert_eq!(settings.files.certificate, Some(("c".into(), "k".into())));
        assert_eq!(settings.connect_timeout, Duration::from_millis(1500));
        assert!(settings.fail_fast);
    }

    #[test]
    fn malformed_urls_say_what_is_wrong() {
        for (url, why) in [
            ("etcd:a/b", "\"://\" is missing"),
            ("http://a/b", "\"http\" is not a scheme"),
            ("etcd://", "member 1 of the list"),
            ("etcd:///b", "member 1 of the list"),
            ("etcd://a:port/b", "member 1 of the list"),
            ("etcd://a:0/b", "member 1 of the list"),
            ("etcd://a:99999/b", "member 1 of the list"),
            ("etcd://a:/b", "member 1 of the list"),
            ("etcd://a:1,/b", "member 2 of the list"),
            ("etcd://a:1,b c/b", "member 2 of the list"),
            ("etcd://:2379/b", "member 1 of the list"),
            ("etcd://a/b#c", "no part after #"),
            ("etcd://u:x/y@a/b", "password contains /"),
            ("etcd://u@a/b", "user:password@"),
            ("etcd://:x@a/b", "user:password@"),
            ("etcd://u:x@a,v:y@b/b", "user:password@"),
            ("etcd://u:%FF@a/b", "is not UTF-8"),
            ("etcd://a/%FF", "is not UTF-8"),
            ("etcds://a/b?tls_ca=", "tls_ca is empty"),
            ("etcds://a/b?tls_ca=x&tls_ca=y", "gives tls_ca twice"),
            ("etcds://a/b?tls_cert=x", "needs tls_key"),
            ("etcds://a/b?tls_key=x", "needs tls_cert"),
            ("etcd://a/b?tls_ca=x", "write etcds://"),
            ("etcd://a/b?connect_timeout=2", "connect_timeout=2"),
            ("etcd://a/b?fail_fast=yes", "write true or false"),
            (
                "etcd://a/b?prefix=x",
                "the parameters are tls_ca, tls_cert, tls_key, connect_timeout, fail_fast",
            ),
        ] {
            let message = message(url);
            assert!(message.contains(why), "{url}: {message}");
        }
    }

    #[test]
    fn no_message_and_no_debug_output_shows_a_password() {
        for url in [
            "etcd://u:hunter2/@a/b",
            "etcd://u:hunter2",
            "etcd://u:hunter2/b",
            "etcd://u:hunter2@/b",
            "etcd://u:hunter2@a:x/b",
            "etcd://u:1/b?hunter2@a/b",
            "etcd://u:1@a/b?hunter2@&hunter2@a/b",
            "u:hunter2@a/b://",
        ] {
            let error = EtcdSettings::from_url(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}: {error:?}");
        }
        let settings = EtcdSettings::from_url("etcd://ada:hunter2@a/b").unwrap();
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn a_prefix_among_the_keys_that_incumbent_keeps_is_refused() {
        for url in ["etcd://a/.incumbent", "etcd://a/app/.incumbent/jobs"] {
            let refused = EtcdSettings::from_url(url).unwrap().check().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidSetting, "{refused}");
        }
        EtcdSettings::from_url("etcd://a/app/.incumbents").unwrap().check().unwrap();
    }

    #[test]
    fn files_that_cannot_be_read_are_named_with_their_setting() {
        let missing = EtcdSettings::new("a").unwrap().tls_ca("/nowhere/ca.pem").check().unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Authentication);
        assert!(missing.message().contains("/nowhere/ca.pem that `tls_ca` names"), "{missing}");
        let zero = EtcdSettings::new("a").unwrap().connect_timeout(Duration::ZERO).check().unwrap_err();
        assert_eq!(zero.kind(), ErrorKind::InvalidSetting);
    }
}
