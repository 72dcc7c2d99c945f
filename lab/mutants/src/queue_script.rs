//! Short scripts for one candidate in a queue: answers of the servers that neither the simulator's store nor the model
//! checker's worlds give.

#![allow(clippy::expect_used, reason = "the lines above say why")]

use std::time::Duration;

use incumbent_core::campaign::{Event, Settings};
use incumbent_core::queue::{
    Answer, Campaign, Change, Companion, Failure, Input, KeptAlive, LeaseId, Outcome, Output, Place, Queue,
    Request, Server, Snapshot, Tell, Told, Write,
};
use incumbent_core::record::Nonce;
use incumbent_core::session::{self, CampaignId, Enter, Session};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::script::{Script, broken};
use crate::session_script;

const LEASE: Duration = Duration::from_secs(30);
const INCARNATION: Incarnation = Incarnation(7);
const ME: Nonce = Nonce(0xa);
const COMPANIONS: LeaseId = LeaseId::of_companions(RAFT_TERM, 0xb);
const MOVED_TO: LeaseId = LeaseId::of_companions(RAFT_TERM, 0xc);
const CREATED: Revision = Revision(10);
const RAFT_TERM: u64 = 2;
const SERVER: Server = Server { shortest: Some(Duration::from_secs(2)) };

const SCRIPTS: &[Script] = &[
    ("a shortest lease that is not known", a_shortest_lease_that_is_not_known),
    ("a companion that moves", a_companion_that_moves),
    ("reads that fail late", reads_that_fail_late),
    ("a companion that runs out", a_companion_that_runs_out),
    ("a companion that a backup brought back", a_companion_that_a_backup_brought_back),
    ("a companion that no one deletes", a_companion_that_no_one_deletes),
    ("keep-alives that are late", keep_alives_that_are_late),
    ("rounds in a window", rounds_in_a_window),
    ("little time in queues", session_script::little_time_in_queues),
];

/// The script that fails.
pub(crate) fn play() -> Option<String> {
    broken(SCRIPTS)
}

/// A lease that could not be compared with the shortest is never accepted.
fn a_shortest_lease_that_is_not_known() -> bool {
    campaign(Server { shortest: None }, Instant::ZERO).is_none()
}

/// A leader's companion moves to a new lease, and the put gets no answer. Until a read shows the companion on the new
/// lease, the leader keeps both leases alive. A round proves nothing if the read shows the companion on the former
/// lease and that lease was not kept alive. On either lease the companion is the leader's own.
fn a_companion_that_moves() -> bool {
    let at = |secs: u64| Instant::ZERO + Duration::from_secs(3_600 + secs);
    // As above.
    let mut campaign = campaign(SERVER, at(0)).expect("they fit");
    let wins = plays_to_a_win(&mut campaign, at(0), Input::Campaign);
    let deadline = |campaign: &Campaign| campaign.lease().map(|lease| lease.deadline);
    let all =
        |request: &Request| matches!(request, Request::KeepAlive { leases } if leases.moves_to.is_some());
    let moves = |request: &Request| matches!(request, Request::Write(_));

    let first = given(&mut campaign, at(1), Input::Told(Told::Move { from: COMPANIONS, to: MOVED_TO }));
    let put = round(&mut campaign, at(1), &first, COMPANIONS, true);
    let proven = deadline(&campaign);
    // The session's time limit has passed; it is unknown whether the transaction was applied.
    given(&mut campaign, at(3), Input::Tick);
    let again = given(&mut campaign, at(15), Input::Tick);
    let unproven = round(&mut campaign, at(15), &again, COMPANIONS, false);
    let same = deadline(&campaign);
    let last = given(&mut campaign, at(17), Input::Tick);
    round(&mut campaign, at(17), &last, MOVED_TO, true);
    let moved = deadline(&campaign);

    let both_kept = [&first, &again, &last].into_iter().all(|asked| asked.iter().any(all));
    wins && both_kept
        && put.iter().any(moves)
        && unproven.iter().any(moves)
        && same == proven
        && moved.is_some_and(|moved| Some(moved) > proven)
}

