# In the copy: the package is installed, used and erased. Debian's rpm knows no packages, so it cannot
# know that what this one needs is there: the use of it shows that.
rpm="rpm --root $copy/root --dbpath /var/lib/forebay-rpm"
$rpm --initdb
$rpm --install --nodeps --nosignature "$copy/root/tmp/forebay.rpm"
$rpm --verify forebay --nodeps
chroot "$copy/root" /bin/sh -eu -c '
    forebay --version
    mkdir -p /tmp/source /tmp/point
    echo hello >/tmp/source/file
    mount -t forebay /tmp/source /tmp/point
    [ "$(cat /tmp/point/file)" = hello ]
    umount /tmp/point
    for page in forebay forebay-mount mount.forebay; do man -w $page; done
    systemd-analyze verify forebay@x.service forebay-serve@x.service
'
$rpm --erase --nodeps forebay
# Of the package nothing is left. A character device stands for a file that is gone.
left=$(find "$copy/above" -iname "*forebay*" -not -type c -not -path "*/tmp/*" -not -path "*/cache/man/*" \
    -not -path "*/forebay-rpm*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
