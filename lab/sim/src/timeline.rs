//! A run drawn as a picture. It has a row for each candidate, with the record of the store above them, shaded faults,
//! and the tokens.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, State};
use incumbent_core::candidacy::Rule;
use incumbent_core::record::Entry;

use crate::clock::START;
use crate::kind::Kind;
use crate::observation::{Observation, View};
use crate::plan::Plan;

const WIDTH: f64 = 1600.0;
const LEFT: f64 = 70.0;
const ROW: f64 = 44.0;
const BAR: f64 = 22.0;
const TOP: f64 = 96.0;

/// The state of a candidate in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Gone,
    Racing,
    Holding,
    Leading,
    /// The candidate leads but no longer renews. It is draining, or is cut off while its lease is still proved.
    Leaving,
}

impl Activity {
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::Gone => None,
            Self::Racing => Some("racing"),
            Self::Holding => Some("holding"),
            Self::Leading => Some("leading"),
            Activity::Leaving => Some("leaving"),
        }
    }
}

/// A fault, given by its index in the script, and its victim.
#[derive(Clone, Copy, Debug)]
struct Fault {
    place: usize,
    kind: Kind,
    node: Option<usize>,
}

#[derive(Debug)]
struct Span<T> {
    from: Instant,
    until: Option<Instant>,
    what: T,
}

#[derive(Debug)]
pub(crate) struct Timeline {
    title: String,
    lease: Duration,
    rows: Vec<Vec<Span<Activity>>>,
    leads: Vec<Vec<Span<()>>>,
    tokens: Vec<(usize, Instant, String)>,
    stops: Vec<Vec<Span<()>>>,
    record: Vec<Span<Option<usize>>>,
    faults: Vec<Span<Fault>>,
    quiet: Option<Instant>,
}

impl Timeline {
    pub(crate) fn new(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        let list = || (0..count).map(|_| Vec::new()).collect::<Vec<_>>();
        Self {
            title: format!("seed {} · lease {:?} · {} candidates", plan.choice.seed, plan.lease, count),
            lease: plan.lease,
            rows: (0..count).map(|_| Vec::new()).collect(),
            leads: list(),
            tokens: Vec::new(),
            stops: list(),
            record: Vec::new(),
            faults: Vec::new(),
            quiet: None,
        }
    }

    pub(crate) fn observe<R: Rule>(&mut self, view: &View<'_>, observation: &Observation<'_, R>) {
        let now = view.now;
        match observation {
            Observation::Begins { node, .. } => follow(&mut self.rows[*node], now, Activity::Racing),
            Observation::Ends { node } => {
                follow(&mut self.rows[*node], now, Activity::Gone);
                self.lead(*node, now, None);
            }
            Observation::Handled { node, until, .. } | Observation::Clock { node, until } => {
                self.lead(*node, now, *until)
            }
            Observation::Output { node, output, .. } => match output.event() {
                Some(Event::Won(term)) => self.tokens.push((*node, now, term.token.sequence.0.to_string())),
                Some(Event::StateChanged(state)) => {
                    let activity = match state {
                        State::Idle | State::Closed => Activity::Gone,
                        State::Holding => Activity::Holding,
                        State::Leading => Activity::Leading,
                        State::Draining | State::Releasing => Activity::Leaving,
                        State::Splaying | State::Waiting | State::Acquiring => Activity::Racing,
                    };
                    follow(&mut self.rows[*node], now, activity);
                }
                _ => {}
            },
            Observation::Key { entry } => {
                let owner = match entry {
                    Entry::Live(record) => {
                        Some(record.candidate.strip_prefix('c').and_then(|name| name.parse().ok()))
                    }
                    _ => None,
                };
                // An index higher than those of the candidates means an operator.
                let owner = owner.map(|owner: Option<usize>| owner.unwrap_or(usize::MAX));
                follow(&mut self.record, now, owner);
            }
            Observation::Stopped { node, stopped: true } => {
                self.stops[*node].push(Span { from: now, until: None, what: () })
            }
            Observation::Stopped { node, stopped: false } => {
                let open = self.stops[*node].iter_mut().filter(|span| span.until.is_none());
                open.for_each(|span| span.until = Some(now));
            }
            Observation::Fault { kind, node, place, begins: true } => {
                let what = Fault { place: *place, kind: *kind, node: *node };
                self.faults.push(Span { from: now, until: None, what });
            }
            Observation::Fault { place, begins: false, .. } => {
                if let Some(span) = self.faults.iter_mut().find(|span| span.what.place == *place) {
                    span.until = Some(now);
                }
            }
            Observation::Quiet => self.quiet = Some(now),
            _ => {}
        }
    }

