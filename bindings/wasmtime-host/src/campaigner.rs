//! The campaigner, compiled and ready to campaign.

use incumbent::incumbent_core::campaign::Settings;
use incumbent::incumbent_core::store::Fault;
use wasmtime::component::{Component, Linker};

use crate::bindings::CampaignerPre;
use crate::bindings::exports::incumbent::election::elections;
use crate::candidate::{self, Candidate, Guest};
use crate::error::{Error, ErrorKind, Result};
use crate::host::{Bounded, Host, Limits, interruptible};
use crate::provide::{Provides, Provision, Stores, add_to_linker};
use crate::wit::types;

/// The component `incumbent-campaigner.wasm`, compiled.
///
/// Every campaign is an instance of its own, so the failure of one ends no other.
#[derive(Clone)]
pub struct Campaigner {
    host: Host,
    pre: CampaignerPre<Bounded<Provision>>,
    limits: Limits,
}

impl<T: Provides> Provides for Bounded<T> {
    fn provision(&mut self) -> &mut Provision {
        self.data.provision()
    }
}

impl Campaigner {
    /// Compiles the bytes of `incumbent-campaigner.wasm`.
    ///
    /// # Errors
    /// `Component`: it is not a campaigner, or belongs to another version.
    pub fn new(host: &Host, bytes: &[u8]) -> Result<Self> {
        let component = Component::new(host.engine(), bytes)
            .map_err(|cause| Error::of(ErrorKind::Component, "it is not a component", cause))?;
        Self::from_component(host, &component)
    }

    /// Uses a component that is compiled already.
    ///
    /// # Errors
    /// `Component`: it is not a campaigner, or belongs to another version.
    pub fn from_component(host: &Host, component: &Component) -> Result<Self> {
        let failed = |cause| Error::of(ErrorKind::Component, "it is not a campaigner of this version", cause);
        let mut linker = Linker::new(host.engine());
        add_to_linker(&mut linker).map_err(failed)?;
        let pre = linker.instantiate_pre(component).and_then(CampaignerPre::new).map_err(failed)?;
        Ok(Self { host: host.clone(), pre, limits: Limits::default() })
    }

    /// Sets the limits of each campaign.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Campaigns in the election of this key of a bucket, from now until the election is closed or dropped.
    ///
    /// It runs as a task of the tokio runtime of this call. It waits for a store that does not answer.
    ///
    /// # Errors
    /// `Refused` for settings that do not fit together or do not fit the store; `Store` if a person has to act first;
    /// `Guest` when the component fails.
    pub async fn campaign(
        &self,
        stores: &Stores,
        bucket: &str,
        key: &str,
        settings: Settings,
    ) -> Result<Candidate> {
        let settings = settings.try_into().map_err(|reason| Error::new(ErrorKind::Refused, reason))?;
        let provision = Provision::new(stores.clone(), self.limits);
        let (news, computed) = (provision.news(), provision.computed());
        let mut store = interruptible(self.host.engine(), provision);
        computed.begin();
        let failed = |cause| Error::of(ErrorKind::Guest, "the component failed", cause);
        let instance = self.pre.instantiate_async(&mut store).await.map_err(failed)?;
        let exports = instance.incumbent_election_elections();
        let made = exports.candidate().call_campaign(&mut store, bucket, key, &settings).await;
        let resource = made.map_err(failed)?.map_err(error)?;
        Ok(candidate::start(Guest { store, computed, instance, resource, news }, stores.clock().clone()))
    }
}

pub(crate) fn error(error: elections::Error) -> Error {
    match error {
        elections::Error::Refused(types::Refusal { setting, value, limit, remedy }) => {
            let message = format!("{setting} is {value}, and must be {limit}: {remedy}");
            Error::refused(setting, message)
        }
        elections::Error::NotLeader => Error::new(ErrorKind::NotLeader, "only the leader can hand over"),
        elections::Error::Store(fault) => Error::new(ErrorKind::Store, Fault::from(fault).detail),
        elections::Error::Other(message) => Error::new(ErrorKind::Guest, message),
    }
}
