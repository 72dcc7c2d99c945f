//! What belongs to the process that made it.

use incumbent::fork::ForkGuard;

use crate::{Error, Result};

/// Something that a forked child may neither use nor drop: its locks may be held by threads the child does not
/// have, and what it would send is the parent's to send.
#[derive(Debug)]
pub(crate) struct Here<T> {
    birth: ForkGuard,
    inner: Option<T>,
}

impl<T> Here<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { birth: ForkGuard::new(), inner: Some(inner) }
    }

    /// It, where this is its process and it was not [released](Self::release).
    pub(crate) fn get(&self, what: &str) -> Result<&T> {
        if self.birth.is_forked() {
            return Err(Error::forked());
        }
        self.inner.as_ref().ok_or_else(|| Error::closed(what))
    }

    /// It, whatever the process: for what checks the process itself.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.inner.as_ref()
    }

    /// Takes it out, in its own process.
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
