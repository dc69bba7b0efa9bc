#!/bin/bash
# Makes the recorded workloads of this folder: fetches what they read, runs the programs, records them with `forebay record`.
# Run by hand, as root, on Debian 12; README.md says what each workload is.
#
#   workloads/record.sh prepare             sources, data, databases: about 6 GB in $FOREBAY_WORKLOADS, ten minutes
#   workloads/record.sh record [NAME ...]   the workloads named, or all: NAME.parquet beside this script
#   workloads/record.sh run NAME            one workload without recording it
#   workloads/record.sh clean               removes the folder
set -euo pipefail

here=$(dirname "$(realpath "$0")")
programs=$here/programs
data=${FOREBAY_WORKLOADS:-/var/tmp/forebay-workloads}
forebay=${FOREBAY:-$here/../target/release/forebay}
export FOREBAY_WORKLOADS=$data
pg=/usr/lib/postgresql/15/bin
all="cscope gnuplot scan kernel glimpse sqlite postgres"
tables="region nation supplier part partsupp customer orders lineitem"

# The orders of the queries are those of TPC-H's specification (appendix A): the power test's, and the first two of the
# throughput test's. Left out of SQLite's are the four that look up each of their rows in a cache of 2 MB: a million reads.
postgres_streams=(
    "14 2 9 20 6 17 18 8 21 13 3 22 16 4 11 15 1 10 19 5 7 12"
    "21 3 18 5 11 7 6 20 17 12 16 15 13 10 2 8 14 19 9 22 1 4"
    "6 17 14 16 19 10 9 2 15 8 5 22 12 7 13 18 1 4 20 3 11 21"
)
sqlite_streams=(
    "2 9 20 6 17 18 8 21 13 3 22 16 4 11 15 1 10 12"
    "21 3 18 11 6 20 17 12 16 15 13 10 2 8 9 22 1 4"
)

prepare() {
    apt-get install -y --no-install-recommends cscope glimpse gnuplot-nox sqlite3 postgresql-15 gcc make bc flex bison \
        libelf-dev libssl-dev xz-utils
    mkdir -p "$data" && chmod 755 "$data" && cd "$data"
    [ -x tools/bin/tpchgen-cli ] || cargo install tpchgen-cli --version 4.0.0 --locked --root tools
    gcc -O2 -o scan "$programs/scan.c"
    sources && tables && plots
    versions | tee versions.txt
}

# Debian's kernel source: `build` is all of it, `tree` the part without drivers, tools and all architectures but one.
sources() {
    [ -d build ] && return
    apt-get download linux-source-6.1
    dpkg -x linux-source-6.1_*.deb source
    tar -xf source/usr/src/linux-source-6.1.tar.xz
    rm -r source linux-source-6.1_*.deb && mv linux-source-6.1 build
    for part in arch/x86 block crypto fs include init io_uring ipc kernel lib mm net security virt; do
        mkdir -p "tree/$part" && cp -r "build/$part/." "tree/$part"
    done
    (cd tree && cscope -b -R -k -f ../cscope.out)
}

# One database at scale 0.05 in SQLite, one at scale 0.1 in PostgreSQL.
tables() {
    [ -d postgres ] && return
    tools/bin/tpchgen-cli -s 0.05 --output-dir tables-sqlite
    rm -f tpch.db && sqlite3 tpch.db < "$programs/schema.sql"
    for table in $tables; do
        sed -i 's/|$//' "tables-sqlite/$table.tbl"
        printf '.separator |\n.import tables-sqlite/%s.tbl %s\n' "$table" "$table" | sqlite3 tpch.db
    done
    sqlite3 tpch.db ANALYZE
    tools/bin/tpchgen-cli -s 0.1 --output-dir tables-postgres
    mkdir postgres && chown postgres postgres
    as_postgres "$pg/initdb" -D postgres/cluster -A trust --no-locale -E UTF8 > /dev/null
    cat "$programs/postgres.conf" >> postgres/cluster/postgresql.conf
    server start
    client -d postgres -c 'CREATE DATABASE tpch'
    client < "$programs/schema.sql"
    for table in $tables; do
        sed 's/|$//' "tables-postgres/$table.tbl" | client -c "\\copy $table FROM STDIN DELIMITER '|'"
    done
    client -c 'VACUUM (FREEZE, ANALYZE)'
    server stop
    rm -r tables-sqlite tables-postgres
}

