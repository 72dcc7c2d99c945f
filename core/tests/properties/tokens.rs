//! Fencing tokens: the pair, its text, and their order.

use incumbent_core::record::{Attempt, Nonce, Stamp};
use incumbent_core::{Incarnation, Revision, Token};
use proptest::prelude::*;

use crate::draw::*;

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
        let stamp = Stamp { nonce: Nonce(nonce), attempt: Attempt(attempt) };
        prop_assert_eq!(stamp.to_string().parse(), Ok(stamp));
    }
}
