//! Hosts that fail, lie and stall. They cause no trap, and no second term beside or below the first.

mod answers;
mod clocks;
mod guest;
mod host;
mod large;
mod storms;
mod zeros;
