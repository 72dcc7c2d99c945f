//! The settings in each language.

use super::Part;
use super::schema::{Kind, Language, Schema, Setting, Store, wrapped};

/// The width of a line of documentation, its indentation included.
pub(super) const WIDTH: usize = 120;

/// Every file with generated parts.
pub(super) fn files(schema: &Schema) -> Vec<(&'static str, Vec<Part>)> {
    let Schema { candidate, store, parameter, init, .. } = schema;
    // A setting whose name means something else when a store is prepared is not shared.
    let (own, shared): (Vec<&Setting>, Vec<&Setting>) =
        parameter.iter().partition(|setting| init.iter().any(|other| other.name == setting.name));
    let (candidate, init): (Vec<_>, Vec<_>) = (candidate.iter().collect(), init.iter().collect());
    let common: Vec<_> = store.iter().collect();
    let store: Vec<_> = store.iter().chain(own).collect();
    let documents = |item: &dyn Fn(&Setting) -> String, width| {
        let doc = |setting: &Setting| doc(&setting.text(), SLASHES, width);
        candidate.iter().map(|setting| Part::Documents(item(setting), doc(setting))).collect()
    };
    let setter: fn(&str) -> String = |name| format!("pub fn {name}(");
    vec![
        ("core/src/text.rs", vec![Part::Between("names", spellings(schema))]),
        ("bindings/ffi/src/settings/names.rs", vec![Part::Between("settings", names(schema))]),
        ("runtime/src/options.rs", documents(&|setting| setter(&setting.name), WIDTH - 4)),
        ("wit/settings.wit", documents(&|setting| format!("{}: ", setting.kebab()), WIDTH - 8)),
        (
            "node/ts/settings.ts",
            vec![
                Part::Between("parameters", node(&shared)),
                Part::Between("store", node(&store)),
                Part::Between("init", node(&init)),
                Part::Between("candidate", node(&candidate)),
            ],
        ),
        (
            "python/lib/incumbent/_settings.py",
            vec![
                Part::Between("parameters", python(&shared)),
                Part::Between("store", python(&store)),
                Part::Between("init", python(&init)),
                Part::Between("candidate", python(&candidate)),
            ],
        ),
        (
            "bindings/kotlin/src/main/kotlin/incumbent/Settings.kt",
            vec![
                Part::Between("store", kotlin(&common)),
                Part::Between("store for Java", java("StoreSettings", &common)),
                Part::Between("init", kotlin(&init)),
                Part::Between("init for Java", java("InitSettings", &init)),
                Part::Between("candidate", kotlin(&candidate)),
                Part::Between("candidate for Java", java("CampaignSettings", &candidate)),
            ],
        ),
        (
            "bindings/swift/Sources/Incumbent/Settings.swift",
            vec![Part::Between("store", swift(&common)), Part::Between("candidate", swift(&candidate))],
        ),
        ("bindings/swift/Sources/Incumbent/Preparation.swift", vec![Part::Between("init", swift(&init))]),
        (
            "docs/reference/settings.md",
            vec![
                Part::Between("candidate", table(&candidate)),
                Part::Between("store", table(&common)),
                Part::Between("init", table(&init)),
            ],
        ),
        (
            "docs/guide/stores.md",
            vec![
                Part::Between("NATS parameters", parameters(schema, Store::Nats)),
                Part::Between("SQLite parameters", parameters(schema, Store::Sqlite)),
                Part::Between("Kafka parameters", parameters(schema, Store::Kafka)),
            ],
        ),
        ("docs/guide/etcd.md", vec![Part::Between("parameters", parameters(schema, Store::Etcd))]),
        ("stores/nats/src/config/settings.rs", in_rust(schema, Store::Nats, setter)),
        ("stores/etcd/src/settings.rs", in_rust(schema, Store::Etcd, setter)),
        ("stores/kafka/src/settings.rs", in_rust(schema, Store::Kafka, setter)),
        ("stores/sqlite/src/settings.rs", in_rust(schema, Store::Sqlite, |name| format!("pub {name}: "))),
        ("stores/memory/src/lib.rs", in_rust(schema, Store::Memory, |name| format!("pub {name}: "))),
        (
            "runtime/src/open.rs",
            common.iter().map(|setting| documents_setter(setting, setter(&setting.name))).collect(),
        ),
    ]
}