/// A candidate behind another one is denied every read except the first, each time after it has stopped waiting for
/// that read. Keep-alives are answered. The candidate gives way: it revokes its lease.
fn reads_that_fail_late() -> bool {
    let start = Instant::ZERO + Duration::from_secs(3_600);
    // As above.
    let mut campaign = campaign(SERVER, start).expect("they fit");
    let (mut now, mut has_read, mut unanswered) = (start, false, None);
    let mut inputs = vec![Input::Campaign];
    while now < start + LEASE * 3 {
        while let Some(input) = inputs.pop() {
            // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
            campaign.handle(now, input).expect("it keeps the contract");
            loop {
                match campaign.poll() {
                    Output::WakeAt(_) => break,
                    Output::Reconnect => inputs.push(Input::Reconnected),
                    Output::Ask(Request::Revoke { .. }) => return true,
                    Output::Ask(Request::Read { read, .. }) if has_read => unanswered = Some((read, now)),
                    Output::Ask(Request::Read { read, own, .. }) => {
                        has_read = true;
                        // `alone` returns the candidate's own place, so `places[0]` exists.
                        let mut snapshot = alone(own);
                        let first =
                            Place { key: "1".into(), created: Revision(1), ..snapshot.places[0].clone() };
                        snapshot.places.insert(0, first);
                        inputs
                            .push(Answer::Read { read, sent_at: now, result: Ok(Box::new(snapshot)) }.into());
                    }
                    Output::Ask(request) => inputs.extend(answers(request, now).into_iter().map(Input::from)),
                    _ => {}
                }
            }
        }
        let Output::WakeAt(Some(wake)) = campaign.poll() else { return false };
        now = now.max(wake.at);
        let limit = campaign.attempt_limit();
        if let Some((read, sent_at)) = unanswered.take_if(|(_, sent_at)| *sent_at + limit <= now) {
            let denied = Fault { kind: FaultKind::Denied, detail: String::new() };
            inputs.push(Answer::Read { read, sent_at, result: Err(Failure::Fault(denied)) }.into());
        }
        // The last is taken first.
        inputs.push(Input::Tick);
    }
    false
}

/// A candidate resigns, and all its deletions but one are denied. That one is sent after the connection got another
/// lease, and is not answered for half a lease. Meanwhile the store may have elected a leader that extended the
/// companion's lease. The candidate checks for the companion a lease after the next answer.
fn a_companion_that_runs_out() -> bool {
    let start = Instant::ZERO + Duration::from_secs(3_600);
    // As above.
    let mut campaign = campaign(SERVER, start).expect("they fit");
    if !plays_to_a_win(&mut campaign, start, Input::Campaign) {
        return false;
    }
    let denied = || Failure::Fault(Fault { kind: FaultKind::Denied, detail: String::new() });
    let (mut now, mut wait, mut moved, mut silent, mut answered) =
        (start, Duration::ZERO, false, false, None);
    let mut inputs = vec![Input::Resign];
    for _ in 0..1_000 {
        while let Some(input) = inputs.pop() {
            // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
            campaign.handle(now, input).expect("it keeps the contract");
            loop {
                match campaign.poll() {
                    Output::WakeAt(_) => break,
                    Output::Reconnect => inputs.push(Input::Reconnected),
                    Output::Tell(Tell::Stranded { on }) => inputs.push(Input::Told(Told::Left(on))),
                    Output::Tell(Tell::Move { from, to }) => {
                        moved = true;
                        inputs.extend([Told::Left(from), Told::Move { from, to }].map(Input::Told));
                    }
                    Output::Ask(Request::Share { .. }) => {
                        inputs.push(Answer::Shared { result: Ok(MOVED_TO) }.into());
                    }
                    Output::Ask(Request::Read { .. }) => {
                        return answered.is_some_and(|answered| now >= answered + LEASE);
                    }
                    Output::Ask(Request::Write(Write { attempt, .. })) => {
                        let is_silent = moved && !std::mem::replace(&mut silent, moved);
                        if silent && !is_silent {
                            answered.get_or_insert(now);
                        }
                        wait = if is_silent { LEASE / 2 } else { Duration::ZERO };
                        let failure = if is_silent { Failure::Unknown } else { denied() };
                        inputs.push(Answer::Wrote { attempt, outcome: Outcome::Failed(failure) }.into());
                    }
                    Output::Ask(request) => inputs.extend(answers(request, now).into_iter().map(Input::from)),
                    _ => {}
                }
            }
        }
        let Output::WakeAt(Some(wake)) = campaign.poll() else { return false };
        now = now.max(wake.at + std::mem::take(&mut wait));
        inputs.push(Input::Tick);
    }
    false
}

