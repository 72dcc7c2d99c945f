//! What a consumer group adds to a candidate's settings, and which settings it refuses.

use core::time::Duration;

use super::record::check_member_name;
use crate::campaign::{
    InvalidSettings, Margin, Preset, Settings, check_candidate, check_margin, refuse_bucket_settings,
};
use crate::candidacy;
use crate::refusals;

/// The default lease: goNELI's heartbeat timeout (`config.go`).
const LEASE: Duration = Duration::from_secs(5);

/// The default session timeout in leases, as in goNELI (`neli.go`).
const SESSION_LEASES: u32 = 3;

/// The interval of goNELI's heartbeats (`config.go`).
const GONELI_HEARTBEAT: Duration = Duration::from_millis(100);

/// The time by which a poll may be late, in addition to the drain and the session timeout.
const POLL_RESERVE: Duration = Duration::from_secs(10);

/// The longest interval between polls that brokers accept: milliseconds in a signed 32-bit number.
const LONGEST_POLL: Duration = Duration::from_millis(i32::MAX as u64);

/// The protocol of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Protocol {
    /// The classic protocol: generations, with assignors in the clients. The client states its session timeout.
    #[default]
    Classic,
    /// KIP-848: member epochs, with assignors in the brokers, which also set the session timeout.
    Consumer,
}

/// What the rule needs to know about the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Group {
    /// The group's protocol.
    pub protocol: Protocol,
    /// The session timeout; three leases if `None`. With [`Protocol::Consumer`], the session timeout that the brokers
    /// are configured to use.
    pub session: Option<Duration>,
    /// Whether members that use goNELI share the group. If so, a leader sends heartbeats every 100 ms, and the group
    /// uses goNELI's assignors.
    pub goneli: bool,
}

/// The client's times and assignors that follow from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientSettings {
    /// `session.timeout.ms`; `None` if the brokers decide.
    pub session: Option<Duration>,
    /// `heartbeat.interval.ms`; `None` if the brokers decide.
    pub heartbeat: Option<Duration>,
    /// `max.poll.interval.ms`, which is also the rebalance timeout. It is long enough for a drain.
    pub max_poll: Duration,
    /// `partition.assignment.strategy`; `None` if the brokers assign.
    pub assignors: Option<&'static str>,
}

/// The rules that follow from a candidate's settings in a consumer group.
pub(super) type Rules = candidacy::Rules<Own>;

/// The rules that only a candidate in a group has.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// The interval of heartbeats that are not committed.
    pub(super) heartbeat: Option<Duration>,
    pub(super) client: ClientSettings,
}

/// Builds the rules from these settings in a group.
pub(super) fn rules(settings: Settings, group: Group) -> Result<Rules, InvalidSettings> {
    check_candidate(&settings)?;
    check_member_name(&settings.name)?;
    refuse_bucket_settings(&settings, refusals::preset_in_group, refusals::interval_in_group)?;
    let lease = settings.lease.unwrap_or(match settings.preset {
        Preset::Standard => LEASE,
        preset => preset.lease(),
    });
    let (least, most) = settings.preset.bounds();
    if lease < least || lease > most {
        return Err(refusals::lease_in_group(lease, least, most));
    }
    let margin = Margin::of_durations(&settings);
    check_margin(lease, margin)?;
    let client = client_settings(group, lease, settings.drain)?;
    let own = Own { heartbeat: group.goneli.then_some(GONELI_HEARTBEAT), client };
    // There is no splay, because the group itself gathers its first members (group.initial.rebalance.delay.ms).
    Ok(Rules::new(settings, lease, margin, Duration::ZERO, own))
}

