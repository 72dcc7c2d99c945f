//! The way from the clients of a campaign to its link.

use incumbent_core::induction::{Answer, TopicId};
use tokio::sync::mpsc::UnboundedSender;

/// The reports of a campaign's clients, in order.
pub(crate) enum Report {
    Answer(Answer),
    /// All earlier answers have been passed on. The last of them was an inspection of the topic.
    Inspected {
        /// The topic's id, if known.
        id: Option<TopicId>,
        /// The reading of the topic may begin.
        follows: bool,
    },
}

/// The destination of the reports of one campaign.
pub(crate) type Answers = UnboundedSender<Report>;