/// A candidate's first read shows one of its own companions ahead of it: the candidate had given that companion up, and
/// a backup brought it back. The candidate removes it, and first revokes the lease after which it is named.
fn a_companion_that_a_backup_brought_back() -> bool {
    let revived = LeaseId(5);
    // As above.
    let mut campaign = campaign(SERVER, Instant::ZERO).expect("they fit");
    let mut inputs = vec![Input::Campaign];
    while let Some(input) = inputs.pop() {
        // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
        campaign.handle(Instant::ZERO, input).expect("it keeps the contract");
        loop {
            match campaign.poll() {
                Output::WakeAt(_) => break,
                Output::Ask(Request::Revoke { lease }) if lease == revived => return true,
                Output::Ask(request) => {
                    let answers = answers(request, Instant::ZERO).into_iter().map(|mut answer| {
                        if let Answer::Read { result: Ok(snapshot), .. } = &mut answer {
                            let own = snapshot.companions.first().cloned();
                            let key = revived.to_string();
                            let ahead = own.map(|own| Companion { key, created: Revision(5), ..own });
                            snapshot.companions.splice(0..0, ahead);
                        }
                        answer
                    });
                    inputs.extend(answers.map(Input::from));
                }
                _ => {}
            }
        }
    }
    false
}

/// A finished candidate of the same connection left a companion without a place, ahead of this candidate and on the
/// lease that this candidate keeps alive. So this candidate makes the connection leave that lease.
fn a_companion_that_no_one_deletes() -> bool {
    let start = Instant::ZERO + Duration::from_secs(3_600);
    // As above.
    let mut campaign = campaign(SERVER, start).expect("they fit");
    let (mut now, mut inputs) = (start, vec![Input::Campaign]);
    while now < start + LEASE * 3 {
        while let Some(input) = inputs.pop() {
            for request in given(&mut campaign, now, input) {
                if matches!(request, Request::Share { gone: Some(COMPANIONS), .. }) {
                    return true;
                }
                let answers = answers(request, now).into_iter().map(|mut answer| {
                    if let Answer::Read { result: Ok(snapshot), .. } = &mut answer {
                        let own = snapshot.companions.first().cloned();
                        let of_another = |own| Companion {
                            key: "5".into(),
                            created: Revision(5),
                            nonce: Some(Nonce(0xf)),
                            ..own
                        };
                        snapshot.companions.splice(0..0, own.map(of_another));
                    }
                    answer
                });
                inputs.extend(answers.map(Input::from));
            }
        }
        let Output::WakeAt(Some(wake)) = campaign.poll() else { return false };
        now = now.max(wake.at);
        inputs.push(Input::Tick);
    }
    false
}

/// A round's keep-alives are answered after their time limit, but the lease still counts from the time at which they
/// were sent.
fn keep_alives_that_are_late() -> bool {
    let at = |secs: u64| Instant::ZERO + Duration::from_secs(3_600 + secs);
    // As above.
    let mut campaign = campaign(SERVER, at(0)).expect("they fit");
    let wins = plays_to_a_win(&mut campaign, at(0), Input::Campaign);
    let round = given(&mut campaign, at(10), Input::Tick);
    given(&mut campaign, at(13), Input::Tick);
    let mut open: Vec<_> = round.into_iter().flat_map(|request| answers(request, at(10))).collect();
    while !open.is_empty() {
        let asked = open.into_iter().flat_map(|answer| given(&mut campaign, at(13), Input::Answered(answer)));
        let asked: Vec<_> = asked.collect();
        open = asked.into_iter().flat_map(|request| answers(request, at(13))).collect();
    }
    let deadline = campaign.lease().map(|lease| lease.deadline);
    wins && deadline == Some((at(10) + LEASE).before(campaign.margin()))
}

