//! The text of every refusal of a setting, in every language.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

use std::fmt::Write as _;
use std::time::Duration;

use incumbent::incumbent_core::campaign::{
    Forecast, Identity, InvalidSettings, Preset, Settings, WinDelay, draw,
};
use incumbent::incumbent_core::induction::{self, Group, Protocol, check_member_name};
use incumbent::incumbent_core::queue::{Server, check_priority};
use incumbent::incumbent_core::record::Nonce;
use incumbent::incumbent_core::store::{Capabilities, StoreInfo};
use incumbent::incumbent_core::{Incarnation, Instant, selector};
use incumbent::text::{self, Names};
use incumbent::{Error as StoreError, ErrorKind};
use incumbent_ffi::settings::{Dialect, Map, Unit, Value, campaign, init, loop_watch, opening};
use incumbent_ffi::{Error, Operation, Store};

// Refusals that only a server, a component's host or goNELI's settings can cause.
#[rustfmt::skip]
#[path = "../../wasm-guest/src/campaigner/refusals.rs"]
mod guest;
#[rustfmt::skip]
#[allow(dead_code, reason = "the rest is caused")]
#[path = "../../../stores/nats/src/refusals.rs"]
mod nats;
#[rustfmt::skip]
#[allow(dead_code, reason = "the rest is caused")]
#[path = "../../../stores/etcd/src/refusals.rs"]
mod etcd;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "the rest is caused, and incumbent-neli has its own")]
#[path = "../../../stores/kafka/src/refusals.rs"]
mod kafka;

/// How a language hands over settings, and spells their names.
#[derive(Clone, Copy)]
struct Language {
    name: &'static str,
    dialect: Dialect,
    names: Names,
    /// Its values have types, and parameters of a URL are written in the URL.
    is_typed: bool,
}

const fn bound(name: &'static str, dialect: Dialect) -> Language {
    Language { name, dialect, names: dialect.names, is_typed: false }
}

const fn typed(name: &'static str, names: Names) -> Language {
    Language { name, dialect: Dialect::PYTHON, names, is_typed: true }
}

const LANGUAGES: [Language; 7] = [
    typed("Rust", Names::Rust),
    typed("command line", Names::CommandLine),
    bound("Python", Dialect::PYTHON),
    bound("Node", Dialect::NODE),
    bound("Kotlin, Java", Dialect::KOTLIN),
    bound("Swift", Dialect::SWIFT),
    typed("components", Names::Components),
];

/// The languages that have a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In languages whose values come without types.
    Bindings,
    /// In all languages except the components, which have no such store.
    Stores,
    Everywhere,
    Components,
    /// In goNELI's settings, which only Rust has.
    Rust,
}

impl Where {
    fn has(self, language: &Language) -> bool {
        match self {
            Self::Bindings => !language.is_typed,
            Self::Stores => language.names != Names::Components,
            Self::Everywhere => true,
            Self::Components => language.names == Names::Components,
            Self::Rust => language.name == "Rust",
        }
    }
}

/// Compares the texts with those on record; `INCUMBENT_RECORD=1` records them, in a build with all stores.
#[test]
fn the_text_of_every_refusal_is_the_one_on_record() {
    let mut texts = Vec::new();
    for (title, place, refusal) in refusals() {
        let mut said: Vec<(Vec<&str>, String)> = Vec::new();
        for language in LANGUAGES.iter().filter(|language| place.has(language)) {
            let text = refusal(*language).text.spelled(language.names);
            match said.iter_mut().find(|(_, other)| *other == text) {
                Some((names, _)) => names.push(language.name),
                None => said.push((vec![language.name], text)),
            }
        }
        let mut section = format!("## {title}\n");
        for (names, text) in &said {
            let names = match said.len() {
                1 if !matches!(place, Where::Components | Where::Rust) => "all".into(),
                _ => names.join(", "),
            };
            writeln!(section, "{names}: {text}").unwrap();
        }
        texts.push(section);
    }
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refusals.txt");
    let head = "# Every refusal of a setting, in every language: see refusals.rs.\n";
    const OWN: &str = "\n# What a language refuses by itself";
    let recorded = std::fs::read_to_string(place).unwrap();
    let (recorded, own) = recorded.split_once(OWN).unwrap();
    let mut recorded = recorded.to_owned();
    if std::env::var_os("INCUMBENT_RECORD").is_some() && cfg!(feature = "kafka") {
        recorded = format!("{head}\n{}", texts.join("\n"));
        std::fs::write(place, format!("{recorded}{OWN}{own}")).unwrap();
    }
    let recorded: Vec<_> = recorded.split("\n## ").skip(1).map(|section| section.trim_end()).collect();
    let mut recorded = recorded.iter().peekable();
    for text in &texts {
        let text = text.trim_start_matches("## ").trim_end();
        // Without Kafka, its refusals are left out.
        while !cfg!(feature = "kafka") && recorded.next_if(|section| section.starts_with("Kafka: ")).is_some()
        {
        }
        assert_eq!(Some(&text), recorded.next(), "INCUMBENT_RECORD=1 records the texts again");
    }
    while !cfg!(feature = "kafka") && recorded.next_if(|section| section.starts_with("Kafka: ")).is_some() {}
    assert_eq!(None, recorded.next(), "INCUMBENT_RECORD=1 records the texts again");
}

