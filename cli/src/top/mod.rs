//! `incumbent top`: all elections of a store on a screen, live.
//!
//! ```text
//!   looker ── asks the store again and again; an observer of each election wakes it on a change
//!   board ── what was seen of each election, and since when
//!   controls ── what the keys have chosen: order, filter, an election, a question
//!   view ── the picture
//! ```

mod board;
mod controls;
mod view;

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use incumbent::store::{CandidateInfo, WatchEvent};
use incumbent::{Clock, Leader, Observation};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::failure::Failure;
use crate::operate::{Bench, evict};
use crate::screen::Signals;
use crate::screen::{Key, Keys, Screen, can_draw};
use crate::store::{ConnectionReports, StoreArgs, shown};
use board::Board;
use controls::{Act, Controls};
use view::View;

/// Show all elections of a store on the screen, live
///
/// Shows a line for each election: who leads and for how long, how much of the lease is left, how many leaders there
/// have been, and how many candidates wait. The candidates that wait for the chosen election are named below. The
/// command takes no part in any election.
///
/// A leader reports how long it has led with each renewal. Until a renewal has been observed, its age is a lower bound,
/// written as `>`, and what is left of its lease an upper bound, drawn dimly. Leaders are counted from the start of
/// this command; a leader that is evicted and wins again within milliseconds may be missed. A lease that has run out
/// without a renewal is `overdue`: the leader has crashed or is cut off, and the next leader waits until that is
/// certain. Only candidates that answer are counted as waiting; other software does not answer.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pause between two reads of the store
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "1s")]
    every: Duration,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent top --store nats://127.0.0.1:4222/ELECTIONS
  incumbent top --store sqlite:elections.db --every 200ms
  incumbent top --store etcd://127.0.0.1:2379/app

Keys:
  q             leave
  up, down      choose an election (also k, j, PgUp, PgDn, Home, End)
  s, r          sort by the next column; reverse the order
  /             show only the elections whose key or leader contains what is
                typed; Esc shows all again
  e             evict the leader of the chosen election, if you confirm it";

/// The interval at which the screen is redrawn, so that times move (250 ms).
const FRAME: Duration = Duration::from_millis(250);
/// The shortest pause between two reads, because other clients need the store too.
const SHORTEST: Duration = Duration::from_millis(50);

/// The shortest pause between two calls for candidates, because every candidate answers each call.
const CALL: Duration = Duration::from_secs(2);

/// `incumbent top`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if as_json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "top needs a terminal to draw on and to read keys from: `incumbent status --all --json` reports the same \
             to a program",
        ));
    }
    if !can_draw() {
        return Err(Failure::usage(
            "top cannot draw on this terminal (TERM is dumb): `incumbent status --all` prints the same as lines",
        ));
    }
    let mut signals = Signals::new()?;
    let reports = ConnectionReports::default();
    let bench = tokio::select! {
        bench = Bench::open_reporting(&args.store, &reports) => bench?,
        () = signals.next() => return Ok(()),
    };
    let store = bench.store.clone();
    reports.stop();
    let (screen, keys) = Screen::open_with_keys()?;
    let place = shown(&args.store.url().unwrap_or_default());
    let mut top = Top::new(bench, place, args.every.max(SHORTEST), screen, keys);
    let watched = top.watch(&mut signals).await;
    // The terminal is restored before any other output.
    drop(top);
    store.close().await?;
    watched
}

/// Events from the tasks.
enum News {
    Looked(Result<Look, Failure>),
    Observed(Observation),
    Called(Option<Vec<CandidateInfo>>),
    Evicted { key: String, result: Result<Leader, Failure> },
}

/// The store's current entries.
struct Look {
    elections: Vec<WatchEvent>,
    max_age: Option<Duration>,
}

struct Top {
    bench: Arc<Bench>,
    clock: Clock,
    place: String,
    board: Board,
    controls: Controls,
    screen: Screen,
    keys: Keys,
    sender: mpsc::UnboundedSender<News>,
    news: mpsc::UnboundedReceiver<News>,
    /// Asks for another read.
    look_again: Arc<Notify>,
    /// The keys of elections that have an observer.
    observed: HashSet<String>,
    /// Cancelled when this is dropped.
    tasks: JoinSet<()>,
}

