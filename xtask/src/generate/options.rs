//! The options of the command line, and the settings of a preparation in Rust and for the bindings.

use anyhow::{Result, bail};

use super::Part;
use super::schema::{Kind, Schema, Setting};
use super::settings::{SLASHES, WIDTH, doc};

/// The settings of a candidate whose options have a form or place of their own, so that only their help is generated.
const PLACED: [&str; 6] = ["name", "preset", "lease", "splay", "drain", "metadata"];

/// Every file with generated parts.
pub(super) fn files(schema: &Schema) -> Result<Vec<(&'static str, Vec<Part>)>> {
    let (placed, timing): (Vec<&Setting>, Vec<&Setting>) =
        schema.candidate.iter().partition(|setting| PLACED.contains(&setting.name.as_str()));
    let (options, arguments): (Vec<&Setting>, Vec<&Setting>) =
        schema.init.iter().partition(|setting| !setting.is_no_option);
    let of_run = |setting: &&&Setting| !matches!(setting.name.as_str(), "lease" | "preset");
    let (of_run, of_lease): (Vec<&Setting>, Vec<&Setting>) =
        placed.into_iter().partition(|setting| of_run(&setting));
    let helped = |visible: &str, settings: &[&Setting]| -> Vec<Part> {
        let part =
            |setting: &&Setting| Part::Documents(format!("{visible}{}: ", setting.name), help(setting));
        settings.iter().map(part).collect()
    };
    let of_store: Vec<_> = schema.store.iter().filter(|setting| !setting.is_no_option).collect();

    let mut run = helped("pub(super) ", &of_run);
    run.push(Part::Between("timing", fields(&timing, ", hide_short_help = true")?));
    run.push(Part::Between(
        "applied",
        applied(&timing, &|setting| match setting.kind {
            Kind::Lengths => format!("fixed_{}", setting.name),
            _ => setting.name.clone(),
        }),
    ));
    let mut init = helped("", &arguments);
    init.push(Part::Between("options", fields(&options, "")?));
    init.push(Part::Between("requirements", applied(&options, &|setting| setting.rust().to_owned())));
    Ok(vec![
        ("cli/src/run/args.rs", run),
        ("cli/src/lease.rs", helped("pub(crate) ", &of_lease)),
        ("cli/src/store.rs", helped("pub(crate) ", &of_store)),
        ("cli/src/init.rs", init),
        (
            "stores/seam/src/init.rs",
            vec![
                Part::Between("fields", requirements(&schema.init)?),
                Part::Between("setters", setters(&schema.init)?),
            ],
        ),
        ("bindings/ffi/src/settings/init.rs", vec![Part::Between("options", read(&schema.init)?)]),
    ])
}

/// The help of a setting's option.
fn help(setting: &Setting) -> Vec<String> {
    let text = setting.text();
    let text = match &setting.option {
        Some(option) => format!("{text} {option}"),
        None => text.trim_end_matches('.').to_owned(),
    };
    doc(&text, SLASHES, WIDTH - 4)
}

/// The fields of a structure of options.
fn fields(settings: &[&Setting], more: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for setting in settings {
        let time = if setting.repeats { "crate::lease::interval" } else { "crate::lease::time" };
        let (kind, value, parser) = match setting.kind {
            Kind::Text => ("Option<String>", "TEXT", ""),
            Kind::File => ("Option<String>", "FILE", ""),
            Kind::Flag => ("bool", "", ""),
            Kind::Whole => ("Option<u32>", "NUMBER", ""),
            Kind::Size => ("Option<u64>", "SIZE", "bytes"),
            Kind::Length => ("Option<Duration>", "TIME", time),
            Kind::Lengths => ("Option<Duration>", "TIME", "crate::lease::interval"),
            Kind::WinDelay => ("Option<WinDelay>", "RULE", "win_delay"),
            Kind::Preset | Kind::Texts => bail!("the option --{} is written by hand", setting.name),
        };
        let mut attribute = String::from("long");
        for (key, value) in [
            ("value_name", if value.is_empty() { String::new() } else { format!("{value:?}") }),
            ("value_parser", parser.to_owned()),
            ("visible_alias", setting.alias.as_ref().map_or(String::new(), |alias| format!("{alias:?}"))),
        ] {
            if !value.is_empty() {
                attribute += &format!(", {key} = {value}");
            }
        }
        lines.extend(help(setting));
        lines.extend([format!("#[arg({attribute}{more})]"), format!("{}: {kind},", setting.name)]);
    }
    Ok(lines)
}

/// The statements that set what the options of the command line ask for.
fn applied(settings: &[&Setting], setter: &dyn Fn(&Setting) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in settings {
        let (name, setter) = (&setting.name, setter(setting));
        let borrowed = if matches!(setting.kind, Kind::Text | Kind::File) { "&" } else { "" };
        match setting.kind {
            Kind::Flag => lines.push(format!("options = options.{setter}(self.{name});")),
            _ => lines.extend([
                format!("if let Some({name}) = {borrowed}self.{name} {{"),
                format!("    options = options.{setter}({name});"),
                "}".into(),
            ]),
        }
    }
    lines
}

