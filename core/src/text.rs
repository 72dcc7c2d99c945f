//! Texts that name settings, or the call that prepares a store. Each language writes these differently, so they are kept
//! apart from the words.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// A text that may name settings, and the call that prepares a store.
///
/// The names are kept apart from the words, so that each language can write its own. Nothing else in the text changes,
/// even if a caller's value looks like the name of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Text {
    words: String,
    /// The names, each with its position in the words. They are boxed to keep errors small.
    names: Box<[(usize, Name)]>,
}

/// What each language writes in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Setting(&'static str),
    Init(&'static [&'static str]),
}

/// A part of a [`Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words, numbers and a caller's values.
    Words(&'a str),
    /// The name of a setting, as Rust and a store's URL write it.
    Setting(&'static str),
    /// The call that prepares a store, with these settings.
    Init(&'static [&'static str]),
}

impl Text {
    /// The name of a setting.
    pub fn setting(name: &'static str) -> Self {
        Self { words: String::new(), names: Box::new([(0, Name::Setting(name))]) }
    }

    /// The call or the command that prepares a store, for a remedy. `with` are the settings that it needs: flags of the
    /// preparation, which the call sets, and `election`, for which the reader writes the election's key.
    pub fn init(with: &'static [&'static str]) -> Self {
        Self { words: String::new(), names: Box::new([(0, Name::Init(with))]) }
    }

    /// This text, followed by another.
    #[must_use]
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let length = self.words.len();
        self.words.push_str(&other.words);
        let names = other.names.iter().map(|&(place, name)| (length + place, name));
        self.names = self.names.iter().copied().chain(names).collect();
        self
    }

    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let ends = self.names.iter().map(|&(place, name)| (place, Some(name)));
        let mut from = 0;
        ends.chain([(self.words.len(), None)]).flat_map(move |(end, name)| {
            let words = self.words.get(from..end).unwrap_or_default();
            from = end;
            let name = name.map(|name| match name {
                Name::Setting(name) => Part::Setting(name),
                Name::Init(with) => Part::Init(with),
            });
            [Some(words).filter(|words| !words.is_empty()).map(Part::Words), name].into_iter().flatten()
        })
    }

    /// The text, with its names in the spelling of a language.
    pub fn spelled(&self, names: Names) -> String {
        let mut text = self.words.clone();
        // The names are inserted from the last one, so that earlier positions stay valid.
        for &(place, name) in self.names.iter().rev() {
            match name {
                Name::Setting(name) => text.insert_str(place, &names.spell(name)),
                Name::Init(with) => text.insert_str(place, &names.init(with)),
            }
        }
        text
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        String::from(words).into()
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self { words, names: Box::default() }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(Names::Rust))
    }
}

/// The form in which a language spells the names of settings, and writes the call that prepares a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `win_delay`, as in the URL of a store.
    Rust,
    /// `win_delay`.
    Python,
    /// `winDelay`.
    Node,
    /// `winDelay`, also for Java. URL parameters keep the names that they have in the URL.
    Kotlin,
    /// `winDelay`. URL parameters keep the names that they have in the URL.
    Swift,
    /// `win-delay`: the components' interfaces.
    Components,
    /// `--win-delay`. URL parameters keep the names that they have in the URL.
    CommandLine,
}

