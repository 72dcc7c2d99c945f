//! The requests that the store has not answered, and how many more may be sent.
//!
//! The window follows the answers, as congestion control does (V. Jacobson, "Congestion avoidance and control", SIGCOMM
//! 1988): it grows while answers come as fast as before, and is halved when an answer outlasts its limit.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::CampaignId;
use crate::time::Instant;

/// The smallest window: any store can handle this many requests.
const FEWEST: u32 = 8;
/// The initial window. If this many elections renew at once, that is no burst for a store.
const FIRST: u32 = 64;
/// The limit on all requests whose answers may still come, including late ones. It is higher if the store accepts more
/// requests.
const ALL: u32 = 256;
/// The multiple of its limit after which a request is lost. Its answer still counts, but it no longer takes a place. So
/// a store that answers nothing can always be tried once more.
const LOST: u32 = 8;
/// The multiple of the fastest answer time up to which an answer lets the window grow. If answers take longer, requests
/// are waiting in the store.
const SLOWER: u32 = 4;
/// The fraction of a request's limit that an answer may take in any case while the window grows, because a wait that
/// short delays no urgent renewal. On a busy machine most answers wait for a processor and take more than [`SLOWER`]
/// times as long as the fastest, yet more requests bring more answers.
const BRIEF: u32 = 32;
/// The answer time up to which the window always grows, because a busy driver alone adds that much.
const QUICK: Duration = Duration::from_millis(1);
/// The span for which a fastest answer is kept. It counts during its own span and the next one.
const RECENT: Duration = Duration::from_secs(5);
/// The number of answers over which the answer time is averaged. One lucky answer barely changes the mean, but a few
/// answers show that a store has slowed down.
const USUAL: u32 = 8;
/// The span in which answers are counted. If answers take longer, the window grows only if there are more answers in
/// each span.
const SPAN: Duration = Duration::from_millis(250);

/// Identifies a request among those of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The write of this number.
    Write(u64),
    /// The read of this number.
    Read(u64),
    /// In a queue, the keep-alives for a place with this lease.
    KeepAlive(u64),
    /// The read of this number.
    Look(u64),
    /// The transaction of this number.
    Transaction(u64),
    /// The grant of this lease.
    Grant(u64),
    /// The revocation of this lease.
    Revoke(u64),
}

/// A request that was sent and has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    id: CampaignId,
    ticket: Ticket,
    sent: Instant,
    limit: Duration,
    /// Whether the request has outlasted its limit. Its answer still counts.
    is_late: bool,
}

/// A session's requests, for its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Campaigns waiting to ask.
    pub waiting: usize,
    /// The number of requests that may be in flight.
    pub window: usize,
    /// The number of requests in flight, including those that outlasted their limits.
    pub under_way: usize,
    /// The time that the latest answer took; zero before the first.
    pub answer_time: Duration,
    /// The number of answers that came after their limits, since the session began.
    pub late_answers: u64,
}

/// The requests in flight, and how many are allowed.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The number of requests that may wait for an answer.
    size: u32,
    /// The largest size.
    most: u32,
    /// When the window was last halved. Before its first halving the window grows with every answer, and after it more
    /// slowly.
    halved: Option<Instant>,
    /// Answers since it last grew.
    credit: u32,
    /// The unanswered requests, in the order in which they were sent.
    unanswered: VecDeque<Unanswered>,
    /// The number of unanswered requests that are late.
    late: u32,
    /// Whether any request was answered within the last limit. If so, late requests will be answered too and keep their
    /// places, because the store or this process is still working on them.
    hears: bool,
    /// The instant before which no request outlasts its limit.
    first_limit: Instant,
    times: Times,
    answered: LastAnswers,
    late_answers: u64,
}

/// The times and numbers of the store's answers.
#[derive(Clone, Debug)]
struct Times {
    /// The time that the latest answer took.
    latest: Duration,
    /// The mean answer time, in which the latest answer has a weight of one in [`USUAL`].
    usual: Duration,
    /// The fastest answer times of the current and the previous span.
    fastest: [Duration; 2],
    fastest_since: Instant,
    /// The number of answers in the current and the previous span.
    answers: [u32; 2],
    answers_since: Instant,
    /// Whether earlier spans show that the store gives more answers if it gets more requests.
    grow: bool,
}

