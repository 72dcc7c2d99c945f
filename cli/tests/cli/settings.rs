//! Settings from flags, the environment and a file, in that order.

use std::fs;
use std::process::Command;

use crate::support::{Ended, Running, Scratch, incumbent, json};

/// A folder with a store and a settings file, in which the program runs.
struct Place {
    scratch: Scratch,
}

impl Place {
    fn with(settings: &str) -> Self {
        let place = Self { scratch: Scratch::made() };
        fs::write(place.scratch.folder.path().join("incumbent.toml"), settings).unwrap();
        place
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = incumbent(arguments);
        command.current_dir(self.scratch.folder.path());
        command
    }

    #[track_caller]
    fn ended(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        Running::start(command).wait()
    }
}

#[track_caller]
fn lease(ended: &Ended) -> f64 {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    json(&ended.stdout)["forecast"]["lease_ms"].as_f64().unwrap()
}

#[test]
fn a_flag_counts_before_the_environment_and_that_before_the_file() {
    let place = Place::with("store = \"sqlite:elections.db\"\nlease = \"6s\"\njson = true\n");
    assert_eq!(lease(&place.ended(&["doctor"], &[])), 6000.0);
    let environment = [("INCUMBENT_LEASE", "7s")];
    assert_eq!(lease(&place.ended(&["doctor"], &environment)), 7000.0);
    assert_eq!(lease(&place.ended(&["doctor", "--lease", "8s"], &environment)), 8000.0);
}

#[test]
fn a_table_of_the_file_is_for_one_command() {
    let place = Place::with(
        "store = \"sqlite:elections.db\"\njson = true\n[doctor]\nlease = \"6s\"\n[run]\nlease = \"9s\"",
    );
    assert_eq!(lease(&place.ended(&["doctor"], &[])), 6000.0);
}

#[test]
fn a_list_for_an_option_that_takes_one_value_is_refused_with_its_line() {
    let place = Place::with("store = \"sqlite:elections.db\"\nkey = [\"a\", \"b\"]");
    let ended = place.ended(&["run", "--", "true"], &[]);
    let says = "incumbent: incumbent.toml line 2: key takes one value, not a list\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), says));
    // The option may be given several times.
    let place = Place::with("store = \"sqlite:elections.db\"\n[run]\nmetadata = [\"a=b\", \"c=d\"]");
    let ended = place.ended(&["run", "--key", "jobs", "--", "true"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_variable_that_cannot_be_read_is_named() {
    use std::os::unix::ffi::OsStrExt as _;

    let place = Place::with("store = \"sqlite:elections.db\"");
    let flag = place.ended(&["doctor"], &[("INCUMBENT_FAIL_FAST", "1")]);
    let says = "incumbent: INCUMBENT_FAIL_FAST: invalid value '1' for '--fail-fast'; write true or false\n";
    assert_eq!((flag.code, flag.stderr.as_str()), (Some(2), says));
    let mut command = place.command(&["run", "--key", "jobs", "--", "true"]);
    command.env("INCUMBENT_NAME", std::ffi::OsStr::from_bytes(b"\xff"));
    let ended = Running::start(command).wait();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), "incumbent: INCUMBENT_NAME is not UTF-8\n"));
}

#[test]
fn the_file_may_be_named_by_a_flag_or_the_environment() {
    let place = Place::with("this is not looked at");
    let other = place.scratch.folder.path().join("other.toml");
    fs::write(&other, "store = \"sqlite:elections.db\"\njson = true\nlease = \"6s\"").unwrap();
    assert_eq!(lease(&place.ended(&["doctor", "--config", "other.toml"], &[])), 6000.0);
    assert_eq!(lease(&place.ended(&["doctor"], &[("INCUMBENT_CONFIG", "other.toml")])), 6000.0);
    let missing = place.ended(&["doctor", "--config", "none.toml"], &[]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.starts_with("incumbent: the settings in none.toml cannot be read"), "{missing:?}");
}

