//! Readings for every turn of a loop, as plain C functions that allocate on neither side.
//!
//! A generated call allocates in the virtual machine, and natively for the status of the call, which is freed later by a
//! thread that all such calls share. These functions take and return one number each. They are for Kotlin; a generated
//! call in Swift costs little.
//!
//! An object is named by its [address](Candidate::address). One rule keeps this sound: **the address is used only while
//! the generated object that gave it out exists.** That object owns the memory, so the address itself needs no freeing.
//! Closing a candidate or ending a term frees nothing either: a reading at that moment is answered. The library for
//! Kotlin keeps the generated object and the address in one object, never destroys the object of a candidate or a term
//! by hand, and keeps it reachable until the call has returned.
//!
//! A panic must not cross into C. It counts as the answer that lets no work continue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::candidate::Candidate;
use crate::term::Term;

#[uniffi::export]
impl Candidate {
    /// The address of this object, for [readings](crate::readings) while it exists.
    pub fn address(&self) -> u64 {
        address(self)
    }
}

#[uniffi::export]
impl Term {
    /// The address of this object, for [readings](crate::readings) while it exists.
    pub fn address(&self) -> u64 {
        address(self)
    }
}

/// Returns 1 if the candidate leads now, by the clock, and 0 otherwise.
///
/// # Safety
/// `candidate` is the [address](Candidate::address) of an object that exists until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incumbent_candidate_is_leader(candidate: u64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { read(candidate, 0, |candidate: &Candidate| i32::from(candidate.is_leader())) }
}

/// Returns 1 if the term still lasts, by the clock, and 0 otherwise.
///
/// # Safety
/// `term` is the [address](Term::address) of an object that exists until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incumbent_term_is_current(term: u64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { read(term, 0, |term: &Term| i32::from(term.is_current())) }
}

/// Returns the time for which the lease is proven, in nanoseconds; `i64::MAX` for any longer time.
///
/// # Safety
/// `term` is the [address](Term::address) of an object that exists until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incumbent_term_remaining(term: u64) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { read(term, 0, |term: &Term| nanoseconds(term.remaining())) }
}

/// Returns the time since the candidate learned that it leads, in nanoseconds; `i64::MAX` for any longer time.
///
/// # Safety
/// `term` is the [address](Term::address) of an object that exists until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incumbent_term_age(term: u64) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { read(term, 0, |term: &Term| nanoseconds(term.age())) }
}

/// Returns the time that a draining leader still has, in nanoseconds; -1 while it is not draining.
///
/// # Safety
/// `term` is the [address](Term::address) of an object that exists until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incumbent_term_drain_remaining(term: u64) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { read(term, 0, |term: &Term| term.drain_remaining().map_or(-1, nanoseconds)) }
}

fn address<T>(object: &T) -> u64 {
    std::ptr::from_ref(object).expose_provenance() as u64
}

/// Reads the object at that address; returns `otherwise` if reading panics.
///
/// # Safety
/// It is the address of a `T` that exists until this returns.
unsafe fn read<T, V: Copy>(address: u64, otherwise: V, reading: impl FnOnce(&T) -> V) -> V {
    // SAFETY: as the caller promises; every method of the object takes it by a shared reference.
    let object = unsafe { &*std::ptr::with_exposed_provenance::<T>(address as usize) };
    // A reading changes nothing, so nothing is left half done.
    catch_unwind(AssertUnwindSafe(|| reading(object))).unwrap_or(otherwise)
}

fn nanoseconds(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ManualClock, Script};
    use crate::value::Reason;

    #[test]
    fn readings_are_those_of_the_objects() {
        let clock = ManualClock::new();
        let script = Script::new("jobs", "a", Some(clock.clone())).unwrap();
        let candidate = script.candidate();
        let leads = || unsafe { incumbent_candidate_is_leader(candidate.address()) };
        assert_eq!(leads(), 0);
        script.acquire(Some(Duration::from_secs(5))).unwrap();
        let term = candidate.term().unwrap();
        let hold = term.hold();
        let read = || unsafe {
            let term = term.address();
            let times = [
                incumbent_term_remaining(term),
                incumbent_term_age(term),
                incumbent_term_drain_remaining(term),
            ];
            (incumbent_term_is_current(term), times)
        };
        clock.advance(Duration::from_secs(2));
        assert_eq!((leads(), read()), (1, (1, [3_000_000_000, 2_000_000_000, -1])));
        script.drain(Reason::Resigned).unwrap();
        assert!(read().1[2] > 0);
        drop(hold);
        script.revoke(Reason::Usurped).ok();
        assert_eq!(leads(), 0);
        let (is_current, [remaining, age, _]) = read();
        assert_eq!((is_current, remaining, age), (0, 0, 2_000_000_000));
    }

    #[test]
    fn a_time_that_has_no_number_is_the_longest() {
        assert_eq!(nanoseconds(Duration::MAX), i64::MAX);
        assert_eq!(nanoseconds(Duration::from_nanos(7)), 7);
    }

    #[test]
    fn a_panic_is_answered() {
        let object = 7_u8;
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let answer = unsafe { read(address(&object), 0, |_: &u8| panic!("on purpose")) };
        std::panic::set_hook(quiet);
        assert_eq!(answer, 0);
    }
}
