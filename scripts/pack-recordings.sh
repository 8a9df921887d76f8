#!/usr/bin/env bash
# Packs the recordings in ../shared that this project made into tests/recordings. The same files give the
# same archives. The tests read them with kueue_lab_testing::recordings.
#   scripts/pack-recordings.sh [SHARED]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
shared=$(realpath "${1:-$here/../shared}")
out=$here/tests/recordings
mkdir -p "$out"

# pack ARCHIVE FOLDER ENTRY...: entries of a folder, below the name of the archive.
pack() {
  local archive=$1 folder=$2
  shift 2
  tar --create --directory "$shared/$folder" --format=ustar --sort=name --mtime=@0 \
    --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --exclude=__pycache__ \
    --transform="s,^,$archive/," "$@" |
    xz --threads=1 --check=crc32 --lzma2=preset=9e,dict=64MiB >"$out/$archive.tar.xz"
}

# Divided: the second set is a later recording with other configurations.
pack differential differential \
  README.md compare.py configs kueue-config.yaml outcomes replay.py scenarios
pack differential2 differential outcomes2 replay2.py scenarios2
for folder in kubectl-parity reference-runs; do
  (cd "$shared/$folder" && LC_ALL=C find . -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort) |
    { mapfile -t entries; pack "$folder" "$folder" "${entries[@]}"; }
done
size=$(cat "$out"/*.tar.xz | wc -c)
echo "$size bytes in $out"
[ "$size" -le 3000000 ] || { echo "more than 3 MB" >&2; exit 1; }
