//! Contexts, as the `nats` command-line tool stores them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::credentials::Credentials;
use incumbent_store::credentials::Secret;
use incumbent_store::{Error, ErrorKind, Result};

/// The places in which to search for contexts, from the process's environment or from a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub(crate) config: Option<PathBuf>,
    /// The home directory, for `~`.
    pub(crate) home: Option<PathBuf>,
    /// `$NATS_CONTEXT`.
    pub(crate) context: Option<String>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        Self {
            config: set("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .or_else(|| home.as_ref().map(|home| home.join(".config"))),
            home,
            context: set("NATS_CONTEXT").and_then(|name| name.into_string().ok()),
        }
    }

    /// The context that applies when none is named: `$NATS_CONTEXT`, or the context that `nats context select`
    /// selected.
    pub(crate) fn selected(&self) -> Option<String> {
        self.context.clone().or_else(|| {
            let text = fs::read_to_string(self.config.as_ref()?.join("nats/context.txt")).ok()?;
            Some(text.trim().to_string()).filter(|name| !name.is_empty())
        })
    }

    /// Reads the context of that name.
    pub(crate) fn load(&self, name: &str) -> Result<Context> {
        let unusable = |why| unusable(name, why);
        if name.is_empty() || name.contains("..") || name.contains(['/', '\\']) {
            return Err(unusable("that is not a context's name".into()));
        }
        let Some(config) = &self.config else {
            return Err(unusable("neither XDG_CONFIG_HOME nor HOME is set".into()));
        };
        let path = config.join("nats/context").join(format!("{name}.json"));
        let text = fs::read(&path).map_err(|error| {
            unusable(format!("cannot read {}: {error}; `nats context ls` lists them", path.display()))
                .caused_by(error)
        })?;
        self.read(name, &path, &text)
    }

    /// Reads a context from the text of its file.
    pub(crate) fn read(&self, name: &str, path: &Path, text: &[u8]) -> Result<Context> {
        let unusable = |why| unusable(name, why);
        // The parser's own message may quote a password, so only the position is reported.
        let file: File = serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            unusable(format!("{} is malformed at line {line}, column {column}", path.display()))
        })?;
        for (field, value) in file.unsupported() {
            if !value.is_empty() {
                let why = format!("its field `{field}` is not supported; use `creds`, `nkey` or `user`");
                return Err(unusable(why));
            }
        }
        Ok(self.resolve(file))
    }

    fn resolve(&self, file: File) -> Context {
        let path = |text: &str| (!text.is_empty()).then(|| self.expand(text));
        Context {
            url: Some(file.url).filter(|url| !url.is_empty()),
            // The first of these that is set applies, in the same order as in the `nats` tool.
            credentials: if !file.user.is_empty() {
                Some(Credentials::User { name: file.user, password: Secret::new(file.password) })
            } else if let Some(path) = path(&file.creds) {
                Some(Credentials::File(path))
            } else if let Some(path) = path(&file.nkey) {
                Some(Credentials::Seed(path))
            } else if !file.token.is_empty() {
                Some(Credentials::Token(Secret::new(file.token)))
            } else {
                None
            },
            ca: path(&file.ca),
            certificate: path(&file.cert),
            key: path(&file.key),
            tls_first: file.tls_first,
            inbox_prefix: Some(file.inbox_prefix).filter(|prefix| !prefix.is_empty()),
            domain: Some(file.jetstream_domain).filter(|domain| !domain.is_empty()),
            api_prefix: Some(file.jetstream_api_prefix).filter(|prefix| !prefix.is_empty()),
        }
    }

    /// Replaces a leading `~` by the home directory.
    fn expand(&self, text: &str) -> PathBuf {
        match (text.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
            _ => Path::new(text).into(),
        }
    }
}

fn unusable(name: &str, why: String) -> Error {
    Error::new(ErrorKind::Authentication, format!("the NATS context {name:?} cannot be used: {why}"))
}

/// The content of a context.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) url: Option<String>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) tls_first: bool,
    pub(crate) inbox_prefix: Option<String>,
    pub(crate) domain: Option<String>,
    pub(crate) api_prefix: Option<String>,
}

/// A context's file. Fields that do not concern a connection are omitted.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct File {
    url: String,
    user: String,
    password: String,
    token: String,
    creds: String,
    nkey: String,
    cert: String,
    key: String,
    ca: String,
    tls_first: bool,
    inbox_prefix: String,
    jetstream_domain: String,
    jetstream_api_prefix: String,
    nsc: String,
    socks_proxy: String,
    user_jwt: String,
    user_seed: String,
    windows_cert_store: String,
}