# Random walks, one a column, sampled at two rates.
plots() {
    for file in "seconds 200000 7" "minutes 50000 8" "hours 20000 9"; do
        read -r name rows seed <<< "$file"
        awk -v rows="$rows" -v seed="$seed" 'BEGIN {
            srand(seed)
            for (row = 0; row < rows; row++) {
                printf "%d", row
                for (column = 0; column < 9; column++) printf " %.6f", walk[column] += rand() - 0.5
                print ""
            }
        }' > "$name.dat"
    done
}

versions() {
    dpkg-query -W -f '${Package} ${Version}\n' cscope glimpse gnuplot-nox sqlite3 postgresql-15 gcc-12 make libc6
    awk '/^(VERSION|PATCHLEVEL|SUBLEVEL)/ { printf "%s%s", dot, $3; dot = "." } END { print " linux-source-6.1" }' build/Makefile
    tools/bin/tpchgen-cli --version
}

as_postgres() {
    runuser -u postgres -- "$@"
}

client() {
    psql -q -h "$data/postgres" -U postgres -d tpch "$@"
}

server() {
    as_postgres "$pg/pg_ctl" -D "$data/postgres/cluster" -w -l "$data/postgres/log" -o "-k $data/postgres" "$1" > /dev/null
}

# --- The workloads. Each runs from the data folder.

# An engineer's session with one running cscope: where a symbol is used (0), where it is defined (1), who calls it (3); and a look at
# the lines that are named.
run_cscope() {
    cd tree
    coproc index { exec cscope -d -l -f ../cscope.out; }
    for query in 0schedule_timeout 1schedule_timeout 0jiffies_to_msecs 3kmem_cache_alloc 1mutex_lock 0inode_lock 0vfs_read \
        1vfs_read 3vfs_read 0PAGE_SHIFT 1do_exit 0do_exit; do
        echo "$query" >&"${index[1]}"
        read -r _ _ count _ <&"${index[0]}"
        [[ $count == [0-9]* ]] || continue # it says in words that there is none
        for ((line = 0; line < count; line++)); do
            read -r file _ number _ <&"${index[0]}"
            ((line >= 20)) || sed -n "${number}p" "$file" > /dev/null
        done
    done
    echo q >&"${index[1]}"
    wait "$index_PID"
}

# Curves out of three files, four of them out of the largest.
run_gnuplot() {
    gnuplot "$programs/series.gnuplot"
}

run_scan() {
    ./scan tree
}

# `tinyconfig`, from nothing, one program at a time.
run_kernel() {
    make -C build -s tinyconfig
    make -C build -s clean
    make -C build -s -j1 bzImage
}

# With 8 MB for its table glimpseindex merges what it has into the index some thirty times. The index is elsewhere where the data are
# seen through a mount, which is only read.
run_glimpse() {
    local index=${FOREBAY_INDEX:-glimpse}
    rm -rf "$index" && mkdir "$index"
    glimpseindex -o -M 8 -H "$index" tree > /dev/null
}

run_sqlite() {
    for stream in "${sqlite_streams[@]}"; do queries "$stream"; done | sqlite3 tpch.db > /dev/null
}

# The server, all of it, while one client runs three streams.
run_postgres() {
    "$pg/postgres" -D postgres/cluster -k "$data/postgres" 2> postgres/log &
    until pg_isready -q -h "$data/postgres"; do sleep 0.1; done
    for stream in "${postgres_streams[@]}"; do queries "$stream"; done | LD_PRELOAD= client > /dev/null
    kill -INT $! && wait $!
}

queries() {
    awk -v order="$1" -f "$programs/stream.awk" "$programs/queries.sql"
}

# ---

run() {
    cd "$data" && "run_$1"
}

# Only what is done to files of the folder is kept: what the loader and the shell read is not the workload's. From the repository,
# so that the trace says of its origin nothing of this machine.
record() {
    cd "$here/.."
    local out=$data/recorded
    mkdir -p "$out" && chmod 777 "$out"
    for name in ${*:-$all}; do
        local user=()
        [ "$name" = postgres ] && user=(runuser -u postgres --)
        rm -f "$out/$name.parquet"
        "${user[@]}" "$forebay" record --only "$data" -o "$out/$name.parquet" -- workloads/record.sh run "$name"
        cp "$out/$name.parquet" "$here/$name.parquet"
        ls -l "$here/$name.parquet"
    done
}

case ${1:-} in
prepare) prepare ;;
record) shift && record "$@" ;;
run) run "$2" ;;
clean) rm -rf "$data" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
