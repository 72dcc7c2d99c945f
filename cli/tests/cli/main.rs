//! The program as its users run it: processes, signals, exit codes, real servers.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test fails")]

mod bad_input;
mod demo;
mod init;
mod looking;
mod readme;
mod run;
mod sim;
mod support;
mod terminal;
