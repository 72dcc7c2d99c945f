//! A store that is open for elections.

use incumbent_ffi::settings::{self, Value as Setting};
use napi::Result;
use napi::bindgen_prelude::{Either, Object};
use napi_derive::napi;

use crate::candidate::Candidate;
use crate::feed::{Feed, observation};
use crate::notifier::LoopProbe;
use crate::operation::{Operation, Value};
use crate::value::{self, CandidateRow, DIALECT, ElectionRow, Failure, LeaderRow, Outcome, failure, outcome};

/// A store that is open for elections.
#[napi(js_name = "Store")]
pub struct Store {
    store: incumbent_ffi::Store,
}

impl From<incumbent_ffi::Store> for Store {
    fn from(store: incumbent_ffi::Store) -> Self {
        Self { store }
    }
}

/// Opens the store at `url`. Checks the settings at once, as far as possible without opening it.
#[napi]
pub fn open_store(url: String, settings: Object<'_>) -> Result<Outcome<Operation>> {
    let opening = settings::opening(&url, value::settings(settings)?, DIALECT)
        .and_then(|opening| opening.check().map(|()| opening));
    let open = |opening| {
        Operation::new(incumbent_ffi::Store::open(opening), |store| Some(Value::A(Store::from(store))))
    };
    Ok(outcome(opening.map(open)))
}

/// Returns the names of the settings for a store at `url`, besides those of every store.
#[napi]
pub fn store_settings(url: String) -> Vec<&'static str> {
    settings::parameters(&url)
}

#[napi]
impl Store {
    /// Campaigns in the election of that key, in the event loop of that probe. Checks the settings at once, as far as
    /// possible without the store.
    #[napi]
    pub fn campaign(
        &self,
        election: String,
        settings: Object<'_>,
        probe: &LoopProbe,
    ) -> Result<Outcome<Operation>> {
        let mut given = value::settings(settings)?;
        let watched = given.iter().position(|(name, _)| name == "watch_loop");
        let watched = watched.map_or(Setting::Nothing, |place| given.remove(place).1);
        let watch = |campaign: settings::Campaign| {
            settings::loop_watch(watched, DIALECT).map(|watch| campaign.watch(&probe.probe, watch))
        };
        let campaign = match settings::campaign(given, DIALECT).and_then(watch) {
            Ok(campaign) => campaign,
            Err(error) => return Ok(Either::A(error.into())),
        };
        let campaigning = self.store.campaign(election, campaign);
        Ok(Either::B(Operation::new(campaigning, |candidate| Some(Value::B(Candidate::from(candidate))))))
    }

    /// Watches the election of that key without taking part.
    #[napi]
    pub fn observe(&self, election: String) -> Operation {
        Operation::new(self.store.observe(election, observation), |feed| Some(Value::D(Feed::from(feed))))
    }

    /// Answers with the leader of that election now.
    #[napi]
    pub fn leader(&self, election: String) -> Operation {
        Operation::new(self.store.leader(election), |leader| {
            leader.map(|leader| Value::F(LeaderRow::from(leader)))
        })
    }

    /// Answers with all elections of the store, by key.
    #[napi]
    pub fn list(&self) -> Operation {
        Operation::new(self.store.list(), |listed| {
            Some(Value::G(listed.into_iter().map(ElectionRow::from).collect()))
        })
    }

    /// Answers with the candidates of that election; nothing where the store cannot find out.
    #[napi]
    pub fn candidates(&self, election: String) -> Operation {
        Operation::new(self.store.candidates(election), |candidates| {
            candidates.map(|all| Value::I(all.into_iter().map(CandidateRow::from).collect()))
        })
    }

    /// Closes every candidate cleanly, and then the store.
    #[napi]
    pub fn close(&self, inside: bool) -> Operation {
        Operation::of_nothing(self.store.close(inside))
    }

    /// Returns an error where the store cannot be used.
    #[napi]
    pub fn check(&self) -> Option<Failure> {
        failure(self.store.check())
    }
}
