//! Texts that a person would call the same: they open the same election, or one of them is refused or warned about.

use incumbent::Clock;
use incumbent::store::{Adapter, Memory, MemorySettings, StoreSettings};
use incumbent_core::selector;

/// Invisible endings of a text, raw and percent-encoded.
const UNSEEN: [&str; 14] = [
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{a0}",
    "\u{feff}",
    "\u{200b}",
    "%0A",
    "%0D%0A",
    "%20",
    "%00",
    "%C2%A0",
    "%EF%BB%BF",
];
/// Quotes that a tool may keep, raw and percent-encoded.
const QUOTES: [&str; 4] = ["\"", "'", "%22", "%27"];

/// The fuzz target: a text, tried as a store's URL and as an election's key, in every disguise.
///
/// # Panics
/// If a disguise silently selects another election.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    url(text);
    key(text);
}

/// The texts that select an election, if the URL is accepted without a warning.
fn selected(url: &str) -> Option<Vec<(&'static str, String)>> {
    let settings = url.parse::<StoreSettings>().ok()?;
    let texts: Vec<_> =
        settings.selectors().into_iter().map(|(setting, text)| (setting, text.into_owned())).collect();
    (!texts.iter().any(|(_, text)| selector::unquoted(text).is_some())).then_some(texts)
}

fn url(text: &str) {
    let Some(plain) = selected(text) else { return };
    for part in parts(text) {
        let (before, rest) = text.split_at(part.start);
        let (within, after) = rest.split_at(part.end - part.start);
        let unseen = UNSEEN.iter().flat_map(|unseen| {
            [format!("{before}{unseen}{within}{after}"), format!("{before}{within}{unseen}{after}")]
        });
        let quoted = QUOTES.iter().map(|quote| format!("{before}{quote}{within}{quote}{after}"));
        for disguised in unseen.chain(quoted) {
            if let Some(other) = selected(&disguised) {
                assert_eq!(plain, other, "{text:?} and {disguised:?} silently select two elections");
            }
        }
    }
}

/// The whole of a URL, the part after its scheme, each part of its path (of a file's path only the last, because
/// folders have their own names), and the value of each parameter.
fn parts(text: &str) -> Vec<std::ops::Range<usize>> {
    let scheme = text.find(':').map_or(0, |at| at + 1);
    let place = text.find('?').unwrap_or(text.len());
    let mut parts = vec![0..text.len(), scheme..place.max(scheme)];
    if text.starts_with("sqlite:") {
        let file = text[scheme..place.max(scheme)].rfind('/').map_or(scheme, |slash| scheme + slash + 1);
        parts.push(file..place.max(file));
    }
    // The path begins with the first slash after the hosts.
    let hosts = Some(text).filter(|text| !text.starts_with("sqlite:"));
    let hosts = hosts.and_then(|_| text[scheme..place.max(scheme)].strip_prefix("//"));
    let hosts = hosts.map(|hosts| place - hosts.len());
    if let Some(slash) = hosts.and_then(|hosts| Some(hosts + text[hosts..place].find('/')?)) {
        parts.push(slash + 1..place);
        let mut start = slash + 1;
        for part in text[start..place].split('/') {
            parts.push(start..start + part.len());
            start += part.len() + 1;
        }
    }
    let mut start = place + 1;
    for pair in text.get(start..).unwrap_or_default().split('&') {
        if let Some(equals) = pair.find('=') {
            parts.push(start + equals + 1..start + pair.len());
        }
        start += pair.len() + 1;
    }
    parts
}

fn key(text: &str) {
    // A store that accepts any text as an election's key.
    let store = Memory::open(&MemorySettings::private(), &Clock::system()).expect("a store without a name");
    let is_silent = |key: &str| store.check_key(key).is_ok() && selector::unquoted(key).is_none();
    if !is_silent(text) {
        return;
    }
    let unseen = UNSEEN.iter().filter(|unseen| !unseen.starts_with('%'));
    let unseen = unseen.flat_map(|unseen| [format!("{unseen}{text}"), format!("{text}{unseen}")]);
    let quoted = QUOTES.iter().filter(|quote| quote.len() == 1).map(|quote| format!("{quote}{text}{quote}"));
    for disguised in unseen.chain(quoted) {
        assert!(!is_silent(&disguised), "{text:?} and {disguised:?} are silently two elections");
    }
}
