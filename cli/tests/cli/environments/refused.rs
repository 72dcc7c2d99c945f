//! Each form of `incumbent run`, in each environment, with a store that is full, and with one that refuses access.
//!
//! Kafka's full disk is not tested here: a broker whose disk is full stops, so that store is simply unreachable.

use std::path::PathBuf;

use incumbent_testkit::nats::{NatsServer, Options};

use super::*;
use crate::support::LIMIT;

/// A store that accepts no candidate, and the expected end of each candidate.
struct Refused<'a> {
    what: &'a str,
    store: &'a str,
    more: &'a [&'a str],
    /// The program that runs the candidate, as another user.
    by: &'a [&'a str],
    code: i32,
    /// Texts that must appear, each within a single line.
    says: &'a [&'a str],
}

const AS_USER: [&str; 6] = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"];
/// A time in which a candidate can try, and can report why it is not elected.
const FOR_A_WHILE: [&str; 2] = ["--wait", "20s"];

impl Refused<'_> {
    /// Starts each form in each place on the store.
    #[track_caller]
    fn by_each_form(&self) {
        let Self { what, store, more, by, code, says } = self;
        let installed = Installed::new();
        let mut places = installed.places();
        if !by.is_empty() && installed.limits.borrow().is_empty() {
            // Another user's already.
            places.retain(|place| *place != Place::Container);
        }
        let all = FORMS.into_iter().flat_map(|form| places.iter().map(move |place| (form, *place)));
        let start = |one| Candidate::start_by(by, &installed, one, store, more);
        let candidates: Vec<_> = all.map(start).collect();
        let schemas = schemas();
        for candidate in candidates {
            let which = format!("{what}: {:?} in {:?}", candidate.form, candidate.place);
            let ended = candidate.ends(&schemas);
            assert_eq!(ended.code, Some(*code), "{which}: {ended:#?}");
            for part in *says {
                assert!(
                    ended.stderr.lines().any(|line| line.contains(part)),
                    "{which}: no {part:?} in {ended:#?}"
                );
            }
        }
    }
}

/// A file system in memory of this many bytes, which is unmounted in the end; `None` if mounting is not permitted.
struct Mounted(TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(folder.path()).output();
        let is_mounted = mounted.is_ok_and(|mounted| mounted.status.success());
        if !is_mounted {
            eprintln!("nothing can be mounted here: nothing to test");
        }
        is_mounted.then(|| Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.0.path()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The kernel unmounts it later if a process still has a file open there.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn each_form_gives_up_a_bucket_that_is_full_wherever_it_runs() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let init = ["init", "--store", &store, "--lease", "60s", "--max-bytes", "64KiB", "--new"];
    assert_eq!(ended(&init).code, Some(0));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let bucket = async_nats::jetstream::new(client).get_key_value("ELECTIONS").await.unwrap();
        for (number, size) in [30_000, 30_000, 4_000, 1_000, 200, 50, 10].into_iter().enumerate() {
            let begun = Instant::now();
            while bucket
                .put(format!("filler-{number}-{:?}", begun.elapsed().as_nanos()), vec![b'x'; size].into())
                .await
                .is_ok()
            {
                assert!(begun.elapsed() < LIMIT, "it is never full");
            }
        }
    });
    let says = ["ELECTIONS\\\" is full (maximum bytes exceeded): raise its limits", "not elected within 20s"];
    Refused { what: "full", store: &store, more: &FOR_A_WHILE, by: &[], code: 8, says: &says }.by_each_form();
}

#[test]
fn each_form_gives_up_a_cluster_of_etcd_that_is_full_wherever_it_runs() {
    let server = EtcdServer::start(EtcdOptions::new().arguments(["--quota-backend-bytes=300000"]));
    let store = format!("etcd://{}/app", server.address());
    assert_eq!(ended(&["init", "--store", &store]).code, Some(0));
    let text = "x".repeat(100_000);
    let begun = Instant::now();
    while server.try_ctl(&["put", "filler", &text]).is_ok() {
        assert!(begun.elapsed() < LIMIT, "it is never full");
    }
    let says = ["NOSPACE", "not elected within 20s"];
    Refused { what: "full", store: &store, more: &FOR_A_WHILE, by: &[], code: 8, says: &says }.by_each_form();
}

#[test]
fn each_form_gives_up_a_file_on_a_full_disk_wherever_it_runs() {
    let Some(small) = Mounted::new("size=1m") else { return };
    let file = small.path("elections.db");
    let store = format!("sqlite:{}", file.display());
    assert_eq!(ended(&["init", "--store", &store, "--new"]).code, Some(0));
    // The kept part of the journal would fit into space that already exists, so the journal is removed.
    let _ = fs::remove_file(small.path("elections.db-journal"));
    let_all_write(small.0.path());
    assert!(fs::write(small.path("filler"), vec![0; 2 << 20]).is_err(), "it is never full");
    let says = [&*format!("{}: the disk is full; free some space", file.display()), "not elected within 20s"];
    Refused { what: "full", store: &store, more: &FOR_A_WHILE, by: &[], code: 8, says: &says }.by_each_form();
}

