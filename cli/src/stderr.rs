//! The standard error. Who leads does not wait for somebody to read what is told there.
//!
//! A pipe that nobody reads is full at some time, and a terminal can be halted: whoever writes then stands still. In
//! a process for which that would matter, [`wait_for_nobody`] lets a thread of its own do the writing.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// What makes somebody stop who has more to tell, and can wait with it.
const ROOM: usize = 1024 * 1024;
/// What is kept for readers to come; beyond it lines are left out, and counted.
const MOST: usize = 8 * 1024 * 1024;
/// How long a reader may do nothing before the end of the program no longer waits for it.
const PATIENCE: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<Queue> = OnceLock::new();

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    texts: VecDeque<Vec<u8>>,
    /// How much there is to write, what is being written included.
    size: usize,
    left_out: u64,
}

impl State {
    /// Takes something that is to be written, or counts it where there is too much already.
    fn put(&mut self, text: Vec<u8>) {
        if self.size + text.len() > MOST {
            self.left_out += 1;
        } else {
            self.size += text.len();
            self.texts.push_back(text);
        }
    }

    /// What is to be written next.
    fn take(&mut self) -> Option<Vec<u8>> {
        if self.texts.is_empty() && self.left_out > 0 {
            let text = format!("incumbent: {} lines were left out: nobody read them\n", self.left_out);
            self.left_out = 0;
            self.put(text.into_bytes());
        }
        self.texts.pop_front()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done with it can fail half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes whatever comes, for ever.
    fn write(&self) {
        let mut state = self.lock();
        loop {
            let Some(text) = state.take() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let _ = io::stderr().lock().write_all(&text);
            state = self.lock();
            state.size -= text.len();
            self.changed.notify_all();
        }
    }
}

/// From now on a thread writes, and nobody waits for it.
pub(crate) fn wait_for_nobody() -> io::Result<()> {
    let queue = QUEUE.get_or_init(Queue::default);
    std::thread::Builder::new().name("stderr".into()).spawn(|| queue.write()).map(drop)
}

/// Writes a line. Nobody may be reading any more, and that is no reason to end: a leader leads on.
pub(crate) fn tell(text: impl Display) {
    put(format!("{text}\n").into_bytes());
}

fn put(text: Vec<u8>) {
    match QUEUE.get() {
        Some(queue) => {
            queue.lock().put(text);
            queue.changed.notify_all();
        }
        None => {
            let _ = io::stderr().lock().write_all(&text);
        }
    }
}

/// Returns when there is room for more, for those who can wait. Cancel-safe.
pub(crate) async fn room() {
    while QUEUE.get().is_some_and(|queue| queue.lock().size > ROOM) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until everything is written, for as long as somebody reads.
pub(crate) fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let mut state = queue.lock();
    while state.size > 0 || state.left_out > 0 {
        let before = (state.size, state.texts.len());
        let waited = queue.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        state = waited.0;
        if waited.1.timed_out() && before == (state.size, state.texts.len()) {
            return;
        }
    }
}

/// For the log: what [`tell`] is for lines.
#[derive(Debug)]
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        put(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_left_out_and_counted_once_there_is_room() {
        let mut state = State::default();
        state.put(vec![b'x'; MOST - 2]);
        state.put(b"a\n".to_vec());
        state.put(b"b\n".to_vec());
        state.put(b"c\n".to_vec());
        for size in [MOST - 2, 2] {
            assert_eq!(state.take().map(|text| text.len()), Some(size));
            state.size -= size;
        }
        let said = state.take().unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "incumbent: 2 lines were left out: nobody read them\n");
        assert_eq!(state.take(), None);
    }
}
