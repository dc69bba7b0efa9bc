//! Whether the packages are as they should be: by lintian and rpm, and by an installation into a
//! copy of this system, which is used and purged there.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::run::{answers, heading, succeeds};

/// What happens in the copy, with the package as `$1`: this system below, and a layer above it that
/// goes away with the script.
const IN_A_COPY: &str = r#"
set -eu
copy=$(mktemp -d)
mount -t tmpfs none "$copy"
mkdir "$copy/above" "$copy/work" "$copy/root"
mount -t overlay -o "lowerdir=/,upperdir=$copy/above,workdir=$copy/work" none "$copy/root"
cp "$1" "$copy/root/tmp/forebay.deb"
for part in proc sys dev; do mount --rbind "/$part" "$copy/root/$part"; done
chroot "$copy/root" /bin/sh -eu -c '
    dpkg -i /tmp/forebay.deb
    forebay --version
    mkdir -p /tmp/source /tmp/point
    echo hello >/tmp/source/file
    echo "/tmp/source /tmp/point forebay memory=64MiB 0 0" >>/etc/fstab
    mount /tmp/point
    [ "$(cat /tmp/point/file)" = hello ]
    umount /tmp/point
    mount -t fuse.forebay /tmp/source /tmp/point
    umount /tmp/point
    for page in forebay forebay-mount mount.forebay; do man -w $page; done
    systemd-analyze verify forebay@x.service forebay-serve@x.service
    bash -c ". /usr/share/bash-completion/completions/forebay; complete -p forebay"
    mkdir -p /var/cache/forebay
    dpkg --purge forebay
    ! [ -e /var/cache/forebay ]
'
# Of the package itself nothing is left. A 0/0 device is what the purge took off.
left=$(find "$copy/above" -iname "*forebay*" -not -type c -not -path "*/tmp/*" -not -path "*/cache/man/*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
"#;

/// Checks both packages; returns whether they hold.
pub(super) fn hold(deb: &Path, rpm: &Path) -> Result<bool> {
    for program in ["lintian", "rpm", "unshare"] {
        ensure!(answers(Command::new(program).arg("--version")), "{program} is missing: apt-get install lintian rpm");
    }
    heading("lintian");
    let lintian = succeeds(Command::new("lintian").args(["--fail-on", "error,warning", "--allow-root"]).arg(deb));
    heading("rpm");
    let rpm = succeeds(Command::new("rpm").args(["-qp", "--list", "--requires"]).arg(rpm).stdout(Stdio::inherit()));
    heading("installed, used and purged in a copy of this system");
    let mut copy = Command::new("unshare");
    copy.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", IN_A_COPY, "sh"]);
    Ok(succeeds(copy.arg(deb)) && lintian && rpm)
}
