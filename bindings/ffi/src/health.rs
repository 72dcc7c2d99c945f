//! A candidate's health check, answered by another language.

use std::task::{Context, Poll};
use std::time::Duration;

use incumbent::CampaignOptions;
use tokio::sync::{mpsc, oneshot};

use crate::feed::Source;

/// The question "Are you healthy?", asked at each interval. Dropping it counts as a no, and so does an answer after the
/// next one is due.
#[derive(Debug)]
pub struct Question {
    reply: oneshot::Sender<bool>,
}

impl Question {
    /// Answers the question.
    pub fn answer(self, is_well: bool) {
        // A late answer is of no use.
        let _ = self.reply.send(is_well);
    }
}

/// The questions to one candidate, in order.
#[derive(Debug)]
pub(crate) struct Questions {
    asked: mpsc::Receiver<Question>,
}

/// Asks the candidate at each `interval` whether it is healthy.
pub(crate) fn asked(options: CampaignOptions, interval: Duration) -> (CampaignOptions, Questions) {
    // One slot: a question that is not taken counts as unanswered.
    let (ask, asked) = mpsc::channel(1);
    let options = options.health_check(interval, move || {
        let (reply, answer) = oneshot::channel();
        let is_asked = ask.try_send(Question { reply }).is_ok();
        async move { is_asked && answer.await.unwrap_or(false) }
    });
    (options, Questions { asked })
}

impl Source<Question> for Questions {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Question>> {
        loop {
            match self.asked.poll_recv(cx) {
                // The candidate waits no more for its answer.
                Poll::Ready(Some(question)) if question.reply.is_closed() => {}
                other => return other,
            }
        }
    }

    fn missed(&self) -> u64 {
        0
    }
}
