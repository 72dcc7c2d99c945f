//! File systems that several machines may share, on which an election must not run.
//!
//! Each machine would take other machines' leases for leases of an earlier boot, and SQLite's locks do not work across
//! machines either. The lists hold the known shared file systems; any other counts as local.

use std::path::Path;

use super::failure::Cause;
use incumbent_store::ErrorKind;

/// The kind of a file system, by its name or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android", target_os = "macos")),
    expect(dead_code, reason = "other systems do not report the kind")
)]
enum Kind {
    Local,
    Shared(&'static str),
    /// FUSE: anything from sshfs, GlusterFS or S3 to a local disk in a container.
    Fuse,
    /// The system does not report the kind.
    NotKnown(std::io::ErrorKind),
}

/// Refuses a folder on a file system that machines may share. Unless `fuse` is set, also refuses FUSE and a file system
/// whose kind the system does not report.
pub(super) fn check(folder: &Path, fuse: bool) -> Result<(), Cause> {
    let detail = match system::kind(folder) {
        Kind::Local => return Ok(()),
        Kind::Fuse | Kind::NotKnown(_) if fuse => return Ok(()),
        Kind::NotKnown(error) => format!(
            "the kind of the file system is not known ({error}), so several machines may share it; if only this \
             machine reaches it and file locks work there, add ?fuse=true"
        ),
        Kind::Shared(name) => format!(
            "the file is on {name}, which several machines may share; put it on a local disk, or use a store with a \
             server"
        ),
        Kind::Fuse => {
            "the file is on a FUSE file system, which several machines may share; put it on a local disk, or, if only \
             this machine reaches it and file locks work there, add ?fuse=true"
                .to_owned()
        }
    };
    Err(Cause::Refused(ErrorKind::UnsafeStore, detail.into()))
}

/// The kind of a file system about which the system reported an error. A missing or forbidden folder is reported later,
/// when the file is opened.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
fn without_an_answer(error: rustix::io::Errno) -> Kind {
    use rustix::io::Errno;
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG => Kind::Local,
        error => Kind::NotKnown(std::io::Error::from(error).kind()),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::path::Path;

    use super::Kind;

    pub(super) fn kind(folder: &Path) -> Kind {
        rustix::fs::statfs(folder)
            .map_or_else(super::without_an_answer, |status| numbered(status.f_type as u32))
    }

    /// The kind by its number in statfs(2), linux/magic.h and coreutils' stat.c.
    pub(super) fn numbered(number: u32) -> Kind {
        Kind::Shared(match number {
            0x6969 => "NFS",
            0x517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
            0x5346_414F | 0x6B41_4653 => "AFS",
            0x7375_7245 => "Coda",
            0x564C => "NCP",
            0x0102_1997 => "9P",
            0x00C3_6400 => "Ceph",
            0x0BD0_0BD0 => "Lustre",
            0x7461_636F => "OCFS2",
            0x0116_1970 => "GFS2",
            0x4750_4653 => "GPFS",
            0x1983_0326 => "BeeGFS",
            0x2003_0528 => "OrangeFS",
            0xAAD7_AAEA => "PanFS",
            0x6163_6673 => "ACFS",
            0xBEEF_DEAD => "StorNext",
            0x0131_11A8 => "Ibrix",
            0x786F_4256 => "a VirtualBox shared folder",
            0xBACB_ACBC => "a VMware shared folder",
            0x7C7C_6673 => "a Parallels shared folder",
            0x6573_5546 => return Kind::Fuse,
            _ => return Kind::Local,
        })
    }
}

#[cfg(target_os = "macos")]
mod system {
    use std::path::Path;

    use super::Kind;

    pub(super) fn kind(folder: &Path) -> Kind {
        let status = match rustix::fs::statfs(folder) {
            Ok(status) => status,
            Err(error) => return super::without_an_answer(error),
        };
        let name: Vec<u8> = status
            .f_fstypename
            .iter()
            .map(|byte| byte.to_ne_bytes()[0])
            .take_while(|byte| *byte != 0)
            .collect();
        let is_fuse = ["fuse", "macfuse", "osxfuse"].iter().any(|fuse| name.starts_with(fuse.as_bytes()));
        // The flag MNT_LOCAL of sys/mount.h: the file system is stored on this machine.
        let is_local = status.f_flags & 0x1000 != 0;
        match name.as_slice() {
            _ if is_fuse => Kind::Fuse,
            b"nfs" => Kind::Shared("NFS"),
            b"smbfs" => Kind::Shared("SMB"),
            b"afpfs" => Kind::Shared("AFP"),
            b"webdav" => Kind::Shared("WebDAV"),
            _ if is_local => Kind::Local,
            _ => Kind::Shared("a file system of the network"),
        }
    }
}

/// Other systems do not report the kind.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
mod system {
    pub(super) fn kind(_folder: &std::path::Path) -> super::Kind {
        super::Kind::Local
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::system::numbered;
    use super::*;

    #[test]
    fn local_file_systems_are_accepted_and_network_file_systems_refused() {
        // ext4, tmpfs, btrfs, overlayfs, xfs
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x794C_7630, 0x5846_5342] {
            assert_eq!(numbered(local), Kind::Local);
        }
        assert_eq!(numbered(0x6969), Kind::Shared("NFS"));
        assert_eq!(numbered(0xFF53_4D42), Kind::Shared("SMB"));
        assert_eq!(numbered(0x4750_4653), Kind::Shared("GPFS"));
        assert_eq!(numbered(0x6573_5546), Kind::Fuse);
        assert!(check(Path::new("/"), false).is_ok());
    }

    #[test]
    fn a_kind_that_the_system_does_not_tell_is_not_taken_for_a_local_one() {
        use rustix::io::Errno;
        assert_eq!(without_an_answer(Errno::IO), Kind::NotKnown(std::io::Error::from(Errno::IO).kind()));
        assert_eq!(without_an_answer(Errno::NOENT), Kind::Local, "opening the file reports it");
    }
}
