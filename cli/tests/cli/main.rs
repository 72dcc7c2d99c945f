//! The program as its users run it: processes, signals, exit codes, real servers.

#![allow(missing_docs, reason = "tests")]

mod bad_input;
mod demo;
mod init;
mod looking;
mod run;
mod support;
mod terminal;
