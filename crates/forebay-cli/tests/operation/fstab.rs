//! `mount.forebay`, called by the real mount(8) from a real fstab.
//!
//! Each test is a script in namespaces of its own for mounts and processes: it has its own /sbin
//! and /etc/fstab, and the kernel ends its daemons and takes off its mounts when it ends.

use std::fs::File;
use std::process::Command;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::process::Running;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::scratch::Scratch;

use crate::bare;

/// Before each script: copies of mount.fuse3 and of our program are all there is in /sbin.
const PREPARE: &str = r#"
set -eu
mkdir -p sbin "source dir" mnt other
echo hello >"source dir/file"
cp -a /sbin/mount.fuse3 sbin/
ln -s mount.fuse3 sbin/mount.fuse
cp "$FOREBAY" sbin/forebay
ln -s forebay sbin/mount.forebay
chmod 755 . "source dir" sbin/forebay
: >fstab
mount --bind sbin /sbin
mount --bind fstab /etc/fstab
code() { set +e; "$@" 2>said; got=$?; set -e; cat said >&2; }
expect() { [ "$got" = "$1" ] || { echo "exit code $got instead of $1" >&2; exit 1; }; }
says() { grep -qF -- "$1" said || { echo "it does not say: $1" >&2; exit 1; }; }
gone() { if mounted "$1"; then echo "$1 is mounted" >&2; exit 1; fi; }
mounted() { grep -qF " $PWD/$1 " /proc/self/mountinfo; }
"#;

/// Runs a script in namespaces of its own; it must succeed. Returns without a run where we may not.
fn script(script: &str, variables: &[(&str, &str)]) {
    let unshare = need!("unshare");
    need!("mount.fuse3");
    if !mounts::possible() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return forebay_testkit::tools::skip("root");
    }
    let folder = Scratch::new("fstab").expect("a folder");
    let log = folder.path().join("log");
    let output = File::create(&log).expect("ours");
    let mut command = Command::new(unshare);
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c"]);
    command.arg(format!("{PREPARE}{script}")).current_dir(folder.path());
    bare(&mut command);
    command.env("FOREBAY", env!("CARGO_BIN_EXE_forebay")).envs(variables.iter().copied());
    command.stdout(output.try_clone().expect("ours")).stderr(output);
    // If this process is killed, so is unshare, and with it all that it started.
    let status = Running::start(command).expect("unshare starts").wait().expect("it ends");
    let said = std::fs::read_to_string(log).expect("text");
    assert!(status.success(), "{status}: {said}");
}

/// A folder with a space in its name, a bucket, and a dead server, whose line says `nofail`.
#[test]
fn a_table_of_mounts_is_mounted_once_and_a_dead_server_stops_nothing() {
    let s3 = S3::start(&need!("versitygw")).expect("a server");
    s3.put("object", b"from the bucket").expect("stored");
    let table = r#"
mkdir dead
cat >fstab <<END
http://127.0.0.1:1/ $PWD/dead forebay _netdev,nofail,patience=1s 0 0
$PWD/source\040dir $PWD/mnt forebay _netdev,nofail,memory=64MiB,allow-other,x-systemd.automount,comment=x 0 0
s3://$BUCKET $PWD/other forebay rw,noatime,noexec,endpoint=$ENDPOINT,region=us-east-1,memory=64MiB 0 0
END
code mount -a; expect 64; says "http://127.0.0.1:1"
[ "$(cat mnt/file)" = hello ]; [ "$(cat other/object)" = "from the bucket" ]
gone dead
grep -F " $PWD/other " /proc/self/mountinfo | grep -q noexec
grep -F " $PWD/mnt " /proc/self/mountinfo | grep -q allow_other
# Those that are mounted are left alone.
code mount -a; expect 32
[ "$(grep -F " $PWD/" /proc/self/mountinfo | grep -c fuse.forebay)" = 2 ]
umount mnt; gone mnt
mount mnt; [ "$(cat mnt/file)" = hello ]
code mount -o remount,memory=1GiB mnt; expect 1; says "unmount it"
[ "$(cat mnt/file)" = hello ]
umount mnt; umount other; gone mnt; gone other
"#;
    script(table, &[("BUCKET", BUCKET), ("ENDPOINT", &s3.endpoint())]);
}