impl Names {
    /// The name of a setting in this form.
    pub fn spell(self, name: &'static str) -> Cow<'static, str> {
        match self {
            Self::Rust | Self::Python => name.into(),
            Self::Kotlin | Self::Swift if name == "watch_loop" => "watchLimit".into(),
            Self::Kotlin | Self::Swift if PARAMETERS.contains(&name) => name.into(),
            Self::Node | Self::Kotlin | Self::Swift => camel(name),
            Self::Components if name == "backoff" => "back-off".into(),
            Self::Components => name.replace('_', "-").into(),
            Self::CommandLine if OPTIONS.contains(&name) => {
                let mut option = String::from("--");
                option.extend(name.chars().map(|c| if c == '_' { '-' } else { c }));
                option.into()
            }
            Self::CommandLine => name.into(),
        }
    }

    /// The call or the command that prepares a store, in this form. A component cannot prepare one, so its host's
    /// operator reads of the command.
    fn init(self, with: &[&'static str]) -> String {
        let is_command = matches!(self, Self::CommandLine | Self::Components);
        // The call without settings, what begins the settings, separates them, sets one, gives the key and ends them.
        let [call, begins, separates, sets, key, ends, end] = match self {
            Self::Rust => {
                ["StoreSettings::init", "` with `InitOptions::new().", ".", "(true)", "(key)", "", ""]
            }
            Self::Python => ["incumbent.init(url", ", ", ", ", "=True", "=key", "", ")"],
            Self::Node => ["init(url", ", { ", ", ", ": true", ": key", " }", ")"],
            Self::Kotlin => ["init(url)", " { ", "; ", " = true", " = key", " }", ""],
            Self::Swift => ["prepareStore(url", ", .init(", ", ", ": true", ": key", ")", ")"],
            Self::Components | Self::CommandLine => ["incumbent init", " ", " ", "", "", "", ""],
        };
        let mut text = String::from("`");
        text.push_str(call);
        for (at, &name) in with.iter().enumerate() {
            text.push_str(if at == 0 { begins } else { separates });
            text.push_str(&match name {
                "election" if is_command => "KEY".into(),
                "new" if self == Self::Rust => "never_used".into(),
                name if is_command => Self::CommandLine.spell(name),
                name => self.spell(name),
            });
            text.push_str(if name == "election" { key } else { sets });
        }
        if !with.is_empty() {
            text.push_str(ends);
        }
        text.push_str(end);
        text.push('`');
        text
    }
}

fn camel(name: &'static str) -> Cow<'static, str> {
    let mut words = name.split('_');
    let mut spelled = Cow::from(words.next().unwrap_or_default());
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        spelled.to_mut().push_str(&first.to_ascii_uppercase());
        spelled.to_mut().push_str(rest);
    }
    spelled
}

// generated: names
/// The parameters of a store's URL.
#[rustfmt::skip]
const PARAMETERS: [&str; 24] = [
    "api_prefix",
    "connect_timeout",
    "context",
    "create",
    "creds",
    "discover",
    "domain",
    "fuse",
    "goneli",
    "inbox_prefix",
    "instance_id",
    "markers",
    "nkey",
    "ping_interval",
    "poll",
    "protocol",
    "sasl",
    "session",
    "tls_ca",
    "tls_cert",
    "tls_first",
    "tls_key",
    "token",
    "topic",
];
/// The options of the command line.
#[rustfmt::skip]
const OPTIONS: [&str; 19] = [
    "backoff",
    "drain",
    "drift_ppm",
    "fail_fast",
    "interval",
    "lease",
    "markers",
    "max_bytes",
    "metadata",
    "name",
    "new",
    "own_leases",
    "preset",
    "replicas",
    "skew",
    "slack",
    "splay",
    "update",
    "win_delay",
];
// end of names

/// Writes a number as sixteen hexadecimal digits, at once: a width in a format pads with one zero at a time.
pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, number: u64) -> fmt::Result {
    let mut digits = [b'0'; 16];
    let mut left = number;
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(left % 16) as usize];
        left /= 16;
    }
    // Digits are UTF-8.
    f.write_str(core::str::from_utf8(&digits).unwrap_or_default())
}

