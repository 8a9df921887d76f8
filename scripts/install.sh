#!/bin/sh
# Builds and installs kueue-lab. Linux and macOS, amd64 and arm64.
#
#   scripts/install.sh                 into ~/.local/bin
#   PREFIX=/usr/local scripts/install.sh
#
# On Linux with rustup's musl target installed, the binary is static and runs on any distribution.
set -eu

prefix=${PREFIX:-"$HOME/.local"}
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
cd "$(dirname "$0")/.."

fail() {
    echo "install.sh: $1" >&2
    exit 2
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=macos ;;
*) fail "$(uname -s) is neither Linux nor macOS" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=x86_64 ;;
aarch64 | arm64) arch=aarch64 ;;
*) fail "$(uname -m) is neither amd64 nor arm64" ;;
esac
command -v cargo >/dev/null || fail "there is no cargo; get it from https://rustup.rs"
command -v cc >/dev/null || fail "there is no C compiler, which one dependency needs; install gcc or clang"

target=
if [ "$os" = linux ] && command -v rustup >/dev/null && command -v musl-gcc >/dev/null; then
    musl=$arch-unknown-linux-musl
    if rustup target list --installed | grep -qx "$musl"; then
        target=$musl
    fi
fi

# Set explicitly, since cargo's configuration may set another target directory.
dir=${CARGO_TARGET_DIR:-target}
if [ -n "$target" ]; then
    echo "building a static binary ($target)" >&2
    cargo build --release --locked --target-dir "$dir" --target "$target"
    built=$dir/$target/release/kueue-lab
else
    echo "building for $arch $os" >&2
    cargo build --release --locked --target-dir "$dir"
    built=$dir/release/kueue-lab
fi

mkdir -p "$prefix/bin"
# Replaced by rename, so that a running binary is not affected.
cp "$built" "$prefix/bin/.kueue-lab.new"
mv "$prefix/bin/.kueue-lab.new" "$prefix/bin/kueue-lab"
echo "installed $prefix/bin/kueue-lab"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "add $prefix/bin to PATH" >&2 ;;
esac
