//! `incumbent demo`, and the process of one of its candidates.

use std::io::IsTerminal;
use std::time::Duration;

use incumbent_rig::candidate::{Recorded, Report, ReportKind, print, serve};
use incumbent_rig::fleet::{Member, die_with_parent};
use incumbent_rig::schedule::Fault;
use incumbent_rig::trial::Trial;

use super::args::Args;
use super::plan::Demo;
use super::renderer::Renderer;
use super::summary::{Summary, percentile, sorted_vacancies};
use super::table::{Row, View};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::span;
use crate::screen;
use crate::screen::Signals;

/// The hidden command of a candidate's process.
#[derive(Debug, clap::Args)]
pub(crate) struct CandidateArgs {
    /// The process of the demo; the candidate ends with it
    #[arg(long)]
    parent: u32,
}

/// Takes part as a candidate of the demo, in a child process.
pub(crate) async fn candidate(args: &CandidateArgs) -> Result<(), Failure> {
    die_with_parent(args.parent)?;
    if let Err(failed) = serve(|setup| Recorded::create(&setup.record, print)).await {
        print(Report::now(None, ReportKind::Failed(failed)));
    }
    Ok(())
}

/// `incumbent demo`.
pub(crate) async fn run(args: Args, as_json: bool) -> Result<Exit, Failure> {
    let has_terminal = std::io::stdout().is_terminal() && screen::can_draw() && !as_json;
    let demo = Demo::new(args, has_terminal).await?;
    let mut renderer = Renderer::new(has_terminal, as_json)?;
    let summary = play(demo, &mut renderer).await;
    renderer.close();
    let summary = summary?;
    renderer.show_summary(&summary)?;
    Ok(summary.exit())
}

/// Runs the demo, from the first candidate's start to the last one's end.
async fn play(demo: Demo, renderer: &mut Renderer) -> Result<Summary, Failure> {
    let mut signals = Signals::new()?;
    renderer.introduce(&demo)?;
    // The folder and the store are kept until the last candidate has left.
    let Demo { trial: plan, store, folder: _folder, kept: _kept, .. } = demo;
    let (duration, lease) = (plan.duration, plan.campaign.lease);
    let mut summary = Summary::new(store, plan.campaign.key.clone(), plan.seed);
    let mut trial = Trial::start(plan)?;
    while !trial.is_over() {
        tokio::select! {
            event = trial.next() => if let Some(event) = event? {
                summary.count(&event);
                renderer.report(trial.lasted(), &event)?;
            } else {
                renderer.draw(|| view(&trial, &summary, lease))?;
            },
            () = signals.next() => trial.close()?,
        }
        let is_up = duration.is_some_and(|duration| trial.lasted() >= duration);
        if (is_up || renderer.is_gone()) && !trial.is_closing() {
            trial.close()?;
        }
    }
    summary.lasted = trial.lasted();
    trial.read_history()?;
    summary.judge(trial.history());
    Ok(summary)
}

fn view(trial: &Trial, summary: &Summary, lease: Duration) -> View {
    let vacancies = sorted_vacancies(trial.history());
    let row = |(index, member): (usize, &Member)| {
        let fault = trial.fault(index).map(|(fault, since)| match fault {
            Fault::Kill => "killed".into(),
            Fault::Stop => format!("for {}", span(since)),
            Fault::Restart => "leaves".into(),
            Fault::HandOver => "hands over".into(),
            Fault::Delete => "deleted".into(),
            Fault::Overwrite => "overwritten".into(),
        });
        Row {
            name: member.name.clone(),
            pid: member.pid(),
            state: member.state(&summary.key).into(),
            is_present: member.is_present(),
            is_stopped: member.is_stopped,
            token: member.token(&summary.key).map(|token| token.sequence.0),
            left: trial.lease_left(index),
            terms: member.terms,
            fault,
        }
    };
    View {
        store: summary.store.clone(),
        key: summary.key.clone(),
        lease,
        lasted: trial.lasted(),
        rows: trial.members().iter().enumerate().map(row).collect(),
        terms: summary.terms,
        overlaps: summary.overlaps,
        vacancy: percentile(&vacancies, 0.5).zip(percentile(&vacancies, 1.0)),
        log: Vec::new(),
        is_closing: trial.is_closing(),
    }
}
