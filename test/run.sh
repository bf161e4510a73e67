#!/usr/bin/env bash
# Builds what is missing and runs all tests. The last line is 'N passed, N failed'.
#
#   test/run.sh [--build FOLDER] [--no-build] [--only lint|unit|lit|e2e] [-k PATTERN]
#
# INGOT_SHARED names the folder with the full references (default: ../shared beside the repository); without it the
# references in test/golden are used and the summary says what was skipped.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
build=build/release
no_build=0
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --no-build) no_build=1; shift ;;
    *) arguments+=("$1"); shift ;;
  esac
done
if [ "$no_build" = 0 ]; then
  if [ ! -f "$build/build.ninja" ]; then
    case "$build" in
      build/*) cmake --preset "${build#build/}" >/dev/null ;;
      *) echo "$build is not configured" >&2; exit 1 ;;
    esac
  fi
  ninja -C "$build"
fi
export INGOT_SHARED=${INGOT_SHARED:-$root/../shared}
python=/usr/bin/python3
[ -x "$python" ] || python=python3
exec "$python" test/runner.py --build "$build" "${arguments[@]}"
