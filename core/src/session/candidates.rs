//! The candidates of a session, by number and by election.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::candidate::Candidate;
use super::index::Index;
use super::{CampaignId, spare};
use crate::candidacy::Rule;

/// The number of campaigns from which renewals are spread. A burst of fewer renewals costs a store nothing.
const MANY: usize = 64;

/// The position of a candidate, which does not change until the candidate is removed.
pub(super) type Slot = u32;

/// The candidates of a session, by slot. The candidates of one election form a ring, in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Candidates<R: Rule> {
    slots: Vec<Option<Box<Candidate<R>>>>,
    free: Vec<Slot>,
    /// The slots of the candidates, sorted by number. An entry without a slot belongs to a removed candidate.
    numbers: Vec<(CampaignId, Option<Slot>)>,
    len: usize,
    /// For each election, by the hash of its name, the last candidate to arrive.
    elections: Index,
    /// There are many, or were.
    were_many: bool,
}

impl<R: Rule> Default for Candidates<R> {
    fn default() -> Self {
        let elections = Index::default();
        Self { slots: Vec::new(), free: Vec::new(), numbers: Vec::new(), len: 0, elections, were_many: false }
    }
}

impl<R: Rule> Candidates<R> {
    pub(super) fn slot(&self, id: CampaignId) -> Option<Slot> {
        let place = self.place(id).ok()?;
        self.numbers[place].1
    }

    pub(super) fn get(&self, id: &CampaignId) -> Option<&Candidate<R>> {
        self.at(self.slot(*id)?)
    }

    pub(super) fn get_mut(&mut self, id: &CampaignId) -> Option<&mut Candidate<R>> {
        let slot = self.slot(*id)?;
        self.at_mut(slot)
    }

    pub(super) fn at(&self, slot: Slot) -> Option<&Candidate<R>> {
        self.slots.get(slot as usize)?.as_deref()
    }

    pub(super) fn at_mut(&mut self, slot: Slot) -> Option<&mut Candidate<R>> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    /// Adds a candidate.
    pub(super) fn insert(&mut self, mut candidate: Box<Candidate<R>>) {
        let id = candidate.id;
        let (hash, last) = self.last_of(&candidate.election);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // Memory is exhausted long before slot numbers are.
            (self.slots.len() - 1) as Slot
        });
        candidate.next = slot;
        match last {
            Some(last) => {
                if let Some(last) = self.at_mut(last) {
                    candidate.next = core::mem::replace(&mut last.next, slot);
                }
                self.elections.replace(hash, last, slot);
            }
            None => self.elections.insert(hash, slot),
        }
        self.slots[slot as usize] = Some(candidate);
        // The place is usually at the end, because numbers grow.
        let place = self.place(id).unwrap_or_else(|place| place);
        self.numbers.insert(place, (id, Some(slot)));
        self.len += 1;
    }

    /// Removes a candidate. Also returns its slot, which another candidate may take from now on.
    pub(super) fn remove(&mut self, id: CampaignId) -> Option<(Slot, Box<Candidate<R>>)> {
        let place = self.place(id).ok()?;
        let slot = self.numbers[place].1.take()?;
        let candidate = self.slots[slot as usize].take()?;
        self.unlink(slot, &candidate);
        self.free.push(slot);
        self.len -= 1;
        if self.len == 0 {
            *self = Self { were_many: self.were_many, ..Self::default() };
        } else if self.len * 2 < self.numbers.len() {
            self.numbers.retain(|(_, slot)| slot.is_some());
            spare(&mut self.numbers);
        }
        Some((slot, candidate))
    }

    /// The candidate of an election that arrived first.
    pub(super) fn first_of(&self, election: &str) -> Option<Slot> {
        self.last_of(election).1.and_then(|last| self.after(last))
    }

    /// The next candidate in the same election; `None` for the last one.
    pub(super) fn next_of(&self, election: &str, slot: Slot) -> Option<Slot> {
        self.after(slot).filter(|next| *next != slot).filter(|_| self.last_of(election).1 != Some(slot))
    }

    /// The candidates in an election, in order of arrival.
    pub(super) fn of(&self, election: &str) -> impl Iterator<Item = Slot> {
        core::iter::successors(self.first_of(election), |slot| self.next_of(election, *slot))
    }

    pub(super) fn is_contested(&self, election: &str) -> bool {
        self.last_of(election).1.is_some()
    }

    /// The candidates in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (CampaignId, &Candidate<R>)> {
        self.numbers.iter().filter_map(|(id, slot)| Some((*id, self.at((*slot)?)?)))
    }

    /// In no order.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Candidate<R>> {
        self.slots.iter_mut().flatten().map(Box::as_mut)
    }

    /// Whether there are many candidates for the first time, so that each of them must learn it.
    pub(super) fn become_many(&mut self) -> bool {
        self.len >= MANY && !core::mem::replace(&mut self.were_many, true)
    }

    /// Whether there are many candidates, or ever were.
    pub(super) fn were_many(&self) -> bool {
        self.were_many
    }

    /// The position of a number, or the position at which to insert it. If no number is missing, the position is the
    /// distance from the first number.
    fn place(&self, id: CampaignId) -> Result<usize, usize> {
        let first = self.numbers.first().map_or(0, |(first, _)| *first);
        match usize::try_from(id.wrapping_sub(first)) {
            Ok(place) if self.numbers.get(place).is_some_and(|(other, _)| *other == id) => Ok(place),
            _ => self.numbers.binary_search_by_key(&id, |(other, _)| *other),
        }
    }

    fn after(&self, slot: Slot) -> Option<Slot> {
        self.at(slot).map(|candidate| candidate.next)
    }

    /// The hash of an election's name, and the election's last candidate.
    fn last_of(&self, election: &str) -> (u32, Option<Slot>) {
        let hash = hash(election);
        let is_it = |slot| self.at(slot).is_some_and(|candidate| *candidate.election == *election);
        (hash, self.elections.get(hash, is_it))
    }

    /// Takes a candidate that has left its slot out of the ring of its election.
    fn unlink(&mut self, slot: Slot, candidate: &Candidate<R>) {
        let hash = hash(&candidate.election);
        let mut before = candidate.next;
        if before == slot {
            return self.elections.remove(hash, slot);
        }
        while let Some(next) = self.after(before).filter(|next| *next != slot) {
            before = next;
        }
        if let Some(before) = self.at_mut(before) {
            before.next = candidate.next;
        }
        // If the candidate was the last of its election, its predecessor is now the last.
        self.elections.replace(hash, slot, before);
    }
}

