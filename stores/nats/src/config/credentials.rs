//! Authentication to a NATS server.

use std::fs;
use std::path::{Path, PathBuf};

use async_nats::Auth;
use nkeys::KeyPair;

use incumbent_store::credentials::Secret;
use incumbent_store::{Error, ErrorKind, Result};

/// A way to authenticate.
///
/// Files are read again for every connection, so renewed credentials on disk take effect without a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// No credentials: the server requires none, or only a client certificate.
    #[default]
    Nothing,
    User {
        name: String,
        password: Secret,
    },
    Token(Secret),
    /// A file with an nkey seed.
    Seed(PathBuf),
    /// A credentials file: a user's JWT and the seed of its nkey.
    File(PathBuf),
}

impl Credentials {
    /// Checks that the credentials can answer a server now. The error names the file and the problem.
    pub(crate) fn check(&self) -> Result<()> {
        self.answer(b"a nonce").map(drop)
    }

    /// The answer to a server's nonce.
    pub(crate) fn answer(&self, nonce: &[u8]) -> Result<Auth> {
        let mut auth = Auth::new();
        match self {
            Self::Nothing => {}
            Self::User { name, password } => {
                auth.username = Some(name.clone());
                auth.password = Some(password.reveal().to_string());
            }
            Self::Token(token) => auth.token = Some(token.reveal().to_string()),
            Self::Seed(path) => {
                let text = read(path, "nkey")?;
                let pair = key_pair(path, "nkey", seed_in(&text).unwrap_or(""))?;
                auth.signature = Some(sign(path, &pair, nonce)?);
                auth.nkey = Some(pair.public_key());
            }
            Self::File(path) => {
                let text = read(path, "creds")?;
                let mut blocks = blocks(&text);
                let (Some(jwt), Some(seed)) = (blocks.next(), blocks.next()) else {
                    return Err(malformed(
                        path,
                        "creds",
                        "it must hold a user's JWT followed by the seed of its nkey",
                    ));
                };
                let pair = key_pair(path, "creds", seed)?;
                auth.signature = Some(sign(path, &pair, nonce)?);
                auth.jwt = Some(jwt.to_string());
            }
        }
        Ok(auth)
    }
}

/// The contents between the `-----BEGIN …-----` and `------END …------` lines of a credentials file.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.lines().map(str::trim);
    std::iter::from_fn(move || {
        lines.by_ref().find(|line| line.starts_with("-----BEGIN"))?;
        lines.by_ref().find(|line| !line.is_empty()).filter(|line| !line.starts_with("---"))
    })
}

/// The seed in a seed file, either bare or decorated as in a credentials file.
fn seed_in(text: &str) -> Option<&str> {
    blocks(text).next().or_else(|| text.lines().map(str::trim).find(|line| line.starts_with('S')))
}

fn read(path: &Path, setting: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        Error::new(
            ErrorKind::Authentication,
            format!("cannot read the file {} that `{setting}` names: {error}", path.display()),
        )
        .caused_by(error)
    })
}

fn key_pair(path: &Path, setting: &str, seed: &str) -> Result<KeyPair> {
    // The library's own error may quote from the seed, so it is left out.
    KeyPair::from_seed(seed).map_err(|_| malformed(path, setting, "it must hold a valid nkey seed"))
}

fn sign(path: &Path, pair: &KeyPair, nonce: &[u8]) -> Result<Vec<u8>> {
    pair.sign(nonce).map_err(|_| malformed(path, "nkey", "its key cannot sign"))
}

fn malformed(path: &Path, setting: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Authentication,
        format!("the file {} that `{setting}` names is not usable: {what}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }

    fn creds(seed: &str) -> String {
        format!(
            "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.sig\n------END NATS USER JWT------\n\n\
             ************************* IMPORTANT *************************\n\
             NKEY Seed printed below can be used to sign and prove identity.\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    }

    #[test]
    fn a_credentials_file_gives_its_jwt_and_a_signature_by_its_seed() {
        let pair = KeyPair::new_user();
        let file = file(&creds(&pair.seed().unwrap()));
        let auth = Credentials::File(file.path().into()).answer(b"n").unwrap();
        assert_eq!(auth.jwt.as_deref(), Some("eyJ0.eyJq.sig"));
        assert_eq!(auth.signature, Some(pair.sign(b"n").unwrap()));
    }

    #[test]
    fn a_bare_seed_gives_its_public_key_and_a_signature() {
        let pair = KeyPair::new_user();
        let file = file(&format!("{}\n", pair.seed().unwrap()));
        let auth = Credentials::Seed(file.path().into()).answer(b"n").unwrap();
        assert_eq!(auth.nkey, Some(pair.public_key()));
        assert_eq!(auth.signature, Some(pair.sign(b"n").unwrap()));
    }

    #[test]
    fn a_renewed_file_is_taken_up() {
        let file = file(&creds(&KeyPair::new_user().seed().unwrap()));
        let credentials = Credentials::File(file.path().into());
        credentials.check().unwrap();
        let renewed = KeyPair::new_user();
        fs::write(file.path(), creds(&renewed.seed().unwrap())).unwrap();
        assert_eq!(credentials.answer(b"n").unwrap().signature, Some(renewed.sign(b"n").unwrap()));
    }

    #[test]
    fn a_malformed_file_is_named_and_not_quoted() {
        let file = file(&creds("SUANOTASEEDATALL"));
        let error = Credentials::File(file.path().into()).check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        assert!(error.message().contains(&file.path().display().to_string()), "{error}");
        assert!(!format!("{error} {error:?}").contains("NOTASEED"), "{error:?}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_its_setting() {
        let error = Credentials::Seed("/nowhere/seed".into()).check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        assert!(error.message().starts_with("cannot read the file /nowhere/seed that `nkey` names"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let user = Credentials::User { name: "ada".into(), password: Secret::new("pa55") };
        let token = Credentials::Token(Secret::new("t0ken"));
        let shown = format!("{user:?} {token:?}");
        assert!(shown.contains("ada") && !shown.contains("pa55") && !shown.contains("t0ken"), "{shown}");
    }
}
