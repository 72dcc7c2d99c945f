//! The doctor's report, for people and for programs.

use std::time::Duration;

use incumbent::store::{Basis, Examination, Finding, Severity};
use incumbent::text::Names;
use incumbent::{CampaignOptions, Clock, Error, Forecast};
use serde_json::{Map, Value, json};

use super::Elections;
use crate::output::{millis, span};

/// The doctor's report.
pub(super) struct Report {
    store: String,
    examined: Examination,
    forecast: Option<Forecast>,
    elections: Option<Elections>,
    /// Findings about the candidates' own settings and this machine's clock, which are shown before those about the
    /// store.
    findings: Vec<Finding>,
}

impl Report {
    /// Makes a report of the findings in a store, and of the guarantees that candidates with these options have there.
    pub(super) fn new(store: String, examined: Examination, options: &CampaignOptions) -> Self {
        let basis = examined.basis.clone();
        let mut report = Self { store, examined, forecast: None, elections: None, findings: Vec::new() };
        report.judge_this_machine();
        match basis {
            None => {}
            Some(Basis::Records(store, info)) => report.take(options.forecast(store, &info)),
            Some(Basis::Queue(server)) => report.take(options.forecast_in_queue(server)),
        }
        report
    }

    pub(super) fn may_list(&self) -> bool {
        !self.examined.is_closed
    }

    pub(super) fn has(&mut self, elections: Elections) {
        if let Some(company) = self.examined.company.filter(|_| elections.foreign > 0) {
            self.findings.push(company(elections.foreign));
        }
        self.elections = Some(elections);
    }

    fn is_queue(&self) -> bool {
        matches!(self.examined.basis, Some(Basis::Queue(_)))
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(&self.examined.findings)
    }

    fn take(&mut self, forecast: Result<Forecast, Error>) {
        match forecast {
            Err(error) => {
                let what = error.text().spelled(Names::CommandLine);
                self.findings.push(Finding::refused(what, "no candidate with these settings can take part"))
            }
            Ok(forecast) => {
                if !forecast.survives_a_server() && self.examined.is_on_one_server {
                    self.findings.push(Finding::weak(
                        format!("a term is lost when the server is down for {}", span(forecast.survives)),
                        "a longer lease survives a restart; with this one, every restart ends the term",
                    ));
                } else if !forecast.survives_a_server() {
                    self.findings.push(Finding::weak(
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

    /// Checks this machine's clock, on which every store depends.
    fn judge_this_machine(&mut self) {
        let counts = Clock::system().counts_suspend();
        let text = if counts {
            "monotonic, and counts the time this machine sleeps"
        } else {
            "stops while this machine sleeps"
        };
        self.examined.set("local_clock", text, json!({ "counts_suspend": counts }));
        if !counts {
            self.findings.push(Finding::broken(
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
        self.findings().any(|finding| finding.severity == severity)
    }

    pub(super) fn text(&self) -> Vec<String> {
        let shown = || {
            self.examined.settings.iter().filter_map(|setting| Some((setting.name, setting.text.as_ref()?)))
        };
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
            if let Some(Elections { led, .. }) = self.elections.filter(|_| !self.is_queue()) {
                let all = forecast.writes_a_day() * led;
                lines.push(format!("{:<40}  {all}", "  … by all present leaders"));
            }
        }
        lines.push(String::new());
        let mut findings: Vec<_> = self.findings().collect();
        findings.sort_by_key(|finding| finding.severity);
        lines.extend(findings.into_iter().map(in_text));
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
        let values =
            self.examined.settings.iter().filter_map(|setting| Some((setting.name, setting.value.as_ref()?)));
        let settings: Map<_, _> = values.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        json!({
            "store": self.store,
            "settings": settings,
            "elections": self.elections.map(|Elections { total, led, foreign }| {
                json!({ "total": total, "led": led, "led_by_other_software": foreign })
            }),
            "forecast": self.forecast.as_ref().map(|forecast| self.forecast_json(forecast)),
            "findings": self.findings().map(in_json).collect::<Vec<_>>(),
            "safe": self.is_safe(),
        })
    }
}

impl Report {
    fn numbers(&self, forecast: &Forecast) -> Vec<(&'static str, String)> {
        let fail_over = match forecast.store_fail_over {
            Duration::ZERO => "there is no server that could fail".into(),
            _ if self.examined.is_on_one_server => {
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
            match self.is_queue() {
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
            "store_fail_over_ms": (!self.examined.is_on_one_server).then(|| millis(forecast.store_fail_over)),
            "survives_a_server": forecast.survives_a_server() && !self.examined.is_on_one_server,
            "writes_a_day": if self.is_queue() { 0 } else { rounds },
        });
        if self.is_queue() {
            numbers["rounds_a_day"] = rounds.into();
        }
        numbers
    }
}

fn in_text(Finding { severity, what, remedy }: &Finding) -> String {
    format!("{:<7}  {what}\n         {remedy}", severity.name())
}

fn in_json(Finding { severity, what, remedy }: &Finding) -> Value {
    json!({ "severity": severity.name(), "what": what, "remedy": remedy })
}
