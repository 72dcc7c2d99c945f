//! The commands in the documentation of handlers and of services.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use incumbent_testkit::process::ChildGuard;

use crate::support::LIMIT;

/// The examples of a page that are written in `language`.
fn examples(page: &str, language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide").join(page);
    let text = fs::read_to_string(page).unwrap();
    let examples = text.split("```").skip(1).step_by(2);
    let wanted = |example: &str| example.strip_prefix(&format!("{language}\n")).map(str::to_string);
    examples.filter_map(wanted).collect()
}

#[test]
fn the_example_of_handlers_runs_as_it_is_written() {
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let [example] = &examples("elector.md", "sh")[..] else { panic!("one example") };
    let shell =
        Command::new("sh").args(["-c", example]).env("PATH", path).stdin(Stdio::null()).output().unwrap();
    assert!(shell.status.success(), "{shell:?}");
    assert_eq!(String::from_utf8_lossy(&shell.stderr), "on-won: begins\non-lost: ends\n");
}

#[test]
fn the_unit_of_systemd_is_one_where_systemd_can_say_so() {
    let [unit] = &examples("systemd.md", "ini")[..] else { panic!("one unit") };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mailer.service");
    // A missing program is an error too.
    let present =
        unit.replace("/usr/local/bin/incumbent", "/bin/sh").replace("/usr/local/bin/mailer", "/bin/sh");
    assert_eq!(present.matches("/bin/sh").count(), 2);
    fs::write(&file, present).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut verify = match ChildGuard::spawn(verify) {
        Ok(verify) => verify,
        Err(error) => {
            eprintln!("there is no systemd-analyze here ({error}): nothing to test");
            return;
        }
    };
    let mut stderr = verify.take_stderr().unwrap();
    let mut reported = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut reported).unwrap();
    assert!(verify.wait(LIMIT).success(), "{reported}");
    assert!(!reported.contains("mailer.service"), "{reported}");
}
