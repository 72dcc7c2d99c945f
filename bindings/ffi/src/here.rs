//! A value that belongs to the process that made it.

use incumbent::fork::ForkGuard;

use crate::{Error, Result};

/// A value that a forked child may neither use nor drop. Threads that the child lacks may hold its locks, and its
/// messages are the parent's to send.
#[derive(Debug)]
pub(crate) struct Here<T> {
    birth: ForkGuard,
    inner: Option<T>,
}

impl<T> Here<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { birth: ForkGuard::new(), inner: Some(inner) }
    }

    /// Returns the value, in its own process and until it is [released](Self::release).
    pub(crate) fn get(&self, what: &str) -> Result<&T> {
        if self.birth.is_forked() {
            return Err(Error::forked());
        }
        self.inner.as_ref().ok_or_else(|| Error::closed(what))
    }

    /// Returns the value in any process, for code that checks the process itself.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.inner.as_ref()
    }

    /// Takes the value out, in its own process.
    pub(crate) fn release(&mut self) -> Option<T> {
        if self.birth.is_forked() { None } else { self.inner.take() }
    }
}

impl<T> Drop for Here<T> {
    fn drop(&mut self) {
        if self.birth.is_forked() {
            std::mem::forget(self.inner.take());
        }
    }
}
