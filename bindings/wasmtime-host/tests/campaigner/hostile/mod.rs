//! Hosts that err, lie and stall. Whatever they do, no trap, and no second term beside or below the first.

mod answers;
mod clocks;
mod guest;
mod host;
mod large;
mod order;
mod storms;
mod zeros;
