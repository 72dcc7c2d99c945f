//! A map as a sorted vector. In a WebAssembly component it takes a tenth of the code of a B-tree. Campaigns come in the
//! order of their numbers, so most are added at the end.

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::slice::Iter;

use super::spare;

/// Entries sorted by their keys, each key once.
#[derive(Clone, Debug)]
pub(super) struct Map<K, V>(Vec<(K, V)>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Map<K, V> {
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// Adds an entry, replacing one with the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        self.0.retain(|(_, value)| keep(value));
        spare(&mut self.0);
    }

    /// The entries in the order of their keys.
    pub(super) fn iter(&self) -> Iter<'_, (K, V)> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_a_key_is_there_once() {
        let mut map = Map::default();
        for (key, value) in [(3, 'a'), (1, 'b'), (2, 'c'), (3, 'd')] {
            map.insert(key, value);
        }
        assert!(map.iter().eq(&[(1, 'b'), (2, 'c'), (3, 'd')]));
        assert_eq!((map.get(&2), map.get(&4)), (Some(&'c'), None));
        assert_eq!((map.remove(&1), map.remove(&1)), (Some('b'), None));
        map.insert(0, 'e');
        map.retain(|value| *value != 'd');
        assert!(map.iter().eq(&[(0, 'e'), (2, 'c')]));
    }
}
