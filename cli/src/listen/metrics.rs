//! Metrics for Prometheus. The list is in docs/reference/metrics.md.

use std::fmt;

use incumbent::incumbent_core::session::Load;
use incumbent::incumbent_core::store::{Action, Outcome};
use incumbent::{Candidate, Event, Reason, WriteEvent};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

const ACTIONS: [&str; 3] = ["acquire", "renew", "release"];
const OUTCOMES: [&str; 6] = ["applied", "refused", "busy", "not_sent", "unknown", "failed"];

/// The buckets of a latency, in seconds: from a store on the same machine to a store that barely answers.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// One label, and two.
type Of = [(&'static str, String); 1];
type OfBoth = [(&'static str, &'static str); 2];

/// The counts so far, which all clones share.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    terms: Counter,
    ended: Family<Of, Counter>,
    warnings: Counter,
    writes: Family<OfBoth, Counter>,
    durations: Family<Of, Histogram, fn() -> Histogram>,
    connected: Gauge,
}

impl Metrics {
    /// Returns metrics with all counts at zero, so that rates are correct from the first event.
    pub(super) fn new() -> Self {
        let metrics = Self {
            terms: Counter::default(),
            ended: Family::default(),
            warnings: Counter::default(),
            writes: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            connected: Gauge::default(),
        };
        for reason in Reason::ALL {
            let _ = metrics.ended.get_or_create(&of_reason(reason));
        }
        for action in ACTIONS {
            let _ = metrics.durations.get_or_create(&of_action(action));
            for outcome in OUTCOMES {
                let _ = metrics.writes.get_or_create(&[("action", action), ("outcome", outcome)]);
            }
        }
        metrics
    }

    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::Won(_) => {
                self.terms.inc();
            }
            Event::Warning(_) => {
                self.warnings.inc();
            }
            // This event may lack the reason for the loss, so `lost` counts losses instead.
            Event::Lost { .. } => {}
            Event::Draining { .. } | Event::LeaderChanged(_) | Event::StateChanged(_) => {}
        }
    }

    /// Counts the end of a term.
    pub(crate) fn lost(&self, reason: Reason) {
        self.ended.get_or_create(&of_reason(reason)).inc();
    }

    pub(super) fn wrote(&self, wrote: &WriteEvent<'_>) {
        let action = match wrote.action {
            Action::Acquire(_) => ACTIONS[0],
            Action::Renew(_) => ACTIONS[1],
            Action::Release { .. } => ACTIONS[2],
        };
        let outcome = match wrote.outcome {
            Outcome::Applied { .. } => OUTCOMES[0],
            Outcome::Refused { .. } | Outcome::Conflict => OUTCOMES[1],
            Outcome::Busy => OUTCOMES[2],
            Outcome::NotSent => OUTCOMES[3],
            Outcome::Unknown => OUTCOMES[4],
            Outcome::Failed(_) => OUTCOMES[5],
        };
        self.writes.get_or_create(&[("action", action), ("outcome", outcome)]).inc();
        self.durations.get_or_create(&of_action(action)).observe(wrote.took.as_secs_f64());
    }

    /// Sets whether the store has just answered.
    pub(super) fn connected(&self, is_connected: bool) {
        self.connected.set(is_connected.into());
    }

    /// All metrics of a candidate and of this process at this moment.
    pub(super) fn page(&self, candidate: &Candidate, load: Load) -> Page {
        let mut registry = Registry::default();
        #[cfg(target_os = "linux")]
        registry.register_collector(Box::new(process::Process));
        let labels = [("election", candidate.election()), ("candidate", candidate.name())];
        let labels = labels.map(|(name, value)| (name.into(), value.to_owned().into()));
        let own = registry.sub_registry_with_labels(labels.into_iter());
        let own = own.sub_registry_with_prefix("incumbent");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        own.register("build", "Always 1; the label is the version", version);
        own.register_collector(Box::new(Leadership(candidate.clone())));
        own.register_collector(Box::new(Requests(load)));
        own.register(
            "store_connected",
            "1 if the store answered when this page was requested, else 0",
            self.connected.clone(),
        );
        own.register("terms", "Terms that began", self.terms.clone());
        own.register("terms_ended", "Terms that ended, by reason", self.ended.clone());
        let warnings = "Warnings: problems that need a person's attention";
        own.register("warnings", warnings, self.warnings.clone());
        own.register("writes", "Answers to writes, by what was written and the outcome", self.writes.clone());
        own.register_with_unit(
            "write_duration",
            "Time until a write was answered",
            Unit::Seconds,
            self.durations.clone(),
        );
        Page(registry)
    }
}

/// The metrics of a candidate, to be written as text.
pub(super) struct Page(Registry);

impl Page {
    /// The OpenMetrics text.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(text)
    }
}

fn of_reason(reason: Reason) -> Of {
    [("reason", reason.code().to_ascii_lowercase())]
}

fn of_action(action: &str) -> Of {
    [("action", action.to_owned())]
}

/// The leadership of a candidate, whose term is read at each scrape because a deadline passes without an event.
struct Leadership(Candidate);

