//! A record of the leader topic, and its encoding.
//!
//! The value is goNELI's, `<nanoseconds since 1970>%<name>`. Everything that only incumbent needs is in headers, which
//! goNELI never reads. Records have no key and are in partition zero.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::num::ParseIntError;
use core::str::FromStr;
use core::time::Duration;

use crate::campaign::{InvalidSettings, check_name};
use crate::record::{
    HeaderValue, Headers, LEASE, Metadata, NONCE, TERM, TermInfo, WriteId, live_headers, metadata_key,
};
use crate::refusals;
use crate::text::write_hex;
use crate::token::{Revision, Token};

/// Header of every record of ours: its [`Kind`].
pub const KIND: &str = "Incumbent-Kind";
/// Header of a release: the offset of the newest record that a commit proved.
pub const PROVEN: &str = "Incumbent-Proven";

/// Header of a record of ours: the topic's id, if its writer knew it. A producer delivers the records that it kept to
/// whichever topic has the name by then.
pub const TOPIC: &str = "Incumbent-Topic";

/// The id of a topic, which tells apart two topics of the same name, one made after the other was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, (self.0 >> 64) as u64)?;
        write_hex(f, self.0 as u64)
    }
}

impl FromStr for TopicId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

/// The purpose of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An owner of partition zero begins. If a term follows, the offset is the sequence of its token.
    Claim,
    /// An owner renews its lease, or other software wrote the record.
    Heartbeat,
    /// A candidate that gave way tests whether it can append. No decision depends on this record.
    Probe,
    /// A leader no longer leads.
    Release {
        /// The offset of the newest record that a commit proved.
        proven: Revision,
    },
}

impl Kind {
    /// The kind's text in a header.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Heartbeat => "heartbeat",
            Self::Probe => "probe",
            Self::Release { .. } => "release",
        }
    }
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The record's offset.
    pub offset: Revision,
    /// The name of the record's writer. Bytes that are not UTF-8 are shown as U+FFFD.
    pub name: String,
    /// The campaign and the attempt that wrote the record; `None` for a record of other software.
    pub write_id: Option<WriteId>,
    /// The record's purpose.
    pub kind: Kind,
    /// The lease time of the record's writer, if stated.
    pub lease: Option<Duration>,
    /// The term that the record's writer claims or leads for.
    pub term_info: Option<TermInfo>,
    /// The topic for which the record was written, if its writer knew the topic's id.
    pub topic: Option<TopicId>,
    /// The metadata that the record's writer publishes.
    pub metadata: Metadata,
}

impl Record {
    /// Reads a record.
    ///
    /// Never fails: a header that cannot be read, or that appears with two values, counts as missing. The record then
    /// counts as a heartbeat, whose lease a successor waits out.
    pub fn decode<'a>(
        offset: Revision,
        value: &[u8],
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let [mut write_id, mut kind, mut lease, mut term_info, mut proven, mut topic] =
            [const { HeaderValue::Missing }; 6];
        let mut metadata = Metadata::new();
        for (name, text) in headers {
            let named = |known: &str| name.eq_ignore_ascii_case(known);
            if named(NONCE) {
                write_id.add(text);
            } else if named(KIND) {
                kind.add(text);
            } else if named(LEASE) {
                lease.add(text);
            } else if named(TERM) {
                term_info.add(text);
            } else if named(PROVEN) {
                proven.add(text);
            } else if named(TOPIC) {
                topic.add(text);
            } else if let Some(key) = metadata_key(name) {
                metadata.push((key.to_string(), text.to_string()));
            }
        }
        let write_id: Option<WriteId> = write_id.text().and_then(|text| text.parse().ok());
        let proven = proven.text().and_then(|text| text.parse().ok()).map(Revision);
        let kind = match (write_id.and(kind.text()), proven) {
            (Some("claim"), _) => Kind::Claim,
            (Some("probe"), _) => Kind::Probe,
            (Some("release"), Some(proven)) => Kind::Release { proven },
            _ => Kind::Heartbeat,
        };
        let lease = lease.text().and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let term_info =
            term_info.text().and_then(|text| text.parse().ok()).map(|term_info: TermInfo| match kind {
                // A claim cannot know its own offset when it is written.
                Kind::Claim => TermInfo { token: Token { sequence: offset, ..term_info.token }, ..term_info },
                _ => term_info,
            });
        Self {
            offset,
            name: name_in(value),
            write_id,
            kind,
            lease: lease.filter(|lease| write_id.is_some() && !lease.is_zero()),
            term_info: term_info.filter(|_| write_id.is_some()),
            topic: topic.text().and_then(|text| text.parse().ok()),
            metadata,
        }
    }
}

/// The name in goNELI's value; the whole value if it has another form.
fn name_in(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match text.split_once('%') {
        Some((nanos, name)) if nanos.parse::<i64>().is_ok() => name.into(),
        _ => text.into_owned(),
    }
}

/// The value of a record: goNELI's form, with the time of day since 1970.
pub fn value(time_of_day: Duration, name: &str) -> String {
    format!("{}%{name}", time_of_day.as_nanos())
}

/// The headers of a record.
pub(super) fn headers(
    write_id: WriteId,
    kind: Kind,
    topic: Option<TopicId>,
    lease: Duration,
    term_info: TermInfo,
    metadata: &[(String, String)],
) -> Headers {
    let mut headers = live_headers(write_id, lease, term_info, metadata);
    headers.extend(topic.map(|topic| (TOPIC.into(), topic.to_string())));
    headers.push((KIND.into(), kind.text().into()));
    if let Kind::Release { proven } = kind {
        headers.push((PROVEN.into(), proven.0.to_string()));
    }
    headers
}

