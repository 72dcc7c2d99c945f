//! A store that is open for elections.

use incumbent_ffi::InitReport;
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

/// The findings and actions of a preparation.
#[napi(object, object_from_js = false, js_name = "InitRow")]
pub struct InitRow {
    pub created: bool,
    pub updated: bool,
    pub never_used: bool,
    pub lease_ms: Option<f64>,
    pub topic: Option<String>,
    pub differences: Vec<DifferenceRow>,
}

/// A setting of a bucket that differed.
#[napi(object, object_from_js = false, js_name = "DifferenceRow")]
pub struct DifferenceRow {
    pub setting: &'static str,
    pub was: String,
    pub is: String,
}

impl From<InitReport> for InitRow {
    fn from(report: InitReport) -> Self {
        let differences = report.differences.into_iter();
        Self {
            created: report.created,
            updated: report.updated,
            never_used: report.never_used,
            lease_ms: report.lease.map(|lease| lease.as_secs_f64() * 1000.0),
            topic: report.topic,
            differences: differences
                .map(|one| DifferenceRow { setting: one.setting, was: one.is, is: one.should })
                .collect(),
        }
    }
}

/// Prepares the store at `url`. Checks the settings at once, as far as possible without the store.
#[napi]
pub fn init_store(url: String, settings: Object<'_>) -> Result<Outcome<Operation>> {
    let init = settings::init(&url, value::settings(settings)?, DIALECT)
        .and_then(|init| init.check().map(|()| init));
    let prepare =
        |init| Operation::new(incumbent_ffi::init(init), |report| Some(Value::J(InitRow::from(report))));
    Ok(outcome(init.map(prepare)))
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
        let watched = given.iter().position(|(name, _)| name == "watchLoop");
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

    /// Answers with the candidates of that election; nothing if the store cannot find out.
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

    /// Returns an error if the store cannot be used.
    #[napi]
    pub fn check(&self) -> Option<Failure> {
        failure(self.store.check())
    }
}
