//! A reconciler and a clock, and its outputs as text.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::reconcile::{
    Event, Handler, Input, Message, Misuse, Output, Reconciler, RunId, Settings, Timer, Wake,
};

pub const NOTHING: [&str; 0] = [];

pub fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub struct Bench {
    pub reconciler: Reconciler,
    pub now: Instant,
}

impl Bench {
    /// Creates a reconciler that does not lead, an hour after the clock's origin.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let now = Instant::ZERO + secs(3600);
        Self { reconciler: Reconciler::new(settings, now), now }
    }

    /// Creates a reconciler whose *begin*, run 1, has succeeded.
    pub fn leader() -> Self {
        Self::leader_with(Settings::default())
    }

    pub fn leader_with(settings: Settings) -> Self {
        let mut bench = Self::with(settings);
        bench.says(Message::Leader);
        assert_eq!(bench.succeeds(1), ["state LEADER"]);
        bench
    }

    /// Creates a reconciler that led. Its *end*, run 2, has failed and runs again at once, as run 3.
    pub fn mending() -> Self {
        let mut bench = Self::leader();
        bench.says(Message::NotLeader);
        assert_eq!(bench.fails(2), ["stand down", "state ERROR", "end failed", "run end 3"]);
        bench
    }

    /// Creates a reconciler whose run 3 has failed too.
    pub fn retrying() -> Self {
        let mut bench = Self::mending();
        assert_eq!(bench.fails(3), ["end failed"]);
        bench
    }

    pub fn says(&mut self, message: Message) -> Vec<String> {
        self.give(Input::Message(message))
    }

    pub fn succeeds(&mut self, run: u64) -> Vec<String> {
        self.give(Input::Returned { run: RunId(run), succeeded: true })
    }

    pub fn fails(&mut self, run: u64) -> Vec<String> {
        self.give(Input::Returned { run: RunId(run), succeeded: false })
    }

    /// Gives a lease that allows the work for `left` from now.
    pub fn lease(&mut self, left: Duration) -> Vec<String> {
        self.give(Input::Lease { until: self.now + left })
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Duration) -> Vec<String> {
        self.now = self.now + span;
        self.give(Input::Tick)
    }

    pub fn give(&mut self, input: Input) -> Vec<String> {
        self.try_to(input).expect("an input that can be")
    }

    pub fn try_to(&mut self, input: Input) -> Result<Vec<String>, Misuse> {
        self.reconciler.handle(self.now, input)?;
        let mut reported = Vec::new();
        loop {
            match self.reconciler.poll() {
                Output::WakeAt(_) => return Ok(reported),
                output => reported.push(text(output)),
            }
        }
    }

    /// The next wake-up: its timer, and the time until then.
    pub fn wake(&mut self) -> Option<(Timer, Duration)> {
        match self.reconciler.poll() {
            Output::WakeAt(wake) => wake.map(|Wake { at, timer }| (timer, at.since(self.now))),
            output => panic!("not drained: {output:?}"),
        }
    }
}

fn text(output: Output) -> String {
    match output {
        Output::Run { run, handler } => format!("run {handler} {}", run.0),
        Output::Stop(run) => format!("stop {}", run.0),
        Output::StandDown => "stand down".into(),
        Output::StandUp => "stand up".into(),
        Output::Relinquish => "relinquish".into(),
        Output::Event(event) => match event {
            Event::State(state) => format!("state {state}"),
            Event::Failed(handler) => format!("{handler} failed"),
            Event::Overdue { since } => format!("overdue since {since:?}"),
            Event::Late { by } => format!("late by {by:?}"),
            Event::Resumed { dropped } => format!("resumed, {dropped} dropped"),
        },
        Output::GiveUp(gave_up) => format!("give up: {gave_up}"),
        Output::WakeAt(_) => unreachable!("the end of the outputs"),
    }
}

/// All handlers.
pub fn handlers() -> [Handler; 3] {
    [Handler::Begin, Handler::End, Handler::Error]
}
