//! The checks on the terms of all leaders: at most one leads at any time, and tokens grow.
//!
//! Times are nanoseconds of one clock that all processes share.

/// A span of time throughout which a candidate certainly led.
pub trait Led {
    /// The token by which a resource distinguishes a later leader from an earlier one.
    type Token: Ord;

    /// The beginning, inclusive.
    fn from(&self) -> u64;

    /// The end, exclusive.
    fn until(&self) -> u64;

    /// The fencing token or revision.
    fn token(&self) -> &Self::Token;
}

/// The plain form of this span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership<T> {
    /// The leader.
    pub who: String,
    /// The beginning, inclusive.
    pub from: u64,
    /// The end, exclusive.
    pub until: u64,
    /// The fencing token or revision by which a resource distinguishes a later leader from an earlier one.
    pub token: T,
}

impl<T: Ord> Led for Leadership<T> {
    type Token = T;

    fn from(&self) -> u64 {
        self.from
    }

    fn until(&self) -> u64 {
        self.until
    }

    fn token(&self) -> &T {
        &self.token
    }
}

/// All pairs of leaders at the same time, each with the earlier leader first. Spans that only touch do not overlap.
pub fn overlaps<L: Led>(all: &[L]) -> Vec<(&L, &L)> {
    let mut found = Vec::new();
    // The spans that may overlap a later one.
    let mut open = Vec::<&L>::new();
    for next in in_order(all) {
        open.retain(|earlier| earlier.until() > next.from());
        // A span of a single instant is not a leadership.
        let shared = open.iter().filter(|earlier| next.from() < next.until().min(earlier.until()));
        found.extend(shared.map(|earlier| (*earlier, next)));
        open.push(next);
    }
    found
}

/// The pairs of leaders in which the second began later but has no larger token. A resource that remembers the largest
/// token it has seen would have refused them.
pub fn disorder<L: Led>(all: &[L]) -> Vec<(&L, &L)> {
    let mut largest = None::<&L>;
    let mut found = Vec::new();
    for next in in_order(all) {
        match largest {
            Some(earlier) if next.token() <= earlier.token() => found.push((earlier, next)),
            _ => largest = Some(next),
        }
    }
    found
}

fn in_order<L: Led>(all: &[L]) -> Vec<&L> {
    let mut sorted: Vec<_> = all.iter().collect();
    sorted.sort_by_key(|led| led.from());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(who: &str, from: u64, until: u64, token: u64) -> Leadership<u64> {
        Leadership { who: who.into(), from, until, token }
    }

    fn pairs(found: Vec<(&Leadership<u64>, &Leadership<u64>)>) -> Vec<(u64, u64)> {
        found.into_iter().map(|(one, other)| (one.token, other.token)).collect()
    }

    #[test]
    fn leaders_one_after_the_other_break_no_rule() {
        let all = [led("b", 20, 30, 2), led("a", 10, 20, 1), led("a", 35, 40, 7)];
        assert_eq!(pairs(overlaps(&all)), []);
        assert_eq!(pairs(disorder(&all)), []);
    }

    #[test]
    fn two_at_once_are_found_in_whatever_order_they_are_given() {
        let all = [led("b", 19, 30, 2), led("a", 10, 20, 1)];
        assert_eq!(pairs(overlaps(&all)), [(1, 2)]);
    }

    #[test]
    fn one_inside_a_longer_one_is_found_and_so_is_one_behind_it() {
        let all = [led("a", 10, 100, 1), led("b", 20, 30, 2), led("c", 40, 50, 3), led("d", 100, 200, 4)];
        assert_eq!(pairs(overlaps(&all)), [(1, 2), (1, 3)]);
    }

    #[test]
    fn an_instant_is_no_leadership() {
        assert_eq!(pairs(overlaps(&[led("a", 10, 20, 1), led("b", 15, 15, 2)])), []);
    }

    #[test]
    fn a_token_that_does_not_grow_is_found_and_one_behind_it_is_not() {
        let all = [led("a", 10, 20, 5), led("b", 30, 40, 7), led("c", 50, 60, 6), led("d", 70, 80, 8)];
        assert_eq!(pairs(disorder(&all)), [(7, 6)]);
        assert_eq!(pairs(disorder(&[led("a", 10, 20, 5), led("b", 30, 40, 5)])), [(5, 5)]);
    }
}
