//! The public API, on stores in memory.

mod breakdown;
mod drain;
mod events;
mod handlers;
mod health;
mod lead;
mod logs;
mod many;
mod observe;
mod scripted;
mod start;
mod support;
mod terms;
