//! The rules that a test can break, one at a time; there is no such thing in a normal build.
//!
//! Each is a way to be wrong: a known defect of other leader elections, or a rule of this one left out. The
//! switch is one for the whole process.

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicUsize, Ordering};

macro_rules! mutants {
    ($($variant:ident $name:literal $origin:literal $says:literal,)*) => {
        /// A way to be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $(#[doc = $says] $variant,)*
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name, as a command line spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Where it comes from: who is known to be wrong so, or which rule is left out.
            pub const fn origin(self) -> &'static str {
                match self { $(Self::$variant => $origin,)* }
            }

            /// What is wrong, in a sentence.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$variant => $says,)* }
            }
        }
    };
}

static ON: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Breaks a rule in the whole process, or none.
pub fn set(mutant: Option<Mutant>) {
    ON.store(mutant.map_or(usize::MAX, |mutant| mutant as usize), Ordering::Relaxed);
}

/// Whether this rule is the broken one.
#[inline]
pub fn is(mutant: Mutant) -> bool {
    ON.load(Ordering::Relaxed) == mutant as usize
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no mutant has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchMutant;

impl fmt::Display for NoSuchMutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no mutant of this name")
    }
}

impl core::error::Error for NoSuchMutant {}

impl FromStr for Mutant {
    type Err = NoSuchMutant;

    fn from_str(name: &str) -> Result<Self, NoSuchMutant> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name).ok_or(NoSuchMutant)
    }
}

