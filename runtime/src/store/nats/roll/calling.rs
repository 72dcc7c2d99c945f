//! Calling the roll, and gathering the answers.

use std::time::Duration;

use async_nats::{StatusCode, Subscriber};
use futures_util::StreamExt;
use incumbent_core::store::{Fault, FaultKind};
use tokio::time::{Instant, timeout_at};

use super::{answers_to, calls, wire};
use crate::store::CandidateInfo;
use crate::store::nats::connection::Silence;
use crate::store::nats::wire::api::{Api, silence_fault};
use crate::store::nats::wire::stream::StreamInfo;

/// How long the first answer is waited for, where somebody hears the call. Where nobody does, the server says
/// so at once.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// The call is over when no answer has come for so long, or for this many round trips, where that is longer.
const QUIET: Duration = Duration::from_millis(250);
const QUIET_TRIPS: u32 = 4;
/// How long it lasts at the most.
const LONGEST: Duration = Duration::from_secs(2);
/// How much is listened to, in bytes: more than a hundred thousand candidates take, and not enough to fill a memory.
const MOST: usize = 16 * 1024 * 1024;

/// Who answers that it stands in the present life of the bucket; `None` where we are not allowed to ask.
pub(in super::super) async fn call(api: &Api) -> Result<Option<Vec<CandidateInfo>>, Fault> {
    let began = Instant::now();
    let info: StreamInfo = api.stream_info().await.map_err(|failure| failure.fault(&api.bucket))?;
    let quiet = QUIET.max(began.elapsed() * QUIET_TRIPS);
    let token = token().map_err(|error| broken(&error))?;
    let (subject, answers_to) = (calls(&api.bucket), answers_to(&api.bucket, &token));
    let client = api.connection.client();
    let gathering = async {
        let mut answers = client.subscribe(answers_to.clone()).await.map_err(|error| broken(&error))?;
        let call = wire::call(info.incarnation());
        let sent = client.publish_with_reply(subject.clone(), answers_to.clone(), call).await;
        sent.map_err(|error| broken(&error))?;
        Ok(gather(&mut answers, quiet).await)
    };
    // Noted under both subjects: either may be denied.
    let gathered = api.connection.await_answer(&subject, gathering);
    let silence = match api.connection.await_answer(&answers_to, gathered).await {
        Ok(Ok(present)) => return present.map(Some),
        Ok(Err(silence)) | Err(silence) => silence,
    };
    match silence {
        Silence::PublishDenied { .. } => Ok(None),
        silence => Err(silence_fault(&silence, &api.bucket)),
    }
}

async fn gather(answers: &mut Subscriber, quiet: Duration) -> Vec<CandidateInfo> {
    let began = Instant::now();
    let latest = began + LONGEST;
    let mut until = began + FIRST_ANSWER.max(quiet);
    let (mut present, mut heard) = (Vec::new(), 0);
    while let Ok(Some(answer)) = timeout_at(until.min(latest), answers.next()).await {
        heard += answer.payload.len();
        if answer.status == Some(StatusCode::NO_RESPONDERS) || heard > MOST {
            break;
        }
        present.extend(wire::read(&answer.payload));
        until = Instant::now() + quiet;
    }
    present
}

/// What tells the answers to this call from those to another.
fn token() -> Result<String, getrandom::Error> {
    let mut token = [0; 16];
    getrandom::fill(&mut token)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(token)))
}

fn broken(error: &dyn std::error::Error) -> Fault {
    Fault { kind: FaultKind::Broken, detail: format!("the roll cannot be called over NATS: {error}") }
}
