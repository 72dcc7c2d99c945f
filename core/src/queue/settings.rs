//! What a queue adds to a candidate's settings, and which settings it refuses.

use alloc::string::ToString;
use core::time::Duration;

use crate::campaign::{
    Forecast, InvalidSettings, Margin, Preset, Settings, check_candidate, check_margin, pace,
    refuse_bucket_settings,
};
use crate::candidacy;
use crate::refusals;
use crate::store::{Fault, FaultKind};

/// The longest lease. For longer leases, servers record the remaining time (lease checkpoints), which shortens the
/// lease.
const LONGEST: Duration = Duration::from_secs(300);

/// How long a lease may last beyond its end: servers check for expired leases twice a second.
pub(super) const EXPIRED: Duration = Duration::from_millis(500);

/// The multiple of the server's shortest lease that a lease must have at least. The shortest lease is one and a half
/// election timeouts. An isolated leader steps down within two election timeouts, before a lease of this length could
/// look expired to it.
const SHORTEST_TIMES: u32 = 3;

/// What the rule needs to know about a store's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// The shortest lease that the server grants, known from the answer to a grant of one second; `None` until a server
    /// has granted one. No campaign begins before it is known.
    pub shortest: Option<Duration>,
}

impl Server {
    /// The shortest and the longest lease of a campaign on these servers; `None` until the shortest is known.
    pub fn lease_bounds(self) -> Option<(Duration, Duration)> {
        self.shortest.map(|shortest| (shortest * SHORTEST_TIMES, LONGEST))
    }

    /// The number of requests that the servers accept at once from one connection. The servers refuse a request while
    /// more than 5,000 requests of all connections are proposed but not applied (`etcdserver: too many requests`).
    pub const fn window(self) -> u32 {
        256
    }

    /// The longest time that the servers take to elect their own leader, which is two election timeouts. The shortest
    /// lease is one and a half election timeouts. `None` until the shortest lease is known.
    pub fn fail_over(self) -> Option<Duration> {
        self.shortest.map(|shortest| shortest * 4 / 3)
    }

    /// A fact that is still unknown but needed before a campaign begins.
    pub fn not_known_yet(self) -> Option<Fault> {
        let detail = "the shortest lease is unknown, because the store has not granted a lease yet; the store is asked again";
        self.shortest.is_none().then(|| Fault { kind: FaultKind::Unreachable, detail: detail.into() })
    }

    /// The timing that results from `settings` on these servers, computed by the rules that a campaign follows.
    ///
    /// A candidate writes nothing to keep its place here, so [`Forecast::writes_a_day`] counts its rounds, each of two
    /// keep-alives and a read.
    ///
    /// # Errors
    ///
    /// Refuses a setting that [`Campaign::new`](super::Campaign::new) refuses.
    pub fn forecast(self, settings: Settings) -> Result<Forecast, InvalidSettings> {
        let rules = rules(settings, self)?;
        let (lease, margin, attempt) =
            (rules.lease, rules.margin.of(rules.lease), pace::attempt_limit(rules.lease));
        let vacant = rules.worst_fail_over();
        let renew_every = pace::renew_every(lease);
        Ok(Forecast {
            lease,
            margin,
            renew_every,
            attempt,
            survives: (lease - margin).saturating_sub(renew_every),
            store_fail_over: self.fail_over().ok_or_else(|| refusals::lease_without_bounds(lease))?,
            after_a_crash: vacant,
            after_a_deletion: vacant,
        })
    }
}

/// The rules that follow from a candidate's settings in a queue, which adds no rules of its own.
pub(super) type Rules = candidacy::Rules<()>;

/// Builds the rules from these settings in a queue.
pub(super) fn rules(settings: Settings, server: Server) -> Result<Rules, InvalidSettings> {
    check_candidate(&settings)?;
    refuse_bucket_settings(&settings, refusals::preset_in_queue, refusals::interval_in_queue)?;
    let lease = settings.lease.unwrap_or_else(|| settings.preset.lease());
    check_lease(lease, settings.preset, server)?;
    let margin = Margin::of_durations(&settings);
    check_margin(lease, margin)?;
    Ok(Rules::new(settings, lease, margin, (lease / 10).min(Duration::from_secs(1)), ()))
}

impl Rules {
    /// The longest time without a leader after a crash or a deletion. A companion lasts as long as its place, even
    /// after an operator deletes the place. If the companion's lease is older than the raft term, the next leader waits
    /// for one more lease.
    pub(super) fn worst_fail_over(&self) -> Duration {
        self.lease + EXPIRED + pace::attempt_limit(self.lease) + self.lease
    }
}

/// The default margin of a lease of this length: the time from the leader's deadline to the end of the lease.
pub fn default_margin(lease: Duration) -> Duration {
    Margin::of_durations(&Settings::new("")).of(lease)
}