    /// Notes until when a candidate's `is_leader` returns true.
    fn lead(&mut self, node: usize, now: Instant, until: Option<Instant>) {
        let spans = &mut self.leads[node];
        match (spans.last_mut().filter(|span| span.until.is_some_and(|end| end > now)), until) {
            (Some(open), until) => open.until = Some(until.unwrap_or(now)),
            (None, Some(until)) => spans.push(Span { from: now, until: Some(until), what: () }),
            (None, None) => {}
        }
    }

    pub(crate) fn draw(&self, end: Instant) -> String {
        let mut picture = Picture { svg: String::new(), end, rows: self.rows.len() };
        // Writing to a string cannot fail.
        let _ = picture.draw(self);
        picture.svg
    }
}

/// Ends the last span and begins one with a value, unless the last span has the same value.
fn follow<T: PartialEq>(spans: &mut Vec<Span<T>>, now: Instant, what: T) {
    if let Some(last) = spans.last_mut() {
        if last.what == what && last.until.is_none() {
            return;
        }
        last.until.get_or_insert(now);
    }
    spans.push(Span { from: now, until: None, what });
}

struct Picture {
    svg: String,
    end: Instant,
    rows: usize,
}

/// The style has plain colours and an override, for renderers that do not support variables.
const STYLE: &str = "
svg{font:13px system-ui,sans-serif}.paper{fill:#fff}text{fill:#1c2330}.soft{fill:#667085}
.title{font-size:16px;font-weight:600}.grid{stroke:#e4e7ec}.racing{fill:#d0d7e2}.holding{fill:#f2b544}
.leading{fill:#1f7a5c}.leaving{fill:#8ecfb5}.fault{fill:#e5484d;fill-opacity:.13}.mark{fill:#c62a2f;font-size:10px}
.stop{fill:url(#hatch)}.hatch{stroke:#1c2330;stroke-width:2;stroke-opacity:.55}.token{font-size:11px;font-weight:600;fill:#fff}
.foreign{fill:#e5484d}.quiet{stroke:#667085;stroke-dasharray:4 4}
.r0{fill:#4c78d8}.r1{fill:#c2579b}.r2{fill:#d98032}.r3{fill:#3a9fb0}.r4{fill:#8d68cf}
@media(prefers-color-scheme:dark){.paper{fill:#12161d}text{fill:#e6e9ef}.soft{fill:#98a2b3}.grid{stroke:#29303b}
.racing{fill:#3a4453}.holding{fill:#c98a1b}.leading{fill:#2a9d76}.leaving{fill:#1f6b52}.mark{fill:#ff8589}
.fault{fill-opacity:.22}.hatch{stroke:#e6e9ef}.token{fill:#fff}}";

impl Picture {
    fn x(&self, at: Instant) -> f64 {
        let whole = self.end.since(START).as_secs_f64().max(0.001);
        LEFT + at.min(self.end).since(START).as_secs_f64() / whole * (WIDTH - LEFT - 20.0)
    }

    fn y(row: usize) -> f64 {
        TOP + ROW * (row + 1) as f64
    }

    fn bar<T>(&mut self, span: &Span<T>, y: f64, height: f64, class: &str, says: &str) -> std::fmt::Result {
        let (from, until) = (self.x(span.from), self.x(span.until.unwrap_or(self.end)));
        writeln!(
            self.svg,
            r#"<rect x="{from:.1}" y="{y:.1}" width="{:.1}" height="{height}" rx="2" class="{class}"><title>{says}, {:.1} s</title></rect>"#,
            (until - from).max(0.6),
            span.from.since(START).as_secs_f64()
        )
    }

    fn draw(&mut self, timeline: &Timeline) -> std::fmt::Result {
        let height = Self::y(self.rows) + 56.0;
        writeln!(
            self.svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Timeline of a simulated election"><style>{STYLE}</style><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="hatch"/></pattern></defs><rect class="paper" width="{WIDTH}" height="{height}"/>"#
        )?;
        writeln!(self.svg, r#"<text x="20" y="28" class="title">{}</text>"#, timeline.title)?;
        self.legend()?;
        self.faults(timeline)?;
        self.axis(timeline, height)?;
        self.store(timeline)?;
        self.candidates(timeline)?;
        writeln!(self.svg, "</svg>")
    }

    fn legend(&mut self) -> std::fmt::Result {
        let entries = [
            ("leading", "leads"),
            ("leaving", "is leaving"),
            ("holding", "holds, not reported yet"),
            ("racing", "candidate"),
            ("stop", "stopped"),
            ("fault", "fault"),
        ];
        let mut x = 560.0;
        for (class, says) in entries {
            writeln!(
                self.svg,
                r#"<rect x="{x}" y="17" width="18" height="13" rx="2" class="{class}"/><text x="{}" y="28" class="soft">{says}</text>"#,
                x + 24.0
            )?;
            x += 60.0 + 7.2 * says.len() as f64;
        }
        Ok(())
    }

    fn faults(&mut self, timeline: &Timeline) -> std::fmt::Result {
        let mut free = [f64::MIN; 3];
        for span in &timeline.faults {
            let Fault { kind, node, .. } = span.what;
            let (y, height) = match node {
                Some(node) => (Self::y(node) - 6.0, BAR + 12.0),
                None => (TOP - 6.0, ROW * (self.rows + 1) as f64 - 4.0),
            };
            self.bar(span, y, height, "fault", kind.name())?;
            let x = self.x(span.from);
            let wide = 6.0 * kind.name().len() as f64 + 6.0;
            // If a name does not fit, the shading is enough.
            if let Some(lane) = free.iter().position(|free| *free <= x) {
                free[lane] = x + wide;
                let y = 56.0 + 12.0 * lane as f64;
                writeln!(self.svg, r#"<text x="{x:.1}" y="{y}" class="mark">{}</text>"#, kind.name())?;
            }
        }
        Ok(())
    }

    fn axis(&mut self, timeline: &Timeline, height: f64) -> std::fmt::Result {
        let whole = self.end.since(START).as_secs();
        let lease = timeline.lease.as_secs().max(1);
        let step = (1..).map(|n| n * lease).find(|step| whole / step <= 20).unwrap_or(lease);
        for secs in (0..=whole).step_by(step as usize) {
            let x = self.x(START + Duration::from_secs(secs));
            writeln!(
                self.svg,
                r#"<path d="M{x:.1} {}V{}" class="grid"/><text x="{x:.1}" y="{}" text-anchor="middle" class="soft">{secs} s</text>"#,
                TOP - 4.0,
                height - 44.0,
                height - 26.0
            )?;
        }
        if let Some(quiet) = timeline.quiet {
            let x = self.x(quiet);
            writeln!(
                self.svg,
                r#"<path d="M{x:.1} 36V{}" class="quiet"/><text x="{:.1}" y="43" class="soft">no more faults</text>"#,
                height - 44.0,
                x + 6.0
            )?;
        }
        Ok(())
    }

    fn store(&mut self, timeline: &Timeline) -> std::fmt::Result {
        writeln!(self.svg, r#"<text x="20" y="{}" class="soft">record</text>"#, TOP + 16.0)?;
        for span in &timeline.record {
            match span.what {
                Some(node) if node < self.rows => {
                    let class = format!("r{}", node % 5);
                    self.bar(span, TOP + 4.0, BAR - 8.0, &class, &format!("c{node}'s"))?;
                }
                Some(_) => self.bar(span, TOP + 4.0, BAR - 8.0, "foreign", "an operator's")?,
                None => {}
            }
        }
        Ok(())
    }

    fn candidates(&mut self, timeline: &Timeline) -> std::fmt::Result {
        for row in 0..self.rows {
            let y = Self::y(row);
            writeln!(
                self.svg,
                r#"<rect x="20" y="{}" width="10" height="10" rx="2" class="r{}"/><text x="36" y="{}">c{row}</text>"#,
                y + 6.0,
                row % 5,
                y + 16.0
            )?;
            for span in &timeline.rows[row] {
                let slim = matches!(span.what, Activity::Racing);
                let (y, height) = if slim { (y + 8.0, 6.0) } else { (y, BAR) };
                if let Some(class) = span.what.class().filter(|_| span.what != Activity::Leading) {
                    self.bar(span, y, height, class, class)?;
                }
            }
            for span in &timeline.leads[row] {
                self.bar(span, y, BAR, "leading", "leads")?;
            }
            for span in &timeline.stops[row] {
                self.bar(span, y, BAR, "stop", "stopped")?;
            }
        }
        for (row, at, token) in &timeline.tokens {
            let (x, y) = (self.x(*at), Self::y(*row));
            let span = timeline.leads[*row].iter().find(|span| span.from == *at);
            let width = span.map_or(0.0, |span| self.x(span.until.unwrap_or(self.end)) - x);
            if width > 7.0 * token.len() as f64 + 6.0 {
                writeln!(
                    self.svg,
                    r#"<text x="{:.1}" y="{:.1}" class="token">{token}</text>"#,
                    x + 4.0,
                    y + 15.0
                )?;
            }
        }
        Ok(())
    }
}