/// A caller's values are not taken for names of settings.
#[test]
fn a_callers_text_is_shown_as_it_was_written() {
    let node = Dialect::NODE;
    let metadata = |key: &str| Value::Map(vec![(key.to_owned(), text("x"))]);
    for (given, shown) in [
        (vec![("metadata", metadata("drain mode")), ("drainTime", Value::Number(1000.0))], "\"drain mode\""),
        (vec![("metadata", metadata("drift_ppm"))], "\"drift_ppm\""),
        (vec![("preset", text("win_delay"))], "\"win_delay\""),
    ] {
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let message = campaigning(given, bound("Node", node)).message(node);
        assert!(message.contains(&format!(" is {shown}, and must be ")), "{message}");
    }
    for dialect in [Dialect::PYTHON, Dialect::KOTLIN, Dialect::SWIFT] {
        let given = vec![("metadata".to_owned(), metadata("watch_loop fail_fast"))];
        let message = campaigning(given, bound("", dialect)).message(dialect);
        assert!(message.starts_with("metadata key is \"watch_loop fail_fast\", and must be "), "{message}");
    }
}

type Refusal = Box<dyn Fn(Language) -> Error>;
type CoreRefusal = (&'static str, fn() -> InvalidSettings);
type OtherRefusal = (&'static str, Where, ErrorKind, fn() -> text::Text);

#[allow(clippy::too_many_lines, reason = "a table")]
fn refusals() -> Vec<(&'static str, Where, Refusal)> {
    let mut all: Vec<(&'static str, Where, Refusal)> = Vec::new();
    let mut add = |title, place, refusal: Refusal| all.push((title, place, refusal));

    // Settings of a candidate, on a store in memory.
    for (title, place, name, value) in [
        ("a text in the place of a length", Where::Bindings, "win_delay", Given::Is(text("soon"))),
        ("a flag in the place of a length", Where::Bindings, "expected_lease", Given::Is(Value::Flag(true))),
        ("a length in the place of a number", Where::Bindings, "drift_ppm", Given::Is(text("5s"))),
        ("a number in the place of a text", Where::Bindings, "name", Given::Is(Value::Number(7.0))),
        ("a preset that does not exist", Where::Bindings, "preset", Given::Is(text("slow"))),
        ("no wait at all", Where::Bindings, "backoff", Given::Is(Value::List(Vec::new()))),
        ("metadata that is no map", Where::Bindings, "metadata", Given::Is(text("x"))),
        ("metadata that is no text", Where::Bindings, "metadata", one("a_b", Value::Number(1.0))),
        ("a name that no setting has", Where::Bindings, "win_delai", Given::Is(text("5s"))),
        ("an empty name", Where::Stores, "name", Given::Is(text(""))),
        ("a name over a kilobyte", Where::Stores, "name", Given::Is(text(&"x".repeat(1025)))),
        ("a name that is not seen", Where::Stores, "name", Given::Is(text(" ada"))),
        ("too much metadata", Where::Everywhere, "metadata", one("a", text(&"x".repeat(5000)))),
        ("a key that no header has", Where::Everywhere, "metadata", one("win_delay", text("x"))),
        ("metadata of two lines", Where::Everywhere, "metadata", one("a", text("x\ny"))),
        ("a lease that the fast preset has", Where::Everywhere, "lease", Given::Time(2000)),
        ("a lease that no preset has", Where::Everywhere, "lease", Given::Time(500)),
        ("a lease over a year", Where::Everywhere, "lease", Given::Time(366 * 24 * 3_600_000)),
        ("an interval that is too short", Where::Everywhere, "interval", Given::Time(50)),
    ] {
        add(
            title,
            place,
            Box::new(move |language| {
                let given = vec![(key(name, language), value.in_the(language))];
                if name == "expected_lease" {
                    opened("memory:", given, language)
                } else {
                    campaigning(given, language)
                }
            }),
        );
    }
    add(
        "a setting that is given twice",
        Where::Bindings,
        Box::new(|language| {
            let twice = || (key("win_delay", language), Given::Time(2000).in_the(language));
            campaigning(vec![twice(), twice()], language)
        }),
    );
    add(
        "the length of a drain that is a function",
        Where::Bindings,
        Box::new(|language| {
            let name = if language.dialect.own.contains(&"drain_time") { "drain_time" } else { "drain" };
            campaigning(vec![(key(name, language), text("later"))], language)
        }),
    );
    add(
        "a lease too short for its margin",
        Where::Everywhere,
        Box::new(|language| {
            let given = [("lease", 5000), ("skew", 1000)];
            let given =
                given.map(|(name, millis)| (key(name, language), Given::Time(millis).in_the(language)));
            campaigning(given.into(), language)
        }),
    );
    add(
        "a limit of a watched loop that is too short",
        Where::Bindings,
        Box::new(|language| loop_watch(Given::Time(50).in_the(language), language.dialect).unwrap_err()),
    );
    add(
        "no interval of health checks",
        Where::Bindings,
        Box::new(|language| {
            let none = Given::Time(0).in_the(language);
            let read = campaign(Vec::new(), language.dialect).unwrap();
            read.ask_health(none, language.dialect).unwrap_err()
        }),
    );

    // Refusals of the core on other stores.
    let core: [CoreRefusal; 14] = [
        ("a drift that no lease allows for", || on(|given, _, _| given.drift_ppm = 200_000)),
        ("a lease without time for a retry", || {
            on(|given, store, _| {
                (given.preset, given.lease) = (Preset::Test, Some(Duration::from_millis(200)));
                store.lease_step = Duration::ZERO;
            })
        }),
        ("a name over 255 bytes", || on(|given, _, _| given.name = "x".repeat(256))),
        ("a name of two lines", || on(|given, _, _| given.name = "a\nb".into())),
        ("a bucket without an age", || on(|_, store, info| (store.own_lease, info.max_age) = (false, None))),
        ("a lease over the bucket's age", || {
            on(|given, _, info| {
                (given.lease, info.max_age) = (Some(secs(20)), Some(secs(10)));
            })
        }),
        ("a lease of its own where all share one", || {
            on(|given, store, info| {
                (given.lease, info.max_age, store.own_lease) = (Some(secs(5)), Some(secs(10)), false);
            })
        }),
        ("another lease than Go's", || {
            on(|given, _, info| {
                (given.preset, given.lease, info.max_age) =
                    (Preset::GoCompatible, Some(secs(30)), Some(secs(40)));
            })
        }),
        ("a lease over Go's", || {
            on(|given, _, _| {
                (given.preset, given.lease) = (Preset::GoCompatible, Some(secs(3700)));
            })
        }),
        ("an interval outside of Go's", || {
            on(|given, _, info| {
                (given.preset, given.interval, info.max_age) =
                    (Preset::GoCompatible, Some(secs(1)), Some(secs(30)));
            })
        }),
        ("a lease that the store cannot keep", || on(|_, store, _| store.longest = secs(10))),
        ("a lease between two steps", || on(|given, _, _| given.lease = Some(Duration::from_millis(5500)))),
        ("random numbers that are none", || {
            let identity = Identity { name: "a", key: "jobs", now: Instant::ZERO, process: &[] };
            draw([0, 1, 2], identity).unwrap_err()
        }),
        ("a key that is not seen", || selector::check("key", "jobs\n").unwrap_err()),
    ];
    for (title, refusal) in core {
        add(title, Where::Everywhere, Box::new(move |_| StoreError::from(refusal()).into()));
    }
    add("a clock that stands still", Where::Components, of_core(guest::clock));
    let of_rules: [CoreRefusal; 18] = [
        ("etcd: a preset of buckets", || queue(|given, _| given.preset = Preset::GoCompatible)),
        ("etcd: an interval", || queue(|given, _| given.interval = Some(secs(9)))),
        ("etcd: a lease with a part of a second", || {
            queue(|given, _| given.lease = Some(Duration::from_millis(6500)))
        }),
        ("etcd: a short lease", || queue(|given, _| given.lease = Some(secs(5)))),
        ("etcd: a long lease", || queue(|given, _| given.lease = Some(secs(400)))),
        ("etcd: servers that are not known", || queue(|_, server| server.shortest = None)),
        ("etcd: a priority", || check_priority(Some(3)).unwrap_err()),
        ("a group with a preset of buckets", || group(|given, _| given.preset = Preset::GoCompatible)),
        ("a group with an interval", || group(|given, _| given.interval = Some(secs(9)))),
        ("a group with a short lease", || group(|given, _| given.lease = Some(secs(4)))),
        ("a group of the consumer protocol with goNELI", || {
            group(|_, group| {
                (group.protocol, group.goneli) = (Protocol::Consumer, true);
            })
        }),
        ("a group of the consumer protocol with a session", || {
            group(|_, group| {
                (group.protocol, group.session) = (Protocol::Consumer, Some(secs(15)));
            })
        }),
        ("a group with a short session", || group(|_, group| group.session = Some(secs(9)))),
        ("a group with a session that Kafka cannot count", || {
            group(|_, group| group.session = Some(Duration::MAX))
        }),
        ("a group with a drain that Kafka cannot count", || group(|given, _| given.drain = Duration::MAX)),
        ("a member's name with a %", || check_member_name("50%").unwrap_err()),
        ("a member's name that is empty", || check_member_name("").unwrap_err()),
        ("a member's name with outer spaces", || check_member_name(" a").unwrap_err()),
    ];
    for (title, refusal) in of_rules {
        add(title, Where::Stores, Box::new(move |_| StoreError::from(refusal()).into()));
    }

    // Settings of a store, in its URL and apart from it.
    for (title, place, url, name, value) in [
        (
            "a parameter that this store has not",
            Where::Bindings,
            "sqlite:e.db",
            "tls_ca",
            Given::Is(text("x")),
        ),
        ("a flag that is none", Where::Stores, "nats://h/B", "tls_first", Given::Is(text("yes"))),
        ("a length of time that is none", Where::Stores, "sqlite:e.db", "poll", Given::Is(text("1us"))),
        ("a part of a millisecond", Where::Bindings, "sqlite:e.db", "poll", Given::Nanos(1_500_000)),
        ("a poll that is too long", Where::Stores, "sqlite:e.db", "poll", Given::Time(2000)),
        ("an empty text", Where::Stores, "nats://h/B", "tls_ca", Given::Is(text(""))),
        ("a certificate without a key", Where::Stores, "nats://h/B", "tls_cert", Given::Is(text("c"))),
        (
            "a certificate without a key, in the URL",
            Where::Stores,
            "nats://h/B?tls_cert=c",
            "create",
            Given::Nothing,
        ),
        ("a key without a certificate", Where::Stores, "etcds://h/p", "tls_key", Given::Is(text("k"))),
        ("a certificate without TLS", Where::Stores, "etcd://h/p", "tls_ca", Given::Is(text("c"))),
        (
            "a file that is not there",
            Where::Stores,
            "etcds://h/p",
            "tls_ca",
            Given::Is(text("/nowhere/ca.pem")),
        ),
        ("a folder in the place of a file", Where::Stores, "sqlite:/nowhere/", "create", Given::Nothing),
        (
            "a parameter that is given twice, in the URL",
            Where::Stores,
            "sqlite:e.db?poll=10ms&poll=20ms",
            "create",
            Given::Nothing,
        ),
        (
            "a parameter that this store has not, in the URL",
            Where::Stores,
            "sqlite:e.db?pol=10ms",
            "create",
            Given::Nothing,
        ),
        ("a subject that is none", Where::Stores, "nats://h/B", "inbox_prefix", Given::Is(text("tls_ca *"))),
        ("a prefix that is not seen", Where::Stores, "nats://h/B", "api_prefix", Given::Is(text("JS\0"))),
        ("two prefixes", Where::Stores, "nats://h/B?domain=x", "api_prefix", Given::Is(text("JS"))),
        ("two identities", Where::Stores, "nats://u:x@h/B", "token", Given::Is(text("y"))),
        ("no time to connect", Where::Stores, "nats://127.0.0.1:1/B", "connect_timeout", Given::Time(0)),
        (
            "no time to connect, in the URL",
            Where::Stores,
            "nats://127.0.0.1:1/B?connect_timeout=0s",
            "create",
            Given::Nothing,
        ),
        ("no time between pings", Where::Stores, "nats://127.0.0.1:1/B", "ping_interval", Given::Time(0)),
        (
            "no time to connect to etcd",
            Where::Stores,
            "etcd://127.0.0.1:1/p",
            "connect_timeout",
            Given::Time(0),
        ),
        (
            "a prefix of incumbent's own",
            Where::Stores,
            "etcd://127.0.0.1:1/.incumbent/x",
            "create",
            Given::Nothing,
        ),
        #[cfg(feature = "kafka")]
        ("Kafka: no such protocol", Where::Stores, KAFKA, "protocol", Given::Is(text("eager"))),
        #[cfg(feature = "kafka")]
        ("Kafka: a session that is none", Where::Stores, KAFKA, "session", Given::Is(text("later"))),
        #[cfg(feature = "kafka")]
        ("Kafka: a flag that is none", Where::Stores, KAFKA, "goneli", Given::Is(text("maybe"))),
        #[cfg(feature = "kafka")]
        ("Kafka: an empty topic", Where::Stores, KAFKA, "topic", Given::Is(text(""))),
        #[cfg(feature = "kafka")]
        ("Kafka: a topic that is none", Where::Stores, KAFKA, "topic", Given::Is(text("a b"))),
        #[cfg(feature = "kafka")]
        ("Kafka: a topic that is not seen", Where::Stores, KAFKA, "topic", Given::Is(text("{group}.x "))),
        #[cfg(feature = "kafka")]
        ("Kafka: an instance id of white space", Where::Stores, KAFKA, "instance_id", Given::Is(text(" "))),
        #[cfg(feature = "kafka")]
        ("Kafka: no such mechanism", Where::Stores, KAFKA, "sasl", Given::Is(text("NTLM"))),
        #[cfg(feature = "kafka")]
        ("Kafka: a mechanism without a user", Where::Stores, KAFKA, "sasl", Given::Is(text("PLAIN"))),
        #[cfg(feature = "kafka")]
        (
            "Kafka: a property on which elections depend",
            Where::Stores,
            "kafka://127.0.0.1:1/p?enable.auto.commit=true",
            "create",
            Given::Nothing,
        ),
        #[cfg(feature = "kafka")]
        ("Kafka: a parameter that it has not", Where::Bindings, KAFKA, "tls_ca", Given::Is(text("x"))),
    ] {
        add(
            title,
            place,
            Box::new(move |language| {
                let given = match &value {
                    Given::Nothing => Vec::new(),
                    value => vec![(key(name, language), value.in_the(language))],
                };
                opened(url, given, language)
            }),
        );
    }
    for (title, url, name, value) in [
        ("leases of their own, of a file", "sqlite:e.db", "own_leases", Given::Is(Value::Flag(true))),
        ("a lease of a file", "sqlite:e.db", "lease", Given::Time(5000)),
        ("two replicas", "nats://127.0.0.1:1/B", "replicas", Given::Is(Value::Number(2.0))),
        ("a small bucket", "nats://127.0.0.1:1/B", "max_bytes", Given::Is(Value::Number(1000.0))),
        ("a bucket with a short lease", "nats://127.0.0.1:1/B", "lease", Given::Time(50)),
        ("the preparation of memory", "memory:", "new", Given::Is(Value::Flag(true))),
        ("an election where there is one store", "sqlite:e.db", "election", Given::Is(text("jobs"))),
        #[cfg(feature = "kafka")]
        ("Kafka: replicas", KAFKA, "replicas", Given::Is(Value::Number(3.0))),
        #[cfg(feature = "kafka")]
        ("Kafka: a topic that is stated to be new", KAFKA, "new", Given::Is(Value::Flag(true))),
        #[cfg(feature = "kafka")]
        ("Kafka: a preparation without an election", KAFKA, "update", Given::Is(Value::Flag(true))),
    ] {
        add(
            title,
            Where::Stores,
            Box::new(move |language| {
                let given = vec![(key(name, language), value.in_the(language))];
                match init(url, given, language.dialect) {
                    Ok(read) => answer(&incumbent_ffi::init(read)),
                    Err(refused) => refused,
                }
            }),
        );
    }
    add(
        "a file that is not new",
        Where::Stores,
        Box::new(|language| {
            let dialect = language.dialect;
            let place = std::env::temp_dir().join(format!(
                "incumbent-refusals-{}-{}",
                std::process::id(),
                language.name.len()
            ));
            std::fs::create_dir_all(&place).unwrap();
            let url = format!("sqlite:{}/e.db", place.display());
            let new = || vec![("new".to_owned(), Value::Flag(true))];
            granted(&incumbent_ffi::init(init(&url, new(), dialect).unwrap()));
            let store = granted(&Store::open(opening(&url, Vec::new(), dialect).unwrap()));
            let of = vec![("name".to_owned(), text("a"))];
            let candidate = granted(&store.campaign("jobs".into(), campaign(of, dialect).unwrap()));
            granted(&candidate.next_term(None));
            let refused = answer(&incumbent_ffi::init(init(&url, new(), dialect).unwrap()));
            granted(&store.close(false));
            std::fs::remove_dir_all(&place).unwrap();
            let said = refused.text.parts().fold(text::Text::default(), |said, part| match part {
                // The file's place and the number of writes differ from run to run.
                text::Part::Words(words) if words.contains(" times, so ") => {
                    let (_, behind) = words.split_once(" times, so ").unwrap();
                    said.and("PLACE: it has been written to N times, so ").and(behind)
                }
                text::Part::Words(words) => said.and(words),
                text::Part::Setting(name) => said.and(text::Text::setting(name)),
                text::Part::Init(with) => said.and(text::Text::init(with)),
            });
            Error { text: said, ..refused }
        }),
    );
    add(
        "other markers than those of an open store",
        Where::Stores,
        Box::new(|language| {
            let open = opening("memory:refusals", Vec::new(), language.dialect).unwrap();
            let open = granted(&Store::open(open));
            let refused = opened("memory:refusals?markers=true", Vec::new(), language);
            granted(&open.close(false));
            refused
        }),
    );
    let of_others: [OtherRefusal; 10] = [
        ("goNELI: a name with a %", Where::Rust, ErrorKind::InvalidSetting, || kafka::neli_name("50%")),
        ("goNELI: a group with a space", Where::Rust, ErrorKind::InvalidSetting, || {
            kafka::neli_plain_name("leader_group", "my app")
        }),
        ("goNELI: a property that is no number", Where::Rust, ErrorKind::InvalidSetting, || {
            kafka::neli_millis("max.poll.interval.ms", "soon")
        }),
        ("goNELI: a short time", Where::Rust, ErrorKind::InvalidSetting, || {
            kafka::neli_short("poll_duration", Duration::ZERO, Duration::from_millis(1))
        }),
        ("a bucket without a limit", Where::Stores, ErrorKind::InvalidSetting, nats::bytes_required),
        ("a bucket that is not new", Where::Stores, ErrorKind::UnsafeStore, || nats::not_new("elections", 7)),
        ("markers of an old server", Where::Stores, ErrorKind::Unsupported, || {
            nats::old_server("markers", "2.11")
        }),
        ("a prefix that is not new", Where::Stores, ErrorKind::UnsafeStore, || {
            etcd::not_new("the key \"app/jobs/1\" exists", "app/")
        }),
        ("a role for every key of etcd", Where::Stores, ErrorKind::InvalidSetting, etcd::no_prefix),
        ("files of TLS that do not fit", Where::Stores, ErrorKind::Authentication, etcd::unfit_files),
    ];
    for (title, place, kind, text) in of_others {
        add(title, place, Box::new(move |_| Error::new(kind, text())));
    }
    all
}

#[cfg(feature = "kafka")]
const KAFKA: &str = "kafka://127.0.0.1:1/p";

fn of_core(refusal: fn() -> InvalidSettings) -> Refusal {
    Box::new(move |_| StoreError::from(refusal()).into())
}

/// A map with one text.
fn one(name: &str, value: Value) -> Given {
    Given::Is(Value::Map(vec![(name.to_owned(), value)]))
}

/// A value, or a length of time as a language gives it.
#[derive(Clone)]
enum Given {
    Nothing,
    Is(Value),
    /// Milliseconds.
    Time(u64),
    Nanos(u64),
}

impl Given {
    fn in_the(&self, language: Language) -> Value {
        let time = match self {
            Self::Nothing => return Value::Nothing,
            Self::Is(value) => return value.clone(),
            Self::Time(millis) => Duration::from_millis(*millis),
            Self::Nanos(nanos) => Duration::from_nanos(*nanos),
        };
        if language.is_typed || [Dialect::KOTLIN, Dialect::SWIFT].contains(&language.dialect) {
            Value::Time(time)
        } else if language.dialect.unit == Unit::Milliseconds {
            Value::Number(time.as_nanos() as f64 / 1e6)
        } else {
            Value::Number(time.as_secs_f64())
        }
    }
}

/// The name under which a language hands a setting over.
fn key(name: &'static str, language: Language) -> String {
    if language.dialect == Dialect::NODE { language.dialect.spell(name).into() } else { name.into() }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn granted<T: Send + 'static>(operation: &Operation<T>) -> T {
    assert!(operation.ready().wait(Some(secs(60))), "it takes too long");
    operation.take().unwrap().unwrap()
}

fn answer<T: Send + 'static>(operation: &Operation<T>) -> Error {
    assert!(operation.ready().wait(Some(secs(60))), "it takes too long");
    match operation.take().unwrap() {
        Ok(_) => panic!("nothing is refused"),
        Err(error) => error,
    }
}

fn campaigning(given: Map, language: Language) -> Error {
    let dialect = language.dialect;
    let read = match campaign(given, dialect) {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let store = granted(&Store::open(opening("memory:", Vec::new(), dialect).unwrap()));
    answer(&store.campaign("jobs".into(), read))
}

fn opened(url: &str, mut given: Map, language: Language) -> Error {
    let mut url = url.to_owned();
    for (name, value) in given.extract_if(.., |_| language.is_typed) {
        let value = match value {
            Value::Time(time) => format!("{}ms", time.as_millis()),
            Value::Text(text) => text.replace('\0', "%00").replace(' ', "%20"),
            value => panic!("{value:?} in a URL"),
        };
        url.push_str(&format!("{}{name}={value}", if url.contains('?') { '&' } else { '?' }));
    }
    let read = match opening(&url, given, language.dialect) {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    match read.check() {
        Ok(()) => answer(&Store::open(read)),
        Err(refused) => refused,
    }
}

fn on(change: fn(&mut Settings, &mut Capabilities, &mut StoreInfo)) -> InvalidSettings {
    let mut store = Capabilities {
        own_lease: true,
        lease_step: secs(1),
        shortest: Duration::from_millis(100),
        longest: secs(366 * 24 * 3600),
        granularity: Duration::ZERO,
        expiry_pushed: true,
        incarnation_acked: true,
        watch_shows_all: true,
        window: 256,
        fail_over: Duration::ZERO,
    };
    let mut info = StoreInfo {
        asked_at: Instant::ZERO,
        incarnation: Incarnation(1),
        age: None,
        never_used: false,
        max_age: None,
        newest: None,
    };
    let mut settings = Settings::new("a");
    settings.win_delay = WinDelay::Automatic;
    change(&mut settings, &mut store, &mut info);
    Forecast::new(settings, store, &info).unwrap_err()
}

fn queue(change: fn(&mut Settings, &mut Server)) -> InvalidSettings {
    let mut server = Server { shortest: Some(secs(2)) };
    let mut settings = Settings::new("a");
    change(&mut settings, &mut server);
    server.forecast(settings).unwrap_err()
}

fn group(change: fn(&mut Settings, &mut Group)) -> InvalidSettings {
    let (mut settings, mut group) = (Settings::new("a"), Group::default());
    let topic = induction::Topic { asked_at: Instant::ZERO, id: None, time_of_day: secs(1) };
    change(&mut settings, &mut group);
    induction::Campaign::new(settings, group, topic, Nonce(1), 1, Instant::ZERO).unwrap_err()
}
