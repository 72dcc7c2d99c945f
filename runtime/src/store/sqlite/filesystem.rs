//! File systems an election must not run on.

use std::path::Path;

use super::failure::Cause;

/// Refuses file systems that several machines share. Each machine would take the leases of the
/// others for those of an earlier boot, and SQLite's locks and shared memory do not reach across
/// either (<https://sqlite.org/wal.html>). FUSE can be anything, and is let through.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn check(folder: &Path) -> Result<(), Cause> {
    use crate::ErrorKind;

    // A folder that cannot be asked is told of when the file is opened.
    let Ok(status) = rustix::fs::statfs(folder) else { return Ok(()) };
    match network(status.f_type as u32) {
        None => Ok(()),
        Some(name) => Err(Cause::Refused(
            ErrorKind::UnsafeStore,
            format!(
                "the file is on {name}, which several machines may share; put it on a local disk, or use \
                 a store with a server"
            ),
        )),
    }
}

/// Elsewhere nothing tells.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn check(_folder: &Path) -> Result<(), Cause> {
    Ok(())
}

/// The network file system of this number, from statfs(2) and linux/magic.h.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn network(number: u32) -> Option<&'static str> {
    Some(match number {
        0x6969 => "NFS",
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn local_file_systems_are_accepted_and_network_file_systems_refused() {
        // ext4, tmpfs, btrfs, overlayfs, xfs
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x794C_7630, 0x5846_5342] {
            assert_eq!(network(local), None);
        }
        assert_eq!(network(0x6969), Some("NFS"));
        assert_eq!(network(0xFF53_4D42), Some("SMB"));
        assert!(check(Path::new("/")).is_ok());
    }
}
