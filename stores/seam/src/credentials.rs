//! Secrets, and the files that TLS needs.

use std::fmt;
use std::path::PathBuf;

pub use pem::unusable;
use pem::{check_certificates, check_private_key};

use crate::error::Result;
use crate::query::{Query, unfit};
use crate::refusals;

/// A password or token. `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, which may be sent only to the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The files for TLS, each in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates to trust; `None` for the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl TlsFiles {
    /// Takes the files that the parameters of a URL name, in place of earlier ones.
    ///
    /// # Errors
    /// `InvalidUrl` for a certificate without its key, and for a key without its certificate.
    pub fn take(&mut self, query: &mut Query) -> Result<()> {
        if let Some(path) = query.text("tls_ca")? {
            self.ca = Some(path.into());
        }
        match (query.text("tls_cert")?, query.text("tls_key")?) {
            (Some(certificate), Some(key)) => self.certificate = Some((certificate.into(), key.into())),
            (None, None) => {}
            (Some(_), None) => return Err(unfit(refusals::certificate_alone())),
            (None, Some(_)) => return Err(unfit(refusals::key_alone())),
        }
        Ok(())
    }

    /// Returns true if no file is named.
    pub fn is_empty(&self) -> bool {
        self.ca.is_none() && self.certificate.is_none()
    }

    /// Checks that each file holds what it should.
    ///
    /// # Errors
    /// `Authentication`, with the file and its setting.
    pub fn check(&self) -> Result<()> {
        if let Some(ca) = &self.ca {
            check_certificates(ca, "tls_ca")?;
        }
        if let Some((certificate, key)) = &self.certificate {
            check_certificates(certificate, "tls_cert")?;
            check_private_key(key, "tls_key")?;
        }
        Ok(())
    }
}

/// The files that no other library reads.
mod pem {
    use std::path::Path;

    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};

    use crate::error::{Error, ErrorKind, Result};
    use crate::refusals;

    /// Checks that a file holds certificates; the error names the setting.
    pub(super) fn check_certificates(path: &Path, setting: &'static str) -> Result<()> {
        let unusable = || unusable(path, setting, "certificate");
        let certificates = CertificateDer::pem_file_iter(path).map_err(|_| unusable())?;
        let certificates =
            certificates.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| unusable())?;
        if certificates.is_empty() { Err(unusable()) } else { Ok(()) }
    }

    /// Checks that a file holds a private key; the error names the setting.
    pub(super) fn check_private_key(path: &Path, setting: &'static str) -> Result<()> {
        // The library's own error may quote from the key, so it is left out.
        PrivateKeyDer::from_pem_file(path).map(drop).map_err(|_| unusable(path, setting, "private key"))
    }

    /// The error for a file that cannot be read, or that holds something other than the setting requires.
    pub fn unusable(path: &Path, setting: &'static str, what: &str) -> Error {
        let unreadable = refusals::unusable_file(&path.display().to_string(), setting, what);
        Error::named(ErrorKind::Authentication, unreadable)
    }
}