/// The type of a preparation's setting in Rust, and the type that its setter takes.
fn rust_types(setting: &Setting) -> Result<(&'static str, &'static str)> {
    Ok(match setting.kind {
        Kind::Text | Kind::File => ("Option<String>", "impl Into<String>"),
        Kind::Flag => ("bool", "bool"),
        Kind::Whole => ("Option<u32>", "u32"),
        Kind::Size => ("Option<u64>", "u64"),
        Kind::Length => ("Option<Duration>", "Duration"),
        _ => bail!("no preparation has a setting of the type of {}", setting.name),
    })
}

/// The fields of `InitOptions`.
fn requirements(settings: &[Setting]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for setting in settings {
        lines.extend(doc(&setting.text(), SLASHES, WIDTH - 4));
        lines.push(format!("pub {}: {},", setting.rust(), rust_types(setting)?.0));
    }
    Ok(lines)
}

/// The setters of `InitOptions`.
fn setters(settings: &[Setting]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (place, setting) in settings.iter().enumerate() {
        let (name, (field, taken)) = (setting.rust(), rust_types(setting)?);
        let value = match (field, taken) {
            ("bool", _) => name.to_owned(),
            (_, "impl Into<String>") => format!("Some({name}.into())"),
            _ => format!("Some({name})"),
        };
        if place > 0 {
            lines.push(String::new());
        }
        lines.extend([
            format!("/// Sets the requirement [`{name}`](#structfield.{name})."),
            format!("pub fn {name}(mut self, {name}: {taken}) -> Self {{"),
            format!("    self.{name} = {value};"),
            "    self".into(),
            "}".into(),
        ]);
    }
    Ok(lines)
}

/// The statements with which the bindings read the settings of a preparation.
fn read(settings: &[Setting]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for setting in settings {
        let (name, setter) = (&setting.name, setting.rust());
        let (reader, value) = match setting.kind {
            Kind::Text | Kind::File => ("text", name.clone()),
            Kind::Flag => ("flag", name.clone()),
            Kind::Whole => ("whole", name.clone()),
            Kind::Size => ("whole", format!("{name}.into()")),
            Kind::Length => ("length", name.clone()),
            _ => bail!("no preparation has a setting of the type of {name}"),
        };
        lines.extend([
            format!("if let Some({name}) = fields.{reader}({name:?})? {{"),
            format!("    options = options.{setter}({value});"),
            "}".into(),
        ]);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn row(text: &str) -> Setting {
        let mut rows: HashMap<String, Setting> = toml::from_str(&format!("row = {text}")).unwrap();
        rows.remove("row").unwrap()
    }

    #[test]
    fn an_option_is_a_field_with_its_help_and_the_parser_of_its_type() {
        let pause = row(
            r#"{name = "pause", type = "length", meaning = "The pause", default = "1 s", option = "Short", repeats = true}"#,
        );
        let new = row(
            r#"{name = "new", type = "flag", meaning = "Whether it is new", alias = "first", rust = "unused"}"#,
        );
        let expected = [
            "/// The pause; by default 1 s. Short",
            r#"#[arg(long, value_name = "TIME", value_parser = crate::lease::interval)]"#,
            "pause: Option<Duration>,",
            "/// Whether it is new",
            r#"#[arg(long, visible_alias = "first")]"#,
            "new: bool,",
        ];
        assert_eq!(fields(&[&pause, &new], "").unwrap(), expected);
        let expected = [
            "if let Some(pause) = self.pause {",
            "    options = options.pause(pause);",
            "}",
            "options = options.unused(self.new);",
        ];
        assert_eq!(applied(&[&pause, &new], &|setting| setting.rust().to_owned()), expected);
        let texts = row(r#"{name = "labels", type = "texts", meaning = "Labels"}"#);
        let error = fields(&[&texts], "").unwrap_err();
        assert_eq!(error.to_string(), "the option --labels is written by hand");
    }

    #[test]
    fn a_setting_of_a_preparation_has_a_field_a_setter_and_a_reader() {
        let settings = [
            row(r#"{name = "new", type = "flag", meaning = "Whether it is new", rust = "unused"}"#),
            row(r#"{name = "space", type = "size", meaning = "The space"}"#),
        ];
        assert_eq!(
            requirements(&settings).unwrap(),
            ["/// Whether it is new.", "pub unused: bool,", "/// The space.", "pub space: Option<u64>,"]
        );
        let setters = setters(&settings).unwrap();
        assert_eq!(
            setters[1..3],
            ["pub fn unused(mut self, unused: bool) -> Self {", "    self.unused = unused;"]
        );
        assert_eq!(
            setters[7..9],
            ["pub fn space(mut self, space: u64) -> Self {", "    self.space = Some(space);"]
        );
        let expected = [
            "if let Some(new) = fields.flag(\"new\")? {",
            "    options = options.unused(new);",
            "}",
            "if let Some(space) = fields.whole(\"space\")? {",
            "    options = options.space(space.into());",
            "}",
        ];
        assert_eq!(read(&settings).unwrap(), expected);
    }
}