/// Of the rounds of 65 leaders, 64 fit into the session's window. The last two leaders, whose rounds are spread because
/// many leaders were there before them, are among these. A later round is sent before the requests of candidates that
/// wait to enter.
fn rounds_in_a_window() -> bool {
    let at = |tenths: u64| Instant::ZERO + Duration::from_millis(3_600_000 + tenths * 100);
    let mut session = Session::<Queue>::new(SERVER);
    for id in 1..=65 {
        enter(&mut session, id, at(0));
    }
    let rounds = asked(&mut session, at(100), session::Input::Tick);
    let keeps_alive = |asked: &[(CampaignId, Request)], id| {
        asked.iter().any(|(of, request)| *of == id && matches!(request, Request::KeepAlive { .. }))
    };
    let all = rounds.len() == 64 && (1..=62).chain([64, 65]).all(|id| keeps_alive(&rounds, id));
    if !all {
        return false;
    }
    // The remaining leader's round is sent once the first round is answered.
    let last = answered(&mut session, at(100), rounds[..1].to_vec());
    // The requests of some entering candidates still fit into the window; the rest have to wait.
    let waiting = (66..=70).filter(|id| entered(&mut session, *id, at(101)).is_empty()).count();
    // The watch makes each leader without a round in progress begin one, which has to wait.
    let begun = asked(&mut session, at(102), session::Input::Watching { number: 1 });
    let next = answered(&mut session, at(102), rounds[1..2].to_vec());
    let first = next.iter().find(|(_, request)| !matches!(request, Request::Read { .. }));
    keeps_alive(&last, 63)
        && waiting > 0
        && begun.is_empty()
        && first
            .is_some_and(|(id, request)| *id == rounds[0].0 && matches!(request, Request::KeepAlive { .. }))
}

/// Gives the session an input; returns the session's requests.
fn asked(
    session: &mut Session<Queue>,
    now: Instant,
    input: session::Input<Answer, Change>,
) -> Vec<(CampaignId, Request)> {
    // As above.
    session.handle(now, input).expect("it keeps the contract");
    let mut asked = Vec::new();
    loop {
        match session.poll() {
            session::Output::WakeAt(_) => return asked,
            session::Output::Ask { id, request, .. } => asked.push((id, request)),
            session::Output::Inspect { number, .. } => {
                let info = info(now);
                // As above.
                session
                    .handle(now, session::Input::Inspected { number, result: Ok(info) })
                    .expect("it keeps the contract");
            }
            _ => {}
        }
    }
}

/// Lets a candidate enter; returns its first requests.
fn entered(session: &mut Session<Queue>, id: CampaignId, now: Instant) -> Vec<(CampaignId, Request)> {
    let enter = Enter {
        id,
        election: format!("election {id}").into(),
        settings: settings(),
        nonce: ME,
        seed: id,
        fail_fast: false,
    };
    asked(session, now, session::Input::Enter(Box::new(enter)))
}

/// A candidate enters and leads.
fn enter(session: &mut Session<Queue>, id: CampaignId, now: Instant) {
    let mut open = entered(session, id, now);
    while !open.is_empty() {
        open = answered(session, now, open);
    }
}

/// Answers these requests; returns the requests that follow.
fn answered(
    session: &mut Session<Queue>,
    now: Instant,
    open: Vec<(CampaignId, Request)>,
) -> Vec<(CampaignId, Request)> {
    let answers = open.into_iter().flat_map(|(id, request)| {
        answers(request, now).into_iter().map(move |answer| session::Input::Answered { id, answer })
    });
    answers.flat_map(|input| asked(session, now, input)).collect()
}

/// Gives the campaign an input; returns the campaign's requests.
fn given(campaign: &mut Campaign, now: Instant, input: Input) -> Vec<Request> {
    // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
    campaign.handle(now, input).expect("it keeps the contract");
    let mut asked = Vec::new();
    loop {
        match campaign.poll() {
            Output::WakeAt(_) => return asked,
            Output::Ask(request) => asked.push(request),
            _ => {}
        }
    }
}

