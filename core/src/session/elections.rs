//! The campaigns of each election, by its name.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::CampaignId;
use super::map::Map;

/// The number of maps. Names come in no order, so that each new one moves half of its map.
const MAPS: usize = 64;

/// The elections that have campaigns. The hash of its name says in which map an election is.
#[derive(Clone, Debug)]
pub(super) struct Elections([Map<Arc<str>, Vec<CampaignId>>; MAPS]);

impl Default for Elections {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Map::default()))
    }
}

impl Elections {
    /// The campaigns in an election.
    pub(super) fn get(&self, election: &str) -> &[CampaignId] {
        self.0[place(election)].get(election).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, election: Arc<str>, id: CampaignId) {
        self.0[place(&election)].get_or_default(election).push(id);
    }

    pub(super) fn remove(&mut self, election: &str, id: CampaignId) {
        let map = &mut self.0[place(election)];
        let Some(campaigns) = map.get_mut(election) else { return };
        campaigns.retain(|other| *other != id);
        if campaigns.is_empty() {
            map.remove(election);
        }
    }
}

fn place(election: &str) -> usize {
    hash(election) as usize % MAPS
}

/// FNV-1a: names are the user's own, and nothing but time is lost where they are chosen to collide.
pub(super) fn hash(election: &str) -> u32 {
    let add = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    election.bytes().fold(0x811c_9dc5, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn campaigns_are_found_by_their_election_until_they_are_removed() {
        let mut elections = Elections::default();
        for id in 0..1000 {
            elections.add(format!("jobs-{}", id / 2).into(), id);
        }
        assert_eq!(elections.get("jobs-7"), [14, 15]);
        elections.remove("jobs-7", 14);
        assert_eq!(elections.get("jobs-7"), [15]);
        elections.remove("jobs-7", 15);
        assert!(elections.get("jobs-7").is_empty() && elections.get("jobs").is_empty());
        assert_eq!(elections.0.iter().map(Map::len).sum::<usize>(), 499);
    }

    #[test]
    fn names_that_differ_in_a_number_alone_are_spread_over_the_maps() {
        let mut elections = Elections::default();
        (0..64_000).for_each(|id| elections.add(format!("election-{id}").into(), id));
        assert!(elections.0.iter().all(|map| (800..1200).contains(&map.len())));
    }
}