/// Writes a number with at least so many digits, at once.
pub(crate) fn write_decimal(f: &mut fmt::Formatter<'_>, number: u64, width: usize) -> fmt::Result {
    let mut digits = [b'0'; 20];
    let (mut left, mut first) = (number, digits.len());
    while left > 0 {
        first -= 1;
        digits[first] += (left % 10) as u8;
        left /= 10;
    }
    let shown = digits.get(first.min(digits.len() - width)..).unwrap_or_default();
    // Digits are UTF-8.
    f.write_str(core::str::from_utf8(shown).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn the_names_in_a_text_are_spelled_and_the_words_are_not() {
        let text = Text::setting("win_delay").and(" is a win_delay: raise ").and(Text::setting("drift_ppm"));
        assert_eq!(text.to_string(), "win_delay is a win_delay: raise drift_ppm");
        for (names, spelled) in [
            (Names::Rust, "win_delay is a win_delay: raise drift_ppm"),
            (Names::Node, "winDelay is a win_delay: raise driftPpm"),
            (Names::Kotlin, "winDelay is a win_delay: raise driftPpm"),
            (Names::Components, "win-delay is a win_delay: raise drift-ppm"),
            (Names::CommandLine, "--win-delay is a win_delay: raise --drift-ppm"),
        ] {
            assert_eq!(text.spelled(names), spelled);
        }
    }

    #[test]
    fn a_parameter_of_a_url_is_spelled_as_it_is_there_where_it_comes_in_the_url() {
        let spelled = [Names::Node, Names::Kotlin, Names::CommandLine].map(|names| names.spell("tls_ca"));
        assert_eq!(spelled, ["tlsCa", "tls_ca", "tls_ca"]);
    }

    #[test]
    fn what_a_language_calls_otherwise_has_its_name_there() {
        assert_eq!(Names::Kotlin.spell("watch_loop"), "watchLimit");
        assert_eq!(Names::Components.spell("backoff"), "back-off");
    }

    #[test]
    fn the_call_that_prepares_a_store_is_written_as_the_language_writes_it() {
        let texts = [&[][..], &["new"], &["own_leases", "update"], &["election"]].map(Text::init);
        for (names, spelled) in [
            (
                Names::Rust,
                [
                    "`StoreSettings::init`",
                    "`StoreSettings::init` with `InitOptions::new().never_used(true)`",
                    "`StoreSettings::init` with `InitOptions::new().own_leases(true).update(true)`",
                    "`StoreSettings::init` with `InitOptions::new().election(key)`",
                ],
            ),
            (
                Names::Python,
                [
                    "`incumbent.init(url)`",
                    "`incumbent.init(url, new=True)`",
                    "`incumbent.init(url, own_leases=True, update=True)`",
                    "`incumbent.init(url, election=key)`",
                ],
            ),
            (
                Names::Node,
                [
                    "`init(url)`",
                    "`init(url, { new: true })`",
                    "`init(url, { ownLeases: true, update: true })`",
                    "`init(url, { election: key })`",
                ],
            ),
            (
                Names::Kotlin,
                [
                    "`init(url)`",
                    "`init(url) { new = true }`",
                    "`init(url) { ownLeases = true; update = true }`",
                    "`init(url) { election = key }`",
                ],
            ),
            (
                Names::Swift,
                [
                    "`prepareStore(url)`",
                    "`prepareStore(url, .init(new: true))`",
                    "`prepareStore(url, .init(ownLeases: true, update: true))`",
                    "`prepareStore(url, .init(election: key))`",
                ],
            ),
            (
                Names::CommandLine,
                [
                    "`incumbent init`",
                    "`incumbent init --new`",
                    "`incumbent init --own-leases --update`",
                    "`incumbent init KEY`",
                ],
            ),
        ] {
            assert_eq!(texts.each_ref().map(|text| text.spelled(names)), spelled);
        }
        assert_eq!(Text::init(&["new"]).spelled(Names::Components), "`incumbent init --new`");
        assert_eq!(Text::init(&["new"]).parts().collect::<Vec<_>>(), [Part::Init(&["new"])]);
    }

    #[test]
    fn a_text_that_follows_another_keeps_its_names() {
        let text = Text::setting("win_delay").and(" of win_delay: ");
        let text = text.and(Text::from("see ").and(Text::setting("win_delay")));
        assert_eq!(text.spelled(Names::Node), "winDelay of win_delay: see winDelay");
        assert_eq!(
            text.parts().collect::<Vec<_>>(),
            [Part::Setting("win_delay"), Part::Words(" of win_delay: see "), Part::Setting("win_delay")]
        );
    }

    #[test]
    fn words_alone_have_no_names() {
        let text = Text::from("win_delay {lease}");
        assert_eq!(text.spelled(Names::Node), "win_delay {lease}");
        assert_eq!(Text::default().parts().count(), 0);
    }
}
