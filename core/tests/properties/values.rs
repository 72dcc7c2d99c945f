//! Instants, whose arithmetic saturates at both ends, and fencing tokens: the pair, its text, and the order of both.

use incumbent_core::record::{Attempt, Nonce, WriteId};
use incumbent_core::{Incarnation, Instant, Revision, Token};
use proptest::prelude::*;

use crate::*;

/// The instant in numbers that cannot overflow.
fn exact(at: Instant) -> i128 {
    i128::from(at.as_nanos())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_sum_is_exact_or_never(at in instants(), span in spans()) {
        let sum = u128::from(at.as_nanos()) + span.as_nanos();
        let nearest = u64::try_from(sum).unwrap_or(u64::MAX);
        prop_assert_eq!(at + span, Instant::from_nanos(nearest));
    }

    #[test]
    fn never_stays_never_whatever_is_added(span in spans()) {
        prop_assert_eq!(Instant::NEVER + span, Instant::NEVER);
    }

    #[test]
    fn a_difference_is_exact_or_the_origin(at in instants(), span in spans()) {
        let before = u128::from(at.as_nanos()).saturating_sub(span.as_nanos());
        prop_assert_eq!(u128::from(at.before(span).as_nanos()), before);
    }

    #[test]
    fn the_time_between_two_instants_is_exact_or_nothing(one in instants(), other in instants()) {
        let between = (exact(one) - exact(other)).max(0);
        prop_assert_eq!(one.since(other).as_nanos() as i128, between);
    }

    #[test]
    fn later_stays_later(one in instants(), other in instants(), span in spans()) {
        let (first, last) = (one.min(other), one.max(other));
        prop_assert!(first + span <= last + span);
        prop_assert!(first.before(span) <= last.before(span));
        prop_assert!(first.since(one) <= last.since(one));
    }

    #[test]
    fn there_and_back_is_no_later(at in instants(), span in spans()) {
        prop_assert!((at + span).before(span) <= at);
        prop_assert!(at.before(span) + span >= at);
    }
}

fn tokens() -> impl Strategy<Value = Token> {
    (numbers(), numbers()).prop_map(|(incarnation, sequence)| Token {
        incarnation: Incarnation(incarnation),
        sequence: Revision(sequence),
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_texts_sort_as_the_pairs_do(one in tokens(), other in tokens()) {
        prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(&other));
        let pair = |token: Token| (token.incarnation.0, token.sequence.0);
        prop_assert_eq!(pair(one).cmp(&pair(other)), one.cmp(&other));
    }

    #[test]
    fn the_sequence_decides_within_one_incarnation(life in numbers(), one in numbers(), other in numbers()) {
        let token = |sequence| Token { incarnation: Incarnation(life), sequence: Revision(sequence) };
        prop_assert_eq!(token(one).to_string().cmp(&token(other).to_string()), one.cmp(&other));
    }

    #[test]
    fn a_text_is_33_characters_and_reads_back(token in tokens()) {
        prop_assert_eq!(token.to_string().len(), 33);
        prop_assert_eq!(token.to_string().parse(), Ok(token));
    }

    #[test]
    fn what_reads_as_a_token_is_written_as_it_was(text in "[0-9a-f]{16}-[0-9a-f]{16}") {
        let token = text.parse::<Token>().expect("a token");
        prop_assert_eq!(token.to_string(), text);
    }

    #[test]
    fn no_other_text_is_a_token(text in ".{0,40}") {
        if let Ok(token) = text.parse::<Token>() {
            prop_assert!(token.to_string().eq_ignore_ascii_case(&text));
        }
    }

    #[test]
    fn a_stamp_reads_back(nonce in any::<u128>(), attempt in numbers()) {
        let write_id = WriteId { nonce: Nonce(nonce), attempt: Attempt(attempt) };
        prop_assert_eq!(write_id.to_string().parse(), Ok(write_id));
    }
}
