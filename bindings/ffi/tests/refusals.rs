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
use incumbent_ffi::settings::{Dialect, Map, Unit, Value, campaign, init, loop_watch, opening};
use incumbent_ffi::{Error, Operation, Store};

const LANGUAGES: [(&str, Dialect); 3] = [
    ("Python", Dialect::PYTHON),
    ("Node", Dialect::NODE),
    ("Kotlin, Java, Swift", Dialect::KOTLIN_AND_SWIFT),
];

/// Compares the texts with those on record; `INCUMBENT_RECORD=1` records them.
#[test]
fn the_text_of_every_refusal_is_the_one_on_record() {
    let mut texts = String::from("# Every refusal of a setting, in every language: see refusals.rs.\n");
    for (title, refusal) in refusals() {
        writeln!(texts, "\n## {title}").unwrap();
        let said = LANGUAGES.map(|(language, dialect)| (language, refusal(dialect).message(dialect)));
        let is_one = said.iter().all(|(_, text)| *text == said[0].1);
        for (language, text) in said.iter().take(if is_one { 1 } else { said.len() }) {
            writeln!(texts, "{}: {text}", if is_one { "all" } else { language }).unwrap();
        }
    }
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refusals.txt");
    if std::env::var_os("INCUMBENT_RECORD").is_some() {
        std::fs::write(place, &texts).unwrap();
    }
    let recorded = std::fs::read_to_string(place).unwrap();
    for (recorded, text) in recorded.lines().zip(texts.lines()) {
        assert_eq!(text, recorded, "INCUMBENT_RECORD=1 records the texts again");
    }
    assert_eq!(texts, recorded, "INCUMBENT_RECORD=1 records the texts again");
}

/// A caller's values are not taken for names of settings.
#[test]
fn what_a_caller_wrote_is_shown_as_it_was_written() {
    let node = Dialect::NODE;
    let metadata = |key: &str| Value::Map(vec![(key.to_owned(), text("x"))]);
    for (given, shown) in [
        (vec![("metadata", metadata("drain mode")), ("drainTime", Value::Number(1000.0))], "\"drain mode\""),
        (vec![("metadata", metadata("drift_ppm"))], "\"drift_ppm\""),
        (vec![("preset", text("win_delay"))], "\"win_delay\""),
    ] {
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let message = campaigning(given, node).message(node);
        assert!(message.contains(&format!(" is {shown}, and must be ")), "{message}");
    }
    for dialect in [Dialect::PYTHON, Dialect::KOTLIN_AND_SWIFT] {
        let given = vec![("metadata".to_owned(), metadata("watch_loop fail_fast"))];
        let message = campaigning(given, dialect).message(dialect);
        assert!(message.starts_with("metadata key is \"watch_loop fail_fast\", and must be "), "{message}");
    }
}

