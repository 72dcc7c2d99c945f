//! Listeners with TLS and SASL, and the users of a broker.

use super::local;
use crate::certificates::Certificates;
use crate::port::Port;

/// The users of SASL PLAIN, each with a password. `eve` has only the permissions that a test gives her. For SCRAM a
/// test has to add a user's [password](super::admin::Admin::password).
pub const USERS: [(&str, &str); 3] = [("ada", "s3cr3t"), ("eve", "g4rden"), ("pat", "p4per")];

/// A listener that authenticates its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// TLS; the client needs no certificate.
    Tls,
    /// TLS; the client needs a certificate.
    Mutual,
    /// SASL over TLS: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with unsigned tokens.
    Sasl,
    /// SASL without TLS, by the same mechanisms.
    SaslInTheClear,
}

impl Entrance {
    const ALL: [Self; 4] = [Self::Tls, Self::Mutual, Self::Sasl, Self::SaslInTheClear];

    fn name(self) -> &'static str {
        match self {
            Self::Tls => "TLS",
            Self::Mutual => "MUTUAL",
            Self::Sasl => "SASL",
            Self::SaslInTheClear => "CLEAR",
        }
    }

    fn protocol(self) -> &'static str {
        match self {
            Self::Tls | Self::Mutual => "SSL",
            Self::Sasl => "SASL_SSL",
            Self::SaslInTheClear => "SASL_PLAINTEXT",
        }
    }
}

/// The entrances of a broker, and its certificates.
#[derive(Debug)]
pub(super) struct Security {
    pub(super) certificates: Certificates,
    ports: [(Entrance, Port); 4],
}

impl Security {
    #[track_caller]
    pub(super) fn new() -> Self {
        Self {
            certificates: Certificates::new(),
            ports: Entrance::ALL.map(|entrance| (entrance, Port::free())),
        }
    }

    /// The address of an entrance.
    pub(super) fn address(&self, entrance: Entrance) -> String {
        self.ports.iter().find(|(one, _)| *one == entrance).map(|(_, port)| local(port)).unwrap_or_default()
    }

    /// The listeners: name, address, protocol.
    pub(super) fn listeners(&self) -> Vec<(String, String, &'static str)> {
        let listener =
            |(entrance, port): &(Entrance, Port)| (entrance.name().into(), local(port), entrance.protocol());
        self.ports.iter().map(listener).collect()
    }

    /// The settings of the broker. Clients of its plain listener may do everything.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let mut settings: Vec<(String, String)> = [
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer".to_owned()),
            ("super.users", "User:ANONYMOUS".to_owned()),
            ("ssl.keystore.type", "PEM".to_owned()),
            ("ssl.keystore.location", self.certificates.shown("server.both")),
            ("ssl.truststore.type", "PEM".to_owned()),
            ("ssl.truststore.location", self.certificates.shown("ca.pem")),
            ("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned()),
            ("listener.name.mutual.ssl.client.auth", "required".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let package = "org.apache.kafka.common.security";
        let users: String =
            USERS.iter().map(|(name, password)| format!(" user_{name}=\"{password}\"")).collect();
        let modules = [
            ("plain", format!("{package}.plain.PlainLoginModule required{users};")),
            ("scram-sha-256", format!("{package}.scram.ScramLoginModule required;")),
            ("scram-sha-512", format!("{package}.scram.ScramLoginModule required;")),
            (
                "oauthbearer",
                format!(
                    "{package}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
                ),
            ),
        ];
        for listener in ["sasl", "clear"] {
            for (mechanism, module) in &modules {
                let name = format!("listener.name.{listener}.{mechanism}.sasl.jaas.config");
                settings.push((name, module.clone()));
            }
        }
        settings
    }
}