/// The FNV-1a hash of an election's name. It is enough, because names are the user's own, and names chosen to collide
/// cost only time.
pub(super) fn hash(election: &str) -> u32 {
    let add = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    election.bytes().fold(0x811c_9dc5, add)
}

#[cfg(test)]
mod tests {
    use super::super::io::Enter;
    use super::*;
    use crate::campaign::{KeyLease, Settings};
    use crate::record::Nonce;
    use alloc::format;

    fn add(candidates: &mut Candidates<KeyLease>, id: CampaignId, election: &str) {
        let (settings, nonce) = (Settings::new("ada"), Nonce(id.into()));
        let enter = Enter { id, election: election.into(), settings, nonce, seed: 7, fail_fast: false };
        candidates.insert(Box::new(Candidate::new(enter)));
    }

    fn of(candidates: &Candidates<KeyLease>, election: &str) -> Vec<CampaignId> {
        candidates.of(election).filter_map(|slot| candidates.at(slot)).map(|candidate| candidate.id).collect()
    }

    #[test]
    fn candidates_are_found_by_their_numbers_and_by_their_elections_until_they_are_removed() {
        let mut candidates = Candidates::default();
        (0..1_000).for_each(|id| add(&mut candidates, id, &format!("jobs-{}", id / 2)));
        assert_eq!((of(&candidates, "jobs-7"), of(&candidates, "jobs").len()), (alloc::vec![14, 15], 0));
        for id in (0..1_000).filter(|id| id % 10 != 5) {
            assert_eq!(candidates.remove(id).map(|(_, candidate)| candidate.id), Some(id));
        }
        assert_eq!((of(&candidates, "jobs-7"), of(&candidates, "jobs-6").len()), (alloc::vec![15], 0));
        assert!(candidates.get(&14).is_none() && candidates.get(&15).is_some());
        assert!(candidates.iter().map(|(id, _)| id).eq((5..1_000).step_by(10)));
        assert_eq!(candidates.len, 100);
    }

    #[test]
    fn those_of_one_election_keep_the_order_in_which_they_came() {
        let mut candidates = Candidates::default();
        [3, 1, 4, 2].into_iter().for_each(|id| add(&mut candidates, id, "jobs"));
        assert_eq!(of(&candidates, "jobs"), [3, 1, 4, 2]);
        assert!(candidates.iter().map(|(id, _)| id).eq(1..5));
        candidates.remove(2);
        add(&mut candidates, 5, "jobs");
        assert_eq!(of(&candidates, "jobs"), [3, 1, 4, 5]);
        candidates.remove(3);
        candidates.remove(4);
        assert_eq!(of(&candidates, "jobs"), [1, 5]);
    }

    #[test]
    fn once_all_are_removed_no_memory_is_kept() {
        let mut candidates = Candidates::default();
        (0..100).for_each(|id| add(&mut candidates, id, "jobs"));
        (0..100).for_each(|id| drop(candidates.remove(id)));
        assert_eq!(
            candidates.slots.capacity() + candidates.free.capacity() + candidates.numbers.capacity(),
            0
        );
        assert!(!candidates.is_contested("jobs"));
    }
}
