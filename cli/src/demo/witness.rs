//! Repeatedly asks a candidate whether it leads, and records what the answers prove.
//!
//! Each candidate has its own thread for this, and its own file to write to: a record stays when the
//! process is killed a moment later. [`super::history`] explains what it proves.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use incumbent::{Candidate, Clock, Instant, Reason, Token};

use super::record::{self, Line};

/// The pause between two readings; events cut it short.
const PAUSE: Duration = Duration::from_millis(1);

/// The thread that asks.
pub(super) struct Witness {
    book: Arc<Mutex<Book>>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One question and its answer.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Read before the question.
    deadline: Instant,
    before: Instant,
    /// The term in which the answer was yes; none where it was no.
    leads: Option<Token>,
    after: Instant,
}

impl Witness {
    /// Starts to ask `candidate`, and to write to the file at `path`.
    pub(super) fn start(candidate: Candidate, clock: Clock, path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let book = Arc::new(Mutex::new(Book { file, open: None, lines: Vec::new() }));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = {
            let (book, stopped) = (Arc::clone(&book), Arc::clone(&stopped));
            thread::Builder::new().name("witness".into()).spawn(move || {
                while !stopped.load(Ordering::Acquire) {
                    if let Some(reading) = read(&candidate, &clock) {
                        locked(&book).note(reading);
                    }
                    thread::park_timeout(PAUSE);
                }
            })?
        };
        Ok(Self { book, stopped, thread: Some(thread) })
    }

    /// Asks at once.
    pub(super) fn look(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Records the reported end of a term.
    pub(super) fn ended(&self, token: Token, reason: Reason) {
        locked(&self.book).ended(token, reason);
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        self.look();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked(book: &Mutex<Book>) -> std::sync::MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// None where the answer cannot be attributed: the term changed during the question.
fn read(candidate: &Candidate, clock: &Clock) -> Option<Reading> {
    let lease = |candidate: &Candidate| candidate.term().map(|term| (term.token(), term.deadline()));
    let first = lease(candidate);
    let before = clock.now();
    let leads = candidate.is_leader();
    let after = clock.now();
    if !leads {
        return Some(Reading { deadline: Instant::ZERO, before, leads: None, after });
    }
    let (token, deadline) = first?;
    let unchanged = lease(candidate).is_some_and(|(again, _)| again == token);
    unchanged.then_some(Reading { deadline, before, leads: Some(token), after })
}

/// The observations so far; the file holds the same, a line for every term.
struct Book {
    file: File,
    /// Index of the term in which the last reading was true.
    open: Option<usize>,
    lines: Vec<Line>,
}

impl Book {
    fn note(&mut self, reading: Reading) {
        let held = self.open.filter(|&index| reading.leads == Some(self.lines[index].token));
        if let Some(index) = held {
            let line = &mut self.lines[index];
            line.seen = reading.before;
            line.deadline = line.deadline.max(reading.deadline);
            return self.write(index);
        }
        if let Some(index) = self.open.take() {
            self.lines[index].gone = Some(reading.before);
            self.write(index);
        }
        if let Some(token) = reading.leads {
            let Reading { deadline, before, after, .. } = reading;
            self.lines.push(Line { token, since: after, seen: before, deadline, gone: None, ended: None });
            let index = self.lines.len() - 1;
            self.open = Some(index);
            self.write(index);
        }
    }

    fn ended(&mut self, token: Token, reason: Reason) {
        if let Some(index) = self.lines.iter().rposition(|line| line.token == token) {
            self.lines[index].ended = Some(reason);
            self.write(index);
        }
    }

    fn write(&self, index: usize) {
        let at = (index * record::WIDTH) as u64;
        if let Err(error) = self.file.write_all_at(self.lines[index].to_string().as_bytes(), at) {
            tracing::error!(%error, "a witness cannot write down what it sees");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn token(sequence: u64) -> Token {
        Token { incarnation: Incarnation(1), sequence: Revision(sequence) }
    }

    fn reading(leads: Option<u64>, before: u64, deadline: u64) -> Reading {
        Reading { deadline: at(deadline), before: at(before), leads: leads.map(token), after: at(before + 2) }
    }

    fn book() -> (Book, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        (Book { file: file.reopen().unwrap(), open: None, lines: Vec::new() }, file)
    }

    #[test]
    fn a_stretch_reaches_from_after_the_first_true_reading_to_before_the_last() {
        let (mut book, _file) = book();
        for (leads, before, deadline) in [(None, 10, 0), (Some(1), 20, 90), (Some(1), 30, 95), (None, 40, 0)]
        {
            book.note(reading(leads, before, deadline));
        }
        book.ended(token(1), Reason::Deleted);
        let expected = Line {
            token: token(1),
            since: at(22),
            seen: at(30),
            deadline: at(95),
            gone: Some(at(40)),
            ended: Some(Reason::Deleted),
        };
        assert_eq!(book.lines, [expected]);
    }

    #[test]
    fn another_token_begins_another_stretch_though_no_reading_was_false() {
        let (mut book, _file) = book();
        book.note(reading(Some(1), 20, 90));
        book.note(reading(Some(2), 30, 95));
        let stretches: Vec<_> = book.lines.iter().map(|line| (line.token, line.since, line.seen)).collect();
        assert_eq!(stretches, [(token(1), at(22), at(20)), (token(2), at(32), at(30))]);
        assert_eq!(book.lines[0].gone, Some(at(30)));
    }

    #[test]
    fn the_file_says_what_the_book_says() {
        let (mut book, file) = book();
        book.note(reading(Some(1), 20, 90));
        book.note(reading(None, 30, 0));
        book.note(reading(Some(7), 40, 120));
        book.note(reading(Some(7), 50, 130));
        book.ended(token(1), Reason::Expired);
        assert_eq!(record::read(file.path()).unwrap(), book.lines);
    }
}
