//! Knowledge about the store, which every new campaign needs.

use alloc::vec::Vec;

use crate::campaign::Warning;
use crate::candidacy::Rule;
use crate::store::{Fault, StoreInfo};

/// The store, as a session knows it.
#[derive(Clone, Debug)]
pub(super) struct Known<R: Rule> {
    store: R::Store,
    /// The result of the last successful inspection.
    info: Option<StoreInfo>,
    /// The store's unsafe setting, as last reported.
    flaw: Option<Fault>,
    /// The warnings that every campaign reports when it begins.
    notes: Vec<Warning>,
}

impl<R: Rule> Known<R> {
    pub(super) fn new(store: R::Store) -> Self {
        Self { store, info: None, flaw: None, notes: Vec::new() }
    }

    pub(super) fn store(&self) -> &R::Store {
        &self.store
    }

    pub(super) fn set_store(&mut self, store: R::Store) {
        self.store = store;
    }

    pub(super) fn info(&self) -> Option<&StoreInfo> {
        self.info.as_ref()
    }

    pub(super) fn note(&mut self, warning: Warning) {
        self.notes.push(warning);
    }

    /// Notes the result of an inspection. Returns whether the store is of another incarnation than before.
    pub(super) fn inspected(&mut self, result: &Result<StoreInfo, Fault>) -> bool {
        let Ok(info) = result else { return false };
        let before = self.info.replace(*info);
        before.is_some_and(|before| before.incarnation != info.incarnation)
    }

    /// Notes that the store's settings are unsafe for this reason, or no longer are. Returns a warning if this is a
    /// change to unsafe settings.
    pub(super) fn flaw(&mut self, flaw: Option<Fault>) -> Option<Warning> {
        if flaw == self.flaw {
            return None;
        }
        self.flaw = flaw;
        self.flaw.clone().map(Warning::Store)
    }

    /// The fact about the store that campaigns must know before they begin, if it is still unknown.
    pub(super) fn lacks(&self) -> Option<Fault> {
        let unknown = R::not_known_yet(&self.store)?;
        let detail = self.flaw.as_ref().map_or(unknown.detail, |flaw| flaw.detail.clone());
        Some(Fault { detail, ..unknown })
    }

    /// The warnings that a campaign reports when it begins.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.flaw.clone().map(Warning::Store).into_iter().chain(self.notes.iter().cloned())
    }
}
