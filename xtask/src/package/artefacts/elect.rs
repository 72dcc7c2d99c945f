//! Elections with an artefact on every store. Each program prints the stores of its package, then the time of each first
//! term.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::super::{cli, node as npm};
use super::stores::{AUTHORITIES, Servers, Store};
use super::{Artefact, Package, copy_into};
use crate::shell::{self, say};
use crate::{kotlin, python};

/// The schemes of the stores; Kafka's is in the packages that have it.
const ALL: [&str; 5] = ["memory", "sqlite", "nats", "etcd", "kafka"];

const PYTHON: &str = r#"
import asyncio, incumbent, json, sys, time

async def lead(url, new):
    if new:
        await incumbent.init(url, new=True)
    began = time.monotonic()
    async with await incumbent.connect(url) as store:
        async with store.campaign("jobs", name="worker-7", splay=0) as candidate:
            async for term in candidate.terms():
                async with term:
                    assert candidate.is_leader
                    return time.monotonic() - began

async def main():
    print(*incumbent.STORES, flush=True)
    for store in json.loads(sys.argv[1]):
        print(1000 * await lead(store["url"], store["is_new"]), flush=True)

asyncio.run(main())
"#;

const NODE: &str = "
import { connect, init, STORES } from 'incumbent';

async function lead(url, isNew) {
  if (isNew) await init(url, { new: true });
  const began = performance.now();
  const store = await connect(url);
  const candidate = await store.campaign('jobs', { name: 'worker-7', splay: 0 });
  for await (const term of candidate.terms()) {
    if (!candidate.isLeader) throw new Error(`no leader in ${term.token}`);
    break;
  }
  const took = performance.now() - began;
  await store.close();
  return took;
}

console.log(STORES.join(' '));
for (const store of JSON.parse(process.argv[2])) {
  console.log(await lead(store.url, store.is_new));
}
";

const JAVA: &str = r#"
import static incumbent.Async.*;

import incumbent.CampaignSettings;
import incumbent.InitSettings;
import incumbent.Store;
import java.time.Duration;

class Elections {
    public static void main(String[] stores) {
        System.out.println(String.join(" ", Store.STORES));
        for (int at = 0; at < stores.length; at += 2) {
            if (stores[at + 1].equals("true")) {
                var settings = new InitSettings();
                settings.setNew(true);
                init(stores[at], settings).join();
            }
            long began = System.nanoTime();
            var store = connect(stores[at]).join();
            var settings = new CampaignSettings().name("worker-7").splay(Duration.ZERO);
            try (var hold = nextTerm(campaign(store, "jobs", settings).join()).join().orElseThrow()) {
                if (!hold.getTerm().isCurrent()) throw new AssertionError("no leader");
            }
            System.out.println((System.nanoTime() - began) / 1e6);
            close(store).join();
        }
    }
}
"#;

/// What an artefact lists as its stores, and the time of the first term on each.
pub(super) type Elected = (Vec<String>, Vec<(String, Duration)>);

