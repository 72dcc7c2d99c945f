//! Whole elections on a file that several processes share: the rows of the fault table that are about processes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers fail their test")]

#[allow(dead_code, reason = "the scenarios on servers use the rest")]
#[path = "../../../scenarios/actor.rs"]
mod actor;
mod bench;
#[allow(dead_code, reason = "the scenarios on servers use the rest")]
#[path = "../../../scenarios/probe.rs"]
mod probe;
#[allow(dead_code, reason = "the scenarios on servers use the rest")]
#[path = "../../../scenarios/process.rs"]
mod process;
#[path = "../../../scenarios/rows/processes.rs"]
mod rows;
