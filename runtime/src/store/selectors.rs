//! Warnings about the texts of a store's settings that select its elections.

use incumbent_core::selector;

use super::url::StoreSettings;
use incumbent_core::campaign::Warning;

impl StoreSettings {
    /// Returns the warnings about this store's settings, for its candidates.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let quoted = self.selectors().into_iter().filter(|(_, text)| selector::unquoted(text).is_some());
        quoted.map(|(setting, text)| Warning::Quoted { setting: setting.into(), text: text.into() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use incumbent_store::{Error, ErrorKind};

    use super::*;

    fn refused(url: &str) -> Error {
        url.parse::<StoreSettings>().unwrap_err()
    }

    #[test]
    fn a_url_that_ends_in_a_line_end_is_refused_with_the_remedy_and_without_its_text() {
        for url in [
            "memory:n\n",
            "sqlite:e.db\r\n",
            "nats://u:hunter2@h/B\n",
            "etcd://u:hunter2@h/app\n",
            "kafka://h/app\n",
        ] {
            let error = refused(url);
            let unseen = url.trim_start_matches(|c: char| !c.is_control()).chars().next().unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{url:?}");
            assert_eq!(
                error.message(),
                format!(
                    "the store's URL {} the character {unseen:?}: leave out the {unseen:?}: with it the text \
                     selects a different election, which has its own leader; `echo` adds a line end to a file or a \
                     Secret, `printf %s` does not",
                    if unseen == '\r' { "has" } else { "ends in" }
                )
            );
        }
    }

    #[test]
    fn white_space_around_a_url_is_refused() {
        for (url, place) in [
            ("memory:n ", "ends in the character ' '"),
            (" memory:n", "begins with the character ' '"),
            ("memory:n\t", "ends in the character '\\t'"),
            ("\u{feff}memory:n", "begins with the character '\\u{feff}'"),
            ("memory:a\nb", "has the character '\\n'"),
        ] {
            assert!(refused(url).message().starts_with(&format!("the store's URL {place}:")), "{url:?}");
        }
    }

    #[test]
    fn a_url_in_quotes_is_refused_with_the_remedy() {
        for url in ["\"memory:n\"", "'sqlite:e.db'", "\"nats://u:hunter2@h/B\""] {
            assert_eq!(
                refused(url).message(),
                "the store's URL is in quotes, which were kept as a part of it; remove them (`docker --env-file` keeps \
                 quotes)"
            );
        }
    }

    #[test]
    fn a_name_whose_percent_encoding_hides_a_control_character_or_white_space_is_refused() {
        for (url, part) in [
            ("memory:n%0A", "the name in memory:NAME is \"n\\n\", and must be free of control characters"),
            ("memory:%20n?markers=true", "the name in memory:NAME is \" n\""),
            #[cfg(feature = "sqlite")]
            ("sqlite:e.db%0A", "path is \"e.db\\n\""),
            #[cfg(feature = "sqlite")]
            ("sqlite:///var/e.db%20?create=false", "path is \"/var/e.db \""),
            #[cfg(feature = "sqlite")]
            ("sqlite:/var/%20e.db", "file is \" e.db\""),
            #[cfg(feature = "etcd")]
            ("etcd://h/app%0A", "prefix is \"app\\n\""),
            #[cfg(feature = "etcd")]
            ("etcd://h/app%20/", "prefix is \"app \""),
            #[cfg(feature = "etcd")]
            ("etcd://h/app%20/x", "prefix is \"app \""),
            #[cfg(feature = "nats")]
            ("nats://h/B?api_prefix=JS%00", "api_prefix is \"JS\\0\""),
            #[cfg(feature = "nats")]
            ("nats://h/B?domain=hub%7F", "domain is \"hub\\u{7f}\""),
            #[cfg(feature = "nats")]
            ("nats:///B?context=prod%0A", "context is \"prod\\n\""),
            #[cfg(feature = "kafka")]
            ("kafka://h/app%0A", "prefix is \"app\\n\""),
            #[cfg(feature = "kafka")]
            ("kafka://h/app?topic=%7Bgroup%7D.x%20", "topic is \"{group}.x \""),
        ] {
            let error = refused(url);
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{url}");
            assert!(error.message().starts_with(part), "{url}: {error}");
        }
    }

    #[test]
    fn quotes_around_a_part_that_selects_an_election_are_a_warning_for_every_candidate() {
        let quoted =
            |setting: &str, text: &str| Warning::Quoted { setting: setting.into(), text: text.into() };
        for (url, warnings) in [
            ("memory:n", vec![]),
            ("memory:%22n%22", vec![quoted("the name in memory:NAME", "\"n\"")]),
            #[cfg(feature = "sqlite")]
            ("sqlite:'e.db'", vec![quoted("path", "'e.db'")]),
            #[cfg(feature = "etcd")]
            ("etcd://h/'a/b'", vec![quoted("prefix", "'a/b'")]),
            #[cfg(feature = "etcd")]
            ("etcd://h/a/'b'/", vec![quoted("prefix", "'b'")]),
            #[cfg(feature = "nats")]
            ("nats://h/B?domain='hub'", vec![quoted("domain", "'hub'")]),
        ] {
            assert_eq!(url.parse::<StoreSettings>().unwrap().warnings(), warnings, "{url}");
        }
    }
}
