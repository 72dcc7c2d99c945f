//! The program as its users run it: processes, signals, exit codes, real servers.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test fails")]

mod bad_input;
mod connecting;
mod console;
mod demo;
mod doctor;
mod elector;
#[cfg(target_os = "linux")]
mod environments;
mod etcd;
mod examples;
mod help;
mod init;
mod json;
mod json_outage;
#[cfg(feature = "kafka")]
mod kafka;
mod listen;
mod looking;
mod operate;
mod outputs;
mod permissions;
mod readme;
mod reports;
mod run;
mod run_children;
#[cfg(target_os = "linux")]
mod run_folders;
#[cfg(target_os = "linux")]
mod run_held_up;
#[cfg(target_os = "linux")]
mod run_limits;
mod run_notices;
mod run_options;
#[cfg(target_os = "linux")]
mod run_upgrade;
#[cfg(target_os = "linux")]
mod run_user;
#[cfg(target_os = "linux")]
mod run_waiting;
mod screens;
mod settings;
mod sidecar;
mod snapshot;
mod store_away;
mod support;
mod terminal;
mod top;
