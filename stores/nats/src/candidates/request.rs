//! Asks the other connections for their candidates, and collects the answers.

use std::time::Duration;

use async_nats::{StatusCode, Subject, Subscriber};
use futures_util::StreamExt;
use incumbent_core::store::{Fault, FaultKind};
use tokio::time::{Instant, timeout_at};

use super::subjects::{answers_to, calls};
use super::wire;
use crate::connection::NoAnswer;
use crate::wire::api::{Api, no_answer_fault};
use crate::wire::stream::StreamInfo;
use incumbent_store::CandidateInfo;

/// The time limit for the first answer, if the call has a subscriber. If it has none, the server reports that at once.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// The time without another answer after which a call ends, and the same in round trips. The longer of the two applies.
const QUIET: Duration = Duration::from_millis(250);
const QUIET_TRIPS: u32 = 4;
/// The longest duration of a call.
const LONGEST: Duration = Duration::from_secs(2);
/// The limit for all answers, in bytes. It is enough for more than a hundred thousand candidates, and small enough for
/// memory.
const MOST: usize = 16 * 1024 * 1024;

/// Returns the candidates that answer for the present incarnation of the bucket; `None` without permission to ask.
pub(crate) async fn call(api: &Api) -> Result<Option<Vec<CandidateInfo>>, Fault> {
    let began = Instant::now();
    let info: StreamInfo = api.stream_info().await.map_err(|failure| failure.fault(&api.bucket))?;
    let quiet = QUIET.max(began.elapsed() * QUIET_TRIPS);
    let token = token().map_err(|error| broken(&error))?;
    let subject = Subject::from(calls(&api.bucket));
    let answers_to = Subject::from(answers_to(&api.bucket, &token));
    let client = api.connection.client();
    let gathering = async {
        let mut answers = client.subscribe(answers_to.clone()).await.map_err(|error| broken(&error))?;
        let call = wire::call(info.incarnation());
        let sent = client.publish_with_reply(subject.clone(), answers_to.clone(), call).await;
        sent.map_err(|error| broken(&error))?;
        Ok(gather(&mut answers, quiet).await)
    };
    // Waits for a refusal under either subject, because either may be denied.
    let gathered = api.connection.await_answer(&subject, gathering);
    let error = match api.connection.await_answer(&answers_to, gathered).await {
        Ok(Ok(present)) => return present.map(Some),
        Ok(Err(error)) | Err(error) => error,
    };
    match error {
        NoAnswer::PublishDenied { .. } => Ok(None),
        error => Err(no_answer_fault(&error, &api.bucket)),
    }
}

async fn gather(answers: &mut Subscriber, quiet: Duration) -> Vec<CandidateInfo> {
    let began = Instant::now();
    let latest = began + LONGEST;
    let mut until = began + FIRST_ANSWER.max(quiet);
    let (mut present, mut received) = (Vec::new(), 0);
    while let Ok(Some(answer)) = timeout_at(until.min(latest), answers.next()).await {
        received += answer.payload.len();
        if answer.status == Some(StatusCode::NO_RESPONDERS) || received > MOST {
            break;
        }
        present.extend(wire::read(&answer.payload));
        until = Instant::now() + quiet;
    }
    present
}

/// A random token that distinguishes the answers to this call from those to another.
fn token() -> Result<String, getrandom::Error> {
    let mut token = [0; 16];
    getrandom::fill(&mut token)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(token)))
}

fn broken(error: &dyn std::error::Error) -> Fault {
    Fault { kind: FaultKind::Broken, detail: format!("cannot ask for the candidates over NATS: {error}") }
}
