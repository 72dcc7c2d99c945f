//! Deadlines do not depend on the wall clock: it is read for a few purposes only.

#![allow(clippy::expect_used, reason = "a test may panic; it says why")]

use std::fs;
use std::path::{Path, PathBuf};

/// The incarnation of a SQLite or memory store, and of a prefix of etcd, is the time of its creation. A candidate in a
/// queue of etcd writes when it became one, for people who list candidates. A survey of a bucket reports how far the
/// servers' clock is from this machine's. A SQLite file records when it was written, to compare with the inode's time
/// of change: a difference begins a new incarnation, which only makes candidates wait. On Kafka a heartbeat contains it
/// in goNELI's form, the first claim in a topic numbers the incarnation by it, and an observer takes no old heartbeat
/// for a leader's. goNELI's default name contains it too. It is also mixed into a campaign's nonce, in case random
/// numbers repeat.
const ALLOWED: [&str; 9] = [
    "neli/src/config.rs",
    "runtime/src/driver/candidates.rs",
    "runtime/src/driver/entry.rs",
    "stores/etcd/src/keys.rs",
    "stores/kafka/src/cluster.rs",
    "stores/nats/src/admin/survey.rs",
    "stores/seam/src/link.rs",
    "stores/seam/src/local.rs",
    "stores/sqlite/src/identity.rs",
];

/// The ways in which the crates that we use read the wall clock.
const WAYS: [&str; 4] = ["SystemTime", "now_utc", "CLOCK_REALTIME", "gettimeofday"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_wall_clock_names_and_dates_a_store_of_ours_and_is_compared_with_the_servers_and_no_more() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["core", "runtime", "neli"] {
        sources(&root.join(folder).join("src"), &mut files);
    }
    for store in fs::read_dir(root.join("stores")).expect("the folder of stores") {
        let folder = store.expect("an entry").path().join("src");
        if folder.exists() {
            sources(&folder, &mut files);
        }
    }
    let mut readers: Vec<_> = files
        .iter()
        .filter(|file| {
            let source = fs::read_to_string(file).expect("a source");
            WAYS.iter().any(|way| source.contains(way))
        })
        .map(|file| file.strip_prefix(&root).expect("a file of the project").to_string_lossy().into_owned())
        .collect();
    readers.sort();
    assert_eq!(readers, ALLOWED);
}
