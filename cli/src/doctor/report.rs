//! The doctor's report, for people and for programs.

use std::time::Duration;

use incumbent::incumbent_core::queue::Server;
use incumbent::incumbent_core::store::{Capabilities, StoreInfo};
use incumbent::text::Names;
use incumbent::{CampaignOptions, Clock, Error, Forecast};
use serde_json::{Map, Value, json};

use super::Elections;
use crate::output::{millis, span};

/// The doctor's report.
pub(super) struct Report {
    store: String,
    settings: Vec<Setting>,
    forecast: Option<Forecast>,
    /// Candidates keep leases alive and read; otherwise they write nothing.
    is_queue: bool,
    /// No other server takes over when the store's server fails.
    on_one_server: bool,
    elections: Option<Elections>,
    findings: Vec<Finding>,
}

/// A setting of the store: for people, and for programs.
struct Setting {
    name: &'static str,
    text: Option<String>,
    value: Option<Value>,
}

impl Report {
    pub(super) fn new(store: String) -> Self {
        Self {
            store,
            settings: Vec::new(),
            forecast: None,
            is_queue: false,
            on_one_server: false,
            elections: None,
            findings: Vec::new(),
        }
    }

    /// Records a setting: its name, its text for people, and its value for programs.
    pub(super) fn set(&mut self, name: &'static str, text: impl Into<String>, value: impl Into<Value>) {
        self.settings.push(Setting { name, text: Some(text.into()), value: Some(value.into()) });
    }

    /// A line only for people.
    pub(super) fn say(&mut self, name: &'static str, text: impl Into<String>) {
        self.settings.push(Setting { name, text: Some(text.into()), value: None });
    }

    /// A value only for programs.
    pub(super) fn value(&mut self, name: &'static str, value: impl Into<Value>) {
        self.settings.push(Setting { name, text: None, value: Some(value.into()) });
    }

    pub(super) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// States that the store is on one server.
    pub(super) fn is_on_one_server(&mut self) {
        self.on_one_server = true;
    }

    pub(super) fn has(&mut self, elections: Elections) {
        self.elections = Some(elections);
    }

    /// Computes the guarantees that candidates with these options have.
    pub(super) fn forecast_with(&mut self, options: &CampaignOptions, store: Capabilities, info: &StoreInfo) {
        self.take(options.forecast(store, info));
    }

    /// The same for elections that are queues.
    pub(super) fn forecast_in_queue(&mut self, options: &CampaignOptions, server: Server) {
        self.is_queue = true;
        self.take(options.forecast_in_queue(server));
    }

    fn take(&mut self, forecast: Result<Forecast, Error>) {
        match forecast {
            Err(error) => {
                let what = error.text().spelled(Names::Options);
                self.find(Finding::refused(what, "no candidate with these settings can take part"))
            }
            Ok(forecast) => {
                if !forecast.survives_a_server() && self.on_one_server {
                    self.find(Finding::weak(
                        format!("a term is lost when the server is down for {}", span(forecast.survives)),
                        "a longer lease survives a restart; with this one, every restart ends the term",
                    ));
                } else if !forecast.survives_a_server() {
                    self.find(Finding::weak(
                        format!(
                            "a term is lost when a server of the store fails: fail-over takes {}, and a leader \
                             survives only {} of silence",
                            span(forecast.store_fail_over),
                            span(forecast.survives)
                        ),
                        "a longer lease survives it; with this one, every such failure ends the term",
                    ));
                }
                self.forecast = Some(forecast);
            }
        }
    }

    /// Checks what every store depends on: this machine's clock.
    pub(super) fn judge_this_machine(&mut self) {
        let counts = Clock::system().counts_suspend();
        let text = if counts {
            "monotonic, and counts the time this machine sleeps"
        } else {
            "stops while this machine sleeps"
        };
        self.set("local_clock", text, json!({ "counts_suspend": counts }));
        if !counts {
            self.find(Finding::broken(
                "this machine's clock stops while the machine sleeps, so a leader that wakes up still believes in \
                 its expired lease",
                "run no candidates on machines that sleep",
            ));
        }
    }

    /// Returns true if no finding breaks the promise of one leader.
    pub(super) fn is_safe(&self) -> bool {
        !self.has_found(Severity::Broken)
    }

    /// Returns true if nothing keeps candidates from leading.
    pub(super) fn is_open(&self) -> bool {
        !self.has_found(Severity::Refused)
    }

