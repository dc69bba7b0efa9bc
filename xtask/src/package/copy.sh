# Makes $copy/root, in the folder $2: a copy of this system with the package $1 in /tmp. The system
# lies below, and above it a layer that goes away with the namespace of mounts that this runs in.
set -eu
copy=$2
mount -t tmpfs none "$copy"
mkdir "$copy/above" "$copy/work" "$copy/root"
mount -t overlay -o "lowerdir=/,upperdir=$copy/above,workdir=$copy/work" none "$copy/root"
cp "$1" "$copy/root/tmp/forebay.${1##*.}"
for part in proc sys dev; do mount --rbind "/$part" "$copy/root/$part"; done