impl Top {
    fn new(bench: Bench, place: String, every: Duration, screen: Screen, keys: Keys) -> Self {
        let (sender, news) = mpsc::unbounded_channel();
        let clock = bench.store.clock().clone();
        let board = Board::new(clock.now()).of_queues(bench.is_queue);
        let bench = Arc::new(bench);
        let look_again = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(look(Arc::clone(&bench), every, Arc::clone(&look_again), sender.clone()));
        tasks.spawn(call(Arc::clone(&bench), every.max(CALL), sender.clone()));
        Self {
            bench,
            look_again,
            observed: HashSet::new(),
            clock,
            place,
            board,
            controls: Controls::default(),
            screen,
            keys,
            sender,
            news,
            tasks,
        }
    }

    /// Runs until the user or a signal ends the command.
    async fn watch(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        loop {
            self.draw()?;
            tokio::select! {
                key = self.keys.next() => match key {
                    Some(key) => if self.press(key) { return Ok(()) },
                    None => return Ok(()),
                },
                Some(news) = self.news.recv() => self.take(news),
                () = signals.next() => return Ok(()),
                () = sleep(FRAME) => {}
            }
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        let view = View { place: &self.place, board: &self.board, controls: &self.controls, now };
        Ok(self.screen.draw(&view)?)
    }

    /// Carries out the action of a key. Returns true if the action is to leave.
    fn press(&mut self, key: Key) -> bool {
        let now = self.clock.now();
        match self.controls.press(key, &self.board, now) {
            None => false,
            Some(Act::Leave) => true,
            Some(Act::Evict { key, leader }) => {
                let (bench, sender) = (Arc::clone(&self.bench), self.sender.clone());
                self.tasks.spawn(async move {
                    let result = bench.evict(&key, &leader).await.map(|()| leader);
                    // Sending fails only when the program is about to end.
                    let _ = sender.send(News::Evicted { key, result });
                });
                false
            }
        }
    }

    /// Starts an observer for every election that has none.
    fn observe(&mut self) {
        for key in self.board.rows.keys() {
            if !self.observed.insert(key.clone()) {
                continue;
            }
            let (bench, sender, key) = (Arc::clone(&self.bench), self.sender.clone(), key.clone());
            self.tasks.spawn(async move {
                // If the store refuses observers, it is still read at intervals.
                let Ok(mut observer) = bench.store.observe(&key).await else { return };
                while let Some(seen) = observer.next().await {
                    if sender.send(News::Observed(seen)).is_err() {
                        return;
                    }
                }
            });
        }
    }

    fn take(&mut self, news: News) {
        let now = self.clock.now();
        match news {
            News::Looked(Ok(look)) => {
                self.board.take(now, look.elections, look.max_age);
                self.observe();
            }
            News::Observed(seen) => {
                self.board.observe(now, &seen.election, seen.leader.as_ref());
                self.look_again.notify_one();
            }
            News::Called(roll) => self.board.call(roll),
            News::Looked(Err(failure)) => self.board.warning(failure.to_string()),
            News::Evicted { key, result: Ok(leader) } => {
                self.controls.say(format!("{} is evicted from {key}", leader.name));
            }
            News::Evicted { result: Err(failure), .. } => self.controls.say(failure.to_string()),
        }
    }
}

/// Reads the store at intervals.
async fn look(bench: Arc<Bench>, every: Duration, again: Arc<Notify>, sender: mpsc::UnboundedSender<News>) {
    let once = async || {
        let elections = bench.store.entries().await?;
        let max_age = bench.store.store_info().await?.max_age;
        Ok(Look { elections, max_age })
    };
    while sender.send(News::Looked(once().await)).is_ok() {
        sleep(SHORTEST).await;
        tokio::select! {
            () = sleep(every - SHORTEST) => {}
            () = again.notified() => {}
        }
    }
}

/// Calls for the candidates of all elections at intervals.
async fn call(bench: Arc<Bench>, every: Duration, sender: mpsc::UnboundedSender<News>) {
    loop {
        // The reads report a store that does not answer.
        if let Ok(roll) = bench.store.all_candidates().await
            && sender.send(News::Called(roll)).is_err()
        {
            return;
        }
        sleep(every).await;
    }
}

/// The leader to evict, and the question to ask first.
fn question(key: &str, row: &board::Row, board: &Board) -> Option<(Leader, String)> {
    let leader = row.entry.live().map(Leader::of)?;
    let wait = evict::Wait::after(&row.entry, board.max_age, board.is_queue);
    let text = format!("{} [y/N]", evict::question(key, &leader, wait));
    Some((leader, text))
}
