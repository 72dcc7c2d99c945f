//! An owner of partition zero, and its claim.

use alloc::string::String;

use super::log::Below;
use super::record::TopicId;
use crate::candidacy::Step;
use crate::record::Attempt;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// A candidate to which partition zero is assigned.
#[derive(Clone, Debug, Hash)]
pub struct Owner {
    /// The member id at the assignment.
    pub(super) member: String,
    /// `w`: when the assignment was handled, or when the log was last reset after that.
    pub(super) assigned_at: Instant,
    /// No win is reported before this instant, whatever the log contains.
    pub(super) owed: Instant,
    /// This ownership's first question for the committed token, and whether any such question was answered.
    pub(super) first_question: u64,
    pub(super) informed: bool,
    /// The token that the group had committed before.
    pub(super) stated: Option<Token>,
    pub(super) claim: Option<Open>,
    /// `D`, from the newest proof.
    pub(super) deadline: Option<Instant>,
    /// The topic in which the term was proven; its release refers to that topic.
    pub(super) topic: Option<TopicId>,
    /// Whether a revocation waits for its answer.
    pub(super) revoked: bool,
    /// Whether the reader was replaced, because it did not return the claim.
    pub(super) reader_is_new: bool,
}

/// A claim that was published.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Open {
    pub(super) attempt: Attempt,
    /// The incarnation that the claim states, and how many gaps the reading had when that incarnation was chosen.
    pub(super) incarnation: Incarnation,
    pub(super) gaps: u32,
    /// `τ`, the offset of the claim, and when its append was reported.
    pub(super) appended: Option<(Revision, Instant)>,
    /// The records below the claim; `None` until the claim has been read back.
    pub(super) below: Option<Below>,
    /// Whether the topic was inspected after the append.
    pub(super) asked: bool,
    /// Whether the topic's id was read after the append, and is that of the log.
    pub(super) confirmed: bool,
}

impl Owner {
    /// The claim, if there is one; inside, its attempt if its append has not been reported yet.
    pub(super) fn pending_claim(&self) -> Option<Option<Attempt>> {
        self.claim.map(|claim| claim.appended.is_none().then_some(claim.attempt))
    }

    /// Whether the answer to this question settles what must be known before a claim.
    pub(super) fn asks(&self, number: u64) -> bool {
        !self.informed && number >= self.first_question
    }

    /// The step that a due win still lacks, although something sent after the claim's append was proved.
    pub(super) fn unmet(&self, sent: Instant) -> Option<Step> {
        let claim = self.claim?;
        claim.appended.filter(|(_, at)| *at < sent)?;
        match claim.below {
            None => Some(Step::ReadBack),
            Some(_) => (!claim.asked).then_some(Step::Inspect),
        }
    }

    /// The token of the claim, once the claim was appended.
    pub(super) fn claimed_token(&self) -> Option<Token> {
        self.claim?.token()
    }

    /// Whether the claim was appended but has not been read back.
    pub(super) fn is_unread(&self) -> bool {
        self.claim.is_some_and(|claim| claim.appended.is_some() && claim.below.is_none())
    }
}

impl Open {
    /// The token that a term of this claim would have.
    pub(super) fn token(&self) -> Option<Token> {
        let (sequence, _) = self.appended?;
        let below = self.below.and_then(|below| below.incarnation);
        Some(Token {
            incarnation: below.map_or(self.incarnation, |below| below.max(self.incarnation)),
            sequence,
        })
    }
}
