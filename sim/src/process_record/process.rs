//! The rules, as a state machine without I/O and without a clock.
//!
//! docs/internals/process-record.md gives the reason for each of them.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::Instant;

use super::Broken;
use super::bucket::{Body, Entry, Key, Life, Write};

/// The lease time.
pub(super) const LEASE: Duration = Duration::from_secs(10);
/// Parts per million that each clock may gain or lose: much, so that a few seeds are enough.
pub(super) const DRIFT_PPM: u32 = 50_000;
/// The time after which a write without an answer is repeated.
const REPEAT: Duration = Duration::from_millis(500);
/// The time after which a renewal that the watch does not show asks for another watch.
const WATCH_WAIT: Duration = Duration::from_millis(1_500);
/// The time for which a process stays out of an election that it released.
const STAY_OUT: Duration = Duration::from_secs(3);

fn drift(span: Duration) -> Duration {
    span * DRIFT_PPM / 1_000_000
}

#[derive(Debug)]
pub(super) enum Input {
    /// A message of watch `number`, its `nth`; without an entry where the watch begins with nothing.
    Watched {
        number: u64,
        nth: u64,
        entry: Option<Entry>,
        is_last: bool,
    },
    Answer {
        attempt: u64,
        result: Result<u64, Option<Entry>>,
    },
    Tick,
    Resign(usize),
    Shutdown,
}

#[derive(Debug)]
pub(super) enum Output {
    Write {
        attempt: u64,
        write: Write,
    },
    /// Begin another watch, after this sequence.
    Watch {
        number: u64,
        after: u64,
    },
    Won {
        election: usize,
        token: u64,
    },
    Lost,
    /// The process record is over, and the process may exit.
    Stopped,
}

/// The newest message of a key as far as the watch has shown it, and its first observation.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    entry: Option<Entry>,
    since: Instant,
}

impl Seen {
    fn revision(&self) -> u64 {
        self.entry.map_or(0, |entry| entry.revision)
    }
}

/// The process record of the present life.
#[derive(Debug)]
struct Own {
    life: Life,
    /// The revision that its creation replaces.
    base: u64,
    /// The newest revision of it known; zero before it is created.
    revision: u64,
    /// The send times of its writes, by attempt.
    sent: BTreeMap<u64, Instant>,
    last_sent: Instant,
    last_round: Instant,
    /// The send time of the newest attempt that the watch has shown.
    shown: Option<Instant>,
    /// The same, of an attempt after which the watch had nothing left to show.
    proved: Option<Instant>,
    /// The time from which a renewal waits to be shown.
    unshown: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Holding {
    revision: u64,
    /// The win is not reported before.
    until: Instant,
    leads: bool,
}

#[derive(Debug, Default)]
struct Election {
    seen: Seen,
    /// The acquires of this life that may yet be applied, with their win delays.
    tries: BTreeMap<u64, Instant>,
    next_try: Instant,
    holding: Option<Holding>,
    /// The win delay of this life's newest record.
    owed_until: Instant,
    /// The revision that is to be released.
    releasing: Option<(u64, Duration)>,
}

/// What a run counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// Renewals of process records, repeats included.
    pub(super) renewals: u64,
    /// Rounds of renewals, times the elections held then: what leases of their own would have written.
    pub(super) separate: u64,
}

#[derive(Debug)]
pub(super) struct Process {
    me: usize,
    broken: Option<Broken>,
    next_nonce: u64,
    attempts: u64,
    own: Option<Own>,
    processes: Vec<Seen>,
    elections: Vec<Election>,
    /// From when no term of a life is left.
    ended: BTreeMap<Life, Instant>,
    fenced: BTreeMap<Key, Instant>,
    watch: u64,
    shown_nth: u64,
    shown_sequence: u64,
    /// True while the watch's last message had none after it.
    is_exact: bool,
    heard: Instant,
    stopping: bool,
    /// The number of terms that last.
    leads: usize,
    pub(super) count: Count,
}

impl Process {
    pub(super) fn new(
        me: usize,
        processes: usize,
        elections: usize,
        nonce: u64,
        broken: Option<Broken>,
    ) -> Self {
        Self {
            me,
            broken,
            next_nonce: nonce,
            // A nonce may never meet an attempt of an earlier process.
            attempts: nonce,
            own: None,
            processes: vec![Seen::default(); processes],
            elections: (0..elections).map(|_| Election::default()).collect(),
            ended: BTreeMap::new(),
            fenced: BTreeMap::new(),
            watch: 0,
            shown_nth: 0,
            shown_sequence: 0,
            is_exact: false,
            heard: Instant::ZERO,
            stopping: false,
            leads: 0,
            count: Count::default(),
        }
    }

    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    /// The time for which another life may lead after a renewal.
    fn wait(&self) -> Duration {
        if self.is(Broken::NoDrift) { LEASE - drift(LEASE) * 2 } else { LEASE + drift(LEASE) }
    }

