# Builds the image of contrib/container in podman, and reads files of a real S3 server through it: a
# mount of its own, a server, and the pod of contrib/kubernetes. It runs as root, in namespaces of
# its own for mounts, processes and cgroups, and leaves nothing but the scratch folder.
#
# $1: the command. $2: the scratch folder. $3: the repository. $4: versitygw. $5: Python with PyYAML.
set -eu
command=$1 scratch=$2 root=$3 versitygw=$4 python=$5

# Containers inherit mounts from the namespace only where that is shared.
mount --make-rprivate /
# crun refuses a second version of cgroups beside the first one, and podman wants to write there.
if [ "$(stat -fc %T /sys/fs/cgroup)" = tmpfs ]; then
    mount -t tmpfs none /sys/fs/cgroup
    for part in $(awk '$4 == 1 { print $1 }' /proc/cgroups); do
        mkdir "/sys/fs/cgroup/$part"
        mount -t cgroup -o "$part" none "/sys/fs/cgroup/$part" 2>/dev/null || rmdir "/sys/fs/cgroup/$part"
    done
    mkdir /sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd
fi
mount --make-rshared /

# Limits that root may set without CAP_SYS_RESOURCE, and locks that are not in /dev/shm.
cat >"$scratch/containers.conf" <<END
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
END
export CONTAINERS_CONF=$scratch/containers.conf
# crun makes the mount private that an image lies on; volumes must lie on another one.
mkdir "$scratch/storage"
mount --bind "$scratch/storage" "$scratch/storage"
podman="podman --root $scratch/storage --runroot $scratch/run --tmpdir $scratch/tmp --storage-driver vfs"

# $1: a line for people. The command that follows it must succeed in some minutes.
eventually() {
    what=$1; shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || { echo "never: $what"; exit 1; }
        sleep 1
    done
    echo "so it is: $what"
}

# The command must not succeed: `!` would be no error for `set -e`.
refused() { if "$@" >/dev/null 2>&1; then echo "went well: $*"; exit 1; fi; }

ended() {
    status=$?
    if [ $status != 0 ]; then
        for name in $($podman ps -a --format '{{.Names}}'); do
            echo "--- $name"; $podman logs "$name" 2>&1 | tail -20
        done
    fi
    $podman rm --all --force --time 5 >/dev/null 2>&1 || true
    grep -o " $scratch/[^ ]*" /proc/self/mountinfo | sort -ru | xargs -r umount -l || true
    find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + 2>/dev/null || true
    exit $status
}
trap ended EXIT

# The base images, by the names that the recipe has. Only the compiler is a stand-in: the command
# was built before, and the recipe's own words must ask for it.
debootstrap --variant=minbase bookworm "$scratch/debian" >"$scratch/log" || { tail "$scratch/log"; exit 1; }
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
tar -C "$scratch/debian" -c . |
    $podman import --quiet --change "ENV PATH=$path" - docker.io/library/debian:bookworm-slim
rm -r "$scratch/debian"
mkdir "$scratch/rust"
cp "$command" "$scratch/rust/forebay"
cat >"$scratch/rust/cargo" <<'END'
#!/bin/sh -eu
[ "$*" = "build --locked --profile dist -p forebay-cli --no-default-features" ]
[ -f Cargo.lock ] && [ -f crates/forebay-cli/Cargo.toml ] && ! [ -e target ]
mkdir -p target/dist
cp /usr/share/forebay target/dist/forebay
END
chmod 755 "$scratch/rust/cargo"
cat >"$scratch/rust/Containerfile" <<'END'
FROM docker.io/library/debian:bookworm-slim
COPY cargo /usr/local/bin/cargo
COPY forebay /usr/share/forebay
END
build="$podman build --quiet --layers=false --network host"
$build --tag docker.io/library/rust:1-bookworm "$scratch/rust"
image=registry.example/forebay:latest
(cd "$root" && $build --file contrib/container/Containerfile --tag $image .)
$podman run --rm $image --version
$podman run --rm $image 2>&1 | grep -q Usage

# A store, reached by the names of variables that people use.
mkdir -p "$scratch/buckets/bucket/prefix" "$scratch/mnt/data"
head -c 3000000 /dev/urandom >"$scratch/buckets/bucket/prefix/file"
"$versitygw" --access somebody --secret secretsecret --region eu-central-1 --port 127.0.0.1:7373 \
    --quiet posix "$scratch/buckets" >"$scratch/log" 2>&1 &
cat >"$scratch/env" <<'END'
AWS_ACCESS_KEY_ID=somebody
AWS_SECRET_ACCESS_KEY=secretsecret
FOREBAY_ENDPOINT=http://127.0.0.1:7373
END
there="--network host --env-file $scratch/env --env AWS_REGION=eu-central-1"
file=$scratch/buckets/bucket/prefix/file

crash() { kill -9 "$($podman inspect --format '{{.State.Pid}}' "$1")"; }

echo "a mount of the container's own, which its host sees"
$podman run --detach --name own $there --device /dev/fuse --cap-add SYS_ADMIN \
    --volume "$scratch/mnt:/mnt:rshared" $image mount --allow-other s3://bucket/prefix /mnt/data
eventually "the host reads through it" cmp "$file" "$scratch/mnt/data/file"
$podman exec own forebay stats /mnt/data | grep -q hits
crash own
dead() { ! cmp "$file" "$scratch/mnt/data/file"; }
eventually "its end is noticed" dead
eventually "it starts again" $podman start own
eventually "the host reads through it again" cmp "$file" "$scratch/mnt/data/file"
$podman stop --time 20 own
[ "$($podman inspect --format '{{.State.ExitCode}}' own)" = 0 ]
refused grep " $scratch/mnt/data " /proc/self/mountinfo

echo "a server, without any rights"
FOREBAY_TOKEN=0123456789abcdef0123456789abcdef
export FOREBAY_TOKEN
$podman run --detach --name serve $there --env FOREBAY_TOKEN --cap-drop ALL --user 65534:65534 $image \
    serve s3://bucket/prefix --listen 127.0.0.1:7680
got() { curl -sf -H "Authorization: Bearer $FOREBAY_TOKEN" http://127.0.0.1:7680/file | cmp - "$file"; }
eventually "the server gives the file" got
refused curl -sf http://127.0.0.1:7680/file
$podman rm --force --time 20 serve

echo "the pod"
"$python" "$root/xtask/src/image/pod.py" "$root/contrib/kubernetes/sidecar.yaml" "$scratch/env" "$scratch/pod" $podman
inside() { $podman exec application "$@"; }
digest=$(sha256sum <"$file")
pod_reads() { [ "$(inside sha256sum /mnt/data/file | sed 's# .*#  -#')" = "$digest" ]; }
eventually "the application reads the file" pod_reads
refused inside touch /mnt/data-too
$podman exec forebay cat /proc/self/status | grep -E '^(CapEff|CapBnd):.0+$' | wc -l | grep -qx 2
$podman exec forebay cat /proc/self/status | grep -q 'NoNewPrivs:.1'
$podman exec forebay id -u | grep -qx 65534
refused $podman exec forebay ls /dev/fuse
echo "the pod, whose server is killed"
crash forebay
eventually "the application reads the file again" pod_reads
$podman stop --time 20 forebay mounter application
refused grep " $scratch/pod" /proc/self/mountinfo
echo "all is well"