impl fmt::Debug for Leadership {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Leadership").field(&self.0.name()).finish()
    }
}

impl Collector for Leadership {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(candidate) = self;
        let term = candidate.term().map(|term| term.view()).filter(|_| candidate.is_leader());
        let remaining = term.as_ref().map_or(0.0, |term| term.remaining().as_secs_f64());
        let sequence = term.as_ref().map_or(0, |term| term.token().sequence.0);
        gauge(
            &mut encoder,
            "leader",
            "1 while this candidate leads, else 0.",
            None,
            ConstGauge::new(u64::from(term.is_some())),
        )?;
        let help = "Time until this candidate's deadline; 0 while the candidate does not lead.";
        gauge(&mut encoder, "lease_remaining", help, Some(&Unit::Seconds), ConstGauge::new(remaining))?;
        let help = "The sequence of the fencing token; 0 while the candidate does not lead.";
        gauge(&mut encoder, "token_sequence", help, None, ConstGauge::new(sequence))
    }
}

/// The requests of the store's session when the page was requested.
#[derive(Debug)]
struct Requests(Load);

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(load) = self;
        let mut count =
            |name, help, number: usize| gauge(&mut encoder, name, help, None, ConstGauge::new(number as u64));
        count("requests_waiting", "Requests that wait for the store to answer others.", load.waiting)?;
        count("requests_window", "The most requests that may be in flight.", load.window)?;
        count("requests_under_way", "Requests that the store has not answered yet.", load.under_way)?;
        let help = "The time of the latest answer; 0 before the first.";
        let took = ConstGauge::new(load.answer_time.as_secs_f64());
        gauge(&mut encoder, "answer_time", help, Some(&Unit::Seconds), took)?;
        let help = "Answers that came after their request's time limit.";
        gauge(&mut encoder, "late_answers", help, None, ConstCounter::new(load.late_answers))
    }
}

/// Writes a gauge that is not in a registry.
fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: impl EncodeMetric,
) -> fmt::Result {
    value.encode(encoder.encode_descriptor(name, help, unit, value.metric_type())?)
}

/// What Prometheus clients report about every process, under the names of their [documentation].
///
/// [documentation]: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
#[cfg(target_os = "linux")]
mod process {
    use std::fmt;

    use procfs::process::LimitValue;
    use procfs::{ProcResult, WithCurrentSystemInfo as _};
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::DescriptorEncoder;
    use prometheus_client::metrics::counter::ConstCounter;
    use prometheus_client::metrics::gauge::ConstGauge;
    use prometheus_client::registry::Unit;

    use super::gauge;

    /// The metrics of this process, which are read at each scrape.
    #[derive(Debug)]
    pub(super) struct Process;

    struct Reading {
        cpu: f64,
        start: f64,
        resident: u64,
        virtual_size: u64,
        threads: i64,
        open: u64,
        most_open: Option<u64>,
    }

    fn read() -> ProcResult<Reading> {
        let process = procfs::process::Process::myself()?;
        let stat = process.stat()?;
        let ticks = procfs::ticks_per_second() as f64;
        Ok(Reading {
            cpu: (stat.utime + stat.stime) as f64 / ticks,
            start: procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks,
            resident: stat.rss_bytes().get(),
            virtual_size: stat.vsize,
            threads: stat.num_threads,
            open: process.fd_count()? as u64,
            most_open: match process.limits()?.max_open_files.soft_limit {
                LimitValue::Value(limit) => Some(limit),
                LimitValue::Unlimited => None,
            },
        })
    }

    impl Collector for Process {
        /// Writes nothing without `/proc`.
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let Ok(now) = read() else { return Ok(()) };
            let encoder = &mut encoder;
            let cpu = "Processor time in user and kernel mode.";
            gauge(encoder, "process_cpu", cpu, Some(&Unit::Seconds), ConstCounter::new(now.cpu))?;
            let start = "The time at which the process started, since 1970.";
            gauge(encoder, "process_start_time", start, Some(&Unit::Seconds), ConstGauge::new(now.start))?;
            let bytes = Some(&Unit::Bytes);
            gauge(
                encoder,
                "process_resident_memory",
                "Memory in use.",
                bytes,
                ConstGauge::new(now.resident),
            )?;
            let size = "Memory that is reserved.";
            gauge(encoder, "process_virtual_memory", size, bytes, ConstGauge::new(now.virtual_size))?;
            gauge(encoder, "process_threads", "Threads.", None, ConstGauge::new(now.threads))?;
            gauge(encoder, "process_open_fds", "Open file descriptors.", None, ConstGauge::new(now.open))?;
            let Some(limit) = now.most_open else { return Ok(()) };
            gauge(encoder, "process_max_fds", "The most that may be open.", None, ConstGauge::new(limit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_count_of_its_own() {
        let metrics = Metrics::new();
        for reason in Reason::ALL {
            metrics.ended.get_or_create(&of_reason(reason)).inc();
        }
        assert!(
            Reason::ALL.into_iter().all(|reason| metrics.ended.get_or_create(&of_reason(reason)).get() == 1)
        );
    }
}