/// Whether a candidate of a consumer group can have this name. The rules of every store apply, and `%` is refused,
/// because it ends the time in a record's value.
///
/// # Errors
/// Returns the problem, and a remedy.
pub fn check_member_name(name: &str) -> Result<(), InvalidSettings> {
    check_name(name)?;
    if name.contains('%') { Err(refusals::member_name(name)) } else { Ok(()) }
}

/// The name with every character that Kafka does not allow replaced by `_`, as goNELI's `Sanitise` does.
pub fn sanitise(name: &str) -> String {
    let keeps = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().map(|c| if keeps(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Attempt, METADATA, Nonce};
    use crate::token::Incarnation;
    use alloc::vec;
    use alloc::vec::Vec;

    const WRITE_ID: WriteId = WriteId { nonce: Nonce(0xa), attempt: Attempt(7) };
    const T: Duration = Duration::from_secs(5);

    fn claim(sequence: u64, led_for: Option<Duration>) -> TermInfo {
        TermInfo { token: Token { incarnation: Incarnation(3), sequence: Revision(sequence) }, led_for }
    }

    fn read_back(kind: Kind, claim: TermInfo) -> Record {
        let metadata = vec![("Address".into(), "host:1".into())];
        let headers = headers(WRITE_ID, kind, Some(TopicId(9)), T, claim, &metadata);
        let headers: Vec<_> = headers.iter().map(|(name, text)| (&**name, text.as_str())).collect();
        Record::decode(Revision(40), value(Duration::from_nanos(17), "me").as_bytes(), headers)
    }

    #[test]
    fn every_kind_reads_back_as_it_was_written() {
        for kind in [Kind::Heartbeat, Kind::Release { proven: Revision(39) }] {
            let claim = claim(12, Some(Duration::from_millis(250)));
            let expected = Record {
                offset: Revision(40),
                name: "me".into(),
                write_id: Some(WRITE_ID),
                kind,
                lease: Some(T),
                term_info: Some(claim),
                topic: Some(TopicId(9)),
                metadata: vec![("Address".into(), "host:1".into())],
            };
            assert_eq!(read_back(kind, claim), expected);
        }
    }

    #[test]
    fn a_claim_is_for_its_own_offset() {
        assert_eq!(read_back(Kind::Claim, claim(0, None)).term_info, Some(claim(40, None)));
    }

    #[test]
    fn a_heartbeat_of_the_term_at_offset_zero_is_not_taken_for_one_at_its_own() {
        assert_eq!(read_back(Kind::Heartbeat, claim(0, None)).term_info, Some(claim(0, None)));
    }

    #[test]
    fn a_heartbeat_of_gonelis_is_a_foreign_record_with_its_name() {
        let record = Record::decode(Revision(4), b"1598000000000000000%host_12_1598", []);
        assert_eq!(
            (record.name.as_str(), record.write_id, record.kind, record.lease),
            ("host_12_1598", None, Kind::Heartbeat, None)
        );
    }

    #[test]
    fn a_value_of_another_form_is_a_name_as_a_whole() {
        for (value, name) in [("x%y", "x%y"), ("", ""), ("5%a%b", "a%b"), ("%n", "%n")] {
            assert_eq!(Record::decode(Revision(4), value.as_bytes(), []).name, name);
        }
        assert_eq!(Record::decode(Revision(4), b"\xff", []).name, "\u{fffd}");
    }

    #[test]
    fn headers_that_cannot_be_read_make_a_heartbeat_that_is_waited_for() {
        let write_id = WRITE_ID.to_string();
        for headers in [
            vec![(KIND, "release"), (PROVEN, "3")],
            vec![(NONCE, &write_id), (KIND, "release")],
            vec![(NONCE, &write_id), (KIND, "release"), (PROVEN, "x")],
            vec![(NONCE, &write_id), (KIND, "release"), (PROVEN, "3"), (PROVEN, "4")],
            vec![(NONCE, &write_id), (KIND, "release"), (KIND, "claim"), (PROVEN, "3")],
            vec![(NONCE, &write_id), (KIND, "other")],
        ] {
            assert_eq!(Record::decode(Revision(4), b"1%a", headers).kind, Kind::Heartbeat);
        }
    }

    #[test]
    fn headers_are_read_in_any_case_and_a_lease_of_zero_is_none() {
        let write_id = WRITE_ID.to_string();
        let headers =
            [("incumbent-nonce", write_id.as_str()), ("INCUMBENT-LEASE", "0"), ("incumbent-meta-a", "b")];
        let record = Record::decode(Revision(4), b"1%a", headers);
        assert_eq!((record.write_id, record.lease), (Some(WRITE_ID), None));
        assert_eq!(record.metadata, [("a".to_string(), "b".to_string())]);
        assert!(METADATA.eq_ignore_ascii_case("incumbent-meta-"));
    }

    #[test]
    fn a_name_with_a_percent_sign_is_refused_and_sanitised() {
        assert_eq!(check_member_name("50%").unwrap_err().limit.to_string(), "free of '%'");
        assert_eq!(check_member_name("").unwrap_err().setting, "name");
        assert_eq!(check_member_name(&sanitise("50%")), Ok(()));
        assert_eq!(sanitise("hôst 1:a_b.c-d%"), "h_st_1_a_b.c-d_");
    }
}