    /// The one deadline of all terms of this process.
    fn deadline(&self) -> Instant {
        let proved = self.own.as_ref().and_then(|own| own.proved);
        proved.map_or(Instant::ZERO, |sent| sent + LEASE.saturating_sub(drift(LEASE) * 2))
    }

    pub(super) fn is_leader(&self, election: usize, clock: Instant) -> bool {
        self.elections[election].holding.is_some_and(|holding| holding.leads) && clock < self.deadline()
    }

    pub(super) fn handle(&mut self, now: Instant, input: &Input) -> Vec<Output> {
        let mut out = Vec::new();
        if self.leads > 0 && now >= self.deadline() {
            self.end_terms(&mut out);
        }
        match *input {
            Input::Watched { number, nth, entry, is_last } if number == self.watch => {
                self.watched(now, nth, entry, is_last, &mut out);
            }
            Input::Watched { .. } | Input::Tick => {}
            Input::Answer { attempt, result } => self.answered(now, attempt, result, &mut out),
            Input::Resign(election) => self.resign(now, election, &mut out),
            Input::Shutdown => {
                self.stopping = true;
                if !self.is(Broken::EndedBeforeItsTerms) {
                    self.end_terms(&mut out);
                    self.elections.iter_mut().for_each(|election| election.holding = None);
                }
            }
        }
        self.keep_watch(now, &mut out);
        self.keep_process_record(now, &mut out);
        self.fence(now, &mut out);
        for election in 0..self.elections.len() {
            self.campaign(now, election, &mut out);
        }
        out
    }

    fn watched(
        &mut self,
        now: Instant,
        nth: u64,
        entry: Option<Entry>,
        is_last: bool,
        out: &mut Vec<Output>,
    ) {
        if nth != self.shown_nth + 1 && !self.is(Broken::GapIgnored) {
            return self.watch_again(now, out);
        }
        self.shown_nth = nth;
        self.heard = now;
        self.is_exact = is_last;
        if let Some(entry) = entry {
            self.shown_sequence = entry.revision;
            match entry.key {
                Key::Process(process) => {
                    self.processes[process] = Seen { entry: Some(entry), since: now };
                    if process == self.me {
                        self.observe_own(now, Some(entry), true, out);
                    }
                }
                Key::Election(election) => {
                    self.elections[election].seen = Seen { entry: Some(entry), since: now };
                    self.observe_election(election, out);
                }
            }
        }
        if (is_last || self.is(Broken::HolesCount))
            && let Some(own) = &mut self.own
        {
            own.proved = own.proved.max(own.shown);
        }
        self.find_ended(now);
    }

    /// A message under the key of our process record.
    fn observe_own(&mut self, now: Instant, entry: Option<Entry>, is_watched: bool, out: &mut Vec<Output>) {
        let from_receipt = self.is(Broken::DeadlineFromReceipt);
        let newest_attempt = self.is(Broken::NewestAttempt);
        let same_nonce = self.is(Broken::SameNonceAgain);
        let Some(own) = &mut self.own else { return };
        let revision = entry.map_or(0, |entry| entry.revision);
        match entry.map(|entry| entry.body) {
            Some(Body::Alive { life, attempt }) if life == own.life => {
                own.revision = own.revision.max(revision);
                let sent = own.sent.get(&attempt).copied();
                let sent = if newest_attempt { own.sent.values().last().copied() } else { sent };
                let sent = if from_receipt { Some(now) } else { sent };
                if is_watched {
                    own.shown = own.shown.max(sent);
                    own.unshown = None;
                    own.sent = own.sent.split_off(&attempt);
                }
            }
            _ if revision > own.revision.max(own.base) => {
                if same_nonce && !self.stopping {
                    own.base = revision;
                    own.revision = 0;
                    return;
                }
                self.end_terms(out);
                self.own = None;
                if self.is(Broken::EarlierNonceCounts) {
                    return;
                }
                for election in &mut self.elections {
                    election.holding = None;
                    election.tries.clear();
                    election.releasing = None;
                }
            }
            _ => {}
        }
    }

    fn observe_election(&mut self, election: usize, out: &mut Vec<Output>) {
        let life = self.own.as_ref().map(|own| own.life);
        let any_nonce = self.is(Broken::EarlierNonceCounts);
        let me = self.me;
        let place = &mut self.elections[election];
        let Some(entry) = place.seen.entry else { return };
        if let Body::Held { by, attempt, .. } = entry.body
            && (Some(by) == life || any_nonce && by.process == me)
        {
            if let Some(until) = place.tries.remove(&attempt)
                && place.holding.is_none_or(|holding| holding.revision < entry.revision)
            {
                place.owed_until = until;
                place.holding = Some(Holding { revision: entry.revision, until, leads: false });
            }
            return;
        }
        if place.holding.is_some_and(|holding| holding.revision < entry.revision) {
            self.lose(election, out);
        }
    }

