//! The exact permissions that a NATS user needs.

use crate::candidates::subjects;
use crate::config::names;
use crate::config::settings::NatsSettings;
use crate::wire::bucket::Bucket;
use incumbent_store::Result;
pub use incumbent_store::Role;
use incumbent_store::request::{self, AcceptReset, HandOver};

/// The permissions of a user: subjects as NATS writes them, in its configuration or a JWT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// To publish to.
    pub publish: Vec<String>,
    /// To subscribe to.
    pub subscribe: Vec<String>,
}

/// The permissions that a user of that role needs in the bucket of `settings`, for these elections. For an operator, an
/// empty list means all elections.
///
/// All roles can read the whole bucket. A candidate can write only under the keys of its elections.
///
/// # Errors
/// `InvalidName` for a key that no election can have.
pub fn permissions(settings: &NatsSettings, role: Role, elections: &[&str]) -> Result<Permissions> {
    for key in elections {
        names::check_key(key)?;
        request::check_election(key)?;
    }
    let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
    let stream = &bucket.stream;
    let mut publish = Vec::new();
    match role {
        Role::Observer => {}
        Role::Candidate => publish.extend(elections.iter().map(|key| bucket.write_subject(key))),
        Role::Operator if elections.is_empty() => publish.push(bucket.write_subject(">")),
        Role::Operator => publish.extend(elections.iter().flat_map(|key| {
            [(*key).to_owned(), HandOver::key(key), AcceptReset::key(key)]
                .map(|key| bucket.write_subject(&key))
        })),
    }
    let requests: &[&str] = &["STREAM.INFO", "STREAM.MSG.GET", "CONSUMER.CREATE"];
    let making: &[&str] = if role == Role::Operator { &["STREAM.CREATE", "STREAM.UPDATE"] } else { &[] };
    publish.push(bucket.api_subject("INFO"));
    publish.extend(
        requests.iter().chain(making).map(|request| bucket.api_subject(&format!("{request}.{stream}"))),
    );
    // Allows answers to a consumer's flow control requests.
    publish.push(format!("$JS.FC.{stream}.>"));
    let inbox = settings.inbox_prefix.as_deref().unwrap_or("_INBOX");
    let mut subscribe = vec![format!("{inbox}.>")];
    let (calls, answers) = (subjects::calls(&bucket), subjects::answers(&bucket));
    // An observer requests the list of candidates, and the candidates answer.
    let (says, hears) = if role == Role::Candidate { (answers, calls) } else { (calls, answers) };
    publish.push(says);
    subscribe.push(hears);
    Ok(Permissions { publish, subscribe })
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent_store::ErrorKind;

    const READING: [&str; 5] = [
        "$JS.API.INFO",
        "$JS.API.STREAM.INFO.KV_B",
        "$JS.API.STREAM.MSG.GET.KV_B",
        "$JS.API.CONSUMER.CREATE.KV_B",
        "$JS.FC.KV_B.>",
    ];

    fn settings() -> NatsSettings {
        NatsSettings::new("localhost", "B").unwrap()
    }

    #[test]
    fn a_candidate_writes_under_the_keys_of_its_elections_alone() {
        let permitted = permissions(&settings(), Role::Candidate, &["jobs", "a.b"]).unwrap();
        assert_eq!(permitted.publish[..2], ["$KV.B.jobs", "$KV.B.a.b"]);
        assert_eq!(permitted.publish[2..7], READING);
        // A candidate answers requests for candidates, but sends none.
        assert_eq!(permitted.publish[7..], ["_incumbent.roll.B.*"]);
        assert_eq!(permitted.subscribe, ["_INBOX.>", "_incumbent.roll.B"]);
    }

    #[test]
    fn an_observer_writes_nothing_and_requests_the_candidates() {
        let permitted = permissions(&settings().inbox_prefix("me"), Role::Observer, &["jobs"]).unwrap();
        assert_eq!(permitted.publish[..5], READING);
        assert_eq!(permitted.publish[5..], ["_incumbent.roll.B"]);
        assert_eq!(permitted.subscribe, ["me.>", "_incumbent.roll.B.*"]);
    }

    #[test]
    fn an_operator_makes_the_bucket_and_writes_requests_as_well() {
        let permitted = permissions(&settings(), Role::Operator, &["jobs"]).unwrap();
        let keys = ["$KV.B.jobs", "$KV.B._incumbent.hand-over.jobs", "$KV.B._incumbent.accept-reset.jobs"];
        assert_eq!(permitted.publish[..3], keys);
        assert!(permitted.publish.contains(&"$JS.API.STREAM.UPDATE.KV_B".into()));
        let of_all = permissions(&settings(), Role::Operator, &[]).unwrap();
        assert_eq!(of_all.publish[0], "$KV.B.>");
    }

    #[test]
    fn with_a_domain_writes_and_requests_go_by_its_prefix() {
        let permitted = permissions(&settings().domain("hub"), Role::Candidate, &["jobs"]).unwrap();
        assert_eq!(permitted.publish[..2], ["$JS.hub.API.$KV.B.jobs", "$JS.hub.API.INFO"]);
    }

    #[test]
    fn a_key_that_would_permit_more_than_itself_is_refused() {
        for key in ["*", "jobs.>", "_incumbent.hand-over.jobs", ""] {
            let refused = permissions(&settings(), Role::Candidate, &[key]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidName, "{key:?}");
        }
    }
}
