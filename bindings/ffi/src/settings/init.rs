//! The settings with which a store is prepared for elections.

use incumbent::store::InitOptions;

use super::fields::Fields;
use super::names::INIT;
use super::store::{Opening, of_scheme};
use super::{Dialect, Map};
use crate::Result;

/// A store to prepare, parsed.
#[derive(Clone, Debug)]
pub struct Init {
    pub(crate) store: Opening,
    pub(crate) options: InitOptions,
}

/// Reads the settings for preparing the store at `url`: those of every preparation, and everything that the URL could
/// hold as a parameter.
///
/// # Errors
/// `InvalidSetting`, with the field and the accepted values.
pub fn init(url: &str, map: Map, dialect: Dialect) -> Result<Init> {
    let (what, kinds) = of_scheme(url);
    let parameters = kinds.iter().map(|(name, _)| *name).filter(|name| !INIT.contains(name));
    let known: Vec<&'static str> = INIT.into_iter().chain(parameters).collect();
    let mut fields = Fields::new(&format!("the preparation of {what}"), &known, map, dialect)?;
    let given = fields.given().with_url(url, kinds);
    let mut options = InitOptions::new();
    // generated: options
    if let Some(new) = fields.flag("new")? {
        options = options.never_used(new);
    }
    if let Some(lease) = fields.length("lease")? {
        options = options.lease(lease);
    }
    if let Some(replicas) = fields.whole("replicas")? {
        options = options.replicas(replicas);
    }
    if let Some(max_bytes) = fields.whole("max_bytes")? {
        options = options.max_bytes(max_bytes.into());
    }
    if let Some(markers) = fields.flag("markers")? {
        options = options.markers(markers);
    }
    if let Some(own_leases) = fields.flag("own_leases")? {
        options = options.own_leases(own_leases);
    }
    if let Some(update) = fields.flag("update")? {
        options = options.update(update);
    }
    if let Some(election) = fields.text("election")? {
        options = options.election(election);
    }
    // end of options
    let mut store = Opening { url: url.to_owned(), fail_fast: true, expected_lease: None, given };
    store.add_parameters(&mut fields, kinds)?;
    Ok(Init { store, options })
}

impl Init {
    /// Checks whether the URL can be parsed, without reaching the store.
    ///
    /// # Errors
    /// The errors of [`Opening::check`].
    pub fn check(&self) -> Result<()> {
        self.store.check()
    }
}