fn check_lease(lease: Duration, preset: Preset, server: Server) -> Result<(), InvalidSettings> {
    if lease.subsec_nanos() != 0 {
        return Err(refusals::lease_of_part_seconds(lease));
    }
    let bounds = server.lease_bounds();
    let (shortest, longest) = bounds.ok_or_else(|| refusals::lease_without_bounds(lease))?;
    let shortest = match preset {
        #[cfg(feature = "testing")]
        Preset::Test => Duration::from_secs(1),
        _ => preset.bounds().0.max(shortest),
    };
    if lease < shortest {
        return Err(refusals::lease_under_election(lease, shortest));
    }
    if lease > longest {
        return Err(refusals::lease_over_checkpoint(lease, longest));
    }
    Ok(())
}

/// Refuses a priority, because the queue is in order of arrival.
///
/// # Errors
/// Refuses the setting `priority` if it is set.
pub fn check_priority(priority: Option<i64>) -> Result<(), InvalidSettings> {
    priority.map_or(Ok(()), |priority| Err(refusals::priority(&priority.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    const SERVER: Server = Server { shortest: Some(Duration::from_secs(2)) };

    fn refused(settings: Settings) -> (&'static str, String) {
        let refused = rules(settings, SERVER).unwrap_err();
        (refused.setting, refused.limit.to_string())
    }

    fn with_lease(millis: u64) -> Settings {
        Settings { lease: Some(Duration::from_millis(millis)), ..Settings::new("me") }
    }

    #[test]
    fn a_lease_is_whole_seconds_three_times_the_servers_shortest_and_no_longer_than_five_minutes() {
        assert_eq!(refused(with_lease(6_500)), ("lease", "a whole number of seconds".into()));
        assert_eq!(refused(with_lease(5_000)), ("lease", "at least 6s".into()));
        assert_eq!(refused(with_lease(301_000)), ("lease", "at most 300s".into()));
        assert!(rules(with_lease(6_000), SERVER).is_ok());
        assert!(rules(with_lease(300_000), SERVER).is_ok());
    }

    #[test]
    fn no_lease_is_taken_while_the_shortest_is_not_known() {
        let server = Server { shortest: None };
        for millis in [3_000, 300_000] {
            let refused = rules(with_lease(millis), server).unwrap_err();
            assert_eq!(refused.setting, "lease");
            assert!(refused.limit.to_string().contains("not known yet"), "{refused}");
            assert_eq!(server.forecast(with_lease(millis)).unwrap_err().setting, "lease");
        }
        let (bounds, fault) = (server.lease_bounds(), server.not_known_yet().unwrap());
        assert_eq!((bounds, server.fail_over(), fault.kind), (None, None, FaultKind::Unreachable));
        assert_eq!(SERVER.not_known_yet(), None);
    }

    #[test]
    fn the_margin_has_no_skew_unless_it_is_asked_for() {
        let margin = |settings| {
            let rules = rules(settings, SERVER).unwrap();
            rules.margin.of(rules.lease).as_millis()
        };
        assert_eq!(margin(with_lease(30_000)), 2 * 150 + 250);
        assert_eq!(default_margin(Duration::from_secs(30)).as_millis(), 2 * 150 + 250);
        assert_eq!(margin(Settings { skew: Some(Duration::from_secs(1)), ..with_lease(30_000) }), 1550);
    }

    #[test]
    fn the_forecast_has_no_skew_and_waits_a_lease_for_a_companion_that_may_have_been_revoked_early() {
        let millis = Duration::from_millis;
        let expected = Forecast {
            lease: millis(15_000),
            margin: millis(150 + 250),
            renew_every: millis(5_000),
            attempt: millis(1_250),
            survives: millis(15_000 - 400 - 5_000),
            store_fail_over: Duration::from_secs(2) * 4 / 3,
            after_a_crash: millis(15_000 + 15_000 + 500 + 1_250),
            after_a_deletion: millis(15_000 + 15_000 + 500 + 1_250),
        };
        assert_eq!(SERVER.forecast(with_lease(15_000)).unwrap(), expected);
        assert_eq!(SERVER.forecast(with_lease(1_500)).unwrap_err().setting, "lease");
    }

    #[test]
    fn settings_that_mean_nothing_here_are_refused() {
        let preset = Settings { preset: Preset::GoCompatible, ..Settings::new("me") };
        assert_eq!(refused(preset).0, "preset");
        let interval = Settings { interval: Some(Duration::from_secs(9)), ..Settings::new("me") };
        assert_eq!(refused(interval).0, "interval");
        assert_eq!(refused(Settings::new("")).0, "name");
    }

    #[test]
    fn a_priority_is_refused_with_a_remedy() {
        assert!(check_priority(None).is_ok());
        let refused = check_priority(Some(3)).unwrap_err();
        assert_eq!((refused.setting, refused.value.as_str()), ("priority", "3"));
        assert!(refused.remedy.to_string().contains("hand-over"));
    }
}
