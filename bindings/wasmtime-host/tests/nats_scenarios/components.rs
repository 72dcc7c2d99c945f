//! Candidates that are components: the campaigner in Wasmtime, one instance each.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Settings, State};
use incumbent::store::Adapter;
use incumbent_conformance::runner::{
    Call, CandidateHandle, Implementation, OpenStore, Pending, Refused, Reported,
};
use incumbent_conformance::scenario::Step;
use incumbent_wasmtime::{Campaigner, Candidate, Error, ErrorKind, Host, Stores};

use crate::compiled::compiled;

/// The name of the store for the guests.
const BUCKET: &str = "elections";

/// The candidates of `incumbent-campaigner.wasm`, compiled for the first campaign.
#[derive(Default)]
pub(crate) struct Components(OnceLock<Campaigner>);

impl Components {
    fn opened(&self, adapter: Box<dyn Adapter>, clock: Clock) -> Arc<dyn OpenStore> {
        let compile = || {
            let host = Host::new().unwrap();
            Campaigner::from_component(&host, &compiled(host.engine(), "incumbent-campaigner")).unwrap()
        };
        let campaigner = self.0.get_or_init(compile).clone();
        let stores = Stores::new(clock).with(BUCKET, adapter);
        Arc::new(Provided { campaigner, stores, elections: Mutex::default() })
    }
}

impl Implementation for Components {
    fn open<'a>(&'a self, url: &'a str, _lease: Duration) -> Pending<'a, Result<Arc<dyn OpenStore>, String>> {
        Box::pin(async move {
            let clock = Clock::system();
            let adapter = incumbent::store::open(url, &clock).await.map_err(|error| error.to_string())?;
            Ok(self.opened(adapter, clock))
        })
    }

    fn wrap(&self, adapter: Box<dyn Adapter>, clock: Clock) -> Result<Arc<dyn OpenStore>, String> {
        Ok(self.opened(adapter, clock))
    }

    fn cannot(&self, step: &Step) -> Option<&'static str> {
        // A guest imports its bucket and may drop it; the host decides what a closed store answers to new guests.
        matches!(step, Step::CloseStore { .. }).then_some("a component has no store of its own to close")
    }
}

/// A store that is provided to guests.
struct Provided {
    campaigner: Campaigner,
    stores: Stores,
    elections: Mutex<Vec<Arc<Candidate>>>,
}

impl OpenStore for Provided {
    fn campaign<'a>(
        &'a self,
        election: &'a str,
        settings: Settings,
        works: bool,
    ) -> Pending<'a, Result<Arc<dyn CandidateHandle>, Refused>> {
        Box::pin(async move {
            let begun = self.campaigner.campaign(&self.stores, BUCKET, election, settings).await;
            let election = Arc::new(begun.map_err(refused)?);
            self.elections.lock().unwrap().push(Arc::clone(&election));
            Ok(Arc::new(Guest { election, works, at_work: AtomicBool::new(false) })
                as Arc<dyn CandidateHandle>)
        })
    }

    fn close(&self) -> Call {
        let elections = std::mem::take(&mut *self.elections.lock().unwrap());
        Box::pin(async move {
            for election in elections {
                election.close();
                // The scenario is over, and the work of its terms with it.
                while let Some(event) = election.next().await {
                    if let Event::Draining { .. } = event {
                        election.drained();
                    }
                }
                let _ = election.ended().await;
            }
            Ok(())
        })
    }
}

/// One candidate.
struct Guest {
    election: Arc<Candidate>,
    works: bool,
    at_work: AtomicBool,
}

impl CandidateHandle for Guest {
    fn next(&self) -> Pending<'_, Option<Reported>> {
        Box::pin(async move {
            let event = self.election.next().await?;
            let mut is_current = false;
            match &event {
                Event::Won(_) => self.at_work.store(self.works, Ordering::Relaxed),
                Event::Draining { .. } if !self.at_work.load(Ordering::Relaxed) => self.election.drained(),
                Event::Lost { term, .. } => {
                    // The work stops when the loss is reported.
                    if self.at_work.swap(false, Ordering::Relaxed) {
                        self.election.drained();
                    }
                    is_current = self.election.token() == Some(term.token);
                }
                _ => {}
            }
            Some(Reported { event, is_current })
        })
    }

    fn is_leader(&self) -> bool {
        self.election.is_leader()
    }

    fn lease(&self) -> Option<Lease> {
        self.election.lease()
    }

    fn state(&self) -> State {
        self.election.state()
    }

    fn leader(&self) -> Option<Leader> {
        self.election.leader()
    }

    /// Returns when the request is made; the world has no call that waits for the drain.
    fn resign(&self) -> Call {
        Box::pin(ready(self.election.resign().map_err(refused)))
    }

    /// Returns when the request is accepted, like [`resign`](Self::resign).
    fn hand_over(&self, to: &str) -> Call {
        let (election, to) = (Arc::clone(&self.election), to.to_owned());
        Box::pin(async move { election.hand_over(&to).await.map_err(refused) })
    }

    fn close(&self) -> Call {
        let election = Arc::clone(&self.election);
        election.close();
        Box::pin(async {
            closed(election).await;
            Ok(())
        })
    }

    fn set_healthy(&self, is_well: bool) {
        self.election.set_healthy(is_well);
    }

    fn drained(&self) {
        self.at_work.store(false, Ordering::Relaxed);
        self.election.drained();
    }

    fn fail(&self) {
        self.election.handler_failed();
    }
}

/// Waits until a campaign that is closed is over.
async fn closed(election: Arc<Candidate>) {
    election.close();
    // A failed campaign is over, too; the host logs why.
    let _ = election.ended().await;
}

/// Maps the error to the library's code.
fn refused(error: Error) -> Refused {
    let code = match (error.kind(), error.setting()) {
        (ErrorKind::Refused, Some("name" | "successor" | "key")) => "INVALID_NAME",
        (ErrorKind::Refused, _) => "INVALID_SETTING",
        // A `Store` error has no separate kind for an invalid key; no scenario expects another one.
        (ErrorKind::Store, _) => "INVALID_NAME",
        (ErrorKind::NotLeader, _) => "NOT_LEADER",
        (ErrorKind::Closed, _) => "CLOSED",
        _ => "BROKEN",
    };
    Refused { code, message: error.to_string() }
}
