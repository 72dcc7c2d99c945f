//! The largest known token, as the metadata of the group's committed offset.
//!
//! The log forgets its records, after an hour by its retention or when an operator deletes them, and a reader may miss
//! some. The coordinator keeps the newest committed offset and its metadata while the group has members, and for a week
//! after that. So each commit states the largest token that its member knows. A new owner asks for this metadata
//! between its assignment and its claim. If the answer cannot be read, the owner does not assume that there is no
//! token: it claims only once it has read an answer.
//!
//! A commit replaces the previous one, even if the previous one states the larger token. A client may keep a commit
//! that it could not send, and send it later under its new membership (librdkafka does so while it waits for its
//! coordinator). So no term begins while a commit with a smaller token is open. A member that gives up its partition
//! with an open commit leaves the group, because only closing its client stops the commit.
//!
//! The text is `incumbent/1 TOKEN`. A later version may add fields after a further space, which this version ignores. A
//! text that does not begin with `incumbent` is from other software and states no token; an empty text states none
//! either.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::record::Attempt;
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use crate::token::Token;

/// The prefix of the text in every version.
const OURS: &str = "incumbent";
/// The prefix of the text in this version.
const FIRST: &str = "incumbent/1 ";

/// The text that a member commits if `largest` is the largest token that it knows.
pub(super) fn metadata(largest: Option<Token>) -> String {
    largest.map(|token| format!("{FIRST}{token}")).unwrap_or_default()
}

/// The token in the metadata of a group's committed offset; `None` if the metadata states none.
///
/// # Errors
/// Returns a fault if the text may be a candidate's but cannot be read.
pub(super) fn stated(metadata: &str) -> Result<Option<Token>, Fault> {
    if !metadata.starts_with(OURS) {
        return Ok(None);
    }
    let token = metadata.strip_prefix(FIRST).and_then(|rest| rest.split(' ').next()?.parse().ok());
    token.map(Some).ok_or_else(|| {
        let detail = format!(
            "the committed offset of the group has the metadata {metadata:?}, which this version cannot read; upgrade \
             this candidate, or, if no candidate of a newer version runs, reset the group's offsets"
        );
        Fault { kind: FaultKind::Broken, detail }
    })
}

/// This client's unanswered commits, whose tokens may still become the group's metadata.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct OpenCommits(Vec<Commit>);

#[derive(Clone, Copy, Debug, Hash)]
struct Commit {
    attempt: Attempt,
    states: Option<Token>,
    /// When the commit was first requested, and how many copies of it are unanswered. It is repeated while there is no
    /// coordinator.
    asked_at: Instant,
    open: u32,
}

impl OpenCommits {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.0.len() <= 256
    }

    /// The client was replaced.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn asked(&mut self, attempt: Attempt, states: Option<Token>, now: Instant) {
        match self.0.iter_mut().rfind(|commit| commit.attempt == attempt && commit.states == states) {
            Some(same) => same.open = same.open.saturating_add(1),
            None => self.0.push(Commit { attempt, states, asked_at: now, open: 1 }),
        }
    }

    /// Closes one commit of the record. If the record was committed twice, the answer may belong to either commit, so
    /// the one with the smaller token stays open.
    pub(super) fn answered(&mut self, attempt: Attempt) {
        if let Some(place) = self.0.iter().rposition(|commit| commit.attempt == attempt) {
            self.0[place].open -= 1;
            self.0.retain(|commit| commit.open > 0);
        }
    }

    /// When the oldest unanswered commit with a smaller token was requested.
    pub(super) fn below(&self, token: Token) -> Option<Instant> {
        self.0.iter().filter(|commit| commit.states < Some(token)).map(|commit| commit.asked_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Incarnation, Revision};

    const TOKEN: Token = Token { incarnation: Incarnation(0x1d), sequence: Revision(7) };

    #[test]
    fn a_token_reads_back_as_it_was_written_and_nothing_as_nothing() {
        let text = metadata(Some(TOKEN));
        assert_eq!(text, "incumbent/1 000000000000001d-0000000000000007");
        assert_eq!(stated(&text), Ok(Some(TOKEN)));
        assert_eq!((metadata(None).as_str(), stated("")), ("", Ok(None)));
    }

    #[test]
    fn fields_that_a_later_version_adds_are_ignored() {
        assert_eq!(stated(&format!("{} more", metadata(Some(TOKEN)))), Ok(Some(TOKEN)));
    }

    #[test]
    fn a_text_of_other_software_states_no_token() {
        for text in ["host-1", " incumbent/1 x", "{\"offset\":4}", "Incumbent/1 x"] {
            assert_eq!(stated(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn a_text_that_may_be_ours_and_cannot_be_read_is_no_answer() {
        for text in [
            "incumbent",
            "incumbent/1",
            "incumbent/1 ",
            "incumbent/1 1d-7",
            "incumbent/2 000000000000001d-0000000000000007",
            "incumbent/1  000000000000001d-0000000000000007",
            "incumbent/1 000000000000001d-0000000000000007\t",
        ] {
            let fault = stated(text).expect_err(text);
            assert!(fault.kind == FaultKind::Broken && fault.detail.contains(text.trim()), "{fault:?}");
        }
    }

    #[test]
    fn a_commit_that_is_repeated_counts_once_and_is_open_until_each_is_answered() {
        let at = |secs| Instant::ZERO + core::time::Duration::from_secs(secs);
        let larger = Token { sequence: Revision(8), ..TOKEN };
        let mut open = OpenCommits::default();
        (1..=1_000).for_each(|secs| open.asked(Attempt(1), Some(TOKEN), at(secs)));
        assert_eq!((open.0.len(), open.below(larger)), (1, Some(at(1))));
        (1..1_000).for_each(|_| open.answered(Attempt(1)));
        assert_eq!(open.below(larger), Some(at(1)));
        open.answered(Attempt(1));
        assert!(open.is_empty());
    }

    #[test]
    fn of_two_commits_of_one_record_that_with_the_smaller_token_is_answered_last() {
        let larger = Token { sequence: Revision(8), ..TOKEN };
        let mut open = OpenCommits::default();
        open.asked(Attempt(1), Some(TOKEN), Instant::ZERO);
        open.asked(Attempt(1), Some(larger), Instant::ZERO);
        open.answered(Attempt(1));
        assert_eq!(open.below(larger), Some(Instant::ZERO));
    }
}
