//! The path to a state, as text for people.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::campaign::Event;
use incumbent_core::candidacy::{Input, Output};
use stateright::Path;

use crate::action::Action;
use crate::node::name;
use crate::property::Property;
use crate::state::State;
use crate::step::step;
use crate::store::{ActionOf, InputOf, OutputOf, Store};
use crate::world::World;

/// The broken property at the end of a path, and the path as text: one line per action, with its time and its outputs.
pub(crate) fn render<S: Store>(world: &World<S>, path: Path<State<S>, ActionOf<S>>) -> (Property, String) {
    let mut text = String::new();
    let steps = path.into_vec();
    for (state, action) in &steps {
        let Some(action) = action else { break };
        if matches!(action, Action::Pass(_)) {
            continue;
        }
        let mut came = Vec::new();
        step(world, state, *action, Some(&mut came));
        came.retain(|line| !line.is_empty());
        only_the_last_waits(&mut came);
        let _ = write!(text, "{:>3} s  {}", state.now, describe(state, *action));
        if !came.is_empty() {
            let _ = write!(text, ": {}", came.join("; "));
        }
        text.push('\n');
    }
    let last = steps.last().map(|(state, _)| state);
    let (property, says) = match last.and_then(|state| state.broken.as_ref()) {
        Some(broken) => (broken.property, broken.says.clone()),
        None => (Property::I15, last.and_then(|last| S::vacancy(world, last).err()).unwrap_or_default()),
    };
    let now = last.map_or(0, |state| state.now);
    let _ = writeln!(text, "{now:>3} s  {}: {says}", property.name());
    let _ = writeln!(text, "       {}: {}", property.name(), property.states());
    (property, text)
}

/// Keeps only the last of several wake-ups that a candidate requested.
fn only_the_last_waits(came: &mut Vec<String>) {
    let waits = |line: &str| line.split_once(" waits until ").map(|(who, _)| who.to_owned());
    for place in (0..came.len()).rev() {
        if let Some(who) = waits(&came[place])
            && came[place + 1..].iter().any(|line| waits(line).as_ref() == Some(&who))
        {
            came.remove(place);
        }
    }
}

fn describe<S: Store>(state: &State<S>, action: ActionOf<S>) -> String {
    let who = name;
    let first = |place: usize| {
        let request = state.nodes[place].requests.front();
        request.map_or_else(String::new, |request| format!("{}'s {request:?}", who(place)))
    };
    match action {
        Action::Pass(_) => String::new(),
        Action::Wake(place) => format!("{}'s timer fires", who(place)),
        Action::Serve(place) => first(place),
        Action::Lose(place) => format!("LOST: {}", first(place)),
        Action::LoseAnswer(place) => format!("ITS ANSWER LOST: {}", first(place)),
        Action::Delay(place) => format!("LATE: {}", first(place)),
        Action::Land(index) => {
            let (place, request) = &state.late[index];
            format!("{}'s {request:?}, which was late", who(*place))
        }
        Action::Drained(place) => format!("{}'s work is done", who(place)),
        Action::Enter(place) => format!("{} STARTS", who(place)),
        Action::Crash(place) => format!("{} CRASHES", who(place)),
        Action::Pause(place) => format!("{} STOPS", who(place)),
        Action::Resume(place) => format!("{} continues", who(place)),
        Action::Resign(place) => format!("{} is asked to RESIGN", who(place)),
        Action::HandOver(place, next) => format!("{} is asked to HAND OVER to {}", who(place), who(next)),
        Action::Own(action) => S::describe(state, action),
    }
}

/// An input of a candidate, in words.
pub(crate) fn received<S: Store>(input: &InputOf<S>) -> String {
    match input {
        Input::Answered(_) | Input::Watched(_) => S::received(input),
        Input::Tick => "wakes".into(),
        Input::Inspected(Ok(info)) => format!("is shown incarnation {}", info.incarnation.0),
        Input::Watching { .. } => "begins a watch".into(),
        Input::Reconnected => "is connected again".into(),
        Input::Campaign => "campaigns".into(),
        Input::Resign => "resigns".into(),
        Input::HandOver(next) => format!("hands over to {next}"),
        Input::Close => "closes".into(),
        Input::Drained => "has drained".into(),
        other => format!("is handed {other:?}"),
    }
}

/// An output of a candidate, in words; empty if it does not matter.
pub(crate) fn emitted<S: Store>(world: &World<S>, place: usize, output: &OutputOf<S>) -> String {
    let who = name(place);
    let clock = world.clock(place);
    match output {
        Output::Ask(request) => format!("{who} {}", S::asked(request)),
        Output::Reconnect => format!("{who} connects again"),
        Output::Tell(tell) => format!("{who} tells its connection {tell:?}"),
        Output::Event(Event::Won(term)) => {
            format!("{who} reports WON {}-{}", term.token.incarnation.0, term.token.sequence.0)
        }
        Output::Event(Event::Lost { term, reason }) => {
            format!("{who} reports LOST {} ({reason})", term.token.sequence.0)
        }
        Output::Event(Event::Draining { until, .. }) => {
            format!("{who} drains until {:.2} s", clock.seconds(*until))
        }
        Output::Event(Event::Warning(warning)) => format!("{who} reports a warning: {warning}"),
        Output::WakeAt(Some(wake)) if wake.at.since(clock.at(0)) < Duration::from_secs(1 << 20) => {
            format!("{who} waits until {:.2} s ({:?})", clock.seconds(wake.at), wake.timer)
        }
        _ => String::new(),
    }
}