/// Formats documentation: the first line begins with `open`, every line with `each`, and the last line ends with
/// `close`.
pub(super) fn doc(text: &str, [open, each, close]: [&str; 3], width: usize) -> Vec<String> {
    let one = format!("{open}{text}{close}");
    if one.chars().count() <= width {
        return vec![one];
    }
    let lines = wrapped(text, width - each.chars().count());
    if close.is_empty() {
        return lines.into_iter().map(|line| format!("{each}{line}")).collect();
    }
    let mut doc = vec![open.trim_end().to_owned()];
    doc.extend(lines.into_iter().map(|line| format!("{each}{line}")));
    doc.push(close.to_owned());
    doc
}

pub(super) const JAVADOC: [&str; 3] = ["/** ", " * ", " */"];
pub(super) const SLASHES: [&str; 3] = ["/// ", "/// ", ""];

fn node(settings: &[&Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in settings.iter().filter(|setting| !setting.by_hand.contains(&Language::Node)) {
        lines.extend(doc(&setting.text(), JAVADOC, WIDTH - 2));
        let kind = match setting.kind {
            Kind::Text | Kind::File => "string",
            Kind::Flag => "boolean",
            Kind::Whole | Kind::Size => "number",
            Kind::Length => "Length",
            Kind::Lengths => "Length | readonly Length[]",
            Kind::Texts => "Readonly<Record<string, string>>",
            Kind::Preset => "'standard' | 'fast' | 'go_compatible'",
            Kind::WinDelay => "'automatic' | 'cautious' | Length",
        };
        lines.push(format!("{}?: {kind} | undefined;", setting.camel()));
    }
    lines
}

fn python(settings: &[&Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in settings.iter().filter(|setting| !setting.by_hand.contains(&Language::Python)) {
        let kind = match setting.kind {
            Kind::Text => "str",
            Kind::File => "str | PathLike[str]",
            Kind::Flag => "bool",
            Kind::Whole | Kind::Size => "int",
            Kind::Length => "Length",
            Kind::Lengths => "Length | Sequence[Length]",
            Kind::Texts => "Mapping[str, str]",
            Kind::Preset => r#"Literal["standard", "fast", "go_compatible"]"#,
            Kind::WinDelay => r#"Literal["automatic", "cautious"] | Length"#,
        };
        lines.push(format!("{}: {kind}", setting.name));
        lines.extend(doc(&setting.text(), [r#"""""#, "", r#"""""#], WIDTH - 4));
    }
    lines
}

fn kotlin(settings: &[&Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in settings {
        let kind = match setting.kind {
            Kind::Text | Kind::File => "String",
            Kind::Flag => "Boolean",
            Kind::Whole | Kind::Size => "Int",
            Kind::Length => "Duration",
            Kind::Lengths => "List<Duration>",
            Kind::Texts => "Map<String, String>",
            Kind::Preset => "Preset",
            Kind::WinDelay => "WinDelay",
        };
        lines.extend(doc(&setting.text(), JAVADOC, WIDTH - 4));
        lines.extend([format!("public var {}: {kind}? = null", setting.camel()), String::new()]);
    }
    lines.push("private fun generated(): Map<String, Setting> = buildMap {".into());
    for setting in settings {
        let (name, camel) = (&setting.name, setting.camel());
        lines.push(match setting.kind {
            Kind::WinDelay => format!("    {camel}?.let {{ put(\"{name}\", setting(it)) }}"),
            Kind::Preset => format!("    {camel}?.let {{ put(\"{name}\", Setting.Text(it.name.lowercase())) }}"),
            Kind::Text | Kind::File => format!("    {camel}?.let {{ put(\"{name}\", Setting.Text(it)) }}"),
            Kind::Flag => format!("    {camel}?.let {{ put(\"{name}\", Setting.Flag(it)) }}"),
            Kind::Whole | Kind::Size => format!("    {camel}?.let {{ put(\"{name}\", Setting.Number(it.toDouble())) }}"),
            Kind::Length => format!("    {camel}?.let {{ put(\"{name}\", time(\"{camel}\", it)) }}"),
            Kind::Lengths => format!(
                "    {camel}?.let {{ waits -> put(\"{name}\", Setting.Times(waits.map {{ positive(\"{camel}\", it) }})) }}"
            ),
            Kind::Texts => format!("    {camel}?.let {{ put(\"{name}\", Setting.Texts(it)) }}"),
        });
    }
    lines.push("}".into());
    lines
}

/// The settings as methods that Java can chain.
fn java(class: &str, settings: &[&Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, setting) in settings.iter().enumerate() {
        if place > 0 {
            lines.push(String::new());
        }
        let camel = setting.camel();
        // A keyword of Java.
        let method = if camel == "new" { "isNew" } else { &camel };
        let (argument, value) = match setting.kind {
            Kind::Text | Kind::File => ("value: String", "value"),
            Kind::Flag => ("value: Boolean", "value"),
            Kind::Whole | Kind::Size => ("value: Int", "value"),
            Kind::Length => ("value: JavaDuration", "value.toKotlinDuration()"),
            Kind::Lengths => ("vararg value: JavaDuration", "value.map { it.toKotlinDuration() }"),
            Kind::Texts => ("value: Map<String, String>", "value"),
            Kind::Preset => ("value: Preset", "value"),
            Kind::WinDelay => ("value: WinDelay", "value"),
        };
        lines.push(format!("/** [{camel}], for Java. */"));
        lines.push(format!("public fun {method}({argument}): {class} = apply {{ {camel} = {value} }}"));
        if setting.kind == Kind::WinDelay {
            lines.extend([
                String::new(),
                format!("/** [{camel}] of at least this long, for Java. */"),
                format!("public fun {method}(value: JavaDuration): {class} = {method}(WinDelay.Fixed(value.toKotlinDuration()))"),
            ]);
        }
    }
    lines
}

fn swift(settings: &[&Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in settings {
        let kind = match setting.kind {
            Kind::Text | Kind::File => "String",
            Kind::Flag => "Bool",
            Kind::Whole | Kind::Size => "Int",
            Kind::Length => "Duration",
            Kind::Lengths => "[Duration]",
            Kind::Texts => "[String: String]",
            Kind::Preset => "Preset",
            Kind::WinDelay => "WinDelay",
        };
        lines.extend(doc(&setting.text(), SLASHES, WIDTH - 4));
        lines.push(format!("public var {}: {kind}?", setting.camel()));
    }
    lines.extend([
        String::new(),
        "private var generated: [String: Setting] {".into(),
        "    get throws {".into(),
    ]);
    lines.push("        var plain: [String: Setting] = [:]".into());
    for setting in settings {
        let (name, camel) = (&setting.name, setting.camel());
        let value = match setting.kind {
            Kind::Text | Kind::File => format!("{camel}.map {{ .text(value: $0) }}"),
            Kind::Flag => format!("{camel}.map {{ .flag(value: $0) }}"),
            Kind::Whole | Kind::Size => format!("{camel}.map {{ .number(value: Double($0)) }}"),
            Kind::Length => format!("try time(\"{camel}\", {camel})"),
            Kind::Lengths => {
                format!(
                    "try {camel}.map {{ .times(values: try $0.map {{ try positive(\"{camel}\", $0) }}) }}"
                )
            }
            Kind::Texts => format!("{camel}.map {{ .texts(values: $0) }}"),
            Kind::Preset => format!("{camel}.map {{ .text(value: $0.rawValue) }}"),
            Kind::WinDelay => format!("try {camel}?.setting"),
        };
        lines.push(format!("        plain[\"{name}\"] = {value}"));
    }
    lines.extend(["        return plain", "    }", "}"].map(str::to_owned));
    lines
}

/// The names that some languages spell differently.
fn spellings(schema: &Schema) -> Vec<String> {
    let list = |name: &str, what: &str, settings: &mut dyn Iterator<Item = &Setting>| {
        let mut names: Vec<_> = settings.map(|setting| setting.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut lines = vec![
            format!("/// {what}."),
            "#[rustfmt::skip]".into(),
            format!("const {name}: [&str; {}] = [", names.len()),
        ];
        lines.extend(names.iter().map(|name| format!("    \"{name}\",")));
        lines.push("];".into());
        lines
    };
    let Schema { candidate, store, parameter, init, .. } = schema;
    let mut lines = list("PARAMETERS", "The parameters of a store's URL", &mut parameter.iter());
    let options = candidate.iter().chain(store).chain(init).filter(|setting| !setting.is_no_option);
    lines.extend(list("OPTIONS", "The options of the command line", &mut { options }));
    lines
}

/// The names and kinds that the bindings check, in Rust.
fn names(schema: &Schema) -> Vec<String> {
    let list = |name: &str, is_public: bool, what: &str, settings: &[Setting]| {
        let visible = if is_public { "pub" } else { "pub(super)" };
        let mut lines = vec![
            format!("/// The names of the settings of {what}."),
            "#[rustfmt::skip]".into(),
            format!("{visible} const {name}: [&str; {}] = [", settings.len()),
        ];
        lines.extend(settings.iter().map(|setting| format!("    \"{}\",", setting.name)));
        lines.push("];".into());
        lines
    };
    let mut lines = list("CAMPAIGN", true, "a candidate", &schema.candidate);
    lines.extend(list("COMMON", false, "every store", &schema.store));
    lines.extend(list("INIT", false, "a preparation, besides those of the store", &schema.init));
    for store in Store::ALL {
        let settings: Vec<_> =
            schema.parameter.iter().filter(|setting| setting.stores.contains(&store)).collect();
        let name = store.name();
        lines.push(format!("/// The parameters of a URL of {name}."));
        let constant = name.to_uppercase();
        lines.push("#[rustfmt::skip]".into());
        lines.push(format!("pub(super) const {constant}: [(&str, Kind); {}] = [", settings.len()));
        for Setting { name, kind, .. } in settings {
            let kind = match kind {
                Kind::Flag => "Flag",
                Kind::Length => "Length",
                _ => "Text",
            };
            lines.push(format!("    (\"{name}\", Kind::{kind}),"));
        }
        lines.push("];".into());
    }
    lines.push("/// Every parameter of a URL of each store.".into());
    lines.push("#[cfg(test)]".into());
    lines.push("#[rustfmt::skip]".into());
    lines.push(format!("pub(super) const OF_URLS: [(&str, &[&str]); {}] = [", Store::ALL.len()));
    for store in Store::ALL {
        let names: Vec<_> = of_url(schema, store).iter().map(|setting| setting.name.as_str()).collect();
        lines.push(format!("    ({:?}, &{names:?}),", store.name()));
    }
    lines.push("];".into());
    lines
}

/// A table of the reference.
fn table(settings: &[&Setting]) -> Vec<String> {
    let mut lines = vec!["| setting | meaning | by default |".to_owned(), "|---|---|---|".to_owned()];
    for setting in settings {
        let more =
            setting.more.as_ref().map_or(String::new(), |more| format!(". {}", more.trim_end_matches('.')));
        let default = setting.default.as_deref().unwrap_or_default();
        let example = setting.example.as_ref().map_or(String::new(), |example| format!("={example}"));
        let stores = if setting.example.is_some() { String::new() } else { setting.of_stores() };
        let meaning = setting.meaning_after(&stores);
        lines.push(format!("| `{}{example}` | {meaning}{more} | {default} |", setting.name));
    }
    lines
}

/// Every setting that a store's URL can have.
fn of_url(schema: &Schema, store: Store) -> Vec<&Setting> {
    let own = schema.parameter.iter().filter(|setting| setting.stores.contains(&store));
    own.chain(schema.store.iter().filter(|setting| setting.urls.contains(&store))).collect()
}

/// A table of every parameter of a store's URL.
fn parameters(schema: &Schema, store: Store) -> Vec<String> {
    table(&of_url(schema, store))
}

/// A table of the URL's parameters in the documentation of Rust, and the documentation of the setters or fields.
fn in_rust(schema: &Schema, store: Store, item: fn(&str) -> String) -> Vec<Part> {
    // Only a connection to NATS has settings that depend on the lease.
    let more = schema.store.iter().filter(|setting| store == Store::Nats && setting.name == "expected_lease");
    let settings = of_url(schema, store).into_iter().chain(more);
    let settings = settings.filter(|setting| !setting.by_hand.contains(&Language::Rust));
    let parts = settings.map(|setting| documents_setter(setting, item(setting.rust())));
    let lines = parameters(schema, store).into_iter().map(|line| format!("/// {line}"));
    [Part::Between("parameters", lines.collect())].into_iter().chain(parts).collect()
}

fn documents_setter(setting: &Setting, item: String) -> Part {
    Part::Documents(item, doc(&setting.own_text(), SLASHES, WIDTH - 4))
}
