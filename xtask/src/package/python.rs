//! The wheel of this platform.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::python::{self, Profile};
use crate::shell;

/// An election in memory, and the version that is installed.
const TRIAL: &str = r#"
import asyncio, importlib.metadata, incumbent

async def main():
    async with await incumbent.connect("memory:") as store:
        async with store.campaign("jobs", name="worker-7", splay=0) as candidate:
            async for term in candidate.terms():
                async with term:
                    print(importlib.metadata.version("incumbent"), candidate.is_leader, len(term.token))
                break

asyncio.run(main())
"#;

/// Builds the wheel, and runs an election with it in a new environment. Returns the wheel's path.
pub(crate) fn package() -> Result<PathBuf> {
    let interpreters = python::interpreters()?;
    let interpreter = interpreters.first().context("no interpreter")?;
    shell::progress("the wheel");
    let built = python::wheel(interpreter, Profile::Release)?;
    let wheel = super::fresh("python")?.join(built.file_name().context("a wheel has a name")?);
    fs::copy(&built, &wheel).with_context(|| format!("cannot copy {}", built.display()))?;
    shell::progress(format!("an election on CPython {}", interpreter.name()));
    let environment = interpreter.fresh("package")?;
    environment.install(&["--no-deps", python::text(&wheel)?])?;
    // Not in the repository, where the package's source lies.
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let said = shell::output(environment.python().current_dir(&elsewhere).args(["-c", TRIAL]))?;
    let expected = format!("{} True 33\n", env!("CARGO_PKG_VERSION"));
    ensure!(said == expected, "the wheel's election printed {said:?}, not {expected:?}");
    Ok(wheel)
}
