#!/bin/sh
# Unpacks an archive of a release after checking that it is undamaged and built for this machine.
set -eu

if [ $# = 0 ] || [ $# -gt 2 ]; then
  echo "usage: sh install.sh ARCHIVE [FOLDER]" >&2
  exit 2
fi
archive=$1 folder=${2:-.}
die() { echo "install.sh: $*" >&2; exit 1; }

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) die "there is no archive for $(uname -s) that this script can unpack" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) die "there is no archive for $(uname -m)" ;;
esac
name=${archive##*/}
case $name in
  workspace-*-"$os-$arch".tar.gz | workspace-*-"$os-$arch"-no-engine.tar.gz) ;;
  *"$os-$arch"*) die "$name is not a name of a release: give the archive the name back that SHA256SUMS lists, such as workspace-v1.0.0-$os-$arch.tar.gz" ;;
  *) die "$name is not for this machine, which is $os/$arch: take the archive whose name has $os-$arch" ;;
esac
[ -f "$archive" ] || die "there is no file $archive"

dir=$(dirname "$archive")
[ -f "$dir/SHA256SUMS" ] || die "SHA256SUMS is not beside $archive: download it from the same release, so that the archive can be checked"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$dir/SHA256SUMS")
[ -n "$want" ] || die "SHA256SUMS does not name $name: take both from the same release"
if command -v sha256sum >/dev/null 2>&1; then got=$(sha256sum <"$archive"); else got=$(shasum -a 256 <"$archive"); fi
[ "${got%% *}" = "$want" ] || die "$name is damaged: its SHA-256 is ${got%% *}, not $want; download it again"

mkdir -p "$folder"
tar -xzf "$archive" -C "$folder"
echo "Start it with: $folder/${name%.tar.gz}/workspace serve"