#[test]
fn each_form_gives_up_a_bucket_that_forbids_it_wherever_it_runs() {
    let config = "authorization { users: [ { user: admin, password: pw }, \
                  { user: guest, password: pw, permissions: { publish: \"nothing\", subscribe: \"_INBOX.>\" } } ] }";
    let server = NatsServer::start(Options::new().config(config));
    let at = |user: &str| format!("nats://{user}:pw@{}/ELECTIONS", server.address());
    assert_eq!(ended(&["init", "--store", &at("admin"), "--lease", "6s"]).code, Some(0));
    for (user, says) in [("guest", "a permission is missing: allow"), ("stranger", "refuses our credentials")]
    {
        let (store, says) = (at(user), [says]);
        Refused { what: user, store: &store, more: &FOR_A_WHILE, by: &[], code: 6, says: &says }
            .by_each_form();
    }
}

#[test]
fn each_form_gives_up_a_cluster_of_etcd_that_forbids_it_wherever_it_runs() {
    let server = EtcdServer::start(EtcdOptions::new());
    assert_eq!(
        ended(&["init", "--new", "--store", &format!("etcd://{}/app", server.address())]).code,
        Some(0)
    );
    for words in ["user add root:p", "user grant-role root root", "role add reader"] {
        server.ctl(&words.split(' ').collect::<Vec<_>>());
    }
    server.ctl(&["role", "grant-permission", "reader", "read", "app/", "--prefix"]);
    for words in ["user add reader:p", "user grant-role reader reader", "user add stranger:p", "auth enable"]
    {
        server.ctl(&words.split(' ').collect::<Vec<_>>());
    }
    let at = |user: &str| format!("etcd://{user}:p@{}/app", server.address());
    let address = server.address();
    let denied = format!("etcd at {address} does not let the user \\\"reader\\\" write the keys of ");
    let may_read = [&*denied, "permission denied; `incumbent permissions`", "not elected within 20s"];
    Refused { what: "read", store: &at("reader"), more: &FOR_A_WHILE, by: &[], code: 8, says: &may_read }
        .by_each_form();
    Refused {
        what: "read",
        store: &at("reader"),
        more: &["--fail-fast"],
        by: &[],
        code: 6,
        says: &may_read[..2],
    }
    .by_each_form();
    let nothing = [&*address, "does not let this user read the elections' keys"];
    Refused { what: "nothing", store: &at("stranger"), more: &FOR_A_WHILE, by: &[], code: 6, says: &nothing }
        .by_each_form();
}

#[test]
fn each_form_gives_up_a_file_of_another_user_wherever_it_runs() {
    let id = Command::new(AS_USER[0]).args(&AS_USER[1..]).arg("true").output();
    if !id.is_ok_and(|id| id.status.success()) {
        eprintln!("no other user can be had here: nothing to test");
        return;
    }
    let scratch = Scratch::made();
    let (folder, file) = (scratch.folder.path(), scratch.folder.path().join("elections.db"));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let forbidden = |what, says: &[&str]| {
        Refused { what, store: &scratch.url, more: &FOR_A_WHILE, by: &AS_USER, code: 6, says }.by_each_form();
    };
    mode(folder, 0o755);
    mode(&file, 0o644);
    forbidden("the file", &[file.to_str().unwrap(), "can only be read"]);
    mode(&file, 0o600);
    forbidden(
        "all of the file",
        &[file.to_str().unwrap(), "check the permissions of the file and of its folder"],
    );
    let _ = fs::remove_file(folder.join("elections.db-journal"));
    mode(&file, 0o666);
    forbidden("the folder", &[&format!("no journal can be made in {}", folder.display())]);
    mode(folder, 0o700);
    forbidden("all of the folder", &[folder.to_str().unwrap()]);
}

#[test]
fn each_form_gives_up_a_file_on_a_disk_that_can_only_be_read_wherever_it_runs() {
    let Some(disk) = Mounted::new("size=1m") else { return };
    let file = disk.path("elections.db");
    let store = format!("sqlite:{}", file.display());
    assert_eq!(ended(&["init", "--store", &store, "--new"]).code, Some(0));
    disk.read_only();
    let says = [&*format!("{}: the file can only be read", file.display())];
    Refused { what: "read-only", store: &store, more: &FOR_A_WHILE, by: &[], code: 6, says: &says }
        .by_each_form();
}

#[test]
#[cfg(feature = "kafka")]
fn each_form_gives_up_a_broker_that_forbids_it_wherever_it_runs() {
    use incumbent_testkit::kafka::security::{Entrance, USERS};

    let broker = Kafka::start_with(KafkaOptions::new().secured());
    for (name, password) in USERS {
        broker.admin().password(name, password);
    }
    let at = |user: &str| format!("kafka://{user}@{}/app", broker.entrance(Entrance::SaslInTheClear));
    let store = at("ada:s3cr3t");
    let forms = |more: &[&str], code, says: &[&str]| {
        Refused { what: "nothing", store: &store, more, by: &[], code, says }.by_each_form();
    };
    forms(&FOR_A_WHILE, 8, &["AUTHORIZATION_FAILED", "allow", ".neli", "not elected within 20s"]);
    forms(&["--fail-fast"], 6, &["AUTHORIZATION_FAILED", "allow", ".neli"]);
    let says = ["user", "password"];
    Refused {
        what: "stranger",
        store: &at("ada:gu3ss3d"),
        more: &FOR_A_WHILE,
        by: &[],
        code: 6,
        says: &says,
    }
    .by_each_form();
}
