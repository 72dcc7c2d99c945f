//! Apache Kafka, in the versions that the tests use: jars from Maven Central, and Java to run them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use incumbent_testkit::kafka::{Kafka, Options};
use incumbent_testkit::tools::{self, KafkaFiles, KafkaVersion};

use super::maven;
use crate::shell;

/// Finds or installs a version of Kafka.
pub(super) fn provide(version: KafkaVersion) -> Result<(PathBuf, String)> {
    maven::java()?;
    let folder = tools::folder().join("kafka").join(version.number());
    // The archive of classes is made last. So if it exists, everything else is complete.
    if !KafkaFiles::find(version).is_ok_and(|files| files.archive().is_file()) {
        install(version, &folder).with_context(|| format!("Kafka {version}"))?;
    }
    Ok((folder, format!("Kafka {version}")))
}

fn install(version: KafkaVersion, folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    shell::progress(format!("Kafka {version} from Maven Central"));
    let versions = [("kafka", version.number())];
    maven::copy_jars("lab/interop/kafka/broker", &versions, &folder.join("jars"))?;
    let files = KafkaFiles::find(version).map_err(anyhow::Error::msg)?;
    let java = || {
        let mut command = shell::command("java");
        command.args(["-XX:TieredStopAtLevel=1", "-cp"]).arg(files.class_path());
        command
    };
    let reported = shell::output(java().args(["kafka.Kafka", "--version"]))?;
    let number = reported.split_whitespace().next();
    ensure!(number == Some(version.number()), "the jars are of {reported:?}");
    first_records(java(), &files)?;
    shell::progress(format!("archive the classes of Kafka {version}"));
    let written = folder.join("classes.new");
    Kafka::start_with(Options::new().version(version).recording(written.clone())).stop();
    fs::rename(&written, files.archive()).context("Java wrote no archive of classes")?;
    Ok(())
}

/// Stores the first records of a new cluster, which are the same for every broker. Formatting needs a Java process of
/// its own, which takes longer than a broker's start.
fn first_records(mut java: std::process::Command, files: &KafkaFiles) -> Result<()> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let settings = scratch.path().join("settings");
    let text = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\n\
         controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\n\
         log.dirs={}\n",
        scratch.path().join("data").display()
    );
    fs::write(&settings, text).context("cannot write Kafka's settings")?;
    java.args(["kafka.tools.StorageTool", "format", "--cluster-id", "aW5jdW1iZW50LXRlc3RzIQ", "--config"]);
    shell::output(java.arg(settings))?;
    fs::copy(scratch.path().join("data/bootstrap.checkpoint"), files.bootstrap())
        .context("Kafka's formatter wrote no first records")?;
    Ok(())
}
