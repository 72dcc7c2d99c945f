//! Builds and runs each project of docs/guide/bundling.md, which is about bundlers, with the packed npm package.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, say};

/// The packages that the projects install.
const WANTED: [&str; 6] = [
    "esbuild@0.28.2",
    "webpack@5.112.2",
    "webpack-cli@7.3.1",
    "next@16.4.6",
    "react@19.3.1",
    "react-dom@19.3.1",
];

/// The time within which a server must answer as a leader.
const LIMIT: Duration = Duration::from_secs(60);

/// Builds and runs the projects of the page with these packages, given by name and archive.
pub(super) fn try_out(packages: &[(String, PathBuf)]) -> Result<()> {
    let project = tempfile::tempdir().context("no temporary folder")?;
    let project = project.path();
    fs::write(project.join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")
        .context("cannot write a package.json")?;
    let page =
        fs::read_to_string(shell::root().join("docs/guide/bundling.md")).context("cannot read the page")?;
    let mut commands = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').context("a block has no text")?;
        if language == "sh" {
            commands.push(text.to_owned());
            continue;
        }
        let (first, _) = text.split_once('\n').unwrap_or((text, ""));
        let name = first.strip_prefix("// ").with_context(|| format!("a file has no name: {first}"))?;
        let file = project.join(name);
        fs::create_dir_all(file.parent().unwrap_or(project))?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let [esbuild] = &commands[..] else { bail!("the page has {} commands", commands.len()) };
    shell::progress("esbuild, webpack and Next, from npm");
    let mut install = shell::command("npm");
    install.current_dir(project).args(["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"]);
    shell::output(install.args(WANTED))?;
    // The packages are unpacked as npm would do it. npm itself would look for the optional packages of all platforms,
    // which are not published yet.
    for (name, archive) in packages {
        let folder = project.join("node_modules").join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut unpack = shell::command("tar");
        shell::output(unpack.arg("-xzf").arg(archive).args(["--strip-components", "1", "-C"]).arg(&folder))?;
    }

    shell::progress("a bundle by esbuild");
    shell::output(shell::command("sh").args(["-c", esbuild]).current_dir(project))?;
    leads(project)?;
    shell::progress("a bundle by webpack");
    shell::output(shell::command("npx").arg("webpack").current_dir(project))?;
    leads(project)?;
    shell::progress("a server by Next");
    let mut build = shell::command("npx");
    shell::output(build.args(["next", "build"]).env("NEXT_TELEMETRY_DISABLED", "1").current_dir(project))?;
    serves(project)
}

/// Runs the bundle, and then removes the bundle.
fn leads(project: &Path) -> Result<()> {
    let said = shell::output(shell::command("node").arg("out/app.mjs").current_dir(project))?;
    say!("{}", said.trim());
    ensure!(said.starts_with("leading with token "), "the bundle printed {said:?}");
    fs::remove_dir_all(project.join("out")).context("cannot remove the bundle")
}

/// Runs the server that Next has built, and sends it requests until it leads.
fn serves(project: &Path) -> Result<()> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut server = shell::command("node");
    server.arg("server.js").current_dir(project.join(".next/standalone"));
    server.env("PORT", port.to_string()).env("HOSTNAME", "127.0.0.1");
    let _server = Server::start(server)?;
    let began = Instant::now();
    loop {
        let said = asked(port).unwrap_or_default();
        if said.contains(r#"{"isLeader":true}"#) {
            say!("{}", said.lines().last().unwrap_or_default());
            return Ok(());
        }
        ensure!(began.elapsed() < LIMIT, "Next's server answered {said:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The answer of the route.
fn asked(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(stream, "GET /leader HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A server, which is killed when this value is dropped.
struct Server(Child);

impl Server {
    /// Starts a server, and waits until it reports that it listens.
    fn start(mut command: Command) -> Result<Self> {
        let mut server = Self(command.stdout(Stdio::piped()).spawn().context("cannot start Next's server")?);
        let output = server.0.stdout.take().context("the server has no output")?;
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next().transpose()? {
            if line.contains("Ready") {
                // The server's later output is not read, but is short enough for the pipe.
                return Ok(server);
            }
        }
        bail!("Next's server ended before it was ready")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
