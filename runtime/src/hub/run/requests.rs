//! What an operator asks of a leader, beside the election's key.

use incumbent_core::campaign::{Input, State, check_name};
use incumbent_core::record::Entry;

use super::Hub;
use crate::Result;
use crate::store::request::{self, HandOver};

impl Hub {
    /// Refuses keys that no election of this store can have.
    pub(super) fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        self.errands.adapter.check_key(key)
    }

    /// Takes in what the watch tells of a key that is no election here.
    ///
    /// A request names the campaign that it is for, so it says nothing to a successor, and it is heard once.
    pub(super) fn asked(&mut self, key: &str, entry: &Entry) {
        let Some(election) = request::election_of(key) else { return };
        let Some((record, HandOver { leader, to })) =
            entry.live().and_then(|record| Some((record, HandOver::read(&record.candidate)?)))
        else {
            return;
        };
        for id in self.elections.get(election).cloned().unwrap_or_default() {
            let Some(slot) = self.slots.get_mut(&id) else { continue };
            if slot.nonce() != Some(leader) || slot.heard.replace(record.revision) == Some(record.revision) {
                continue;
            }
            let candidate = &*slot.standing.candidate;
            let holds = matches!(slot.state(), State::Leading | State::Holding);
            let can_be = check_name(&to).is_ok() && self.errands.adapter.check_name(&to).is_ok();
            if !holds || !can_be || *candidate == *to {
                tracing::debug!(election, candidate, "an operator's request to hand over means nothing here");
                continue;
            }
            tracing::info!(election, candidate, to, "hands over, as an operator asks");
            self.feed(id, Input::HandOver(to.clone()));
        }
    }
}
