//! The schema as the files write it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Every setting and refusal, in the order of the files.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Schema {
    /// The settings of a candidate.
    pub(super) candidate: Vec<Setting>,
    /// The settings of every store.
    pub(super) store: Vec<Setting>,
    /// The parameters of a store's URL.
    pub(super) parameter: Vec<Setting>,
    /// The settings with which a store is prepared.
    pub(super) init: Vec<Setting>,
    /// The refusals.
    pub(super) refusal: Vec<Refusal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    pub(super) meaning: String,
    pub(super) example: Option<String>,
    pub(super) default: Option<String>,
    pub(super) more: Option<String>,
    /// Further sentences for the help of the command line's option.
    pub(super) option: Option<String>,
    /// Another name of that option.
    pub(super) alias: Option<String>,
    /// True if an action is repeated after this time, so that the option needs a lower limit.
    #[serde(default)]
    pub(super) repeats: bool,
    /// The name in Rust, if it is another one.
    pub(super) rust: Option<String>,
    /// The only stores that have this setting; empty if all have it.
    #[serde(default)]
    pub(super) stores: Vec<Store>,
    /// The stores whose URLs can have it, if all stores have it.
    #[serde(default)]
    pub(super) urls: Vec<Store>,
    /// True if the command line takes this setting in a different way, or not at all.
    #[serde(default)]
    pub(super) is_no_option: bool,
    #[serde(default)]
    pub(super) by_hand: Vec<Language>,
}

/// A refusal, whose keys the head of `refusals.toml` explains.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Refusal {
    pub(super) code: String,
    /// The crate that refuses; by default the stores.
    pub(super) by: By,
    pub(super) when: String,
    pub(super) setting: String,
    pub(super) value: String,
    pub(super) limit: String,
    pub(super) remedy: String,
    pub(super) text: Option<String>,
    /// The store whose schema has this refusal, if only one has it.
    #[serde(skip)]
    pub(super) only_of: Option<Store>,
}

/// The crate or language that refuses.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    Core,
    Guest,
    #[default]
    Stores,
    Bindings,
    Cli,
    Node,
    Python,
    Kotlin,
    Swift,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Text,
    File,
    Flag,
    Whole,
    Size,
    Length,
    Lengths,
    Texts,
    Preset,
    WinDelay,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Store {
    Memory,
    Sqlite,
    Nats,
    Etcd,
    Kafka,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    Python,
    Node,
    Rust,
}

impl Store {
    pub(super) const ALL: [Self; 5] = [Self::Memory, Self::Sqlite, Self::Nats, Self::Etcd, Self::Kafka];

    /// The stores that have a folder, which is named like their feature.
    pub(super) const WITH_FOLDERS: [(Self, &'static str); 4] =
        [(Self::Sqlite, "sqlite"), (Self::Nats, "nats"), (Self::Etcd, "etcd"), (Self::Kafka, "kafka")];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "SQLite",
            Self::Nats => "NATS",
            Self::Etcd => "etcd",
            Self::Kafka => "Kafka",
        }
    }
}

impl Schema {
    /// Reads the schema that all stores share, and then each store's own.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let shared = root.join("bindings/schema");
        let mut whole = Self::of_file(&shared.join("settings.toml"))?;
        whole.refusal = Self::of_file(&shared.join("refusals.toml"))?.refusal;
        for (store, folder) in Store::WITH_FOLDERS {
            let own = Self::of_file(&root.join("stores").join(folder).join("schema.toml"))?;
            let of_store = |setting: Setting| Setting { stores: [store].into(), ..setting };
            whole.parameter.extend(own.parameter.into_iter().map(of_store));
            whole.init.extend(own.init.into_iter().map(of_store));
            let refusals = own.refusal.into_iter();
            whole.refusal.extend(refusals.map(|refusal| Refusal { only_of: Some(store), ..refusal }));
        }
        Ok(whole)
    }

    fn of_file(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", file.display()))
    }
}

impl Setting {
    /// The name as `drift-ppm`, with `back-off` in two words.
    pub(super) fn kebab(&self) -> String {
        if self.name == "backoff" { "back-off".into() } else { self.name.replace('_', "-") }
    }

    /// The name in Rust.
    pub(super) fn rust(&self) -> &str {
        self.rust.as_deref().unwrap_or(&self.name)
    }

    /// The name as `driftPpm`.
    pub(super) fn camel(&self) -> String {
        camel(&self.name)
    }

    /// Returns the stores that have the setting, followed by a colon, or nothing if all have it.
    pub(super) fn of_stores(&self) -> String {
        let names: Vec<_> = self.stores.iter().map(|store| store.name()).collect();
        match names.split_last() {
            None => String::new(),
            Some((last, [])) => format!("{last}: "),
            Some((last, before)) => format!("{} and {last}: ", before.join(", ")),
        }
    }

    /// Its description, in sentences.
    pub(super) fn text(&self) -> String {
        self.text_after(&self.of_stores())
    }

    /// Its description for a reader who knows which store has it.
    pub(super) fn own_text(&self) -> String {
        self.text_after("")
    }

    /// Its meaning after the stores that have it.
    pub(super) fn meaning_after(&self, stores: &str) -> String {
        let mut meaning = self.meaning.clone();
        // An acronym stays in upper case after the name of a store.
        let is_word = meaning.chars().nth(1).is_some_and(|second| second.is_lowercase() || second == ' ');
        if !stores.is_empty() && is_word {
            meaning = meaning[..1].to_lowercase() + &meaning[1..];
        }
        stores.to_owned() + &meaning
    }

    fn text_after(&self, stores: &str) -> String {
        let mut text = self.meaning_after(stores);
        if let Some(default) = &self.default {
            text += &format!("; by default {default}");
        }
        text.push('.');
        if let Some(more) = &self.more {
            text += &format!(" {more}");
        }
        text
    }
}

/// The name as `driftPpm`.
pub(super) fn camel(name: &str) -> String {
    let mut camel = String::new();
    for (place, word) in name.split('_').enumerate() {
        match word.split_at_checked(1) {
            Some((first, rest)) if place > 0 => camel.extend([&first.to_uppercase(), rest]),
            _ => camel.push_str(word),
        }
    }
    camel
}

/// The text in lines of at most `width` characters, broken at spaces.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // Non-breaking spaces keep a number and its unit on one line.
    let text = text.replace(" s ", "\u{a0}s ").replace(" s.", "\u{a0}s.").replace(" s,", "\u{a0}s,");
    let text = text.replace(" s;", "\u{a0}s;").replace(" ms", "\u{a0}ms").replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}
