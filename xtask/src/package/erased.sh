# In the copy: the package is installed, used and erased. Debian's rpm knows no packages, so it cannot
# know that what this one needs is there: the use of it shows that.
rpm="rpm --root $copy/root --dbpath /var/lib/forebay-rpm"
$rpm --initdb
$rpm --install --nodeps --nosignature "$copy/root/tmp/forebay.rpm"
$rpm --verify forebay --nodeps
# Nobody but root may write what root runs, and the command is there once.
rpm -qp --queryformat '[%{FILEMODES:perms} %{FILESIZES} %{FILENAMES}\n]' "$copy/root/tmp/forebay.rpm" >"$copy/files"
if grep -E '^-.{4}w|^-.{7}w' "$copy/files"; then exit 1; fi
[ "$(awk '$2 > 4000000' "$copy/files" | wc -l)" = 1 ]
chroot "$copy/root" /bin/sh -eu -c '
    forebay --version
    mkdir -p /tmp/source /tmp/point
    echo hello >/tmp/source/file
    mount -t forebay /tmp/source /tmp/point
    [ "$(cat /tmp/point/file)" = hello ]
    umount /tmp/point
    mount -t fuse.forebay -o ro,noexec /tmp/source /tmp/point
    umount /tmp/point
    # The preload library is where the command looks for it.
    (cd /tmp && forebay record --output recorded.csv -- cat source/file && [ -s recorded.csv ])
    for page in forebay forebay-mount mount.forebay; do man -w $page; done
    systemd-analyze verify forebay@x.service forebay-serve@x.service
'
$rpm --erase --nodeps forebay
# Of the package nothing is left. A character device stands for a file that is gone.
left=$(find "$copy/above" -iname "*forebay*" -not -type c -not -path "*/tmp/*" -not -path "*/cache/man/*" \
    -not -path "*/forebay-rpm*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
