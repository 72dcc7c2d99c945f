//! Exit codes: part of the interface, and listed in `--help`.

use incumbent::ErrorKind;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The command failed; for `demo`, there were two leaders at once or never one; for `sim`, an invariant
    /// does not hold.
    Failure = 1,
    /// The command line, a URL or a name is invalid.
    Usage = 2,
    /// The store does not answer.
    Unreachable = 3,
    /// A setting is refused, or the store is set up so that an election would be unsafe.
    Refused = 4,
    /// The bucket or file does not exist.
    NotFound = 5,
    /// The store denies access, or the credentials cannot be read.
    Denied = 6,
    /// The store exists and cannot serve.
    Broken = 7,
    /// The candidate was not elected within the given time.
    NotElected = 8,
    /// The leader's work could not be ended: its state is unknown.
    Inconsistent = 9,
}

/// The end of the first page of help: sources of settings, and the meaning of exit codes. No line is longer than eighty
/// columns, so that terminals do not wrap it.
pub(crate) const HELP: &str = "\
Settings:
  Every option but the actions is a setting: --lease 5s is the variable
  INCUMBENT_LEASE=5s, and the line lease = \"5s\" of incumbent.toml, for every
  command that has such an option, or for one command in a table of its name,
  [run]. Flags override the environment, and the environment the file.
  INCUMBENT_CONFIG or --config names another file, INCUMBENT_LOG sets what to
  log. A time is a number with a unit: 1500ms, 30s, 5m, 1h 30m.

Exit codes:
  0  done
  1  failed; for demo: two leaders at once, or there was none; for
     hand-over: the successor does not lead
  2  the command line, a URL, a key or a name is invalid
  3  the store does not answer within 10 s; long-running commands wait for it,
     except with --fail-fast or run --no-wait
  4  a setting is refused, or the store is unsafe for an election, or not as
     asked for
  5  the bucket or file does not exist; `incumbent init` makes it
  6  permission denied, or the credentials cannot be read
  7  the store exists and cannot serve: full, locked or damaged
  8  not elected in time (run --wait)
  9  a leader's work could not be ended (run --on-lost): check this machine
     before you start it again
`run` passes on the exit code of its command.

`incumbent COMMAND --help` has the options of a command, with examples.";

/// An exit code and its meaning.
type Code = (u8, &'static str);

/// The exit codes of any command that opens a store.
const OF_STORES: [Code; 6] = [
    (2, "the command line, a URL, a key or a name is invalid"),
    (3, "the store does not answer"),
    (4, "a setting is refused, or the store is not safe for an election"),
    (5, "the bucket or file does not exist; `incumbent init` makes it"),
    (6, "permission denied, or the credentials cannot be read"),
    (7, "the store exists and cannot serve: full, locked or damaged"),
];
/// Code 3 of a command that waits for its store.
const OF_WAITING: Code = (3, "the store does not answer (with --fail-fast)");
/// The exit codes of every other command.
const OF_OTHERS: [Code; 1] = [(2, "the command line is invalid")];

/// The exit codes of a command and their meanings, for its page of help: those of the command itself, and the common
/// ones.
pub(crate) fn page(command: &str) -> String {
    let (own, common): (&[Code], &[Code]) = match command {
        "demo" => (
            &[
                (0, "there were never two leaders at once"),
                (1, "two candidates led at once, or none ever did"),
                OF_WAITING,
                (5, "the file's folder does not exist"),
            ],
            &OF_STORES,
        ),
        "run" => (
            &[
                (0, "asked to end, and the work has ended"),
                (1, "with --once: the term was lost"),
                (3, "the store does not answer (with --fail-fast or --no-wait)"),
                (8, "with --wait: not elected in time; with --no-wait: another leads"),
                (9, "--on-lost failed too often, or was not waited for: check this\nmachine first"),
            ],
            &OF_STORES,
        ),
        "status" => (&[(0, "printed, whether the election is held or vacant")], &OF_STORES),
        "observe" => (
            &[
                (0, "asked to end, or --count or --for was reached"),
                (
                    3,
                    "the store did not answer before --for was over; with --fail-fast,\nat the first attempt",
                ),
            ],
            &OF_STORES,
        ),
        "top" => (&[(0, "left"), OF_WAITING], &OF_STORES),
        "hand-over" => (
            &[
                (0, "the successor leads"),
                (1, "another candidate leads, none leads, or the leader does not answer"),
            ],
            &OF_STORES,
        ),
        "evict" => {
            (&[(0, "the election is vacant, or was vacant already"), (1, "the answer was no")], &OF_STORES)
        }
        "accept-reset" => (
            &[
                (0, "a candidate leads, or the store's next token is already larger"),
                (1, "no candidate led in time, or the answer was no"),
            ],
            &OF_STORES,
        ),
        "init" => (
            &[
                (0, "the store exists with the requested settings"),
                (4, "the store differs and --update was not given, or it cannot be changed"),
                (5, "the file's folder does not exist"),
            ],
            &OF_STORES,
        ),
        "doctor" => {
            (&[(0, "nothing is broken"), (4, "something is broken, or a setting is refused")], &OF_STORES)
        }
        "permissions" | "completions" | "man" => (&[(0, "written"), (1, "it cannot be written")], &OF_OTHERS),
        _ => (&[(0, "done")], &OF_STORES),
    };
    let mut codes: Vec<Code> = own.to_vec();
    codes.extend(common.iter().filter(|(code, _)| own.iter().all(|(said, _)| said != code)));
    codes.sort_unstable();
    let lines = codes.iter().map(|(code, text)| format!("\n  {code}  {}", text.replace('\n', "\n     ")));
    format!("Exit codes:{}", lines.collect::<String>())
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidUrl | ErrorKind::InvalidName => Self::Usage,
            ErrorKind::StoreUnavailable => Self::Unreachable,
            ErrorKind::InvalidSetting | ErrorKind::UnsafeStore | ErrorKind::Unsupported => Self::Refused,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::PermissionDenied | ErrorKind::Authentication => Self::Denied,
            ErrorKind::Broken => Self::Broken,
            ErrorKind::Closed | ErrorKind::Forked | ErrorKind::NotLeader => Self::Failure,
        }
    }
}
