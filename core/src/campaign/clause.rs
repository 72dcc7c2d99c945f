//! What a refusal says of a limit or a remedy. It may name further settings, which each language spells in its own way.

use alloc::string::String;
use core::fmt;

/// A limit or a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clause {
    /// Words and numbers that name no setting.
    Words(String),
    /// Words, and the names of settings between them.
    Parts(&'static [Part]),
}

/// A part of a [`Clause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Words(&'static str),
    /// The name of a setting, as Rust and a store's URL write it.
    Setting(&'static str),
}

impl Clause {
    /// The clause, with the names of settings as `spell` writes them.
    pub fn spelled(self, spell: impl Fn(&'static str) -> &'static str) -> String {
        let parts = match self {
            Self::Words(words) => return words,
            Self::Parts(parts) => parts,
        };
        let mut text = String::new();
        for part in parts {
            text.push_str(match *part {
                Part::Words(words) => words,
                Part::Setting(name) => spell(name),
            });
        }
        text
    }
}

impl From<&str> for Clause {
    fn from(words: &str) -> Self {
        Self::Words(words.into())
    }
}

impl From<String> for Clause {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Parts(parts) => parts.iter().try_for_each(|part| match part {
                Part::Words(text) | Part::Setting(text) => f.write_str(text),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_names_of_settings_are_spelled_and_the_words_are_not() {
        let clause = Clause::Parts(&[Part::Words("as drift_ppm: "), Part::Setting("drift_ppm")]);
        assert_eq!(clause.to_string(), "as drift_ppm: drift_ppm");
        assert_eq!(clause.spelled(|_| "driftPpm"), "as drift_ppm: driftPpm");
        assert_eq!(Clause::from("drift_ppm").spelled(|_| "driftPpm"), "drift_ppm");
    }
}
