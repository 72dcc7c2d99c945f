//! Secrets, and the files that TLS needs.

use std::fmt;

pub use pem::unusable;
pub use pem::{check_certificates, check_private_key};

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

/// The files that no other library reads.
mod pem {
    use std::path::Path;

    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};

    use crate::refusals;
    use crate::{Error, ErrorKind, Result};

    /// Checks that a file holds certificates; the error names the setting.
    pub fn check_certificates(path: &Path, setting: &'static str) -> Result<()> {
        let unusable = || unusable(path, setting, "certificate");
        let certificates = CertificateDer::pem_file_iter(path).map_err(|_| unusable())?;
        let certificates =
            certificates.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| unusable())?;
        if certificates.is_empty() { Err(unusable()) } else { Ok(()) }
    }

    /// Checks that a file holds a private key; the error names the setting.
    pub fn check_private_key(path: &Path, setting: &'static str) -> Result<()> {
        // The library's own error may quote from the key, so it is left out.
        PrivateKeyDer::from_pem_file(path).map(drop).map_err(|_| unusable(path, setting, "private key"))
    }

    /// The error for a file that cannot be read, or that holds something other than the setting requires.
    pub fn unusable(path: &Path, setting: &'static str, what: &str) -> Error {
        let unreadable = refusals::unusable_file(&path.display().to_string(), setting, what);
        Error::named(ErrorKind::Authentication, unreadable)
    }
}