impl File {
    /// Fields that would change the server or the user of a connection, but are not supported.
    fn unsupported(&self) -> [(&'static str, &str); 5] {
        [
            ("nsc", &self.nsc),
            ("socks_proxy", &self.socks_proxy),
            ("user_jwt", &self.user_jwt),
            ("user_seed", &self.user_seed),
            ("windows_cert_store", &self.windows_cert_store),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(files: &[(&str, &str)]) -> (tempfile::TempDir, Environment) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("nats/context")).unwrap();
        for (path, text) in files {
            fs::write(dir.path().join(path), text).unwrap();
        }
        let environment =
            Environment { config: Some(dir.path().into()), home: Some("/home/ada".into()), context: None };
        (dir, environment)
    }

    #[test]
    fn every_field_of_a_context_is_read() {
        let text = r#"{"description": "x", "url": "nats://a:4222,nats://b:4222", "creds": "~/ada.creds",
            "ca": "/ca.pem", "cert": "~/c.pem", "key": "k.pem", "tls_first": true, "inbox_prefix": "_IN",
            "jetstream_domain": "hub", "jetstream_api_prefix": "", "color_scheme": ""}"#;
        let (_dir, environment) = environment(&[("nats/context/prod.json", text)]);
        let context = environment.load("prod").unwrap();
        assert_eq!(context.url.as_deref(), Some("nats://a:4222,nats://b:4222"));
        assert_eq!(context.credentials, Some(Credentials::File("/home/ada/ada.creds".into())));
        assert_eq!(context.ca, Some("/ca.pem".into()));
        assert_eq!(context.certificate, Some("/home/ada/c.pem".into()));
        assert_eq!(context.key, Some("k.pem".into()));
        assert!(context.tls_first);
        assert_eq!(context.inbox_prefix.as_deref(), Some("_IN"));
        assert_eq!(context.domain.as_deref(), Some("hub"));
        assert_eq!(context.api_prefix, None);
    }

    #[test]
    fn a_user_comes_before_creds_before_an_nkey_before_a_token() {
        let context = |text: &str| {
            let (_dir, environment) = environment(&[("nats/context/c.json", text)]);
            environment.load("c").unwrap().credentials
        };
        let user = Credentials::User { name: "u".into(), password: Secret::new("p") };
        assert_eq!(context(r#"{"user": "u", "password": "p", "creds": "c", "nkey": "n"}"#), Some(user));
        assert_eq!(
            context(r#"{"creds": "c", "nkey": "n", "token": "t"}"#),
            Some(Credentials::File("c".into()))
        );
        assert_eq!(context(r#"{"nkey": "n", "token": "t"}"#), Some(Credentials::Seed("n".into())));
        assert_eq!(context(r#"{"token": "t"}"#), Some(Credentials::Token(Secret::new("t"))));
        assert_eq!(context("{}"), None);
    }

    #[test]
    fn the_variable_comes_before_the_selected_context() {
        let (_dir, mut environment) = environment(&[("nats/context.txt", "chosen\n")]);
        assert_eq!(environment.selected().as_deref(), Some("chosen"));
        environment.context = Some("named".into());
        assert_eq!(environment.selected().as_deref(), Some("named"));
    }

    #[test]
    fn no_context_is_selected_where_the_tool_was_never_used() {
        let (_dir, environment) = environment(&[]);
        assert_eq!(environment.selected(), None);
    }

    #[test]
    fn an_unknown_context_is_named_with_its_file() {
        let (_dir, environment) = environment(&[]);
        let error = environment.load("prod").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        assert!(error.message().contains("nats/context/prod.json"), "{error}");
    }

    #[test]
    fn a_name_that_leaves_the_folder_is_refused() {
        let (_dir, environment) = environment(&[]);
        for name in ["", "../prod", "a/b", "a\\b"] {
            let error = environment.load(name).unwrap_err();
            assert!(error.message().contains("not a context's name"), "{error}");
        }
    }

    #[test]
    fn a_malformed_context_is_named_and_not_quoted() {
        let (_dir, environment) = environment(&[("nats/context/c.json", r#"{"password": ["hunter2"]}"#)]);
        let error = environment.load("c").unwrap_err();
        assert!(error.message().contains("is malformed at line 1"), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn a_field_that_cannot_be_honoured_is_refused_by_name() {
        let (_dir, environment) = environment(&[("nats/context/c.json", r#"{"nsc": "nsc://o/a/u"}"#)]);
        let error = environment.load("c").unwrap_err();
        assert!(error.message().contains("`nsc` is not supported"), "{error}");
    }
}
