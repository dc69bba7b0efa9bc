# In the copy: a systemd of its own runs the units, with all their restrictions. The folder $3 gets
# a log, and the file `good` if all went well.
root=$copy/root
chroot "$root" dpkg -i /tmp/forebay.deb
mkdir -p "$root/etc/forebay" "$root/srv/data" "$root/srv/out" "$root/mnt/photos"
mount --bind "$3" "$root/srv/out"
mount -t tmpfs none "$root/run"
echo hello >"$root/srv/data/file"
cat >"$root/etc/forebay/photos.toml" <<END
[mount]
source = ["a=/srv/data", "b=/srv/data"]
mountpoint = "/mnt/photos"
memory = "64MiB"
allow-other = true
END
cat >"$root/etc/forebay/data.toml" <<END
[serve]
source = ["/srv/data"]
listen = "127.0.0.1:0"
memory = "64MiB"
END
cat >"$root/etc/systemd/system/try.service" <<END
[Unit]
Requires=systemd-journald.service
After=basic.target systemd-journald.service
[Service]
Type=oneshot
ExecStart=/bin/sh /srv/try.sh
ExecStopPost=/bin/systemctl --force --force poweroff
StandardOutput=file:/srv/out/log
StandardError=file:/srv/out/log
END
cat >"$root/srv/try.sh" <<END
set -eux
systemctl start forebay@photos
[ "\$(cat /mnt/photos/b/file)" = hello ]
su nobody -s /bin/sh -c 'cat /mnt/photos/a/file'
systemctl status --no-pager forebay@photos | grep 'Status: "ready: '
systemctl start forebay-serve@data
url=\$(systemctl show -P StatusText forebay-serve@data | sed 's/.* at //')
[ "\$(curl -s "\$url"file)" = hello ]
systemctl stop forebay-serve@data
# Killed, it comes back, and clears the dead mount away.
kill -9 "\$(systemctl show -P MainPID forebay@photos)"
tries=0
until cat /mnt/photos/b/file; do tries=\$((tries + 1)); [ \$tries -lt 60 ]; sleep 1; done
systemctl stop forebay@photos
if grep fuse.forebay /proc/self/mountinfo; then exit 1; fi
[ "\$(systemctl is-active forebay@photos forebay-serve@data | sort -u)" = inactive ]
touch /srv/out/good
END
export container=other
exec chroot "$root" /lib/systemd/systemd --system --unit=try.service