#[test]
fn a_required_setting_may_come_from_the_file() {
    let place = Place::with(
        "store = \"sqlite:elections.db\"\n[run]\nkey = \"jobs\"\nname = \"ada\"\npreset = \"fast\"",
    );
    let ran = place.ended(&["run", "--", "sh", "-c", "echo $INCUMBENT_KEY $INCUMBENT_NAME"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "jobs ada\n"), "{ran:?}");
}

#[test]
fn errors_name_the_source_of_the_setting() {
    let place = Place::with("store = \"sqlite:elections.db\"\n\npreset = \"hasty\"\n");
    let refusal = |arguments: &[&str], environment: &[(&str, &str)]| {
        let ended = place.ended(arguments, environment);
        assert!(matches!(ended.code, Some(2 | 4)), "{ended:?}");
        ended.stderr
    };
    let said = refusal(&["doctor"], &[]);
    assert!(
        said.starts_with("incumbent: incumbent.toml line 3: invalid value 'hasty' for '--preset"),
        "{said}"
    );
    let fine = ("INCUMBENT_PRESET", "fast");
    let said = refusal(&["doctor"], &[fine, ("INCUMBENT_LEASE", "soon")]);
    assert!(said.starts_with("incumbent: INCUMBENT_LEASE: invalid value 'soon' for '--lease"), "{said}");
    let run = ["run", "--key", "jobs", "--", "true"];
    let said = refusal(&run, &[fine, ("INCUMBENT_LEASE", "200ms")]);
    assert!(
        said.starts_with("incumbent: INCUMBENT_LEASE: --lease is 200ms, and must be at least 1s"),
        "{said}"
    );
    let run = ["run", "--key", "jobs", "--lease", "5000ms", "--skew", "1s", "--", "true"];
    let said = refusal(&run, &[fine]);
    assert!(said.starts_with("incumbent: --lease is 5000ms, and must be at least 6.6s, "), "{said}");
    assert!(said.contains("lower --skew, --drift-ppm and --slack if"), "{said}");
    let said =
        refusal(&["status", "jobs"], &[("INCUMBENT_PRESET", "fast"), ("INCUMBENT_STORE", "redis://x")]);
    assert!(said.starts_with("incumbent: INCUMBENT_STORE: no store has the scheme \"redis\""), "{said}");
    // The user has just typed this flag, so clap's own message is enough.
    let said = refusal(&["doctor", "--lease", "soon"], &[fine]);
    assert!(said.starts_with("error: invalid value 'soon' for '--lease"), "{said}");
}

#[test]
fn what_cannot_go_together_names_the_source_of_the_setting_too() {
    let place = Place::with("lease = \"5s\"");
    let demo = ["demo", "--in-process", "--for", "1s"];
    let refused = place.ended(&demo, &[("INCUMBENT_STORE", "sqlite:elections.db")]);
    let said =
        "incumbent: INCUMBENT_STORE: the argument '--in-process' cannot be used with '--store <URL>'\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), said));
}

#[test]
fn a_file_that_cannot_be_is_refused_with_the_line_and_what_there_is() {
    let refused = |settings: &str| {
        let ended = Place::with(settings).ended(&["status", "--all"], &[]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.stderr
    };
    let said = refused("store = \"memory:\"\nleese = \"5s\"\n");
    assert!(
        said.starts_with("incumbent: incumbent.toml line 2: no command has a setting \"leese\""),
        "{said}"
    );
    assert!(said.contains("the settings are ") && said.contains("lease"), "{said}");
    let said = refused("[rum]\nlease = \"5s\"\n");
    assert!(said.starts_with("incumbent: incumbent.toml line 2: there is no command \"rum\""), "{said}");
    let said = refused("[evict]\nyes = true\n");
    assert!(said.contains("`evict` does not have a setting \"yes\""), "{said}");
    let said = refused("store = \n");
    assert!(said.starts_with("incumbent: incumbent.toml line 1: "), "{said}");
}
