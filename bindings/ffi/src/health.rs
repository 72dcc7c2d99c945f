//! A candidate's own health check, asked of a language.

use std::task::{Context, Poll};
use std::time::Duration;

use incumbent::CampaignOptions;
use tokio::sync::{mpsc, oneshot};

use crate::feed::Source;

/// "Are you well?", asked again and again. One that is dropped without an answer counts as a no, and so does one that
/// is answered after the next was due.
#[derive(Debug)]
pub struct Question {
    reply: oneshot::Sender<bool>,
}

impl Question {
    /// Answers it.
    pub fn answer(self, is_well: bool) {
        // One that came too late is wanted by nobody.
        let _ = self.reply.send(is_well);
    }
}

/// The questions of one candidate, in order.
#[derive(Debug)]
pub(crate) struct Questions {
    asked: mpsc::Receiver<Question>,
}

/// Has the candidate asked every `interval` whether it is well.
pub(crate) fn asked(options: CampaignOptions, interval: Duration) -> (CampaignOptions, Questions) {
    // One that nobody took is as good as one that nobody answers.
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
                // Not waited for any more.
                Poll::Ready(Some(question)) if question.reply.is_closed() => {}
                other => return other,
            }
        }
    }

    fn missed(&self) -> u64 {
        0
    }
}
