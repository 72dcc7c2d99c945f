//! The names that belong to a bucket: its stream, and the subjects of its keys and requests.

const DEFAULT_API_PREFIX: &str = "$JS.API";

/// The names that belong to a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    /// The stream that stores it.
    pub(crate) stream: String,
    /// The prefix of its subjects.
    pub(crate) prefix: String,
    api_prefix: String,
}

impl Bucket {
    pub(crate) fn new(name: &str, api_prefix: Option<&str>) -> Self {
        Self {
            name: name.to_string(),
            stream: format!("KV_{name}"),
            prefix: format!("$KV.{name}."),
            api_prefix: api_prefix.unwrap_or(DEFAULT_API_PREFIX).to_string(),
        }
    }

    /// The subject under which a key is stored.
    pub(crate) fn subject(&self, key: &str) -> String {
        // The string is allocated with its exact length, because the client keeps its buffer and would copy a longer
        // one.
        [&*self.prefix, key].concat()
    }

    /// The subject to which a key is written. With a domain or an import, the API's prefix comes before it.
    pub(crate) fn write_subject(&self, key: &str) -> String {
        if self.api_prefix == DEFAULT_API_PREFIX {
            self.subject(key)
        } else {
            format!("{}.{}{key}", self.api_prefix, self.prefix)
        }
    }

    /// The subject of a request to the API.
    pub(crate) fn api_subject(&self, request: &str) -> String {
        format!("{}.{request}", self.api_prefix)
    }
}