/// Elects on every store with an artefact, installed in an environment that has nothing else.
pub(super) fn everywhere(artefact: &Artefact, library: &Path, servers: &Servers) -> Result<Elected> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let authority = servers.authority();
    let kafka = artefact.linux.has_kafka();
    let stores = |unique, authority| servers.stores(unique, scratch.path(), authority, kafka);
    let elected = match artefact.package {
        Package::Python if artefact.linux.is_musl() => return Ok((Vec::new(), Vec::new())),
        Package::Python => {
            // The authority is known by the variable of OpenSSL.
            let stores = stores("python", None);
            let interpreters = python::interpreters()?;
            let environment = interpreters.first().context("no interpreter")?.fresh("artefacts")?;
            environment.install(&["--no-deps", "--no-index", python::text(&artefact.file)?])?;
            let mut python = environment.python();
            python.args(["-c", PYTHON, &serde_json::to_string(&stores)?]).env("SSL_CERT_FILE", &authority);
            printed(python.current_dir(&scratch), &stores)?
        }
        Package::Node if artefact.linux.is_musl() => return Ok((Vec::new(), Vec::new())),
        Package::Node => {
            let stores = stores("node", Some(&*authority));
            let archives = artefact.file.parent().unwrap_or(&artefact.file);
            let project = npm::project(artefact.linux.npm(), archives)?;
            fs::write(project.path().join("elections.js"), NODE).context("cannot write a program")?;
            let mut node = shell::command("node");
            node.arg("elections.js").arg(serde_json::to_string(&stores)?);
            printed(node.current_dir(&project), &stores)?
        }
        Package::Kotlin => {
            let stores = stores("jvm", Some(&*authority));
            let file = scratch.path().join("Elections.java");
            fs::write(&file, JAVA).context("cannot write a program")?;
            let mut java = kotlin::java(&artefact.file)?;
            java.arg(&file).args(stores.iter().flat_map(|one| [one.url.clone(), one.is_new.to_string()]));
            printed(java.current_dir(&scratch), &stores)?
        }
        _ => alone(library, servers, kafka)?,
    };
    let (listed, terms) = &elected;
    let expected = ALL.into_iter().filter(|store| *store != "kafka" || kafka);
    ensure!(listed.iter().eq(expected), "{} has the stores {}", artefact.name(), listed.join(", "));
    for (store, took) in terms {
        say!("{}: {store} after {} ms", artefact.name(), took.as_millis());
    }
    Ok(elected)
}

/// Runs a program that prints the stores of its package, and a time for each store.
fn printed(command: &mut Command, stores: &[Store]) -> Result<Elected> {
    let said = shell::output(command)?;
    let mut lines = said.lines();
    let listed = lines.next().unwrap_or_default().split(' ').map(str::to_owned).collect();
    let times: Vec<f64> = lines.map(str::parse).collect::<Result<_, _>>().with_context(|| said.clone())?;
    ensure!(times.len() == stores.len(), "{} stores, and {said}", stores.len());
    let took = |millis: f64| Duration::from_secs_f64(millis / 1000.0);
    Ok((listed, stores.iter().zip(times).map(|(store, millis)| (store.name.into(), took(millis))).collect()))
}

/// Elects with the static binary in a folder that has nothing else but the certificates of authorities.
fn alone(binary: &Path, servers: &Servers, kafka: bool) -> Result<Elected> {
    let root = tempfile::tempdir().context("no temporary folder")?;
    let program = copy_into(binary, root.path())?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("cannot make it executable")?;
    let authorities = root.path().join(AUTHORITIES);
    fs::create_dir_all(authorities.parent().unwrap_or(root.path())).context("cannot make a folder")?;
    fs::copy(servers.authority(), &authorities).context("cannot copy the certificate")?;
    let incumbent = |words: &[&str]| {
        let mut command = cli::in_root(root.path());
        command.arg("/incumbent").args(words).env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        command
    };
    let version = shell::output(&mut incumbent(&["--version"]))?;
    let listed = version.lines().find_map(|line| line.strip_prefix("stores: ")).unwrap_or_default();
    let listed = listed.split(", ").map(str::to_owned).collect();
    let mut terms = Vec::new();
    for Store { name, url, is_new } in servers.stores("cli", Path::new("/"), None, kafka) {
        if name == "memory" {
            // It is shared with no other process, so `run` refuses it.
            continue;
        }
        if is_new {
            shell::output(&mut incumbent(&["init", "--store", &url, "--new"]))?;
        }
        let words =
            ["run", "--store", &url, "--key", "jobs", "--splay", "0s", "--", "/incumbent", "--version"];
        terms.push((name.to_owned(), first_line(&mut incumbent(&words))?));
    }
    Ok((listed, terms))
}

/// The time from a command's start to the first line of its output.
fn first_line(command: &mut Command) -> Result<Duration> {
    let began = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start it")?;
    let output = child.stdout.take().context("it has no output")?;
    let line = BufReader::new(output).lines().next().transpose()?;
    let took = began.elapsed();
    let ended = child.wait_with_output()?;
    match line {
        Some(_) if ended.status.success() => Ok(took),
        _ => bail!("{:?} ended with {}: {}", command, ended.status, String::from_utf8_lossy(&ended.stderr)),
    }
}
