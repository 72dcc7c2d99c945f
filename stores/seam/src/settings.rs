//! The interface between the settings of any store and the driver and tools that use them.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use crate::adapter::{Adapter, StoreAdmin};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::examination::Examination;
use crate::init::{InitOptions, InitReport};
use crate::link::{Link, Reports};
use crate::permissions::{Permissions, Role};
use crate::selectors::Selector;

/// The settings of a kind of store.
pub trait Settings: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// The open store, with the rule of its elections.
    type Link: Link;

    /// Reads a URL of this store. For a store without a place on the network, the part after the scheme is enough.
    ///
    /// # Errors
    /// `InvalidUrl`, with the part and the remedy.
    fn from_url(url: &str) -> Result<Self>;

    /// The texts that select the store's elections.
    fn selectors(&self) -> Vec<Selector<'_>>;

    /// Refuses a key that no election can have in this store, without connecting to it.
    ///
    /// # Errors
    /// `InvalidName`.
    fn check_key(&self, key: &str) -> Result<()>;

    /// Opens the store for a driver.
    ///
    /// # Errors
    /// Those of the store.
    fn connect(&self, reports: Reports) -> impl Future<Output = Result<Self::Link>> + Send;

    /// Opens the store by its adapter. Records expire by `clock`.
    ///
    /// # Errors
    /// Those of the store, and [`no_adapter`].
    fn adapter(&self, clock: &Clock) -> impl Future<Output = Result<Box<dyn Adapter>>> + Send;

    /// Opens the store for an operator's unconditional writes.
    ///
    /// # Errors
    /// Those of the store.
    fn admin(&self, clock: &Clock) -> impl Future<Output = Result<Box<dyn StoreAdmin>>> + Send;

    /// Prepares the store for elections, or reports how it differs from the options. A second call changes nothing. The
    /// call does not wait for a store that does not answer.
    ///
    /// # Errors
    /// `InvalidSetting` for an option that is invalid or not for this kind of store, and those of the store.
    fn init(&self, options: &InitOptions) -> impl Future<Output = Result<InitReport>> + Send;

    /// Reads the store's effective settings, and judges them. Nothing is changed.
    ///
    /// # Errors
    /// Those of the store.
    fn examine(&self) -> impl Future<Output = Result<Examination>> + Send;

    /// The permissions that a user of that role needs for these elections; `None` if the store has no users.
    ///
    /// # Errors
    /// `InvalidName` for a key that no election can have, and for missing keys if the store needs them.
    fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        let _ = (role, elections);
        Ok(None)
    }

    /// Sets whether a store that does not answer is an error, if the store offers the choice.
    #[must_use]
    fn fail_fast(self, fail_fast: bool) -> Self {
        let _ = fail_fast;
        self
    }

    /// Sets the shortest lease that will be used, if the connection's own intervals depend on it.
    #[must_use]
    fn expected_lease(self, lease: Duration) -> Self {
        let _ = lease;
        self
    }
}

/// Implements the trait for boxed settings, so that large settings do not enlarge an enum with many variants.
impl<S: Settings> Settings for Box<S> {
    type Link = S::Link;

    fn from_url(url: &str) -> Result<Self> {
        S::from_url(url).map(Box::new)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        S::selectors(self)
    }

    fn check_key(&self, key: &str) -> Result<()> {
        S::check_key(self, key)
    }

    fn connect(&self, reports: Reports) -> impl Future<Output = Result<Self::Link>> + Send {
        S::connect(self, reports)
    }

    fn adapter(&self, clock: &Clock) -> impl Future<Output = Result<Box<dyn Adapter>>> + Send {
        S::adapter(self, clock)
    }

    fn admin(&self, clock: &Clock) -> impl Future<Output = Result<Box<dyn StoreAdmin>>> + Send {
        S::admin(self, clock)
    }

    fn init(&self, options: &InitOptions) -> impl Future<Output = Result<InitReport>> + Send {
        S::init(self, options)
    }

    fn examine(&self) -> impl Future<Output = Result<Examination>> + Send {
        S::examine(self)
    }

    fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        S::permissions(self, role, elections)
    }

    fn fail_fast(self, fail_fast: bool) -> Self {
        Box::new(S::fail_fast(*self, fail_fast))
    }

    fn expected_lease(self, lease: Duration) -> Self {
        Box::new(S::expected_lease(*self, lease))
    }
}

/// The error of a store whose elections are not records. `elections` names what they are instead.
pub fn no_adapter(elections: &str) -> Error {
    let message =
        format!("elections of this store are {elections}, so it has no adapter; open it with Store::open");
    Error::new(ErrorKind::Unsupported, message)
}
