//! The campaigner in a hostile host, one call at a time.

use wasmtime::component::{Component, HasSelf, Linker, ResourceAny};
use wasmtime::{Config, Engine, Store};

use super::host::{Hostile, SECOND};
use crate::bindings::Campaigner;
use crate::bindings::exports::incumbent::election::elections::Error;
use crate::settings::defaults;
use crate::wit::events::Event;
use crate::wit::settings::{CampaignSettings, Preset};

pub(crate) struct Guest {
    pub(crate) store: Store<Hostile>,
    pub(crate) world: Campaigner,
    pub(crate) election: ResourceAny,
}

pub(crate) fn compiled() -> (Engine, Component) {
    let engine = Engine::new(&Config::new()).unwrap();
    let component = crate::compiled::compiled(&engine, "incumbent-campaigner");
    (engine, component)
}

fn campaign_settings(name: &str) -> CampaignSettings {
    CampaignSettings { preset: Preset::Fast, splay: Some(0), drain: Some(SECOND), ..defaults(name) }
}

impl Guest {
    pub(crate) fn campaign((engine, component): &(Engine, Component), host: Hostile) -> Result<Self, Error> {
        let mut linker = Linker::new(engine);
        Campaigner::add_to_linker::<_, HasSelf<Hostile>>(&mut linker, |host| host).unwrap();
        let mut store = Store::new(engine, host);
        store.limiter(|host| &mut host.memory);
        let world = Campaigner::instantiate(&mut store, component, &linker).unwrap();
        let elections = world.incumbent_election_elections().candidate();
        let made = elections.call_campaign(&mut store, "elections", "jobs", &campaign_settings("a")).unwrap();
        made.map(|election| Self { store, world, election })
    }

    /// Adds a candidate for the same key, in the same instance.
    pub(crate) fn another(&mut self, name: &str) -> ResourceAny {
        let elections = self.world.incumbent_election_elections().candidate();
        elections
            .call_campaign(&mut self.store, "elections", "jobs", &campaign_settings(name))
            .unwrap()
            .unwrap()
    }

    /// Steps; returns the wake-up time and the events.
    pub(crate) fn step(&mut self) -> (Option<u64>, Vec<Event>) {
        self.step_of(self.election)
    }

    /// Steps one of several candidates.
    pub(crate) fn step_of(&mut self, election: ResourceAny) -> (Option<u64>, Vec<Event>) {
        let elections = self.world.incumbent_election_elections().candidate();
        let result = elections.call_step(&mut self.store, election, 0).unwrap();
        (result.wake_at, result.events)
    }

    pub(crate) fn is_leader(&mut self) -> bool {
        self.is_leader_of(self.election)
    }

    pub(crate) fn is_leader_of(&mut self, election: ResourceAny) -> bool {
        let elections = self.world.incumbent_election_elections().candidate();
        elections.call_is_leader(&mut self.store, election).unwrap()
    }

    /// Steps until it leads.
    pub(crate) fn win(&mut self) {
        for _ in 0..10_000 {
            let (wake, events) = self.step();
            if events.iter().any(|event| matches!(event, Event::Won(_))) {
                return;
            }
            let now = self.store.data().now;
            self.store.data_mut().now = now.max(wake.unwrap());
        }
        panic!("it never leads");
    }
}