fn client_settings(
    group: Group,
    lease: Duration,
    drain: Duration,
) -> Result<ClientSettings, InvalidSettings> {
    let session = group.session.unwrap_or(lease.saturating_mul(SESSION_LEASES));
    let max_poll = drain.saturating_add(session).saturating_add(POLL_RESERVE).max(Duration::from_secs(30));
    match group.protocol {
        Protocol::Consumer if group.goneli => Err(refusals::protocol_with_goneli()),
        Protocol::Consumer if group.session.is_some() => Err(refusals::session_of_brokers(session)),
        Protocol::Classic if session < lease.saturating_mul(2) => {
            Err(refusals::session_under_two_leases(session, lease.saturating_mul(2)))
        }
        _ if max_poll > LONGEST_POLL => {
            let most = LONGEST_POLL.saturating_sub(POLL_RESERVE);
            Err(match most.checked_sub(session) {
                Some(most) => refusals::drain_over_kafka(drain, most, session),
                None => refusals::session_over_kafka(session, most),
            })
        }
        Protocol::Consumer => {
            Ok(ClientSettings { session: None, heartbeat: None, max_poll, assignors: None })
        }
        Protocol::Classic => Ok(ClientSettings {
            session: Some(session),
            heartbeat: Some((session / 10).max(Duration::from_millis(300))),
            max_poll,
            // `range` orders members by id, as goNELI's clients do; `cooperative-sticky` keeps the leader in place
            // when a member joins (measured).
            assignors: Some(if group.goneli { "range,roundrobin" } else { "cooperative-sticky" }),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn rules(change: impl FnOnce(&mut Settings, &mut Group)) -> Result<Rules, InvalidSettings> {
        let (mut settings, mut group) = (Settings::new("me"), Group::default());
        change(&mut settings, &mut group);
        super::rules(settings, group)
    }

    fn refused(change: impl FnOnce(&mut Settings, &mut Group)) -> InvalidSettings {
        rules(change).unwrap_err()
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn the_defaults_are_gonelis_lease_and_session() {
        let rules = rules(|_, _| {}).unwrap();
        assert_eq!((rules.lease, rules.own.heartbeat), (secs(5), None));
        let client = ClientSettings {
            session: Some(secs(15)),
            heartbeat: Some(Duration::from_millis(1500)),
            max_poll: secs(35),
            assignors: Some("cooperative-sticky"),
        };
        assert_eq!(rules.own.client, client);
    }

    #[test]
    fn the_goneli_preset_has_its_heartbeats_and_its_assignors() {
        let rules = rules(|_, group| group.goneli = true).unwrap();
        assert_eq!(rules.own.heartbeat, Some(Duration::from_millis(100)));
        assert_eq!(rules.own.client.assignors, Some("range,roundrobin"));
        let newer = refused(|_, group| (group.goneli, group.protocol) = (true, Protocol::Consumer));
        assert_eq!(newer.setting, "protocol");
    }

    #[test]
    fn the_consumer_protocol_leaves_the_session_to_the_brokers() {
        let client = rules(|_, group| group.protocol = Protocol::Consumer).unwrap().own.client;
        assert_eq!((client.session, client.heartbeat, client.assignors), (None, None, None));
        let set = |group: &mut Group| (group.protocol, group.session) = (Protocol::Consumer, Some(secs(15)));
        assert_eq!(refused(|_, group| set(group)).limit.to_string(), "left out with the consumer protocol");
    }

    #[test]
    fn a_session_under_two_leases_is_refused() {
        let short = refused(|_, group| group.session = Some(Duration::from_millis(9_999)));
        assert_eq!(
            (short.setting, short.limit.to_string().as_str()),
            ("session", "at least 10s, twice the lease")
        );
        assert!(rules(|_, group| group.session = Some(secs(10))).is_ok());
    }

    #[test]
    fn a_poll_may_be_as_late_as_the_drain_and_the_session_and_never_less_than_half_a_minute() {
        let max_poll = |drain| rules(|settings, _| settings.drain = drain).unwrap().own.client.max_poll;
        assert_eq!([secs(0), secs(60)].map(max_poll), [secs(30), secs(85)]);
        let endless = refused(|settings, _| settings.drain = Duration::MAX);
        assert_eq!(endless.setting, "drain");
        let longest = refused(|_, group| group.session = Some(Duration::MAX));
        assert_eq!(longest.setting, "session");
    }

    #[test]
    fn a_lease_under_its_preset_is_refused() {
        let lease = |lease| move |settings: &mut Settings, _: &mut Group| settings.lease = Some(lease);
        assert_eq!(refused(lease(secs(4))).setting, "lease");
        let fast = rules(|settings, _| (settings.preset, settings.lease) = (Preset::Fast, Some(secs(1))));
        assert_eq!(fast.unwrap().own.client.heartbeat, Some(Duration::from_millis(300)));
    }

    #[test]
    fn settings_that_mean_nothing_here_are_refused() {
        assert_eq!(refused(|settings, _| settings.preset = Preset::GoCompatible).setting, "preset");
        assert_eq!(refused(|settings, _| settings.interval = Some(secs(9))).setting, "interval");
        assert_eq!(refused(|settings, _| settings.name = "50%".into()).setting, "name");
    }
}
