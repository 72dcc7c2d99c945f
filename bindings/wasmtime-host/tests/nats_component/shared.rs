//! Three kinds of candidates in one election.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use incumbent::incumbent_core::campaign::{Event, Settings};
use incumbent::{CampaignOptions, Candidate, Clock, Preset, Store};
use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::process::is_running;
use incumbent_testkit::tools::component;
use incumbent_testkit::wait::GENEROUS;
use incumbent_wasmtime::{Campaigner, Host, Stores};

use crate::server;

const KEY: &str = "jobs.shared";

/// A candidate of one of the three kinds.
enum Contender {
    Component(incumbent_wasmtime::Candidate),
    Native(Candidate),
    /// `incumbent run`, whose command prints its process number.
    CommandLine(JsonProgram),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Component,
    Native,
    CommandLine,
}

const KINDS: [Kind; 3] = [Kind::Component, Kind::Native, Kind::CommandLine];

impl Contender {
    fn kind(&self) -> Kind {
        match self {
            Self::Component(_) => Kind::Component,
            Self::Native(_) => Kind::Native,
            Self::CommandLine(_) => Kind::CommandLine,
        }
    }

    /// Returns the token under which it leads now, if it does.
    fn leads(&mut self) -> Option<String> {
        match self {
            Self::Component(election) => election.token().map(|token| token.to_string()),
            Self::Native(candidate) => {
                candidate.term().filter(|term| term.is_current()).map(|term| term.token().to_string())
            }
            Self::CommandLine(program) => {
                let lines = program.lines();
                let line = lines.iter().rfind(|line| line["event"] == "leads")?;
                let pid = u32::try_from(line["pid"].as_u64()?).ok()?;
                is_running(pid).then(|| line["token"].as_str().unwrap_or_default().to_owned())
            }
        }
    }

    /// Leaves, and waits for its end.
    async fn leave(self) {
        match self {
            Self::Component(election) => {
                election.close();
                while let Some(event) = election.next().await {
                    if matches!(event, Event::Draining { .. }) {
                        election.drained();
                    }
                }
            }
            Self::Native(candidate) => drop(candidate.close().await),
            Self::CommandLine(mut program) => {
                program.child().terminate();
                program.wait(GENEROUS);
            }
        }
    }
}

struct Arena {
    url: String,
    campaigner: Campaigner,
    stores: Stores,
    store: Store,
    started: usize,
}

impl Arena {
    async fn start(&mut self, kind: Kind) -> Contender {
        self.started += 1;
        let name = format!("{kind:?}-{}", self.started);
        match kind {
            Kind::Component => {
                let settings = Settings { preset: Preset::Fast, ..Settings::new(name) };
                let campaign = self.campaigner.campaign(&self.stores, "elections", KEY, settings);
                Contender::Component(campaign.await.unwrap())
            }
            Kind::Native => {
                let options = CampaignOptions::new().name(name).preset(Preset::Fast);
                Contender::Native(self.store.campaign(KEY, options).await.unwrap())
            }
            Kind::CommandLine => {
                let says = r#"echo "{\"event\": \"leads\", \"token\": \"$INCUMBENT_TOKEN\", \"pid\": $$}"; exec sleep 1000"#;
                let mut command = Command::new(command_line());
                command.args(["run", "--store", &self.url, "--key", KEY, "--name", &name]);
                command.args(["--preset", "fast", "--", "sh", "-c", says]);
                command.env_remove("INCUMBENT_LOG").stdin(Stdio::null());
                Contender::CommandLine(JsonProgram::on_stdout(command))
            }
        }
    }
}

/// The program, which cargo builds with the tests of its own package.
pub(crate) fn command_line() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("incumbent");
    assert!(program.is_file(), "there is no {}; run `cargo build -p incumbent-cli`", program.display());
    program
}

/// Returns the leader, after checking that no other contender leads.
fn sole_leader(contenders: &mut [Contender]) -> Option<(usize, String)> {
    let mut found: Option<(usize, String)> = None;
    for place in 0..contenders.len() {
        let Some(token) = contenders[place].leads() else { continue };
        if let Some((other, before)) = &found {
            // The first candidate answered before the second was asked. If the first still leads now, both led when the
            // second was asked.
            let still = contenders[*other].leads();
            assert_ne!(still.as_ref(), Some(before), "two lead: {token} and {before}");
        }
        found = Some((place, token));
    }
    found
}

#[tokio::test]
async fn a_component_the_runtime_and_the_command_line_take_turns_and_never_lead_together() {
    let (_server, url) = server().await;
    let clock = Clock::system();
    let bytes = std::fs::read(component("incumbent-campaigner").unwrap()).unwrap();
    let mut arena = Arena {
        campaigner: Campaigner::new(&Host::new().unwrap(), &bytes).unwrap(),
        stores: Stores::new(clock.clone())
            .with("elections", incumbent::store::open(&url, &clock).await.unwrap()),
        store: Store::open(&url).await.unwrap(),
        url,
        started: 0,
    };
    let mut contenders = Vec::new();
    for kind in KINDS {
        contenders.push(arena.start(kind).await);
    }
    let mut won = Vec::new();
    let mut last = String::new();
    let limit = Instant::now() + 2 * GENEROUS;
    while won.len() < 5 || KINDS.iter().any(|kind| !won.contains(kind)) {
        assert!(Instant::now() < limit, "so far {won:?} have led");
        let Some((place, token)) = sole_leader(&mut contenders) else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        if token == last {
            continue;
        }
        assert!(token > last, "{token} after {last}");
        last = token;
        let leader = contenders.remove(place);
        won.push(leader.kind());
        let again = leader.kind();
        leader.leave().await;
        contenders.push(arena.start(again).await);
    }
    for contender in contenders {
        contender.leave().await;
    }
    arena.store.close().await.unwrap();
}