/// The times of the latest answers to campaigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastAnswers {
    /// To any request.
    pub any: Instant,
    /// The time of the latest answer to the write of a record. Other answers do not count, because an isolated server
    /// still answers reads. In a queue, this is the send time of the newest answered request other than a keep-alive,
    /// because the stream of keep-alives may be silent on its own.
    pub apart: Instant,
}

impl LastAnswers {
    /// Takes in when other campaigns were answered.
    pub(crate) fn learn(&mut self, others: Self) {
        (self.any, self.apart) = (self.any.max(others.any), self.apart.max(others.apart));
    }

    /// Notes that a request was answered at `now`. Its send time may no longer be known.
    pub(crate) fn answered(&mut self, ticket: Ticket, sent: Option<Instant>, now: Instant) {
        self.any = now;
        match ticket {
            Ticket::Write(_) => self.apart = now,
            Ticket::Read(_) | Ticket::KeepAlive(_) => {}
            Ticket::Look(_) | Ticket::Transaction(_) | Ticket::Grant(_) | Ticket::Revoke(_) => {
                self.apart = self.apart.max(sent.unwrap_or_default());
            }
        }
    }
}

impl Window {
    pub(super) fn new(most: u32) -> Self {
        let most = most.max(FEWEST);
        Self {
            size: FIRST.min(most),
            most,
            halved: None,
            credit: 0,
            unanswered: VecDeque::new(),
            late: 0,
            hears: false,
            first_limit: Instant::NEVER,
            times: Times::default(),
            answered: LastAnswers::default(),
            late_answers: 0,
        }
    }

    /// Sets the largest number of requests that the store accepts at a time.
    pub(super) fn bound(&mut self, most: u32) {
        self.most = most.max(FEWEST);
        self.size = self.size.min(self.most);
    }

    /// The number of requests that may be sent now.
    pub(super) fn places(&self) -> u32 {
        let all = u32::try_from(self.unanswered.len()).unwrap_or(u32::MAX);
        let held = if self.hears { all } else { all - self.late };
        self.size.saturating_sub(held).min(self.most.max(ALL).saturating_sub(all))
    }

    /// A request leaves.
    pub(super) fn sent(&mut self, id: CampaignId, ticket: Ticket, limit: Duration, now: Instant) {
        self.unanswered.push_back(Unanswered { id, ticket, sent: now, limit, is_late: false });
        self.first_limit = self.first_limit.min(now + limit);
    }

    /// Notes that a request was answered, or that no answer will come, in which case `of_store` is false.
    pub(super) fn ended(&mut self, id: CampaignId, ticket: Ticket, of_store: bool, now: Instant) {
        let is_it = |request: &Unanswered| (request.id, request.ticket) == (id, ticket);
        let place = self.unanswered.iter().position(is_it);
        let request = place.and_then(|place| self.unanswered.remove(place));
        self.late -= u32::from(request.is_some_and(|request| request.is_late));
        if !of_store {
            return;
        }
        self.answered.answered(ticket, request.map(|request| request.sent), now);
        // If the request is not known, it had counted as lost, or it is a keep-alive of a companions' lease, which
        // serves many campaigns and takes no place.
        let is_lost = request.is_none() && !matches!(ticket, Ticket::KeepAlive(_));
        self.late_answers += u64::from(is_lost || request.is_some_and(|request| request.is_late));
        let Some(request) = request else { return };
        if !core::mem::replace(&mut self.hears, true) {
            self.first_limit = self.first_limit.min(now + request.limit);
        }
        self.count(now.since(request.sent), &request, now);
        self.drop_lost(request.sent);
    }

    /// The session's load, if `waiting` campaigns wait to ask.
    pub(super) fn load(&self, waiting: usize) -> Load {
        Load {
            waiting,
            window: self.size as usize,
            under_way: self.unanswered.len(),
            answer_time: self.times.latest,
            late_answers: self.late_answers,
        }
    }

    pub(super) fn last_answers(&self) -> LastAnswers {
        self.answered
    }

    /// The time that the store has recently taken to answer.
    pub(super) fn usual(&self) -> Duration {
        self.times.usual
    }

