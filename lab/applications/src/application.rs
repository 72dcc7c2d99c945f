//! The applications: for each framework, a program and the command that starts a process of it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The language of a program, and with it the folder that the program is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
    Spring,
}

/// The status with which a process ends after SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It exits with this code.
    Code(i32),
    /// The application raises SIGTERM again after it has finished.
    Terminated,
}

/// An application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Application {
    pub(crate) name: &'static str,
    pub(crate) language: Language,
    /// The program and its arguments; `PORT` is replaced by a free port.
    command: &'static [&'static str],
    pub(crate) trial: Trial,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// An election of three processes under the schedule of faults. After SIGTERM a process ends within a bound.
    Election { end: End, bound: Duration },
    /// A test suite with fake timers, which must pass and end by itself.
    Suite,
}

/// The bound is the default longest drain, although all work here ends at once.
const BOUND: Duration = Duration::from_secs(10);

/// The bound for frameworks that are slow to end. Even without an election, Celery's workers end after 7 s and PM2
/// after 12 s. Spring waits for up to 30 s in each phase of its shutdown.
const LATE: Duration = Duration::from_secs(30);

/// An election whose processes exit.
const EXITS: Trial = Trial::Election { end: End::Code(0), bound: BOUND };
/// An election whose processes raise SIGTERM again at their end.
const RAISES: Trial = Trial::Election { end: End::Terminated, bound: BOUND };
/// An election whose processes exit late.
const EXITS_LATE: Trial = Trial::Election { end: End::Code(0), bound: LATE };

/// Options for a small virtual machine, whose second compiler would take more time than it saves.
const JAVA: [&str; 3] = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// All applications.
pub(crate) const ALL: [Application; 14] = [
    python("fastapi", &["uvicorn", "fastapi_service:app", "--port=PORT", "--log-level=warning"], RAISES),
    python(
        "gunicorn",
        &["gunicorn", "--config=gunicorn_conf.py", "--bind=127.0.0.1:PORT", "wsgi:app"],
        EXITS,
    ),
    python(
        "gunicorn-gevent",
        &[
            "gunicorn",
            "--config=gunicorn_conf.py",
            "--bind=127.0.0.1:PORT",
            "--worker-class=gevent",
            "wsgi:app",
        ],
        EXITS,
    ),
    python(
        "celery-beat",
        &["celery", "--app=celery_beat", "beat", "--pidfile=", "--loglevel=WARNING"],
        EXITS,
    ),
    python(
        "celery-worker",
        &["celery", "--app=celery_worker", "worker", "--concurrency=1", "--loglevel=WARNING"],
        EXITS_LATE,
    ),
    python("django", &["python", "manage.py", "relay"], EXITS),
    python("apscheduler", &["python", "apscheduler_jobs.py"], EXITS),
    node("express", &["node", "express-service.mjs"], EXITS),
    node("nest", &["node", "nest-service.js"], RAISES),
    node("pm2", &["node", "node_modules/.bin/pm2-runtime", "start", "ecosystem.config.cjs"], EXITS_LATE),
    node("jest", &["node", "node_modules/.bin/jest"], Trial::Suite),
    node("vitest", &["node", "node_modules/.bin/vitest", "run"], Trial::Suite),
    spring(
        "spring-boot-3.5",
        &["java", JAVA[0], JAVA[1], JAVA[2], "-cp", "3.5/target/classes:3.5/target/lib/*", "example.Service"],
    ),
    spring(
        "spring-boot-4.0",
        &["java", JAVA[0], JAVA[1], JAVA[2], "-cp", "4.0/target/classes:4.0/target/lib/*", "example.Service"],
    ),
];

const fn python(name: &'static str, command: &'static [&'static str], trial: Trial) -> Application {
    Application { name, language: Language::Python, command, trial }
}

const fn node(name: &'static str, command: &'static [&'static str], trial: Trial) -> Application {
    Application { name, language: Language::Node, command, trial }
}

const fn spring(name: &'static str, command: &'static [&'static str]) -> Application {
    // 143 is the status of a virtual machine that SIGTERM has ended, after its shutdown hooks.
    let trial = Trial::Election { end: End::Code(143), bound: LATE };
    Application { name, language: Language::Spring, command, trial }
}

impl Application {
    /// Returns the command of one process. `home` is the folder in which the language's programs and libraries are
    /// installed; `own` is a folder for everything that the process writes.
    pub(crate) fn command(&self, home: &Path, own: &Path, port: u16) -> Command {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (program, arguments) = self.command.split_first().unwrap_or((&"", &[]));
        let mut command = match self.language {
            Language::Python => {
                let mut command = Command::new(home.join("bin").join(program));
                command.current_dir(sources.join("python"));
                command
                    .env_remove("PYTHONPATH")
                    .env_remove("VIRTUAL_ENV")
                    .env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Language::Node | Language::Spring => {
                let mut command = Command::new(program);
                // PM2 stores its state about its processes in `PM2_HOME`.
                command.current_dir(home).env("PM2_HOME", own.join("pm2"));
                command.env("SERVER_PORT", port.to_string());
                command
            }
        };
        command.args(arguments.iter().map(|argument| argument.replace("PORT", &port.to_string())));
        command
    }
}
