//! An authority, and certificates that it signed, as files for servers and clients with TLS.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// `ca.pem`; `server.pem` and `server.key` of a server at 127.0.0.1; `client.pem` and `client.key` of a client with the
/// name `worker-1`; `server.both` and `client.both`, key and certificate in one. Dropping this value removes the files.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes a new authority, and certificates that only it has signed.
    ///
    /// # Panics
    /// When a key cannot be made, or a file cannot be written.
    #[allow(clippy::new_without_default, reason = "each has new keys")]
    #[track_caller]
    pub fn new() -> Self {
        match Self::make() {
            Ok(made) => made,
            Err(error) => panic!("no certificates: {error}"),
        }
    }

    fn make() -> Result<Self, Box<dyn std::error::Error>> {
        let made = Self { folder: tempfile::Builder::new().prefix("incumbent-tls-").tempdir()? };
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = named("incumbent's tests");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        fs::write(made.path("ca.pem"), authority.pem())?;
        for (file, name) in [("server", "127.0.0.1"), ("client", "worker-1")] {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(vec![name.to_owned()])?;
            // OpenSSL mistakes a certificate with the authority's name for a self-signed one.
            params.distinguished_name = named(name);
            let certificate = params.signed_by(&key, &authority)?;
            fs::write(made.path(&format!("{file}.pem")), certificate.pem())?;
            fs::write(made.path(&format!("{file}.key")), key.serialize_pem())?;
            // Java needs the key and the certificate in one file.
            fs::write(made.path(&format!("{file}.both")), key.serialize_pem() + &certificate.pem())?;
        }
        Ok(made)
    }

    /// The path of one of the files.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The path of one of the files as text, for a URL or an argument.
    pub fn shown(&self, file: &str) -> String {
        self.path(file).display().to_string()
    }

    /// Returns the arguments for an etcd server that uses the server certificate. With `client_certificates`, that
    /// server also requires a certificate from each client.
    pub fn of_etcd(&self, client_certificates: bool) -> Vec<String> {
        let option = |name: &str, file: &str| format!("--{name}={}", self.shown(file));
        let mut arguments = vec![option("cert-file", "server.pem"), option("key-file", "server.key")];
        if client_certificates {
            arguments.extend([option("trusted-ca-file", "ca.pem"), "--client-cert-auth".to_owned()]);
        }
        arguments
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut made = DistinguishedName::new();
    made.push(DnType::CommonName, name);
    made
}