    fn has_found(&self, severity: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity == severity)
    }

    pub(super) fn text(&self) -> Vec<String> {
        let shown =
            || self.settings.iter().filter_map(|setting| Some((setting.name, setting.text.as_ref()?)));
        let widest = shown().map(|(name, _)| name.len()).max().unwrap_or_default();
        let row = |name: &str, text: &str| format!("{:<widest$}  {text}", name.replace('_', " "));
        let mut lines = vec![row("store", &self.store)];
        lines.extend(shown().map(|(name, text)| row(name, text)));
        if let Some(Elections { total, led, .. }) = self.elections {
            lines.push(row("elections", &format!("{total}, {led} with a leader")));
        }
        if let Some(forecast) = &self.forecast {
            lines.extend([String::new(), "what candidates can expect".into()]);
            let numbers = self.numbers(forecast).into_iter();
            lines.extend(numbers.map(|(what, number)| format!("{what:<40}  {number}")));
            if let Some(Elections { led, .. }) = self.elections.filter(|_| !self.is_queue) {
                let all = forecast.writes_a_day() * led;
                lines.push(format!("{:<40}  {all}", "  … by all present leaders"));
            }
        }
        lines.push(String::new());
        let mut findings: Vec<_> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.severity);
        lines.extend(findings.into_iter().map(Finding::text));
        lines.push(match (self.is_safe(), self.is_open()) {
            (false, _) => "the promise of one leader at a time does not hold here".into(),
            (true, false) => {
                "nothing here is unsafe, but no candidate can lead until the refused settings are changed"
                    .into()
            }
            (true, true) => "nothing here would break the promise of one leader at a time".into(),
        });
        lines
    }

    pub(super) fn json(&self) -> Value {
        let values = self.settings.iter().filter_map(|setting| Some((setting.name, setting.value.as_ref()?)));
        let settings: Map<_, _> = values.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        json!({
            "store": self.store,
            "settings": settings,
            "elections": self.elections.map(|Elections { total, led, foreign }| {
                json!({ "total": total, "led": led, "led_by_other_software": foreign })
            }),
            "forecast": self.forecast.as_ref().map(|forecast| self.forecast_json(forecast)),
            "findings": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
            "safe": self.is_safe(),
        })
    }
}

impl Report {
    fn numbers(&self, forecast: &Forecast) -> Vec<(&'static str, String)> {
        let fail_over = match forecast.store_fail_over {
            Duration::ZERO => "there is no server that could fail".into(),
            _ if self.on_one_server => {
                "it is on a single server: no candidate leads until the server is back".into()
            }
            away if forecast.survives_a_server() => format!("{}; a term survives it", span(away)),
            away => format!("{}; a term does not survive it", span(away)),
        };
        vec![
            ("lease", span(forecast.lease)),
            ("renewed every", span(forecast.renew_every)),
            ("leader stops early by", span(forecast.margin)),
            ("worst vacancy after a crash", span(forecast.after_a_crash)),
            ("worst vacancy after an eviction", span(forecast.after_a_deletion)),
            ("survives a silent store for", span(forecast.survives)),
            ("failure of one store server", fail_over),
            match self.is_queue {
                false => ("writes a day, per leader", forecast.writes_a_day().to_string()),
                true => {
                    ("keep-alives, reads a day, per candidate", format!("{} each", forecast.writes_a_day()))
                }
            },
        ]
    }

    fn forecast_json(&self, forecast: &Forecast) -> Value {
        let rounds = forecast.writes_a_day();
        let mut numbers = json!({
            "lease_ms": millis(forecast.lease),
            "renew_every_ms": millis(forecast.renew_every),
            "margin_ms": millis(forecast.margin),
            "worst_after_a_crash_ms": millis(forecast.after_a_crash),
            "worst_after_an_eviction_ms": millis(forecast.after_a_deletion),
            "outlasts_silence_ms": millis(forecast.survives),
            "store_fail_over_ms": (!self.on_one_server).then(|| millis(forecast.store_fail_over)),
            "survives_a_server": forecast.survives_a_server() && !self.on_one_server,
            "writes_a_day": if self.is_queue { 0 } else { rounds },
        });
        if self.is_queue {
            numbers["rounds_a_day"] = rounds.into();
        }
        numbers
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// There could be two leaders, or the same token twice.
    Broken,
    /// A candidate cannot enter, or never wins.
    Refused,
    /// It costs time or reserve.
    Weak,
    /// Good to know.
    Note,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Refused => "refused",
            Self::Weak => "weak",
            Self::Note => "note",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    what: String,
    remedy: String,
}

impl Finding {
    pub(super) fn broken(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Broken, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Refused, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn weak(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Weak, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Note, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn text(&self) -> String {
        let Self { severity, what, remedy } = self;
        format!("{:<7}  {what}\n         {remedy}", severity.name())
    }

    pub(super) fn json(&self) -> Value {
        json!({ "severity": self.severity.name(), "what": self.what, "remedy": self.remedy })
    }
}
