//! A candidate before the first answer of its store.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Event, Identity, Input, Warning, draw};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, Fault, FaultKind};

use super::bindings::incumbent::election::random;
use super::map;
use super::racing::Racing;
use super::store::Key;
use super::wit::settings::CampaignSettings;
use super::wit::types;

/// The longest time of one inspection; the limit of a running campaign is no longer.
const INSPECTION: Duration = Duration::from_secs(2);
/// The first wait before the next attempt at a store that did not answer; doubled up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A candidate that waits for the first answer of its store.
pub(super) struct Entering {
    key: Key,
    capabilities: Capabilities,
    settings: CampaignSettings,
    nonce: Nonce,
    seed: u64,
    well: bool,
    next: Instant,
    failures: u32,
    told: Option<Warning>,
}

/// The reason for which a campaign cannot be created.
pub(super) enum Refusal {
    Settings(types::Refusal),
    Store(Fault),
}

impl Entering {
    /// Draws the host's random numbers, and refuses numbers that cannot be random.
    pub(super) fn new(
        key: Key,
        settings: CampaignSettings,
        now: Instant,
    ) -> Result<Box<Self>, types::Refusal> {
        let drawn = [random::random_u64(), random::random_u64(), random::random_u64()];
        let identity = Identity { name: &settings.name, key: key.name(), now, process: &[] };
        let (nonce, seed) = draw(drawn, identity).map_err(map::refusal)?;
        Ok(Box::new(Self {
            capabilities: key.capabilities(),
            key,
            settings,
            nonce,
            seed,
            well: true,
            next: now,
            failures: 0,
            told: None,
        }))
    }

    /// The time of the next attempt.
    pub(super) fn due(&self) -> Instant {
        self.next
    }

    pub(super) fn health(&mut self, well: bool) {
        self.well = well;
    }

    /// Inspects the store; returns the campaign as soon as it can be created.
    ///
    /// `now` reads the clock.
    pub(super) fn ask(self: Box<Self>, now: impl Fn() -> Instant) -> Result<Racing, (Box<Self>, Refusal)> {
        let info = match self.key.inspect(now(), INSPECTION) {
            Ok(info) => info,
            Err(fault) => return Err((self, Refusal::Store(fault))),
        };
        let settings = map::settings(self.settings.clone());
        match Campaign::new(settings, self.capabilities, &info, self.nonce, self.seed, now()) {
            Ok(campaign) => {
                let mut racing = Racing::new(campaign, self.key, info.incarnation, now());
                racing.take(now(), Input::Health(self.well));
                racing.take(now(), Input::Campaign);
                Ok(racing)
            }
            Err(refused) => Err((self, Refusal::Settings(map::refusal(refused)))),
        }
    }

    /// Schedules the next attempt after a failure; returns a warning where it is a new one.
    pub(super) fn not_yet(&mut self, refusal: Refusal, now: Instant) -> Option<Event> {
        let (wait, fault) = match refusal {
            Refusal::Store(fault) => {
                (FIRST_WAIT.saturating_mul(1 << self.failures.min(16)).min(LONGEST_WAIT), fault)
            }
            Refusal::Settings(refused) => {
                let types::Refusal { setting, value, limit, remedy } = refused;
                let detail = format!("{setting} is {value}, and must be {limit}: {remedy}");
                (LONGEST_WAIT, Fault { kind: FaultKind::Broken, detail })
            }
        };
        self.failures = self.failures.saturating_add(1);
        self.next = now + wait;
        let warning = Warning::Store(fault);
        let is_news = self.told.as_ref() != Some(&warning);
        self.told = Some(warning.clone());
        is_news.then_some(Event::Warning(warning))
    }
}