/// Answers a round: its keep-alives (that of the companion's former lease only if `kept`), and its read, which shows
/// the companion on the lease `on`. Returns the requests that follow.
fn round(campaign: &mut Campaign, now: Instant, asked: &[Request], on: LeaseId, kept: bool) -> Vec<Request> {
    let mut asked = asked.to_vec();
    while let Some(request) = asked.pop() {
        let denied = Fault { kind: FaultKind::Denied, detail: String::new() };
        let answers = answers(request.clone(), now).into_iter().map(|answer| match answer {
            Answer::KeptAlive { lease, sent_at, .. } if lease == COMPANIONS && !kept => {
                Answer::KeptAlive { lease, sent_at, result: Err(Failure::Fault(denied.clone())) }
            }
            Answer::Read { read, sent_at, result } => {
                let shown = result.map(|mut snapshot| {
                    for companion in snapshot.companion.iter_mut().chain(&mut snapshot.companions) {
                        companion.lease = Some(on);
                    }
                    snapshot
                });
                Answer::Read { read, sent_at, result: shown }
            }
            answer => answer,
        });
        let ends = matches!(request, Request::Read { .. });
        let next: Vec<_> = answers.flat_map(|answer| given(campaign, now, Input::Answered(answer))).collect();
        if ends {
            return next;
        }
        asked.extend(next);
    }
    Vec::new()
}

fn campaign(server: Server, now: Instant) -> Option<Campaign> {
    Campaign::new(settings(), server, &info(now), ME, 7, now).ok()
}

fn info(now: Instant) -> StoreInfo {
    StoreInfo {
        asked_at: now,
        incarnation: INCARNATION,
        age: None,
        never_used: true,
        max_age: None,
        newest: None,
    }
}

fn settings() -> Settings {
    Settings { splay: Some(Duration::ZERO), lease: Some(LEASE), ..Settings::new("me") }
}

/// Gives the campaign an input, then answers all its requests like a store without other candidates. Returns true if
/// the campaign wins.
fn plays_to_a_win(campaign: &mut Campaign, now: Instant, input: Input) -> bool {
    let mut inputs = vec![input];
    let mut won = false;
    while let Some(input) = inputs.pop() {
        // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
        campaign.handle(now, input).expect("it keeps the contract");
        loop {
            match campaign.poll() {
                Output::WakeAt(_) => break,
                Output::Event(Event::Won(_)) => won = true,
                Output::Ask(request) => inputs.extend(answers(request, now).into_iter().map(Input::from)),
                _ => {}
            }
        }
    }
    won
}

fn answers(request: Request, now: Instant) -> Vec<Answer> {
    match request {
        Request::Grant { lease, ttl } => vec![Answer::Granted { lease, result: Ok(ttl) }],
        Request::Share { .. } => vec![Answer::Shared { result: Ok(COMPANIONS) }],
        Request::Write(Write { attempt, .. }) => {
            vec![Answer::Wrote { attempt, outcome: Outcome::Applied { revision: CREATED } }]
        }
        Request::KeepAlive { leases } => {
            let kept = KeptAlive { ttl: LEASE, raft_term: RAFT_TERM };
            let answer = |lease| Answer::KeptAlive { lease, sent_at: now, result: Ok(kept) };
            leases.iter().map(answer).collect()
        }
        Request::Read { read, own, .. } => {
            vec![Answer::Read { read, sent_at: now, result: Ok(Box::new(alone(own))) }]
        }
        Request::Revoke { lease } => vec![Answer::Revoked { lease, result: Ok(()) }],
    }
}

fn alone(own: Option<LeaseId>) -> Snapshot {
    let key = own.map(|own| own.to_string());
    let place = key.clone().map(|key| Place {
        key,
        created: CREATED,
        modified: CREATED,
        lease: own,
        name: "me".into(),
    });
    let companion = key.map(|key| Companion {
        key,
        created: CREATED,
        modified: CREATED,
        lease: Some(COMPANIONS),
        nonce: Some(ME),
        lease_time: LEASE,
        successor: None,
        metadata: Vec::new(),
    });
    Snapshot {
        revision: Revision(20),
        raft_term: RAFT_TERM,
        birth: Some(INCARNATION),
        places: place.iter().cloned().collect(),
        companions: companion.iter().cloned().collect(),
        place,
        companion,
        overlap: None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn where_nothing_is_broken_every_script_ends_as_it_should() {
        assert_eq!(super::play(), None);
    }
}
