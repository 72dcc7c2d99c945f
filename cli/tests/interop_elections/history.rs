//! The terms of all leaders, from the output of both sides, on the machine's common clock.

use std::time::Duration;

use incumbent::Token;
use incumbent_rig::check;
use serde_json::Value;

/// The side of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Go,
    Ours,
}

/// One uninterrupted leadership, as its holder saw it. Instants are nanoseconds of the machine's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) side: Side,
    pub(crate) name: String,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// A revision that was written in this leadership: the token's sequence, or the revision that the Go candidate
    /// reports.
    pub(crate) revision: u64,
}

/// The leaderships that a candidate has reported. `gone` is the time of its kill, or now; `lease` is `T`.
///
/// A Go leader that could not renew for a whole lease counts as leader only for that lease, because its library
/// promises nothing for a paused process.
pub(crate) fn leaderships(
    side: Side,
    name: &str,
    lines: &[Value],
    gone: u64,
    lease: Duration,
) -> Vec<Leadership> {
    let lease = u64::try_from(lease.as_nanos()).unwrap();
    let mut all = Vec::new();
    let mut open: Option<Leadership> = None;
    let mut limit = u64::MAX;
    let close = |leadership: Leadership, to: u64| Leadership { to, ..leadership };
    for line in lines {
        match line["event"].as_str() {
            // A Go leader's lease counts from its newest write.
            Some("leading") => limit = at(line) + lease,
            Some("won") => {
                assert_eq!(open, None, "{name} won twice in a row: {lines:?}");
                let (from, revision) = (at(line), revision(line));
                open = Some(Leadership { side, name: name.into(), from, to: from, revision });
            }
            // A command that has exited does no more work, although its term has yet to end.
            Some("lost" | "exited") => {
                all.extend(open.take().map(|open| close(open, at(line).min(limit))));
                limit = u64::MAX;
            }
            _ => {}
        }
    }
    all.extend(open.map(|open| close(open, gone.min(limit))));
    // The process may have printed something while it was being killed.
    all.retain(|leadership| leadership.from < gone);
    all
}

/// The time of a line: the Go programs print `t`, ours `at`.
pub(crate) fn at(line: &Value) -> u64 {
    line["at"].as_u64().or(line["t"].as_u64()).unwrap_or_else(|| panic!("no time: {line}"))
}

fn revision(line: &Value) -> u64 {
    match line["token"].as_str() {
        Some(text) => text.parse::<Token>().unwrap().sequence.0,
        None => line["revision"].as_u64().unwrap(),
    }
}

/// Sorts a history. Fails if two led at once, or if a later leader has no larger revision.
#[track_caller]
pub(crate) fn one_at_a_time(mut history: Vec<Leadership>) -> Vec<Leadership> {
    history.sort_by_key(|leadership| leadership.from);
    let led = |one: &Leadership| check::Leadership {
        who: one.name.clone(),
        from: one.from,
        until: one.to,
        token: one.revision,
    };
    let all: Vec<_> = history.iter().map(led).collect();
    assert_eq!(check::overlaps(&all), [], "two leaders in {history:#?}");
    assert_eq!(check::disorder(&all), [], "a revision does not grow in {history:#?}");
    history
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECOND: Duration = Duration::from_secs(1);

    fn go(event: &str, t: u64, revision: u64) -> Value {
        json!({ "t": t, "name": "go-1", "event": event, "revision": revision })
    }

    fn led(from: u64, to: u64, revision: u64) -> Leadership {
        Leadership { side: Side::Go, name: "go-1".into(), from, to, revision }
    }

    fn read(lines: &[Value], gone: u64) -> Vec<Leadership> {
        leaderships(Side::Go, "go-1", lines, gone, SECOND)
    }

    #[test]
    fn a_leadership_lasts_from_won_to_lost() {
        let lines = [go("candidate", 1, 0), go("leading", 2, 7), go("won", 5, 7), go("lost", 9, 0)];
        assert_eq!(read(&lines, 99), [led(5, 9, 7)]);
    }

    #[test]
    fn a_term_that_was_never_reported_is_none() {
        assert_eq!(read(&[go("leading", 2, 7), go("lost", 9, 0)], 99), []);
    }

    #[test]
    fn a_killed_leader_led_until_it_was_killed() {
        assert_eq!(read(&[go("leading", 2, 7), go("won", 5, 7)], 99), [led(5, 99, 7)]);
        assert_eq!(read(&[go("leading", 2, 7), go("won", 105, 7)], 99), []);
    }

    #[test]
    fn a_go_leader_that_was_paused_led_for_a_lease_after_its_last_write() {
        let lines = [go("leading", 2, 7), go("won", 5, 7), go("lost", 3_000_000_000, 0)];
        assert_eq!(read(&lines, u64::MAX), [led(5, 1_000_000_002, 7)]);
    }

    #[test]
    fn a_command_that_has_exited_leads_no_more() {
        let token = "0000000000000002-0000000000000009";
        let lines = [
            json!({ "event": "won", "at": 5, "token": token }),
            json!({ "event": "exited", "at": 8, "code": 0 }),
            json!({ "event": "lost", "at": 9, "token": token }),
        ];
        let ours = Leadership { side: Side::Ours, name: "ada".into(), from: 5, to: 8, revision: 9 };
        assert_eq!(leaderships(Side::Ours, "ada", &lines, 99, SECOND), [ours]);
    }

    #[test]
    fn leaders_one_after_the_other_are_well() {
        assert_eq!(one_at_a_time(vec![led(9, 12, 8), led(5, 9, 7)]), [led(5, 9, 7), led(9, 12, 8)]);
    }

    #[test]
    #[should_panic(expected = "two leaders")]
    fn two_at_a_time_are_found() {
        one_at_a_time(vec![led(5, 9, 7), led(8, 12, 8)]);
    }

    #[test]
    #[should_panic(expected = "does not grow")]
    fn a_revision_that_does_not_grow_is_found() {
        one_at_a_time(vec![led(5, 9, 7), led(9, 12, 7)]);
    }
}
