# In the copy: the package is installed, used and purged.
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
    # The preload library is where the command looks for it.
    (cd /tmp && forebay record --output recorded.csv -- cat source/file && [ -s recorded.csv ])
    for page in forebay forebay-mount mount.forebay mount.fuse.forebay; do man -w $page; done
    systemd-analyze verify forebay@x.service forebay-serve@x.service
    bash -c ". /usr/share/bash-completion/completions/forebay; complete -p forebay"
    mkdir -p /var/cache/forebay
    dpkg --purge forebay
    ! [ -e /var/cache/forebay ]
'
# Of the package itself nothing is left. A character device stands for a file that is gone.
left=$(find "$copy/above" -iname "*forebay*" -not -type c -not -path "*/tmp/*" -not -path "*/cache/man/*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
