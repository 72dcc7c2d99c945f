//! Texts that select an election: its key, and its place in a store (a path, a prefix, a topic, a domain).
//!
//! Candidates with different texts are in different elections, each with its own leader. So two texts that look the
//! same to a person must not select two elections. A text that differs from another only by invisible characters is
//! refused. A pair of quotes, which some tools strip and others keep, draws a warning.

use alloc::string::{String, ToString};

use crate::campaign::InvalidSettings;
use crate::refusals;

/// Refuses a text with a control character or a line separator anywhere, or with white space or another invisible
/// character at either end. `setting` names the text in the error.
///
/// # Errors
/// Returns the text, escaped, and a remedy.
pub fn check(setting: &'static str, text: &str) -> Result<(), InvalidSettings> {
    unseen(text).map_or(Ok(()), |unseen| Err(refusals::unseen(setting, text, &remedy(unseen))))
}

/// The advice for a character that [`unseen`] found.
pub fn remedy(unseen: char) -> String {
    refusals::unseen_advice(unseen).to_string()
}

/// The first character that is forbidden in a text that selects an election. Control characters and line separators are
/// forbidden anywhere, white space and invisible characters at either end.
pub fn unseen(text: &str) -> Option<char> {
    let at_either_end = [text.chars().next(), text.chars().next_back()];
    let inside = text.chars().find(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    inside.or_else(|| at_either_end.into_iter().flatten().find(|c| is_blank(*c)))
}

/// The text inside a pair of quotes, if the whole text is enclosed in one.
pub fn unquoted(text: &str) -> Option<&str> {
    let within = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    within('"', '"').or_else(|| within('\'', '\'')).or_else(|| within('“', '”')).or_else(|| within('‘', '’'))
}

/// Whether the character is white space or has no width: a byte order mark, a soft hyphen, a joiner or a direction
/// mark.
fn is_blank(c: char) -> bool {
    let has_no_width = matches!(
        c,
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    c.is_whitespace() || has_no_width
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn ordinary_texts_select_an_election() {
        for text in ["jobs", "a b", "größe", "a/b.c", "שלום", "a\u{200c}b", "it's", "\"", ""] {
            assert_eq!(check("key", text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn invisible_characters_are_refused_by_name() {
        for (text, found) in [
            ("jobs\n", '\n'),
            ("jobs\r\n", '\r'),
            ("\tjobs", '\t'),
            (" jobs", ' '),
            ("jobs ", ' '),
            ("jobs\u{a0}", '\u{a0}'),
            ("jo\nbs", '\n'),
            ("jo\u{2028}bs", '\u{2028}'),
            ("jobs\0", '\0'),
            ("\u{feff}jobs", '\u{feff}'),
            ("jobs\u{200b}", '\u{200b}'),
            (" ", ' '),
        ] {
            assert_eq!(unseen(text), Some(found), "{text:?}");
        }
    }

    #[test]
    fn the_error_shows_the_text_escaped_and_says_what_to_do() {
        assert_eq!(
            check("key", "mailer\n").unwrap_err().to_string(),
            "key is \"mailer\\n\", and must be free of control characters and of surrounding white space: leave \
             out the '\\n': with it the text selects a different election, which has its own leader; `echo` adds a \
             line end to a file or a Secret, `printf %s` does not"
        );
    }

    #[test]
    fn only_a_pair_of_quotes_around_a_text_is_one() {
        for (text, within) in [("\"a\"", "a"), ("'a'", "a"), ("“a”", "a"), ("‘a’", "a"), ("\"\"", "")]
        {
            assert_eq!(unquoted(text), Some(within), "{text}");
        }
        for text in ["a", "", "\"", "\"a", "a\"", "\"a'", "a\"b\"", "'"] {
            assert_eq!(unquoted(text), None, "{text}");
        }
    }
}