#[test]
fn a_line_names_several_sources_and_values_with_commas() {
    script(
        r#"
mkdir one two
echo 1 >one/first; echo 2 >two/second
cat >fstab <<END
a=$PWD/one $PWD/mnt forebay source="b=$PWD/two",source=c=$PWD/source\040dir,log="warn,forebay_live=info" 0 0
END
mount mnt
[ "$(cat mnt/a/first mnt/b/second mnt/c/file)" = "1
2
hello" ]
code mount -a; expect 0
umount mnt
"#,
        &[],
    );
}

#[test]
fn a_wrong_line_is_told_with_the_codes_of_mount() {
    script(
        r#"
code mount -t forebay -o memroy=1GiB "source dir" mnt; expect 1; says "a near one is memory"
code mount -t forebay -o memory=much "source dir" mnt; expect 1; says "'much'"
code mount -t forebay "no such dir" mnt; expect 32; says "no such dir"
code mount -t forebay "source dir" mnt/none; [ "$got" != 0 ]
code mount.forebay; expect 1
code mount.forebay --version; expect 0
gone mnt
code mount -f -t forebay "source dir" mnt; expect 0; gone mnt
code mount -s -t forebay -o memroy=1GiB "source dir" mnt; expect 0; mounted mnt
umount mnt
[ "$(mount -v -t forebay "source dir" mnt)" = "ready: $PWD/source dir at $PWD/mnt" ]
"#,
        &[],
    );
}

/// With a link of that name, by mount.fuse3, and by mount.fuse3 that drops privileges: then the
/// mount point is a descriptor.
#[test]
fn types_of_fuse_mount_as_well() {
    script(
        r#"
by_fuse() {
    mount "$@" "$PWD/mnt"; [ "$(cat mnt/file)" = hello ]; umount mnt; gone mnt
}
by_fuse -t fuse.forebay -o noexec,memory=64MiB "$PWD/source dir"
by_fuse -t fuse "forebay#$PWD/source dir"
ln -s forebay sbin/mount.fuse.forebay
by_fuse -t fuse.forebay "$PWD/source dir"
rm sbin/mount.fuse.forebay
safe=ro,nosuid,nodev,default_permissions
mount -t fuse.forebay -o $safe,allow_other,drop_privileges,setuid=nobody "$PWD/source dir" "$PWD/mnt"
[ "$(cat mnt/file)" = hello ]
grep -F " $PWD/mnt " /proc/self/mountinfo | grep nosuid,nodev | grep default_permissions | grep -q user_id=65534
grep -q "^CapEff:.0000000000000000$" "/proc/$(pgrep -nx forebay)/status"
umount mnt
# The daemon ends with the mount.
for _ in $(seq 600); do pgrep -x forebay >running || exit 0; sleep 0.1; done
exit 1
"#,
        &[],
    );
}

/// mount(8) becomes the user before it calls us, and so fusermount3 mounts.
#[test]
fn a_user_mounts_and_unmounts_where_the_line_says_so() {
    need!("fusermount3");
    script(
        r#"
chown nobody mnt
# fusermount3 opens it as the user; everybody may, on usual systems.
cp -a /dev/fuse fuse
chmod 666 fuse
mount --bind fuse /dev/fuse
nobody() { setpriv --reuid nobody --clear-groups "$@"; }
cat >fstab <<END
$PWD/source\040dir $PWD/mnt forebay user,noauto,memory=64MiB 0 0
END
mount -a; gone mnt
nobody mount mnt
grep -F " $PWD/mnt " /proc/self/mountinfo | grep noexec | grep -q user_id=65534
[ "$(nobody cat mnt/file)" = hello ]
nobody umount mnt
gone mnt
"#,
        &[],
    );
}