type Refusal = Box<dyn Fn(Dialect) -> Error>;
type CoreRefusal = (&'static str, fn() -> InvalidSettings);

fn refusals() -> Vec<(&'static str, Refusal)> {
    let mut all: Vec<(&'static str, Refusal)> = Vec::new();
    let mut add = |title, refusal: Refusal| all.push((title, refusal));

    // What a candidate is given, on a store in memory.
    for (title, name, value) in [
        ("a text in the place of a length", "win_delay", Given::Is(text("soon"))),
        ("a flag in the place of a length", "expected_lease", Given::Is(Value::Flag(true))),
        ("a length in the place of a number", "drift_ppm", Given::Is(text("5s"))),
        ("a number in the place of a text", "name", Given::Is(Value::Number(7.0))),
        ("a preset that does not exist", "preset", Given::Is(text("slow"))),
        ("no wait at all", "backoff", Given::Is(Value::List(Vec::new()))),
        ("metadata that is no map", "metadata", Given::Is(text("x"))),
        (
            "metadata that is no text",
            "metadata",
            Given::Is(Value::Map(vec![("a_b".into(), Value::Number(1.0))])),
        ),
        ("a name that no setting has", "win_delai", Given::Is(text("5s"))),
        ("an empty name", "name", Given::Is(text(""))),
        ("a name that is not seen", "name", Given::Is(text(" ada"))),
        ("too much metadata", "metadata", Given::Is(Value::Map(vec![("a".into(), text(&"x".repeat(5000)))]))),
        (
            "a key that no header has",
            "metadata",
            Given::Is(Value::Map(vec![("win_delay".into(), text("x"))])),
        ),
        ("metadata of two lines", "metadata", Given::Is(Value::Map(vec![("a".into(), text("x\ny"))]))),
        ("a lease that the fast preset has", "lease", Given::Time(2000)),
        ("a lease that no preset has", "lease", Given::Time(500)),
        ("a lease over a year", "lease", Given::Time(366 * 24 * 3_600_000)),
        ("an interval that is too short", "interval", Given::Time(50)),
    ] {
        add(
            title,
            Box::new(move |dialect| {
                let value = value.in_the(dialect);
                let one = vec![(key(name, dialect), value)];
                if name == "expected_lease" {
                    opened("memory:", one, dialect)
                } else {
                    campaigning(one, dialect)
                }
            }),
        );
    }
    add(
        "the length of a drain that is a function",
        Box::new(|dialect| {
            let name = if dialect.own.contains(&"drain_time") { "drain_time" } else { "drain" };
            campaigning(vec![(key(name, dialect), text("later"))], dialect)
        }),
    );
    add(
        "a lease too short for its margin",
        Box::new(|dialect| {
            let given = [("lease", 5000), ("skew", 1000)];
            let given = given.map(|(name, millis)| (key(name, dialect), Given::Time(millis).in_the(dialect)));
            campaigning(given.into(), dialect)
        }),
    );
    add(
        "a limit of a watched loop that is too short",
        Box::new(|dialect| loop_watch(Given::Time(50).in_the(dialect), dialect).unwrap_err()),
    );
    add(
        "no interval of health checks",
        Box::new(|dialect| {
            let none = Given::Time(0).in_the(dialect);
            campaign(Vec::new(), dialect).unwrap().ask_health(none, dialect).unwrap_err()
        }),
    );

    // What the core refuses on other stores.
    let core: [CoreRefusal; 25] = [
        ("a drift that no lease allows for", || on(|given, _, _| given.drift_ppm = 200_000)),
        ("a lease without time for a retry", || {
            on(|given, store, _| {
                (given.preset, given.lease) = (Preset::Test, Some(Duration::from_millis(200)));
                store.lease_step = Duration::ZERO;
            })
        }),
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
        ("a queue with a preset of buckets", || queue(|given, _| given.preset = Preset::GoCompatible)),
        ("a queue with an interval", || queue(|given, _| given.interval = Some(secs(9)))),
        ("a queue with a part of a second", || {
            queue(|given, _| given.lease = Some(Duration::from_millis(6500)))
        }),
        ("a queue with a short lease", || queue(|given, _| given.lease = Some(secs(5)))),
        ("a queue with a long lease", || queue(|given, _| given.lease = Some(secs(400)))),
        ("a queue of servers that are not known", || queue(|_, server| server.shortest = None)),
        ("a queue with priorities", || check_priority(Some(3)).unwrap_err()),
        ("a group with a preset of buckets", || group(|given, _| given.preset = Preset::GoCompatible)),
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
        ("a group with a drain that Kafka cannot count", || group(|given, _| given.drain = Duration::MAX)),
        ("a member's name with a %", || check_member_name("50%").unwrap_err()),
        ("random numbers that are none", || {
            let identity = Identity { name: "a", key: "jobs", now: Instant::ZERO, process: &[] };
            draw([0, 1, 2], identity).unwrap_err()
        }),
    ];
    for (title, refusal) in core {
        add(title, Box::new(move |_| incumbent::Error::from(refusal()).into()));
    }
    add(
        "a key that is not seen",
        Box::new(|_| incumbent::Error::from(selector::check("key", "jobs\n").unwrap_err()).into()),
    );

    // What a store is given, apart from its URL and in it.
    for (title, url, name, value) in [
        ("a parameter that this store has not", "sqlite:e.db", "tls_ca", Given::Is(text("x"))),
        ("a flag that is none", "nats://h/B", "tls_first", Given::Is(text("yes"))),
        ("a part of a millisecond", "sqlite:e.db", "poll", Given::Is(text("1us"))),
        ("a poll that is too long", "sqlite:e.db", "poll", Given::Time(2000)),
        ("an empty text", "nats://h/B", "tls_ca", Given::Is(text(""))),
        ("a certificate without a key", "nats://h/B", "tls_cert", Given::Is(text("c"))),
        ("a certificate without a key, in the URL", "nats://h/B?tls_cert=c", "create", Given::Nothing),
        ("a certificate without TLS", "etcd://h/p", "tls_ca", Given::Is(text("c"))),
        ("a file that is not there", "etcds://h/p", "tls_ca", Given::Is(text("/nowhere/ca.pem"))),
        ("a subject that is none", "nats://h/B", "inbox_prefix", Given::Is(text("tls_ca *"))),
        ("a prefix that is not seen", "nats://h/B", "api_prefix", Given::Is(text("JS\0"))),
        ("two prefixes", "nats://h/B?domain=x", "api_prefix", Given::Is(text("JS"))),
        ("no time to connect", "nats://127.0.0.1:1/B", "connect_timeout", Given::Time(0)),
        (
            "no time to connect, in the URL",
            "nats://127.0.0.1:1/B?connect_timeout=0s",
            "create",
            Given::Nothing,
        ),
        ("no time between pings", "nats://127.0.0.1:1/B", "ping_interval", Given::Time(0)),
        ("no time to connect to etcd", "etcd://127.0.0.1:1/p", "connect_timeout", Given::Time(0)),
        ("a prefix of incumbent's own", "etcd://127.0.0.1:1/.incumbent/x", "create", Given::Nothing),
    ] {
        add(
            title,
            Box::new(move |dialect| {
                let given = match &value {
                    Given::Nothing => Vec::new(),
                    value => vec![(key(name, dialect), value.in_the(dialect))],
                };
                opened(url, given, dialect)
            }),
        );
    }
    for (title, url, name, value) in [
        ("leases of their own, of a file", "sqlite:e.db", "own_leases", Given::Is(Value::Flag(true))),
        ("a lease of a file", "sqlite:e.db", "lease", Given::Time(5000)),
        ("two replicas", "nats://127.0.0.1:1/B", "replicas", Given::Is(Value::Number(2.0))),
        ("a bucket with a short lease", "nats://127.0.0.1:1/B", "lease", Given::Time(50)),
        ("the preparation of memory", "memory:", "new", Given::Is(Value::Flag(true))),
        ("an election where there is one store", "sqlite:e.db", "election", Given::Is(text("jobs"))),
    ] {
        add(
            title,
            Box::new(move |dialect| {
                let given = vec![(key(name, dialect), value.in_the(dialect))];
                match init(url, given, dialect) {
                    Ok(read) => answer(&incumbent_ffi::init(read)),
                    Err(refused) => refused,
                }
            }),
        );
    }
    add(
        "a file that is not new",
        Box::new(|dialect| {
            let place = std::env::temp_dir().join(format!(
                "incumbent-refusals-{}-{}",
                std::process::id(),
                dialect.lengths.len()
            ));
            std::fs::create_dir_all(&place).unwrap();
            let url = format!("sqlite:{}/e.db", place.display());
            let new = || vec![("new".to_owned(), Value::Flag(true))];
            granted(&incumbent_ffi::init(init(&url, new(), dialect).unwrap()));
            let store = granted(&Store::open(opening(&url, Vec::new(), dialect).unwrap()));
            let of = vec![("name".to_owned(), text("a"))];
            let candidate = granted(&store.campaign("jobs".into(), campaign(of, dialect).unwrap()));
            granted(&candidate.next_term(None));
            let mut refused = answer(&incumbent_ffi::init(init(&url, new(), dialect).unwrap()));
            granted(&store.close(false));
            std::fs::remove_dir_all(&place).unwrap();
            let said = refused.message(dialect);
            let (_, rest) = said.split_once("written to ").unwrap();
            let (_, rest) = rest.split_once(' ').unwrap();
            refused.text = format!("PLACE: it has been written to N {rest}").into();
            refused
        }),
    );
    all
}

/// A value, or a number of milliseconds as a language gives it.
#[derive(Clone)]
enum Given {
    Nothing,
    Is(Value),
    Time(u64),
}

impl Given {
    fn in_the(&self, dialect: Dialect) -> Value {
        match self {
            Self::Nothing => Value::Nothing,
            Self::Is(value) => value.clone(),
            Self::Time(millis) if dialect == Dialect::KOTLIN_AND_SWIFT => {
                Value::Time(Duration::from_millis(*millis))
            }
            Self::Time(millis) if dialect.unit == Unit::Milliseconds => Value::Number(*millis as f64),
            Self::Time(millis) => Value::Number(*millis as f64 / 1000.0),
        }
    }
}

/// The name under which a language hands a setting over.
fn key(name: &'static str, dialect: Dialect) -> String {
    if dialect == Dialect::NODE { dialect.spell(name).into() } else { name.into() }
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

fn campaigning(given: Map, dialect: Dialect) -> Error {
    let read = match campaign(given, dialect) {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let store = granted(&Store::open(opening("memory:", Vec::new(), dialect).unwrap()));
    answer(&store.campaign("jobs".into(), read))
}

fn opened(url: &str, given: Map, dialect: Dialect) -> Error {
    let read = match opening(url, given, dialect) {
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