mutants! {
    DeadlineFromReceipt "deadline-from-receipt"
        "clients that count a lease from the answer"
        "The lease counts from when the acknowledgement came, not from when the write was sent.",
    AdoptionIgnoresAttempt "adoption-ignores-attempt"
        "rule: unknown writes"
        "A renewal found applied counts as if it were the newest attempt, whichever of them it was.",
    AnswerForLatestAttempt "answer-for-latest-attempt"
        "rule: unknown writes"
        "An answer that comes late is taken for the answer to the newest attempt.",
    AttemptNumberReused "attempt-number-reused"
        "rule: the record"
        "A repeated write bears the number of the write that it repeats.",
    DuplicateIsApplied "duplicate-is-applied"
        "clients that read no more of an answer than its sequence"
        "The answer to a duplicate counts as the acknowledgement of a write.",
    UnansweredExtends "unanswered-extends"
        "clients that take silence for success"
        "A renewal without an answer extends the lease.",
    UnansweredLoses "unanswered-loses"
        "the Go library: any failed update is a loss"
        "A renewal without an answer ends the term.",
    UnansweredWins "unanswered-wins"
        "clients that take silence for success"
        "An acquire without an answer takes the seat.",
    BusyLoses "busy-loses"
        "the Go library: any failed update is a loss"
        "The term ends when the store says that another write is in flight.",
    FailureLoses "failure-loses"
        "the Go library: any failed update is a loss"
        "The term ends when a renewal is denied or the store is full, though the lease goes on.",
    RefusalLoses "refusal-loses"
        "the Go library: any failed update is a loss"
        "A refused renewal ends the term without asking who is there, even if it is an attempt of ours.",
    RefusalOverwrites "refusal-overwrites"
        "clients that repeat an update with the revision they were refused for"
        "A refused renewal is repeated over whatever it was refused for.",
    OwnAttemptForeign "own-attempt-foreign"
        "rule: unknown writes"
        "An attempt of ours that was applied without an answer is taken for somebody else's record.",
    SightExtends "sight-extends"
        "clients that read their record and take it for a renewal"
        "A record of ours that is read again, however old, extends the lease.",
    LateAnswersDropped "late-answers-dropped"
        "rule: operations"
        "An acknowledgement that comes after the waiting for it has ended is thrown away.",
    LapsedTermExtended "lapsed-term-extended"
        "rule: unknown writes"
        "An acknowledgement that comes after the deadline revives the term.",
    TimerTrusted "timer-trusted"
        "clients whose is_leader is a flag"
        "is_leader is a flag that a timer clears, so it is wrong in a process that was stopped.",
    DeadlineUnattended "deadline-unattended"
        "rule: losing"
        "Nobody is woken when the deadline passes, so the loss is told late.",
    NoSkew "no-skew"
        "rule: the margin"
        "The margin does not allow for servers whose clocks disagree.",
    NoDrift "no-drift"
        "rule: the margin"
        "The margin does not allow for clocks that drift.",
    DriftOnce "drift-once"
        "an early version of this core"
        "The margin allows for one clock that drifts, though a lease is counted by two.",
    NoSlack "no-slack"
        "rule: the margin"
        "The margin does not allow for the time between reading the clock and acting on it.",
    LifeNeverQuestioned "life-never-questioned"
        "rule: the deadline"
        "The lease does not depend on when the store was last shown to be the same.",
    LifeFromReceipt "life-from-receipt"
        "rule: the deadline"
        "What an inspection shows counts from when its answer came, not from when it was asked for.",
    LoweredAgeIgnored "lowered-age-ignored"
        "rule: the deadline"
        "A lowered maximum age does not shorten the lease.",
    ClockGoesBack "clock-goes-back"
        "rule: time"
        "A reading of the clock that is older than the last one turns time back.",
    RenewedTooSeldom "renewed-too-seldom"
        "rule: times"
        "The lease is renewed when it is over, not after a third of it.",
    NoRenewalWhileDraining "no-renewal-while-draining"
        "clients whose renewals wait for the user's handler"
        "The lease is not renewed while the leader finishes its work.",
    NoRenewalWhileHolding "no-renewal-while-holding"
        "rule: the win delay"
        "The lease is not renewed while the holder waits to be told.",
    NoRetry "no-retry"
        "clients that only renew on a ticker"
        "A renewal that failed is not repeated before the next one is due.",
    LeaderBacksOff "leader-backs-off"
        "clients with one back-off for all"
        "A leader whose renewal failed waits as long as the user wants candidates to wait.",
    AnswerAwaitedForEver "answer-awaited-for-ever"
        "clients without timeouts"
        "An answer that does not come is waited for without end.",
    WriteWhileAwaiting "write-while-awaiting"
        "rule: operations"
        "A renewal is sent although the answer to the last one is awaited.",
    WinDelaySkipped "win-delay-skipped"
        "elections that lead on acquiring"
        "Whoever takes the seat leads at once, whatever it was taken from.",
    DeletionNotWaited "deletion-not-waited"
        "the Go library: any vacancy is a candidacy"
        "After an operator's deletion the successor leads at once, while the old leader may not know.",
    DeletionWaitedThreeQuarters "deletion-waited-three-quarters"
        "the Go library: three quarters of the lease"
        "After a deletion the successor waits three quarters of a lease instead of a whole one.",
    DeletionNotConfirmed "deletion-not-confirmed"
        "rule: the win delay"
        "A win over somebody else's tombstone is told without a later renewal, though the server may erase the acquire.",
    ShortRecord "short-record"
        "an early version of this core"
        "The record of a holder that still waits lives for its own lease only, and not for what it waits.",
    DeletedLeaseIgnored "deleted-lease-ignored"
        "rule: the win delay"
        "The lease that a tombstone says for the holder that was deleted is ignored.",
    AbsenceIsExpiry "absence-is-expiry"
        "rule: the win delay"
        "A record that is gone is taken for expired, though its holder's lease is not over.",
    FirstSightCarriedOver "first-sight-carried-over"
        "rule: the win delay"
        "The wait counts from what was seen first, though another revision has come since.",
    OwnLeaseForHolders "own-lease-for-holders"
        "rule: the win delay"
        "A candidate waits for its own lease time, though the holder's is longer.",
    FixedWinDelayReplaces "fixed-win-delay-replaces"
        "rule: the win delay"
        "A fixed win delay replaces the wait that is necessary instead of adding to it.",
    ReleaseOwedIgnored "release-owed-ignored"
        "rule: the win delay"
        "What a release says is still to be waited is ignored by the successor.",
    ReleaseForgetsWait "release-forgets-wait"
        "rule: the win delay"
        "A holder that gives up before it was told leaves out how long was still to be waited.",
    ReleaseOfAnotherLife "release-of-another-life"
        "rule: the win delay"
        "A release written for another life of the store certifies the present one.",
    ReleaseNotBelieved "release-not-believed"
        "rule: the win delay"
        "The successor of a leader that said goodbye waits as if it had been deleted.",
    OrphanRetakenAtOnce "orphan-retaken-at-once"
        "rule: unknown writes"
        "A record of our own whose answer was lost is taken again without the wait that goes with it.",
    OrphanReleasedAtOnce "orphan-released-at-once"
        "rule: unknown writes"
        "A record of our own whose answer was lost is released without the wait that goes with it.",
    UnknownOrphanNotWaited "unknown-orphan-not-waited"
        "rule: unknown writes"
        "A record of our own of which nothing is known is waited for no longer than one that is known.",
    WatchWins "watch-wins"
        "elections that lead when they see their own name"
        "A record of ours that the watch shows makes a leader.",
    ReadWins "read-wins"
        "elections that lead when they see their own name"
        "A record of ours that is read makes a leader.",
    ForeignAboveIgnored "foreign-above-ignored"
        "rule: staleness"
        "Somebody else's record above ours does not end the term.",
    TombstoneAboveIgnored "tombstone-above-ignored"
        "rule: staleness"
        "A deletion or expiry of our record that the watch tells does not end the term.",
    ForeignBelowCounts "foreign-below-counts"
        "clients that believe every read"
        "Somebody else's record from before our own ends the term.",
    AbsenceBelievedAtOnce "absence-believed-at-once"
        "clients that believe every read"
        "One answer that the key is absent ends the term.",
    LateAbsenceCounts "late-absence-counts"
        "an early version of this core"
        "A refusal from before the term that says that nothing is there counts against the term.",
    ForeignOverwritten "foreign-overwritten"
        "rule: operations"
        "Somebody else's live record is written over once it should have expired.",
    AcquireExpectsNothing "acquire-expects-nothing"
        "clients whose create fails over a tombstone"
        "An acquire expects that nothing is there, even where a tombstone is.",
    OrphanNotRecognised "orphan-not-recognised"
        "the Go library: a record is a record"
        "A candidate whose acquire was applied without an answer waits until its own record expires.",
    IdleOrphanKept "idle-orphan-kept"
        "rule: unknown writes"
        "A record of our own that nobody wants stays until it expires.",
    ExpiredOrphanRetaken "expired-orphan-retaken"
        "rule: unknown writes"
        "In a bucket with markers a record of our own is taken again after its time, when its marker may be on its way.",
    LateAcknowledgementSeats "late-acknowledgement-seats"
        "an early version of this core"
        "An acknowledgement of a write that is history makes a holder.",
    OneNonce "one-nonce"
        "elections that know themselves by name"
        "Two campaigns of one process share a nonce.",
    NameNotLookedAt "name-not-looked-at"
        "elections that know themselves by a random number"
        "A record with our nonce counts as ours under any name.",
    AttemptNotLookedAt "attempt-not-looked-at"
        "elections that know themselves by a random number"
        "A record with our nonce and name counts as ours, whatever the store said of the attempt it names.",
    TokenOfRenewal "token-of-renewal"
        "clients that fence by the newest revision"
        "The fencing token changes with every renewal.",
    SmallTokenTold "small-token-told"
        "rule: the win delay"
        "A term is told although its token is not above every token seen.",
    RenewalsAreTokens "renewals-are-tokens"
        "an early version of this core"
        "Every renewal's revision counts as a token, so the loss of renewals bars every candidate that saw them.",
    GapNotBurnt "gap-not-burnt"
        "an early version of this core"
        "A candidate stays out though only few numbers are missing until a larger token is possible.",
    LateReleaseCounts "late-release-counts"
        "an early version of this core"
        "The acknowledgement of an old release counts for a holder that has taken the key again.",
    AbsurdWaitBelieved "absurd-wait-believed"
        "an early version of this core"
        "A wait that no lease can have is believed, and nobody leads until it is over.",
    StaleIsRegression "stale-is-regression"
        "rule: staleness"
        "An answer of an isolated server is taken for a store that went back.",
    StaleIsFresh "stale-is-fresh"
        "clients that believe every read"
        "An answer of an isolated server is believed.",
    RegressionIgnored "regression-ignored"
        "rule: staleness"
        "An acknowledgement below what was known does not end the term.",
    RegressionNotWaited "regression-not-waited"
        "rule: staleness"
        "After the store went back a win is told at once.",
    YoungStoreTrusted "young-store-trusted"
        "rule: the win delay"
        "A store that was made a moment ago is trusted, though a leader may remember another one.",
    NewBelievedLater "new-believed-later"
        "an early version of this core"
        "A candidate that knew another life of the store believes that its name was never used.",
    LoweredAgeTrusted "lowered-age-trusted"
        "an early version of this core"
        "While the maximum age is lowered, a new store is trusted after the lower age.",
    AgeWithoutSkew "age-without-skew"
        "rule: the win delay"
        "The age of the store, by its own clocks, does not allow for clocks that disagree.",
    LifeNotConfirmed "life-not-confirmed"
        "rule: the deadline"
        "A win is told without asking once more which life of the store it was.",
    ConfirmedTooSoon "confirmed-too-soon"
        "an early version of this core"
        "An inspection from before the acknowledgement of the acquire confirms it.",
    OldInspectionCounts "old-inspection-counts"
        "rule: the deadline"
        "An inspection that was asked for before a newer one counts when it comes late.",
    NewLifeIgnored "new-life-ignored"
        "elections that know their bucket by name"
        "The term goes on although an inspection showed that the store is another one.",
    AckOfAnotherLife "ack-of-another-life"
        "rule: the deadline"
        "An acknowledgement that names another life of the store counts.",
    MeantForAnotherLife "meant-for-another-life"
        "rule: staleness"
        "A write that was meant for another life of the store counts in this one.",
    MarkOfAnotherLife "mark-of-another-life"
        "rule: staleness"
        "What was seen in one life of the store is held against answers of the next.",
    NeverReconnects "never-reconnects"
        "clients that keep a dead connection"
        "No other server is asked when one does not answer.",
    BusyForEver "busy-for-ever"
        "an early version of this core"
        "A server that says for ever that a write is in flight is never left.",
    NoPoll "no-poll"
        "clients that trust their watch"
        "A candidate whose watch is silent never looks.",
    WatchIgnored "watch-ignored"
        "the Go library: candidates ask at an interval"
        "A candidate learns nothing from the watch.",
    HandOverIgnored "hand-over-ignored"
        "rule: times"
        "Others do not hold back for the successor that is named.",
    ResignedComesFirst "resigned-comes-first"
        "rule: times"
        "A leader that resigned takes the seat again before anybody else.",
    NothingReleased "nothing-released"
        "the Go library: no delete, ever"
        "A leader that leaves keeps the seat until its record expires.",
    ReleaseOfAnybodys "release-of-anybodys"
        "clients that delete without a revision"
        "A release removes whatever is there, also a successor's record.",
    ReleaseSentOnce "release-sent-once"
        "rule: unknown writes"
        "A release without an answer is not repeated.",
    ReleaseBeforeLost "release-before-lost"
        "rule: leaving"
        "The seat is given up before the leader is told that it has lost it.",
    ReleaseWhileLeading "release-while-leading"
        "rule: leaving"
        "A leader goes on leading until its release is acknowledged.",
    ReleaseWhileWorking "release-while-working"
        "an early version of this core"
        "When the time to finish is up the seat is given up, though the work goes on.",
    WorkNotDrained "work-not-drained"
        "client-go: release before the work is done"
        "A leader that resigns loses the term at once, without time to finish its work.",
    DrainUnbounded "drain-unbounded"
        "rule: leaving"
        "A leader that leaves may take for ever to finish its work.",
    ResignIgnored "resign-ignored"
        "rule: leaving"
        "A leader that is asked to resign goes on.",
    UnhealthyLeads "unhealthy-leads"
        "rule: leaving"
        "A leader that is unhealthy goes on.",
    HandlerFailureIgnored "handler-failure-ignored"
        "rule: user code"
        "A leader whose handler failed goes on.",
    FailedBeginNotEnded "failed-begin-not-ended"
        "an early version of this core"
        "What a begin handler did before it failed is left as it is, and the seat is given up.",
    CloseIsSilent "close-is-silent"
        "clients whose loss is told only while they run"
        "A campaign that is closed while it leads does not tell the loss.",
    CloseUnbounded "close-unbounded"
        "rule: unknown writes"
        "A close waits for its release longer than two seconds.",
    LossNotTold "loss-not-told"
        "rule: losing"
        "A term that is lost ends without a word.",
    LostTwice "lost-twice"
        "rule: losing"
        "A term that ends of its own will is lost twice.",
}
