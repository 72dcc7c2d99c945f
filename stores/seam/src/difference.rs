//! How a store that exists differs from what is asked for.

/// A bucket's setting that differs from the requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting, by its name in the server's configuration.
    pub setting: &'static str,
    /// The present value.
    pub is: String,
    /// The required value.
    pub should: String,
    /// True if it can be changed without creating the bucket again.
    pub changeable: bool,
}

impl Difference {
    /// The option of `InitOptions` that asks for this setting, if there is one.
    pub fn option(&self) -> Option<&'static str> {
        match self.setting {
            "max_age" => Some("lease"),
            "num_replicas" => Some("replicas"),
            "max_bytes" => Some("max-bytes"),
            _ => None,
        }
    }
}
