//! One inspection of the store for all elections.

use alloc::vec::Vec;

use super::CampaignId;
use super::map::Map;
use crate::time::Instant;

/// The campaigns that want the store inspected, and the inspection under way.
///
/// An answer serves every campaign that wanted an inspection sent at the time of this one or earlier. Only one
/// inspection is in flight at a time. Campaigns that its answer does not serve are served by the next inspection, which
/// follows at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Inspection {
    wanted: Map<CampaignId, Instant>,
    under_way: Option<UnderWay>,
    asked: u64,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    number: u64,
    asked_at: Instant,
}

impl Inspection {
    /// Notes that `campaign` wants an inspection sent at `since` or later.
    pub(super) fn want(&mut self, campaign: CampaignId, since: Instant) {
        let latest = self.wanted.get(&campaign).map_or(since, |wanted| since.max(*wanted));
        self.wanted.insert(campaign, latest);
    }

    pub(super) fn forget(&mut self, campaign: CampaignId) {
        self.wanted.remove(&campaign);
    }

    /// Returns the number of the inspection to begin now, if a campaign wants one and none is in flight.
    pub(super) fn begin(&mut self, now: Instant) -> Option<u64> {
        if self.wanted.is_empty() || self.under_way.is_some() {
            return None;
        }
        self.asked += 1;
        self.under_way = Some(UnderWay { number: self.asked, asked_at: now });
        Some(self.asked)
    }

    /// Gives up the inspection in flight, which may never be answered after the connection was replaced.
    pub(super) fn give_up(&mut self) {
        self.under_way = None;
    }

    /// Whether this inspection is in flight and was not given up.
    pub(super) fn is_under_way(&self, number: u64) -> bool {
        self.under_way.is_some_and(|under_way| under_way.number == number)
    }

    /// The campaigns that the answer to inspection `number` serves. `asked_at` comes from the answer, and is `None` for
    /// a failure. An abandoned inspection serves no campaign.
    pub(super) fn answered(&mut self, number: u64, asked_at: Option<Instant>) -> Vec<CampaignId> {
        let Some(under_way) = self.under_way.filter(|under_way| under_way.number == number) else {
            return Vec::new();
        };
        self.under_way = None;
        let asked_at = asked_at.unwrap_or(under_way.asked_at);
        let served: Vec<_> =
            self.wanted.iter().filter(|(_, since)| *since <= asked_at).map(|(id, _)| *id).collect();
        self.wanted.retain(|since| *since > asked_at);
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn one_answer_serves_all_campaigns_that_wanted_it_before_it_was_asked_for() {
        let mut inspection = Inspection::default();
        inspection.want(1, at(10));
        inspection.want(2, at(11));
        assert_eq!(inspection.begin(at(11)), Some(1));
        inspection.want(3, at(12));
        assert_eq!(inspection.begin(at(12)), None);
        assert_eq!(inspection.answered(1, Some(at(11))), [1, 2]);
        assert_eq!(inspection.begin(at(13)), Some(2));
        assert_eq!(inspection.answered(2, Some(at(13))), [3]);
        assert_eq!(inspection.begin(at(14)), None);
    }

    #[test]
    fn a_campaign_that_asks_again_later_is_not_served_by_the_earlier_answer() {
        let mut inspection = Inspection::default();
        inspection.want(1, at(10));
        assert_eq!(inspection.begin(at(10)), Some(1));
        inspection.want(1, at(20));
        assert_eq!(inspection.answered(1, Some(at(10))), Vec::<CampaignId>::new());
        assert_eq!(inspection.begin(at(21)), Some(2));
    }

    #[test]
    fn a_failure_is_reported_to_those_it_was_asked_for() {
        let mut inspection = Inspection::default();
        inspection.want(1, at(10));
        assert_eq!(inspection.begin(at(10)), Some(1));
        inspection.want(2, at(11));
        assert_eq!(inspection.answered(1, None), [1]);
    }

    #[test]
    fn an_inspection_over_an_old_connection_is_asked_again_and_its_late_answer_ignored() {
        let mut inspection = Inspection::default();
        inspection.want(1, at(10));
        assert_eq!(inspection.begin(at(10)), Some(1));
        inspection.give_up();
        assert_eq!(inspection.begin(at(15)), Some(2));
        assert_eq!(inspection.answered(1, Some(at(10))), Vec::<CampaignId>::new());
        assert_eq!(inspection.answered(2, Some(at(15))), [1]);
    }
}
