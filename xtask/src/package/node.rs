//! The npm packages: the main one, and that with the compiled part for this platform.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell;
use crate::test::node;

/// An election in memory, and the version that is installed.
const TRIAL: &str = "
import { connect } from 'incumbent';
import { createRequire } from 'node:module';
const { version } = createRequire(import.meta.url)('incumbent/package.json');
const store = await connect('memory:');
const candidate = await store.campaign('jobs', { name: 'worker-7', splay: 0 });
for await (const term of candidate.terms()) {
  console.log(version, candidate.isLeader, term.token.length);
  break;
}
await store.close();
";

/// Builds the packages, and runs an election with them in an empty project. Returns the folder of their archives.
pub(crate) fn package() -> Result<PathBuf> {
    node::there_is_node()?;
    // The addon of an earlier build may be that of the tests.
    node::build(&["build", "platforms"])?;
    let archives = super::fresh("node")?;
    let packages = node::folder().join("npm");
    let mut pack = shell::command("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(&archives);
    for folder in fs::read_dir(&packages).with_context(|| format!("cannot read {}", packages.display()))? {
        pack.arg(folder?.path());
    }
    shell::output(&mut pack)?;

    shell::progress("an election in an empty project");
    let project = tempfile::tempdir().context("no temporary folder")?;
    let npm = |words: &[&str]| {
        let mut npm = shell::command("npm");
        npm.args(words).current_dir(&project);
        npm
    };
    fs::write(project.path().join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")
        .context("cannot write a package.json")?;
    let mut install = npm(&["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"]);
    // The packages of other platforms are not published yet.
    install.arg("--omit=optional");
    for archive in fs::read_dir(&archives)? {
        install.arg(archive?.path());
    }
    shell::output(&mut install)?;
    fs::write(project.path().join("trial.js"), TRIAL).context("cannot write a program")?;
    let said = shell::output(shell::command("node").arg("trial.js").current_dir(&project))?;
    let expected = format!("{} true 33\n", env!("CARGO_PKG_VERSION"));
    ensure!(said == expected, "the packages' election printed {said:?}, not {expected:?}");
    Ok(archives)
}