    /// Handles requests that have outlasted their limits. The first of them halves the window. If no request was
    /// answered within the last limit, they give up their places.
    pub(super) fn pass(&mut self, now: Instant) {
        if now < self.first_limit {
            return;
        }
        self.first_limit = Instant::NEVER;
        let newest = self.unanswered.back().map_or(Duration::ZERO, |request| request.limit);
        let heard_until = self.answered.any + newest;
        self.hears = now < heard_until;
        if self.hears {
            self.first_limit = heard_until;
        }
        for request in &mut self.unanswered {
            let limit = request.sent + request.limit;
            if !request.is_late && now < limit {
                self.first_limit = self.first_limit.min(limit);
                continue;
            }
            self.first_limit = self.first_limit.min(request.sent + request.limit * LOST);
            // A request sent before the window was last halved shows nothing about its new size.
            let is_news = self.halved.is_none_or(|halved| halved <= request.sent);
            if !core::mem::replace(&mut request.is_late, true) && is_news {
                self.halved = Some(now);
                self.size = (self.size / 2).max(FEWEST);
                self.credit = 0;
            }
        }
        self.unanswered.retain(|request| now < request.sent + request.limit * LOST);
        self.count_late();
    }

    /// When the next request outlasts its limit, unless it is answered first.
    pub(super) fn first_limit(&self) -> Instant {
        self.first_limit
    }

    /// Forgets all requests in flight after the connection was replaced, so that they no longer take places.
    pub(super) fn clear(&mut self) {
        self.unanswered.clear();
        self.late = 0;
        self.hears = false;
        self.first_limit = Instant::NEVER;
    }

    /// Learns from an answer that took `took`.
    fn count(&mut self, took: Duration, request: &Unanswered, now: Instant) {
        self.times.learn(took, now);
        let quick = QUICK.max(self.times.fastest().saturating_mul(SLOWER)).max(request.limit / BRIEF);
        let is_quick = took <= quick;
        let is_used = self.unanswered.len() * 2 >= self.size as usize;
        if request.is_late || !is_used || self.size >= self.most || !(is_quick || self.times.grow) {
            return;
        }
        self.credit += 1;
        if self.halved.is_none() || self.credit >= self.size {
            self.size += 1;
            self.credit = 0;
        }
    }

    /// Forgets requests sent at least a limit before one that was just answered, because they will not be answered in
    /// time.
    fn drop_lost(&mut self, answered: Instant) {
        let is_lost = |request: &Unanswered| request.sent + request.limit <= answered;
        if !self.unanswered.front().is_some_and(is_lost) {
            return;
        }
        self.unanswered.retain(|request| !is_lost(request));
        self.count_late();
    }

    fn count_late(&mut self) {
        self.late = self.unanswered.iter().map(|request| u32::from(request.is_late)).sum();
    }
}

impl Default for Times {
    fn default() -> Self {
        Self {
            latest: Duration::ZERO,
            usual: Duration::ZERO,
            fastest: [Duration::MAX; 2],
            fastest_since: Instant::ZERO,
            answers: [0; 2],
            answers_since: Instant::ZERO,
            grow: false,
        }
    }
}

impl Times {
    fn learn(&mut self, took: Duration, now: Instant) {
        self.latest = took;
        if now >= self.answers_since + SPAN {
            let [present, before] = self.answers;
            self.grow = present > before + before / 16;
            self.answers = [0, present];
            self.answers_since = now;
        }
        self.answers[0] += 1;
        if now >= self.fastest_since + RECENT {
            self.fastest = [Duration::MAX, self.fastest[0]];
            self.fastest_since = now;
        }
        self.fastest[0] = self.fastest[0].min(took);
        self.usual = match self.usual {
            Duration::ZERO => took,
            usual => (usual * (USUAL - 1) + took) / USUAL,
        };
    }

