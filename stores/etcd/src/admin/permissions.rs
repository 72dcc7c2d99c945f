//! The exact permissions that an etcd user needs.

use crate::keys::{Keys, Range};
use crate::refusals;
use crate::settings::EtcdSettings;
pub use incumbent_store::Role;
use incumbent_store::{Error, ErrorKind, Result};

/// Access to a range of keys, as an etcd role grants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// Whether the keys may be written as well as read.
    pub writes: bool,
    /// The common prefix of all keys of the range.
    pub prefix: String,
    /// The end of the range, exclusive as in etcd's API; `None` for the end of all keys.
    pub range_end: Option<String>,
}

impl Permission {
    fn of((begin, end): Range, writes: bool) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // A range without an end covers every key.
        let range_end = (end != [0]).then(|| text(&end));
        let prefix = if range_end.is_some() { text(&begin) } else { String::new() };
        Self { writes, prefix, range_end }
    }
}

/// The permissions that a user of that role needs for the elections under the prefix of `settings`.
///
/// With a prefix the permissions cover all its keys, so the elections may be left out. Without a prefix they cover the
/// keys of these elections and incumbent's own keys for them. An observer without a prefix and without elections reads
/// every key.
///
/// etcd's roles have ranges of keys but no owners, so candidates that may write under a prefix may also write each
/// other's keys.
///
/// # Errors
/// `InvalidName` for a key that no election can have; `InvalidSetting` if neither a prefix nor elections are named,
/// which would permit a user to write every key of the cluster.
pub fn permissions(settings: &EtcdSettings, role: Role, elections: &[&str]) -> Result<Vec<Permission>> {
    for key in elections {
        Keys::check(key)?;
    }
    let keys = Keys::new(settings.prefix.clone());
    let writes = role != Role::Observer;
    if !settings.prefix.is_empty() {
        return Ok(vec![Permission::of(keys.all(), writes)]);
    }
    if elections.is_empty() {
        if writes {
            return Err(Error::named(ErrorKind::InvalidSetting, refusals::no_prefix()));
        }
        return Ok(vec![Permission::of(keys.all(), writes)]);
    }
    let places = elections.iter().map(|key| keys.places(key));
    Ok(places.chain([keys.ours()]).map(|range| Permission::of(range, writes)).collect())
}

#[cfg(test)]
mod tests {
    use incumbent_store::Settings as _;

    use super::*;

    fn permitted(url: &str, role: Role, elections: &[&str]) -> Vec<(bool, String, Option<String>)> {
        let settings = EtcdSettings::from_url(url).unwrap();
        let all = permissions(&settings, role, elections).unwrap();
        all.into_iter().map(|one| (one.writes, one.prefix, one.range_end)).collect()
    }

    #[test]
    fn with_a_prefix_it_is_one_range_whatever_the_elections() {
        let expected = |writes| vec![(writes, "prod/".to_owned(), Some("prod0".to_owned()))];
        assert_eq!(permitted("etcd://h:2379/prod/", Role::Candidate, &["jobs"]), expected(true));
        assert_eq!(permitted("etcd://h:2379/prod/", Role::Operator, &[]), expected(true));
        assert_eq!(permitted("etcd://h:2379/prod/", Role::Observer, &[]), expected(false));
    }

    #[test]
    fn without_a_prefix_it_is_the_elections_and_our_keys_for_them() {
        let range = |begin: &str, end: &str| (true, begin.to_owned(), Some(end.to_owned()));
        assert_eq!(
            permitted("etcd://h:2379", Role::Candidate, &["jobs", "mail"]),
            [range("jobs/", "jobs0"), range("mail/", "mail0"), range(".incumbent", ".incumbenu")]
        );
        assert_eq!(permitted("etcd://h:2379", Role::Observer, &[]), [(false, String::new(), None)]);
    }

    #[test]
    fn what_would_permit_every_key_to_be_written_is_refused() {
        let settings = EtcdSettings::from_url("etcd://h:2379").unwrap();
        let refused = permissions(&settings, Role::Operator, &[]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
        let refused = permissions(&settings, Role::Candidate, &["a/b"]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidName);
    }
}