    fn answered(
        &mut self,
        now: Instant,
        attempt: u64,
        result: Result<u64, Option<Entry>>,
        out: &mut Vec<Output>,
    ) {
        if let Some(own) = &mut self.own
            && let Some(sent) = own.sent.get(&attempt).copied()
        {
            return match result {
                Ok(revision) => {
                    own.revision = own.revision.max(revision);
                    if self.broken == Some(Broken::CountsWithoutWatch) {
                        own.shown = own.shown.max(Some(sent));
                        own.proved = own.proved.max(Some(sent));
                        own.unshown = None;
                    }
                }
                Err(entry) => self.observe_own(now, entry, false, out),
            };
        }
        for place in &mut self.elections {
            if let Ok(revision) = result
                && let Some(until) = place.tries.remove(&attempt)
                && place.seen.revision() < revision
                && place.holding.is_none_or(|holding| holding.revision < revision)
            {
                place.owed_until = until;
                place.holding = Some(Holding { revision, until, leads: false });
            }
        }
    }

    fn resign(&mut self, now: Instant, election: usize, out: &mut Vec<Output>) {
        let Some(holding) = self.elections[election].holding else { return };
        self.lose(election, out);
        let owed = if holding.leads { Duration::ZERO } else { holding.until.since(now) };
        let place = &mut self.elections[election];
        place.releasing = Some((holding.revision, owed));
        place.next_try = now;
    }

    fn lose(&mut self, election: usize, out: &mut Vec<Output>) {
        let place = &mut self.elections[election];
        if place.holding.take().is_some_and(|holding| holding.leads) {
            self.leads -= 1;
            out.push(Output::Lost);
        }
    }

    fn end_terms(&mut self, out: &mut Vec<Output>) {
        for election in 0..self.elections.len() {
            if self.elections[election].holding.is_some_and(|holding| holding.leads) {
                self.lose(election, out);
            }
        }
    }

    /// Finds the lives whose process records are gone, where elections still show them.
    fn find_ended(&mut self, now: Instant) {
        // While messages are left, a process record may be there though it was not shown yet.
        if !self.is_exact && !self.is(Broken::EndedUnproved) {
            return;
        }
        for election in &self.elections {
            let Some(Entry { body: Body::Held { by, .. }, .. }) = election.seen.entry else { continue };
            if self.ended.contains_key(&by) {
                continue;
            }
            let wait = match self.processes[by.process].entry.map(|entry| entry.body) {
                Some(Body::Alive { life, .. }) if life == by => continue,
                Some(Body::Ended(life)) if life == by => Duration::ZERO,
                _ if self.broken == Some(Broken::DeletedProcessAtOnce) => Duration::ZERO,
                _ => self.wait(),
            };
            self.ended.insert(by, now + wait);
        }
    }

    fn keep_watch(&mut self, now: Instant, out: &mut Vec<Output>) {
        let unshown = self.own.as_ref().and_then(|own| own.unshown);
        let is_late = unshown.is_some_and(|since| now >= since + WATCH_WAIT);
        // Without an own renewal to wait for, heartbeats of the consumer would show it.
        if self.watch == 0 || (is_late || self.own.is_none()) && now >= self.heard + WATCH_WAIT {
            self.watch_again(now, out);
        }
    }

    fn watch_again(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.watch += 1;
        self.shown_nth = 0;
        self.heard = now;
        self.is_exact = false;
        out.push(Output::Watch { number: self.watch, after: self.shown_sequence });
    }

    fn write(&mut self, write: Write, out: &mut Vec<Output>) -> u64 {
        self.attempts += 1;
        let attempt = self.attempts;
        let body = match write.body {
            Body::Alive { life, .. } => Body::Alive { life, attempt },
            Body::Held { by, owed, .. } => Body::Held { by, attempt, owed },
            body => body,
        };
        out.push(Output::Write { attempt, write: Write { body, ..write } });
        attempt
    }