    /// The store's shortest recent answer time.
    fn fastest(&self) -> Duration {
        let fastest = self.fastest[0].min(self.fastest[1]);
        if fastest == Duration::MAX { Duration::ZERO } else { fastest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Sends as many requests as are allowed, numbered from `first`. Returns the next number.
    fn fill(window: &mut Window, first: u64, now: Instant) -> u64 {
        let places = u64::from(window.places());
        (first..first + places).for_each(|number| window.sent(1, Ticket::Write(number), LIMIT, now));
        first + places
    }

    fn answer(window: &mut Window, numbers: core::ops::Range<u64>, now: Instant) {
        numbers.for_each(|number| window.ended(1, Ticket::Write(number), true, now));
    }

    #[test]
    fn as_many_requests_leave_as_it_has_places_and_one_more_with_each_answer() {
        let mut window = Window::new(64);
        assert_eq!(fill(&mut window, 0, at(0)), 64);
        assert_eq!(window.places(), 0);
        answer(&mut window, 5..6, at(1));
        assert_eq!(window.places(), 1);
    }

    #[test]
    fn it_grows_with_every_quick_answer_until_the_store_bears_no_more() {
        let mut window = Window::new(100);
        let mut next = fill(&mut window, 0, at(0));
        let mut answered = 0;
        for round in 1..20 {
            answer(&mut window, answered..next, at(round));
            answered = next;
            next = fill(&mut window, next, at(round));
        }
        assert_eq!(next - answered, 100);
    }

    #[test]
    fn on_a_busy_machine_it_grows_though_most_answers_take_far_longer_than_the_fastest() {
        let mut window = Window::new(256);
        window.sent(1, Ticket::Read(0), LIMIT, at(0));
        window.ended(1, Ticket::Read(0), true, at(0));
        let (mut next, mut answered) = (0, 0);
        for round in 0..10 {
            next = fill(&mut window, next, at(round * 15));
            answer(&mut window, answered..next, at((round + 1) * 15));
            answered = next;
        }
        assert_eq!(window.places(), 256);
    }

    #[test]
    fn it_does_not_grow_where_it_is_not_used() {
        let mut window = Window::new(256);
        for number in 0..1000 {
            window.sent(1, Ticket::Read(number), LIMIT, at(number));
            window.ended(1, Ticket::Read(number), true, at(number));
        }
        assert_eq!(window.places(), 64);
    }

    #[test]
    fn answers_that_take_longer_and_do_not_become_more_let_it_be() {
        let mut window = Window::new(256);
        window.sent(1, Ticket::Read(0), LIMIT, at(0));
        window.ended(1, Ticket::Read(0), true, at(2));
        // The store answers one request every ten milliseconds.
        let mut next = fill(&mut window, 0, at(2));
        for answered in 0..400 {
            let now = at(12 + answered * 10);
            answer(&mut window, answered..answered + 1, now);
            next = fill(&mut window, next, now);
        }
        // The first span has no predecessor, so the number of answers seems to have grown.
        assert!(next - 400 <= 64 + 50, "{}", next - 400);
    }

    #[test]
    fn requests_of_one_window_that_outlast_their_limits_halve_it_once_and_leave_their_places() {
        let mut window = Window::new(256);
        let next = fill(&mut window, 0, at(0));
        window.pass(at(1_999));
        assert_eq!(window.places(), 0);
        window.pass(at(2_000));
        assert_eq!(window.places(), 32);
        let after = fill(&mut window, next, at(2_000));
        assert_eq!(after - next, 32);
        window.pass(at(4_000));
        assert_eq!(window.places(), 16);
    }

    #[test]
    fn it_never_falls_below_the_fewest() {
        let mut window = Window::new(256);
        let mut next = 0;
        for round in 0..10 {
            next = fill(&mut window, next, at(round * 2_000));
            window.pass(at((round + 1) * 2_000));
            answer(&mut window, 0..next, at((round + 1) * 2_000));
        }
        assert_eq!(window.places(), FEWEST);
    }

    #[test]
    fn once_halved_it_grows_by_one_for_each_window_of_answers() {
        let mut window = Window::new(256);
        let next = fill(&mut window, 0, at(0));
        window.pass(at(2_000));
        answer(&mut window, 0..next, at(2_000));
        let after = fill(&mut window, next, at(2_000));
        assert_eq!(after - next, 32);
        answer(&mut window, next..next + 16, at(2_001));
        let last = fill(&mut window, after, at(2_001));
        assert_eq!(last - after, 16);
        answer(&mut window, next + 16..after, at(2_002));
        assert_eq!(window.places(), 17);
    }

    #[test]
    fn where_nothing_is_answered_the_fewest_are_tried_once_in_a_limit_for_as_long_as_it_takes() {
        let mut window = Window::new(64);
        let mut next = 0;
        for round in 0..200 {
            window.pass(at(round * 2_000));
            next = fill(&mut window, next, at(round * 2_000));
        }
        assert_eq!(next, 64 + 32 + 16 + 197 * u64::from(FEWEST));
        assert_eq!(window.unanswered.len() as u32, FEWEST * LOST);
        // One answer frees its own place and those of requests sent a limit before it.
        window.ended(1, Ticket::Write(next - 1), true, at(400_000));
        assert_eq!((window.unanswered.len(), window.places()), (FEWEST as usize - 1, 1));
    }

    #[test]
    fn a_store_that_answers_nothing_has_as_many_requests_as_it_may_have_at_a_time() {
        let mut window = Window::new(1_024);
        (0..u64::from(ALL)).for_each(|number| window.sent(1, Ticket::Write(number), LIMIT, at(0)));
        window.pass(at(2_000));
        assert_eq!(window.places(), window.size);
        let mut window = Window::new(64);
        (0..u64::from(ALL)).for_each(|number| window.sent(1, Ticket::Write(number), LIMIT, at(0)));
        window.pass(at(2_000));
        assert_eq!(window.places(), 0);
        window.pass(at(16_000));
        assert_eq!(window.places(), 32);
    }

    #[test]
    fn an_answer_after_the_limit_is_late_and_a_request_that_ends_without_one_is_not() {
        let mut window = Window::new(64);
        (0..3).for_each(|number| window.sent(1, Ticket::Write(number), LIMIT, at(0)));
        window.ended(1, Ticket::Write(0), true, at(1_000));
        window.pass(at(2_000));
        assert_eq!(window.load(0).late_answers, 0);
        window.ended(1, Ticket::Write(1), true, at(3_000));
        window.ended(1, Ticket::Write(2), false, at(3_000));
        assert_eq!(window.last_answers().apart, at(3_000));
        let answer_time = Duration::from_secs(3);
        let load = Load { waiting: 5, window: 32, under_way: 0, answer_time, late_answers: 1 };
        assert_eq!(window.load(5), load);
        assert_eq!(window.late, 0);
    }

    #[test]
    fn the_answer_to_a_request_that_counts_as_lost_is_late() {
        let mut window = Window::new(64);
        window.sent(1, Ticket::Read(1), LIMIT, at(0));
        window.sent(1, Ticket::Read(2), LIMIT, at(2_000));
        window.pass(at(2_000));
        window.ended(1, Ticket::Read(2), true, at(2_001));
        assert!(window.unanswered.is_empty() && window.late == 0);
        assert_eq!(window.load(0).late_answers, 0);
        window.ended(1, Ticket::Read(1), true, at(2_002));
        assert_eq!(window.load(0).late_answers, 1);
    }

    #[test]
    fn late_requests_keep_their_places_until_nothing_was_answered_for_a_limit() {
        let mut window = Window::new(64);
        fill(&mut window, 0, at(0));
        window.pass(at(1_500));
        answer(&mut window, 0..4, at(1_500));
        // Sixty requests are in flight, and the window is halved.
        window.pass(at(2_000));
        assert_eq!((window.places(), window.first_limit()), (0, at(3_500)));
        answer(&mut window, 4..30, at(2_500));
        assert_eq!(window.places(), 0);
        answer(&mut window, 30..33, at(3_000));
        assert_eq!(window.places(), 1);
        window.pass(at(4_999));
        assert_eq!(window.places(), 1);
        window.pass(at(5_000));
        assert_eq!(window.places(), 32);
        // The late requests take places again with the next answer.
        answer(&mut window, 33..34, at(5_000));
        assert_eq!(window.places(), 2);
    }

    #[test]
    fn the_usual_time_to_an_answer_follows_the_last_eight() {
        let mut window = Window::new(64);
        let mut took = |number, millis| {
            window.sent(1, Ticket::Read(number), LIMIT, at(0));
            window.ended(1, Ticket::Read(number), true, at(millis));
            window.usual()
        };
        assert_eq!([took(0, 8), took(1, 16), took(2, 9)], [8, 9, 9].map(Duration::from_millis));
    }

    #[test]
    fn a_new_connection_has_all_places() {
        let mut window = Window::new(64);
        fill(&mut window, 0, at(0));
        window.pass(at(2_000));
        window.clear();
        assert_eq!((window.places(), window.first_limit()), (32, Instant::NEVER));
    }

    #[test]
    fn the_fastest_answer_counts_for_five_to_ten_seconds() {
        let mut window = Window::new(64);
        for (number, sent, answered) in [(0, 0, 1), (1, 6_000, 6_030), (2, 9_000, 9_020)] {
            window.sent(1, Ticket::Read(number), LIMIT, at(sent));
            window.ended(1, Ticket::Read(number), true, at(answered));
        }
        assert_eq!(window.times.fastest(), Duration::from_millis(1));
        window.sent(1, Ticket::Read(3), LIMIT, at(12_000));
        window.ended(1, Ticket::Read(3), true, at(12_040));
        assert_eq!(window.times.fastest(), Duration::from_millis(20));
    }
}
