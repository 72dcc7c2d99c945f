//! Commands of `incumbent run` that change to another user, as with sudo, so that their supervisor may no longer signal
//! them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use incumbent_testkit::process::is_running;
use incumbent_testkit::wait;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::pid;
use crate::support::{Running, Scratch};

/// The user of the supervisor.
const USER: u32 = 47322;

/// A folder in which another user has all permissions, with the program, and a program that becomes root.
struct Place {
    scratch: Scratch,
    /// A folder that is not in memory, because programs that become root must be allowed there.
    programs: TempDir,
}

impl Place {
    /// `None` if no other user is available, or if no program can become root.
    fn new() -> Option<Self> {
        let (scratch, programs) = (Scratch::made(), tempfile::tempdir().unwrap());
        let place = Self { scratch, programs };
        for folder in [place.scratch.folder.path(), place.programs.path()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        }
        for file in fs::read_dir(place.scratch.folder.path()).unwrap() {
            fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o666)).unwrap();
        }
        for (from, name, mode) in
            [(env!("CARGO_BIN_EXE_incumbent"), "incumbent", 0o755), ("/usr/bin/setpriv", "become", 0o4755)]
        {
            fs::copy(from, place.program(name)).ok()?;
            fs::set_permissions(place.program(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut become_root = place.as_user(&[]);
        let asked = become_root.arg(place.program("become")).args(["--reuid", "0", "id", "-ur"]).output();
        asked.is_ok_and(|asked| asked.stdout == b"0\n").then_some(place)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.path().join(name)
    }

    /// Returns a command of these words, to which arguments can be added, as run by the other user.
    fn as_user(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        let user = USER.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).args(words);
        command.env_remove("TMPDIR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a candidate of that user. Its command becomes root's, or starts a program that does.
    fn run(&self, within: Option<&Path>, script: &str) -> Running {
        let program = self.program("incumbent");
        let run = [program.to_str().unwrap(), "run", "--store", &self.scratch.url, "--key", "jobs"];
        let become_root = self.program("become");
        let command = ["--", "sh", "-c", script, become_root.to_str().unwrap()];
        let words = [&run[..], &["--name", "ada", "--lease", "30s", "--splay", "0s"], &command].concat();
        let Some(within) = within else { return Running::start(self.as_user(&words)) };
        // The process enters the group before it changes the user, because only root may choose the group.
        let user = self.as_user(&words);
        let mut entering = Command::new("sh");
        entering.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(within.join("cgroup.procs"));
        entering.arg(user.get_program()).args(user.get_args()).env_remove("TMPDIR");
        entering.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(entering)
    }
}

/// A control group that is delegated to the other user. It is removed in the end.
struct Delegated(PathBuf);

impl Delegated {
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
        let group =
            Self(Path::new(mount.split(' ').nth(1)?).join(format!("incumbent-test.{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::create_dir(group.own()).unwrap();
        for folder in [&group.0, &group.own()] {
            for path in [folder.clone(), folder.join("cgroup.procs"), folder.join("cgroup.threads")] {
                chown(path, Some(USER), Some(USER)).unwrap();
            }
        }
        Some(group)
    }

    fn own(&self) -> PathBuf {
        self.0.join("own")
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.own());
        let _ = fs::remove_dir(&self.0);
    }
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// A command that itself becomes root's.
const ITSELF: &str = "exec \"$0\" --reuid 0 --clear-groups sh -c 'echo $$; exec sleep 1000'";

/// A script that starts a program that becomes root's, in its own session, as sudo does.
const BY_A_SCRIPT: &str = "\"$0\" --reuid 0 --clear-groups setsid sh -c 'echo $$; exec sleep 1000'; :";

fn is_out_of_reach(line: &str) -> bool {
    line.contains("the command runs as root, so this process cannot send it signals")
        && line.contains("run incumbent as that user instead, or in its own control group")
}

#[test]
fn a_command_that_becomes_another_users_is_reported_at_once_and_again_where_it_outlives_its_supervisor() {
    let Some(place) = Place::new() else {
        eprintln!("no program can become root here: nothing to test");
        return;
    };
    let mut ada = place.run(None, ITSELF);
    let command = pid(&mut ada);
    ada.until_reported("that it is out of reach", is_out_of_reach);
    ada.kill();
    ada.until_reported("that it cannot be killed", |line| {
        line.contains("the command cannot be killed, and may keep running while the next leader's does")
    });
    assert!(is_running(command));
    kill(command);
}

#[test]
fn a_program_of_a_script_that_becomes_another_users_is_reported() {
    let Some(place) = Place::new() else {
        eprintln!("no program can become root here: nothing to test");
        return;
    };
    let mut ada = place.run(None, BY_A_SCRIPT);
    let command = pid(&mut ada);
    ada.until_reported("that it is out of reach", is_out_of_reach);
    kill(command);
    assert_eq!(ada.wait().code, Some(0));
}

#[test]
fn a_command_that_becomes_another_users_dies_with_its_supervisor_where_a_control_group_is_delegated() {
    let (Some(place), Some(group)) = (Place::new(), Delegated::new()) else {
        eprintln!("no program can become root here, or no control group be delegated: nothing to test");
        return;
    };
    for script in [ITSELF, BY_A_SCRIPT] {
        let mut ada = place.run(Some(&group.own()), script);
        let command = pid(&mut ada);
        ada.until_reported("that signals do not reach it", |line| {
            line.contains("the command runs as root, so this process cannot send it signals")
                && line.contains("its control group is killed, without a SIGTERM first")
        });
        ada.kill();
        wait::until("the end of the command", wait::GENEROUS, || !is_running(command));
        wait::until("the control group to be removed", wait::GENEROUS, || {
            fs::read_dir(group.own()).unwrap().all(|entry| !entry.unwrap().path().is_dir())
        });
    }
}