    /// Creates, renews or ends the process record.
    fn keep_process_record(&mut self, now: Instant, out: &mut Vec<Output>) {
        let key = Key::Process(self.me);
        let Some(own) = &mut self.own else {
            let seen = self.processes[self.me];
            let is_free = !matches!(seen.entry, Some(Entry { body: Body::Alive { .. }, .. }));
            if self.stopping {
                out.push(Output::Stopped);
            } else if is_free && self.is_exact {
                self.next_nonce += 1;
                self.own = Some(Own {
                    life: Life { process: self.me, nonce: self.next_nonce },
                    base: seen.revision(),
                    revision: 0,
                    sent: BTreeMap::new(),
                    last_sent: Instant::ZERO,
                    last_round: Instant::ZERO,
                    shown: None,
                    proved: None,
                    unshown: None,
                });
                self.keep_process_record(now, out);
            }
            return;
        };
        let (life, expect) = (own.life, if own.revision > 0 { own.revision } else { own.base });
        if self.stopping {
            if now >= own.last_sent + REPEAT {
                own.last_sent = now;
                own.unshown = own.unshown.or(Some(now));
                self.write(Write { key, expect, body: Body::Ended(life) }, out);
            }
            return;
        }
        // A round ends when the watch has shown its renewal.
        let is_due = own.last_round == Instant::ZERO || now >= own.last_round + LEASE / 3;
        if !is_due && (own.unshown.is_none() || now < own.last_sent + REPEAT) {
            return;
        }
        if is_due {
            own.last_round = now;
            self.count.separate +=
                self.elections.iter().filter(|election| election.holding.is_some()).count() as u64;
        }
        own.last_sent = now;
        own.unshown = own.unshown.or(Some(now));
        self.count.renewals += 1;
        let attempt = self.write(Write { key, expect, body: Body::Alive { life, attempt: 0 } }, out);
        if let Some(own) = &mut self.own {
            own.sent.insert(attempt, now);
        }
    }

    /// Ends the process records that were not renewed for a lease.
    fn fence(&mut self, now: Instant, out: &mut Vec<Output>) {
        for process in 0..self.processes.len() {
            let seen = self.processes[process];
            let Some(Entry { key, revision, body: Body::Alive { life, .. } }) = seen.entry else { continue };
            let is_ours = self.own.as_ref().is_some_and(|own| own.life == life);
            if is_ours || now < seen.since + self.wait() {
                continue;
            }
            if self.is(Broken::NoFence) {
                self.ended.entry(life).or_insert(now);
            } else if self.fenced.get(&key).is_none_or(|last| now >= *last + REPEAT) {
                self.fenced.insert(key, now);
                self.write(Write { key, expect: revision, body: Body::Ended(life) }, out);
            }
        }
    }

    fn campaign(&mut self, now: Instant, election: usize, out: &mut Vec<Output>) {
        let deadline = self.deadline();
        let is_stopping = self.stopping;
        let place = &mut self.elections[election];
        if let Some((expect, owed)) = place.releasing {
            if place.seen.revision() > expect {
                place.releasing = None;
                place.next_try = now + STAY_OUT;
            } else if now >= place.next_try {
                place.next_try = now + REPEAT;
                let key = Key::Election(election);
                self.write(Write { key, expect, body: Body::Released { owed } }, out);
            }
            return;
        }
        if now >= deadline || is_stopping {
            return;
        }
        if let Some(holding) = &mut place.holding {
            if !holding.leads && now >= holding.until {
                holding.leads = true;
                let token = holding.revision;
                self.leads += 1;
                out.push(Output::Won { election, token });
            }
            return;
        }
        if now >= place.next_try && self.is_exact {
            self.acquire(now, election, out);
        }
    }

    fn acquire(&mut self, now: Instant, election: usize, out: &mut Vec<Output>) {
        let Some(own) = &self.own else { return };
        let life = own.life;
        if self.is(Broken::AnyNonce) && self.is_named_alive(election) {
            return;
        }
        let seen = self.elections[election].seen;
        let until = match seen.entry.map(|entry| entry.body) {
            // The bucket was never used before: an absence is no deletion.
            None => now,
            Some(Body::Released { owed }) => seen.since + owed,
            Some(Body::Deleted) if self.is(Broken::DeletionAtOnce) => now,
            Some(Body::Deleted) => seen.since + self.wait(),
            Some(Body::Held { by, .. }) if by == life => self.elections[election].owed_until,
            Some(Body::Held { by, owed, .. }) => {
                let Some(ended) = self.ended.get(&by).copied() else { return };
                let owed = if self.is(Broken::OwedForgotten) { Duration::ZERO } else { owed };
                ended.max(seen.since + owed)
            }
            Some(Body::Alive { .. } | Body::Ended(_)) => return,
        };
        let body = Body::Held { by: life, attempt: 0, owed: until.since(now) };
        let write = Write { key: Key::Election(election), expect: seen.revision(), body };
        let attempt = self.write(write, out);
        let place = &mut self.elections[election];
        place.next_try = now + REPEAT;
        place.tries.insert(attempt, until);
    }

    /// Returns true where a process of the holder's name is alive, though perhaps in another life.
    fn is_named_alive(&self, election: usize) -> bool {
        let Some(Entry { body: Body::Held { by, .. }, .. }) = self.elections[election].seen.entry else {
            return false;
        };
        let seen = self.processes[by.process].entry;
        matches!(seen.map(|entry| entry.body), Some(Body::Alive { .. }))
    }
}
