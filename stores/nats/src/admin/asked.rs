//! The requirements of a bucket that is prepared for elections.

use std::time::Duration;

use super::survey::Survey;
use crate::refusals;
use incumbent_store::{Error, InitOptions, Result};

/// The default lease of a new bucket.
const LEASE: Duration = Duration::from_secs(30);

/// The shortest maximum age that NATS accepts.
const SHORTEST: Duration = Duration::from_millis(100);

/// The smallest size limit of a bucket: some hundred elections, each with a record and a request of less than 200
/// bytes.
const LEAST_BYTES: u64 = 64 * 1024;

/// The options of a preparation, with the lease and the number of servers in force.
pub(crate) struct Asked<'a> {
    pub(crate) options: &'a InitOptions,
    pub(crate) lease: Duration,
    pub(crate) replicas: u32,
}

impl<'a> Asked<'a> {
    /// A lease and a number of servers that the options leave open are those of the existing bucket, or the defaults.
    pub(crate) fn new(options: &'a InitOptions, existing: Option<&Survey>) -> Self {
        let lease = options.lease.or_else(|| existing?.max_age).unwrap_or(LEASE);
        let replicas = options.replicas.or_else(|| existing.map(|bucket| bucket.replicas)).unwrap_or(1);
        Self { options, lease, replicas }
    }

    /// Refuses options that no bucket can have.
    ///
    /// # Errors
    /// `InvalidSetting`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.lease < SHORTEST {
            return Err(Error::from(refusals::age_too_short(self.lease, SHORTEST)));
        }
        if !matches!(self.replicas, 1 | 3 | 5) {
            return Err(Error::from(refusals::replicas(self.replicas.into())));
        }
        if let Some(bytes) = self.options.max_bytes.filter(|bytes| *bytes < LEAST_BYTES) {
            return Err(Error::from(refusals::bytes_too_few(bytes, LEAST_BYTES)));
        }
        Ok(())
    }

    /// The time for which the server keeps a marker: a lease, in whole seconds.
    pub(crate) fn marker_ttl(&self) -> Duration {
        Duration::from_secs(self.lease.as_millis().div_ceil(1000) as u64)
    }
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use incumbent_store::ErrorKind;

    use super::*;

    #[test]
    fn options_that_cannot_be_are_refused_by_name() {
        for (options, setting) in [
            (
                InitOptions::new().lease(Duration::from_millis(99)),
                "lease is 99ms, and must be at least 100ms",
            ),
            (
                InitOptions::new().lease(Duration::from_secs(1)).replicas(2),
                "replicas is 2, and must be 1, 3 or 5",
            ),
            (
                InitOptions::new().lease(Duration::from_secs(1)).replicas(0),
                "replicas is 0, and must be 1, 3 or 5",
            ),
            (
                InitOptions::new().lease(Duration::from_secs(1)).max_bytes(65_535),
                "max_bytes is 65535, and must be at least 65536",
            ),
        ] {
            let error = Asked::new(&options, None).check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSetting);
            assert!(error.message().contains(setting), "{error}");
        }
    }

    #[test]
    fn a_marker_stays_as_long_as_a_lease_in_whole_seconds() {
        let ttl = |millis| {
            let options = InitOptions::new().lease(Duration::from_millis(millis));
            Asked::new(&options, None).marker_ttl()
        };
        assert_eq!(ttl(750), Duration::from_secs(1));
        assert_eq!(ttl(30_000), Duration::from_secs(30));
        assert_eq!(ttl(30_001), Duration::from_secs(31));
    }
}
