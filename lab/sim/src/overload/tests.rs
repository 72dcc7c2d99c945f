use super::*;

const ELECTIONS: usize = 1_000;

const PLAIN: Overload = Overload {
    elections: ELECTIONS,
    lease: Duration::from_secs(6),
    lasts: Duration::from_secs(40),
    share: 100,
    slower: 1,
};

/// The records of terms that end immediately block their successors for a lease.
const BACK: Duration = Duration::from_secs(8);

/// Returns cases in which not all elections can be renewed in time. A queue's round is one and a half times the work of
/// a key's renewal, and needs twice as many requests.
fn too_little(on: Kind) -> [Overload; 3] {
    let (shares, slower) = match on {
        Kind::Etcd => ([10, 8], 400),
        _ => ([5, 3], 800),
    };
    let [little, less] = shares.map(|share| Overload { share, ..PLAIN });
    [little, less, Overload { slower, ..PLAIN }]
}

fn courses(on: Kind, overload: Overload) -> Vec<Course> {
    let courses: Vec<_> = (1..=2).map(|seed| overload.run(on, seed).unwrap()).collect();
    assert!(courses.iter().all(|course| course.early == 0), "{on:?} {overload:?}: {courses:?}");
    courses
}

/// Returns the fewest elections that a session must lead, which is as many as it can renew in a third of a lease. With
/// fewer leaders there are times without a waiting renewal, and then the session acquires.
///
/// For the process, a key's renewal is four pieces of work, which are a timer, a request, an answer and a watch event.
/// For the store it is one request. A round is six pieces of work, with two requests and three answers, and two
/// requests for the store.
fn at_least(on: Kind, Overload { lease, share, slower, .. }: Overload) -> usize {
    let (pieces, requests) = if on == Kind::Etcd { (6, 2) } else { (4, 1) };
    let work = (WORK * pieces * 100 / share).max(SERVICE * requests * slower);
    (lease / 3).div_duration_f64(work) as usize
}

fn keeps_all(on: Kind, overload: Overload) {
    let courses = courses(on, overload);
    let kept = |course: &Course| (course.fewest, course.lost, course.reconnects) == (ELECTIONS, 0, 0);
    assert!(courses.iter().all(kept), "{on:?} {overload:?}: {courses:?}");
}

fn keeps_what_there_is_time_for(on: Kind) {
    for overload in too_little(on) {
        let (courses, least) = (courses(on, overload), at_least(on, overload));
        let kept = |course: &Course| course.fewest >= least;
        assert!(courses.iter().all(kept), "{on:?} {overload:?}, {least}: {courses:?}");
    }
}

fn loses_no_more_for_however_long(on: Kind) {
    for overload in too_little(on) {
        let long = Overload { lasts: Duration::from_secs(340), ..overload };
        let course = long.run(on, 1).unwrap();
        // None is lost twice.
        let kept = course.fewest >= at_least(on, overload) && course.lost <= ELECTIONS - course.fewest;
        assert!(kept && course.early == 0, "{on:?} {long:?}: {course:?}");
    }
}

fn recovers(on: Kind) {
    for overload in too_little(on) {
        let courses = courses(on, overload);
        let recovered = |course: &Course| course.back_after <= BACK && course.lost_later == 0;
        assert!(courses.iter().all(recovered), "{on:?} {overload:?}: {courses:?}");
    }
}

#[test]
fn with_a_tenth_of_a_processor_all_stay_led_and_no_connection_is_asked_for() {
    [30, 20, 10].into_iter().for_each(|share| keeps_all(Kind::Nats, Overload { share, ..PLAIN }));
}

#[test]
fn on_a_store_that_is_slower_than_they_renew_all_stay_led() {
    [200, 400].into_iter().for_each(|slower| keeps_all(Kind::Nats, Overload { slower, ..PLAIN }));
}

#[test]
fn with_less_as_many_stay_led_as_there_is_time_to_renew() {
    keeps_what_there_is_time_for(Kind::Nats);
}

#[test]
fn for_however_long_there_is_too_little_time_no_more_are_lost() {
    loses_no_more_for_however_long(Kind::Nats);
}

#[test]
fn what_was_lost_for_want_of_time_is_led_again_soon_after_and_nothing_more_is_lost() {
    recovers(Kind::Nats);
}

#[test]
fn with_a_seventh_of_a_processor_all_stay_led_in_their_queues_and_no_connection_is_asked_for() {
    [30, 20, 15].into_iter().for_each(|share| keeps_all(Kind::Etcd, Overload { share, ..PLAIN }));
}

#[test]
fn on_a_store_that_is_slower_than_their_rounds_all_stay_led_in_their_queues() {
    [100, 200].into_iter().for_each(|slower| keeps_all(Kind::Etcd, Overload { slower, ..PLAIN }));
}

#[test]
fn with_less_as_many_stay_led_in_their_queues_as_there_is_time_for_rounds() {
    keeps_what_there_is_time_for(Kind::Etcd);
}

#[test]
fn for_however_long_there_is_too_little_time_for_rounds_no_more_are_lost() {
    loses_no_more_for_however_long(Kind::Etcd);
}

#[test]
fn what_was_lost_in_queues_for_want_of_time_is_led_again_soon_after_and_nothing_more_is_lost() {
    recovers(Kind::Etcd);
}

/// With so little processor time, other work is done between the two requests of each round.
#[test]
fn with_almost_no_time_for_rounds_half_of_those_that_there_is_time_for_stay_led_and_all_are_led_again_soon_after()
 {
    for overload in
        [5, 3].map(|share| Overload { share, ..PLAIN }).into_iter().chain([Overload { slower: 800, ..PLAIN }])
    {
        let (courses, least) = (courses(Kind::Etcd, overload), at_least(Kind::Etcd, overload) / 2);
        let kept = |course: &Course| course.fewest >= least;
        let recovered =
            |course: &Course| course.back_after <= BACK && (course.lost_later, course.reconnects) == (0, 0);
        assert!(courses.iter().all(|course| kept(course) && recovered(course)), "{overload:?}: {courses:?}");
    }
}

#[test]
fn on_kafka_elections_of_one_process_share_nothing_that_could_be_overloaded() {
    assert!(PLAIN.run(Kind::Kafka, 1).is_err());
}
