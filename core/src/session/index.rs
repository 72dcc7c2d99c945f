//! Finds slots by a hash, with open addressing and linear probing. The standard library's hash map takes more code in a
//! WebAssembly component, and `core` has none.

use alloc::vec::Vec;

/// The smallest number of places, once there is an entry.
const FEWEST: usize = 8;

/// Slots by the hashes of their keys. The owner of the slots compares the keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The table. Its length is a power of two, or zero.
    places: Vec<Place>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    /// The slot, or [`FREE`].
    slot: u32,
}

/// Marks a place without a slot.
const FREE: u32 = u32::MAX;

impl Index {
    /// The slot with this hash for which `is_it` returns true.
    pub(super) fn get(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.find(hash, is_it).map(|place| self.places[place].slot)
    }

    /// Adds a slot whose key is not in the index.
    pub(super) fn insert(&mut self, hash: u32, slot: u32) {
        // At most three quarters of the places are taken, so searches are short and always end.
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.resize((self.places.len() * 2).max(FEWEST));
        }
        self.len += 1;
        self.put(Place { hash, slot });
    }

    /// Makes the entry of `slot` point to the slot `by`.
    pub(super) fn replace(&mut self, hash: u32, slot: u32, by: u32) {
        if let Some(place) = self.find(hash, |other| other == slot) {
            self.places[place].slot = by;
        }
    }

    pub(super) fn remove(&mut self, hash: u32, slot: u32) {
        let Some(mut hole) = self.find(hash, |other| other == slot) else { return };
        self.len -= 1;
        let mask = self.places.len() - 1;
        let mut next = hole;
        // An entry after the hole moves into it, unless its search begins after the hole.
        loop {
            next = (next + 1) & mask;
            let entry = self.places[next];
            if entry.slot == FREE {
                break;
            }
            let home = entry.hash as usize;
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.places[hole] = entry;
                hole = next;
            }
        }
        self.places[hole].slot = FREE;
        if self.len * 8 < self.places.len() && self.places.len() > FEWEST {
            self.resize(self.places.len() / 2);
        }
    }

    fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at];
            if place.slot == FREE {
                return None;
            }
            if place.hash == hash && is_it(place.slot) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, entry: Place) {
        let mask = self.places.len() - 1;
        let mut at = entry.hash as usize & mask;
        while self.places[at].slot != FREE {
            at = (at + 1) & mask;
        }
        self.places[at] = entry;
    }

    fn resize(&mut self, places: usize) {
        let free = Place { hash: 0, slot: FREE };
        let before = core::mem::replace(&mut self.places, alloc::vec![free; places]);
        for entry in before {
            if entry.slot != FREE {
                self.put(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_until_it_is_removed_though_hashes_collide() {
        let mut index = Index::default();
        let hash = |slot: u32| slot % 7 * 13;
        (0..100).for_each(|slot| index.insert(hash(slot), slot));
        for slot in (0..100).step_by(2) {
            index.remove(hash(slot), slot);
        }
        for slot in 0..100 {
            let found = index.get(hash(slot), |other| other == slot);
            assert_eq!(found, (slot % 2 == 1).then_some(slot));
        }
    }

    #[test]
    fn a_slot_takes_the_place_of_another_one() {
        let mut index = Index::default();
        index.insert(5, 1);
        index.replace(5, 1, 2);
        assert_eq!((index.get(5, |_| true), index.get(6, |_| true)), (Some(2), None));
    }

    #[test]
    fn it_keeps_little_memory_once_most_are_removed() {
        let mut index = Index::default();
        (0..10_000).for_each(|slot| index.insert(slot, slot));
        (1..10_000).for_each(|slot| index.remove(slot, slot));
        assert_eq!((index.places.len(), index.get(0, |slot| slot == 0)), (FEWEST, Some(0)));
    }
}
