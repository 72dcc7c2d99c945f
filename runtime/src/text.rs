//! Texts that name settings. Each language spells the names in its own way, so they are kept apart from the words.

use std::fmt;

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::campaign::clause::{self, Clause};

/// A text that may name settings.
///
/// The names are apart from the words, so that a language can write its own: nothing else in the text is changed, whatever a
/// caller's values contain.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Text {
    words: String,
    /// The names of settings, each with its place among the words.
    names: Vec<(usize, &'static str)>,
}

/// A part of a [`Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words, numbers and a caller's values.
    Words(&'a str),
    /// The name of a setting, as Rust and a store's URL write it.
    Setting(&'static str),
}

impl Text {
    /// The name of a setting.
    pub fn setting(name: &'static str) -> Self {
        Self { words: String::new(), names: [(0, name)].into() }
    }

    /// A refusal, with `value` in the place of what was read.
    pub fn refusal(refusal: &InvalidSettings, value: &str) -> Self {
        let InvalidSettings { setting, limit, remedy, .. } = refusal;
        let is = Self::setting(setting).and(" is ").and(value).and(", and must be ");
        is.and(limit).and(": ").and(remedy)
    }

    /// Fills a template: `{lease}` is the setting of that name, and `{}` the next one of `values`, whose text is never
    /// read as a template.
    pub fn fill(template: &'static str, values: &[&dyn ToString]) -> Self {
        let mut text = Self::default();
        let mut values = values.iter();
        let mut parts = template.split('{');
        text.words.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (name, words) = part.split_once('}').unwrap_or(("", part));
            match name {
                "" => text.words.push_str(&values.next().map(|value| value.to_string()).unwrap_or_default()),
                name => text.names.push((text.words.len(), name)),
            }
            text.words.push_str(words);
        }
        text
    }

    /// The same text, followed by another.
    #[must_use]
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let length = self.words.len();
        self.words.push_str(&other.words);
        self.names.extend(other.names.into_iter().map(|(place, name)| (length + place, name)));
        self
    }

    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let ends = self.names.iter().map(|&(place, name)| (place, Some(name)));
        let mut from = 0;
        ends.chain([(self.words.len(), None)]).flat_map(move |(end, name)| {
            let words = self.words.get(from..end).unwrap_or_default();
            from = end;
            [Some(words).filter(|words| !words.is_empty()).map(Part::Words), name.map(Part::Setting)]
                .into_iter()
                .flatten()
        })
    }

    /// The text, with the names of settings as `spell` writes them.
    pub fn spelled<N: AsRef<str>>(&self, spell: impl Fn(&'static str) -> N) -> String {
        let mut text = self.words.clone();
        // From the last, so that the places of those before it stay as they are.
        for &(place, name) in self.names.iter().rev() {
            text.insert_str(place, spell(name).as_ref());
        }
        text
    }
}

impl From<&Clause> for Text {
    fn from(clause: &Clause) -> Self {
        let parts = match clause {
            Clause::Words(words) => return words.as_str().into(),
            Clause::Parts(parts) => parts.iter(),
        };
        parts.fold(Self::default(), |text, part| match *part {
            clause::Part::Words(words) => text.and(words),
            clause::Part::Setting(name) => text.and(Self::setting(name)),
        })
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        String::from(words).into()
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self { words, names: Vec::new() }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(|name| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camel(name: &str) -> String {
        name.replace("win_delay", "winDelay")
    }

    #[test]
    fn the_names_in_a_template_are_spelled_and_the_values_are_not() {
        let text =
            Text::fill("{win_delay} is {}, under {}: raise {win_delay}", &[&"a win_delay {lease}", &3]);
        assert_eq!(text.to_string(), "win_delay is a win_delay {lease}, under 3: raise win_delay");
        assert_eq!(text.spelled(camel), "winDelay is a win_delay {lease}, under 3: raise winDelay");
    }

    #[test]
    fn a_text_that_follows_another_keeps_its_names() {
        let text = Text::setting("win_delay").and(" of win_delay: ").and(Text::fill("see {win_delay}", &[]));
        assert_eq!(text.spelled(camel), "winDelay of win_delay: see winDelay");
        assert_eq!(
            text.parts().collect::<Vec<_>>(),
            [Part::Setting("win_delay"), Part::Words(" of win_delay: see "), Part::Setting("win_delay")]
        );
    }

    #[test]
    fn words_alone_have_no_names() {
        let text = Text::from("win_delay {lease}");
        assert_eq!(
            (text.spelled(camel), text.to_string()),
            ("win_delay {lease}".into(), "win_delay {lease}".into())
        );
        assert_eq!(Text::default().parts().count(), 0);
    }
}
